//! Bounds on the parts of a request that a guest prepares and may never send: wasmtime-wasi-http keeps them as long as they
//! are given.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::types::{
    HostOutgoingRequest as HostRequest, HostOutgoingResponse as HostResponse, Method,
};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use crate::sandbox::State;

/// The interface as wasmtime-wasi-http links it.
const TYPES: &str = "wasi:http/types@0.2.12";
/// The longest method, authority, and path with its query, in bytes: what most servers take.
const MAX_LENGTH: usize = 8 << 10;

/// How many more requests than it sends a guest may prepare. Behind each may be some hundred kilobytes.
const MAX_UNSENT: u64 = 64;

type Request = Resource<HostOutgoingRequest>;
type Set = wasmtime::Result<(Result<(), ()>,)>;

/// Takes the place of the functions that set them.
pub(crate) fn bound(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[constructor]outgoing-request",
        |mut store: StoreContextMut<'_, State>, (headers,): (Resource<FieldMap>,)| {
            store.data_mut().count_request(MAX_UNSENT)?;
            Ok((HostRequest::new(&mut store.data_mut().http(), headers)?,))
        },
    )?;
    types.func_wrap(
        "[constructor]outgoing-response",
        |mut store: StoreContextMut<'_, State>, (headers,): (Resource<FieldMap>,)| {
            store.data_mut().count_request(MAX_UNSENT)?;
            Ok((HostResponse::new(&mut store.data_mut().http(), headers)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, State>, (request, method): (Request, Method)| -> Set {
            let is_long = matches!(&method, Method::Other(name) if name.len() > MAX_LENGTH);
            if is_long { Ok((Err(()),)) } else { Ok((store.data_mut().http().set_method(request, method)?,)) }
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: StoreContextMut<'_, State>, (request, path): (Request, Option<String>)| -> Set {
            if is_long(&path) {
                Ok((Err(()),))
            } else {
                Ok((store.data_mut().http().set_path_with_query(request, path)?,))
            }
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, State>, (request, authority): (Request, Option<String>)| -> Set {
            if is_long(&authority) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )
}

fn is_long(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| text.len() > MAX_LENGTH)
}
