//! The command line: arguments as typed → what they mean → the library → a report.

mod agree;
mod allocator;
mod cache;
mod call;
mod changes;
mod check;
mod compiler;
mod engine;
mod exec;
mod explain;
mod init;
mod inspect;
mod list;
mod machine;
mod mcp;
mod pack;
mod probe;
mod report;
mod results;
mod roles;
mod schema;
mod serve;
mod serving;
mod source;
mod streams;
mod terminal;
mod test;
mod wall;
mod watcher;
mod workspace;

use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use report::Report;
use wall::Inherited;

/// Runs tools for language models, each call in a WebAssembly sandbox of its own.
#[derive(Parser)]
#[command(name = "witbox", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Exec(exec::Args),
    Call(call::Args),
    List(list::Args),
    Schema(schema::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Inspect(inspect::Args),
    Init(init::Args),
    Check(check::Args),
    Agree(agree::Args),
    Explain(explain::Args),
    Probe(probe::Args),
    Test(test::Args),
    Pack(pack::Args),
    Cache(cache::Args),
    Results(results::Args),
}

/// How a command ended, as scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Exit {
    Ok = 0,
    /// A tool said err, `schema --lint` found what would be rejected, or `explain` says no.
    Failure = 1,
    Usage = 2,
    Invalid = 3,
    Limit = 5,
    Crash = 6,
    Cancelled = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

pub(crate) fn main() -> ExitCode {
    if let Some(exit) = roles::role() {
        return exit;
    }
    quiet_loader();
    let inherited = Inherited::look();
    let report = Report::new();
    let ran = run(&inherited, &report);
    match ran {
        Ok(exit) => exit.into(),
        // Whoever reads has seen enough.
        Err(error) if report::is_broken_pipe(&error) => Exit::Ok.into(),
        Err(error) => {
            report.error(&error);
            Exit::Usage.into()
        }
    }
}

fn run(inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            told.print()?;
            return Ok(if told.use_stderr() { Exit::Usage } else { Exit::Ok });
        }
    };
    match cli.command {
        Command::Exec(args) => exec::run(&args, inherited, report),
        Command::Call(args) => call::run(&args, inherited, report),
        Command::List(args) => list::run(&args, report),
        Command::Schema(args) => schema::run(&args, report),
        Command::Serve(args) => serve::run(&args, inherited, report),
        Command::Mcp(args) => mcp::run(&args, report),
        Command::Inspect(args) => inspect::run(&args, report),
        Command::Init(args) => init::run(&args, report),
        Command::Check(args) => check::run(&args, report),
        Command::Agree(args) => agree::run(&args, report),
        Command::Explain(args) => explain::run(&args, report),
        Command::Probe(args) => probe::run(&args, report),
        Command::Test(args) => test::run(&args, inherited, report),
        Command::Pack(args) => pack::run(&args, report),
        Command::Cache(args) => cache::run(&args, report),
        Command::Results(args) => results::run(&args, report),
    }
}

/// Keeps panics while a component is loaded off the terminal: the library makes an error or a note out of them.
fn quiet_loader() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(witbox::LOADER_THREAD) {
            default(panic);
        }
    }));
}

/// Runs calls to their end, or until the person interrupts.
fn block_on<T>(inside: &wall::Inside, future: impl Future<Output = T>) -> anyhow::Result<T> {
    can_start(inside.cores).context("no threads can be started")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(inside.cores).enable_all().build()?;
    let value = runtime.block_on(async {
        // A file that grows too large is an error to whoever writes, and not the end of this process.
        let _too_large = signal(SignalKind::from_raw(libc::SIGXFSZ));
        future.await
    });
    // A host call of a stopped guest may still wait in a thread of its own; nobody waits for it.
    runtime.shutdown_background();
    Ok(value)
}

/// Whether so many threads can run. The runtime itself panics where they cannot.
fn can_start(threads: usize) -> std::io::Result<()> {
    let gate = Mutex::new(());
    std::thread::scope(|scope| {
        let _closed = gate.lock();
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || drop(gate.lock()));
        (0..threads).try_for_each(|thread| start(thread).map(drop))
    })
}

/// Ends when the person interrupts.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
