//! The host: toolsets that may be called, each under its grant.

mod builder;
mod kept;
mod observed;
mod resources;
mod results;
mod toolset;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{join_all, poll_immediate};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::call::{Call, Prepared, Status};
use crate::component::Component;
use crate::config::ToolsetPlan;
pub use builder::HostBuilder;
use kept::Kept;
use observed::{Observed, Observing};
use resources::Shown;
pub(crate) use resources::{Contents, Listing, Part, returned};
use toolset::Toolset;

use crate::engine::{Engine, Placement, QueueFull};
use crate::error::{Error, Kind};
use crate::policy::{Effect, Grant, Limits};
use crate::redact::Redactor;
use crate::reply::{self, Eviction, Output, Reply};
use crate::sandbox::{self, Ask, Clock, Command, Job, Observe, Person, Sibling, Siblings, Subject};
use crate::tool::{CommandLine, Reading, Registry, Tool, Unread, lift_arguments, lower};
use crate::workspace::{Session, Spool};

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
    redactor: Arc<Redactor>,
    asker: Option<Arc<dyn Ask>>,
    eviction: Option<Arc<Eviction>>,
    workers: OnceLock<Handle>,
    /// Mounts that clients of a server are shown.
    shown: Vec<Shown>,
    /// For the host that takes its place.
    kept: Kept,
}

/// What a call has around it.
#[derive(Clone, Default)]
struct Company {
    /// Those of its message, which may ask a person something, or write to the same files, too.
    siblings: Arc<Siblings>,
    /// Who is told what its tool says.
    observer: Option<Arc<dyn Observe>>,
}

impl Host {
    /// A host without any tools yet.
    pub fn builder(engine: &Engine) -> HostBuilder {
        HostBuilder::new(engine)
    }

    /// The tools that may be called.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Has calls that are asked for on a runtime with one thread go on in another runtime where they are not over by the time
    /// that they first give way, some 0.3 ms; without, they stay in their own. A server answers short calls at once that way,
    /// and long ones hold nobody up. A toolset whose calls have held up the thread begins in the other runtime for a while.
    ///
    /// It is said once; whoever says it again is not heard.
    pub fn workers(&self, workers: Handle) {
        let _ = self.inner.workers.set(workers);
    }

    /// The most bytes of arguments that any of its tools takes.
    pub(crate) fn largest_input(&self) -> u64 {
        self.inner.toolsets.values().map(|toolset| toolset.grant.call_limits().input).max().unwrap_or_default()
    }

    /// The names of the tools that page results, where it keeps them.
    pub(crate) fn pagers(&self) -> impl Iterator<Item = &str> {
        let pager = self.inner.eviction.as_ref().and_then(|eviction| eviction.pager.as_ref());
        pager.into_iter().flat_map(|pager| [Some(pager.read.as_str()), pager.grep.as_deref()]).flatten()
    }

    /// The component that a toolset of a plan has, where that is a file.
    pub fn component(&self, toolset: &ToolsetPlan) -> Option<&Component> {
        self.inner.kept.component(toolset)
    }

    /// Whose results it keeps; nothing where it keeps none.
    pub fn session(&self) -> Option<&Session> {
        self.inner.eviction.as_ref().map(|eviction| &eviction.session)
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

    /// Opens now the components of these tools, rather than at their first calls. What keeps one from being called its calls
    /// will say.
    pub fn open_for<'n>(&self, tools: impl IntoIterator<Item = &'n str>) {
        let found = tools.into_iter().filter_map(|name| self.inner.registry.find(name));
        for toolset in found.filter_map(|tool| self.inner.toolsets.get(tool.toolset())) {
            let _ = toolset.open(&self.inner.engine);
        }
    }

    /// Runs one call and replies to it, whatever happens, within its timeout.
    ///
    /// The timeout begins here, so that waiting for a place counts. Dropping the future stops the call.
    pub async fn call(&self, call: Call) -> Reply {
        self.accept(&Arc::new(call), Company::default()).await
    }

    /// As [`call`](Self::call), and tells an observer what the tool says while it runs, with secrets masked. Nothing is told
    /// once there is the reply.
    pub async fn call_observed(&self, call: Call, observer: Arc<dyn Observe>) -> Reply {
        let (observed, _observing): (_, Observing) = Observed::begin(observer, self.inner.redactor.clone());
        self.accept(&Arc::new(call), Company { observer: Some(observed), ..Company::default() }).await
    }

    /// Takes on a call.
    async fn accept(&self, call: &Arc<Call>, company: Company) -> Reply {
        let started = Instant::now();
        let ran = match self.inner.find(call) {
            Ok((tool, toolset)) => self.run(call, tool, toolset, company).await,
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
        call: &Arc<Call>,
        tool: Arc<Tool>,
        toolset: Arc<Toolset>,
        company: Company,
    ) -> Result<Reply, Reply> {
        let limits = toolset.grant.call_limits();
        let (memory, limit) = (limits.on_host(), limits.timeout);
        let clock = Clock::start(limit);
        let admitted = tokio::select! {
            biased;
            // First, as nothing is to be waited for where there is a place.
            admitted = self.inner.engine.admission().admit(memory) => admitted.map_err(|full| queue_full(call, full))?,
            () = clock.run_out() => return Err(waited(call, limit)),
        };
        let mut running = Box::pin({
            let (inner, call, clock, toolset) = (self.inner.clone(), call.clone(), clock.clone(), toolset.clone());
            async move {
                let ran = inner.run(&call, &tool, &toolset, company, &clock).await;
                let (mut reply, output) = ran.unwrap_or_else(|reply| (*reply, None));
                inner.redactor.reply(&mut reply);
                let reply = if toolset.pages { reply } else { inner.evict(reply, output).await };
                // Given back when everything else that the call held is gone.
                drop(admitted);
                reply
            }
        });
        if self.starts_here(&toolset)
            && let Some(reply) = start_here(&toolset, running.as_mut()).await
        {
            return reply.map_err(|Panicked| internal(call, PANICKED));
        }
        // In a task of its own: a guest that does not give way holds up that, and not the reply.
        let mut task = AbortOnDrop(match self.inner.workers.get() {
            Some(workers) => workers.spawn(running),
            None => tokio::spawn(running),
        });
        tokio::select! {
            biased;
            ran = &mut task.0 => ran.map_err(|error| match error.is_cancelled() {
                true => cancelled(call),
                false => internal(call, PANICKED),
            }),
            () = clock.overrun() => Err(reply::timed_out(call, limit)),
        }
    }

    /// Whether a call is to begin where it is asked for. On a runtime with one thread no other could take it up, and where
    /// others run calls, most are over before another thread would have begun.
    fn starts_here(&self, toolset: &Toolset) -> bool {
        let on_one_thread = || Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        (self.inner.workers.get().is_none() || toolset.is_quick()) && on_one_thread()
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
        let siblings = Siblings::of(calls.len());
        let cancel = cancel.shared();
        let replies = calls.into_iter().enumerate().map(|(index, mut call)| {
            let fault = id_fault(&call.id, index, &mut first_with);
            if let (Some(fault), None) = (fault, call.fault()) {
                call = Call::malformed(call.id, call.tool, fault);
            }
            let (call, cancel) = (Arc::new(call), cancel.clone());
            let company = Company { siblings: siblings.clone(), observer: None };
            async move {
                tokio::select! {
                    biased;
                    reply = self.accept(&call, company) => reply,
                    () = cancel => cancelled(&call),
                }
            }
        });
        join_all(replies).await
    }
}

impl Inner {
    /// Runs a call for which there is a place, or replies why it does not.
    async fn run(
        &self,
        call: &Call,
        tool: &Arc<Tool>,
        toolset: &Arc<Toolset>,
        company: Company,
        clock: &Clock,
    ) -> Result<(Reply, Option<Output>), Box<Reply>> {
        let failed = |message: &str| Box::new(internal(call, message));
        let limits = toolset.grant.call_limits();
        let prepared = self.prepare(call, tool, limits)?;
        let command = self.command(call, &prepared, limits)?;
        let ready = toolset.ready(&self.engine).await;
        let ready = ready.map_err(|reason| failed(&format!("the tool's component cannot be opened: {reason}")))?;
        let Some(&function) = ready.functions.get(tool.name()) else {
            return Err(failed("the tool's function is not linked"));
        };
        let is_composed = ready.linked.placement == Placement::Composed;
        if is_composed && let Err(error) = self.engine.keep_time(ready.linked.instance.component()) {
            return Err(failed(&format!("no thread can be started: {error}")));
        }
        let sibling = Sibling::of(company.siblings);
        let job = Job {
            instance: &ready.linked.instance,
            function,
            returns: tool.returns().is_some() || tool.fallible().is_some() || tool.is_command(),
            grant: &toolset.grant,
            shared: &toolset.shared,
            person: self.person(call, &prepared, &toolset.grant, sibling.clone()),
            sibling,
            observer: company.observer,
            clock,
            is_composed,
            arguments: prepared.arguments.weight,
            worst_ratio: ready.worst_ratios.get(tool.name()).copied().unwrap_or(f64::MAX),
            command,
        };
        let (mut reply, output) = match tool.is_command() {
            true => {
                let (reply, output) = reply::exited(call, sandbox::run(job, &[]).await);
                (reply, Some(output))
            }
            false => {
                let outcome = sandbox::run(job, &prepared.arguments.values).await;
                (reply::returned(call, tool, outcome, limits.output), None)
            }
        };
        reply.notes.splice(0..0, prepared.arguments.notes);
        Ok((reply, output))
    }

    /// What a program is started with, where the tool is one.
    fn command(&self, call: &Call, prepared: &Prepared, limits: &Limits) -> Result<Option<Command>, Box<Reply>> {
        let Prepared { tool, arguments } = prepared;
        if !tool.is_command() {
            return Ok(None);
        }
        let line = CommandLine::of(tool.toolset(), &arguments.values);
        let line = line.map_err(|fault| Box::new(reply::invalid(call, &[fault])))?;
        let stdout = match &self.eviction {
            Some(eviction) => eviction.spool(limits, self.redactor.clone()),
            None => Spool::in_memory(usize::try_from(limits.output.min(limits.stream)).unwrap_or(usize::MAX)),
        };
        Ok(Some(Command { line, stdout }))
    }

    /// Moves what is too big for the model into a file.
    async fn evict(&self, mut reply: Reply, output: Option<Output>) -> Reply {
        let is_left = output.as_ref().is_some_and(Output::is_left);
        let is_due = |eviction: &Arc<Eviction>| is_left || eviction.may_be_due(&reply);
        let Some(eviction) = self.eviction.clone().filter(is_due) else { return reply };
        let call = Call::new(reply.id.clone(), reply.tool.clone(), "");
        let evicted = tokio::task::spawn_blocking(move || {
            eviction.apply(&mut reply, output);
            reply
        });
        evicted.await.unwrap_or_else(|_| internal(&call, "witbox itself panicked while it kept the result"))
    }

    /// Who may be asked on behalf of a call, where its grant leaves something to a person.
    fn person(&self, call: &Call, prepared: &Prepared, grant: &Grant, sibling: Sibling) -> Option<Person> {
        let asks = grant.fs_rules().iter().any(|rule| rule.effect() == Effect::Ask);
        let asker = self.asker.clone().filter(|_| asks)?;
        let tool = &prepared.tool;
        let subject = Subject {
            call: call.id.clone(),
            tool: tool.name().to_owned(),
            toolset: tool.toolset().to_owned(),
            arguments: lift_arguments(tool.params(), &prepared.arguments.values),
        };
        Some(Person::new(asker, sibling, subject, grant.call_limits().ask_timeout))
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

/// Runs a call as far as it comes before it first gives way, and takes note where that took long.
async fn start_here(
    toolset: &Toolset,
    running: Pin<&mut (impl Future<Output = Reply> + Send)>,
) -> Option<Result<Reply, Panicked>> {
    let started = Instant::now();
    let ran = poll_immediate(AssertUnwindSafe(running).catch_unwind()).await;
    toolset.took(started.elapsed());
    ran.map(|reply| reply.map_err(|_| Panicked))
}

/// It happened in a call.
struct Panicked;

const PANICKED: &str = "witbox itself panicked in this call";

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
