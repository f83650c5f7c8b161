//! Attempts to reach the network, over the interfaces that a host could grant.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket};

use crate::Outcome;

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
    let (scheme, rest) = match url.split_once("://") {
        Some(("http", rest)) => (Scheme::Http, rest),
        Some(("https", rest)) => (Scheme::Https, rest),
        _ => return Outcome::Refused(format!("{url:?} is no URL of HTTP")),
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    let request = OutgoingRequest::new(Fields::new());
    let set = request
        .set_scheme(Some(&scheme))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(path)));
    if set.is_err() {
        return Outcome::Refused(format!("{url:?} is no URL of HTTP"));
    }
    let tried = outgoing_handler::handle(request, None).and_then(|future| {
        future.subscribe().block();
        match future.get() {
            Some(Ok(response)) => response.map(|response| response.status()),
            _ => Ok(0),
        }
    });
    match tried {
        Ok(status) => Outcome::Allowed(format!("status {status}")),
        Err(code) => Outcome::Refused(format!("{code:?}")),
    }
}
