//! One `tools/call`: the call, what is told while it runs, and its result.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam, MetaObject,
    ProgressNotificationParam, ProgressToken, Resource, ResourceContents,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Inner, Offer, search};
use crate::call::{Call, Status};
use crate::mcp::view::{self, Content, Held, Link, Structured};
use crate::reply::{self, Reply};
use crate::sandbox::{LogEntry, LogLevel, Observe, Progress};

/// How often a client hears of progress at most, and the most messages of a log that wait for it.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);
const MAX_WAITING: usize = 100;

const STOPPED: &str = "the call was stopped: the server stops";

/// The text of a call's arguments as the client wrote it. The protocol's library reads arguments into a tree, which loses keys that
/// come twice.
#[derive(Clone)]
pub(super) struct RawArguments(pub(super) Arc<str>);

/// What a client wants to hear of a call.
pub(super) struct Wanted {
    /// When nothing but answers is written to it any more.
    pub(super) closing: CancellationToken,
    pub(super) progress: Option<ProgressToken>,
    /// The least that it wants to hear of a log.
    pub(super) log: Option<LoggingLevel>,
}

/// Runs the call that a request asks for.
pub(super) async fn run(
    server: &Inner,
    offer: &Offer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    wanted: Wanted,
    over: &CancellationToken,
) -> Result<CallToolResult, ErrorData> {
    let arguments = match arguments_of(context) {
        Some(raw) => raw.0.to_string(),
        None => request.arguments.map_or_else(|| "{}".to_owned(), |map| serde_json::Value::Object(map).to_string()),
    };
    let host = offer.host();
    let (tool, arguments, is_found) = match (offer.search(), request.name.as_ref()) {
        (Some(search), search::FIND) => return Ok(search.find(host.registry(), &arguments)),
        (Some(_), search::CALL) => match search::wanted(&arguments) {
            Ok((tool, arguments)) => (tool.into(), arguments, true),
            Err(fault) => return Ok(*fault),
        },
        _ => (request.name, arguments, false),
    };
    let call = Call::new(context.id.to_string(), tool, arguments);
    let _running = server.begin();
    let told = (wanted.progress.is_some() || wanted.log.is_some()).then(|| Told::new(wanted, call.tool.clone()));
    let running = async {
        match &told {
            None => host.call(call.clone()).await,
            Some(told) => {
                let running = host.call_observed(call.clone(), told.clone());
                told.pass_on_during(running, &context.peer).await
            }
        }
    };
    let reply = tokio::select! {
        biased;
        reply = running => reply,
        // The client no longer waits for a result, so that there is none.
        () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        () = over.cancelled() => reply::failure(&call, Status::Cancelled, "cancelled", STOPPED.to_owned(), None),
    };
    server.told(&call, &reply);
    // The tool that calls others is known, whatever it is to call.
    if reply.status == Status::UnknownTool && !is_found {
        return Err(ErrorData::invalid_params(reply.text(), None));
    }
    Ok(result(server, offer, &reply))
}

fn arguments_of(context: &RequestContext<RoleServer>) -> Option<&RawArguments> {
    let over_http = || context.extensions.get::<http::request::Parts>()?.extensions.get();
    context.extensions.get().or_else(over_http)
}

/// A reply in the types of the protocol's library.
fn result(server: &Inner, offer: &Offer, reply: &Reply) -> CallToolResult {
    let tool = offer.host().registry().get(&reply.tool);
    let viewed = view::CallToolResult::of(tool.map(AsRef::as_ref), reply);
    let mut content: Vec<ContentBlock> = viewed.content.into_iter().map(block).collect();
    if server.links {
        content.extend(viewed.meta.iter().flat_map(|meta| &meta.evicted).cloned().map(link));
    }
    let mut result = if viewed.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    if let Some(serde_json::Value::Object(meta)) = viewed.meta.and_then(|meta| serde_json::to_value(meta).ok()) {
        result.meta = Some(MetaObject(meta));
    }
    result.structured_content = viewed.structured_content.and_then(|structured| match structured {
        Structured::Object(value) => serde_json::from_str(value.get()).ok(),
        Structured::Wrapped { result } => Some(json!({"result": result})),
        evicted @ Structured::Evicted { .. } => serde_json::to_value(evicted).ok(),
    });
    result
}

fn block(content: Content<'_>) -> ContentBlock {
    match content {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource { resource } => {
            let contents = match resource.held {
                Held::Text(text) => ResourceContents::text(text, resource.uri),
                Held::Blob(blob) => ResourceContents::blob(blob, resource.uri),
            };
            ContentBlock::resource(contents.with_mime_type(resource.mime_type))
        }
    }
}

fn link(link: Link<'_>) -> ContentBlock {
    let resource = Resource::new(link.uri, link.name).with_mime_type(link.mime_type).with_size(link.size);
    ContentBlock::resource_link(resource)
}

/// What a call's tool said and its client has not heard yet.
struct Told {
    wanted: Wanted,
    tool: String,
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    progress: Option<Progress>,
    log: VecDeque<LogEntry>,
    /// Messages of the log for which there was no room.
    dropped: u64,
}

impl Told {
    fn new(wanted: Wanted, tool: String) -> Arc<Self> {
        Arc::new(Told { wanted, tool, waiting: Mutex::default(), more: Notify::new() })
    }

    /// Passes on what is said until a call has its reply, and what was said last before that.
    async fn pass_on_during(&self, running: impl Future<Output = Reply>, peer: &Peer<RoleServer>) -> Reply {
        let mut running = pin!(running);
        let mut next = Instant::now();
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut running => break reply,
                () = self.due(next) => next = Instant::now() + PROGRESS_EVERY,
            }
            // What is on its way arrives before the reply does.
            match select(running.as_mut(), pin!(self.send(peer))).await {
                Either::Left((reply, sending)) => {
                    sending.await;
                    break reply;
                }
                Either::Right(((), _)) => {}
            }
        };
        self.send(peer).await;
        reply
    }

    async fn due(&self, next: Instant) {
        self.more.notified().await;
        tokio::time::sleep_until(next).await;
    }

    /// Sends what waits. A client that does not read holds up its own call, and one that is gone wants nothing.
    async fn send(&self, peer: &Peer<RoleServer>) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::select! {
            biased;
            () = self.wanted.closing.cancelled() => {}
            () = self.send_all(waiting, peer) => {}
        }
    }

    async fn send_all(&self, waiting: Waiting, peer: &Peer<RoleServer>) {
        for entry in waiting.log {
            let _ = peer.notify_logging_message(self.message(entry)).await;
        }
        if waiting.dropped > 0 {
            let message = format!("{} messages came too fast and are left out", waiting.dropped);
            let _ = peer.notify_logging_message(self.message(LogEntry { level: LogLevel::Warning, message })).await;
        }
        if let (Some(progress), Some(token)) = (waiting.progress, &self.wanted.progress) {
            let mut told = ProgressNotificationParam::new(token.clone(), progress.done);
            told.total = progress.total;
            told.message = progress.message;
            let _ = peer.notify_progress(told).await;
        }
    }

    fn message(&self, entry: LogEntry) -> LoggingMessageNotificationParam {
        LoggingMessageNotificationParam::new(level(entry.level), entry.message.into()).with_logger(&self.tool)
    }

    fn note(&self, note: impl FnOnce(&mut Waiting)) {
        note(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.more.notify_one();
    }
}

impl Observe for Told {
    fn progress(&self, progress: Progress) {
        if self.wanted.progress.is_some() {
            self.note(|waiting| waiting.progress = Some(progress));
        }
    }

    fn log(&self, entry: LogEntry) {
        if self.wanted.log.is_some_and(|least| severity(level(entry.level)) >= severity(least)) {
            self.note(|waiting| match waiting.log.len() < MAX_WAITING {
                true => waiting.log.push_back(entry),
                false => waiting.dropped += 1,
            });
        }
    }
}

fn level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
    }
}

/// The place of a level among those of RFC 5424, the gravest last.
fn severity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
