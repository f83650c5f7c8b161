//! Runs cases, each with a host and folders of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use super::tree::{Copied, Snapshot, changes, copy, snapshot};
use super::{Case, CaseFile, Expected};
use crate::call::{Call, Usage};
use crate::component::Component;
use crate::config::{SecretPlan, ToolsetPlan};
use crate::engine::Engine;
use crate::error::Error;
use crate::host::Host;
use crate::policy::{Grant, Limits};
use crate::reply::Reply;
use crate::sandbox::{Answer, Ask, Question};

/// The most that a stranger's case may grant itself.
const MAX_FUEL: u64 = 100_000_000_000;
const MAX_MEMORY: u64 = 1 << 30;
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_BYTES: u64 = 256 << 20;
const MAX_FILES: u64 = 10_000;

/// What a stranger's cases may do to the machine that runs them.
#[derive(Debug, Clone, Copy)]
pub enum Trust {
    /// Their mounts lie below the file's folder and are copied for each case, only fakes answer requests, and there are no
    /// secrets.
    Nothing,
    /// As a configuration: mounts elsewhere are used where they are, requests go out where there are no fakes, secrets are
    /// read.
    Everything {
        /// The environment that secrets come from.
        variable: fn(&str) -> Option<String>,
    },
}

/// What came of a case.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CaseReport {
    /// The file's name.
    pub file: String,
    /// The case's.
    pub name: String,
    /// What came out otherwise than expected; nothing where all is well.
    pub failures: Vec<String>,
    /// What the call used; nothing where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl CaseReport {
    /// Whether all came out as expected.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// How long the call took.
    pub fn wall(&self) -> Duration {
        self.usage.map(|usage| usage.wall).unwrap_or_default()
    }
}

/// Cases with the components of their toolsets, or why there is none.
#[derive(Debug)]
pub struct LoadedCases<'f> {
    file: &'f CaseFile,
    engine: Engine,
    components: Vec<Result<Component, String>>,
}

impl CaseFile {
    /// Loads the components, and their code: running the cases opens no more than the folders. What keeps a component from
    /// being loaded its cases report.
    pub fn load(&self, engine: &Engine) -> LoadedCases<'_> {
        let load = |toolset: &ToolsetPlan| {
            let component = Component::load(engine, &toolset.source)?;
            engine.link(&component, toolset.grant.call_limits().memory)?;
            Ok(component)
        };
        let loaded = self.plan.toolsets.iter().map(load);
        let components = loaded.map(|loaded| loaded.map_err(|error: Error| error.to_string())).collect();
        LoadedCases { file: self, engine: engine.clone(), components }
    }

    /// The folder of the file.
    fn home(&self) -> &Path {
        if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder }
    }
}

impl LoadedCases<'_> {
    /// Runs the cases, side by side as far as the machine has cores, and reports in their order.
    pub async fn run(&self, trust: Trust) -> Vec<CaseReport> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runs = self.file.cases.iter().map(|case| async move {
            let (failures, usage) = match self.run_case(case, trust).await {
                Ok((reply, failures)) => (failures, Some(reply.usage)),
                Err(reason) => (vec![reason], None),
            };
            CaseReport { file: self.file.file.clone(), name: case.name.clone(), failures, usage }
        });
        futures_util::stream::iter(runs).buffered(cores).collect().await
    }

    async fn run_case(&self, case: &Case, trust: Trust) -> Result<(Reply, Vec<String>), String> {
        let file = self.file;
        let mut host = Host::builder(&self.engine);
        if matches!(trust, Trust::Nothing) || !file.fakes.is_empty() {
            host.fakes(file.fakes.clone());
        }
        if let Some(answer) = case.person {
            host.asker(Arc::new(answer));
        }
        let mut folders = Folders::default();
        // What decides on the case, and what it must not see.
        host.protect(&file.home().join(Path::new(&file.file).file_name().unwrap_or_default()));
        for toolset in &file.plan.toolsets {
            host.keep_files(toolset);
            let hidden = toolset.secrets.iter().flat_map(SecretPlan::files);
            folders.without.extend(hidden.filter_map(|file| file.canonicalize().ok()));
        }
        for (toolset, component) in file.plan.toolsets.iter().zip(&self.components) {
            let refuse = |reason: String| format!("toolset `{}`: {reason}", toolset.name);
            let component = component.as_ref().map_err(|error| refuse(error.clone()))?;
            let grant = self.grant(toolset, trust, &mut folders).map_err(refuse)?;
            let added = match &toolset.tools {
                Some(tools) => host.some_of_toolset(&toolset.name, component, grant, tools),
                None => host.toolset(&toolset.name, component, grant),
            };
            added.map_err(|error| error.to_string())?;
        }
        let before = folders.snapshots()?;
        let reply = host.build().call(Call::new("case", &case.tool, &case.arguments)).await;
        let changed = folders.changes(&before)?;
        let failures = case.expected.failures(&reply, &changed);
        Ok((reply, failures))
    }

    /// A toolset's grant, with its folders copied.
    fn grant(&self, toolset: &ToolsetPlan, trust: Trust, folders: &mut Folders) -> Result<Grant, String> {
        let mut grant = toolset.grant.clone();
        if matches!(trust, Trust::Nothing) {
            grant = bounded(grant);
        }
        for mount in grant.mounts_mut() {
            let real = mount.host.canonicalize().map_err(|error| format!("mount {mount}: {error}"))?;
            let home = self.file.home();
            let home = home.canonicalize().map_err(|error| format!("{}: {error}", home.display()))?;
            if real.starts_with(&home) && real != home {
                mount.host = folders.add(&real, mount.guest.as_str())?;
            } else if matches!(trust, Trust::Nothing) {
                return Err(format!(
                    "mount {mount}: it does not lie below the folder of its cases; --trust would allow it"
                ));
            }
        }
        match trust {
            Trust::Everything { variable } => {
                for secret in &toolset.secrets {
                    grant = grant.secret(secret.read(&variable)?);
                }
                Ok(grant)
            }
            Trust::Nothing if toolset.secrets.is_empty() => Ok(grant),
            Trust::Nothing => Err("it has secrets, which are not read for cases; --trust would allow it".to_owned()),
        }
    }
}

/// A stranger's grant, with no more than what a case needs.
fn bounded(mut grant: Grant) -> Grant {
    let limits = grant.call_limits().clone();
    let limits = Limits {
        fuel: limits.fuel.min(MAX_FUEL),
        memory: limits.memory.min(MAX_MEMORY),
        timeout: limits.timeout.min(MAX_TIMEOUT),
        output: limits.output.min(MAX_BYTES),
        ..limits
    };
    for mount in grant.mounts_mut() {
        (mount.max_bytes, mount.max_files) = (mount.max_bytes.min(MAX_BYTES), mount.max_files.min(MAX_FILES));
    }
    grant.limits(limits)
}

/// The copies of a case's mounts, each with where the guest sees it.
#[derive(Default)]
struct Folders {
    copies: Vec<(TempDir, String)>,
    copied: Copied,
    without: Vec<PathBuf>,
}

impl Folders {
    fn add(&mut self, from: &Path, guest: &str) -> Result<PathBuf, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        copy(from, folder.path(), &mut self.copied, &self.without)?;
        let path = folder.path().to_owned();
        self.copies.push((folder, guest.trim_end_matches('/').to_owned()));
        Ok(path)
    }

    fn snapshots(&self) -> Result<Vec<Snapshot>, String> {
        self.copies.iter().map(|(folder, _)| snapshot(folder.path())).collect()
    }

    /// The paths of what changed, as the guest sees them.
    fn changes(&self, before: &[Snapshot]) -> Result<Vec<String>, String> {
        let mut changed = Vec::new();
        for ((folder, guest), before) in self.copies.iter().zip(before) {
            let after = snapshot(folder.path())?;
            changed.extend(changes(before, &after).iter().map(|path| format!("{guest}/{}", path.display())));
        }
        Ok(changed)
    }
}

#[async_trait]
impl Ask for Answer {
    async fn ask(&self, _question: &Question) -> Answer {
        *self
    }
}

impl Expected {
    fn failures(&self, reply: &Reply, changed: &[String]) -> Vec<String> {
        let mut failures = Vec::new();
        let text = reply.text();
        if reply.status != self.status {
            failures.push(format!("expected status {}, got {}: {}", self.status, reply.status, cut(&text)));
        }
        if let Some(expected) = self.text.as_ref().filter(|expected| **expected != text) {
            failures.push(format!("expected the text {expected:?}, got {:?}", cut(&text)));
        }
        for expected in self.contains.iter().filter(|expected| !text.contains(expected.as_str())) {
            failures.push(format!("expected {expected:?} in the text, got {:?}", cut(&text)));
        }
        let structured: Option<Value> =
            reply.structured.as_ref().and_then(|value| serde_json::from_str(value.get()).ok());
        let shown = || structured.as_ref().map_or_else(|| "nothing".to_owned(), |value| cut(&value.to_string()));
        if let Some(expected) = self.structured.as_ref().filter(|expected| structured.as_ref() != Some(expected)) {
            failures.push(format!("expected the value {expected}, got {}", shown()));
        }
        if let Some(schema) = &self.schema {
            match (jsonschema::validator_for(schema), &structured) {
                (Err(error), _) => failures.push(format!("`schema` is no JSON Schema: {error}")),
                (Ok(_), None) => failures.push("expected a value, got none".to_owned()),
                (Ok(validator), Some(value)) => {
                    failures.extend(validator.iter_errors(value).map(|error| format!("the value: {error}")));
                }
            }
        }
        if let Some(expected) = &self.denied {
            let told = |denial: &crate::reply::Denial| format!("{} {}", denial.operation, denial.target);
            let denied: Vec<String> = reply.denials.iter().map(told).collect();
            if denied != *expected {
                failures.push(format!("expected the denials {expected:?}, got {denied:?}"));
            }
        }
        if let Some(most) = self.max_fuel.filter(|most| reply.usage.fuel > *most) {
            failures.push(format!("expected at most {most} units of fuel, got {}", reply.usage.fuel));
        }
        for pattern in self.changed.iter().filter(|pattern| !changed.iter().any(|path| pattern.matches_path(path))) {
            failures.push(format!("expected a change of {}, got changes of {changed:?}", pattern.as_str()));
        }
        for path in changed {
            if let Some(pattern) = self.unchanged.iter().find(|pattern| pattern.matches_path(path)) {
                failures.push(format!("expected no change of {}, but {path} changed", pattern.as_str()));
            }
        }
        failures
    }
}

/// A text as far as a line of a report holds it.
fn cut(text: &str) -> String {
    const SHOWN: usize = 500;
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    format!("{}… and so on, {} bytes", &text[..text.floor_char_boundary(SHOWN)], text.len())
}
