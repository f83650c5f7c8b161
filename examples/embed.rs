//! An agent's turn inside of a program: tools out of components, schemas for the model, calls from its message, replies
//! back to it.
//!
//! `cargo run --example embed`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;
use std::time::Duration;

use witbox::{Call, Component, Engine, Grant, Host, Limits, Message, Mount, Status};

/// What a model could answer, in Anthropic's shape: it asks for three calls at once.
const MESSAGE: &str = r#"{
  "role": "assistant",
  "content": [
    {"type": "text", "text": "Let me look."},
    {"type": "tool_use", "id": "toolu_1", "name": "files_ls", "input": {"path": "/src"}},
    {"type": "tool_use", "id": "toolu_2", "name": "files_write", "input": {"path": "/src/lib.rs", "content": ""}},
    {"type": "tool_use", "id": "toolu_3", "name": "triage_classify",
     "input": {"dtc_codes": ["P0420"], "telemetry_flags": ["airbag-deployed"], "recall_ids": []}}
  ]
}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One engine for the process; a component is compiled once.
    let engine = Engine::new()?;
    let files = Component::builtin(&engine, "files")?;
    let triage = Component::builtin(&engine, "triage")?;

    // Each toolset has a grant of its own. What is not named is not granted.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let may_read = Grant::default().mount(Mount::read_only(sources, "/src".parse()?));
    let may_compute =
        Grant::default().limits(Limits { timeout: Duration::from_secs(1), memory: 16 << 20, ..Limits::default() });
    let mut builder = Host::builder(&engine);
    builder.toolset("files", &files, may_read)?;
    builder.toolset("triage", &triage, may_compute)?;
    let host = builder.build();

    // What the model is told.
    for tool in host.registry().tools() {
        println!("{}: {}", tool.name(), tool.description());
    }

    // What it asks for: every call gets its reply, side by side and in order.
    let message = Message::parse(MESSAGE)?;
    let replies = host.call_all(message.calls().to_vec()).await;
    println!("\nback to the model:\n{}", message.answer(&replies));

    // What the operator sees beside it.
    for reply in &replies {
        println!("{} {}: {} fuel in {:?}", reply.id, reply.status, reply.usage.fuel, reply.usage.wall);
    }
    assert_eq!(replies[0].status, Status::Ok);
    assert_eq!(replies[1].status, Status::ToolError, "the mount is read-only");
    assert_eq!(replies[2].status, Status::Ok);

    // A single call, without any provider's message around it.
    let reply = host.call(Call::new("1", "triage_classify", r#"{"dtc_codes": "P0420"}"#)).await;
    assert_eq!(reply.status, Status::Invalid);
    println!("\n{}", reply.text());
    Ok(())
}
