//! One call: a store of its own, an instance, the function, and what came of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{ComponentExportIndex, InstancePre, ResourceTableError, Val};
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::Shared;
use super::ask::Person;
use super::clock::Clock;
use super::crossing::Crossing;
use super::report::{Log, Observe};
use super::siblings::Sibling;
use super::state::State;
use super::stdio::Unwritten;
use crate::call::Usage;
use crate::policy::Grant;
use crate::reply::Denial;
use crate::tool::CommandLine;
use crate::workspace::{Spool, Spooled};

/// A guest that computes gives way to others after so much fuel, some 0.3 ms.
const YIELD_EVERY: u64 = 500_000;
/// The most component-model handles that a guest may hold.
const MAX_HANDLES: usize = 10_000;

/// What is to be run: a function of a linked component, under a grant.
pub(crate) struct Job<'a> {
    pub(crate) instance: &'a InstancePre<State>,
    pub(crate) function: ComponentExportIndex,
    pub(crate) returns: bool,
    pub(crate) grant: &'a Grant,
    pub(crate) shared: &'a Shared,
    /// Which of its message's calls it is.
    pub(crate) sibling: Sibling,
    /// Who may be asked; nothing where nobody can be.
    pub(crate) person: Option<Person>,
    /// Who is told what the guest says while it runs.
    pub(crate) observer: Option<Arc<dyn Observe>>,
    /// How long it may still run.
    pub(crate) clock: &'a Clock,
    /// Whether the component runs on the engine with epochs.
    pub(crate) is_composed: bool,
    /// What the arguments take of the call's memory, in bytes.
    pub(crate) arguments: u64,
    /// How much more what is returned takes than the engine charges for it.
    pub(crate) worst_ratio: f64,
    /// What a program is started with; nothing for a function.
    pub(crate) command: Option<Command>,
}

/// A program's start, and where its output goes.
pub(crate) struct Command {
    pub(crate) line: CommandLine,
    pub(crate) stdout: Spool,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) result: Result<Returned, Stop>,
    pub(crate) usage: Usage,
    pub(crate) stdout: Spooled,
    pub(crate) stderr: Spooled,
    pub(crate) denials: Vec<Denial>,
    pub(crate) log: Log,
}

/// What a guest came to.
pub(crate) enum Returned {
    /// A function to its value.
    Value(Option<Val>),
    /// A program to its end.
    Exit(i32),
}

/// Why a guest did not return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Limit(Exhausted),
    Timeout(Duration),
    /// The guest crashed.
    Trap(String),
    /// The host could not run it.
    Failed(String),
}

/// A limit of a call that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    Fuel(u64),
    Memory(u64),
    Stack,
    Output(u64),
    /// By what is returned, as values.
    Returned(u64),
    HostCall,
    Stdout(u64),
    Stderr(u64),
    /// By a program's output.
    Stream(u64),
    Objects,
}

impl Exhausted {
    /// The word for the limit in a reply's error.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Exhausted::Fuel(_) => "fuel",
            Exhausted::Memory(_) => "memory",
            Exhausted::Stack => "stack",
            Exhausted::Output(_) | Exhausted::Returned(_) => "output",
            Exhausted::HostCall => "host-call",
            Exhausted::Stdout(_) => "stdout",
            Exhausted::Stderr(_) => "stderr",
            Exhausted::Stream(_) => "stream",
            Exhausted::Objects => "objects",
        }
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exhausted::Fuel(limit) => write!(f, "the tool was stopped: it used all of its {limit} units of fuel"),
            Exhausted::Memory(limit) => {
                write!(f, "the tool was stopped: it needs more than its {limit} bytes of memory")
            }
            Exhausted::Stack => f.write_str("the tool was stopped: its calls nest deeper than the stack holds"),
            Exhausted::Output(limit) => {
                write!(f, "the tool was stopped: it returned a value of more than {limit} bytes")
            }
            Exhausted::Returned(limit) => {
                write!(
                    f,
                    "the tool was stopped: what it returned takes more than is left of its {limit} bytes of memory"
                )
            }
            Exhausted::HostCall => f.write_str("the tool was stopped: it handed more than 1 MiB to the host at once"),
            Exhausted::Stdout(limit) | Exhausted::Stream(limit) => {
                write!(f, "the tool was stopped: it wrote more than {limit} bytes to standard output")
            }
            Exhausted::Stderr(limit) => {
                write!(f, "the tool was stopped: it wrote more than {limit} bytes to standard error")
            }
            Exhausted::Objects => {
                f.write_str("the tool was stopped: it holds too many instances, memories, tables or handles")
            }
        }
    }
}

impl std::error::Error for Exhausted {}

/// Runs a call to its end, or to the first limit that it reaches.
pub(crate) async fn run(mut job: Job<'_>, arguments: &[Val]) -> Outcome {
    let limits = job.grant.call_limits();
    let command = job.command.take();
    let is_command = command.is_some();
    let state = State::new(&job, command);
    let mut store = Store::new(job.instance.engine(), state);
    if let Err(error) = prepare(&mut store, &job) {
        return Outcome::failed(format!("{error:#}"));
    }

    let ran = tokio::select! {
        biased;
        ran = call(&mut store, &job, arguments) => Some(ran),
        () = job.clock.run_out() => None,
    };
    let result = match ran {
        Some(Ok(value)) if is_command => Ok(Returned::Exit(i32::from(matches!(value, Some(Val::Result(Err(_))))))),
        Some(Ok(value)) => Ok(Returned::Value(value)),
        Some(Err(error)) => match error.downcast_ref() {
            Some(I32Exit(code)) if is_command => Ok(Returned::Exit(*code)),
            _ => Err(stop(&error, store.data(), job.grant)),
        },
        None => Err(Stop::Timeout(limits.timeout)),
    };
    let fuel_left = store.get_fuel().unwrap_or_default();
    let state = store.data_mut();
    Outcome {
        result,
        usage: Usage {
            fuel: limits.fuel.saturating_sub(fuel_left),
            memory_bytes: state.limiter.peak(),
            ..Usage::default()
        },
        stdout: state.stdout.take(),
        stderr: state.stderr.take(),
        denials: state.denials.take(),
        log: state.reports.take_log(),
    }
}

fn prepare(store: &mut Store<State>, job: &Job<'_>) -> wasmtime::Result<()> {
    let limits = job.grant.call_limits();
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel)?;
    store.fuel_async_yield_interval(Some(YIELD_EVERY))?;
    store.call_hook_async(Crossing { worst_ratio: job.worst_ratio });
    store.set_max_component_handles(MAX_HANDLES);
    if job.is_composed {
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
    }
    Ok(())
}

async fn call(store: &mut Store<State>, job: &Job<'_>, arguments: &[Val]) -> wasmtime::Result<Option<Val>> {
    let instance = job.instance.instantiate_async(&mut *store).await?;
    let function = instance
        .get_func(&mut *store, job.function)
        .ok_or_else(|| wasmtime::format_err!("the component's function is gone"))?;
    let mut results = if job.returns { vec![Val::Bool(false)] } else { Vec::new() };
    function.call_async(&mut *store, arguments, &mut results).await?;
    Ok(results.pop())
}

/// Says what an error of the engine means for the reply.
fn stop(error: &wasmtime::Error, state: &State, grant: &Grant) -> Stop {
    let limits = grant.call_limits();
    if let Some(exhausted) = error.downcast_ref::<Exhausted>() {
        return Stop::Limit(*exhausted);
    }
    if let Some(unwritten) = error.downcast_ref::<Unwritten>() {
        return Stop::Failed(unwritten.to_string());
    }
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return Stop::Trap(format!("the tool exited with code {code} instead of returning"));
    }
    let trap = error.downcast_ref::<Trap>();
    match trap {
        Some(Trap::OutOfFuel) => return Stop::Limit(Exhausted::Fuel(limits.fuel)),
        Some(Trap::StackOverflow) => return Stop::Limit(Exhausted::Stack),
        _ => {}
    }
    // A guest that is refused memory mostly gives up at once; where it dealt with that and crashed later for another
    // reason, the refusal is still the likeliest cause.
    if state.limiter.refused() {
        return Stop::Limit(Exhausted::Memory(limits.memory));
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return Stop::Limit(Exhausted::Objects);
    }
    // The engine has no types for these three.
    let reason = error.root_cause().to_string();
    if reason.contains("fuel allocated for hostcalls") {
        // Only what fails while the guest runs has a trace of it.
        let is_host_call = error.downcast_ref::<WasmBacktrace>().is_some();
        return Stop::Limit(if is_host_call { Exhausted::HostCall } else { Exhausted::Returned(limits.memory) });
    }
    if reason.starts_with("resource limit exceeded") || reason.ends_with("handle limit exceeded") {
        return Stop::Limit(Exhausted::Objects);
    }
    match trap {
        Some(trap) => Stop::Trap(format!("the tool crashed: {}", trap.to_string().trim_start_matches("wasm trap: "))),
        None => Stop::Trap(format!("the tool crashed: {reason}")),
    }
}

/// What was written, with replacement characters for what is no UTF-8.
pub(crate) fn text(spooled: Spooled) -> String {
    let written = match spooled {
        Spooled::Memory(written) => written,
        Spooled::File(spilled) => spilled.start,
        Spooled::Lost(lost) => lost.start,
    };
    String::from_utf8_lossy(&written).into_owned()
}

impl Outcome {
    fn failed(reason: String) -> Self {
        Outcome {
            result: Err(Stop::Failed(reason)),
            usage: Usage::default(),
            stdout: Spooled::Memory(Vec::new()),
            stderr: Spooled::Memory(Vec::new()),
            denials: Vec::new(),
            log: Log::default(),
        }
    }
}
