//! Compiling in processes of their own, for the compiler is a large program that reads what strangers wrote.
//!
//! A helper of this program starts one process for each component and passes on what comes of it. The helper is there so
//! that this process may give up starting programs at all, and the other so that it may give up nearly everything.

use std::io::{self, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use witbox::{Compile, Compiled, Error, InProcess};

use super::roles::{COMPILER, HELPER, this_program};

/// What compiling one component may take. The largest known, of componentize-py, takes 15 s of processor time and 1.2 GB.
const MAX_MEMORY: u64 = 4 << 30;
const MAX_PROCESSOR: Duration = Duration::from_secs(240);
const MAX_TIME: Duration = Duration::from_secs(300);
/// The most that is passed on at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Compiles by a helper, which is started when it is first needed.
pub(super) struct Helper(Mutex<Option<Running>>);

struct Running {
    process: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Helper {
    pub(super) fn new() -> Self {
        Helper(Mutex::new(None))
    }

    /// One that runs already.
    pub(super) fn started() -> io::Result<Self> {
        Ok(Helper(Mutex::new(Some(Running::start()?))))
    }
}

impl Compile for Helper {
    fn compile(&self, component: &[u8]) -> Result<Compiled, Error> {
        let mut helper = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was killed meanwhile is no reason to fail.
        let again = helper.take().and_then(|running| running.ask(component).ok());
        let asked = again.map_or_else(|| Running::start()?.ask(component), Ok);
        // Where the conversation broke off the helper is not asked again.
        let (running, answer) = asked.map_err(|error| failed(&error))?;
        *helper = Some(running);
        answer.map_err(|reason| Error::refused_component(&reason))
    }
}

fn failed(error: &io::Error) -> Error {
    Error::refused_component(&format!("the process that compiles cannot be used: {error}"))
}

impl Running {
    fn start() -> io::Result<Self> {
        let mut process = this_program(HELPER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(to), Some(from)) => Ok(Running { process, to, from }),
            _ => Err(io::Error::other("it has no pipes")),
        }
    }

    /// What the compiler says: a compiled component, or why not. Nobody has it who broke off.
    fn ask(mut self, component: &[u8]) -> io::Result<(Self, Result<Compiled, String>)> {
        self.to.write_all(&(component.len() as u64).to_le_bytes())?;
        self.to.write_all(component)?;
        self.to.flush()?;
        let mut answer = Chunks::of(&mut self.from);
        let said = read_answer(&mut answer);
        io::copy(&mut answer, &mut io::sink())?;
        let said = match (answer.fault, said) {
            // Whatever came before it died is worth nothing.
            (Some(fault), _) => Err(fault),
            (None, Ok(said)) => said,
            (None, Err(error)) => Err(format!("the process that compiles it said nothing of use: {error}")),
        };
        Ok((self, said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Behind the wall nobody can be stopped; it ends by itself once nobody can ask it, and with this process.
        if self.process.kill().is_ok() {
            let _ = self.process.wait();
        }
    }
}

/// The helper: a compiler for each component that is asked for, one after the other, for as long as anybody asks.
pub(super) fn help() -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut stdout = io::stdout().lock();
    loop {
        let mut length = [0; 8];
        match stdin.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let fault = serve(u64::from_le_bytes(length), &mut stdin, &mut stdout)?;
        stdout.write_all(&0u32.to_le_bytes())?;
        let fault = fault.unwrap_or_default();
        stdout.write_all(&(fault.len() as u32).to_le_bytes())?;
        stdout.write_all(fault.as_bytes())?;
        stdout.flush()?;
    }
}

/// Has one component compiled. Says why not where the compiler did not get to say anything itself.
fn serve(length: u64, from: &mut impl Read, to: &mut impl Write) -> io::Result<Option<String>> {
    let ends = Instant::now() + MAX_TIME;
    let mut component = from.take(length);
    let (mut process, mut input, chunks) = match start_compiler() {
        Ok(started) => started,
        Err(error) => {
            io::copy(&mut component, &mut io::sink())?;
            return Ok(Some(format!("no process to compile it can be started: {error}")));
        }
    };
    // It reads everything before it says anything. Where it dies the rest is still to be taken away.
    let _ = io::copy(&mut component, &mut input);
    io::copy(&mut component, &mut io::sink())?;
    drop(input);
    let in_time = loop {
        let left = ends.saturating_duration_since(Instant::now());
        match chunks.recv_timeout(left) {
            Ok(chunk) => {
                to.write_all(&(chunk.len() as u32).to_le_bytes())?;
                to.write_all(&chunk)?;
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break true,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => break false,
        }
    };
    if !in_time {
        process.kill()?;
    }
    let status = process.wait()?;
    Ok(match (in_time, status.success()) {
        (true, true) => None,
        (false, _) => Some(format!("compiling it takes longer than {} s", MAX_TIME.as_secs())),
        (true, false) => Some(format!(
            "the process that compiles it died ({status}): it would take more than {} s of processor time or {} GiB of \
             memory, or it is made to break the compiler",
            MAX_PROCESSOR.as_secs(),
            MAX_MEMORY >> 30
        )),
    })
}

/// A process that compiles, what it reads, and what it says.
fn start_compiler() -> io::Result<(Child, ChildStdin, Receiver<Vec<u8>>)> {
    let command = &mut this_program(COMPILER);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(io::Error::other("it has no pipes"));
    };
    let chunks = chunks(output)?;
    Ok((process, input, chunks))
}

/// What a process says, piece by piece, until it has nothing more to say.
fn chunks(mut from: ChildStdout) -> io::Result<Receiver<Vec<u8>>> {
    let (send, receive) = sync_channel(16);
    std::thread::Builder::new().spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK];
            match from.read(&mut chunk) {
                Ok(read) if read > 0 => {
                    chunk.truncate(read);
                    if send.send(chunk).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    })?;
    Ok(receive)
}

/// The compiler: reads one component, and says what it becomes, or why it becomes nothing.
pub(super) fn compile() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::As, MAX_MEMORY),
        (Resource::Cpu, MAX_PROCESSOR.as_secs()),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        // What it may have already may be less.
        let limit = getrlimit(resource).maximum.map_or(limit, |already| already.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    super::wall::raise_for_compiling().map_err(io::Error::other)?;
    super::quiet_loader();
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    let mut stdout = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    match InProcess::default().compile(&component) {
        Ok(compiled) => {
            stdout.write_all(&[0])?;
            compiled.write(&mut stdout)
        }
        Err(error) => {
            stdout.write_all(&[1])?;
            stdout.write_all(error.to_string().as_bytes())?;
            stdout.flush()
        }
    }
}

fn read_answer(from: &mut impl Read) -> io::Result<Result<Compiled, String>> {
    let mut kind = [0];
    from.read_exact(&mut kind)?;
    if kind == [0] {
        return Ok(Ok(Compiled::read(from)?));
    }
    let mut reason = String::new();
    from.take(CHUNK as u64).read_to_string(&mut reason)?;
    Ok(Err(reason))
}

/// What the helper passes on, until it says that this was all.
struct Chunks<'h> {
    from: &'h mut ChildStdout,
    /// Of the chunk at hand.
    left: u32,
    is_done: bool,
    /// Nothing until all was read, and then why the compiler died, if it did.
    fault: Option<String>,
}

impl<'h> Chunks<'h> {
    fn of(from: &'h mut ChildStdout) -> Self {
        Chunks { from, left: 0, is_done: false, fault: None }
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut number = [0; 4];
        self.from.read_exact(&mut number)?;
        Ok(u32::from_le_bytes(number))
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_done {
            self.left = self.number()?;
            if self.left == 0 {
                self.is_done = true;
                let mut fault = String::new();
                let length = self.number()?;
                (&mut *self.from).take(length.into()).read_to_string(&mut fault)?;
                self.fault = (!fault.is_empty()).then_some(fault);
            }
        }
        let most = buffer.len().min(self.left as usize);
        let read = self.from.read(buffer.get_mut(..most).unwrap_or_default())?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u32;
        Ok(read)
    }
}
