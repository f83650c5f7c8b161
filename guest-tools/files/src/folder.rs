//! `ls`.

use std::fs;

use crate::exports::witbox::files::files::{Entry, Kind};
use crate::failed;

pub fn list(path: &str) -> Result<Vec<Entry>, String> {
    let read = match fs::read_dir(path) {
        Ok(read) => read,
        // The root itself is seldom mounted; what is, is what there is to list.
        Err(_) if path == "/" => return Ok(mounts()),
        Err(error) => return Err(failed(path, &error)),
    };
    let mut entries = Vec::new();
    for entry in read {
        let entry = entry.map_err(|error| failed(path, &error))?;
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => Kind::Link,
            Ok(kind) if kind.is_dir() => Kind::Folder,
            Ok(kind) if kind.is_file() => Kind::File,
            _ => Kind::Other,
        };
        let size = match kind {
            Kind::File => entry.metadata().ok().map(|metadata| metadata.len()),
            _ => None,
        };
        entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), kind, size });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// The mounted folders, by their full paths.
fn mounts() -> Vec<Entry> {
    let entries = mount_paths().map(|path| Entry { name: path, kind: Kind::Folder, size: None });
    entries.collect()
}

/// The mounted folders, in words.
pub fn mounted() -> String {
    let paths: Vec<String> = mount_paths().collect();
    if paths.is_empty() {
        return "everything: no folder is mounted".to_owned();
    }
    format!("what is mounted: {}", paths.join(", "))
}

fn mount_paths() -> impl Iterator<Item = String> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path)
}
