//! Descriptors that whoever started the program left open. They may lead anywhere, and no wall closes what is open.

use std::fs;
use std::os::fd::RawFd;

use nix::unistd::close;

/// Where the system lists what this process holds open.
const OPEN: &str = "/proc/self/fd";

/// The descriptors that were open when the program started, but for the standard three.
pub(in crate::cli) struct Inherited(Vec<RawFd>);

impl Inherited {
    /// Has a look; before anything else is opened.
    pub(in crate::cli) fn look() -> Self {
        let numbers = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        let mut open: Vec<RawFd> = fs::read_dir(OPEN).into_iter().flatten().flatten().filter_map(numbers).collect();
        // One of them was the list itself.
        open.retain(|number| *number > 2 && fs::symlink_metadata(format!("{OPEN}/{number}")).is_ok());
        Inherited(open)
    }

    /// Closes them. Files that were named by one, such as `/dev/fd/3`, must have been read before.
    pub(in crate::cli) fn close(&self) {
        for number in &self.0 {
            // What is closed already is as good.
            let _ = close(*number);
        }
    }
}
