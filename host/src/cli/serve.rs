//! `witbox serve`: the tools by the Model Context Protocol.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use witbox::mcp::{Exposed, Http, Server};
use witbox::{Call, Host, Reply};

use super::changes::{Audience, Changes, Seat};
use super::report::Report;
use super::serving::Serving;
use super::source::CallableArgs;
use super::streams::Stream;
use super::wall::{Inherited, Inside};
use super::watcher::{Snapshots, Watched, Watcher};
use super::{Exit, allocator, can_start};

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

    /// Has the component of -t take effect anew whenever its file changes: for who writes it. A configuration says so itself
    #[arg(long, requires = "component")]
    reload: bool,

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
    let since = SystemTime::now();
    allocator::keep_large_texts();
    let streams = match args.listen {
        None => Some((Stream::input().context("standard input")?, Stream::output().context("standard output")?)),
        Some(_) => None,
    };
    let serving = args.source.serving(report)?;
    let (teller, lines) = sync_channel(MAX_LINES);
    let watched = args.watch(&serving, since, report)?;
    let (line, audience) = match (streams, args.listen) {
        (Some((input, output)), _) => {
            let seat = args.seat(&serving, &teller, report)?;
            (Line::Streams(seat.server.clone(), input, output), Audience::One(seat))
        }
        (None, Some(address)) => {
            let (http, audience) = args.http(&serving, &teller, report)?;
            let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
            report.note(&format!("listening on http://{}/mcp", listener.local_addr()?));
            (Line::Http(http, listener), audience)
        }
        (None, None) => bail!("there is nothing to serve over"),
    };
    let inside = serving.raise_wall(inherited)?;
    let told = tell_operator(lines).context("no threads can be started")?;
    let workers = workers(&inside)?;
    audience.seats().iter().for_each(|seat| seat.host.workers(workers.handle().clone()));
    let watcher = watched.map(|(watcher, snapshots)| {
        let serve = args.servers(&teller);
        let (workers, is_for_anybody) = (workers.handle().clone(), args.no_auth);
        let changes = Changes { serving, audience, inside, is_for_anybody, workers, serve, teller };
        changes.take_on_all(snapshots).map(|()| watcher)
    });
    let watcher = watcher.transpose().context("no threads can be started")?;
    let protocol = Builder::new_current_thread().enable_all().build()?;
    let served = protocol.block_on(serve(line));
    // Ends what watches, and with it whoever takes on changes.
    drop(watcher);
    // A host call of a stopped guest may still wait in a thread of its own; nobody waits for it.
    workers.shutdown_background();
    protocol.shutdown_background();
    let _ = told.recv_timeout(LAST_LINES);
    served.map(|()| Exit::Ok)
}

impl Args {
    /// What makes servers of hosts.
    fn servers(&self, teller: &SyncSender<String>) -> Box<dyn Fn(&Host) -> Server + Send> {
        let exposed = if self.expose == "search" { Exposed::Search } else { Exposed::Tools };
        let (teller, links) = (teller.clone(), self.links);
        Box::new(move |host| {
            let teller = teller.clone();
            let server = Server::new(host.clone()).exposed(exposed);
            let server = server.on_reply(move |call, reply| tell(&teller, call, reply));
            if links { server.links() } else { server }
        })
    }

    fn seat(&self, serving: &Serving, teller: &SyncSender<String>, report: &Report) -> anyhow::Result<Seat> {
        Ok(Seat::of(serving.first(None, report)?, String::new(), self.servers(teller)))
    }

    fn http(
        &self,
        serving: &Serving,
        teller: &SyncSender<String>,
        report: &Report,
    ) -> anyhow::Result<(Http, Audience)> {
        let mut http = Http::new();
        let audience = match (serving.clients(), self.no_auth) {
            ([], true) => {
                let seat = self.seat(serving, teller, report)?;
                http = http.anybody(seat.server.clone());
                Audience::One(seat)
            }
            ([], false) => bail!(
                "nobody may ask: name clients in [client.NAME] of the configuration, each with a token-file, or let whoever is \
                 on this machine ask with --no-auth"
            ),
            (_, true) => bail!("--no-auth goes without clients, and the configuration has some"),
            (clients, false) => {
                let mut seats = Vec::new();
                for client in clients {
                    let seat = Seat::of(serving.first(Some(client), report)?, client.token()?, self.servers(teller));
                    http = http.client(seat.token(), seat.server.clone()).with_context(|| client.name.clone())?;
                    seats.push((client.clone(), seat));
                }
                Audience::Clients(http.clients(), seats)
            }
        };
        http = self.allow_host.iter().fold(http, Http::name);
        Ok((self.allow_origin.iter().fold(http, Http::origin), audience))
    }

    /// Has what is served watched, where it is from files and may change.
    fn watch(
        &self,
        serving: &Serving,
        since: SystemTime,
        report: &Report,
    ) -> anyhow::Result<Option<(Watcher, Snapshots)>> {
        let text = serving.config().map(|(_, text)| text);
        let watched = Watched { file: serving.origin(), text, agreements: serving.agreements(), since };
        if text.is_none() && !self.reload {
            return Ok(None);
        }
        if !watched.is_watchable() {
            match text {
                None => bail!("--reload: {} is no file that could change", serving.origin().display()),
                Some(_) => return Ok(None),
            }
        }
        let started = watched.start();
        Ok(started.inspect_err(|error| report.note(&format!("changes take effect at the next start: {error}"))).ok())
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
