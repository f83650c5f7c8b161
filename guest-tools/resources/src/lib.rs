//! Files of mounts, listed from where a list ended, and read in parts: under the grant of the toolset whose mounts they are.

wit_bindgen::generate!({ world: "resources-tool", path: "wit" });

use std::fs::{self, DirEntry, File};
use std::io::{self, Read, Seek, SeekFrom};

use exports::witbox::resources::resources::{Contents, File as Found, Guest, Listing, Part};

/// Folders nested deeper than this are taken for a loop.
const MAX_DEPTH: usize = 64;

struct Resources;

export!(Resources);

impl Guest for Resources {
    fn list_resources(folders: Vec<String>, after: Option<String>, limit: u32) -> Listing {
        let mut list = List { files: Vec::new(), limit: limit as usize, more: false };
        let mut after = after.as_deref();
        for folder in &folders {
            let rest = after.and_then(|path| path.strip_prefix(folder.as_str()));
            let rest = rest.filter(|rest| folder == "/" || rest.starts_with('/'));
            if after.is_some() && rest.is_none() {
                continue;
            }
            after = None;
            list.below(folder, rest.map(|rest| rest.trim_start_matches('/')), 0);
        }
        Listing { files: list.files, more: list.more }
    }

    fn read_resource(path: String, offset: u64, limit: u32) -> Result<Part, String> {
        read(&path, offset, limit).map_err(|error| format!("{path}: {error}"))
    }
}

struct List {
    files: Vec<Found>,
    limit: usize,
    /// Whether there are files for which there is no room.
    more: bool,
}

impl List {
    /// Takes on what is below a folder, behind a path in it where there is one.
    fn below(&mut self, folder: &str, after: Option<&str>, depth: usize) {
        // What may not be looked into has nothing to show.
        let Ok(entries) = fs::read_dir(folder) else { return };
        let name = |entry: DirEntry| Some((entry.file_name().into_string().ok()?, entry));
        let mut entries: Vec<(String, DirEntry)> = entries.flatten().filter_map(name).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (last, mut rest) = match after {
            Some(after) => after.split_once('/').map_or((Some(after), None), |(last, rest)| (Some(last), Some(rest))),
            None => (None, None),
        };
        for (name, entry) in entries {
            if self.more {
                return;
            }
            let order = last.map(|last| name.as_str().cmp(last));
            if order.is_some_and(|order| order.is_lt()) {
                continue;
            }
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.below(&path, rest.take().filter(|_| order.is_some_and(|order| order.is_eq())), depth + 1);
                }
                Ok(kind) if kind.is_file() && !order.is_some_and(|order| order.is_eq()) => self.file(path, &entry),
                _ => {}
            }
        }
    }

    fn file(&mut self, path: String, entry: &DirEntry) {
        if self.files.len() == self.limit {
            self.more = true;
        } else if let Ok(about) = entry.metadata() {
            self.files.push(Found { path, size: about.len() });
        }
    }
}

fn read(path: &str, offset: u64, limit: u32) -> io::Result<Part> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset.min(about.len())))?;
    // A few more, so that the last character is whole.
    file.take(u64::from(limit) + 3).read_to_end(&mut bytes)?;
    let contents = match text(&bytes, limit as usize) {
        Some(text) => Contents::Text(text.to_owned()),
        None => {
            bytes.truncate(limit as usize);
            Contents::Bytes(bytes)
        }
    };
    Ok(Part { size: about.len(), contents })
}

/// The characters that begin within the first `limit` bytes; nothing where that is no text.
fn text(bytes: &[u8], limit: usize) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    // The first may have begun before.
    let start = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let bytes = bytes.get(start..)?;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    let end = (limit.saturating_sub(start)..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    text.get(..end)
}
