//! A server over HTTP: who may ask, how much, and under which names, before the protocol's library sees a request.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ErrorData;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::call::RawArguments;
use super::clients::{Audience, Clients, LAST_ANSWERS, MAX_BODIES, Manner};
use super::lines::{MAX_META, MAX_OTHER};
use super::{Ends, GRACE, Server};
use crate::error::{Error, Kind};

/// Where the protocol is spoken.
const PATH: &str = "/mcp";
/// How many connections there may be at once.
const MAX_CONNECTIONS: usize = 1_024;
/// How many sessions a client may have; the older revisions open one for each connection, and many clients close none.
const MAX_SESSIONS: usize = 1_000;
/// How long a client may take to send the head of a request, and its body.
const HEAD_TIME: Duration = Duration::from_secs(10);
const BODY_TIME: Duration = Duration::from_secs(60);

/// Serves hosts over HTTP, at `/mcp` (streamable HTTP): each client that is known by a token its own, or anybody on this machine
/// one. TLS is for a proxy before it.
///
/// Before a request is answered, its `Host` must be a name of this server and its `Origin`, which browsers send, one that is
/// allowed: so that no page that somebody visits reaches it. A name that a client gives itself decides nothing.
pub struct Http {
    names: Vec<String>,
    origins: Vec<String>,
    clients: Clients,
}

/// What all connections share.
struct Shared {
    clients: Clients,
    manner: Manner,
    /// Whether it stops, and takes no more calls.
    stops: AtomicBool,
    /// Ends what waits for something to happen.
    ending: CancellationToken,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

impl Default for Http {
    fn default() -> Self {
        Http::new()
    }
}

impl Http {
    /// A server that nobody may use yet.
    pub fn new() -> Self {
        Http { names: Vec::new(), origins: Vec::new(), clients: Clients::default() }
    }

    /// Serves who sends a token, as `Authorization: Bearer TOKEN`.
    ///
    /// # Errors
    /// An error that [`is_serve`](Error::is_serve) when another client has this token.
    pub fn client(self, token: &str, server: Server) -> Result<Self, Error> {
        self.clients.add(token, server)?;
        Ok(self)
    }

    /// Its clients, to change them while it serves.
    pub fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// Serves whoever asks, without a token. It is only for a listener on a loopback address.
    pub fn anybody(self, server: Server) -> Self {
        self.clients.anybody(server);
        self
    }

    /// Lets requests name this server so in `Host`: what a proxy before it is called, without a port or with it. `localhost`
    /// and the address that it listens on are known.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Lets pages of an origin, such as `https://app.example`, ask. Those of the server itself may.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Serves until `stop` ends. Then running calls have four seconds to end, and everything is written before this returns.
    ///
    /// # Errors
    /// An error that [`is_serve`](Error::is_serve) when the listener cannot be used, when nobody may ask, or when anybody may
    /// on an address that is not this machine's alone.
    pub async fn serve(
        self,
        listener: std::net::TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Error> {
        let refuse = |reason: String| Kind::Listen(reason);
        listener.set_nonblocking(true).map_err(|error| refuse(error.to_string()))?;
        let listener = TcpListener::from_std(listener).map_err(|error| refuse(error.to_string()))?;
        let address = listener.local_addr().map_err(|error| refuse(error.to_string()))?;
        if self.clients.are_anybody() && !address.ip().is_loopback() {
            let reason =
                format!("{address} can be reached from elsewhere, and anybody may ask; name clients with tokens");
            return Err(refuse(reason).into());
        }
        if self.clients.are_none() {
            return Err(refuse("there is no client that may ask".to_owned()).into());
        }
        let shared = Arc::new(self.share(address));
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let stopping = CancellationToken::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let place = tokio::select! {
                () = &mut stop => break,
                place = connections.clone().acquire_owned() => place,
            };
            let (Ok(place), accepted) = (
                place,
                tokio::select! {
                    () = &mut stop => break,
                    accepted = listener.accept() => accepted,
                },
            ) else {
                break;
            };
            match accepted {
                Ok((stream, _)) => {
                    let (shared, stopping) = (shared.clone(), stopping.clone());
                    tokio::spawn(async move {
                        shared.connection(stream, stopping).await;
                        drop(place);
                    });
                }
                // Too many files are open, say: others are served meanwhile.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        drop(listener);
        shared.stop().await;
        stopping.cancel();
        // All places are free when all connections are closed. What was asked for is answered first, and then what waits for
        // something to happen is ended.
        let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
        if tokio::time::timeout(LAST_ANSWERS / 2, connections.acquire_many(all)).await.is_err() {
            shared.ending.cancel();
            let _ = tokio::time::timeout(LAST_ANSWERS / 2, connections.acquire_many(all)).await;
        }
        Ok(())
    }

    fn share(self, address: SocketAddr) -> Shared {
        let (ending, ends) = (CancellationToken::new(), Ends::default());
        let host = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let port = address.port();
        let mut config = StreamableHttpServerConfig::default();
        let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), host];
        config.allowed_origins = own.iter().map(|name| format!("http://{name}:{port}")).chain(self.origins).collect();
        config.allowed_hosts = own.into_iter().map(|name| format!("{name}:{port}")).chain(self.names).collect();
        // None of the two lists is empty, so that both are judged by.
        config = config.with_cancellation_token(ending.clone());
        let manner = Manner { config, ends };
        Shared { clients: self.clients, manner, stops: AtomicBool::new(false), ending }
    }
}

impl Shared {
    async fn connection(self: Arc<Self>, stream: TcpStream, stopping: CancellationToken) {
        // Short answers are not to wait for more.
        let _ = stream.set_nodelay(true);
        let shared = self.clone();
        let answer = service_fn(move |request| {
            let shared = shared.clone();
            async move { Ok::<_, Infallible>(shared.answer(request).await) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(64 << 10);
        let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), answer));
        // A client that breaks off has nobody who would want to know.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopping.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        self.judge(request).await.unwrap_or_else(|refused| *refused)
    }

    /// Finds out who asks, reads what, and has it answered.
    async fn judge(&self, request: Request<Incoming>) -> Result<Answer, Box<Answer>> {
        if request.uri().path() != PATH {
            return Err(refusal(StatusCode::NOT_FOUND, &format!("the protocol is spoken at {PATH}")));
        }
        if let Some(name) = doubled(&request) {
            return Err(refusal(StatusCode::BAD_REQUEST, &format!("the header {name} came twice")));
        }
        let audience = self.audience(&request).ok_or_else(unauthorised)?;
        let place = audience.requests.clone().try_acquire_owned();
        let place = place.map_err(|_| busy("this client has too many requests open; end some, or wait"))?;
        if request.method() == Method::DELETE {
            return Ok(audience.end(request).await);
        }
        if request.method() != Method::POST {
            return Ok(holding(audience.service.handle(request).await, place));
        }
        audience.judge_names(&request).await?;
        let encoding = request.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(refusal(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send the body as it is, without Content-Encoding",
            ));
        }
        let largest = audience.server.largest_message();
        let (mut parts, body) = request.into_parts();
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > largest) {
            return Err(too_large(largest));
        }
        let kib =
            u32::try_from(length.unwrap_or(largest) >> 10).unwrap_or(u32::MAX).saturating_add(1).min(MAX_BODIES as u32);
        let room = tokio::time::timeout(BODY_TIME, audience.bodies.acquire_many(kib)).await;
        let Ok(Ok(_room)) = room else {
            return Err(busy("this client sends too much at once"));
        };
        let body = match tokio::time::timeout(BODY_TIME, Limited::new(body, largest).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large(largest)),
            Ok(Err(error)) => {
                return Err(refusal(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")));
            }
            Err(_) => return Err(refusal(StatusCode::REQUEST_TIMEOUT, "the body took too long to come")),
        };
        let (body, arguments) = match take_arguments(&body) {
            Ok(Some((body, arguments))) => (body.into(), Some(arguments)),
            Ok(None) if body.len() > MAX_OTHER => return Err(too_large(MAX_OTHER)),
            Ok(None) => (body, None),
            Err(told) => return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, &told)),
        };
        if arguments.is_some() && self.stops.load(Ordering::Relaxed) {
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, "the server stops"));
        }
        if let Some(arguments) = arguments {
            parts.extensions.insert(arguments);
            parts.headers.insert(CONTENT_LENGTH, body.len().into());
        }
        let head = Head::of(&body)?;
        if head.method == Some("initialize") && audience.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            return Err(busy(
                "this client has too many sessions open; end some with DELETE, or wait until they run out",
            ));
        }
        let open = match (head.method.and(head.id), parts.headers.get("mcp-session-id")) {
            (Some(id), Some(session)) => Some(Open::begin(&audience.open, session.clone(), id.get())?),
            _ => None,
        };
        let answer = audience.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        Ok(holding(answer, (place, open)))
    }

    /// Whose token a request carries.
    fn audience(&self, request: &Request<Incoming>) -> Option<Arc<Audience>> {
        let sent = request.headers().get(AUTHORIZATION).and_then(|sent| sent.to_str().ok());
        let token = sent.and_then(|sent| sent.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        self.clients.find(token.map(|(_, token)| token.trim()), &self.manner)
    }

    /// Lets running calls end, gives up those that do not, and closes what waits.
    async fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
        let mut all_done = std::pin::pin!(self.clients.idle());
        if tokio::time::timeout(GRACE, &mut all_done).await.is_err() {
            self.manner.ends.over.cancel();
            let _ = tokio::time::timeout(LAST_ANSWERS, all_done).await;
        }
        self.manner.ends.closing.cancel();
    }
}

impl Audience {
    /// Judges by which name a request came, and from which page, before anything of its body is read. The library does so first,
    /// whatever the method.
    async fn judge_names<B>(&self, request: &Request<B>) -> Result<(), Box<Answer>> {
        let mut head = Request::new(Empty::<Bytes>::new());
        *head.method_mut() = Method::OPTIONS;
        head.uri_mut().clone_from(request.uri());
        head.headers_mut().clone_from(request.headers());
        let answer = self.service.handle(head).await;
        if answer.status() == StatusCode::METHOD_NOT_ALLOWED { Ok(()) } else { Err(Box::new(answer)) }
    }

    /// Ends a session. The protocol's library says of any that it was accepted, which clients take for a failure.
    async fn end(&self, request: Request<Incoming>) -> Answer {
        let session = request.headers().get("mcp-session-id").and_then(|session| session.to_str().ok());
        let is_known = match session {
            Some(session) => self.sessions.sessions.read().await.contains_key(session),
            None => false,
        };
        let mut answer = self.service.handle(request).await;
        if answer.status().is_success() {
            *answer.status_mut() = if is_known { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
        }
        answer
    }
}

/// What of a message decides before the protocol's library reads it.
#[derive(Deserialize)]
struct Head<'m> {
    #[serde(borrow, default)]
    method: Option<&'m str>,
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
}

impl<'m> Head<'m> {
    fn of(body: &'m [u8]) -> Result<Self, Box<Answer>> {
        let refuse = |error: ErrorData| {
            let message = ServerJsonRpcMessage::error(error, None);
            let mut answer = refusal(StatusCode::BAD_REQUEST, &serde_json::to_string(&message).unwrap_or_default());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        };
        // A sequence could be read as one, too.
        if body.trim_ascii_start().starts_with(b"[") {
            return Err(refuse(ErrorData::invalid_request("one message at a time", None)));
        }
        serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                refuse(ErrorData::invalid_request(format!("no message of this protocol: {error}"), None))
            }
            _ => refuse(ErrorData::parse_error(format!("no JSON: {error}"), None)),
        })
    }
}

/// A request that has no answer yet.
struct Open {
    all: Arc<Mutex<HashSet<(HeaderValue, String)>>>,
    this: (HeaderValue, String),
}

impl Open {
    fn begin(
        all: &Arc<Mutex<HashSet<(HeaderValue, String)>>>,
        session: HeaderValue,
        id: &str,
    ) -> Result<Self, Box<Answer>> {
        let this = (session, id.to_owned());
        if !all.lock().unwrap_or_else(PoisonError::into_inner).insert(this.clone()) {
            return Err(refusal(StatusCode::BAD_REQUEST, "the id is that of a request that has no answer yet"));
        }
        Ok(Open { all: all.clone(), this })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.this);
    }
}

/// An answer that holds something until all of it is sent, or nobody wants the rest.
fn holding(answer: Answer, held: impl Send + Sync + 'static) -> Answer {
    answer.map(|body| {
        body.map_frame(move |frame| {
            let _ = &held;
            frame
        })
        .boxed()
    })
}

fn busy(told: &str) -> Box<Answer> {
    let mut answer = refusal(StatusCode::TOO_MANY_REQUESTS, told);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    answer
}

/// A header that decides and came more than once. Which of two is meant another server may see otherwise.
fn doubled<B>(request: &Request<B>) -> Option<HeaderName> {
    let deciding = [HOST, ORIGIN, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH];
    deciding.into_iter().find(|name| request.headers().get_all(name).iter().nth(1).is_some())
}

/// A body that is a call without its arguments, and their text. The protocol's library would make a tree of them, which takes many
/// times their text for as long as the call runs.
fn take_arguments(body: &Bytes) -> Result<Option<(Vec<u8>, RawArguments)>, String> {
    #[derive(Deserialize)]
    struct Message<'m> {
        method: &'m str,
        #[serde(borrow)]
        params: Params<'m>,
    }
    #[derive(Deserialize)]
    struct Params<'m> {
        #[serde(borrow, default)]
        arguments: Option<&'m RawValue>,
        #[serde(borrow, rename = "_meta", default)]
        meta: Option<&'m RawValue>,
    }
    let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else { return Ok(None) };
    if message.method != "tools/call" {
        return Ok(None);
    }
    if message.params.meta.is_some_and(|meta| meta.get().len() > MAX_META) {
        return Err(format!("the request's _meta has more than {MAX_META} bytes"));
    }
    let Some(arguments) = message.params.arguments else { return Ok(Some((body.to_vec(), RawArguments("{}".into())))) };
    // It is a part of the body.
    let start = arguments.get().as_ptr().addr() - body.as_ptr().addr();
    let (before, after) = (body.get(..start), body.get(start + arguments.get().len()..));
    let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
    Ok(Some(([before, b"{}", after].concat(), RawArguments(arguments.get().into()))))
}

fn unauthorised() -> Box<Answer> {
    let mut answer = refusal(StatusCode::UNAUTHORIZED, "no client of this server has the token that was sent");
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn too_large(largest: usize) -> Box<Answer> {
    refusal(StatusCode::PAYLOAD_TOO_LARGE, &format!("at most {largest} bytes are read"))
}

fn refusal(status: StatusCode, reason: &str) -> Box<Answer> {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{reason}\n"))).boxed());
    *answer.status_mut() = status;
    Box::new(answer)
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("names", &self.names).field("origins", &self.origins).finish_non_exhaustive()
    }
}
