//! Machine code of a component, loaded into engines.
#![allow(unsafe_code, reason = "the engine cannot check that code is what its compiler made; here is why it is")]

use std::sync::{Mutex, PoisonError};

use wasmtime::component::Component;

use crate::error::{Error, Kind};

/// What the compiler made of a component. Nothing else makes one, and what is read from elsewhere is only taken where
/// nobody but us can have written it.
pub(crate) struct Code(Mutex<Inner>);

struct Inner {
    /// Until an engine has it.
    image: Vec<u8>,
    /// One for each engine that runs it.
    loaded: Vec<Component>,
}

impl Code {
    /// Code as [`Compile`](super::Compile) gave it.
    pub(super) fn compiled(image: Vec<u8>) -> Self {
        Code(Mutex::new(Inner { image, loaded: Vec::new() }))
    }

    /// The component on an engine.
    ///
    /// # Errors
    /// When the engine's pool has no room for such a component, or the code is of another version of the engine.
    pub(super) fn load(&self, engine: &wasmtime::Engine) -> Result<Component, Error> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) =
            inner.loaded.iter().find(|component| wasmtime::Engine::same(component.engine(), engine))
        {
            return Ok(component.clone());
        }
        let failed = |error: wasmtime::Error| Error::from(Kind::Code(format!("{error:#}")));
        let image = match inner.loaded.first() {
            Some(component) => component.serialize().map_err(failed)?,
            None => std::mem::take(&mut inner.image),
        };
        // SAFETY: the image was made by this version's compiler, in this process or in the one that the embedding program
        // trusts to compile for it. The engine itself refuses what was made with other settings or by another version.
        let component = unsafe { Component::deserialize(engine, &image) };
        match &component {
            Ok(component) => inner.loaded.push(component.clone()),
            Err(_) if inner.loaded.is_empty() => inner.image = image,
            Err(_) => {}
        }
        component.map_err(failed)
    }
}
