//! Tools that a client of the Model Context Protocol is tried with.

wit_bindgen::generate!({ world: "conformance-tool", path: "wit", generate_all });

use std::thread::sleep;
use std::time::Duration;

use exports::witbox::conformance::{suite, work};
use witbox::host::content::{Block, Document, Embedded, Media};
use witbox::host::log::{Level, log};
use witbox::host::progress::report;

/// A picture of one point.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xfc\xcf\xc0\xf0\x1f\0\
    \x05\x05\x02\0_\xc8\xf1\xd2\0\0\0\0IEND\xaeB`\x82";
/// A sound of one sample.
const WAV: &[u8] = b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\0}\0\0\x02\0\x10\0data\x02\0\0\0";

const STEP: Duration = Duration::from_millis(50);

struct Conformance;

export!(Conformance);

impl suite::Guest for Conformance {
    fn simple_text() -> String {
        "This is a simple text response for testing.".to_owned()
    }

    fn image_content() -> Block {
        Block::Image(media(PNG, "image/png"))
    }

    fn audio_content() -> Block {
        Block::Audio(media(WAV, "audio/wav"))
    }

    fn embedded_resource() -> Block {
        document("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    }

    fn multiple_content_types() -> Vec<Block> {
        vec![
            Block::Text("Multiple content types test:".to_owned()),
            Self::image_content(),
            document("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]
    }

    fn tool_with_logging() -> String {
        log(Level::Info, "Tool execution started");
        sleep(STEP);
        log(Level::Info, "Tool processing data");
        sleep(STEP);
        log(Level::Info, "Tool execution completed");
        "Tool with logging executed successfully".to_owned()
    }

    fn tool_with_progress() -> String {
        for done in [0, 50, 100] {
            report(f64::from(done), Some(100.0), Some(&format!("Completed step {done} of 100")));
            sleep(STEP);
        }
        "Tool with progress executed successfully".to_owned()
    }

    fn error_handling() -> Result<String, String> {
        Err("This tool intentionally returns an error for testing".to_owned())
    }

    fn logging_tool() -> String {
        for level in [Level::Debug, Level::Info, Level::Warning, Level::Error] {
            log(level, "test_logging_tool ran");
        }
        "logged".to_owned()
    }

    fn streaming_elicitation() -> String {
        report(1.0, None, None);
        "nobody was asked".to_owned()
    }

    fn reconnection() -> String {
        sleep(2 * STEP);
        "Reconnection test completed successfully. If you received this, the client properly reconnected after stream closure."
            .to_owned()
    }
}

impl work::Guest for Conformance {
    fn hello(name: String) -> Result<String, String> {
        match name.is_empty() {
            true => Err("name is empty: nobody is greeted without one".to_owned()),
            false => Ok(format!("Hello, {name}!")),
        }
    }

    fn flood(lines: u32) -> String {
        (1..=lines).map(|line| format!("line {line} of the flood\n")).collect()
    }

    fn count(to: u32, pause_ms: u32) -> u32 {
        for step in 1..=to {
            report(f64::from(step), Some(f64::from(to)), Some(&format!("step {step}")));
            log(Level::Info, &format!("step {step}"));
            sleep(Duration::from_millis(pause_ms.into()));
        }
        to
    }

    fn echo(text: String) -> String {
        text
    }
}

fn media(data: &[u8], mime_type: &str) -> Media {
    Media { data: data.to_vec(), mime_type: Some(mime_type.to_owned()) }
}

fn document(uri: &str, mime_type: &str, text: &str) -> Block {
    Block::Resource(Embedded {
        uri: Some(uri.to_owned()),
        mime_type: Some(mime_type.to_owned()),
        document: Document::Text(text.to_owned()),
    })
}
