//! Requests of one client → what a server offers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::call::{self, Wanted};
use super::offer::Changes;
use super::{Ends, Server, resources};

/// What a client hears of a log before it says what it wants to hear.
const LOGGED: LoggingLevel = LoggingLevel::Info;

/// The methods that take parameters, and those of them that the newest revision has no more.
const METHODS: [&str; 5] = ["resources/list", "resources/read", "subscriptions/listen", "tools/call", "tools/list"];
const OLD_METHODS: [&str; 2] = ["initialize", "logging/setLevel"];

/// One client's connection, or one request where the revision knows no connections.
pub(super) struct Handler {
    server: Server,
    ends: Ends,
    /// The least that the client wants to hear of logs.
    logged: Mutex<LoggingLevel>,
    /// Whether it is told of changes.
    is_told: AtomicBool,
    /// Ends what was started for the client.
    ended: CancellationToken,
    _ends: DropGuard,
}

impl Handler {
    pub(super) fn new(server: &Server, ends: Ends) -> Self {
        let ended = CancellationToken::new();
        Handler {
            server: server.clone(),
            ends,
            logged: Mutex::new(LOGGED),
            is_told: AtomicBool::new(false),
            _ends: ended.clone().drop_guard(),
            ended,
        }
    }

    /// What the client wants to hear of a call: since 2026-07-28 each request says so itself.
    fn wanted(&self, context: &RequestContext<RoleServer>) -> Wanted {
        let log = match is_newest(context) {
            true => context.meta.log_level(),
            false => Some(*self.logged.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        Wanted { closing: self.ends.closing.clone(), progress: context.meta.get_progress_token(), log }
    }
}

/// Whether a request is of the revision that knows no connections.
fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

pub(super) fn stale_cursor() -> ErrorData {
    ErrorData::invalid_params("the cursor is of no list that there is now; list again without one", None)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_resources()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("witbox", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let offer = self.server.inner.offer.borrow().clone();
        let (tools, next) = offer.page(cursor.as_deref()).map_err(|_| stale_cursor())?;
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.server.inner.offer.borrow().clone();
        let wanted = self.wanted(&context);
        // Of all requests' futures the largest by far; apart, it makes none of the others as large.
        let running = Box::pin(call::run(&self.server.inner, &offer, request, &context, wanted, &self.ends.over));
        Ok(running.await?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let offer = self.server.inner.offer.borrow().clone();
        resources::list(&self.server.inner, &offer, cursor).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates(&self.server.inner.offer.borrow()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let offer = self.server.inner.offer.borrow().clone();
        Ok(resources::read(&self.server.inner, &offer, request.uri).await?.into())
    }

    /// A method that the library does not know, or one whose parameters it could not read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        let is_known =
            METHODS.contains(&method.as_str()) || (!is_newest(&context) && OLD_METHODS.contains(&method.as_str()));
        Err(match is_known {
            true => ErrorData::invalid_params(format!("the params of {method} are not what the protocol says"), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.logged.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    /// Tells a client of a connection when the list changes. Later revisions ask for that themselves.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client may say so as often as it likes.
        if self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = Changes::of(self.server.inner.offer.subscribe());
        let ended = self.ended.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = changes.next() => {}
                    () = ended.cancelled() => return,
                }
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = Changes::of(self.server.inner.offer.subscribe());
        loop {
            tokio::select! {
                () = changes.next() => {}
                () = context.cancelled() => return Ok(()),
                () = self.ends.closing.cancelled() => return Ok(()),
            }
            if context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }
}
