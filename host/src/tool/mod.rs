//! Component → tools: what the model sees of a function, and the way from JSON to its values and back.

mod command;
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
mod weight;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use command::{CommandLine, is_command};
pub use derive::NoTool;
pub(crate) use derive::{Exported, derive};
pub(crate) use lift::{TooLarge, lift, lift_arguments};
pub(crate) use lower::{Fault, Lowered, Reading, Unread, lower};
pub use name::toolset_name;
pub(crate) use name::{NameError, ToolsetName, name_tools};
pub(crate) use nearest::nearest;
pub use registry::Registry;
pub(crate) use schema::{Built, Closed, Maps, Null, Style, Unions};
use shape::Kind;
pub(crate) use shape::{ContentShape, Field, Shape, json_name};

use crate::component::Hints;
use crate::policy::Grant;

/// One function of a toolset as the model sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tool {
    name: String,
    toolset: String,
    export: Export,
    title: Option<String>,
    hints: Hints,
    docs: ToolDocs,
    params: Vec<Field>,
    returns: Option<Shape>,
    fallible: Option<Fallible>,
    /// Whether it is a program: its arguments are no function's, and what it writes is what it returns.
    is_command: bool,
    /// Whether what it returns is never moved into a file, since it pages what was.
    #[serde(skip)]
    is_whole: bool,
}

/// Where in the component a tool's function is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What the WIT says of a function, beside its parameters.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ToolDocs {
    /// Without the sections.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) returns: Option<String>,
    /// The lines of `Examples:` that are arguments of this function.
    pub(crate) examples: Vec<Box<RawValue>>,
    /// The other lines of `Examples:`.
    pub(crate) more_examples: Vec<String>,
    /// What its author should mend.
    pub(crate) faults: Vec<String>,
    /// How many characters that show nothing were left out of all that a model reads of it.
    pub(crate) hidden: usize,
}

/// The `err` side of a function that returns a `result`.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

    /// What people call it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What its author says of its effects, as far as its grant lets that be true; where it is of no [`Host`], under no
    /// grant at all.
    ///
    /// [`Host`]: crate::Host
    pub fn hints(&self) -> Hints {
        self.hints
    }

    /// What it does, from the docs of its WIT function, without the sections `Args:`, `Returns:` and `Examples:`; where
    /// it is the only function of an interface or a world and has no docs, from those of the interface or the world.
    /// Empty when the component carries no docs.
    pub fn description(&self) -> &str {
        self.docs.text.as_deref().unwrap_or_default()
    }

    /// Arguments that its docs give as examples, each a JSON object that the tool takes.
    pub fn examples(&self) -> impl Iterator<Item = &str> {
        self.docs.examples.iter().map(|example| example.get())
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
        schema::input(&self.params, &Style::FULL).schema
    }

    /// The JSON Schema (2020-12) of what it returns; nothing when it returns nothing, or what is no JSON: bytes, and blocks of
    /// `witbox:host/content`.
    pub fn output_schema(&self) -> Option<serde_json::Value> {
        let returns = self.returns.as_ref().filter(|returns| returns.content().is_none())?;
        Some(schema::output(returns, self.docs.returns.as_deref()))
    }

    /// Whether what it returns is JSON: something, and neither bytes nor blocks.
    pub(crate) fn returns_json(&self) -> bool {
        self.returns.as_ref().is_some_and(|returns| returns.content().is_none())
    }

    /// Whether what it returns is text, or nothing where there is none.
    pub(crate) fn returns_text(&self) -> bool {
        self.returns.as_ref().is_some_and(|returns| match &returns.kind {
            Kind::Option(held) => matches!(held.kind, Kind::String),
            kind => matches!(kind, Kind::String),
        })
    }

    /// Whether what it returns may be of any size.
    pub(crate) fn returns_any_size(&self) -> bool {
        !self.is_whole && self.returns.as_ref().is_some_and(Shape::is_of_any_size)
    }

    /// Whether what it returns is an object whatever the value.
    pub(crate) fn returns_object(&self) -> bool {
        self.returns.as_ref().is_some_and(|returns| match &returns.kind {
            Kind::Record(_) => true,
            Kind::Map(key, _) => matches!(key.kind, Kind::String),
            _ => false,
        })
    }

    /// The schema of its arguments in a style of a provider.
    pub(crate) fn input(&self, style: &Style) -> Built {
        schema::input(&self.params, style)
    }

    /// The lines of `Examples:`, those that are arguments first.
    pub(crate) fn example_lines(&self) -> impl Iterator<Item = &str> {
        self.examples().chain(self.docs.more_examples.iter().map(String::as_str))
    }

    pub(crate) fn docs(&self) -> &ToolDocs {
        &self.docs
    }

    pub(crate) fn params(&self) -> &[Field] {
        &self.params
    }

    pub(crate) fn returns(&self) -> Option<&Shape> {
        self.returns.as_ref()
    }

    /// Whether it runs a program, with arguments and standard input.
    pub fn is_command(&self) -> bool {
        self.is_command
    }

    pub(crate) fn fallible(&self) -> Option<&Fallible> {
        self.fallible.as_ref()
    }

    /// How many bytes of the host's a returned value takes at most for each that the engine charges for it.
    pub(crate) fn worst_ratio(&self) -> f64 {
        let err = self.fallible.as_ref().and_then(|fallible| fallible.err.as_ref());
        self.returns.iter().chain(err).map(weight::worst_ratio).fold(1.0, f64::max)
    }

    pub(crate) fn of_toolset(mut self, toolset: &ToolsetName) -> Self {
        self.toolset = toolset.to_string();
        self
    }

    /// The tool under a grant, which caps what it says of its effects.
    pub(crate) fn under(&self, grant: &Grant) -> Self {
        let mut tool = self.clone();
        if grant.is_writable() {
            tool.hints.read_only = tool.hints.read_only.and(Some(false));
        }
        if !grant.http_rules().is_empty() {
            tool.hints.open_world = tool.hints.open_world.and(Some(true));
        }
        tool
    }

    /// The tool, as what it returns is never moved into a file.
    pub(crate) fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    fn named(mut self, name: String, full: &str) -> Arc<Tool> {
        if name != full {
            self.docs.faults.push(format!("its name was cut, from `{full}`"));
        }
        self.name = name;
        Arc::new(self)
    }
}
