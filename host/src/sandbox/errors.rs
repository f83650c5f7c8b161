//! Errors of streams as a guest reads them: what went wrong, and nothing of where in the host.

use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::io::error::{Error, Host, HostError};

/// Selects [`PlainErrors`] for the linker.
pub(crate) struct Plain;

impl HasData for Plain {
    type Data<'a> = PlainErrors<'a>;
}

/// The errors in a call's table.
pub(crate) struct PlainErrors<'a>(pub(super) &'a mut ResourceTable);

impl Host for PlainErrors<'_> {}

impl HostError for PlainErrors<'_> {
    /// wasmtime-wasi writes a backtrace of the host here.
    fn to_debug_string(&mut self, error: Resource<Error>) -> wasmtime::Result<String> {
        Ok(format!("{:#}", self.0.get(&error)?))
    }

    fn drop(&mut self, error: Resource<Error>) -> wasmtime::Result<()> {
        HostError::drop(self.0, error)
    }
}
