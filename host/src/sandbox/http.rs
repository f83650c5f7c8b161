//! The network's guard: no request leaves.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::reply::Denial;

/// The most denials that a reply lists; a guest may try for ever.
const MAX_DENIALS: usize = 100;

/// What the grant refused, as the guest tried it.
#[derive(Debug, Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Vec<Denial>>>);

impl Denials {
    pub(super) fn push(&self, denial: Denial) {
        let mut denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < MAX_DENIALS && !denials.contains(&denial) {
            denials.push(denial);
        }
    }

    pub(super) fn take(&self) -> Vec<Denial> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Refuses every request and notes it.
pub(super) struct NoRequests {
    pub(super) denials: Denials,
}

type Response = Result<(::http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for NoRequests {
    fn send_request(
        &mut self,
        request: ::http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Response> + Send> {
        let uri = request.uri();
        let origin = format!(
            "{}://{}",
            uri.scheme_str().unwrap_or("https"),
            uri.authority().map_or("", |authority| authority.as_str()),
        );
        self.denials.push(Denial::new("http", origin, "no network is granted"));
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}
