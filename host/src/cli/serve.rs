//! `witbox serve`: the tools by the Model Context Protocol.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use witbox::mcp::Server;
use witbox::{Call, Host, Reply};

use super::report::{Report, shown};
use super::source::CallableArgs;
use super::streams::Stream;
use super::wall::{Inherited, Inside};
use super::{Exit, can_start};

/// Serves the tools by the Model Context Protocol (MCP), over standard input and output
///
/// Ends with 0 when its client closes the input, and on SIGTERM and SIGINT once running calls have ended, within five seconds.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox serve -c witbox.toml")]
pub(super) struct Args {
    #[command(flatten)]
    source: CallableArgs,
}

pub(super) fn run(args: &Args, inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let streams = (Stream::input().context("standard input")?, Stream::output().context("standard output")?);
    let (host, inside) = args.source.open_later(inherited, report)?;
    let workers = workers(&inside)?;
    host.workers(workers.handle().clone());
    let protocol = Builder::new_current_thread().enable_all().build()?;
    let served = protocol.block_on(serve(host, streams));
    // A host call of a stopped guest may still wait in a thread of its own; nobody waits for it.
    workers.shutdown_background();
    protocol.shutdown_background();
    served.map(|()| Exit::Ok)
}

/// Where calls go on that take longer than a moment.
fn workers(inside: &Inside) -> anyhow::Result<Runtime> {
    can_start(inside.cores).context("no threads can be started")?;
    Ok(Builder::new_multi_thread().worker_threads(inside.cores).enable_all().build()?)
}

async fn serve(host: Host, (input, output): (Stream, Stream)) -> anyhow::Result<()> {
    let stop = stopped()?;
    let server = Server::new(host).on_reply(tell);
    Ok(server.serve(input.reader()?, output.writer()?, stop).await?)
}

/// Ends when somebody wants this process to.
fn stopped() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    // A file that grows too large is an error to whoever writes, and not the end of this process.
    let too_large = signal(SignalKind::from_raw(libc::SIGXFSZ))?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        let _too_large = too_large;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Tells the operator of calls that did not end well, and of what their tools were refused.
fn tell(call: &Call, reply: &Reply) {
    let report = Report::new();
    let what = || format!("{} {}", shown(&call.tool), shown(&call.id));
    if let Some(error) = &reply.error {
        report.note(&format!("{}: {}: {}", what(), reply.status, error.message));
    }
    for denial in &reply.denials {
        report.note(&format!("{}: denied: {} {}: {}", what(), denial.operation, denial.target, denial.rule));
    }
    if reply.error.is_some() && !reply.stderr.is_empty() {
        report.note(&format!("{}: the tool's stderr: {}", what(), reply.stderr.trim_end()));
    }
}
