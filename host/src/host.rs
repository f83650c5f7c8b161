//! The host: toolsets that may be called, each under its grant.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::Mutex;
use wasmtime::component::ComponentExportIndex;

use crate::call::{Call, Prepared, Status};
use crate::component::Component;
use crate::config::{Plan, Source, ToolsetPlan};
use crate::engine::{Engine, Linked, Placement, QueueFull};
use crate::error::{Error, Kind};
use crate::policy::{Effect, Grant, Limits, Secret, shadowed};
use crate::redact::Redactor;
use crate::reply::{self, Reply};
use crate::sandbox::{
    self, Ask, Clock, Fake, Files, Job, Network, Person, Protected, Resolve, Root, Shared, Subject, SystemResolver,
};
use crate::tool::{Reading, Registry, Tool, Unread, lift_arguments, lower};

/// Runs calls, each in a sandbox of its own. Cheap to clone; clones share everything.
///
/// Calls need a Tokio runtime with its timer on. A guest that computes gives way every few hundred microseconds, so
/// that one thread serves many calls; with several threads they run side by side, and a call's timeout is kept even while
/// a guest does not give way, such as when it fills all of its memory at once.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    reading: Reading,
    toolsets: HashMap<String, Arc<Toolset>>,
    engine: Engine,
    /// Of the secrets of all toolsets.
    redactor: Redactor,
    asker: Option<Arc<dyn Ask>>,
}

struct Toolset {
    component: Component,
    tools: Vec<Arc<Tool>>,
    ready: OnceLock<Ready>,
    /// Held while it is made ready.
    opening: std::sync::Mutex<()>,
    grant: Grant,
    shared: Shared,
}

/// A toolset that can be called.
struct Ready {
    linked: Linked,
    /// By the tool's name.
    functions: HashMap<String, ComponentExportIndex>,
    /// How much more returned values take than the engine charges for them, by the tool's name.
    worst_ratios: HashMap<String, f64>,
}

/// Adds toolsets to a [`Host`].
pub struct HostBuilder {
    inner: Inner,
    toolsets: HashMap<String, Toolset>,
    protected: Protected,
    resolver: Arc<dyn Resolve>,
    fakes: Option<Vec<Fake>>,
    secrets: Vec<Secret>,
    notes: Vec<String>,
    differences: Vec<String>,
}

impl Host {
    /// A host without any tools yet.
    pub fn builder(engine: &Engine) -> HostBuilder {
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
                redactor: Redactor::default(),
                asker: None,
            },
            toolsets: HashMap::new(),
            protected,
            resolver: Arc::new(SystemResolver),
            fakes: None,
            secrets: Vec::new(),
            notes: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// The tools that may be called.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Opens every component now, rather than at its first call, and says what keeps toolsets from being called.
    ///
    /// It matters only with a cache: what is in it is listed without a look at the component.
    pub fn open(&self) -> Vec<Error> {
        let toolsets = self.inner.toolsets.iter();
        let refuse =
            |name: &str, error: Error| Kind::Toolset { name: name.to_owned(), reason: error.to_string() }.into();
        toolsets.filter_map(|(name, toolset)| Some(refuse(name, toolset.open(&self.inner.engine).err()?))).collect()
    }

    /// Runs one call and replies to it, whatever happens, within its timeout.
    ///
    /// The timeout begins here, so that waiting for a place counts. Dropping the future stops the call.
    pub async fn call(&self, call: Call) -> Reply {
        self.accept(call, Arc::default()).await
    }

    /// Takes on a call, whose siblings may ask a person something, too.
    ///
    async fn accept(&self, call: Call, turn: Arc<Mutex<()>>) -> Reply {
        let started = Instant::now();
        let ran = match self.inner.find(&call) {
            Ok((tool, toolset)) => self.run(&call, tool, toolset, turn).await,
            Err(reply) => Err(*reply),
        };
        // A reply that comes from the task is redacted already.
        let mut reply = ran.unwrap_or_else(|mut reply| {
            self.inner.redactor.reply(&mut reply);
            reply
        });
        reply.usage.wall = started.elapsed();
        reply
    }

    /// Waits for a call's place and runs it, both within its timeout.
    async fn run(
        &self,
        call: &Call,
        tool: Arc<Tool>,
        toolset: Arc<Toolset>,
        turn: Arc<Mutex<()>>,
    ) -> Result<Reply, Reply> {
        let limits = toolset.grant.call_limits();
        let (memory, limit) = (limits.on_host(), limits.timeout);
        let clock = Clock::start(limit);
        let admitted = tokio::select! {
            biased;
            () = clock.run_out() => return Err(waited(call, limit)),
            admitted = self.inner.engine.admission().admit(memory) => admitted.map_err(|full| queue_full(call, full))?,
        };
        // In a task of its own: a guest that does not give way holds up that, and not the reply.
        let mut task = AbortOnDrop(tokio::spawn({
            let (inner, call, clock) = (self.inner.clone(), call.clone(), clock.clone());
            async move {
                let mut reply = inner.run(&call, &tool, &toolset, turn, &clock).await;
                inner.redactor.reply(&mut reply);
                // Given back when everything else that the call held is gone.
                drop(admitted);
                reply
            }
        }));
        tokio::select! {
            biased;
            ran = &mut task.0 => ran.map_err(|error| match error.is_cancelled() {
                true => cancelled(call),
                false => internal(call, "witbox itself panicked in this call"),
            }),
            () = clock.overrun() => Err(reply::timed_out(call, limit)),
        }
    }

    /// Runs the calls of one message side by side and replies to each, in their order.
    ///
    /// An id tells a reply's call, so that a call without one, or with one that an earlier call of the message has, is
    /// `invalid` and does not run. Dropping the future stops all calls.
    pub async fn call_all(&self, calls: Vec<Call>) -> Vec<Reply> {
        self.call_all_until(calls, std::future::pending()).await
    }

    /// As [`call_all`](Self::call_all), but once `cancel` ends the calls that still run are stopped, and their replies
    /// are `cancelled`.
    pub async fn call_all_until(&self, calls: Vec<Call>, cancel: impl Future<Output = ()>) -> Vec<Reply> {
        let mut first_with: HashMap<String, usize> = HashMap::new();
        let turn: Arc<Mutex<()>> = Arc::default();
        let cancel = cancel.shared();
        let replies = calls.into_iter().enumerate().map(|(index, mut call)| {
            let fault = id_fault(&call.id, index, &mut first_with);
            if let (Some(fault), None) = (fault, call.fault()) {
                call = Call::malformed(call.id, call.tool, fault);
            }
            let (turn, cancel) = (turn.clone(), cancel.clone());
            async move {
                tokio::select! {
                    biased;
                    reply = self.accept(call.clone(), turn) => reply,
                    () = cancel => cancelled(&call),
                }
            }
        });
        join_all(replies).await
    }
}

impl HostBuilder {
    /// Adds the tools of a component under a name and a grant.
    ///
    /// # Errors
    /// An error that [`is_toolset`](Error::is_toolset), and nothing is added, when the name is none or taken, the
    /// component has no tools, a tool's name is taken, a folder to mount is not there or overlaps another, or an import
    /// does not fit what the host provides under that name.
    pub fn toolset(&mut self, name: &str, component: &Component, grant: Grant) -> Result<&mut Self, Error> {
        let tools = component.tools(name)?;
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

    /// Keeps every guest from changing what a toolset is started from, and from seeing what its secrets are read from.
    pub(crate) fn keep_files(&mut self, plan: &ToolsetPlan) {
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

    /// Adds the toolsets of a plan, and protects the files of their components and secrets. `variable` is the environment
    /// that secrets come from. A toolset that cannot start is left out, and why is told.
    pub fn plan(&mut self, plan: &Plan, variable: impl Fn(&str) -> Option<String>) -> Vec<Error> {
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
            grant = grant.secret(secret.read(variable).map_err(refuse)?);
        }
        // Also where the toolset does not start after all: what its files hold may be read by others.
        self.keep_secret(grant.secrets()).map_err(refuse)?;
        let component = Component::load(&self.inner.engine, &plan.source)
            .map_err(|error| refuse(format!("{}: {error}", plan.source)))?;
        if let Some(digest) = &plan.digest
            && digest != component.digest()
        {
            let reason = format!("{} has changed: it has the digest {}, not {digest}", plan.source, component.digest());
            return Err(refuse(reason).into());
        }
        match &plan.tools {
            Some(wanted) => self.some_of_toolset(&plan.name, &component, grant, wanted),
            None => self.toolset(&plan.name, &component, grant),
        }
    }

    /// Has every reply kept from showing these secrets.
    fn keep_secret(&mut self, secrets: &[Secret]) -> Result<(), String> {
        self.secrets
            .extend(secrets.iter().filter(|secret| !self.secrets.contains(secret)).cloned().collect::<Vec<_>>());
        self.inner.redactor = Redactor::of(&self.secrets)?;
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
        if memory > together {
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
        let roots = Root::open_all(&grant).map_err(refuse)?;
        let network = match &self.fakes {
            Some(fakes) => Network::faked(&grant, fakes),
            None => Network::of(&grant, self.resolver.clone()),
        };
        let network = network.map_err(refuse)?;
        let tools: Vec<Arc<Tool>> = tools.iter().map(|tool| Arc::new(tool.under(&grant))).collect();
        let files = Files { roots, ..Files::default() };
        let shared = Shared { files, network: Arc::new(network) };
        let toolset = Toolset {
            component: component.clone(),
            tools: tools.clone(),
            ready: OnceLock::new(),
            opening: std::sync::Mutex::default(),
            grant,
            shared,
        };
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
        self.notes.extend(shadowed(toolset.grant.fs_rules()).into_iter().map(|rule| format!("{name}: {rule}")));
        self.differences.extend(differences.into_iter().map(|difference| format!("{name}: {difference}")));
        let exposed = toolset.grant.secrets().iter().filter(|secret| secret.variable().is_some());
        let told = |secret: &Secret| format!("{name}: the secret `{}` is handed to the guest itself", secret.name());
        self.notes.extend(exposed.map(told));
        self.toolsets.insert(name.to_owned(), toolset);
        self.notes.extend(component.notes().iter().map(|note| format!("{name}: {note}")));
        Ok(self)
    }

    /// The host with the toolsets that were added.
    pub fn build(mut self) -> Host {
        let protected = Arc::new(self.protected);
        for (name, mut toolset) in self.toolsets {
            toolset.shared.files.protected = protected.clone();
            self.inner.toolsets.insert(name, Arc::new(toolset));
        }
        Host { inner: Arc::new(self.inner) }
    }
}

impl Toolset {
    /// Makes it ready to be called, where it is not. That takes a look at all of the component's bytes, and compiles them
    /// where that is not done yet.
    fn open(&self, engine: &Engine) -> Result<&Ready, Error> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        let linked = engine.link(&self.component, self.grant.call_limits().memory)?;
        let mut functions = HashMap::new();
        for tool in &self.tools {
            let function = find_export(linked.instance.component(), tool)
                .ok_or_else(|| Kind::Link(format!("its export {} cannot be found", tool.export())))?;
            functions.insert(tool.name().to_owned(), function);
        }
        let worst_ratios = self.tools.iter().map(|tool| (tool.name().to_owned(), tool.worst_ratio())).collect();
        Ok(self.ready.get_or_init(|| Ready { linked, functions, worst_ratios }))
    }
}

impl Inner {
    /// Runs a call for which there is a place.
    async fn run(
        &self,
        call: &Call,
        tool: &Arc<Tool>,
        toolset: &Arc<Toolset>,
        turn: Arc<Mutex<()>>,
        clock: &Clock,
    ) -> Reply {
        let prepared = match self.prepare(call, tool, toolset.grant.call_limits()) {
            Ok(prepared) => prepared,
            Err(reply) => return *reply,
        };
        let ready = match self.ready(toolset).await {
            Ok(ready) => ready,
            Err(reason) => return internal(call, &format!("the tool's component cannot be opened: {reason}")),
        };
        let Some(&function) = ready.functions.get(tool.name()) else {
            return internal(call, "the tool's function is not linked");
        };
        let is_composed = ready.linked.placement == Placement::Composed;
        if is_composed && let Err(error) = self.engine.keep_time(ready.linked.instance.component()) {
            return internal(call, &format!("no thread can be started: {error}"));
        }
        let job = Job {
            instance: &ready.linked.instance,
            function,
            returns: tool.returns().is_some() || tool.fallible().is_some(),
            grant: &toolset.grant,
            shared: &toolset.shared,
            person: self.person(call, &prepared, &toolset.grant, turn),
            clock,
            is_composed,
            arguments: prepared.arguments.weight,
            worst_ratio: ready.worst_ratios.get(tool.name()).copied().unwrap_or(f64::MAX),
        };
        let outcome = sandbox::run(job, &prepared.arguments.values).await;
        let mut reply = reply::returned(call, tool, outcome, toolset.grant.call_limits().output);
        reply.notes.splice(0..0, prepared.arguments.notes);
        reply
    }

    /// A toolset that can be called. One that is opened only now goes on being opened though the call that needs it ends.
    async fn ready<'t>(&self, toolset: &'t Arc<Toolset>) -> Result<&'t Ready, String> {
        if let Some(ready) = toolset.ready.get() {
            return Ok(ready);
        }
        let (opened, engine) = (toolset.clone(), self.engine.clone());
        let opening = tokio::task::spawn_blocking(move || opened.open(&engine).map(drop));
        opening.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        toolset.ready.get().ok_or_else(|| "it is not ready".to_owned())
    }

    /// Who may be asked on behalf of a call, where its grant leaves something to a person.
    fn person(&self, call: &Call, prepared: &Prepared, grant: &Grant, turn: Arc<Mutex<()>>) -> Option<Person> {
        let asks = grant.fs_rules().iter().any(|rule| rule.effect() == Effect::Ask);
        let asker = self.asker.clone().filter(|_| asks)?;
        let tool = &prepared.tool;
        let subject = Subject {
            call: call.id.clone(),
            tool: tool.name().to_owned(),
            toolset: tool.toolset().to_owned(),
            arguments: lift_arguments(tool.params(), &prepared.arguments.values),
        };
        Some(Person::new(asker, turn, subject, grant.call_limits().ask_timeout))
    }

    /// Resolves the tool, and refuses what can be refused without reading the arguments.
    fn find(&self, call: &Call) -> Result<(Arc<Tool>, Arc<Toolset>), Box<Reply>> {
        if let Some(fault) = call.fault() {
            return Err(Box::new(reply::failure(call, Status::Invalid, "invalid", fault.to_owned(), None)));
        }
        let found = self.registry.get(&call.tool);
        let found = found.and_then(|tool| Some((tool, self.toolsets.get(tool.toolset())?)));
        let Some((tool, toolset)) = found else {
            return Err(Box::new(self.unknown(call)));
        };
        let limit = toolset.grant.call_limits().input;
        if call.arguments.len() as u64 > limit {
            let message = format!("the arguments have {} bytes, at most {limit} are read", call.arguments.len());
            return Err(Box::new(reply::failure(call, Status::Limit, "input", message, None)));
        }
        Ok((tool.clone(), toolset.clone()))
    }

    /// Reads the arguments. What comes out is the only thing that can run.
    fn prepare(&self, call: &Call, tool: &Arc<Tool>, limits: &Limits) -> Result<Prepared, Box<Reply>> {
        let arguments = lower(tool.params(), &call.arguments, self.reading, limits.memory);
        let arguments = arguments.map_err(|unread| {
            Box::new(match unread {
                Unread::Faulty(faults) => reply::invalid(call, &faults),
                Unread::TooLarge => {
                    let message = format!("the arguments take more than the call's {} bytes of memory", limits.memory);
                    reply::failure(call, Status::Limit, "memory", message, None)
                }
            })
        })?;
        Ok(Prepared { tool: tool.clone(), arguments })
    }

    fn unknown(&self, call: &Call) -> Reply {
        let hint = match self.registry.nearest(&call.tool) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.registry.tools().is_empty() => "there is none at all".to_owned(),
            None => {
                let known: Vec<&str> = self.registry.tools().iter().take(20).map(|tool| tool.name()).collect();
                format!("there are {}", known.join(", "))
            }
        };
        let shown: String = call.tool.chars().take(64).collect();
        let message = format!("no tool is named `{shown}`");
        reply::failure(call, Status::UnknownTool, "unknown-tool", message, Some(hint))
    }
}

fn find_export(component: &wasmtime::component::Component, tool: &Tool) -> Option<ComponentExportIndex> {
    let export = tool.export();
    let interface = match &export.interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    component.get_export_index(interface.as_ref(), &export.function)
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

/// What is wrong with the id of a message's call, if anything.
fn id_fault(id: &str, index: usize, first_with: &mut HashMap<String, usize>) -> Option<String> {
    if id.is_empty() {
        return Some("the call has no id, so that nothing could tell its reply; it did not run".to_owned());
    }
    match first_with.get(id) {
        Some(first) => Some(format!(
            "the id of this call is that of call {} of the message; it did not run, so give each call an id of its own",
            first + 1
        )),
        None => {
            first_with.insert(id.to_owned(), index);
            None
        }
    }
}

fn cancelled(call: &Call) -> Reply {
    reply::failure(call, Status::Cancelled, "cancelled", "the call was cancelled".to_owned(), None)
}

/// The reply to a call whose time ran out before there was a place for it.
fn waited(call: &Call, limit: Duration) -> Reply {
    let message = format!("the tool did not start within {} ms: others took all places", limit.as_millis());
    reply::failure(call, Status::Timeout, "timeout", message, Some(FEWER.to_owned()))
}

fn queue_full(call: &Call, full: QueueFull) -> Reply {
    let message = format!("the tool did not start: {} calls wait already", full.waiting);
    reply::failure(call, Status::Limit, "queue", message, Some(FEWER.to_owned()))
}

/// What to do where too many calls come at once.
const FEWER: &str = "call again later, and fewer tools at once";

fn internal(call: &Call, message: &str) -> Reply {
    reply::failure(call, Status::Failed, "failed", message.to_owned(), None)
}

/// Stops a task whose reply nobody waits for any more.
struct AbortOnDrop(tokio::task::JoinHandle<Reply>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("registry", &self.inner.registry).finish_non_exhaustive()
    }
}
