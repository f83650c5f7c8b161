//! What tool authors need.

mod pack;

pub(crate) use pack::PackError;
pub use pack::pack;
