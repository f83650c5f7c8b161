//! The tools that a model may call, as one immutable snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use super::nearest::nearest_of;
use super::{NameError, Tool};

/// The tools of all toolsets by name, without any means to run them.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// Adds the tools of one toolset, all or none.
    pub(crate) fn add(&mut self, tools: Vec<Arc<Tool>>) -> Result<(), NameError> {
        for tool in &tools {
            if let Some(first) = self.get(tool.name()) {
                return Err(NameError::Taken {
                    name: tool.name().to_owned(),
                    first: format!("{} of `{}`", first.export(), first.toolset()),
                    second: format!("{} of `{}`", tool.export(), tool.toolset()),
                });
            }
        }
        for tool in tools {
            self.by_name.insert(tool.name().to_owned(), self.tools.len());
            self.tools.push(tool);
        }
        Ok(())
    }

    /// Every tool, toolset by toolset, in the order of its component.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The tool that a person means: by its name, or by its function's name where only one tool has it.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.get(name).or_else(|| {
            let plain = name.replace('-', "_");
            let mut found = self.tools.iter().filter(|tool| tool.export().function.replace('-', "_") == plain);
            let first = found.next()?;
            found.next().is_none().then_some(first)
        })
    }

    /// The tool's name that a typo most likely meant, a name without its toolset, or one behind a prefix such as
    /// `functions.`.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
        let names = self.tools.iter().map(|tool| (tool.name(), tool.name()));
        let functions = self.tools.iter().map(|tool| (tool.export().function.as_str(), tool.name()));
        nearest_of(name, names.chain(functions))
    }
}
