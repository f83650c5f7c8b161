//! `grep`: lines, as ripgrep finds them.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};

use globset::GlobMatcher;
use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};

use crate::exports::witbox::files::files::{Counted, Kind, Match, Matches, Show};
use crate::walk::{Walk, pattern, relative};
use crate::failed;

/// What is shown of a line, in bytes.
const MAX_LINE: usize = 500;
/// How much is read at once, in bytes.
const READ: usize = 64 << 10;
/// How much of a file is searched at once; a line that is longer is searched in pieces of as much. In bytes.
const PIECE: usize = 4 << 20;
/// How much of one that has no line's end is looked at again with the next, in bytes: matches across both are found up to there.
const OVERLAP: usize = 64 << 10;
/// What a match takes beside its texts, as JSON.
const AROUND: usize = 80;
/// The most lines of context.
const MAX_CONTEXT: usize = 50;

pub struct Wanted<'w> {
    pub path: &'w str,
    pub text: &'w str,
    pub regex: bool,
    pub ignore_case: bool,
    pub context: usize,
    pub show: Show,
    pub glob: Option<&'w str>,
    pub gitignore: bool,
    pub limit: usize,
}

pub fn grep(wanted: &Wanted<'_>) -> Result<Matches, String> {
    if wanted.text.is_empty() {
        return Err("text: an empty text is in every line".to_owned());
    }
    if wanted.context > MAX_CONTEXT {
        return Err(format!("context: at most {MAX_CONTEXT} lines"));
    }
    let escaped = regex::escape(wanted.text);
    let regex = RegexBuilder::new(if wanted.regex { wanted.text } else { &escaped })
        .case_insensitive(wanted.ignore_case)
        .multi_line(true)
        .crlf(true)
        .build()
        .map_err(|error| format!("text: {error}"))?;
    let glob = wanted.glob.map(|glob| pattern("glob", glob)).transpose()?;
    let mut search = Search {
        regex,
        context: wanted.context,
        show: wanted.show,
        limit: wanted.limit,
        room: paging::bytes(),
        buffer: Vec::new(),
        matches: Matches { found: Vec::new(), counts: Vec::new(), more: false, skipped: 0 },
    };
    let about = fs::metadata(wanted.path).map_err(|error| failed(wanted.path, &error))?;
    if about.is_dir() {
        search.folder(wanted, glob.as_ref()).map_err(|error| failed(wanted.path, &error))?;
    } else {
        search.file(wanted.path).map_err(|error| failed(wanted.path, &error))?;
    }
    Ok(search.matches)
}

struct Search {
    regex: Regex,
    context: usize,
    show: Show,
    limit: usize,
    /// How many bytes may still be returned.
    room: usize,
    buffer: Vec<u8>,
    matches: Matches,
}

impl Search {
    fn folder(&mut self, wanted: &Wanted<'_>, glob: Option<&GlobMatcher>) -> io::Result<()> {
        let mut skipped = 0;
        let mut walk = Walk::new(wanted.gitignore, |path: &str, kind: Kind| {
            let is_wanted = glob.is_none_or(|glob| glob.is_match(relative(path, wanted.path)));
            if kind == Kind::File && is_wanted && self.file(path).is_err() {
                skipped += 1;
            }
            !self.matches.more
        });
        walk.folder(wanted.path)?;
        let unread = walk.skipped;
        self.matches.skipped += skipped + unread;
        Ok(())
    }

    /// Searches one file, piece by piece of whole lines.
    fn file(&mut self, path: &str) -> io::Result<()> {
        let mut file = File::open(path)?;
        let mut seen = Seen { path, line: 1, at: 0, uncounted: 0, count: 0, before: VecDeque::new(), after: 0, within: Within::Start };
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut held = 0;
        let mut ended = false;
        while !ended && !self.matches.more {
            if held == buffer.len() {
                buffer.resize((2 * held).max(READ), 0);
            }
            let read = file.read(&mut buffer[held..])?;
            ended = read == 0;
            if memchr(0, &buffer[held..held + read]).is_some() {
                // Whoever meets a NUL has no text before them.
                self.matches.skipped += 1;
                break;
            }
            held += read;
            let end = match memrchr(b'\n', &buffer[..held]) {
                _ if ended => held,
                Some(at) => at + 1,
                None if held >= PIECE => {
                    held = self.part(&mut buffer[..held], &mut seen);
                    continue;
                }
                None => continue,
            };
            let start = seen.rest_of_line(&buffer[..end]);
            self.lines(&buffer[start..end], &mut seen);
            if !ended {
                seen.count_lines(&buffer[start..end], end - start);
            }
            seen.uncounted = 0;
            buffer.copy_within(end..held, 0);
            held -= end;
        }
        self.buffer = buffer;
        if seen.count > 0 && self.show == Show::Counts {
            self.count(path, seen.count);
        }
        Ok(())
    }

    /// Searches a part of a line that is longer than a piece. Says how much of its end is looked at again with what follows:
    /// what is sought may lie across both.
    fn part(&mut self, part: &mut [u8], seen: &mut Seen<'_>) -> usize {
        let begins = usize::from(seen.within == Within::Sought);
        let found = match seen.within {
            Within::Found => None,
            // What ends where the part does may go on, or be no end of a line.
            _ => self.regex.find_at(part, begins).filter(|found| found.end() < part.len()),
        };
        if let Some(found) = found {
            seen.count += 1;
            if self.show == Show::Lines {
                self.show(part, found.start(), found.end(), seen);
            }
            seen.within = Within::Found;
        } else if seen.within == Within::Start {
            seen.within = Within::Sought;
        }
        let kept = if seen.within == Within::Found { 0 } else { OVERLAP };
        let passed = part.len() - kept;
        seen.at += passed as u64;
        part.copy_within(passed.., 0);
        kept
    }

    /// Searches whole lines, the first of which may have begun before.
    fn lines(&mut self, piece: &[u8], seen: &mut Seen<'_>) {
        // A byte of what was before, so that no line begins there.
        let mut at = usize::from(seen.within == Within::Sought).min(piece.len());
        seen.at += at as u64;
        seen.within = Within::Start;
        while at < piece.len() && !self.matches.more {
            let Some(found) = self.regex.find_at(piece, at) else { break };
            let start = memrchr(b'\n', &piece[..found.start()]).map_or(0, |newline| newline + 1).max(at);
            let end = memchr(b'\n', &piece[found.start()..]).map_or(piece.len(), |newline| found.start() + newline);
            self.pass(&piece[at..start], seen);
            // What was found may go on into the next line; whether this one matches it alone decides.
            let line = &piece[start..end];
            let inner = match found.end() <= end {
                true => Some((found.start() - start, found.end() - start)),
                false => self.regex.find(line).map(|found| (found.start(), found.end())),
            };
            let next = piece.len().min(end + 1);
            match inner {
                Some(inner) => {
                    seen.count_lines(piece, start);
                    self.found(line, inner, seen);
                }
                None => self.pass(&piece[start..next], seen),
            }
            at = next;
        }
        self.pass(&piece[at.min(piece.len())..], seen);
    }

    /// Passes lines that do not match: they may be around others.
    fn pass(&mut self, lines: &[u8], seen: &mut Seen<'_>) {
        seen.at += lines.len() as u64;
        if self.context == 0 || self.show == Show::Counts {
            return;
        }
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let shown = shown(trimmed(line));
            if seen.after > 0 {
                seen.after -= 1;
                let size = paging::written(&shown);
                match self.matches.found.last_mut() {
                    Some(last) if size <= self.room => {
                        self.room -= size;
                        last.after.push(shown.clone());
                    }
                    _ => {
                        seen.after = 0;
                        self.room = 0;
                        self.matches.more = true;
                    }
                }
            }
            seen.before.push_back(shown);
            if seen.before.len() > self.context {
                seen.before.pop_front();
            }
        }
    }

    fn found(&mut self, line: &[u8], (start, end): (usize, usize), seen: &mut Seen<'_>) {
        seen.count += 1;
        if self.show == Show::Lines {
            self.show(line, start, end, seen);
        }
        seen.at += line.len() as u64 + 1;
    }

    fn show(&mut self, line: &[u8], start: usize, end: usize, seen: &mut Seen<'_>) {
        let line = trimmed(line);
        let (text, from) = if line.len() <= MAX_LINE {
            (shown(line), None)
        } else {
            // Around what matched, more of it behind.
            let from = boundary(line, start.saturating_sub(MAX_LINE / 4));
            let to = boundary(line, line.len().min(from + MAX_LINE).max(end.min(from + MAX_LINE)));
            (String::from_utf8_lossy(&line[from..to]).into_owned(), Some(seen.at + from as u64))
        };
        let before: Vec<String> = seen.before.drain(..).collect();
        let texts = [text.as_str(), seen.path].into_iter().chain(before.iter().map(String::as_str));
        let size = AROUND + texts.map(paging::written).sum::<usize>();
        let is_full = size > self.room && !self.matches.found.is_empty();
        if self.matches.found.len() == self.limit || is_full {
            self.matches.more = true;
            return;
        }
        self.room = self.room.saturating_sub(size);
        seen.after = self.context;
        self.matches.found.push(Match {
            path: seen.path.to_owned(),
            line: seen.line,
            text,
            from_byte: from,
            before,
            after: Vec::new(),
        });
    }

    fn count(&mut self, path: &str, count: u64) {
        let size = paging::written(path) + AROUND;
        if self.matches.counts.len() == self.limit || (size > self.room && !self.matches.counts.is_empty()) {
            self.matches.more = true;
            return;
        }
        self.room = self.room.saturating_sub(size);
        self.matches.counts.push(Counted { path: path.to_owned(), count });
    }
}

/// Where a search is in a file.
struct Seen<'s> {
    path: &'s str,
    /// The line at which counting stopped, and how far that is in the piece that is searched: most files hold nothing, and
    /// their lines need not be counted.
    line: u64,
    uncounted: usize,
    /// The byte that comes next.
    at: u64,
    count: u64,
    /// The lines before it, as many as are wanted.
    before: VecDeque<String>,
    /// How many lines are still wanted after one that matched.
    after: usize,
    /// Where in a line the next byte is.
    within: Within,
}

/// Where in a line a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Start,
    /// In one in which nothing was found so far.
    Sought,
    /// In one in which something was, so that the rest of it does not matter.
    Found,
}

impl Seen<'_> {
    /// Passes the rest of a line in which something was found, and says where the next one begins.
    fn rest_of_line(&mut self, piece: &[u8]) -> usize {
        if self.within != Within::Found {
            return 0;
        }
        let end = memchr(b'\n', piece);
        let next = end.map_or(piece.len(), |newline| newline + 1);
        self.line += u64::from(end.is_some());
        self.at += next as u64;
        self.within = Within::Start;
        next
    }

    /// Counts the lines of a piece up to a byte.
    fn count_lines(&mut self, piece: &[u8], to: usize) {
        self.line += memchr_iter(b'\n', &piece[self.uncounted..to]).count() as u64;
        self.uncounted = to;
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..boundary(line, line.len().min(MAX_LINE))]).into_owned()
}

/// The last place at or before a byte at which a character begins.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let mut start = at;
    while start > 0 && at - start < 3 && bytes.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
        start -= 1;
    }
    start
}
