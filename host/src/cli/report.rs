//! What people and scripts see. All text from outside passes one escaper where a terminal shows it.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use witbox::is_hidden;

/// Where a command's output goes: results to standard output, everything else to standard error.
pub(super) struct Report {
    stdout_is_terminal: bool,
}

impl Report {
    pub(super) fn new() -> Self {
        Report { stdout_is_terminal: io::stdout().is_terminal() }
    }

    /// Prints text for people.
    pub(super) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.write(text.strip_suffix('\n').unwrap_or(text), Style::Text)
    }

    /// Prints one JSON document for scripts.
    pub(super) fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        self.json_text(&serde_json::to_string_pretty(value)?)
    }

    /// Prints one JSON document that is text already.
    pub(super) fn json_text(&self, text: &str) -> anyhow::Result<()> {
        self.write(text, Style::Json)
    }

    /// Whether a terminal shows what is printed.
    pub(super) fn is_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// Copies something from somewhere, whatever its size.
    pub(super) fn copy(&self, mut from: impl io::Read) -> anyhow::Result<()> {
        if self.stdout_is_terminal {
            let mut text = Vec::new();
            from.read_to_end(&mut text)?;
            return self.print(&String::from_utf8_lossy(&text));
        }
        io::copy(&mut from, &mut io::stdout().lock())?;
        Ok(io::stdout().flush()?)
    }

    fn write(&self, text: &str, style: Style) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        match self.stdout_is_terminal {
            true => stdout.write_all(escape(text, style).as_bytes())?,
            false => stdout.write_all(text.as_bytes())?,
        }
        if !text.is_empty() {
            stdout.write_all(b"\n")?;
        }
        Ok(stdout.flush()?)
    }

    /// Tells people something beside the result. Further lines are indented: no text from outside can begin one of ours.
    pub(super) fn note(&self, text: &str) {
        // With standard error gone there is nobody to tell.
        let text = escape(text, Style::Text).replace('\n', "\n  ");
        let _ = writeln!(io::stderr(), "witbox: {text}");
    }

    /// Says why a command did nothing.
    pub(super) fn error(&self, error: &anyhow::Error) {
        self.note(&format!("{error:#}"));
    }
}

/// A text as a terminal may show it.
pub(super) fn shown(text: &str) -> String {
    escape(text, Style::Text)
}

/// Whether an error is that nobody reads standard output any more.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Text,
    /// Escapes that are JSON too: outside of strings JSON holds no such character.
    Json,
}

fn escape(text: &str, style: Style) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match (is_hidden(c), style) {
            (false, _) => escaped.push(c),
            (true, Style::Text) => escaped.extend(c.escape_unicode()),
            (true, Style::Json) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_are_shown_and_not_obeyed() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\u{202e}d\u{200b}e\u{e0041}f\r\n\tü";
        let shown = escape(hostile, Style::Text);
        assert_eq!(shown, "a\\u{1b}[2Jb\\u{9b}c\\u{202e}d\\u{200b}e\\u{e0041}f\\u{d}\n\tü");
        let json = serde_json::to_string(hostile).unwrap();
        let back: String = serde_json::from_str(&escape(&json, Style::Json)).unwrap();
        assert_eq!(back, hostile);
    }
}
