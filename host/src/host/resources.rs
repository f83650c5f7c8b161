//! Files of mounts that clients of a server are shown: read by a component that comes with witbox, under the grant of the toolset
//! whose mounts they are, so that the same guard decides, and as calls, so that they are bounded, redacted and told like any other.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::toolset::Toolset;
use super::{Company, Host};
use crate::call::{Call, Status};
use crate::component::Component;
use crate::engine::Engine;
use crate::error::{Error, Kind};
use crate::policy::{Grant, Limits};
use crate::reply::Reply;
use crate::sandbox::{Files, Network, Protected, Shared, SystemResolver};
use crate::tool::Tool;

/// The component that lists and reads them.
const READER: &str = "resources";
const LIST: &str = "list-resources";
const READ: &str = "read-resource";
/// What it takes at most, in bytes: a mebibyte of a file, as values and as text.
const MEMORY: u64 = 64 << 20;
const OUTPUT: u64 = 8 << 20;

/// The mounts of a toolset that are shown.
pub(super) struct Shown {
    name: String,
    /// As the guest sees them.
    folders: Vec<String>,
    list: Arc<Tool>,
    read: Arc<Tool>,
    toolset: Arc<Toolset>,
}

/// A file that is shown.
#[derive(Debug, Deserialize)]
pub(crate) struct File {
    pub(crate) path: String,
    /// In bytes.
    pub(crate) size: u64,
}

#[derive(Deserialize)]
pub(crate) struct Listing {
    pub(crate) files: Vec<File>,
    /// Whether there are more behind the last.
    pub(crate) more: bool,
}

/// A part of a file.
#[derive(Deserialize)]
pub(crate) struct Part {
    /// Of the whole file, in bytes.
    pub(crate) size: u64,
    pub(crate) contents: Contents,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Contents {
    Text(String),
    /// In base64.
    Bytes(String),
}

impl Shown {
    /// The mounts of a toolset that are to be shown; nothing where none is.
    pub(super) fn of(name: &str, engine: &Engine, grant: &Grant, shared: &Shared) -> Result<Option<Self>, Error> {
        if !grant.mounts().iter().any(|mount| mount.is_shown) {
            return Ok(None);
        }
        let component = Component::builtin(engine, READER)?;
        let tools = component.tools(name)?;
        let tool = |function: &str| tools.iter().find(|tool| tool.export().function == function).cloned();
        let (Some(list), Some(read)) = (tool(LIST), tool(READ)) else { return Ok(None) };
        let roots = grant.mounts().iter().zip(&shared.files.roots).filter(|(mount, _)| mount.is_shown);
        let files = Files { roots: roots.map(|(_, root)| root.clone()).collect(), ..Files::default() };
        let grant = grant.of_shown(Limits { memory: MEMORY, output: OUTPUT, ..Limits::default() });
        let folders = grant.mounts().iter().map(|mount| mount.guest().to_string()).collect();
        let network = Network::of(&grant, Arc::new(SystemResolver)).map_err(Kind::Grant)?;
        let shared = Shared { files, network: Arc::new(network) };
        let mut toolset = Toolset::new(component, tools, grant, shared);
        toolset.pages = true;
        Ok(Some(Shown { name: name.to_owned(), folders, list, read, toolset: Arc::new(toolset) }))
    }

    pub(super) fn protect(&mut self, protected: &Arc<Protected>) {
        if let Some(toolset) = Arc::get_mut(&mut self.toolset) {
            toolset.shared.files.protected = protected.clone();
        }
    }

    fn is_of(&self, toolset: &str) -> bool {
        self.name == toolset
    }
}

impl Host {
    /// The toolsets with mounts that are shown, in the order in which they were added.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &str> {
        self.inner.shown.iter().map(|shown| shown.name.as_str())
    }

    /// Some of the files of a toolset that are shown, behind a path.
    pub(crate) async fn list_shown(&self, toolset: &str, after: Option<&str>, limit: usize) -> Option<(Call, Reply)> {
        let shown = self.inner.shown.iter().find(|shown| shown.is_of(toolset))?;
        let arguments = json!({"folders": shown.folders, "after": after, "limit": limit});
        Some(self.call_shown(shown, &shown.list, &arguments).await)
    }

    /// A part of a file that is shown; nothing where the toolset has none.
    pub(crate) async fn read_shown(&self, toolset: &str, path: &str, offset: u64, limit: u64) -> Option<(Call, Reply)> {
        let shown = self.inner.shown.iter().find(|shown| shown.is_of(toolset))?;
        let arguments = json!({"path": path, "offset": offset, "limit": limit});
        Some(self.call_shown(shown, &shown.read, &arguments).await)
    }

    async fn call_shown(&self, shown: &Shown, tool: &Arc<Tool>, arguments: &Value) -> (Call, Reply) {
        let call = Call::new("resource", tool.name(), arguments.to_string());
        let shared = Arc::new(call.clone());
        let running = self.run(&shared, tool.clone(), shown.toolset.clone(), Company::default());
        let reply = running.await.unwrap_or_else(|mut reply| {
            self.inner.redactor.reply(&mut reply);
            reply
        });
        (call, reply)
    }
}

/// What such a call returned; nothing where it did not.
pub(crate) fn returned<'r, T: Deserialize<'r>>(reply: &'r Reply) -> Option<T> {
    let value = reply.structured.as_ref().filter(|_| reply.status == Status::Ok)?;
    serde_json::from_str(value.get()).ok()
}
