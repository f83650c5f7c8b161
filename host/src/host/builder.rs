//! Adds toolsets to a host, each under its grant, and finds out beforehand what keeps one from being called.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::kept::{Given, Kept};
use super::resources::Shown;
use super::results::{self, Results};
use super::toolset::Toolset;
use super::{Host, Inner};
use crate::component::Component;
use crate::config::{Plan, Source, ToolsetPlan};
use crate::engine::Engine;
use crate::error::{Error, Kind};
use crate::policy::{Grant, Mode, Mount, Secret, shadowed};
use crate::redact::Redactor;
use crate::reply::{ResultLimits, Tokenizer};
use crate::sandbox::{Ask, Fake, Files, Network, Protected, Resolve, Root, Shared, SystemResolver};
use crate::tool::{Reading, Registry, Tool};
use crate::workspace::{Agreement, Session, Workspace};

/// Adds toolsets to a [`Host`].
pub struct HostBuilder {
    pub(super) inner: Inner,
    pub(super) toolsets: HashMap<String, Toolset>,
    protected: Protected,
    resolver: Arc<dyn Resolve>,
    fakes: Option<Vec<Fake>>,
    secrets: Vec<Secret>,
    notes: Vec<String>,
    differences: Vec<String>,
    results: Option<Results>,
    agreements: Option<Workspace>,
    /// By the hosts whose place this one takes.
    earlier: Kept,
    given: HashMap<PathBuf, Given>,
}

impl HostBuilder {
    pub(super) fn new(engine: &Engine) -> Self {
        let mut protected = Protected::default();
        if let Some(cache) = engine.cache() {
            protected.add_hidden(cache.folder());
        }
        HostBuilder {
            inner: Inner {
                registry: Registry::default(),
                reading: Reading::default(),
                toolsets: HashMap::new(),
                engine: engine.clone(),
                redactor: Arc::default(),
                asker: None,
                eviction: None,
                workers: OnceLock::new(),
                shown: Vec::new(),
                kept: Kept::default(),
            },
            toolsets: HashMap::new(),
            protected,
            resolver: Arc::new(SystemResolver),
            fakes: None,
            secrets: Vec::new(),
            notes: Vec::new(),
            differences: Vec::new(),
            results: None,
            agreements: None,
            earlier: Kept::default(),
            given: HashMap::new(),
        }
    }

    /// Adds the tools of a component under a name and a grant.
    ///
    /// # Errors
    /// An error that [`is_toolset`](Error::is_toolset), and nothing is added, when the name is none or taken, the
    /// component has no tools, a tool's name is taken, a folder to mount is not there or overlaps another, or an import
    /// does not fit what the host provides under that name.
    pub fn toolset(&mut self, name: &str, component: &Component, grant: Grant) -> Result<&mut Self, Error> {
        let tools = component.tools(name)?;
        check_name(name)?;
        self.add(name, component, grant, tools)
    }

    /// Adds some of a component's tools, by the names of their functions in WIT or of the tools themselves.
    ///
    /// # Errors
    /// As [`toolset`](Self::toolset), and when there is no such tool.
    pub fn some_of_toolset(
        &mut self,
        name: &str,
        component: &Component,
        grant: Grant,
        wanted: &[String],
    ) -> Result<&mut Self, Error> {
        check_name(name)?;
        self.add_some(name, component, grant, wanted)
    }

    pub(super) fn add_some(
        &mut self,
        name: &str,
        component: &Component,
        grant: Grant,
        wanted: &[String],
    ) -> Result<&mut Self, Error> {
        let tools = component.tools(name)?;
        for want in wanted {
            if !tools.iter().any(|tool| is_named(tool, want)) {
                let known: Vec<&str> = tools.iter().map(|tool| tool.export().function.as_str()).collect();
                let reason = format!("it has no tool `{want}`; there are {}", known.join(", "));
                return Err(Kind::Toolset { name: name.to_owned(), reason }.into());
            }
        }
        let tools = tools.into_iter().filter(|tool| wanted.iter().any(|want| is_named(tool, want))).collect();
        self.add(name, component, grant, tools)
    }

    /// Keeps every guest from changing a file, whatever it may write: by its device and inode, so by any name. No name on
    /// the way to it, links included, can come to be of something else, and where it is not there it cannot be made. For
    /// the configuration that a plan comes from, and the like; the ways to mounts are kept without it.
    pub fn protect(&mut self, file: &Path) -> &mut Self {
        self.protected.add_file(file);
        self
    }

    /// Keeps every guest from seeing a file or a folder, and from making it where it is not there. The engine's cache is kept so
    /// without it.
    pub fn hide(&mut self, path: &Path) -> &mut Self {
        self.protected.add_hidden(path);
        self
    }

    /// Keeps every guest from changing what a toolset is started from, and from seeing what its secrets are read from.
    pub fn keep_files(&mut self, plan: &ToolsetPlan) {
        if let Source::File(file) = &plan.source {
            self.protect(file);
        }
        for secret in &plan.secrets {
            secret.files().for_each(|file| self.protected.add_hidden(file));
            secret.programs().for_each(|file| self.protected.add_file(&file));
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Has the names of hosts looked up by somebody else than the system, for the toolsets that are added from then on.
    pub fn resolver(&mut self, resolver: Arc<dyn Resolve>) -> &mut Self {
        self.resolver = resolver;
        self
    }

    /// Has requests that are granted answered by fakes, for the toolsets that are added from then on: none leaves, and what
    /// no fake answers is a denial.
    pub fn fakes(&mut self, fakes: Vec<Fake>) -> &mut Self {
        self.fakes = Some(fakes);
        self
    }

    /// Has a person, or whoever decides for one, answer what rules leave to them. Without, all of that is refused.
    pub fn asker(&mut self, asker: Arc<dyn Ask>) -> &mut Self {
        self.inner.asker = Some(asker);
        self
    }

    /// Has results that are too big for the model moved into files of a session, with a pointer in their place. No guest
    /// reaches the workspace, but that the built-in component `files` sees the session's results below `/results`: in the
    /// toolsets that are added from then on, and where none of them has its `read`, in one more that is named `results`.
    ///
    /// # Errors
    /// An error that [`is_workspace`](Error::is_workspace) when the limits are too low to say anything.
    pub fn results(&mut self, session: Session, limits: ResultLimits) -> Result<&mut Self, Error> {
        limits.check().map_err(|reason| Kind::Workspace { folder: session.folder().to_owned(), reason })?;
        self.hide(session.folder());
        self.results = Some(Results::new(session, limits)?);
        Ok(self)
    }

    /// Has the tokens of results counted by somebody else than four bytes a token, from [`results`](Self::results) on and
    /// before any toolset is added: the tools that page return no more than fits.
    pub fn tokenizer(&mut self, tokenizer: Arc<dyn Tokenizer>) -> &mut Self {
        if let Some(results) = &mut self.results {
            results.tokenizer(tokenizer);
        }
        self
    }

    /// Has the component that each toolset of a plan is first started with remembered, and another in its place refused until
    /// somebody [agrees](Workspace::agree) to it. Toolsets with a digest of their own, those that may be reloaded, and components that
    /// come with witbox are not concerned.
    pub fn agreements(&mut self, workspace: Workspace) -> &mut Self {
        self.agreements = Some(workspace);
        self
    }

    /// Takes over what an earlier host has, for toolsets of the same names: components of the same files, secrets of the same plans, and
    /// how much calls have added to mounts. So a plan that has changed can be started where files are out of reach by now. With several,
    /// what a later one has goes before.
    pub fn in_place_of(&mut self, earlier: &Host) -> &mut Self {
        self.earlier.extend(&earlier.inner.kept);
        self
    }

    /// Has the bytes of a component's file be these, whatever the file holds. Where a toolset of an earlier host may not have them, as
    /// nobody has agreed to them yet, it goes on with the component that it has.
    pub fn component_file(&mut self, file: impl Into<PathBuf>, bytes: Vec<u8>) -> &mut Self {
        self.given.insert(file.into(), Given::new(bytes));
        self
    }

    /// Adds the toolsets of a plan, and protects the files of their components, secrets and clients. `variable` is the environment
    /// that secrets come from. A toolset that cannot start is left out, and why is told.
    pub fn plan(&mut self, plan: &Plan, variable: impl Fn(&str) -> Option<String>) -> Vec<Error> {
        for client in &plan.clients {
            self.hide(&client.token_file);
        }
        plan.toolsets.iter().filter_map(|toolset| self.planned(toolset, &variable).err()).collect()
    }

    /// What an operator should know of the toolsets that were added, none of which keeps them from running: a manifest that
    /// was refused, WIT that cannot be decoded, a secret that is exposed, a rule that never decides.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where what the components that were added say to need and what they are granted differ. Either may be meant so.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Refuses arguments that are not what the schema says to the letter.
    ///
    /// Without it a few things are read as what can only be meant by them, and the reply's notes say so: a number, a
    /// boolean, an object or an array in quotes; one item in place of an array of it; a name of an enum, a flag or a
    /// case in another case or with `_` for `-`. Unknown and missing keys, numbers out of range and whatever could be
    /// read in two ways are refused either way.
    pub fn strict_arguments(&mut self) -> &mut Self {
        self.inner.reading = Reading::Exact;
        self
    }

    fn planned(&mut self, plan: &ToolsetPlan, variable: &dyn Fn(&str) -> Option<String>) -> Result<&mut Self, Error> {
        let refuse = |reason: String| Kind::Toolset { name: plan.name.clone(), reason };
        self.keep_files(plan);
        let mut grant = plan.grant.clone();
        for secret in &plan.secrets {
            let value = match self.earlier.secret(secret) {
                Some(value) => value.clone(),
                None => secret.read(variable).map_err(refuse)?,
            };
            self.inner.kept.keep_secret(secret, &value);
            grant = grant.secret(value);
        }
        // Also where the toolset does not start after all: what its files hold may be read by others.
        self.keep_secret(grant.secrets()).map_err(refuse)?;
        let (component, standing) = self.component(plan).map_err(refuse)?;
        match &plan.tools {
            Some(wanted) => self.some_of_toolset(&plan.name, &component, grant, wanted)?,
            None => self.toolset(&plan.name, &component, grant)?,
        };
        if let Standing::First(workspace, file) = standing
            && let Err(error) = agree_to_first(&workspace, plan, &file, &component)
        {
            let name = &plan.name;
            self.notes.push(format!("{name}: which component it was first started with cannot be kept: {error}"));
        }
        self.inner.kept.keep_component(plan, &component);
        Ok(self)
    }

    /// The component that a toolset is to have: of those that there are the newest that it may have.
    fn component(&mut self, plan: &ToolsetPlan) -> Result<(Component, Standing), String> {
        let Source::File(file) = &plan.source else { return self.load(plan) };
        let earlier = self.earlier.component(plan).cloned();
        let given =
            self.given.get(file).filter(|given| earlier.as_ref().is_none_or(|has| has.digest() != given.digest));
        let new = given.map(|given| {
            let standing = match (self.standing(plan, &given.digest)?, &earlier) {
                // Where nothing is kept of the first one, it is known all the same.
                (Standing::First(..), Some(first)) => return Err(changed(plan, &given.digest, first.digest())),
                (standing, _) => standing,
            };
            let component = given.component(&self.inner.engine);
            Ok((component.map_err(|error| format!("{}: {error}", plan.source))?, standing))
        });
        let refused = match new {
            Some(Ok(new)) => return Ok(new),
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        let before = earlier.map(|earlier| self.standing(plan, earlier.digest()).map(|standing| (earlier, standing)));
        match (refused, before) {
            (refused, Some(Ok(before))) => {
                let told = refused.map(|reason| format!("{reason}; until then it goes on with the one that it has"));
                self.notes.extend(told.map(|told| format!("{}: {told}", plan.name)));
                Ok(before)
            }
            (Some(reason), _) => Err(reason),
            (None, _) => self.load(plan),
        }
    }

    fn load(&self, plan: &ToolsetPlan) -> Result<(Component, Standing), String> {
        let component = Component::load(&self.inner.engine, &plan.source);
        let component = component.map_err(|error| format!("{}: {error}", plan.source))?;
        let standing = self.standing(plan, component.digest())?;
        Ok((component, standing))
    }

    /// By what a toolset has the component with a digest, or why it must not have it.
    fn standing(&self, plan: &ToolsetPlan, digest: &str) -> Result<Standing, String> {
        let ToolsetPlan { source, name, .. } = plan;
        if let Some(wanted) = &plan.digest {
            return match wanted == digest {
                true => Ok(Standing::Known),
                false => Err(format!("{source} has changed: it has the digest {digest}, not {wanted}")),
            };
        }
        let (Source::File(file), Some(workspace), false) = (source, &self.agreements, plan.reload) else {
            return Ok(Standing::Known);
        };
        let file = std::path::absolute(file).map_err(|error| error.to_string())?;
        match workspace.agreement_to(name, &file) {
            Some(before) if before.digest != digest => Err(changed(plan, digest, &before.digest)),
            Some(_) => Ok(Standing::Known),
            None => Ok(Standing::First(workspace.clone(), file)),
        }
    }

    /// Has every reply kept from showing these secrets.
    fn keep_secret(&mut self, secrets: &[Secret]) -> Result<(), String> {
        self.secrets
            .extend(secrets.iter().filter(|secret| !self.secrets.contains(secret)).cloned().collect::<Vec<_>>());
        self.inner.redactor = Arc::new(Redactor::of(&self.secrets)?);
        Ok(())
    }

    fn add(
        &mut self,
        name: &str,
        component: &Component,
        grant: Grant,
        tools: Vec<Arc<Tool>>,
    ) -> Result<&mut Self, Error> {
        let refuse = |reason: String| Kind::Toolset { name: name.to_owned(), reason };
        if self.toolsets.contains_key(name) {
            return Err(refuse("another toolset has this name".to_owned()).into());
        }
        if tools.is_empty() {
            return Err(refuse(no_tools(component)).into());
        }
        grant.check().map_err(refuse)?;
        let (memory, together) = (grant.call_limits().on_host(), self.inner.engine.capacity().memory);
        if !self.inner.engine.capacity().holds(memory) {
            let reason = format!(
                "each of its calls may take {memory} bytes of the host's memory, and all calls together {together}; "
            );
            return Err(refuse(reason + "give all of them more, or these less").into());
        }
        let differences = component.needs().map(|needs| grant.differences(needs)).unwrap_or_default();
        self.keep_secret(grant.secrets()).map_err(refuse)?;
        let grant = grant.within(component.needs());
        if let Some(mount) = grant.mounts().iter().find(|mount| self.protected.hides(&mount.host)) {
            return Err(refuse(format!("mount {mount}: it is in a folder of witbox's own")).into());
        }
        let paging = self.results.as_ref().filter(|results| results.are_paged_by(component));
        let (operators, grant) =
            (grant.mounts().len(), paging.map_or(grant.clone(), |results| results.shown_to(grant)));
        let roots = Root::open_all(&grant, self.earlier.roots(name)).map_err(refuse)?;
        self.inner.kept.keep_roots(name, &roots);
        let network = match &self.fakes {
            Some(fakes) => Network::faked(&grant, fakes),
            None => Network::of(&grant, self.resolver.clone()),
        };
        let network = network.map_err(refuse)?;
        let pages = grant.mounts().len() > operators;
        let under = |tool: &Arc<Tool>| if pages { tool.under(&grant).whole() } else { tool.under(&grant) };
        let tools: Vec<Arc<Tool>> = tools.iter().map(|tool| Arc::new(under(tool))).collect();
        let files = Files { roots, ..Files::default() };
        let shared = Shared { files, network: Arc::new(network) };
        let shown = Shown::of(name, &self.inner.engine, &grant, &shared).map_err(|error| refuse(error.to_string()))?;
        let mut toolset = Toolset::new(component.clone(), tools.clone(), grant, shared);
        toolset.pages = pages;
        if !component.is_unread() {
            toolset.open(&self.inner.engine).map_err(|error| refuse(error.to_string()))?;
        }
        self.inner.registry.add(tools).map_err(|error| refuse(error.to_string()))?;
        for mount in toolset.grant.mounts() {
            self.protected.add_way(&mount.host);
        }
        for authorities in toolset.grant.http_rules().iter().filter_map(|rule| rule.authorities.as_ref()) {
            self.protected.add_file(authorities);
        }
        if let Some(cache) = self.inner.engine.cache() {
            let mut changed = toolset.grant.mounts().iter().filter(|mount| mount.mode == Mode::ReadWrite);
            let holds = |mount: &&Mount| mount.host.canonicalize().is_ok_and(|host| cache.folder().starts_with(host));
            if let Some(mount) = changed.find(holds) {
                let what = "compiled code is kept below it, where the guard alone keeps it from being changed";
                self.notes.push(format!("{name}: mount {mount}: {what}"));
            }
        }
        self.notes.extend(shadowed(toolset.grant.fs_rules()).into_iter().map(|rule| format!("{name}: {rule}")));
        self.differences.extend(differences.into_iter().map(|difference| format!("{name}: {difference}")));
        let exposed = toolset.grant.secrets().iter().filter(|secret| secret.variable().is_some());
        let told = |secret: &Secret| format!("{name}: the secret `{}` is handed to the guest itself", secret.name());
        self.notes.extend(exposed.map(told));
        self.toolsets.insert(name.to_owned(), toolset);
        self.inner.shown.extend(shown);
        self.notes.extend(component.notes().iter().map(|note| format!("{name}: {note}")));
        Ok(self)
    }

    /// The host with the toolsets that were added.
    pub fn build(mut self) -> Host {
        let pager = self.results.is_some().then(|| self.pager()).flatten();
        self.inner.eviction = self.results.map(|results| Arc::new(results.eviction(pager)));
        let protected = Arc::new(self.protected.settled());
        for (name, mut toolset) in self.toolsets {
            toolset.shared.files.protected = protected.clone();
            self.inner.toolsets.insert(name, Arc::new(toolset));
        }
        for shown in &mut self.inner.shown {
            shown.protect(&protected);
        }
        Host { inner: Arc::new(self.inner) }
    }
}

/// By what a toolset has a component.
enum Standing {
    /// The configuration lets it, or somebody has agreed.
    Known,
    /// There was none before it: it is to be remembered, as that of this file.
    First(Workspace, PathBuf),
}

/// Why another component is not taken for the first.
fn changed(plan: &ToolsetPlan, digest: &str, first: &str) -> String {
    let ToolsetPlan { source, name, .. } = plan;
    format!(
        "{source} has changed since it was first used: it has the digest {digest}, not {first}; look at it with `witbox inspect`, \
         then agree with `witbox agree {name}`, or write `reload = true` while you work on it"
    )
}

fn agree_to_first(workspace: &Workspace, plan: &ToolsetPlan, file: &Path, component: &Component) -> io::Result<()> {
    let tools = component.tools(&plan.name).map_err(io::Error::other)?;
    let tools = tools.iter().map(|tool| tool.export().to_string()).collect();
    workspace.agree(&plan.name, &Agreement::to(file, component.digest(), tools)?)
}

fn check_name(name: &str) -> Result<(), Error> {
    if name != results::TOOLSET {
        return Ok(());
    }
    let reason = "the name is that of the toolset with which the host pages results".to_owned();
    Err(Kind::Toolset { name: name.to_owned(), reason }.into())
}

fn is_named(tool: &Tool, name: &str) -> bool {
    tool.name() == name || tool.export().function == name
}

fn no_tools(component: &Component) -> String {
    let mut reason = "its component has no tools".to_owned();
    for no_tool in component.no_tools() {
        reason.push_str(&format!("; {}: {}", no_tool.export, no_tool.reason));
    }
    if component.exports().is_empty() {
        reason.push_str(": it exports nothing");
    }
    reason
}
