//! What is known of the component in a file, by what tells that the file has not changed: so that listing tools opens no component,
//! and reads one file for each.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Cache, describe, reader_id};
use crate::component::description::Description;
use crate::component::digest;

/// What such a file is called, behind its name.
const KIND: &str = "file";
/// How much older than our note of it a change must be to be told from one that came right after: clocks of file systems
/// tick in milliseconds, some in seconds.
const SETTLED_SECONDS: i64 = 3;
/// How many such files there may be before all of them are removed.
const MAX_FILES: usize = 10_000;

pub(super) struct Known<'c>(&'c Cache);

impl<'c> Known<'c> {
    pub(super) fn new(cache: &'c Cache) -> Self {
        Known(cache)
    }

    pub(super) fn description(&self, file: &Path, code_id: u64) -> Option<Description> {
        let path = self.path(&file.metadata().ok()?, code_id);
        describe(&self.0.read_tagged(&path).ok()?).ok()
    }

    pub(super) fn remember(&self, file: &Metadata, description: &Description, code_id: u64) -> io::Result<()> {
        if self.files()?.len() >= MAX_FILES {
            self.prune()?;
        }
        let path = self.path(file, code_id);
        let description = serde_json::to_vec(description)?;
        self.0.write(&path, &[self.0.key.tag(&path, &description).as_bytes(), &description])?;
        // Where it may have been changed at the same time it cannot be told from what it is now.
        if path.metadata()?.mtime() - file.ctime() < SETTLED_SECONDS {
            fs::remove_file(&path)?;
        }
        Ok(())
    }

    /// Removes all: they are cheap to find out again.
    pub(super) fn prune(&self) -> io::Result<()> {
        self.files()?.into_iter().try_for_each(fs::remove_file)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let paths = fs::read_dir(&self.0.folder)?.map(|file| Ok(file?.path()));
        let is_one = |path: &PathBuf| path.extension().is_some_and(|kind| kind == KIND);
        paths.filter(|path| path.as_ref().map_or(true, is_one)).collect()
    }

    /// By device, inode, size and both times to the nanosecond; the second one is the kernel's alone to set.
    fn path(&self, file: &Metadata, code_id: u64) -> PathBuf {
        let times = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
        let told = format!("{:x} {} {} {} {times:?}", reader_id(code_id), file.dev(), file.ino(), file.size());
        self.0.path(digest(told.as_bytes()).trim_start_matches("sha256:"), KIND)
    }
}
