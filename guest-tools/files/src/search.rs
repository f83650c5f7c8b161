//! `grep`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

use crate::exports::witbox::files::files::{Match, Matches};
use crate::failed;
use crate::text::floor_char_boundary;

/// What is shown of a line, in bytes.
const MAX_LINE: usize = 500;
/// A longer line is taken for no text, in bytes.
const MAX_SEARCHED_LINE: u64 = 1 << 20;
/// Folders nested deeper than this are taken for a loop.
const MAX_DEPTH: usize = 64;

pub fn grep(path: &str, text: &str, ignore_case: bool, limit: u32) -> Result<Matches, String> {
    if text.is_empty() {
        return Err("text: an empty text is in every line".to_owned());
    }
    let mut search = Search {
        text: if ignore_case { text.to_lowercase() } else { text.to_owned() },
        ignore_case,
        limit: limit as usize,
        matches: Matches { found: Vec::new(), more: false, skipped: 0 },
    };
    let metadata = fs::metadata(path).map_err(|error| failed(path, &error))?;
    if metadata.is_dir() {
        search.folder(path, 0).map_err(|error| failed(path, &error))?;
    } else {
        search.file(path).map_err(|error| failed(path, &error))?;
    }
    Ok(search.matches)
}

struct Search {
    text: String,
    ignore_case: bool,
    limit: usize,
    matches: Matches,
}

impl Search {
    fn folder(&mut self, path: &str, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(path)?.flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            if self.matches.more {
                return Ok(());
            }
            let name = entry.file_name();
            let below = format!("{}/{}", path.trim_end_matches('/'), name.to_string_lossy());
            let read = match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => self.folder(&below, depth + 1),
                Ok(kind) if kind.is_file() => self.file(&below),
                // Links lead to what is searched anyway, or out.
                _ => Ok(()),
            };
            if read.is_err() {
                self.matches.skipped += 1;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> std::io::Result<()> {
        let mut reader = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        let mut number = 0;
        while (&mut reader).take(MAX_SEARCHED_LINE).read_until(b'\n', &mut line)? > 0 {
            number += 1;
            if line.contains(&0) || line.len() as u64 == MAX_SEARCHED_LINE {
                self.matches.skipped += 1;
                return Ok(());
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']);
            let holds = match self.ignore_case {
                true => text.to_lowercase().contains(&self.text),
                false => text.contains(&self.text),
            };
            if holds {
                if self.matches.found.len() == self.limit {
                    self.matches.more = true;
                    return Ok(());
                }
                self.matches.found.push(Match {
                    path: path.to_owned(),
                    line: number,
                    text: text[..floor_char_boundary(text, MAX_LINE)].to_owned(),
                });
            }
            line.clear();
        }
        Ok(())
    }
}
