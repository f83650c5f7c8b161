//! `write`, `delete` and `move`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::failed;
use crate::folder::below;

/// Writes a file whole, or adds to its end.
pub fn write(path: &str, content: &str, append: bool) -> Result<u64, String> {
    make_folders(path)?;
    let refuse = |error: io::Error| failed(path, &error);
    if !append {
        fs::write(path, content).map_err(refuse)?;
        return Ok(content.len() as u64);
    }
    let mut file = File::options().append(true).create(true).open(path).map_err(refuse)?;
    file.write_all(content.as_bytes()).map_err(refuse)?;
    Ok(file.metadata().map_err(refuse)?.len())
}

pub fn delete(path: &str, recursive: bool) -> Result<u32, String> {
    let about = fs::symlink_metadata(path).map_err(|error| failed(path, &error))?;
    let mut gone = 0;
    let done = match about.is_dir() {
        true if recursive => delete_all(path, &mut gone),
        true => fs::remove_dir(path).map(|()| gone += 1),
        false => fs::remove_file(path).map(|()| gone += 1),
    };
    match done {
        Ok(()) => Ok(gone),
        Err(error) if gone > 0 => Err(format!("{}; {gone} files and folders in it are gone", failed(path, &error))),
        Err(error) => Err(failed(path, &error)),
    }
}

fn delete_all(path: &str, gone: &mut u32) -> io::Result<()> {
    // A folder is not read while it changes.
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { return Err(io::ErrorKind::InvalidFilename.into()) };
        let inner = below(path, name);
        if entry.file_type()?.is_dir() {
            delete_all(&inner, gone)?;
        } else {
            fs::remove_file(&inner)?;
            *gone += 1;
        }
    }
    fs::remove_dir(path)?;
    *gone += 1;
    Ok(())
}

pub fn rename(path: &str, to: &str, replace: bool) -> Result<(), String> {
    let from = fs::symlink_metadata(path).map_err(|error| failed(path, &error))?;
    match fs::symlink_metadata(to) {
        Ok(_) if !replace => return Err(format!("{to}: it is there already; replace lets it go")),
        Ok(there) if there.is_dir() || from.is_dir() => {
            return Err(format!("{to}: it is there already, and only a file takes the place of a file"));
        }
        _ => {}
    }
    make_folders(to)?;
    fs::rename(path, to).map_err(|error| failed(to, &error))
}

fn make_folders(path: &str) -> Result<(), String> {
    match Path::new(path).parent() {
        Some(folder) if !folder.exists() => fs::create_dir_all(folder).map_err(|error| failed(path, &error)),
        _ => Ok(()),
    }
}
