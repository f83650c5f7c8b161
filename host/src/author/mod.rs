//! What tool authors need.

mod pack;
mod tool_toml;

pub(crate) use pack::PackError;
pub use pack::{Packed, pack};
