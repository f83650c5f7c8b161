//! Component → tools: what the model sees of a function, and the way from JSON to its values and back.

mod derive;
mod lift;
mod lower;
mod name;
mod nearest;
mod registry;
#[cfg(test)]
mod roundtrip;
mod schema;
mod shape;

use std::sync::Arc;

pub use derive::NoTool;
pub(crate) use derive::{Exported, derive};
pub(crate) use lift::lift;
pub(crate) use lower::{Fault, lower};
pub use name::toolset_name;
pub(crate) use name::{NameError, ToolsetName, name_tools};
pub(crate) use nearest::nearest;
pub use registry::Registry;
use shape::{Field, Shape};

/// One function of a toolset as the model sees it.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    toolset: String,
    export: Export,
    docs: Option<String>,
    params: Vec<Field>,
    returns: Option<Shape>,
    fallible: Option<Fallible>,
}

/// Where in the component a tool's function is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The exported interface, as `namespace:package/name@version` or a plain name; nothing for a function of the world
    /// itself.
    pub interface: Option<String>,
    /// The function's WIT name.
    pub function: String,
}

impl std::fmt::Display for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(interface) = &self.interface {
            write!(f, "{interface}#")?;
        }
        f.write_str(&self.function)
    }
}

/// The `err` side of a function that returns a `result`.
#[derive(Debug, Clone)]
pub(crate) struct Fallible {
    pub(crate) err: Option<Shape>,
}

impl Tool {
    /// The name that the model calls it by, `toolset_function`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the toolset that it belongs to.
    pub fn toolset(&self) -> &str {
        &self.toolset
    }

    /// Where in the component its function is.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// What it does, from the docs of its WIT function, without the `Args:` section; empty when the component carries
    /// no docs.
    pub fn description(&self) -> &str {
        self.docs.as_deref().unwrap_or_default()
    }

    /// The JSON Schema (2020-12) of its arguments: an object with a property for each parameter.
    ///
    /// ```
    /// # fn main() -> Result<(), witbox::Error> {
    /// let engine = witbox::Engine::new()?;
    /// let triage = witbox::Component::builtin(&engine, "triage")?;
    /// let tools = triage.tools("triage")?;
    /// assert_eq!(tools[0].name(), "triage_classify");
    /// assert_eq!(tools[0].input_schema()["required"][0], "dtc_codes");
    /// # Ok(())
    /// # }
    /// ```
    pub fn input_schema(&self) -> serde_json::Value {
        schema::input(&self.params)
    }

    /// The JSON Schema (2020-12) of what it returns; nothing when it returns nothing.
    pub fn output_schema(&self) -> Option<serde_json::Value> {
        self.returns.as_ref().map(schema::output)
    }

    pub(crate) fn params(&self) -> &[Field] {
        &self.params
    }

    pub(crate) fn returns(&self) -> Option<&Shape> {
        self.returns.as_ref()
    }

    pub(crate) fn fallible(&self) -> Option<&Fallible> {
        self.fallible.as_ref()
    }

    pub(crate) fn of_toolset(mut self, toolset: &ToolsetName) -> Self {
        self.toolset = toolset.to_string();
        self
    }

    fn named(mut self, name: String) -> Arc<Tool> {
        self.name = name;
        Arc::new(self)
    }
}
