//! Bytes → machine code and a description, in this process or in another.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;

use super::bounds;
use super::description::Description;
use super::{ComponentError, check_preamble, componentize, decode, is_program};
use crate::engine::Compiler;
use crate::error::{Error, Kind};

/// The most bytes of a description, and how deep its JSON may nest: types nest a hundred deep at most, with some levels of
/// JSON for each.
pub(super) const MAX_DESCRIPTION: usize = 64 << 20;
const MAX_DEPTH: usize = 1_000;
/// The most bytes of machine code: some four times the largest component that is read.
const MAX_CODE: usize = 1 << 30;

/// Compiles components.
///
/// Compilers are large programs that read what strangers wrote. Whoever runs components of strangers may have them compiled
/// by another process: one that reads [`compile`](Self::compile)'s argument, uses an [`InProcess`] there, and sends what it
/// gives back with [`Compiled::write`]. What comes of it is run, so that only a process of the same user's may do it.
pub trait Compile: Send + Sync {
    /// Compiles a component. It takes time in proportion to its size: some 20 ms for 100 KB, seconds for 20 MB.
    ///
    /// # Errors
    /// An error that [`is_component`](Error::is_component) where the bytes are none that can be used, or could not be
    /// compiled.
    fn compile(&self, component: &[u8]) -> Result<Compiled, Error>;
}

/// Compiles in this process, in a thread of its own for each component.
#[derive(Default)]
pub struct InProcess(Compiler);

/// A component as machine code, and what is known of it.
pub struct Compiled {
    pub(super) description: Description,
    pub(super) code: Vec<u8>,
}

impl Compile for InProcess {
    fn compile(&self, component: &[u8]) -> Result<Compiled, Error> {
        check_preamble(component)?;
        // Compilers and decoders recurse and panic on some inputs; neither is the caller's trouble.
        let panicked = || ComponentError::Invalid("the compiler panicked on it".to_owned());
        let adapted = match is_program(component) {
            true => {
                let adapted = decode::apart(|| componentize(component)).ok_or_else(panicked)?;
                Some(adapted.map_err(ComponentError::Program)?)
            }
            false => None,
        };
        let binary = adapted.as_deref().unwrap_or(component);
        let structure = bounds::check(binary).map_err(ComponentError::TooMuch)?;
        let engine = self.0.engine(structure.is_composed).map_err(|error| Kind::Engine(format!("{error:#}")))?;
        let compiled = decode::apart(|| compile(engine, component, binary, structure.is_composed));
        Ok(compiled.ok_or_else(panicked)??)
    }
}

/// Compiles a component, which `bytes` are or were made into.
fn compile(
    engine: &wasmtime::Engine,
    bytes: &[u8],
    component: &[u8],
    is_composed: bool,
) -> Result<Compiled, ComponentError> {
    let compiled =
        wasmtime::component::Component::from_binary(engine, component).map_err(|error| refusal(component, &error))?;
    let description = Description::of(bytes, component, &compiled, is_composed);
    let code = compiled.serialize().map_err(|error| ComponentError::Invalid(format!("{error:#}")))?;
    Ok(Compiled { description, code })
}

impl Compiled {
    /// Notes what could not be done with it, none of which keeps it from running.
    pub(crate) fn note(&mut self, note: String) {
        self.description.notes.push(note);
    }

    /// Writes it for another process of the same version of witbox.
    ///
    /// # Errors
    /// What the writer says, and where what is known of the component is too much to be sent.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let description = serde_json::to_vec(&self.description)?;
        if description.len() > MAX_DESCRIPTION {
            return Err(io::Error::other(format!("its tools take more than {MAX_DESCRIPTION} bytes to describe")));
        }
        for part in [&description, &self.code] {
            to.write_all(&(part.len() as u64).to_le_bytes())?;
            to.write_all(part)?;
        }
        to.flush()
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// What the reader says, and where it is nothing of the kind.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let description = part(&mut from, MAX_DESCRIPTION)?;
        let description = describe(&description)?;
        Ok(Compiled { description, code: part(&mut from, MAX_CODE)? })
    }
}

/// Reads a description or what holds one, whose JSON may nest deeper than JSON of other sources.
pub(super) fn describe<T: DeserializeOwned>(json: &[u8]) -> io::Result<T> {
    if depth(json) > MAX_DEPTH {
        return Err(io::Error::other("it nests too deep"));
    }
    let mut json = serde_json::Deserializer::from_slice(json);
    json.disable_recursion_limit();
    Ok(T::deserialize(&mut json)?)
}

/// At least how deep a JSON text nests; brackets within strings count too.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in json {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn part(from: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > limit as u64 {
        return Err(io::Error::other(format!("{length} bytes are too many")));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Says why the engine refused a component; where it is for asynchronous functions or types, which functions.
fn refusal(bytes: &[u8], error: &wasmtime::Error) -> ComponentError {
    let reason = match error.downcast_ref::<wasmparser::BinaryReaderError>() {
        Some(error) => format!("{} (at byte {})", error.message(), error.offset()),
        None => format!("{error:#}"),
    };
    // The message of a switched-off proposal names it; which functions it is about only the WIT tells.
    if reason.contains("component model async") || reason.contains("error-context") {
        return match decode::asynchronous(bytes) {
            Some((what, functions)) => ComponentError::Async { what, functions },
            None => ComponentError::AsyncAbi(reason),
        };
    }
    if reason.contains("out of bounds (bound") || reason.contains("unexpected end") {
        return ComponentError::Truncated(reason);
    }
    ComponentError::Invalid(reason)
}
