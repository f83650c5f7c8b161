//! Messages on lines, in both directions, with bounds on what waits in either.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use futures_util::FutureExt as _;
use futures_util::future::poll_immediate;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _,
    JsonRpcMessage, JsonRpcRequest, RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::call::RawArguments;

/// How many requests may be open at once, and how many bytes they may have together; no more is read until some are answered.
const MAX_OPEN: usize = 512;
const MAX_OPEN_BYTES: usize = 64 << 20;
/// The most bytes of a request's `_meta`, and of a message that is no call: both are read into trees.
pub(super) const MAX_META: usize = 64 << 10;
pub(super) const MAX_OTHER: usize = 1 << 20;
/// How many bytes may wait for a client to read them before no more requests are read.
const MAX_UNREAD: usize = 8 << 20;
/// How many messages are read before the first of them is taken.
const AHEAD: usize = 16;
/// How long the last writing may take once nothing more is read.
const LAST_WRITE: Duration = Duration::from_millis(200);
/// How much is asked for at once.
const READ: usize = 64 << 10;
/// How much of the start and the end of a message is kept that is too long, to find its id in.
const EDGE: usize = 512;

/// The transport between the protocol's library and two streams. The library asks for the next message again and again; a task
/// of its own reads, so that asking costs nothing.
pub(super) struct Lines<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Arc<Out<W>>,
}

/// What reads.
struct Reader<R, W> {
    input: R,
    read: BytesMut,
    /// How many bytes of what was read have no end of a line.
    searched: usize,
    server: Server,
    /// The start of a message that is too long and that is being passed over.
    passed_over: Option<PassedOver>,
    /// Whether there was a request. Whatever else comes before is of no conversation.
    has_begun: bool,
    out: Arc<Out<W>>,
}

/// What requests and replies share.
struct Out<W> {
    output: tokio::sync::Mutex<Option<W>>,
    /// The requests that have no answer yet, with their bytes.
    open: Mutex<HashMap<RequestId, usize>>,
    open_bytes: AtomicUsize,
    unread: AtomicUsize,
    /// Some waits no more.
    less: Notify,
    broken: AtomicBool,
}

#[derive(Default)]
struct PassedOver {
    start: Vec<u8>,
    end: Vec<u8>,
    bytes: usize,
}

/// A call as it stands in its message. Reading it so takes one pass, and keeps its arguments as they are.
#[derive(Deserialize)]
struct CallMessage<'m> {
    jsonrpc: &'m str,
    id: RequestId,
    method: &'m str,
    #[serde(borrow)]
    params: CallParams<'m>,
}

#[derive(Deserialize)]
struct CallParams<'m> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'m RawValue>,
    #[serde(borrow, rename = "_meta", default)]
    meta: Option<&'m RawValue>,
    /// What else a call may carry is for the library to read.
    #[serde(rename = "inputResponses", default)]
    input_responses: Option<IgnoredAny>,
    #[serde(rename = "requestState", default)]
    request_state: Option<IgnoredAny>,
}

/// The id of what may be no message.
#[derive(Deserialize)]
struct Identified {
    id: RequestId,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// A transport to a server, which says how long messages may be, until `stop`, which is cancelled at the end of the input too.
    pub(super) fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: W,
        server: Server,
        stop: CancellationToken,
    ) -> Self {
        let out = Arc::new(Out {
            output: tokio::sync::Mutex::new(Some(output)),
            open: Mutex::default(),
            open_bytes: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            less: Notify::new(),
            broken: AtomicBool::new(false),
        });
        let read = BytesMut::with_capacity(READ);
        let reader = Reader { input, read, searched: 0, server, passed_over: None, has_begun: false, out: out.clone() };
        let (send, messages) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            reader.run(send, &stop).await;
            stop.cancel();
        });
        Lines { messages, out }
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Reader<R, W> {
    /// Reads until the end, until it is to stop, or until nobody takes what is read or reads what is written.
    async fn run(mut self, to: mpsc::Sender<ClientJsonRpcMessage>, stop: &CancellationToken) {
        loop {
            let out = self.out.clone();
            let line = tokio::select! {
                () = stop.cancelled() => return,
                line = async {
                    out.has_room().await;
                    self.line().await
                } => line,
            };
            if out.broken.load(Ordering::Relaxed) {
                return;
            }
            let answer = match line {
                // What has no end is no message.
                Ok(None) | Err(_) => return,
                Ok(Some(Line::TooLong(over))) => self.too_long(over),
                Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some(Line::Whole(line))) => match self.message(&line).map(|message| self.judge(message, line.len()))
                {
                    Ok(Judged::Passed(message)) => match to.send(*message).await {
                        Ok(()) => continue,
                        Err(_) => return,
                    },
                    Ok(Judged::Ignored) => continue,
                    Ok(Judged::Refused(answer)) | Err(answer) => *answer,
                },
            };
            // What is written is written to its end, also where it is to stop meanwhile.
            let writing = tokio::spawn(out.send(&answer));
            tokio::select! {
                () = stop.cancelled() => return,
                written = writing => if !matches!(written, Ok(Ok(()))) { return },
            }
        }
    }

    /// Whether a message is passed on.
    fn judge(&mut self, message: ClientJsonRpcMessage, bytes: usize) -> Judged {
        match &message {
            JsonRpcMessage::Request(request) => {
                self.has_begun = true;
                if !self.out.begin(&request.id, bytes) {
                    let told = format!("the id {} is that of a request that has no answer yet", cut(&request.id));
                    let error = ErrorData::invalid_request(told, None);
                    return Judged::Refused(Box::new(ServerJsonRpcMessage::error(error, Some(request.id.clone()))));
                }
            }
            _ if !self.has_begun => return Judged::Ignored,
            // There is no answer to what is cancelled.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.out.end(id);
                }
            }
            _ => {}
        }
        Judged::Passed(Box::new(message))
    }

    /// The next line; nothing at the end. Whatever was read is kept where this is dropped.
    async fn line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let unsearched = self.read.get(self.searched..).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', unsearched) {
                let mut line = self.read.split_to(self.searched + end + 1);
                self.searched = 0;
                line.truncate(line.len() - 1);
                // What is short is copied, so that the buffer stays in one piece.
                if line.len() < READ {
                    line = BytesMut::from(line.as_ref());
                }
                return Ok(Some(match self.passed_over.take() {
                    Some(over) => Line::TooLong(over.and(&line)),
                    None if line.len() > self.server.largest_message() => {
                        Line::TooLong(PassedOver::default().and(&line))
                    }
                    None => Line::Whole(line),
                }));
            }
            self.searched = self.read.len();
            if self.read.len() > self.server.largest_message() || self.passed_over.is_some() {
                let over = self.passed_over.take().unwrap_or_default();
                self.passed_over = Some(over.and(&self.read));
                self.read.clear();
                self.searched = 0;
            }
            self.read.reserve(READ);
            if self.input.read_buf(&mut self.read).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// What a line is: a message, or what is to be answered to it.
    fn message(&self, line: &[u8]) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
        let refuse = |told: String| {
            let id = serde_json::from_slice::<Identified>(line).ok().map(|identified| identified.id);
            Box::new(ServerJsonRpcMessage::error(ErrorData::invalid_request(told, None), id))
        };
        match call(line) {
            Ok(Some(call)) => return Ok(call),
            Ok(None) if line.len() > MAX_OTHER => {
                return Err(refuse(format!("only calls may have more than {MAX_OTHER} bytes")));
            }
            Ok(None) => {}
            Err(told) => return Err(refuse(told)),
        }
        serde_json::from_slice(line).map_err(|error| {
            let id = serde_json::from_slice::<Identified>(line).ok().map(|identified| identified.id);
            Box::new(ServerJsonRpcMessage::error(
                match error.classify() {
                    serde_json::error::Category::Data => {
                        ErrorData::invalid_request(format!("no message of this protocol: {error}"), None)
                    }
                    _ => ErrorData::parse_error(format!("no JSON: {error}"), None),
                },
                id,
            ))
        })
    }

    fn too_long(&self, over: PassedOver) -> ServerJsonRpcMessage {
        let message =
            format!("the message has {} bytes, and at most {} are read", over.bytes, self.server.largest_message());
        ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), over.id())
    }
}

/// What becomes of a message.
enum Judged {
    Passed(Box<ClientJsonRpcMessage>),
    Ignored,
    Refused(Box<ServerJsonRpcMessage>),
}

/// An id as an error tells it.
fn cut(id: &RequestId) -> String {
    id.to_string().chars().take(64).collect()
}

enum Line {
    Whole(BytesMut),
    TooLong(PassedOver),
}

impl PassedOver {
    fn and(mut self, bytes: &[u8]) -> Self {
        let room = EDGE - self.start.len();
        self.start.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.end.extend_from_slice(bytes.get(bytes.len().saturating_sub(EDGE)..).unwrap_or_default());
        self.end.drain(..self.end.len().saturating_sub(EDGE));
        self.bytes += bytes.len();
        self
    }

    /// The id of the message: the first key but `jsonrpc`, as most clients write it, or the last. A quote within a text is
    /// escaped, so that neither can be made up in an argument.
    fn id(&self) -> Option<RequestId> {
        let start = std::str::from_utf8(&self.start).unwrap_or_default();
        let first = start.trim_start().strip_prefix('{')?.trim_start();
        let first = first.strip_prefix(r#""jsonrpc""#).map_or(first, |rest| {
            rest.trim_start_matches([' ', ':']).strip_prefix(r#""2.0""#).unwrap_or(rest).trim_start_matches([' ', ','])
        });
        let end = String::from_utf8_lossy(&self.end);
        let last = end.trim_end().strip_suffix('}').and_then(|end| end.rsplit_once(r#""id""#));
        let last = last.filter(|(before, _)| before.ends_with(['{', ',', ' '])).map(|(_, id)| id);
        let value = |text: &str| {
            let text = text.trim_start().strip_prefix(':')?;
            serde_json::Deserializer::from_str(text).into_iter::<RequestId>().next()?.ok()
        };
        let is_whole = |text: &str| !text.contains(['}', ']']);
        first.strip_prefix(r#""id""#).and_then(value).or_else(|| last.filter(|id| is_whole(id)).and_then(value))
    }
}

/// Reads a call, where a line is one.
fn call(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, String> {
    let Ok(message) = serde_json::from_slice::<CallMessage<'_>>(line) else { return Ok(None) };
    let CallParams { name, arguments, meta, input_responses, request_state } = message.params;
    let is_plain = input_responses.is_none() && request_state.is_none();
    if message.jsonrpc != "2.0" || message.method != "tools/call" || !is_plain {
        return Ok(None);
    }
    let mut call = CallToolRequest::new(CallToolRequestParams::new(name));
    call.extensions.insert(RawArguments(arguments.map_or("{}", RawValue::get).into()));
    let mut request = ClientRequest::CallToolRequest(call);
    if let Some(meta) = meta {
        *request.get_meta_mut() = read_meta(meta)?;
    }
    Ok(Some(JsonRpcMessage::Request(JsonRpcRequest::new(message.id, request))))
}

/// What a request says of itself, as a tree, which takes many times its text.
fn read_meta(meta: &RawValue) -> Result<RequestMetaObject, String> {
    let bytes = meta.get().len();
    if bytes > MAX_META {
        return Err(format!("the request's _meta has {bytes} bytes, and at most {MAX_META} are read"));
    }
    serde_json::from_str(meta.get()).map_err(|error| format!("the request's _meta: {error}"))
}

impl<W: AsyncWrite + Send + Unpin> Out<W> {
    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when there is room for another request.
    async fn has_room(&self) {
        loop {
            let less = self.less.notified();
            let is_full = self.open().len() >= MAX_OPEN
                || self.open_bytes.load(Ordering::Relaxed) >= MAX_OPEN_BYTES
                || self.unread.load(Ordering::Relaxed) >= MAX_UNREAD;
            if !is_full {
                return;
            }
            less.await;
        }
    }

    /// Notes a request as open, unless its id is that of an open one.
    fn begin(&self, id: &RequestId, bytes: usize) -> bool {
        let mut open = self.open();
        if open.contains_key(id) {
            return false;
        }
        open.insert(id.clone(), bytes);
        self.open_bytes.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    fn end(&self, id: &RequestId) {
        if let Some(bytes) = self.open().remove(id) {
            self.open_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.less.notify_one();
    }

    /// Writes a message. What can be written at once is, before this returns.
    fn send(self: &Arc<Self>, message: &ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + use<W>
    where
        W: 'static,
    {
        let line = serde_json::to_vec(message).map_err(io::Error::from).map(|mut line| {
            line.push(b'\n');
            line
        });
        let mut writing = line.map(|line| {
            self.unread.fetch_add(line.len(), Ordering::Relaxed);
            Box::pin(self.clone().write(line))
        });
        let written = match &mut writing {
            Ok(writing) => poll_immediate(writing).now_or_never().flatten(),
            Err(_) => None,
        };
        async move {
            match written {
                Some(written) => written,
                None => writing?.await,
            }
        }
    }

    async fn write(self: Arc<Self>, line: Vec<u8>) -> io::Result<()> {
        let mut output = self.output.lock().await;
        let written = match output.as_mut() {
            Some(output) => match output.write_all(&line).await {
                Ok(()) => output.flush().await,
                failed => failed,
            },
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        drop(output);
        self.unread.fetch_sub(line.len(), Ordering::Relaxed);
        if written.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        self.less.notify_one();
        written
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.out.end(id);
        }
        self.out.send(&message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        // A client that does not read keeps what is being written for good.
        let Ok(mut output) = tokio::time::timeout(LAST_WRITE, self.out.output.lock()).await else { return Ok(()) };
        match output.take() {
            Some(mut output) => tokio::time::timeout(LAST_WRITE, output.shutdown()).await.unwrap_or(Ok(())),
            None => Ok(()),
        }
    }
}
