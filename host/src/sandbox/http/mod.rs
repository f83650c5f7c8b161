//! The network's guard: which requests leave, to which addresses, and with what.
//!
//! `wasi:http` is the only network that a guest has. Nothing is looked up before a rule matches, the connection goes to the
//! address that was judged, and redirects are the guest's to follow, as new requests.

mod body;
mod dial;
mod explain;
mod fake;
mod long;

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, HOST, TE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::clock::Clock;
use super::denials::Denials;
use super::run::Exhausted;
use crate::policy::{Grant, HttpRule, Limits, NOT_GRANTED, NOT_NEEDED, Secret, Target, allowing};
use crate::redact::Redactor;
use crate::reply::Denial;
use body::{Received, Sent};
pub use dial::Resolve;
pub(crate) use dial::SystemResolver;
use dial::{Dialer, Reach};
pub use explain::explain_request;
pub use fake::Fake;
pub(crate) use long::bound;

/// The most that a guest hands over at once of a body that it sends, in bytes. It may prepare hundreds and send none.
const MAX_CHUNK: usize = 16 << 10;
/// The most bytes of the headers that a guest makes at once. It may hold as many as it has handles.
pub(super) const MAX_FIELDS: usize = 8 << 10;
/// The most bytes and fields of a response's headers.
const MAX_HEADER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 256;

/// What a toolset may send, as the guard asks for it.
#[derive(Debug)]
pub(crate) struct Network {
    rules: Vec<HttpRule>,
    secrets: Vec<Secret>,
    redactor: Arc<Redactor>,
    /// Whether the component says to need it; nothing where it does not say.
    needed: Option<bool>,
    peers: Peers,
}

/// Who answers requests.
#[derive(Debug)]
enum Peers {
    Servers(Dialer),
    Fakes(Vec<Fake>),
}

/// The secrets that a request carries, and what finds them in its response.
#[derive(Debug)]
struct Carried {
    secrets: Vec<Secret>,
    redactor: Arc<Redactor>,
}

impl Network {
    /// # Errors
    /// When a certificate that a rule trusts is none.
    pub(crate) fn of(grant: &Grant, resolver: Arc<dyn Resolve>) -> Result<Self, String> {
        // Where nothing may be sent nobody is asked, and what asks takes time to make.
        let peers = match grant.http_rules() {
            [] => Peers::Fakes(Vec::new()),
            rules => Peers::Servers(Dialer::new(rules, resolver)?),
        };
        Network::with(grant, peers)
    }

    /// The same where nothing leaves, and only fakes answer.
    pub(crate) fn faked(grant: &Grant, fakes: &[Fake]) -> Result<Self, String> {
        Network::with(grant, Peers::Fakes(fakes.to_vec()))
    }

    fn with(grant: &Grant, peers: Peers) -> Result<Self, String> {
        let (rules, secrets) = (grant.http_rules().to_vec(), grant.secrets().to_vec());
        let redactor = Arc::new(Redactor::of(&secrets)?);
        Ok(Network { rules, secrets, redactor, needed: grant.needs_network(), peers })
    }

    /// What a request to a target carries. What comes back is kept from showing any secret: a server may be known by more
    /// than one name.
    fn carried(&self, target: &Target) -> Carried {
        let is_spent = |secret: &&Secret| secret.spending().is_some_and(|spending| spending.origin.matches(target));
        let secrets = self.secrets.iter().filter(is_spent).cloned().collect();
        Carried { secrets, redactor: self.redactor.clone() }
    }
}

/// What is left of a call's allowance.
#[derive(Debug)]
struct Allowance {
    requests: AtomicU64,
    upload: AtomicU64,
    download: AtomicU64,
}

/// Takes from what is left; nothing is taken where there is not enough.
fn take(left: &AtomicU64, amount: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}

/// The requests of one call.
pub(super) struct Requests {
    network: Arc<Network>,
    limits: Limits,
    left: Arc<Allowance>,
    clock: Clock,
    denials: Denials,
    /// How many the guest has prepared, and how many of them were to be sent.
    made: u64,
    sent: u64,
}

impl Requests {
    /// Counts one that the guest prepares.
    ///
    /// # Errors
    /// When so many were not sent.
    pub(super) fn count(&mut self, unsent: u64) -> Result<(), Exhausted> {
        self.made += 1;
        if self.made - self.sent.min(self.made) > unsent { Err(Exhausted::Objects) } else { Ok(()) }
    }

    pub(super) fn new(network: Arc<Network>, limits: &Limits, clock: Clock, denials: Denials) -> Self {
        let left = Allowance {
            requests: limits.requests.into(),
            upload: limits.upload.into(),
            download: limits.download.into(),
        };
        Requests { network, limits: limits.clone(), left: Arc::new(left), clock, denials, made: 0, sent: 0 }
    }

    /// Judges a request by everything that can be known without the network.
    fn admit<B>(&self, request: &Request<B>) -> Result<Exchange, Refused> {
        let uri = request.uri();
        let given = |target: &str| target.chars().take(200).collect::<String>();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let scheme = uri.scheme_str().unwrap_or("https");
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        let target = Target::parse(scheme, authority, path)
            .map_err(|reason| Refused::new(given(&format!("{scheme}://{authority}{path}")), reason))?;
        let shown = target.shown();
        let method = request.method().as_str();
        let refuse = |reason: String| Refused::new(format!("{method} {shown}"), &reason);
        let rules = allowing(&self.network.rules, method, &target).map_err(|reason| match self.network.needed {
            Some(true) => refuse(format!("{reason}; {NOT_GRANTED}")),
            _ => refuse(reason.to_string()),
        })?;
        if self.network.needed == Some(false) {
            return Err(refuse(NOT_NEEDED.to_owned()));
        }
        let carried = self.network.carried(&target);
        if let Some(name) = carried.reserved(request.headers()) {
            return Err(Refused::new(shown, &format!("the header `{name}` carries a secret there: the host sets it")));
        }
        if !take(&self.left.requests, 1) {
            return Err(Refused::new(shown, &format!("requests of its limits is {}", self.limits.requests)));
        }
        Ok(Exchange {
            may_be_private: rules.iter().any(|(_, rule)| rule.private),
            network: self.network.clone(),
            carried: Arc::new(carried),
            left: self.left.clone(),
            limits: self.limits.clone(),
            denials: self.denials.clone(),
            shown,
            target,
        })
    }
}

impl Carried {
    /// The name of a header among these that only the host may set.
    fn reserved(&self, headers: &HeaderMap) -> Option<&str> {
        let mut names = self.secrets.iter().filter_map(|secret| Some(secret.spending()?.header.as_str()));
        // Gateways make one name of `x-key` and `x_key`.
        names.find(|name| headers.keys().any(|given| given.as_str().replace('_', "-") == name.replace('_', "-")))
    }
}

/// Why a request did not leave.
struct Refused {
    target: String,
    rule: String,
}

impl Refused {
    fn new(target: String, rule: &str) -> Self {
        Refused { target, rule: rule.to_owned() }
    }
}

impl From<Refused> for Denial {
    fn from(refused: Refused) -> Self {
        Denial::new("http", refused.target, &refused.rule)
    }
}

/// A request that may leave, and its response.
struct Exchange {
    network: Arc<Network>,
    target: Target,
    /// The target as the operator reads it.
    shown: String,
    may_be_private: bool,
    carried: Arc<Carried>,
    left: Arc<Allowance>,
    limits: Limits,
    denials: Denials,
}

/// How long a guest waits for what.
#[derive(Debug, Clone, Copy)]
struct Waits {
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl Waits {
    /// What the guest asked for, within the time that its call has left.
    fn within(options: Option<RequestOptions>, left: Duration) -> Self {
        let options = options.unwrap_or_default();
        let clamp = |asked: Option<Duration>| asked.map_or(left, |asked| asked.min(left));
        Waits {
            connect: clamp(options.connect_timeout),
            first_byte: clamp(options.first_byte_timeout),
            between_bytes: clamp(options.between_bytes_timeout),
        }
    }
}

type Processed = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Result<(Response<WasiBody>, Processed), Error>;

impl WasiHttpHooks for Requests {
    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        1
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_CHUNK
    }

    /// What stopped a request's body is within hyper's own error.
    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        match error.source().and_then(|source| source.downcast_ref::<Error>()) {
            Some(Error::HttpRequestBodySize(size)) => ErrorCode::HttpRequestBodySize(*size),
            Some(Error::HttpRequestDenied) => ErrorCode::HttpRequestDenied,
            _ => ErrorCode::HttpProtocolError,
        }
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Processed,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        self.sent += 1;
        match self.admit(&request) {
            Ok(exchange) => {
                let waits = Waits::within(options, self.clock.left());
                Box::new(exchange.run(request, waits))
            }
            Err(refused) => {
                self.denials.push(refused.into());
                Box::new(async { Err(Error::HttpRequestDenied) })
            }
        }
    }
}

impl Exchange {
    async fn run(self, request: Request<WasiBody>, waits: Waits) -> Answer {
        let method = request.method().as_str().to_owned();
        let request = self.dress(request)?;
        let (response, processed) = match &self.network.peers {
            Peers::Servers(dialer) => self.send(dialer, request, waits).await?,
            Peers::Fakes(fakes) => self.fake(fakes, &method, request).await?,
        };
        let (mut parts, body) = response.into_parts();
        self.undress(&mut parts.headers)?;
        let body = Received::new(body, self.carried.clone(), self.left.clone(), waits.between_bytes, self.over());
        Ok((Response::from_parts(parts, body.boxed_unsync()), processed))
    }

    async fn send(&self, dialer: &Dialer, request: Request<WasiBody>, waits: Waits) -> Answer {
        let connecting = async {
            let reach = Reach { private: self.may_be_private, public: !self.is_bare() };
            let stream = dialer.dial(&self.target, reach).await.map_err(|error| {
                if let Some(reason) = error.refusal() {
                    self.denials.push(Denial::new("http", self.shown.clone(), &reason));
                }
                Error::from(error)
            })?;
            let mut builder = http1::Builder::new();
            builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
            Ok::<_, Error>(builder.handshake(TokioIo::new(stream)).await?)
        };
        let connected = tokio::time::timeout(waits.connect, connecting).await;
        let (mut sender, connection) = connected.map_err(|_| Error::ConnectionTimeout)??;
        // Stops with this future, and after it with the one that is returned.
        let connection = wasmtime_wasi::runtime::spawn(async move { connection.await.map_err(Error::from) });
        let answered = tokio::time::timeout(waits.first_byte, sender.send_request(request)).await;
        let response = answered.map_err(|_| Error::HttpResponseTimeout)??;
        let processed: Processed = Box::new(async move {
            // A request may only be sent as long as its sender is there.
            let _sender = sender;
            connection.await
        });
        Ok((response.map(|body| body.map_err(Error::from).boxed_unsync()), processed))
    }

    async fn fake(&self, fakes: &[Fake], method: &str, request: Request<WasiBody>) -> Answer {
        let Some(fake) = fakes.iter().find(|fake| fake.answers(method, &self.target)) else {
            let target = format!("{method} {}", self.shown);
            self.denials.push(Denial::new("http", target, "no fake answers it"));
            return Err(Error::DestinationNotFound);
        };
        // A server reads what it is sent. A body without an end is one to it.
        match request.into_body().collect().await {
            Ok(_) | Err(Error::HttpProtocolError) => {}
            Err(error) => return Err(error),
        }
        Ok((fake.response(), Box::new(async { Ok(()) })))
    }

    /// The request as it goes out: to the target as it was judged, and with the secrets of its origin.
    fn dress(&self, request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
        let (mut parts, body) = request.into_parts();
        let url = &self.target.url;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        parts.uri = path.parse::<Uri>().map_err(|_| Error::HttpRequestUriInvalid)?;
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        parts.headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| Error::HttpRequestUriInvalid)?);
        // One request for each connection: what a server takes for a second one was never judged.
        parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        for secret in &self.carried.secrets {
            let Some(spending) = secret.spending() else { continue };
            let value = spending.header_value(secret.value()).ok_or(Error::ConfigurationError)?;
            parts.headers.insert(spending.header.clone(), value);
            // What is compressed cannot be looked through.
            parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            parts.headers.remove(TE);
            parts.headers.remove("a-im");
        }
        let body = Sent::new(body, self.carried.clone(), self.left.clone(), self.over());
        Ok(Request::from_parts(parts, body.boxed_unsync()))
    }

    /// Takes the secrets out of a response's headers.
    fn undress(&self, headers: &mut HeaderMap) -> Result<(), Error> {
        let is = |value: &HeaderValue, coding: &str| value.as_bytes().eq_ignore_ascii_case(coding.as_bytes());
        let is_plain = headers.get_all(CONTENT_ENCODING).iter().all(|value| is(value, "identity"))
            && headers.get_all(TRANSFER_ENCODING).iter().all(|value| is(value, "chunked"));
        if !self.carried.secrets.is_empty() && !is_plain {
            let rule = "its response is compressed, so that it cannot be kept from showing a secret";
            self.denials.push(Denial::new("http", self.shown.clone(), rule));
            return Err(Error::HttpResponseContentCoding(None));
        }
        mask_headers(&self.carried.redactor, headers);
        Ok(())
    }

    /// Whether a secret goes out unencrypted, so that it must not leave for the internet.
    fn is_bare(&self) -> bool {
        !self.carried.secrets.is_empty() && self.target.url.scheme() != "https"
    }

    /// What tells that an allowance is used up.
    fn over(&self) -> Over {
        Over { denials: self.denials.clone(), target: self.shown.clone(), limits: self.limits.clone() }
    }
}

fn mask_headers(redactor: &Redactor, headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        let mut bytes = value.as_bytes().to_vec();
        redactor.mask(&mut bytes);
        if let Ok(masked) = HeaderValue::from_bytes(&bytes) {
            *value = masked;
        }
    }
}

/// Tells that an allowance is used up.
struct Over {
    denials: Denials,
    target: String,
    limits: Limits,
}

impl Over {
    fn upload(&self) -> Error {
        self.tell(format!("upload of its limits is {} bytes", self.limits.upload));
        Error::HttpRequestBodySize(Some(self.limits.upload))
    }

    fn download(&self) -> Error {
        self.tell(format!("download of its limits is {} bytes", self.limits.download));
        Error::HttpResponseBodySize(Some(self.limits.download))
    }

    fn trailer(&self, name: &str) -> Error {
        self.tell(format!("the trailer `{name}` carries a secret there: the host sets it"));
        Error::HttpRequestDenied
    }

    fn tell(&self, rule: String) {
        self.denials.push(Denial::new("http", self.target.clone(), &rule));
    }
}
