//! Every provider's assistant message, and the tool messages that answer it.
//!
//! `providers/<case>.json` holds an assistant message, `providers/<case>.answer.json` what answers it after all of its
//! calls ran. `BLESS=1` writes the answers; a person reads the difference.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{ENGINE, host, tests};
use witbox::{Call, Component, Grant, Message};

fn message_files() -> Vec<String> {
    let folder = fs::read_dir(tests().join("providers")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.ends_with(".answer.json")).collect();
    names.sort();
    assert!(names.len() > 10);
    names
}

#[tokio::test]
async fn messages_are_answered_in_their_providers_shape() {
    let component = Component::builtin(&ENGINE, "probe").unwrap();
    let host = host("probe", &component, Grant::default());
    let mut wrong = Vec::new();
    for name in message_files() {
        let file = tests().join("providers").join(&name);
        let message = Message::parse(&fs::read_to_string(&file).unwrap()).unwrap();
        let format = name.split('.').next().unwrap();
        assert!(message.format().to_string() == format, "{name} is read as {}", message.format());
        let replies = host.call_all(message.calls().to_vec()).await;
        assert_eq!(replies.len(), message.calls().len(), "{name}");
        let answer: Value = serde_json::from_str(&message.answer(&replies)).unwrap();
        let expected = file.with_extension("answer.json");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, serde_json::to_string_pretty(&answer).unwrap() + "\n").unwrap();
        }
        let expected: Value = serde_json::from_str(&fs::read_to_string(expected).unwrap()).unwrap();
        if answer != expected {
            wrong.push(format!("{name}: {answer:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A tool that gives back blocks, as `witbox:host/content` has them.
const BLOCKS: &str = "package test:blocks; world blocks {
    record media { data: list<u8>, mime-type: option<string> }
    variant document { text(string), data(list<u8>) }
    record embedded { uri: option<string>, mime-type: option<string>, document: document }
    variant block { text(string), image(media), audio(media), %resource(embedded) }
    export back: func(values: list<block>) -> list<block>;
}";
/// The start of a PNG of two by three pixels, and of a sound.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAA=";
const WAV: &str = "UklGRiQAAABXQVZFZm10IA==";

#[tokio::test]
async fn pictures_are_shown_as_each_provider_shows_them() {
    let component = Component::new(&ENGINE, &support::echo(BLOCKS)).unwrap();
    let host = host("t", &component, Grant::default());
    let values = json!([{"text": "one"}, {"text": "two"}, {"image": {"data": PNG}}, {"audio": {"data": WAV}}]);
    let arguments = json!({"values": values});
    let text = arguments.to_string();
    let (png_url, unheard) = (format!("data:image/png;base64,{PNG}"), "[audio/wav: sounds cannot be shown here]");
    let told = "one\ntwo\n[image/png, 29 bytes]\n[audio/wav, 16 bytes]";
    for (message, answer) in [
        (
            json!({"role": "assistant", "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "t_back", "arguments": text}}]}),
            json!([
                {"role": "tool", "tool_call_id": "c", "content": told},
                {"role": "user", "content": [
                    {"type": "text", "text": "A picture that t_back returned for c:"},
                    {"type": "image_url", "image_url": {"url": png_url}},
                ]},
            ]),
        ),
        (
            json!([{"type": "function_call", "call_id": "c", "name": "t_back", "arguments": text}]),
            json!([{"type": "function_call_output", "call_id": "c", "output": [
                {"type": "input_text", "text": "one\ntwo"},
                {"type": "input_image", "image_url": png_url},
                {"type": "input_text", "text": unheard},
            ]}]),
        ),
        (
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "t_back", "input": arguments}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [
                {"type": "text", "text": "one\ntwo"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "text", "text": unheard},
            ]}]}),
        ),
        (
            json!({"role": "model", "parts": [{"functionCall": {"id": "c", "name": "t_back", "args": arguments}}]}),
            json!({"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "t_back", "response": {"output": told},
            "parts": [
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"inlineData": {"mimeType": "audio/wav", "data": WAV}},
            ]}}]}),
        ),
        (
            json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "t_back", "input": arguments}}]}),
            json!({"role": "user", "content": [{"toolResult": {"toolUseId": "c", "status": "success", "content": [
                {"text": "one\ntwo"},
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"text": unheard},
            ]}}]}),
        ),
        (
            json!({"type": "ai", "tool_calls": [{"id": "c", "name": "t_back", "args": arguments}]}),
            json!([{"type": "tool", "tool_call_id": "c", "name": "t_back", "status": "success", "content": [
                {"type": "text", "text": "one\ntwo"},
                {"type": "image", "base64": PNG, "mime_type": "image/png"},
                {"type": "audio", "base64": WAV, "mime_type": "audio/wav"},
            ]}]),
        ),
    ] {
        let message = Message::parse(&message.to_string()).unwrap();
        let replies = host.call_all(message.calls().to_vec()).await;
        let answered: Value = serde_json::from_str(&message.answer(&replies)).unwrap();
        assert_eq!(answered, answer, "{}", message.format());
    }
    // To MCP, too.
    let reply = host.call(Call::new("c", "t_back", text)).await;
    let tool = host.registry().find("t_back").map(|tool| &**tool);
    let result: Value = serde_json::from_str(&witbox::mcp::result(tool, &reply)).unwrap();
    assert_eq!(
        result,
        json!({"isError": false, "content": [
            {"type": "text", "text": "one"},
            {"type": "text", "text": "two"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
        ]})
    );
}

#[test]
fn a_format_that_is_named_is_not_guessed_and_loses_no_calls() {
    let text = r#"{"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "a", "input": {}}}]}"#;
    assert_eq!(Message::parse_as(text, "bedrock".parse().unwrap()).unwrap().calls().len(), 1);
    let error = Message::parse_as(text, "anthropic".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "the message has no calls as anthropic writes them, but some as bedrock does");
    let calls_nothing = r#"{"role": "assistant", "content": "hi"}"#;
    assert_eq!(Message::parse_as(calls_nothing, "anthropic".parse().unwrap()).unwrap().answer(&[]), "[]");
    let foreign = r#"{"foo": 1}"#;
    for format in witbox::Format::NAMES {
        assert!(Message::parse_as(foreign, format.parse().unwrap()).is_err(), "{format}");
    }
    assert!("antropic".parse::<witbox::Format>().is_err());
}

#[test]
fn what_is_no_message_is_one_clear_error() {
    for (text, error) in [
        ("", "the message is empty"),
        ("  \n", "the message is empty"),
        ("hello", "the message is not JSON: expected value at line 1 column 1"),
        ("{", "the message is not JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "an assistant message of no known provider"),
        ("{}", "an assistant message of no known provider"),
        ("42", "an assistant message of no known provider"),
        (r#"{"role": "user", "content": "hi"}"#, "an assistant message of no known provider"),
        (r#"[{"role": "assistant", "content": "hi"}]"#, "an assistant message of no known provider"),
        (r#"{"role": "assistant", "tool_calls": {}}"#, "/tool_calls: expected an array"),
        (r#"{"role": "assistant", "role": "assistant", "tool_calls": []}"#, "the key `role` is given twice"),
        (
            r#"{"role": "assistant", "content": null, "function_call": {"name": "a", "arguments": "{}"}}"#,
            "/function_call: the legacy form of a call",
        ),
        (r#"{"choices": []}"#, "/choices: expected one; send the message that you chose"),
        (r#"{"candidates": [{}]}"#, "/candidates/0: expected a content"),
    ] {
        let found = Message::parse(text).unwrap_err();
        assert!(found.is_message());
        assert!(found.to_string().contains(error), "{text}: {found}");
    }
    let deep = "[".repeat(100_000);
    assert!(Message::parse(&deep).unwrap_err().is_message());
    let large = " ".repeat(witbox::MAX_MESSAGE_BYTES + 1);
    assert!(Message::parse(&large).unwrap_err().to_string().contains("more than"));
}

#[tokio::test]
async fn calls_beyond_a_thousand_are_answered_and_do_not_run() {
    let call = |n: usize| format!(r#"{{"functionCall": {{"name": "probe_environment", "args": {{}}, "id": "{n}"}}}}"#);
    let calls: Vec<String> = (0..1_002).map(call).collect();
    let text = format!(r#"{{"role": "model", "parts": [{}]}}"#, calls.join(","));
    let message = Message::parse(&text).unwrap();
    let component = Component::builtin(&ENGINE, "probe").unwrap();
    let replies = host("probe", &component, Grant::default()).call_all(message.calls().to_vec()).await;
    assert_eq!(replies.len(), 1_002);
    assert!(replies[..1_000].iter().all(|reply| reply.status == witbox::Status::Ok));
    assert!(replies[1_000..].iter().all(|reply| reply.status == witbox::Status::Invalid));
}
