//! Origins: where a guest may send requests.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

use super::address::is_public;
use super::request::Target;
use crate::error::Error;

/// What requests may be sent to: a scheme, a host, a port and, where it is said, what the path must start with.
///
/// `https://api.example` is its every path on port 443. `https://*.example.org:8443` are all subdomains of a domain, but
/// not the domain itself. `https://api.example/v1` is `/v1` and all that is below it, but not `/v10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: Scheme,
    host: HostPattern,
    port: u16,
    /// The names that the path must start with.
    path: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exactly(Host),
    SubdomainsOf(String),
}

/// A text that is no origin.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no origin: {reason}")]
pub(crate) struct OriginError {
    text: String,
    reason: String,
}

impl Origin {
    /// The port that requests to it go to.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn parse(text: &str) -> Result<Self, OriginError> {
        let refuse = |reason: &str| OriginError { text: text.chars().take(200).collect(), reason: reason.to_owned() };
        let (scheme, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (Scheme::Https, rest),
            (_, Some(rest)) => (Scheme::Http, rest),
            _ => return Err(refuse("it must start with `https://` or `http://`, as in `https://api.example`")),
        };
        let (subdomains, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let url = Url::parse(&format!("{scheme}://{rest}")).map_err(|error| refuse(&error.to_string()))?;
        let unlike = "it must be a scheme, a host, a port if need be, and a path if need be, each as it is sent";
        if rest.contains(['@', '?', '#', '\\']) || rest.chars().any(char::is_whitespace) {
            return Err(refuse(unlike));
        }
        let given = rest.find('/').map_or("", |at| &rest[at..]).trim_end_matches('/');
        if url.path().trim_end_matches('/') != given {
            return Err(refuse(unlike));
        }
        let path: Vec<String> = given.split('/').skip(1).map(str::to_owned).collect();
        if path.iter().any(|name| name.is_empty() || is_ambiguous(name)) {
            return Err(refuse("its path must be plain: no `//`, `;`, encoded slashes or dots"));
        }
        let host = match (url.host().map(|host| host.to_owned()), subdomains) {
            (Some(Host::Domain(domain)), _) if domain.contains('*') => {
                return Err(refuse("`*.` stands for subdomains, at the start of the host only"));
            }
            (Some(Host::Domain(domain)), _) if domain.ends_with('.') => {
                return Err(refuse("a dot at the end of a host makes another host of it; leave it out"));
            }
            (Some(Host::Domain(domain)), true) => HostPattern::SubdomainsOf(domain),
            (Some(_), true) => return Err(refuse("an address has no subdomains")),
            (Some(host), false) => HostPattern::Exactly(host),
            (None, _) => return Err(refuse("it has no host")),
        };
        let port = url.port_or_known_default().ok_or_else(|| refuse("it has no port"))?;
        Ok(Origin { scheme, host, port, path })
    }

    /// Whether it is one host's, with every path.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.host, HostPattern::Exactly(_)) && self.path.is_empty()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// The address that it names, where that is not a public one.
    pub(crate) fn private_address(&self) -> Option<IpAddr> {
        let address = match &self.host {
            HostPattern::Exactly(Host::Ipv4(address)) => IpAddr::V4(*address),
            HostPattern::Exactly(Host::Ipv6(address)) => IpAddr::V6(*address),
            _ => return None,
        };
        Some(address).filter(|address| !is_public(*address))
    }

    /// Whether a request for another origin's host and port goes to this one's.
    pub(crate) fn includes(&self, other: &Origin) -> bool {
        let host = match (&self.host, &other.host) {
            (HostPattern::SubdomainsOf(domain), HostPattern::Exactly(Host::Domain(host))) => is_below(host, domain),
            (own, host) => own == host,
        };
        host && self.scheme == other.scheme && self.port == other.port
    }

    /// Whether a URL has its scheme, host and port.
    pub(super) fn has_host(&self, url: &Url) -> bool {
        let host = match (&self.host, url.host()) {
            (HostPattern::Exactly(own), Some(host)) => *own == host.to_owned(),
            (HostPattern::SubdomainsOf(domain), Some(Host::Domain(host))) => is_below(host, domain),
            _ => false,
        };
        host && url.scheme() == self.scheme.as_str() && url.port_or_known_default() == Some(self.port)
    }

    /// Whether a path is one of its own. Where servers read paths in more than one way, it is not.
    fn has_path(&self, url: &Url) -> bool {
        let names: Vec<&str> = url.path_segments().into_iter().flatten().collect();
        self.path.is_empty()
            || (names.len() >= self.path.len()
                && self.path.iter().zip(&names).all(|(own, name)| own == name)
                && !names.iter().any(|name| is_ambiguous(name)))
    }

    /// Whether a request goes to it.
    pub(crate) fn matches(&self, target: &Target) -> bool {
        self.has_host(&target.url) && self.has_path(&target.url)
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).and_then(|sub| sub.strip_suffix('.')).is_some_and(|sub| !sub.is_empty())
}

/// Whether a server could read a segment of a path as several, or as one that leads up: for an encoded slash or dot, once or
/// more often, for what is no UTF-8 or no encoding, or for parameters after a semicolon.
fn is_ambiguous(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let start = lower.split(';').next().unwrap_or_default();
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(&lower).collect();
    let is_odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'/' | b'\\' | b'%');
    ["%2e", "%3b"].iter().any(|code| lower.contains(code))
        || decoded.iter().any(is_odd)
        || std::str::from_utf8(&decoded).is_err()
        || (lower.contains(';') && matches!(start, "" | "." | ".."))
}

impl Scheme {
    fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        match &self.host {
            HostPattern::Exactly(host) => write!(f, "{host}")?,
            HostPattern::SubdomainsOf(domain) => write!(f, "*.{domain}")?,
        }
        if self.port != if self.is_encrypted() { 443 } else { 80 } {
            write!(f, ":{}", self.port)?;
        }
        self.path.iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

impl FromStr for Origin {
    type Err = Error;

    /// # Errors
    /// An error that [`is_syntax`](crate::Error::is_syntax) when the text is no origin, and why.
    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(Origin::parse(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "",
            "example.org",
            "ftp://example.org",
            "HTTPS://example.org",
            "https://",
            "https://*",
            "https://*.",
            "https://*.127.0.0.1",
            "https://a.*.example",
            "https://a*.example",
            "https://user@example.org",
            "https://example.org?x",
            "https://example.org/#x",
            "https://example.org.",
            "https://example.org/a/../b",
            "https://example.org/a//b",
            "https://example.org/%2e%2e/a",
            "https://example.org/a%2fb",
            "https://example .org",
            "https://example.org:99999",
        ] {
            assert!(Origin::parse(text).is_err(), "{text:?}");
        }
        for text in ["https://example.org", "http://*.a.example:8080", "https://a.example/v1/x", "http://[::1]:8080"] {
            assert_eq!(Origin::parse(text).unwrap().to_string(), text);
        }
    }
}
