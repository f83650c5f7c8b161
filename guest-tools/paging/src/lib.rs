//! How much is returned at once: never so much that it would have to be moved into a file again.

use std::env;

/// The variable in which the host says how much that is, in bytes.
const PAGE: &str = "PAGE_BYTES";
/// The most and the least, whatever the host says.
const MOST: usize = 64 << 10;
const LEAST: usize = 512;
/// What stands around it.
const AROUND: usize = 200;

/// The bytes of one answer.
pub fn bytes() -> usize {
    let said = env::var(PAGE).ok().and_then(|bytes| bytes.parse().ok());
    said.unwrap_or(MOST).saturating_sub(AROUND).clamp(LEAST, MOST - AROUND)
}

/// A part of many items: those from an offset on, at most so many, and no more than fit; and where the rest begins.
pub fn part<T>(all: Vec<T>, offset: u64, limit: u32, size: impl Fn(&T) -> usize) -> (Vec<T>, Option<u64>) {
    let total = all.len() as u64;
    let mut room = bytes();
    let mut part = Vec::new();
    for item in all.into_iter().skip(usize::try_from(offset).unwrap_or(usize::MAX)).take(limit as usize) {
        let size = size(&item);
        if size > room && !part.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        part.push(item);
    }
    let next = offset + part.len() as u64;
    (part, (next < total).then_some(next))
}

/// How long a text is in JSON, with its quotes and what separates it, in bytes.
pub fn written(text: &str) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..='\x1f' => 6,
        c => c.len_utf8(),
    };
    3 + text.chars().map(escaped).sum::<usize>()
}
