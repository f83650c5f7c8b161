//! From a target to a connection: its name is looked up once, each address is judged, and the one that was judged is used.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Host;
use wasmtime_wasi_http::Error;

use crate::policy::{HttpRule, Origin, Target, is_never, is_public};

/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Finds the addresses of a host's name, in place of the system.
#[async_trait]
pub trait Resolve: fmt::Debug + Send + Sync {
    /// The addresses of a name, in the order in which they are tried.
    ///
    /// # Errors
    /// When there is none, or whoever knows does not answer.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// A connection, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to targets.
pub(super) struct Dialer {
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
    /// Origins with authorities of their own.
    trusting: Vec<(Origin, TlsConnector)>,
}

/// Which addresses a host may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub(super) private: bool,
    pub(super) public: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    Lookup,
    /// Every address of the host is one that is not reached.
    Addresses(Vec<IpAddr>),
    Connect(io::Error),
    Tls(io::Error),
    Name,
}

impl DialError {
    /// What the operator reads, where it was the grant that refused.
    pub(super) fn refusal(&self) -> Option<String> {
        let DialError::Addresses(addresses) = self else { return None };
        let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let list = list.join(", ");
        Some(match addresses.iter().any(|address| !is_never(*address)) {
            true if addresses.iter().any(|address| is_public(*address)) => {
                format!("a secret is not sent unencrypted to a public address ({list})")
            }
            true => format!("its host has no public address ({list}); grant it with private = true"),
            false => format!("its host has only addresses that are never reached ({list})"),
        })
    }
}

impl From<DialError> for Error {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Lookup => Error::DnsError { rcode: Some("address not available".to_owned()), info_code: None },
            DialError::Addresses(_) => Error::DestinationIpProhibited,
            DialError::Connect(error) if error.kind() == io::ErrorKind::TimedOut => Error::ConnectionTimeout,
            DialError::Connect(error) => Error::Connect(error),
            DialError::Tls(error) if is_certificate(&error) => Error::TlsCertificateError,
            DialError::Tls(error) => Error::Tls(error),
            DialError::Name => Error::HttpRequestUriInvalid,
        }
    }
}

fn is_certificate(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

impl Dialer {
    /// A dialer for these rules.
    ///
    /// # Errors
    /// When a certificate that a rule trusts is none.
    pub(super) fn new(rules: &[HttpRule], resolver: Arc<dyn Resolve>) -> Result<Self, String> {
        let mut trusting = Vec::new();
        for rule in rules {
            let Some(file) = &rule.authorities else { continue };
            let refuse = |error: String| format!("http rule {rule}: {}: {error}", file.display());
            let tls = authorities(file).and_then(connector).map_err(refuse)?;
            trusting.push((rule.origin.clone(), tls));
        }
        Ok(Dialer { resolver, tls: connector(Vec::new())?, trusting })
    }

    /// Connects to a target.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn dial(&self, target: &Target, reach: Reach) -> Result<Box<dyn Stream>, DialError> {
        let host = target.host();
        let found = match &host {
            Host::Domain(name) => self.resolver.resolve(name).await.map_err(|_| DialError::Lookup)?,
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        };
        if found.is_empty() {
            return Err(DialError::Lookup);
        }
        let may_reach = |address: &IpAddr| {
            let is_granted = if is_public(*address) { reach.public } else { reach.private };
            !is_never(*address) && is_granted
        };
        let reached: Vec<IpAddr> = found.iter().copied().filter(may_reach).take(MAX_ADDRESSES).collect();
        if reached.is_empty() {
            return Err(DialError::Addresses(found));
        }
        let stream = connect(&reached, target.port()).await.map_err(DialError::Connect)?;
        if target.url.scheme() != "https" {
            return Ok(Box::new(stream));
        }
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name).map_err(|_| DialError::Name)?,
            Host::Ipv4(address) => ServerName::from(IpAddr::V4(address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::V6(address)),
        };
        let trusting = self.trusting.iter().find(|(origin, _)| origin.matches(target));
        let tls = trusting.map_or(&self.tls, |(_, tls)| tls);
        Ok(Box::new(tls.connect(name, stream).await.map_err(DialError::Tls)?))
    }
}

/// The certificates of a PEM file.
fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if found.is_empty() => Err("it holds no certificate".to_owned()),
        found => found.map_err(|error| error.to_string()),
    }
}

/// Trusts Mozilla's list of authorities, and some more.
fn connector(authorities: Vec<CertificateDer<'static>>) -> Result<TlsConnector, String> {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    for authority in authorities {
        store.add(authority).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Connects to the first address that answers. Each has a while before the next is tried too (RFC 8305, 5).
async fn connect(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    const HEAD_START: std::time::Duration = std::time::Duration::from_millis(250);
    let attempts = addresses.iter().enumerate().map(|(index, address)| {
        Box::pin(async move {
            tokio::time::sleep(HEAD_START * u32::try_from(index).unwrap_or(u32::MAX)).await;
            TcpStream::connect(SocketAddr::new(*address, port)).await
        })
    });
    let (stream, _) = futures_util::future::select_ok(attempts).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("resolver", &self.resolver).finish_non_exhaustive()
    }
}
