//! Who may ask over HTTP: by which token, and with what of one's own.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use http::header::HeaderValue;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::{Ends, GRACE, Server};
use crate::error::{Error, Kind};

/// How many requests of one client may be open at once, streams that wait for something to happen included, and how many bytes
/// their bodies may have together, in KiB.
const MAX_REQUESTS: usize = 256;
pub(super) const MAX_BODIES: usize = 64 << 10;
/// How long a session is kept that nobody uses.
const SESSION_KEPT: Duration = Duration::from_secs(3_600);
/// How long what was answered is kept for a client whose connection broke.
const ANSWER_KEPT: Duration = Duration::from_secs(15);
/// How long the last answers may take to be sent.
pub(super) const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The clients of an [`Http`](super::Http), which may change while it serves. Cheap to clone; clones are of the same clients.
#[derive(Clone, Default)]
pub struct Clients(Arc<RwLock<Vec<Arc<Client>>>>);

struct Client {
    /// The SHA-256 of its token, which takes as long to compare whatever is sent; nothing for whoever asks.
    token: Option<[u8; 32]>,
    seat: Arc<Seat>,
}

/// A server that somebody may ask, under whatever token.
struct Seat {
    server: Server,
    /// Made when somebody first asks.
    audience: OnceLock<Arc<Audience>>,
    /// Says that nobody may any more.
    revoked: CancellationToken,
}

/// A client as the protocol's library serves it.
pub(super) struct Audience {
    pub(super) server: Server,
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) requests: Arc<Semaphore>,
    pub(super) bodies: Semaphore,
    /// The session and the id of each request that has no answer yet.
    pub(super) open: Arc<Mutex<HashSet<(HeaderValue, String)>>>,
    pub(super) service: StreamableHttpService<Handler, LocalSessionManager>,
}

/// How all clients are served.
pub(super) struct Manner {
    pub(super) config: StreamableHttpServerConfig,
    pub(super) ends: Ends,
}

impl Clients {
    /// Serves these from now on, each by its token. A server that is served already keeps its sessions, whatever its token is now. Whose
    /// server is not among them is let in no more, and has four seconds for the calls that run.
    ///
    /// # Errors
    /// An error that [`is_serve`](Error::is_serve) when two have the same token. Nothing has changed then.
    pub fn replace<'t>(&self, clients: impl IntoIterator<Item = (&'t str, Server)>) -> Result<(), Error> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<Arc<Client>> = all.iter().filter(|client| client.token.is_none()).cloned().collect();
        for (token, server) in clients {
            let before = all.iter().find(|client| Arc::ptr_eq(&client.seat.server.inner, &server.inner));
            let seat = before.map_or_else(|| Arc::new(Seat::of(server)), |client| client.seat.clone());
            new.push(another(&new, token, seat)?);
        }
        for client in all.iter() {
            if !new.iter().any(|stays| Arc::ptr_eq(&stays.seat, &client.seat)) {
                client.seat.revoked.cancel();
            }
        }
        *all = new;
        Ok(())
    }

    pub(super) fn add(&self, token: &str, server: Server) -> Result<(), Error> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let client = another(&all, token, Arc::new(Seat::of(server)))?;
        all.push(client);
        Ok(())
    }

    pub(super) fn anybody(&self, server: Server) {
        let client = Client { token: None, seat: Arc::new(Seat::of(server)) };
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(client));
    }

    pub(super) fn are_none(&self) -> bool {
        self.all().is_empty()
    }

    pub(super) fn are_anybody(&self) -> bool {
        self.all().iter().any(|client| client.token.is_none())
    }

    /// Whose token this is.
    pub(super) fn find(&self, token: Option<&str>, manner: &Manner) -> Option<Arc<Audience>> {
        let token = token.map(digest);
        let all = self.all();
        let client = all.iter().find(|client| client.token.is_none() || client.token == token)?;
        Some(client.seat.audience(manner))
    }

    /// Ends when nobody's calls run.
    pub(super) async fn idle(&self) {
        for client in self.all() {
            client.seat.server.inner.idle().await;
        }
    }

    fn all(&self) -> Vec<Arc<Client>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn another(all: &[Arc<Client>], token: &str, seat: Arc<Seat>) -> Result<Arc<Client>, Error> {
    let token = Some(digest(token));
    if all.iter().any(|client| client.token == token) {
        let reason = "a client has the token of another client, and could not be told from it".to_owned();
        return Err(Kind::Listen(reason).into());
    }
    Ok(Arc::new(Client { token, seat }))
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl Seat {
    fn of(server: Server) -> Self {
        Seat { server, audience: OnceLock::new(), revoked: CancellationToken::new() }
    }

    fn audience(&self, manner: &Manner) -> Arc<Audience> {
        self.audience.get_or_init(|| Arc::new(Audience::of(&self.server, manner, self.revoked.clone()))).clone()
    }
}

impl Audience {
    fn of(server: &Server, manner: &Manner, revoked: CancellationToken) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = SessionConfig::default();
        sessions.session_config.keep_alive = Some(SESSION_KEPT);
        sessions.session_config.completed_cache_ttl = ANSWER_KEPT;
        let sessions = Arc::new(sessions);
        let ends = Ends { closing: manner.ends.closing.child_token(), over: manner.ends.over.child_token() };
        let ended = manner.config.cancellation_token.child_token();
        // What is read of a body is bounded before the library has it.
        let config = manner.config.clone().with_max_request_body_bytes(usize::MAX);
        let config = config.with_cancellation_token(ended.clone());
        let make = {
            let (server, ends) = (server.clone(), ends.clone());
            move || Ok(Handler::new(&server, ends.clone()))
        };
        tokio::spawn(end_when_revoked(server.clone(), revoked, ends, ended));
        Audience {
            server: server.clone(),
            service: StreamableHttpService::new(make, sessions.clone(), config),
            sessions,
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            bodies: Semaphore::new(MAX_BODIES),
            open: Arc::default(),
        }
    }
}

/// Lets the calls of a client that is let in no more end, gives up those that do not, and closes what waits.
async fn end_when_revoked(server: Server, revoked: CancellationToken, ends: Ends, ended: CancellationToken) {
    tokio::select! {
        () = revoked.cancelled() => {}
        () = ended.cancelled() => return,
    }
    if tokio::time::timeout(GRACE, server.inner.idle()).await.is_err() {
        ends.over.cancel();
    }
    ends.closing.cancel();
    tokio::time::sleep(LAST_ANSWERS).await;
    ended.cancel();
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("count", &self.all().len()).finish_non_exhaustive()
    }
}
