//! `ls` and `info`.

use std::fs::{self, File, FileType};
use std::io::Read;
use std::time::UNIX_EPOCH;

use crate::exports::witbox::files::files::{About, Entry, Kind, Listing};
use crate::failed;

/// What an entry takes beside its name, as JSON.
const ENTRY: usize = 60;

pub fn list(path: &str, offset: u64, limit: u32) -> Result<Listing, String> {
    let mut entries = match fs::read_dir(path) {
        Ok(read) => read
            .map(|entry| {
                let entry = entry?;
                let kind = entry.file_type().map_or(Kind::Other, kind);
                Ok((entry.file_name().to_string_lossy().into_owned(), kind))
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(path, &error))?,
        // The root itself is seldom mounted; what is, is what there is to list.
        Err(_) if path == "/" => mount_paths().map(|path| (path, Kind::Folder)).collect(),
        Err(error) => return Err(failed(path, &error)),
    };
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let total = entries.len() as u64;
    if offset > total {
        return Err(format!("offset: {offset} is behind the end, the folder has {total} entries"));
    }
    let (part, next) = paging::part(entries, offset, limit, |(name, _)| paging::written(name) + ENTRY);
    let entries = part.into_iter().map(|(name, kind)| {
        // Only of what is returned: each costs a look.
        let size = match kind {
            Kind::File => fs::metadata(below(path, &name)).ok().map(|metadata| metadata.len()),
            _ => None,
        };
        Entry { name, kind, size }
    });
    Ok(Listing { entries: entries.collect(), total, next })
}

pub fn info(path: &str) -> Result<About, String> {
    let about = fs::symlink_metadata(path).map_err(|error| failed(path, &error))?;
    let kind = kind(about.file_type());
    let is_file = kind == Kind::File;
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(About {
        kind,
        size: if is_file { about.len() } else { 0 },
        lines: if is_file { lines(path).ok().flatten() } else { None },
        modified: modified.map(|since| since.as_secs()),
    })
}

/// How many lines a text has; nothing for what is none.
fn lines(path: &str) -> std::io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    let (mut lines, mut ends) = (0, true);
    loop {
        let read = file.read(&mut buffer)?;
        let piece = &buffer[..read];
        if read == 0 {
            return Ok(Some(lines + u64::from(!ends)));
        }
        if memchr::memchr(0, piece).is_some() {
            return Ok(None);
        }
        lines += memchr::memchr_iter(b'\n', piece).count() as u64;
        ends = piece.ends_with(b"\n");
    }
}

pub fn kind(of: FileType) -> Kind {
    if of.is_symlink() {
        Kind::Link
    } else if of.is_dir() {
        Kind::Folder
    } else if of.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

/// A path one name further.
pub fn below(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}

/// The mounted folders, in words.
pub fn mounted() -> String {
    let paths: Vec<String> = mount_paths().collect();
    if paths.is_empty() {
        return "everything: no folder is mounted".to_owned();
    }
    format!("what is mounted: {}", paths.join(", "))
}

pub fn mount_paths() -> impl Iterator<Item = String> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path)
}
