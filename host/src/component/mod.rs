//! Bytes → a component that may run, with what it exports, imports and says of itself.

mod adapt;
mod bounds;
mod builtin;
mod cache;
mod code;
mod compile;
mod decode;
mod description;
mod docs;
mod docstring;
mod fit;
mod manifest;
mod metadata;
mod package_docs;
mod sections;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Weak};

use sha2::{Digest, Sha256};

use bounds::TooMuch;
use code::{Code, Unread};
use description::Description;

pub use crate::tool::NoTool;
pub(crate) use adapt::{componentize, is_program};
pub use cache::{Cache, Cached};
pub use compile::{Compile, Compiled, InProcess};
pub use decode::LOADER_THREAD;
pub(crate) use decode::interface_name;
pub(crate) use docs::Docs;
pub(crate) use docstring::Docstring;
pub(crate) use fit::Outline;
pub(crate) use manifest::{Claims, InterfaceDocs, ItemDocs, Manifest, ManifestError, ToolClaims};
pub use manifest::{Hints, Needs};
pub use metadata::Metadata;

use crate::config::Source;
use crate::engine::Engine;
use crate::error::{Error, Kind};
use crate::tool::{NameError, Tool, ToolsetName, name_tools};

/// A compiled component. A program for WASI preview 1, which is a core module, is made one as it is read.
///
/// ```
/// # fn main() -> Result<(), witbox::Error> {
/// let engine = witbox::Engine::new()?;
/// let error = witbox::Component::new(&engine, b"#!/bin/sh").unwrap_err();
/// assert_eq!(error.to_string(), "not a WebAssembly file: it does not start with `\\0asm`");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Component {
    description: Arc<Description>,
    code: Arc<Code>,
}

/// A component, if somebody still uses it.
pub(crate) struct WeakComponent(Weak<Description>, Weak<Code>);

impl WeakComponent {
    pub(crate) fn upgrade(&self) -> Option<Component> {
        Some(Component { description: self.0.upgrade()?, code: self.1.upgrade()? })
    }
}

/// Why bytes are no component that witbox can use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ComponentError {
    #[error("not a WebAssembly file: it is empty")]
    Empty,
    #[error("not a WebAssembly file: it does not start with `\\0asm`")]
    NotWasm,
    #[error("WebAssembly text, not a binary: translate it first, such as with `wasm-tools parse`")]
    Text,
    #[error(
        "a core module, not a component: make it one with `witbox pack`, which takes what wit-bindgen's macros leave in it"
    )]
    CoreModule,
    #[error("a program for WASI preview 1 that cannot be made a component: {0}")]
    Program(String),
    #[error("not loaded: {0}, which would cost more than any tool needs")]
    TooMuch(TooMuch),
    #[error("not a valid component: {0}")]
    Invalid(String),
    #[error("not a valid component, and perhaps cut off: {0}")]
    Truncated(String),
    #[error("the component uses {what}, which this engine runs without: {functions}")]
    Async { what: String, functions: String },
    #[error(
        "not built for this engine, which runs without the asynchronous component model: {0}; build it for the synchronous ABI"
    )]
    AsyncAbi(String),
    #[error(
        "{bytes} bytes, and at most {limit} are read; the configuration's `component-size` of [host] says how many"
    )]
    TooLong { bytes: u64, limit: u64 },
    #[error("it is not what it was when its tools were listed; list them again")]
    Changed,
    #[error("{0}")]
    Refused(String),
    #[error("no built-in component is named `{name}`; there are {known}")]
    NoBuiltin { name: String, known: String },
    #[error("{0}")]
    Read(std::io::Error),
}

impl Component {
    /// Compiles a component from its binary. Compiling takes time in proportion to its size: some 20 ms for 100 KB,
    /// seconds for 20 MB.
    ///
    /// # Errors
    /// An error that [`is_component`](Error::is_component) when the bytes are no WebAssembly, are a core module that is no
    /// program, do not validate, or use a proposal that the engine runs without.
    pub fn new(engine: &Engine, bytes: &[u8]) -> Result<Self, Error> {
        check_size(bytes.len() as u64, engine)?;
        let kept = engine.cache().and_then(|cache| {
            let digest = digest(bytes);
            let code = cache.code(&digest, engine.code_id())?;
            Some((cache.description(&digest, engine.code_id())?, code))
        });
        if let Some((description, code)) = kept {
            return Ok(Component { description: Arc::new(description), code: Arc::new(Code::kept(code)) });
        }
        let Compiled { description, code } = engine.compile(bytes)?;
        Ok(Component { description: Arc::new(description), code: Arc::new(Code::compiled(code)) })
    }

    /// Compiles one of the components that come with witbox: `data`, `files`, `probe`, `resources` or `triage`.
    ///
    /// # Errors
    /// An error that [`is_component`](Error::is_component) when there is none of this name.
    pub fn builtin(engine: &Engine, name: &str) -> Result<Self, Error> {
        let builtin = builtin::find(name)?;
        engine.builtin(builtin.name, || {
            let known = engine.cache().and_then(|cache| cache.description(builtin.digest, engine.code_id()));
            match known {
                Some(description) => {
                    let code = Code::unread(Unread::Builtin(builtin.bytes));
                    Ok(Component { description: Arc::new(description), code: Arc::new(code) })
                }
                None => Component::new(engine, builtin.bytes),
            }
        })
    }

    /// Compiles the component of a plan.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`builtin`](Self::builtin), and when the file cannot be read.
    pub fn load(engine: &Engine, source: &Source) -> Result<Self, Error> {
        match source {
            Source::Builtin(name) => Component::builtin(engine, name),
            Source::File(path) => Component::file(engine, path),
        }
    }

    /// A component in a file. Where it was read before and has not changed since, only what is known of it is read.
    fn file(engine: &Engine, path: &Path) -> Result<Self, Error> {
        let Some(cache) = engine.cache() else {
            return Component::new(engine, &read(path, engine.max_component()).map_err(ComponentError::Read)?);
        };
        if let Some(description) = cache.known(path, engine.code_id()) {
            if let Some(used) = engine.used(&description.digest) {
                return Ok(used);
            }
            check_size(description.size as u64, engine)?;
            let code = Code::unread(Unread::File(path.to_owned()));
            let component = Component { description: Arc::new(description), code: Arc::new(code) };
            engine.remember(&component);
            return Ok(component);
        }
        let before = path.metadata().map_err(ComponentError::Read)?;
        let component = Component::new(engine, &read(path, engine.max_component()).map_err(ComponentError::Read)?)?;
        cache.remember(&before, &component.description, engine.code_id());
        engine.remember(&component);
        Ok(component)
    }

    /// What the [`digest`](Self::digest) of a component with these bytes is, whether they are one or not.
    pub fn digest_of(bytes: &[u8]) -> String {
        digest(bytes)
    }

    /// Its tools, named for a toolset.
    ///
    /// # Errors
    /// An error that [`is_toolset`](Error::is_toolset) when the name is none, or when two functions would share a
    /// tool's name.
    pub fn tools(&self, toolset: &str) -> Result<Vec<Arc<Tool>>, Error> {
        let in_toolset = |error: NameError| Kind::Toolset { name: toolset.to_owned(), reason: error.to_string() };
        let name = ToolsetName::parse(toolset).map_err(in_toolset)?;
        let tools = self.description.exported.tools.iter().cloned();
        let tools = tools.map(|tool| tool.of_toolset(&name)).collect();
        Ok(name_tools(tools).map_err(in_toolset)?)
    }

    /// `sha256:` and the hexadecimal SHA-256 of its bytes.
    pub fn digest(&self) -> &str {
        &self.description.digest
    }

    /// The size of its binary in bytes.
    pub fn size(&self) -> usize {
        self.description.size
    }

    /// The names of what it imports.
    pub fn imports(&self) -> &[String] {
        &self.description.imports
    }

    /// The names of what it exports, tools or not.
    pub fn exports(&self) -> &[String] {
        &self.description.exports
    }

    /// What it exports that is no tool, and why.
    pub fn no_tools(&self) -> &[NoTool] {
        &self.description.exported.no_tools
    }

    /// Whether it carries docs that witbox can read.
    pub fn is_documented(&self) -> bool {
        self.description.documented
    }

    /// What could not be read of it, none of which keeps it from running.
    pub fn notes(&self) -> &[String] {
        &self.description.notes
    }

    /// The docs of its world.
    pub fn docs(&self) -> Option<&str> {
        self.description.about.docs.as_deref()
    }

    /// The docs of the interfaces that it exports, by their names.
    pub fn interface_docs(&self) -> &BTreeMap<String, String> {
        &self.description.about.interface_docs
    }

    /// What its author calls it.
    pub fn title(&self) -> Option<&str> {
        self.description.about.title.as_deref()
    }

    /// Its author's version of it.
    pub fn version(&self) -> Option<&str> {
        self.description.about.version.as_deref()
    }

    /// What its author says that it must have; nothing where its manifest does not say.
    pub fn needs(&self) -> Option<&Needs> {
        self.description.about.needs.as_ref()
    }

    /// Who made it, from the standard sections for that.
    pub fn metadata(&self) -> &Metadata {
        &self.description.about.metadata
    }

    /// The kinds of things that its imports can ask for. An import is no use: many compilers import all of WASI.
    pub fn can_ask_for(&self) -> Vec<&'static str> {
        const KINDS: [(&str, &str); 6] = [
            ("wasi:filesystem/", "files"),
            ("wasi:http/", "network"),
            ("wasi:sockets/", "network"),
            ("wasi:cli/environment", "environment"),
            ("wasi:clocks/", "clocks"),
            ("wasi:random/", "random"),
        ];
        let mut needs = Vec::new();
        for (prefix, kind) in KINDS {
            if self.description.imports.iter().any(|import| import.starts_with(prefix)) && !needs.contains(&kind) {
                needs.push(kind);
            }
        }
        needs
    }

    /// Whether components within it call each other, so that it runs on the engine for those.
    pub(crate) fn is_composed(&self) -> bool {
        self.description.is_composed
    }

    pub(crate) fn downgrade(&self) -> WeakComponent {
        WeakComponent(Arc::downgrade(&self.description), Arc::downgrade(&self.code))
    }

    /// Whether its bytes are still to be looked at, as nothing but a list of its tools was needed.
    pub(crate) fn is_unread(&self) -> bool {
        self.code.is_unread()
    }

    /// Its code on one of an engine's engines.
    pub(crate) fn code(&self, engine: &Engine, on: &wasmtime::Engine) -> Result<wasmtime::component::Component, Error> {
        self.code.load(self.digest(), engine, on)
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component").field("digest", &self.description.digest).finish_non_exhaustive()
    }
}

/// The digest of a component that comes with witbox.
pub(crate) fn builtin_digest(name: &str) -> Result<String, Error> {
    Ok(builtin::find(name)?.digest.to_owned())
}

/// `sha256:` and the hexadecimal SHA-256 of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn check_preamble(bytes: &[u8]) -> Result<(), ComponentError> {
    if bytes.is_empty() {
        return Err(ComponentError::Empty);
    }
    if !bytes.starts_with(b"\0asm") {
        let text = bytes.trim_ascii_start();
        let is_text = text.starts_with(b"(component") || text.starts_with(b"(module") || text.starts_with(b";;");
        return Err(if is_text { ComponentError::Text } else { ComponentError::NotWasm });
    }
    if wasmparser::Parser::is_core_wasm(bytes) && !is_program(bytes) {
        return Err(ComponentError::CoreModule);
    }
    Ok(())
}

fn check_size(bytes: u64, engine: &Engine) -> Result<(), ComponentError> {
    let limit = engine.max_component();
    if bytes > limit { Err(ComponentError::TooLong { bytes, limit }) } else { Ok(()) }
}

/// The bytes of a file that is one: a device or a pipe would have no end.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write to it.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let bytes = path.metadata().map_or(bytes.len() as u64, |size| size.len());
        return Err(io::Error::other(ComponentError::TooLong { bytes, limit }));
    }
    Ok(bytes)
}
