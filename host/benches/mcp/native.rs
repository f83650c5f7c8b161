//! The same echo without a sandbox, by the protocol's own library.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::{ErrorData, ServerHandler};
use serde_json::json;
use tokio::net::unix::pipe;

/// What this program is told to be.
pub(crate) const PIPES: &str = "--native-pipes";
pub(crate) const STDIO: &str = "--native-stdio";

struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let schema = schema.as_object().cloned().unwrap();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Says what it hears.", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.and_then(|arguments| Some(arguments.get("text")?.as_str()?.to_owned()));
        let text = text.ok_or_else(|| ErrorData::invalid_params("text is missing", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// As the library's own examples do.
pub(crate) fn over_stdio() {
    runtime().block_on(async {
        Echo.serve(rmcp::transport::stdio()).await.unwrap().waiting().await.unwrap();
    });
}

/// Without a thread that reads for it.
pub(crate) fn over_pipes() {
    runtime().block_on(async {
        let input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").unwrap();
        let output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1").unwrap();
        Echo.serve((input, output)).await.unwrap().waiting().await.unwrap();
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
