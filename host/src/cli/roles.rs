//! What this program is where it was started by itself: a process that does one thing, apart from the one that runs calls.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::wall::Inherited;
use super::{compiler, watcher};

/// What such processes are told to be, in place of a subcommand.
pub(super) const HELPER: &str = "--compile-helper";
pub(super) const COMPILER: &str = "--compile";
pub(super) const WATCHER: &str = "--watch";

/// This very file, even where another has taken its place.
pub(super) fn this_program(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("witbox").arg(role).env_clear();
    command
}

/// Does what such a process does, where this is one.
pub(super) fn role() -> Option<ExitCode> {
    let role = std::env::args_os().nth(1)?;
    let run = match role.to_str()? {
        HELPER => compiler::help,
        COMPILER => compiler::compile,
        WATCHER => watcher::watch,
        _ => return None,
    };
    Inherited::look().close();
    // None outlives who started it.
    let ran = set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from).and_then(|()| run());
    Some(if ran.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
