//! Values that a tool may spend and not see.

use std::fmt;
use std::sync::Arc;

use super::origin::Origin;

/// The shortest secret, in characters: a shorter one would be found in texts by chance, and guessed.
const MIN_CHARS: usize = 8;
const MAX_NAME: usize = 32;
/// The longest, in bytes: what a header holds with most servers.
const MAX_BYTES: usize = 4_096;

/// A value that the host holds for a tool: it is added to requests for one origin, and every reply is kept from showing it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: Arc<str>,
    spent: Option<Spending>,
    exposed: bool,
}

/// Where a secret is added to requests, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spending {
    pub(crate) origin: Origin,
    pub(crate) header: http::HeaderName,
    pub(crate) format: String,
}

/// What keeps a secret from being one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret `{name}` {reason}")]
pub(crate) struct SecretError {
    name: String,
    reason: String,
}

impl Secret {
    /// A secret under a name, which shows up where its value would.
    ///
    /// # Errors
    /// When the name is empty, longer than 32 characters or not of lower-case letters, digits and `-`, or the value has fewer
    /// than 8 characters, more than 4,096 bytes, a space at an end, or others than a header can hold.
    pub fn new(name: &str, value: impl Into<Arc<str>>) -> Result<Self, crate::Error> {
        let value = value.into();
        let refuse = |reason: &str| SecretError { name: name.escape_debug().to_string(), reason: reason.to_owned() };
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-')) {
            return Err(refuse("must have a name of lower-case letters, digits and `-`, 32 at most").into());
        }
        if value.chars().count() < MIN_CHARS {
            return Err(refuse("has fewer than 8 characters, which could be guessed").into());
        }
        if value.len() > MAX_BYTES {
            return Err(refuse("has more than 4,096 bytes").into());
        }
        if value.starts_with(' ') || value.ends_with(' ') {
            return Err(refuse("begins or ends with a space, which servers take away").into());
        }
        if !value.chars().all(|c| matches!(c, ' '..='~')) {
            return Err(refuse("holds line breaks or other characters that no header can hold").into());
        }
        Ok(Secret { name: name.to_owned(), value, spent: None, exposed: false })
    }

    /// Has the host add it to each request for an origin: as a header whose value is `format` with the secret for `{}`.
    ///
    /// # Errors
    /// When the origin has a `*.` or a path, the header has no valid name or is the host's own, or the format has not one
    /// `{}`.
    pub fn spent_at(self, origin: Origin, header: &str, format: &str) -> Result<Self, crate::Error> {
        let refuse = |reason: String| SecretError { name: self.name.clone(), reason };
        if !origin.is_plain() {
            let reason = format!("must be for one origin, without `*.` and path, not for {origin}");
            return Err(refuse(reason).into());
        }
        let name: http::HeaderName =
            header.parse().map_err(|_| refuse(format!("cannot be sent as `{header}`, which is no header's name")))?;
        let own = [
            "host",
            "content-length",
            "transfer-encoding",
            "connection",
            "te",
            "trailer",
            "upgrade",
            "accept-encoding",
        ];
        if own.contains(&name.as_str()) {
            return Err(refuse(format!("cannot be sent as `{header}`, which frames the request")).into());
        }
        if format.matches("{}").count() != 1 || !format.chars().all(|c| matches!(c, ' '..='~')) {
            return Err(refuse("must have a format with one `{}`, such as \"Bearer {}\"".to_owned()).into());
        }
        Ok(Secret { spent: Some(Spending { origin, header: name, format: format.to_owned() }), ..self })
    }

    /// Hands it to the guest itself, as an environment variable: the name in capitals, with `_` for `-`. From then on the
    /// guest may do with it whatever else is granted.
    #[must_use]
    pub fn exposed(self) -> Self {
        Secret { exposed: true, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    pub(crate) fn spending(&self) -> Option<&Spending> {
        self.spent.as_ref()
    }

    /// The variable that hands it to the guest, where it does.
    pub(crate) fn variable(&self) -> Option<(String, &str)> {
        self.exposed.then(|| (self.name.to_ascii_uppercase().replace('-', "_"), &*self.value))
    }
}

impl Spending {
    /// The header's value.
    pub(crate) fn header_value(&self, secret: &str) -> Option<http::HeaderValue> {
        let mut value = http::HeaderValue::from_str(&self.format.replacen("{}", secret, 1)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).field("spent", &self.spent).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_and_does_not_show() {
        let origin = || Origin::parse("https://api.example").unwrap();
        let secret = Secret::new("api-key", "s3cret-value").unwrap();
        assert!(!format!("{secret:?}").contains("s3cret"));
        for value in ["", "1234567", " 12345678", "12345678 ", "line\nbreak-1", "nul\0-value"] {
            assert!(Secret::new("api-key", value).is_err(), "{value:?}");
        }
        assert!(Secret::new("Api", "s3cret-value").is_err());
        for (origin, header, format) in [
            (Origin::parse("https://*.example").unwrap(), "authorization", "{}"),
            (Origin::parse("https://api.example/v1").unwrap(), "authorization", "{}"),
            (origin(), "host", "{}"),
            (origin(), "no header", "{}"),
            (origin(), "authorization", "Bearer"),
            (origin(), "authorization", "{} {}"),
        ] {
            assert!(secret.clone().spent_at(origin, header, format).is_err(), "{header} {format}");
        }
        let spent = secret.spent_at(origin(), "Authorization", "Bearer {}").unwrap();
        let value = spent.spending().unwrap().header_value(spent.value()).unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer s3cret-value");
        assert!(!format!("{value:?}").contains("s3cret"));
    }
}
