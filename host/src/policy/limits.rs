//! The limits of a call.

use std::time::Duration;

/// What one call may use. Each has a default; none can be switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Engine fuel units, roughly one an instruction; 1,000,000,000 are some 0.7 s of computing. Default:
    /// 10,000,000,000.
    pub fuel: u64,
    /// Bytes of all linear memories and tables of the call, of its arguments as values, and of what it returns, together.
    /// Default: 256 MiB.
    pub memory: u64,
    /// Wall clock, waits in the host included. Default: 30 s.
    pub timeout: Duration,
    /// How long the call may wait for a person in all; its own clock stands. Default: 5 minutes.
    pub ask_timeout: Duration,
    /// Bytes of the arguments' JSON text. Default: 1 MiB.
    pub input: u64,
    /// Bytes of the returned value's JSON text. Default: 8 MiB.
    pub output: u64,
    /// Bytes that a program may write to standard output; what is more than `output` is only in the file. Default: 1 GiB.
    pub stream: u64,
    /// HTTP requests. Default: 100.
    pub requests: u64,
    /// Bytes of the bodies of all requests together. Default: 16 MiB.
    pub upload: u64,
    /// Bytes of the bodies of all responses together. Default: 64 MiB.
    pub download: u64,
}

/// What a call takes of the host beside its memory, at most, in bytes: a megabyte each of standard output and error, what it
/// holds open, and the pieces of what is on its way.
const BESIDE: u64 = 16 << 20;

impl Limits {
    /// What a running call takes of the host's memory at most, in bytes: its own memory, which holds its arguments as
    /// values and what it returns too, the text of its arguments, its reply as it is written, twice as it grows, and 16 MiB
    /// for everything else.
    pub fn on_host(&self) -> u64 {
        let reply = self.output.saturating_mul(2);
        self.memory.saturating_add(self.input).saturating_add(reply).saturating_add(BESIDE)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: 10_000_000_000,
            memory: 256 << 20,
            timeout: Duration::from_secs(30),
            ask_timeout: Duration::from_secs(300),
            input: 1 << 20,
            output: 8 << 20,
            stream: 1 << 30,
            requests: 100,
            upload: 16 << 20,
            download: 64 << 20,
        }
    }
}
