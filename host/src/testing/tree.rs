//! Folders of cases: copied before a case, and compared after it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

/// The most that is copied for a case, in files and bytes.
const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 256 << 20;

/// What is below a folder, by its path from there: what tells whether it changed.
pub(super) type Snapshot = BTreeMap<PathBuf, String>;

/// How much was copied for a case.
#[derive(Debug, Default)]
pub(super) struct Copied {
    files: usize,
    bytes: u64,
}

/// Copies a folder: folders, files and links, as they are; what is neither is left out, and so are some paths.
///
/// # Errors
/// When something cannot be read or written, or there is too much.
pub(super) fn copy(from: &Path, to: &Path, copied: &mut Copied, without: &[PathBuf]) -> Result<(), String> {
    for entry in WalkDir::new(from) {
        let entry = entry.map_err(|error| error.to_string())?;
        if without.iter().any(|path| path == entry.path()) {
            continue;
        }
        let refuse = |error: io::Error| format!("{}: {error}", entry.path().display());
        let target = to.join(entry.path().strip_prefix(from).unwrap_or(Path::new("")));
        let kind = entry.file_type();
        copied.files += 1;
        if kind.is_file() {
            copied.bytes += entry.metadata().map_err(|error| error.to_string())?.len();
        }
        if copied.files > MAX_FILES || copied.bytes > MAX_BYTES {
            return Err(format!("{}: more than {MAX_FILES} files or {MAX_BYTES} bytes to copy", from.display()));
        }
        if kind.is_dir() {
            fs::create_dir_all(&target).map_err(refuse)?;
            continue;
        }
        if kind.is_symlink() {
            let link = fs::read_link(entry.path()).map_err(refuse)?;
            std::os::unix::fs::symlink(link, &target).map_err(refuse)?;
        } else if kind.is_file() {
            copy_file(entry.path(), &target).map_err(refuse)?;
        }
    }
    Ok(())
}

/// Copies a file. Its mode is given when it is made: behind the wall of the command line none can be changed later.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mode = from.metadata()?.mode() & 0o777;
    let mut to = File::options().write(true).create_new(true).mode(mode).open(to)?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}

/// What is below a folder now.
///
/// # Errors
/// When something cannot be read.
pub(super) fn snapshot(folder: &Path) -> Result<Snapshot, String> {
    let mut found = Snapshot::new();
    for entry in WalkDir::new(folder).min_depth(1) {
        let entry = entry.map_err(|error| error.to_string())?;
        let refuse = |error: io::Error| format!("{}: {error}", entry.path().display());
        let kind = entry.file_type();
        let what = if kind.is_dir() {
            "folder".to_owned()
        } else if kind.is_symlink() {
            format!("link to {}", fs::read_link(entry.path()).map_err(refuse)?.display())
        } else {
            // Of a sparse file of a terabyte, what tells is its size.
            let size = entry.metadata().map_err(|error| error.to_string())?.len();
            let hash = if size <= MAX_BYTES {
                Sha256::digest(fs::read(entry.path()).map_err(refuse)?)
            } else {
                Sha256::digest([])
            };
            format!("file of {size} bytes, {hash:?}")
        };
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        found.insert(path.to_owned(), what);
    }
    Ok(found)
}

/// The paths of what was made, changed or removed.
pub(super) fn changes(before: &Snapshot, after: &Snapshot) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let new = after.iter().filter(|(path, what)| before.get(*path) != Some(what)).map(|(path, _)| path);
    let mut changed: Vec<PathBuf> = gone.chain(new).cloned().collect();
    changed.sort();
    changed
}
