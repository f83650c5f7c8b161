//! A server of the protocol: over lines, as clients start it, and over HTTP.
#![expect(deprecated, reason = "logging has no place in the newest revision, and clients of the older ones want it")]

mod call;
mod clients;
mod handler;
mod http;
mod lines;
mod offer;
mod resources;
mod search;

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::error::{Error, Kind};
use crate::host::Host;
use crate::reply::Reply;
pub use clients::Clients;
use handler::Handler;
pub use http::Http;
use lines::Lines;
pub use offer::Exposed;
use offer::Offer;

/// How long running calls are given to end once a server is to stop. The protocol's library waits a second longer for what is
/// still to be written.
const GRACE: Duration = Duration::from_secs(4);

/// Is told of every reply.
type OnReply = dyn Fn(&Call, &Reply) + Send + Sync;

/// Serves the tools of a host by the Model Context Protocol, in every revision from 2024-11-05 to 2026-07-28. Cheap to clone;
/// clones are of the same server.
///
/// A server has one audience: whoever speaks to it has the host's session.
///
/// ```
/// use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = witbox::Engine::new()?;
/// let triage = witbox::Component::builtin(&engine, "triage")?;
/// let mut host = witbox::Host::builder(&engine);
/// host.toolset("triage", &triage, witbox::Grant::default())?;
/// let server = witbox::mcp::Server::new(host.build());
///
/// let (ours, theirs) = tokio::io::duplex(1 << 16);
/// let (input, output) = tokio::io::split(theirs);
/// let serving = tokio::spawn(async move { server.serve(input, output, std::future::pending()).await });
/// let (answers, mut requests) = tokio::io::split(ours);
/// let mut answers = BufReader::new(answers).lines();
/// requests
///     .write_all(
///         concat!(
///             r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25","#,
///             r#" "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}}"#,
///             "\n",
///             r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#,
///             "\n"
///         )
///         .as_bytes(),
///     )
///     .await?;
/// assert!(answers.next_line().await?.unwrap().contains("2025-11-25"));
/// assert!(answers.next_line().await?.unwrap().contains("triage_classify"));
/// requests.shutdown().await?;
/// serving.await??;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    /// What is offered now; whoever listens hears of a change.
    offer: watch::Sender<Arc<Offer>>,
    exposed: Exposed,
    on_reply: Option<Box<OnReply>>,
    /// Whether results that were moved into files are linked to in the content.
    links: bool,
    /// How many calls run.
    running: watch::Sender<usize>,
}

/// How it ends for a client.
#[derive(Clone, Default)]
struct Ends {
    /// Nothing but answers is written any more.
    closing: CancellationToken,
    /// Calls that still run are given up.
    over: CancellationToken,
}

impl Server {
    /// A server of a host's tools.
    pub fn new(host: Host) -> Self {
        Server {
            inner: Arc::new(Inner {
                offer: watch::Sender::new(Arc::new(Offer::of(host, Exposed::default()))),
                exposed: Exposed::default(),
                on_reply: None,
                links: false,
                running: watch::Sender::new(0),
            }),
        }
    }

    /// Has somebody told of every reply that there is, before the client has it. For logs; what it says has no effect.
    ///
    /// It is for a server that nobody serves yet: one that has clones already stays as it is.
    pub fn on_reply(mut self, told: impl Fn(&Call, &Reply) + Send + Sync + 'static) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.on_reply = Some(Box::new(told));
        }
        self
    }

    /// What of the tools a client is shown.
    ///
    /// It is for a server that nobody serves yet, as [`on_reply`](Self::on_reply) is.
    pub fn exposed(mut self, exposed: Exposed) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.exposed = exposed;
            let host = inner.offer.borrow().host().clone();
            inner.offer.send_replace(Arc::new(Offer::of(host, exposed)));
        }
        self
    }

    /// Has a `resource_link` follow what stands in the place of a result that was too big, for clients that show it to people.
    /// Some frameworks end the model's run at one, so that without this its address is in `_meta` only.
    ///
    /// It is for a server that nobody serves yet, as [`on_reply`](Self::on_reply) is.
    pub fn links(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.links = true;
        }
        self
    }

    /// Offers another host's tools from now on. Calls that run already go on with the one that they began with; clients are
    /// told where the list of tools is another.
    pub fn swap(&self, host: Host) {
        self.inner.offer.send_replace(Arc::new(Offer::of(host, self.inner.exposed)));
    }

    /// Serves one client over lines, one message on each, until it closes the input or `stop` ends. Then running calls have four
    /// seconds to end, and everything is written before this returns.
    ///
    /// # Errors
    /// An error when the client never begins as the protocol says.
    pub async fn serve(
        &self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Error> {
        let ends = Ends::default();
        let stopped = ends.closing.clone();
        let watching = tokio::spawn({
            let Ends { closing: stopped, over } = ends.clone();
            async move {
                tokio::select! {
                    () = stop => stopped.cancel(),
                    () = stopped.cancelled() => {}
                }
                tokio::time::sleep(GRACE).await;
                over.cancel();
            }
        });
        let lines = Lines::new(input, output, self.clone(), stopped.clone());
        let served = match Handler::new(self, ends).serve(lines).await {
            Ok(running) => running.waiting().await.map_err(|error| error.to_string()),
            // A client that left before it began has no complaint.
            Err(_) if stopped.is_cancelled() => Ok(QuitReason::Closed),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                Err("the client does not begin as the protocol says".to_owned())
            }
            Err(error) => Err(error.to_string()),
        };
        watching.abort();
        served.map(drop).map_err(|reason| Kind::Serve(reason).into())
    }

    /// The largest message that is read, in bytes: what carries the largest arguments that a tool takes, with every character
    /// escaped.
    fn largest_message(&self) -> usize {
        const LEAST: usize = 4 << 20;
        let largest = self.inner.offer.borrow().largest_input();
        usize::try_from(largest).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(64 << 10).max(LEAST)
    }
}

impl Inner {
    /// Counts a call as running for as long as what is returned lives.
    fn begin(&self) -> Running<'_> {
        self.running.send_modify(|running| *running += 1);
        Running(&self.running)
    }

    /// Tells whoever wants to know of a reply.
    fn told(&self, call: &Call, reply: &Reply) {
        if let Some(on_reply) = &self.on_reply {
            on_reply(call, reply);
        }
    }

    /// Ends when no call runs.
    async fn idle(&self) {
        // The sender is here, so that there is always another change to come.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

struct Running<'i>(&'i watch::Sender<usize>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
