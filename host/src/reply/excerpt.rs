//! The first and the last lines of what passes by, and how much passes by in all.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::str::Utf8Chunk;

use crate::text::is_hidden;

/// How many lines are kept of either end.
const FIRST: usize = 10;
const LAST: usize = 5;
/// How much is kept of a line, in bytes.
const START: usize = 256;

/// Sees bytes as they pass by, whatever their number.
#[derive(Debug, Default)]
pub(crate) struct Excerpt {
    bytes: u64,
    first: Vec<Line>,
    last: VecDeque<Line>,
    /// The line that the next byte is of.
    open: Option<Line>,
    /// How many lines ended.
    ended: u64,
}

/// The start of a line, and its length.
#[derive(Debug, Default, Clone)]
struct Line {
    start: Vec<u8>,
    /// Without what ends it.
    bytes: u64,
    has_end: bool,
}

impl Line {
    fn see(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = START.saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What it is of its file, in bytes.
    fn whole(&self) -> u64 {
        self.bytes + u64::from(self.has_end)
    }
}

/// How much of an excerpt is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Bytes of a line, as it is shown.
    pub(super) width: usize,
}

impl Shown {
    /// From the most to nothing at all.
    pub(super) const STEPS: [Shown; 6] = [
        Shown { first: FIRST, last: LAST, width: 200 },
        Shown { first: FIRST, last: LAST, width: 100 },
        Shown { first: 5, last: 3, width: 100 },
        Shown { first: 3, last: 2, width: 60 },
        Shown { first: 1, last: 1, width: 40 },
        Shown { first: 0, last: 0, width: 0 },
    ];
}

impl Excerpt {
    /// Bytes that pass by.
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let line = self.open.get_or_insert_default();
            line.see(&bytes[start..end]);
            line.has_end = true;
            self.end();
            start = end + 1;
        }
        if start < bytes.len() {
            self.open.get_or_insert_default().see(&bytes[start..]);
        }
    }

    /// Nothing more passes by.
    pub(crate) fn finish(&mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(line) = self.open.take() else { return };
        self.ended += 1;
        if self.first.len() < FIRST {
            self.first.push(line);
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// How many bytes have passed by.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many lines, one without an end included.
    pub(crate) fn lines(&self) -> u64 {
        self.ended
    }

    /// Lines as people read them, numbered and barred, and exactly what is left out of them.
    pub(super) fn show(&self, shown: Shown) -> String {
        let mut out = String::new();
        let first = &self.first[..self.first.len().min(shown.first)];
        let skipped = self.last.len().saturating_sub(shown.last);
        let last = self.last.range(skipped..);
        let mut cut = Cut::default();
        for (line, number) in first.iter().zip(1..) {
            cut.line(&mut out, number, line, shown.width);
        }
        let left_out = self.ended - first.len() as u64 - last.len() as u64;
        if left_out > 0 {
            let whole: u64 = first.iter().chain(last.clone()).map(Line::whole).sum();
            let from = first.len() as u64 + 1;
            // Writing to a string does not fail, here and below.
            let _ = writeln!(
                out,
                "[left out: lines {from} to {}, which are {left_out} lines of {} bytes]",
                from + left_out - 1,
                self.bytes - whole
            );
        }
        for (line, number) in last.clone().zip(self.ended - last.len() as u64 + 1..) {
            cut.line(&mut out, number, line, shown.width);
        }
        if cut.lines > 0 {
            let _ =
                writeln!(out, "[left out: the ends of {} of these lines, which are {} bytes]", cut.lines, cut.bytes);
        }
        out
    }
}

/// What was left out of lines.
#[derive(Default)]
struct Cut {
    lines: usize,
    bytes: u64,
}

impl Cut {
    fn line(&mut self, out: &mut String, number: u64, line: &Line, width: usize) {
        let (shown, taken) = line.shown(width);
        let is_cut = taken < line.bytes;
        // Writing to a string does not fail.
        let _ = writeln!(out, "{number:>8} | {shown}{}", if is_cut { "…" } else { "" });
        self.lines += usize::from(is_cut);
        self.bytes += line.bytes - taken;
    }
}

impl Line {
    /// Its start, escaped, in at most so many bytes, and how many of its own they are.
    fn shown(&self, width: usize) -> (String, u64) {
        let (mut shown, mut taken) = (String::new(), 0);
        for (written, length) in self.start.utf8_chunks().flat_map(pieces) {
            // Where the kept start goes through a character, that character is left out.
            let is_torn = self.bytes > self.start.len() as u64 && taken + length == START && written.starts_with("\\x");
            if shown.len() + written.len() > width || is_torn {
                break;
            }
            shown.push_str(&written);
            taken += length;
        }
        (shown, taken as u64)
    }
}

/// Each character as it is shown and how many bytes it is of, and then the bytes that are none.
fn pieces(chunk: Utf8Chunk<'_>) -> impl Iterator<Item = (String, usize)> {
    let shown = |c: char| if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    let valid = chunk.valid().chars().map(move |c| (shown(c), c.len_utf8()));
    let invalid = chunk.invalid();
    let invalid =
        (!invalid.is_empty()).then(|| (invalid.iter().map(|byte| format!("\\x{byte:02x}")).collect(), invalid.len()));
    valid.chain(invalid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn excerpt(pieces: &[Vec<u8>]) -> Excerpt {
        let mut excerpt = Excerpt::default();
        pieces.iter().for_each(|piece| excerpt.see(piece));
        excerpt.finish();
        excerpt
    }

    /// The bytes that a line shows. No backslash is in what the test writes.
    fn unescaped(shown: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut parts = shown.split('\\');
        bytes.extend(parts.next().unwrap().bytes());
        for part in parts {
            let rest = match part.split_at(1) {
                ("u", rest) => {
                    let (code, rest) = rest[1..].split_once('}').unwrap();
                    let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
                    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                    rest
                }
                ("x", rest) => {
                    bytes.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                    &rest[2..]
                }
                _ => panic!("{shown}"),
            };
            bytes.extend(rest.bytes());
        }
        bytes
    }

    /// The numbers in a text.
    fn numbers(text: &str) -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let text = "[ -\\[\\]-~é\u{202e}\t]{0,30}".prop_map(String::into_bytes);
        let long = (250..700usize, any::<bool>())
            .prop_map(|(length, wide)| if wide { "é" } else { "x" }.repeat(length).into_bytes());
        let wild = prop::collection::vec(any::<u8>().prop_filter("a backslash", |byte| *byte != b'\\'), 0..40);
        let part = prop_oneof![4 => text, 1 => long, 1 => wild, 6 => Just(b"\n".to_vec())];
        prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn what_is_shown_and_what_is_not_are_all_of_it(text in bytes(), piece in 1usize..300) {
            let pieces: Vec<Vec<u8>> = text.chunks(piece).map(<[u8]>::to_vec).collect();
            let excerpt = excerpt(&pieces);
            let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
            prop_assert_eq!(excerpt.bytes(), text.len() as u64);
            prop_assert_eq!(excerpt.lines(), lines.len() as u64);
            for shown in Shown::STEPS {
                let told = excerpt.show(shown);
                // Lines that are shown, the bytes of lines that are not, and those of the ends of lines.
                let (mut seen, mut cut, mut said_left, mut said_cut) = (Vec::new(), (0, 0), (0, 0, 0, 0), (0, 0));
                for line in told.lines() {
                    if let Some(statement) = line.strip_prefix("[left out: lines ") {
                        let [from, to, count, bytes] = numbers(statement)[..] else { panic!("{told}") };
                        said_left = (from, to, count, bytes);
                    } else if let Some(statement) = line.strip_prefix("[left out: the ends of ") {
                        let [count, bytes] = numbers(statement)[..] else { panic!("{told}") };
                        said_cut = (count, bytes);
                    } else {
                        let (number, text) = line.split_once(" | ").unwrap();
                        let number: usize = number.trim().parse().unwrap();
                        let whole = lines[number - 1].strip_suffix(b"\n").unwrap_or(lines[number - 1]);
                        let start = unescaped(text.strip_suffix('…').unwrap_or(text));
                        prop_assert!(whole.starts_with(&start), "{line}");
                        prop_assert!(text.len() <= shown.width + '…'.len_utf8());
                        prop_assert_eq!(text.ends_with('…'), start.len() < whole.len());
                        cut = (cut.0 + u64::from(start.len() < whole.len()), cut.1 + (whole.len() - start.len()) as u64);
                        seen.push(number);
                    }
                }
                prop_assert_eq!(said_cut, cut);
                let missing: Vec<usize> = (1..=lines.len()).filter(|number| !seen.contains(number)).collect();
                let bytes: usize = missing.iter().map(|number| lines[number - 1].len()).sum();
                let left = match (missing.first(), missing.last()) {
                    (Some(from), Some(to)) => (*from as u64, *to as u64, missing.len() as u64, bytes as u64),
                    _ => (0, 0, 0, 0),
                };
                prop_assert_eq!(said_left, left);
            }
        }
    }
}
