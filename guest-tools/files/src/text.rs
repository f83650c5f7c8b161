//! `read` and `write`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::failed;

/// The most that one reading returns, in bytes, so that a line without an end stays readable.
const MAX_BYTES: usize = 256 << 10;

/// Reads `limit` lines from line `offset` on. The file is read line by line, so that its size does not matter.
pub fn read(path: &str, offset: u32, limit: u32) -> Result<String, String> {
    if offset == 0 {
        return Err("offset: lines are counted from 1".to_owned());
    }
    let (first, limit) = (offset as u64, limit as u64);
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let mut reader = BufReader::new(file);
    let mut out = String::new();
    let mut cut = false;
    let mut total = 0u64;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(|error| failed(path, &error))?;
        if read == 0 {
            break;
        }
        total += 1;
        if line.contains(&0) {
            return Err(format!("{path}: it is no text, line {total} holds a NUL"));
        }
        if total >= first && total - first < limit && !cut {
            let text = String::from_utf8_lossy(&line);
            let room = MAX_BYTES - out.len().min(MAX_BYTES);
            cut = text.len() > room;
            out.push_str(&text[..floor_char_boundary(&text, room)]);
        }
    }
    let shown = (total + 1).saturating_sub(first).min(limit);
    let header = match (total, shown) {
        (0, _) => "[empty file]".to_owned(),
        (_, 0) if limit == 0 => format!("[no lines asked for, of {total}]"),
        (_, 0) => return Err(format!("offset: line {first} is behind the end, the file has {total}")),
        _ if cut => format!("[from line {first} of {total}, cut after {MAX_BYTES} bytes]"),
        _ => format!("[lines {first}-{} of {total}]", first + shown - 1),
    };
    Ok(format!("{header}\n{out}"))
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
