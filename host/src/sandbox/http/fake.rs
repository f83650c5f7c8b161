//! Answers in place of servers, for tests of tools.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use wasmtime_wasi_http::WasiBody;

use crate::policy::Target;

/// What a request is answered with, where no server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fake {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl Fake {
    /// Answers requests with a method to a URL, whatever their query, with status 200 and a body.
    pub fn new(method: &str, url: &str, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        let url = Target::of_url(url).map_or_else(|_| url.to_owned(), |target| target.shown());
        Fake { method: method.to_owned(), url, status: StatusCode::OK, headers: Vec::new(), body: body.into() }
    }

    /// Answers with another status; one that is none stays 200.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        Fake { status: StatusCode::from_u16(status).unwrap_or(self.status), ..self }
    }

    /// Answers with a header too; one that is none is left out.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let (Ok(name), Ok(value)) = (name.parse(), value.parse()) {
            self.headers.push((name, value));
        }
        self
    }

    pub(super) fn answers(&self, method: &str, target: &Target) -> bool {
        self.method == method && self.url == target.shown()
    }

    pub(super) fn response(&self) -> Response<WasiBody> {
        let body = Full::new(self.body.clone()).map_err(|never| match never {});
        let mut response = Response::new(body.boxed_unsync());
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers.iter().cloned());
        response
    }
}
