//! Attempts to reach the network, over the interfaces that a host could grant.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;
use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket};

use crate::{Outcome, Request};

pub fn connect(address: &str) -> Outcome {
    let Ok(std::net::SocketAddr::V4(address)) = address.parse() else {
        return Outcome::Refused(format!("{address:?} is no IPv4 address with a port"));
    };
    let octets = address.ip().octets();
    let remote = IpSocketAddress::Ipv4(Ipv4SocketAddress {
        port: address.port(),
        address: (octets[0], octets[1], octets[2], octets[3]),
    });
    let tried = tcp_create_socket::create_tcp_socket(IpAddressFamily::Ipv4).and_then(|socket| {
        socket.start_connect(&instance_network::instance_network(), remote)?;
        socket.subscribe().block();
        socket.finish_connect().map(|_| ())
    });
    match tried {
        Ok(()) => Outcome::Allowed("connected".to_owned()),
        Err(code) => Outcome::Refused(code.name().to_owned()),
    }
}

pub fn resolve(name: &str) -> Outcome {
    let network = instance_network::instance_network();
    let tried = ip_name_lookup::resolve_addresses(&network, name).and_then(|stream| {
        stream.subscribe().block();
        stream.resolve_next_address()
    });
    match tried {
        Ok(address) => Outcome::Allowed(format!("{address:?}")),
        Err(code) => Outcome::Refused(code.name().to_owned()),
    }
}

pub fn fetch(url: &str) -> Outcome {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Outcome::Refused(format!("{url:?} is no URL of HTTP"));
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    send(&Request {
        method: "GET".to_owned(),
        scheme: scheme.to_owned(),
        authority: authority.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: 0,
        trailers: Vec::new(),
        timeouts: None,
    })
}

pub fn send(request: &Request) -> Outcome {
    match attempt(request) {
        Ok(text) => Outcome::Allowed(text),
        Err(error) => Outcome::Refused(error),
    }
}

fn attempt(request: &Request) -> Result<String, String> {
    let invalid = |what: &'static str| move |_: ()| format!("invalid {what}");
    let outgoing = OutgoingRequest::new(fields(&request.headers)?);
    outgoing.set_method(&method(&request.method)).map_err(invalid("method"))?;
    outgoing.set_scheme(Some(&scheme(&request.scheme))).map_err(invalid("scheme"))?;
    outgoing.set_authority(Some(&request.authority)).map_err(invalid("authority"))?;
    outgoing.set_path_with_query(Some(&request.path)).map_err(invalid("path"))?;
    let body = outgoing.body().map_err(invalid("body"))?;
    let future = outgoing_handler::handle(outgoing, options(request)?).map_err(name)?;
    if request.body == 0 && request.trailers.is_empty() {
        drop(body);
    } else if let Err(error) = write(body, request) {
        // What the host says of the response says more.
        response(&future)?;
        return Err(error);
    }
    let response = response(&future)?;
    let mut text = format!("{}", response.status());
    for (name, value) in response.headers().entries() {
        text.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(&value)));
    }
    let body = response.consume().map_err(invalid("response"))?;
    let (start, total) = read(&body)?;
    text.push_str(&format!("\n\n{}", String::from_utf8_lossy(&start)));
    if total > start.len() as u64 {
        text.push_str(&format!(" and so on, {total} bytes"));
    }
    Ok(text)
}

fn fields(list: &[(String, String)]) -> Result<Fields, String> {
    let fields = Fields::new();
    for (name, value) in list {
        fields.append(name, value.as_bytes()).map_err(|error| format!("{name}: {error:?}"))?;
    }
    Ok(fields)
}

fn options(request: &Request) -> Result<Option<RequestOptions>, String> {
    let Some((connect, first_byte, between)) = request.timeouts else { return Ok(None) };
    let options = RequestOptions::new();
    let nanoseconds = |milliseconds: u64| Some(milliseconds.saturating_mul(1_000_000));
    let set = options
        .set_connect_timeout(nanoseconds(connect))
        .and_then(|()| options.set_first_byte_timeout(nanoseconds(first_byte)))
        .and_then(|()| options.set_between_bytes_timeout(nanoseconds(between)));
    set.map_err(|()| "invalid timeouts".to_owned())?;
    Ok(Some(options))
}

fn write(body: OutgoingBody, request: &Request) -> Result<(), String> {
    let stream = body.write().map_err(|()| "no stream".to_owned())?;
    let mut left = request.body;
    while left > 0 {
        let size = left.min(4096) as usize;
        stream.blocking_write_and_flush(&vec![b'x'; size]).map_err(|error| format!("body: {error:?}"))?;
        left -= size as u64;
    }
    drop(stream);
    let trailers = if request.trailers.is_empty() { None } else { Some(fields(&request.trailers)?) };
    OutgoingBody::finish(body, trailers).map_err(name)
}

fn response(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    match future.get() {
        Some(Ok(response)) => response.map_err(name),
        _ => Err("no response".to_owned()),
    }
}

/// The first bytes of a body, and how many there are.
fn read(body: &IncomingBody) -> Result<(Vec<u8>, u64), String> {
    const SHOWN: usize = 4096;
    let stream = body.stream().map_err(|()| "no stream".to_owned())?;
    let (mut start, mut total) = (Vec::new(), 0);
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(bytes) => {
                total += bytes.len() as u64;
                start.extend(bytes.iter().take(SHOWN.saturating_sub(start.len())));
            }
            Err(StreamError::Closed) => return Ok((start, total)),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(match http_error_code(&error) {
                    Some(code) => name(code),
                    None => error.to_debug_string(),
                });
            }
        }
    }
}

/// An error's name, without what comes with it.
fn name(code: ErrorCode) -> String {
    let text = format!("{code:?}");
    text.trim_start_matches("ErrorCode::").split(['(', ' ']).next().unwrap_or_default().to_owned()
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        _ => Method::Other(name.to_owned()),
    }
}

fn scheme(name: &str) -> Scheme {
    match name {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => Scheme::Other(name.to_owned()),
    }
}
