//! `read` and `write`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::failed;

/// The most that one reading returns, in bytes, so that a line without an end stays readable.
const MAX_BYTES: usize = 256 << 10;

/// Reads `limit` lines from line `offset` on. The file passes by in pieces, so that neither its size nor its lines' matter.
pub fn read(path: &str, offset: u32, limit: u32) -> Result<String, String> {
    if offset == 0 {
        return Err("offset: lines are counted from 1".to_owned());
    }
    let file = open(path).map_err(|error| failed(path, &error))?;
    let mut window = Window { first: offset.into(), limit: limit.into(), line: 1, ..Window::default() };
    let mut reader = BufReader::with_capacity(64 << 10, file);
    loop {
        let piece = reader.fill_buf().map_err(|error| failed(path, &error))?;
        if piece.is_empty() {
            break;
        }
        if piece.contains(&0) {
            return Err(format!("{path}: it is no text, it holds a NUL"));
        }
        window.pass(piece);
        let length = piece.len();
        reader.consume(length);
    }
    window.finish()
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
    /// The line that the next byte is of, from 1.
    line: u64,
    /// Whether that line has begun.
    begun: bool,
    out: Vec<u8>,
    cut: bool,
}

impl Window {
    fn pass(&mut self, piece: &[u8]) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.line >= self.first && self.line - self.first < self.limit {
                let room = MAX_BYTES - self.out.len();
                self.cut |= line.len() > room;
                self.out.extend_from_slice(&line[..line.len().min(room)]);
            }
            self.begun = !line.ends_with(b"\n");
            if !self.begun {
                self.line += 1;
            }
        }
    }

    fn finish(self) -> Result<String, String> {
        let total = if self.begun { self.line } else { self.line - 1 };
        let first = self.first;
        let shown = (total + 1).saturating_sub(first).min(self.limit);
        let header = match (total, shown) {
            (0, _) => "[empty file]".to_owned(),
            (_, 0) if self.limit == 0 => format!("[no lines asked for, of {total}]"),
            (_, 0) => return Err(format!("offset: line {first} is behind the end, the file has {total}")),
            _ if self.cut => format!("[from line {first} of {total}, cut after {MAX_BYTES} bytes]"),
            _ => format!("[lines {first}-{} of {total}]", first + shown - 1),
        };
        let text = String::from_utf8_lossy(&self.out);
        // A character that the cut went through is left out, and not shown as a broken one.
        let text = if self.cut { text.trim_end_matches('\u{fffd}') } else { &text };
        Ok(format!("{header}\n{text}"))
    }
}

/// Writes a file whole.
pub fn write(path: &str, content: &str) -> Result<u64, String> {
    if let Some(folder) = Path::new(path).parent()
        && !folder.exists()
    {
        fs::create_dir_all(folder).map_err(|error| failed(path, &error))?;
    }
    fs::write(path, content).map_err(|error| failed(path, &error))?;
    Ok(content.len() as u64)
}

/// The last character boundary at or before a byte.
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
