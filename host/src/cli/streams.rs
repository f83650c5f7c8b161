//! Standard input and output as the protocol wants them: read and written without a thread for each.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

use rustix::fs::OFlags;
use rustix::pipe::fcntl_setpipe_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// How much a pipe holds, where the system lets it: a result of usual size goes through at once.
const PIPE: usize = 1 << 20;

/// One of the two, found out what it is before anything is given up.
pub(super) enum Stream {
    /// A pipe, opened anew: that it does not block is nobody else's concern.
    Pipe(File),
    Socket(std::os::unix::net::UnixStream),
    /// A terminal, or a file.
    Other,
}

impl Stream {
    pub(super) fn input() -> io::Result<Self> {
        Stream::of(io::stdin().as_fd().try_clone_to_owned()?, "/proc/self/fd/0", OpenOptions::new().read(true))
    }

    pub(super) fn output() -> io::Result<Self> {
        Stream::of(io::stdout().as_fd().try_clone_to_owned()?, "/proc/self/fd/1", OpenOptions::new().write(true))
    }

    fn of(descriptor: OwnedFd, path: &str, how: &mut OpenOptions) -> io::Result<Self> {
        let file = File::from(descriptor);
        let kind = file.metadata()?.file_type();
        if kind.is_socket() {
            let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
            socket.set_nonblocking(true)?;
            return Ok(Stream::Socket(socket));
        }
        if !kind.is_fifo() {
            return Ok(Stream::Other);
        }
        let opened = how.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
        // Of another user's, say.
        let Ok(opened) = opened else { return Ok(Stream::Other) };
        let _ = fcntl_setpipe_size(&opened, PIPE);
        Ok(Stream::Pipe(opened))
    }

    /// What is read from it, in a runtime.
    pub(super) fn reader(self) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        Ok(match self {
            Stream::Pipe(file) => Box::new(pipe::Receiver::from_file(file)?),
            Stream::Socket(socket) => Box::new(UnixStream::from_std(socket)?),
            Stream::Other => Box::new(tokio::io::stdin()),
        })
    }

    /// What is written to it, in a runtime.
    pub(super) fn writer(self) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        Ok(match self {
            Stream::Pipe(file) => Box::new(pipe::Sender::from_file(file)?),
            Stream::Socket(socket) => Box::new(UnixStream::from_std(socket)?),
            Stream::Other => Box::new(tokio::io::stdout()),
        })
    }
}
