//! Machine code of a component, loaded into engines.
#![allow(unsafe_code, reason = "the engine cannot check that code is what its compiler made; here is why it is")]

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use wasmtime::component::Component;

use super::cache::CachedCode;
use super::{ComponentError, digest, read};
use crate::engine::Engine;
use crate::error::{Error, Kind};

/// What the compiler made of a component.
pub(super) struct Code(Mutex<Inner>);

struct Inner {
    /// Where it is until an engine has it.
    origin: Origin,
    /// One for each engine that runs it.
    loaded: Vec<Component>,
}

enum Origin {
    /// As the compiler gave it.
    Image(Vec<u8>),
    /// In the cache.
    Kept(CachedCode),
    /// Perhaps in the cache, for a component that was not even read.
    Unread(Unread),
}

/// Where a component is that was not read.
pub(super) enum Unread {
    /// Here.
    Builtin(&'static [u8]),
    /// In a file, which must still be it.
    File(PathBuf),
}

impl Unread {
    /// The bytes of the component with a digest.
    fn read(&self, expected: &str, engine: &Engine) -> Result<Cow<'static, [u8]>, Error> {
        let file = match self {
            Unread::Builtin(bytes) => return Ok(Cow::Borrowed(bytes)),
            Unread::File(file) => file,
        };
        let bytes = read(file, engine.max_component()).map_err(ComponentError::Read)?;
        if digest(&bytes) != expected {
            return Err(ComponentError::Changed.into());
        }
        Ok(Cow::Owned(bytes))
    }
}

impl Code {
    pub(super) fn compiled(image: Vec<u8>) -> Self {
        Code::at(Origin::Image(image))
    }

    pub(super) fn kept(code: CachedCode) -> Self {
        Code::at(Origin::Kept(code))
    }

    pub(super) fn unread(component: Unread) -> Self {
        Code::at(Origin::Unread(component))
    }

    fn at(origin: Origin) -> Self {
        Code(Mutex::new(Inner { origin, loaded: Vec::new() }))
    }

    /// Whether the component's bytes are still to be looked at.
    pub(super) fn is_unread(&self) -> bool {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(inner.origin, Origin::Unread(_)) && inner.loaded.is_empty()
    }

    /// The code of the component with a digest, on one of an engine's engines.
    ///
    /// # Errors
    /// When the file has changed or the cache lost the code, when the engine's pool has no room for such a component, or
    /// when the code is of another version of the engine.
    pub(super) fn load(&self, expected: &str, engine: &Engine, on: &wasmtime::Engine) -> Result<Component, Error> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) = inner.loaded.iter().find(|component| wasmtime::Engine::same(component.engine(), on)) {
            return Ok(component.clone());
        }
        if let Some(component) = inner.loaded.first() {
            let image = component.serialize().map_err(fault)?;
            let component = from_image(on, &image)?;
            inner.loaded.push(component.clone());
            return Ok(component);
        }
        if let Origin::Unread(unread) = &inner.origin {
            let bytes = unread.read(expected, engine)?;
            inner.origin = match engine.cache().and_then(|cache| cache.code(expected, engine.code_id())) {
                Some(code) => Origin::Kept(code),
                None => Origin::Image(engine.compile(&bytes)?.code),
            };
        }
        let component = match &inner.origin {
            Origin::Image(image) => from_image(on, image)?,
            Origin::Kept(code) => from_cache(on, code)?,
            Origin::Unread(_) => return Err(Kind::Code("it is still to be read".to_owned()).into()),
        };
        inner.loaded.push(component.clone());
        // Each engine has its own copy now.
        if let Origin::Image(image) = &mut inner.origin {
            *image = Vec::new();
        }
        Ok(component)
    }
}

fn from_image(engine: &wasmtime::Engine, image: &[u8]) -> Result<Component, Error> {
    // SAFETY: the image was made by this version's compiler, in this process or in the one that the embedding program
    // trusts to compile for it. The engine itself refuses what was made with other settings or by another version.
    unsafe { Component::deserialize(engine, image) }.map_err(fault)
}

/// Maps code from the cache's file, which processes share.
fn from_cache(engine: &wasmtime::Engine, code: &CachedCode) -> Result<Component, Error> {
    // SAFETY: the file is this user's alone, in a folder that is, and its authentication code says that we wrote it. Files
    // of the cache are never written to once they have their name.
    let mapped = unsafe { Component::deserialize_file(engine, &code.0) };
    // Files of some file systems cannot be mapped as code, but read.
    mapped.map_err(fault).or_else(|mapped| from_image(engine, &std::fs::read(&code.0).map_err(|_| mapped)?))
}

fn fault(error: wasmtime::Error) -> Error {
    Kind::Code(format!("{error:#}")).into()
}
