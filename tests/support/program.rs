//! The program `witbox`, with a cache of its own for each test's process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Where the program keeps compiled code: nothing of an earlier build is in it.
pub static CACHE_HOME: LazyLock<PathBuf> = LazyLock::new(|| {
    let test = std::env::current_exe().unwrap();
    let stem = test.file_stem().unwrap().to_str().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{stem}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
});

/// The program, to be given arguments.
pub fn witbox() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_witbox"));
    command.env("XDG_CACHE_HOME", &*CACHE_HOME).env("XDG_STATE_HOME", &*CACHE_HOME);
    command
}
