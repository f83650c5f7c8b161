//! The other side of requests: a server on 127.0.0.1 that behaves as the path says, and a resolver that is told what to say.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use witbox::Resolve;

/// A server, and what it was sent. It ends with the process.
pub struct Server {
    pub port: u16,
    /// The heads of the requests that came, each with its body and trailers.
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that speaks plainly.
    pub fn plain() -> Self {
        Server::start(|stream| Ok(Box::new(stream) as Box<dyn Stream>))
    }

    /// A server for a name, and the certificate that vouches for it, in PEM.
    pub fn encrypted(name: &str) -> (Self, String) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let server = Server::start(move |stream| {
            let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
            Ok(Box::new(StreamOwned::new(connection, stream)) as Box<dyn Stream>)
        });
        (server, made.cert.pem())
    }

    fn start(open: impl Fn(TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, open) = (requests.clone(), Arc::new(open));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, open) = (seen.clone(), open.clone());
                thread::spawn(move || open(stream).and_then(|stream| answer(stream, &seen)));
            }
        });
        Server { port, requests }
    }

    /// The requests that came so far.
    pub fn seen(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn answer(mut stream: Box<dyn Stream>, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    seen.lock().unwrap().push(request.clone());
    let path = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let authorization = header(&request, "authorization");
    let body = |body: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    match path.as_str() {
        "/echo" => stream.write_all(body(&request).as_bytes()),
        // A few bytes at a time, so that nothing is seen whole.
        "/echo-in-pieces" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            for piece in request.as_bytes().chunks(3) {
                stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
                stream.write_all(&[piece, b"\r\n"].concat())?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(1));
            }
            stream.write_all(format!("0\r\nx-echo: {authorization}\r\n\r\n").as_bytes())
        }
        "/echo-in-header" => stream.write_all(
            format!("HTTP/1.1 401 No\r\nwww-authenticate: {authorization}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
        ),
        "/gzip" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00")
        }
        "/identity-and-gzip" => stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
        ),
        "/gzip-in-transfer" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        }
        "/redirect" => stream.write_all(
            b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data/\r\ncontent-length: 0\r\n\r\n",
        ),
        "/drip" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?;
            loop {
                stream.write_all(b"x")?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        "/stall" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nx")?;
            stream.flush()?;
            thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        "/silent" => {
            thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        "/big" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n")?;
            (0..1_000).try_for_each(|_| stream.write_all(&[b'x'; 10_000]))
        }
        "/headers" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            (0..100_000)
                .try_for_each(|index| stream.write_all(format!("x-{index}: {}\r\n", "y".repeat(100)).as_bytes()))
        }
        _ => stream.write_all(body("hello").as_bytes()),
    }?;
    stream.flush()
}

/// A request's head, and its body as far as its framing says.
fn read_request(stream: &mut dyn Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let body = text.len() - end - 4;
            let is_whole = match header(&text, "transfer-encoding").as_str() {
                "chunked" => text.ends_with("0\r\n\r\n") || (text.contains("\r\n0\r\n") && text.ends_with("\r\n\r\n")),
                _ => body >= header(&text, "content-length").parse().unwrap_or(0),
            };
            if is_whole {
                return Ok(text);
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(text),
            read => bytes.extend(&buffer[..read]),
        }
    }
}

fn header(request: &str, name: &str) -> String {
    let found = request.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    });
    found.unwrap_or_default()
}

/// Answers from a list, and remembers what it was asked for.
#[derive(Debug, Default)]
pub struct Names {
    pub known: HashMap<String, Vec<IpAddr>>,
    pub asked: Mutex<Vec<String>>,
}

impl Names {
    /// Names and their addresses.
    pub fn of(known: &[(&str, &[&str])]) -> Arc<Self> {
        let address = |text: &&str| text.parse().unwrap();
        let known = known.iter().map(|(name, list)| ((*name).to_owned(), list.iter().map(address).collect()));
        Arc::new(Names { known: known.collect(), asked: Mutex::default() })
    }
}

#[async_trait::async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        self.known.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
