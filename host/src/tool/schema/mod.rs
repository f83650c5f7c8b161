//! Types → JSON Schema (2020-12), as much of it as a dialect can say.

mod build;
mod recurring;
mod style;

use std::collections::BTreeSet;

use serde_json::Value;

use super::shape::{Field, Shape};
use build::Builder;
pub(super) use build::tuple_key;
pub(crate) use style::{Closed, Maps, Null, Style, Unions};

/// A schema, and what it could not say of its types.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) schema: Value,
    /// What stands in descriptions or takes another form, since the style has no keyword for it.
    pub(crate) loosened: BTreeSet<&'static str>,
}

/// The schema of a tool's arguments.
pub(crate) fn input(params: &[Field], style: &Style) -> Built {
    Builder::input(style, params.iter().map(|param| &param.shape)).params(params)
}

/// The schema of what a tool returns, with the docs of its `Returns:` section.
pub(crate) fn output(returns: &Shape, docs: Option<&str>) -> Value {
    Builder::output(&Style::FULL, returns).returns(returns, docs)
}
