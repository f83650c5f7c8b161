//! `witbox serve`: the tools by the Model Context Protocol.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use witbox::mcp::{Exposed, Http, Server};
use witbox::{Call, Host, Reply};

use super::report::Report;
use super::source::{CallableArgs, Serving};
use super::streams::Stream;
use super::wall::{Inherited, Inside};
use super::{Exit, can_start};

/// Serves the tools by the Model Context Protocol (MCP), over standard input and output or over HTTP
///
/// Ends with 0 when its client closes the input, and on SIGTERM and SIGINT once running calls have ended, within five seconds.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  witbox serve -c witbox.toml\n  witbox serve -c witbox.toml --listen 127.0.0.1:8080"
)]
pub(super) struct Args {
    #[command(flatten)]
    source: CallableArgs,

    /// What clients are shown: all tools, or one that finds the others and one that calls what was found, for where there are
    /// hundreds
    #[arg(long, value_name = "WHAT", default_value = "tools", value_parser = ["tools", "search"])]
    expose: String,

    /// Has a resource_link follow the pointer to a result that was moved into a file: for clients that show links to people.
    /// LangChain, Deep Agents and AG2 end a run at one
    #[arg(long)]
    links: bool,

    /// Serves the clients of the configuration over HTTP, at http://ADDRESS/mcp, each in the session of its name
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// Serves whoever asks, without a token, in the session that is named: only on a loopback address, and without clients
    #[arg(long, requires = "listen")]
    no_auth: bool,

    /// A name by which requests may ask for this server, as behind a proxy: tools.example, or with a port
    #[arg(long, value_name = "HOST", requires = "listen")]
    allow_host: Vec<String>,

    /// An origin whose pages may ask, such as https://app.example
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    allow_origin: Vec<String>,
}

/// What is spoken over.
enum Line {
    Streams(Server, Stream, Stream),
    Http(Http, TcpListener),
}

pub(super) fn run(args: &Args, inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let streams = match args.listen {
        None => Some((Stream::input().context("standard input")?, Stream::output().context("standard output")?)),
        Some(_) => None,
    };
    let serving = args.source.serving(report)?;
    let (teller, lines) = sync_channel(MAX_LINES);
    let mut hosts = Vec::new();
    let line = match (streams, args.listen) {
        (Some((input, output)), _) => {
            hosts.push(serving.host(report)?);
            Line::Streams(args.server(&hosts[0], &teller), input, output)
        }
        (None, Some(address)) => {
            let http = args.http(&serving, &mut hosts, &teller, report)?;

            let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
            report.note(&format!("listening on http://{}/mcp", listener.local_addr()?));
            Line::Http(http, listener)
        }
        (None, None) => bail!("there is nothing to serve over"),
    };
    let inside = serving.raise_wall(inherited)?;
    drop(teller);
    let told = tell_operator(lines).context("no threads can be started")?;
    let workers = workers(&inside)?;
    hosts.iter().for_each(|host| host.workers(workers.handle().clone()));
    let protocol = Builder::new_current_thread().enable_all().build()?;
    let served = protocol.block_on(serve(line));
    // A host call of a stopped guest may still wait in a thread of its own; nobody waits for it.
    workers.shutdown_background();
    protocol.shutdown_background();
    let _ = told.recv_timeout(LAST_LINES);
    served.map(|()| Exit::Ok)
}

impl Args {
    fn server(&self, host: &Host, teller: &SyncSender<String>) -> Server {
        let exposed = if self.expose == "search" { Exposed::Search } else { Exposed::Tools };
        let teller = teller.clone();
        let server = Server::new(host.clone()).exposed(exposed);
        let server = server.on_reply(move |call, reply| tell(&teller, call, reply));
        if self.links { server.links() } else { server }
    }

    fn http(
        &self,
        serving: &Serving<'_>,
        hosts: &mut Vec<Host>,
        teller: &SyncSender<String>,
        report: &Report,
    ) -> anyhow::Result<Http> {
        let mut http = Http::new();
        match (serving.clients(), self.no_auth) {
            ([], true) => {
                hosts.push(serving.host(report)?);
                http = http.anybody(self.server(&hosts[0], teller));
            }
            ([], false) => bail!(
                "nobody may ask: name clients in [client.NAME] of the configuration, each with a token-file, or let whoever is \
                 on this machine ask with --no-auth"
            ),
            (_, true) => bail!("--no-auth goes without clients, and the configuration has some"),
            (clients, false) => {
                for client in clients {
                    let host = serving.host_of(client, report)?;
                    http = http
                        .client(&client.token()?, self.server(&host, teller))
                        .with_context(|| client.name.clone())?;
                    hosts.push(host);
                }
            }
        }
        http = self.allow_host.iter().fold(http, Http::name);
        Ok(self.allow_origin.iter().fold(http, Http::origin))
    }
}

/// Where calls go on that take longer than a moment.
fn workers(inside: &Inside) -> anyhow::Result<Runtime> {
    can_start(inside.cores).context("no threads can be started")?;
    Ok(Builder::new_multi_thread().worker_threads(inside.cores).enable_all().build()?)
}

async fn serve(line: Line) -> anyhow::Result<()> {
    let stop = stopped()?;
    match line {
        Line::Streams(server, input, output) => server.serve(input.reader()?, output.writer()?, stop).await?,
        Line::Http(http, listener) => http.serve(listener, stop).await?,
    }
    Ok(())
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
        // Whoever says it again does not want to wait.
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(Exit::Cancelled as i32);
        });
    })
}

/// How many lines wait to be written, and how long each part of one may be, in characters.
const MAX_LINES: usize = 1_000;
const MAX_NAME: usize = 100;
const MAX_TOLD: usize = 2_000;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Writes lines to standard error, in a thread of its own: it may be a pipe that nobody reads. Says when all are written.
fn tell_operator(lines: Receiver<String>) -> std::io::Result<Receiver<()>> {
    let (end, ended) = sync_channel(1);
    std::thread::Builder::new().name("witbox-stderr".to_owned()).spawn(move || {
        let report = Report::new();
        lines.iter().for_each(|line| report.note(&line));
        let _ = end.send(());
    })?;
    Ok(ended)
}

/// Tells the operator of calls that did not end well, and of what their tools were refused. What nobody reads in time is left
/// out, and nobody waits.
fn tell(to: &SyncSender<String>, call: &Call, reply: &Reply) {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let what = || format!("{} {}", cut(&call.tool, MAX_NAME), cut(&call.id, MAX_NAME));
    let say = |told: String| {
        let _ = to.try_send(format!("{}: {}", what(), cut(&told, MAX_TOLD)));
    };
    if let Some(error) = &reply.error {
        say(format!("{}: {}", reply.status, error.message));
    }
    for denial in &reply.denials {
        say(format!("denied: {} {}: {}", denial.operation, denial.target, denial.rule));
    }
    if reply.error.is_some() && !reply.stderr.is_empty() {
        say(format!("the tool's stderr: {}", reply.stderr.trim_end()));
    }
}
