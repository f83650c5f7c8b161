//! Folders that are witbox's alone.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};

/// Makes a folder for nobody else.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A folder that is this user's alone, by its real path; it is made where it is not there.
///
/// # Errors
/// What is wrong with it; `mend` says what to do where others may use it.
pub(crate) fn folder(folder: &Path, mend: &str) -> Result<PathBuf, String> {
    let system = |error: io::Error| error.to_string();
    make(folder).map_err(system)?;
    let folder = folder.canonicalize().map_err(system)?;
    let about = folder.metadata().map_err(system)?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err("it is another user's".to_owned());
    }
    if about.mode() & 0o077 != 0 {
        return Err(format!("others may use it, and may have: {mend} {}", folder.display()));
    }
    Ok(folder)
}

/// Has a file be as old as one that is written now.
pub(crate) fn renew(file: &File) -> io::Result<()> {
    const NOW: Timestamps = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    Ok(futimens(file, &NOW)?)
}
