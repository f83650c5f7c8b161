//! witbox runs tools for language models. A tool is a WebAssembly component described by WIT; witbox reads the WIT,
//! tells the model what it may call, runs each call in a sandbox that holds only what was granted, and gives exactly
//! one reply to every call.
//!
//! ```
//! use witbox::{Component, Engine, Grant, Host, Message, Mount};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), witbox::Error> {
//! let engine = Engine::new()?;
//! let files = Component::builtin(&engine, "files")?;
//! let grant = Grant::default().mount(Mount::read_only("src", "/src".parse()?));
//! let mut host = Host::builder(&engine);
//! host.toolset("files", &files, grant)?;
//! let host = host.build();
//!
//! let message = Message::parse(
//!     r#"{"role": "assistant", "content": [
//!         {"type": "tool_use", "id": "a", "name": "files_read", "input": {"path": "/src/lib.rs", "limit": 1}},
//!         {"type": "tool_use", "id": "b", "name": "files_read", "input": {"path": "/etc/passwd"}}
//!     ]}"#,
//! )?;
//! let replies = host.call_all(message.calls().to_vec()).await;
//! assert!(replies[0].text().contains("witbox runs tools for language models"));
//! assert_eq!(replies[1].status, witbox::Status::ToolError);
//! println!("{}", message.answer(&replies)); // the tool messages, in Anthropic's shape
//! # Ok(())
//! # }
//! ```

mod author;
mod call;
mod component;
mod config;
mod engine;
mod error;
mod exposure;
mod host;
pub mod mcp;
mod own;
mod policy;
mod provider;
mod redact;
mod reply;
mod sandbox;
mod testing;
mod text;
mod tool;
mod workspace;

pub use author::{Packed, pack};
pub use call::{Call, Status, Usage};
pub use component::{
    Cache, Cached, Compile, Compiled, Component, Hints, InProcess, LOADER_THREAD, Metadata, Needs, NoTool,
};
pub use config::{
    ClientPlan, Diagnostic, Plan, SecretPlan, SecretSource, Source, ToolsetPlan, Wall, parse_bytes, parse_duration,
    parse_fuel,
};
pub use engine::{Capacity, Engine, EngineBuilder, Placement};
pub use error::Error;
pub use exposure::{CallLimits, Exposure, MountExposure, Quota};
pub use host::{Host, HostBuilder};
pub use policy::{
    Effect, FsRule, Grant, GuestPath, HttpRule, Limits, Mode, Mount, Operation, Origin, PathPattern, Secret,
};
pub use provider::{Dialect, Finding, Format, MAX_MESSAGE_BYTES, Message, Severity, lint};
pub use reply::{Block, Denial, Document, Evicted, FourBytes, Reply, ReplyError, ResultLimits, Tokenizer, tokenizer};
pub use sandbox::{
    Answer, Ask, Explanation, Fake, LogEntry, LogLevel, Observe, Progress, Question, Resolve, explain, explain_request,
};
pub use testing::{CaseFile, CaseReport, LoadedCases, Trust};
pub use text::is_hidden;
pub use tool::{Export, Registry, Tool, toolset_name};
pub use workspace::{Agreement, Retention, Session, StoredResult, Workspace};
