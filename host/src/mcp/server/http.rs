//! A server over HTTP.

/// Serves over HTTP.
#[derive(Debug)]
pub struct Http;
