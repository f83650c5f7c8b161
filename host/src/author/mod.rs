//! What tool authors need.

mod advice;
mod pack;
mod tool_toml;
mod wit_docs;

pub(crate) use pack::PackError;
pub use pack::{Packed, pack};
