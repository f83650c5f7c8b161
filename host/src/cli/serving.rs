//! What `witbox serve` serves: hosts of the plan's tools, and those that take their place.

use std::path::{Path, PathBuf};

use witbox::{ClientPlan, Engine, HostBuilder, Plan, Workspace};

use super::engine::{self, Compiling};
use super::report::Report;
use super::source::{Built, Planned};
use super::wall::{self, Inherited, Inside};

/// Hosts of one plan. Components are opened when one is first called, from what is still in reach then.
pub(super) struct Serving {
    session: String,
    strict: bool,
    /// As it was read.
    written: Plan,
    planned: Planned,
    engine: Engine,
    workspace: Option<Workspace>,
}

impl Serving {
    pub(super) fn start(planned: Planned, session: String, strict: bool, report: &Report) -> anyhow::Result<Self> {
        let mut planned = planned;
        let written = planned.plan.clone();
        let engine = planned.engine(Compiling::Ready, report)?;
        let workspace = planned.workspace(report)?;
        Ok(Serving { session, strict, written, planned, engine, workspace })
    }

    /// The same by another plan.
    pub(super) fn by(&self, written: Plan, text: Option<String>) -> Self {
        let mut planned = self.planned.clone();
        planned.plan = Plan { workspace: self.planned.plan.workspace.clone(), ..written.clone() };
        if let (Some((_, kept)), Some(text)) = (&mut planned.config, text) {
            *kept = text;
        }
        let workspace = self.workspace.clone().map(|workspace| workspace.retention(written.retention));
        Serving {
            session: self.session.clone(),
            strict: self.strict,
            written,
            planned,
            engine: self.engine.clone(),
            workspace,
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.written
    }

    /// The configuration and its text, where there is one.
    pub(super) fn config(&self) -> Option<(&Path, &str)> {
        self.planned.config.as_ref().map(|(file, text)| (file.as_path(), text.as_str()))
    }

    /// What it is served from: that, or a component.
    pub(super) fn origin(&self) -> &Path {
        &self.planned.origin
    }

    /// Where it is kept which components were agreed to.
    pub(super) fn agreements(&self) -> Option<PathBuf> {
        self.workspace.as_ref().map(Workspace::agreements)
    }

    /// Whoever may ask over HTTP.
    pub(super) fn clients(&self) -> &[ClientPlan] {
        &self.written.clients
    }

    /// A host with all tools in the session that was named, or with those of a client in its own. What it takes over from others is
    /// said to its builder.
    pub(super) fn build(
        &self,
        client: Option<&ClientPlan>,
        take_over: impl FnOnce(&mut HostBuilder),
    ) -> anyhow::Result<Built> {
        let mut planned = self.planned.clone();
        if let Some(toolsets) = client.and_then(|client| client.toolsets.as_ref()) {
            planned.plan.toolsets.retain(|toolset| toolsets.contains(&toolset.name));
        }
        let session = client.map_or(self.session.as_str(), |client| client.name.as_str());
        let mut host = planned.builder(&self.engine);
        planned.keep_results(&mut host, self.workspace.as_ref(), session)?;
        if self.strict {
            host.strict_arguments();
        }
        // What another's toolsets are started from is none of its own either.
        self.planned.plan.toolsets.iter().for_each(|toolset| host.keep_files(toolset));
        take_over(&mut host);
        planned.build(host)
    }

    /// The same for whoever is first.
    pub(super) fn first(&self, client: Option<&ClientPlan>, report: &Report) -> anyhow::Result<Built> {
        let built = self.build(client, |_| {})?;
        built.told().for_each(|told| report.note(&told));
        Ok(built)
    }

    /// Gives up all that the calls do not need.
    pub(super) fn raise_wall(&self, inherited: &Inherited) -> anyhow::Result<Inside> {
        wall::raise_for_serving(&self.planned.plan, engine::cache_folder(), inherited)
    }
}
