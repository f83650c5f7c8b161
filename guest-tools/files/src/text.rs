//! `read`: pages of a text, by lines or by bytes. Put together they are the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memchr;

use crate::failed;

/// How much of a file passes by at once, in bytes.
const PIECE: usize = 64 << 10;
/// What the line above a page takes at most, in bytes.
const HEADER: usize = 150;

/// Reads `limit` lines from line `offset` on, as many as fit. The file passes by in pieces, so that neither its size nor its
/// lines' matter.
pub fn read_lines(path: &str, offset: u64, limit: u32) -> Result<String, String> {
    if offset == 0 {
        return Err("offset: lines are counted from 1".to_owned());
    }
    let page = window(path, offset, limit, paging::bytes())?;
    // A byte that is no text takes four.
    if page.len() <= paging::bytes() + HEADER { Ok(page) } else { window(path, offset, limit, paging::bytes() / 4) }
}

fn window(path: &str, offset: u64, limit: u32, room: usize) -> Result<String, String> {
    let mut file = open(path).map_err(|error| failed(path, &error))?;
    let mut window = Window { first: offset, limit: limit.into(), room, line: 1, ..Window::default() };
    let mut buffer = vec![0; PIECE];
    loop {
        let read = file.read(&mut buffer).map_err(|error| failed(path, &error))?;
        if read == 0 {
            return window.finish();
        }
        if memchr(0, &buffer[..read]).is_some() {
            let size = file.metadata().map_or(0, |about| about.len());
            return Err(format!("{path}: it is binary, {size} bytes with a NUL among them; from_byte reads it all the same"));
        }
        window.pass(&buffer[..read]);
    }
}

/// Reads the bytes from one on, as many as fit, and no part of a character at an end that is whole in the file.
pub fn read_bytes(path: &str, from: u64, limit: Option<u32>) -> Result<String, String> {
    let refuse = |error: io::Error| failed(path, &error);
    let mut file = open(path).map_err(refuse)?;
    let size = file.metadata().map_err(refuse)?.len();
    if from > size || (from == size && size > 0) {
        return Err(format!("from_byte: {from} is behind the end, the file has {size} bytes"));
    }
    let most = limit.map_or(usize::MAX, |limit| limit as usize).min(paging::bytes());
    file.seek(SeekFrom::Start(from)).map_err(refuse)?;
    let mut bytes = Vec::new();
    // Enough to see whether the last character is whole.
    file.take(most as u64 + 3).read_to_end(&mut bytes).map_err(refuse)?;
    let mut end = whole_characters(&bytes, most.min(bytes.len()));
    if readable(&bytes[..end]).0.len() > paging::bytes() {
        end = whole_characters(&bytes, paging::bytes() / 4);
    }
    let next = from + end as u64;
    let rest = if next < size { format!("; next from_byte {next}") } else { String::new() };
    let range = if end == 0 { format!("no bytes of {size}") } else { format!("bytes {from}-{} of {size}", next - 1) };
    let (text, foreign) = readable(&bytes[..end]);
    Ok(format!("[{range}{}{rest}]\n{text}", told(foreign)))
}

/// Opens a file, and no folder: WASI opens those too, and fails later.
fn open(path: &str) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// The lines that were asked for, while the file passes by.
#[derive(Default)]
struct Window {
    first: u64,
    limit: u64,
    /// How many bytes may be shown.
    room: usize,
    /// The line that the next byte is of, from 1, and whether it has begun.
    line: u64,
    begun: bool,
    /// Where the next byte is in the file.
    at: u64,
    out: Vec<u8>,
    /// How much of it is of whole lines, how many these are, and where the first line begins.
    whole: usize,
    lines: u64,
    start: u64,
    is_full: bool,
}

impl Window {
    fn pass(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.is_wanted() {
                let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
                self.take(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            // What is not shown is only counted.
            let skipped = self.skip(rest);
            rest = &rest[skipped..];
        }
    }

    fn is_wanted(&self) -> bool {
        self.line >= self.first && self.line - self.first < self.limit && !self.is_full
    }

    fn take(&mut self, part: &[u8]) {
        if self.out.is_empty() {
            self.start = self.at;
        }
        let room = self.room - self.out.len();
        self.out.extend_from_slice(&part[..part.len().min(room)]);
        self.is_full = part.len() > room;
        self.count(part);
        if !self.is_full && !self.begun {
            (self.whole, self.lines) = (self.out.len(), self.lines + 1);
        }
    }

    /// Passes over what is not wanted, up to where something is.
    fn skip(&mut self, rest: &[u8]) -> usize {
        let before_first = self.line < self.first;
        if !before_first {
            self.count(rest);
            return rest.len();
        }
        let mut end = 0;
        for at in memchr::memchr_iter(b'\n', rest) {
            end = at + 1;
            self.line += 1;
            if self.line == self.first {
                self.begun = false;
                self.at += end as u64;
                return end;
            }
        }
        self.begun = end < rest.len() || (self.begun && end == 0);
        self.at += rest.len() as u64;
        rest.len()
    }

    fn count(&mut self, bytes: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.begun = !bytes.ends_with(b"\n");
        self.at += bytes.len() as u64;
    }

    fn finish(mut self) -> Result<String, String> {
        let total = if self.begun { self.line } else { self.line - 1 };
        // The last line may have no end.
        if !self.is_full && self.out.len() > self.whole {
            (self.whole, self.lines) = (self.out.len(), self.lines + 1);
        }
        let first = self.first;
        if total == 0 {
            return if first == 1 { Ok("[empty file]\n".to_owned()) } else { Err(behind(first, 0)) };
        }
        if first > total {
            return Err(behind(first, total));
        }
        if self.limit == 0 {
            return Ok(format!("[no lines asked for, of {total}]\n"));
        }
        if self.lines == 0 {
            // A line that is longer than fits.
            let end = whole_characters(&self.out, self.out.len().saturating_sub(3));
            let (text, foreign) = readable(&self.out[..end]);
            let rest = self.start + end as u64;
            return Ok(format!(
                "[line {first} of {total}, its first {end} bytes{}; next from_byte {rest}]\n{text}",
                told(foreign)
            ));
        }
        let last = first + self.lines - 1;
        let (text, foreign) = readable(&self.out[..self.whole]);
        let rest = if last < total { format!("; next offset {}", last + 1) } else { String::new() };
        Ok(format!("[lines {first}-{last} of {total}{}{rest}]\n{text}", told(foreign)))
    }
}

fn behind(first: u64, total: u64) -> String {
    format!("offset: line {first} is behind the end, the file has {total}")
}

/// Where to end, at `end` or before, so that no character is torn that is whole in the file; behind a first one that does not
/// fit at all.
fn whole_characters(bytes: &[u8], end: usize) -> usize {
    let starts = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let Some(start) = (end.saturating_sub(3)..end).rev().find(starts) else { return end };
    let character = bytes.get(start..start + width(bytes[start]));
    match character.filter(|character| character.len() > end - start && str::from_utf8(character).is_ok()) {
        Some(character) if start == 0 => character.len(),
        Some(_) => start,
        None => end,
    }
}

/// How many bytes a character has, by its first.
fn width(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// A text as it is; what is none as `\xNN`, and how many bytes that is.
fn readable(bytes: &[u8]) -> (String, usize) {
    let (mut text, mut foreign) = (String::with_capacity(bytes.len()), 0);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        foreign += chunk.invalid().len();
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    (text, foreign)
}

fn told(foreign: usize) -> String {
    match foreign {
        0 => String::new(),
        1 => ", 1 byte that is no UTF-8 as \\xNN".to_owned(),
        count => format!(", {count} bytes that are no UTF-8 as \\xNN"),
    }
}
