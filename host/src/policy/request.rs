//! Requests: what the operator lets a guest ask of an origin, and what of a request is compared with that.

use std::fmt;
use std::path::{Path, PathBuf};

use url::{Host, Url};

use super::origin::Origin;

/// The longest URL that is sent, in bytes. Servers take 8,000 at most (RFC 9110, 4.1, recommends to take as many).
const MAX_URL: usize = 8_000;

/// What the operator lets a guest ask of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    pub(crate) origin: Origin,
    /// Nothing for all but CONNECT and TRACE.
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) private: bool,
    /// A file in PEM.
    pub(crate) authorities: Option<PathBuf>,
}

impl HttpRule {
    /// Any request to an origin, but CONNECT and TRACE, as long as its host has a public address.
    pub fn new(origin: Origin) -> Self {
        HttpRule { origin, methods: None, private: false, authorities: None }
    }

    /// Only requests with some methods, in capitals.
    #[must_use]
    pub fn methods(self, methods: &[&str]) -> Self {
        HttpRule { methods: Some(methods.iter().map(|method| (*method).to_owned()).collect()), ..self }
    }

    /// Its host may have an address in a private network, or be this machine. Link-local addresses, among them those where
    /// clouds hand out credentials, are never reached.
    #[must_use]
    pub fn private(self) -> Self {
        HttpRule { private: true, ..self }
    }

    /// The file whose certificates vouch for its host too, where there is one.
    pub fn authorities(&self) -> Option<&Path> {
        self.authorities.as_deref()
    }

    /// The certificates in a PEM file vouch for its host too, beside Mozilla's list of authorities.
    #[must_use]
    pub fn trusting(self, authorities: impl Into<PathBuf>) -> Self {
        HttpRule { authorities: Some(authorities.into()), ..self }
    }

    /// Whether it grants only what changes nothing where servers keep to HTTP (RFC 9110, 9.2.1).
    pub(crate) fn only_reads(&self) -> bool {
        let is_safe = |method: &String| matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
        self.methods.as_ref().is_some_and(|methods| methods.iter().all(is_safe))
    }

    /// The origin.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        match &self.methods {
            Some(methods) => write!(f, " ({})", methods.join(", ")),
            None => Ok(()),
        }
    }
}

/// Where a request goes: its URL as it is sent, which is what rules are compared with.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) url: Url,
}

impl Target {
    /// Reads what a guest gave as scheme, authority, and path and query.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn parse(scheme: &str, authority: &str, path: &str) -> Result<Self, &'static str> {
        if scheme.len() + authority.len() + path.len() > MAX_URL {
            return Err("its URL has more than 8,000 bytes");
        }
        if authority.is_empty() || authority.contains(['/', '?', '#', '\\', '@']) {
            return Err("its authority is no host, or holds a user's name or a path");
        }
        if !(path.is_empty() || path.starts_with(['/', '?'])) || path.contains('#') {
            return Err("its path does not start with a slash, or holds a fragment");
        }
        let url = Url::parse(&format!("{scheme}://{authority}{path}")).map_err(|_| "its authority is no host")?;
        let is_whole = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !is_whole {
            return Err("it is no request to a host over http or https");
        }
        Ok(Target { url })
    }

    /// The same of a whole URL.
    pub(crate) fn of_url(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("it has no scheme; expected https:// or http://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Target::parse(&scheme.to_ascii_lowercase(), &rest[..end], &rest[end..])
    }

    /// The host as it is looked up, or its address.
    pub(crate) fn host(&self) -> Host<String> {
        self.url.host().map_or_else(|| Host::Domain(String::new()), |host| host.to_owned())
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// The URL without its query, which may hold what is nobody's business.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.into()
    }
}

/// Why a request is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Ungranted {
    #[error("{0} is never granted")]
    Never(String),
    #[error("no network is granted")]
    NoNetwork,
    #[error("no http rule matched; add its origin to http")]
    NoOrigin,
    #[error("http rule {0} does not grant its path")]
    Path(String),
    #[error("http rule {0} does not grant its method")]
    Method(String),
}

/// The rules that let a request go to its target.
///
/// # Errors
/// Why there is none.
pub(crate) fn allowing<'r>(
    rules: &'r [HttpRule],
    method: &str,
    target: &Target,
) -> Result<Vec<(usize, &'r HttpRule)>, Ungranted> {
    if method.eq_ignore_ascii_case("CONNECT") || method.eq_ignore_ascii_case("TRACE") {
        return Err(Ungranted::Never(method.to_ascii_uppercase()));
    }
    if rules.is_empty() {
        return Err(Ungranted::NoNetwork);
    }
    let numbered = || (1..).zip(rules);
    let matching: Vec<(usize, &HttpRule)> = numbered().filter(|(_, rule)| rule.origin.matches(target)).collect();
    let has_method = |(_, rule): &(usize, &HttpRule)| match &rule.methods {
        Some(methods) => methods.iter().any(|known| known == method),
        None => true,
    };
    let allowing: Vec<(usize, &HttpRule)> = matching.iter().copied().filter(has_method).collect();
    if !allowing.is_empty() {
        return Ok(allowing);
    }
    let told = |(number, rule): (usize, &HttpRule)| format!("{number}: {rule}");
    Err(match (matching.first(), numbered().find(|(_, rule)| rule.origin.has_host(&target.url))) {
        (Some(rule), _) => Ungranted::Method(told(*rule)),
        (None, Some(rule)) => Ungranted::Path(told(rule)),
        (None, None) => Ungranted::NoOrigin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(origins: &[&str]) -> Vec<HttpRule> {
        origins.iter().map(|text| HttpRule::new(Origin::parse(text).unwrap())).collect()
    }

    fn may(origins: &[&str], url: &str) -> bool {
        Target::of_url(url).is_ok_and(|target| allowing(&rules(origins), "GET", &target).is_ok())
    }

    #[test]
    fn origins_hold_what_they_say() {
        for (origin, yes, no) in [
            (
                "https://allowed.example",
                vec!["https://allowed.example", "https://allowed.example:443/a?b", "https://ALLOWED.example/"],
                vec![
                    "http://allowed.example/",
                    "http://allowed.example:443/",
                    "https://allowed.example:8443/",
                    "https://allowed.example./",
                    "https://allowed.example.evil.example/",
                    "https://evil.example/allowed.example",
                    "https://sub.allowed.example/",
                    "https://.allowed.example/",
                    "https://notallowed.example/",
                    "https://allowed.example@evil.example/",
                    "https://evil.example\\@allowed.example/",
                    "https://user@allowed.example/",
                    "ftp://allowed.example/",
                    "https:///",
                ],
            ),
            (
                "https://*.allowed.example",
                vec!["https://a.allowed.example/", "https://a.b.allowed.example/"],
                vec![
                    "https://allowed.example/",
                    "https://.allowed.example/",
                    "https://xallowed.example/",
                    "https://a.allowed.example./",
                    "https://a.allowed.example.evil.example/",
                ],
            ),
            (
                "https://api.example/v1",
                vec![
                    "https://api.example/v1",
                    "https://api.example/v1/",
                    "https://api.example/v1/x?y=/../..",
                    "https://api.example/admin/../v1/x",
                    "https://api.example/v1/a;b=c",
                    "https://api.example/v1/K%C3%B6ln%20S%C3%BCd",
                ],
                vec![
                    "https://api.example/",
                    "https://api.example/v10",
                    "https://api.example//v1",
                    "https://api.example/v1/../admin",
                    "https://api.example/v1/%2e%2e/admin",
                    "https://api.example/v1/.%2E/admin",
                    "https://api.example/v1\\..\\admin",
                    "https://api.example/v1/..;/admin",
                    "https://api.example/v1/..%2fadmin",
                    "https://api.example/v1/%252e%252e/admin",
                    "https://api.example/v1/%5c..%5cadmin",
                    "https://api.example/v1/%c0%ae%c0%ae/admin",
                    "https://api.example/v1/%u002e%u002e/admin",
                    "https://api.example/v1/.%09./admin",
                ],
            ),
            (
                "http://127.0.0.1:8080",
                vec!["http://127.0.0.1:8080/", "http://127.1:8080/", "http://0x7f.1:8080", "http://2130706433:8080"],
                vec!["http://127.0.0.1/", "http://127.0.0.2:8080", "http://[::ffff:7f00:1]:8080/"],
            ),
            ("http://[::1]:80", vec!["http://[::1]/", "http://[0:0:0:0:0:0:0:1]/"], vec!["http://[::]/"]),
        ] {
            for url in yes {
                assert!(may(&[origin], url), "{origin} {url}");
            }
            for url in no {
                assert!(!may(&[origin], url), "{origin} {url}");
            }
        }
    }

    #[test]
    fn methods_are_what_the_rule_names() {
        let rules = [HttpRule::new(Origin::parse("https://a.example").unwrap()).methods(&["GET"])];
        let target = Target::of_url("https://a.example/").unwrap();
        assert!(allowing(&rules, "GET", &target).is_ok());
        for method in ["POST", "get", "CONNECT", "TRACE", "connect", "Trace"] {
            assert!(allowing(&rules, method, &target).is_err(), "{method}");
        }
    }

    #[test]
    fn a_target_is_a_host_and_a_path() {
        for (authority, path) in [
            ("", "/"),
            ("a.example/x", "/"),
            ("a.example", "http://evil/"),
            ("a.example", "evil"),
            ("a.example", "@evil.example/"),
            ("a.example", "/#x"),
            ("a b", "/"),
            ("a.example:99999", "/"),
        ] {
            assert!(Target::parse("https", authority, path).is_err(), "{authority:?} {path:?}");
        }
        assert!(Target::parse("https", "a.example", &format!("/{}", "x".repeat(8_000))).is_err());
    }
}
