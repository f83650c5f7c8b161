//! What a guest writes, as it comes: in memory up to a bound, and from there on into a result.

use std::io::{self, Write as _};
use std::sync::Arc;

use super::{ResultWriter, Session};
use crate::redact::Redactor;

/// Takes bytes of whatever number. What goes into a file shows no secret.
pub(crate) struct Spool {
    limits: SpoolLimits,
    /// How many bytes came.
    taken: u64,
    /// All of them; where there is a file, those that may be the start of a secret.
    held: Vec<u8>,
    file: Option<Spilled>,
    /// Why no file can be written.
    broken: Option<io::Error>,
    /// Where a file may be made, and what must not be in it.
    overflow: Option<(Session, Arc<Redactor>)>,
}

/// How much a [`Spool`] takes, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpoolLimits {
    /// In all.
    pub(crate) stream: u64,
    /// In memory.
    pub(crate) memory: usize,
    /// Of what is in a file, also in memory.
    pub(crate) start: usize,
}

/// What was written into a file that has no name yet.
pub(crate) struct Spilled {
    pub(crate) writer: ResultWriter,
    /// Its first bytes.
    pub(crate) start: Vec<u8>,
}

/// Why no more is taken.
#[derive(Debug)]
pub(crate) enum SpoolError {
    Full(u64),
    /// The system's words for why there can be no file.
    Unwritten(String),
}

/// What came of a [`Spool`].
pub(crate) enum Spooled {
    Memory(Vec<u8>),
    File(Box<Spilled>),
    Lost(Lost),
}

/// What is left where there can be no file.
pub(crate) struct Lost {
    /// The first bytes.
    pub(crate) start: Vec<u8>,
    /// How many there were.
    pub(crate) bytes: u64,
    pub(crate) error: io::Error,
}

impl Spooled {
    /// How many bytes came.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Spooled::Memory(held) => held.len() as u64,
            Spooled::File(spilled) => spilled.writer.bytes(),
            Spooled::Lost(lost) => lost.bytes,
        }
    }
}

impl Spool {
    /// Takes as much as memory may hold.
    pub(crate) fn in_memory(bytes: usize) -> Self {
        let limits = SpoolLimits { stream: bytes as u64, memory: bytes, start: 0 };
        Spool { limits, taken: 0, held: Vec::new(), file: None, broken: None, overflow: None }
    }

    /// Takes what memory does not hold into a result of a session.
    pub(crate) fn new(limits: SpoolLimits, session: Session, redactor: Arc<Redactor>) -> Self {
        Spool { overflow: Some((session, redactor)), limits, ..Spool::in_memory(0) }
    }

    /// Takes bytes, as many as may be.
    ///
    /// # Errors
    /// Why not all were taken.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let room = usize::try_from(self.limits.stream - self.taken).unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(room)];
        self.taken += taken.len() as u64;
        if let Err(error) = self.take(taken) {
            let reason = error.to_string();
            self.give_up(error);
            return Err(SpoolError::Unwritten(reason));
        }
        if taken.len() < bytes.len() { Err(SpoolError::Full(self.limits.stream)) } else { Ok(()) }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((session, redactor)) = &self.overflow else {
            self.held.extend_from_slice(bytes);
            return Ok(());
        };
        let spilled = match &mut self.file {
            Some(spilled) if redactor.is_idle() => return spilled.write(bytes, self.limits.start),
            Some(spilled) => spilled,
            None if self.held.len() + bytes.len() <= self.limits.memory => {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            None => self.file.insert(Spilled { writer: session.write()?, start: Vec::new() }),
        };
        self.held.extend_from_slice(bytes);
        let passed = redactor.mask_start(&mut self.held);
        spilled.write(&self.held[..passed], self.limits.start)?;
        self.held.drain(..passed);
        self.held.shrink_to(bytes.len());
        Ok(())
    }

    fn give_up(&mut self, error: io::Error) {
        match (self.file.take(), &self.overflow) {
            (Some(spilled), _) => self.held = spilled.start,
            (None, Some((_, redactor))) => redactor.mask(&mut self.held),
            (None, None) => {}
        }
        self.broken = Some(error);
    }

    /// All that came, as far as it is there.
    pub(crate) fn finish(mut self) -> Spooled {
        if let (Some(spilled), Some((_, redactor))) = (&mut self.file, &self.overflow) {
            redactor.mask(&mut self.held);
            if let Err(error) = spilled.write(&self.held, self.limits.start) {
                self.give_up(error);
            }
        }
        match (self.file, self.broken) {
            (_, Some(error)) => Spooled::Lost(Lost { start: self.held, bytes: self.taken, error }),
            (Some(spilled), None) => Spooled::File(Box::new(spilled)),
            (None, None) => Spooled::Memory(self.held),
        }
    }
}

impl Spilled {
    fn write(&mut self, bytes: &[u8], start: usize) -> io::Result<()> {
        let room = start - self.start.len();
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.writer.write_all(bytes)
    }
}
