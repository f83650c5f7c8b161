//! What is wrong with arguments, and where.

use std::fmt;

use wasmtime::component::Val;

use super::Reading;

/// The most faults of one call that are told; a model that sent more will not get further by reading them.
const MAX_FAULTS: usize = 20;
/// The most readings of one call that are told.
const MAX_NOTES: usize = 20;
/// What is quoted of a model's text in a fault, in characters.
const MAX_QUOTE: usize = 200;

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// A JSON pointer (RFC 6901) into the arguments; empty for the arguments as a whole.
    pub(crate) pointer: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "arguments: {}", self.message)?,
            pointer => write!(f, "{pointer}: {}", self.message)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Where the reader is, and what it has found so far.
pub(super) struct Cx {
    pub(super) reading: Reading,
    pub(super) path: Vec<Step>,
    pub(super) faults: Vec<Fault>,
    /// What was read as something else than it is.
    pub(super) notes: Vec<String>,
    notes_left_out: usize,
    /// How many bytes values may take, and do: an option that is left out takes room too.
    room: u64,
    taken: u64,
    /// Whether what is read stood in a string; a string within is a string.
    pub(super) in_text: bool,
}

pub(super) enum Step {
    Name(String),
    Index(usize),
}

impl Cx {
    /// For values that may take so many bytes.
    pub(super) fn new(reading: Reading, room: u64) -> Self {
        Cx {
            reading,
            path: Vec::new(),
            faults: Vec::new(),
            notes: Vec::new(),
            notes_left_out: 0,
            room,
            taken: 0,
            in_text: false,
        }
    }

    /// Takes room for what is about to be made, in bytes.
    pub(super) fn take_room<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.taken = self.taken.saturating_add(bytes as u64);
        if self.is_over() { Err(E::custom("too large")) } else { Ok(()) }
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn is_over(&self) -> bool {
        self.taken > self.room
    }

    /// What was read as something else than it is.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.notes_left_out > 0 {
            self.notes.push(format!("{} more were read as something else than they are", self.notes_left_out));
        }
        self.notes
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.reading == Reading::Lenient
    }

    /// Notes what was read as what.
    pub(super) fn note(&mut self, got: impl fmt::Display, read: impl fmt::Display) {
        if self.notes.len() == MAX_NOTES {
            self.notes_left_out += 1;
        } else {
            let pointer = self.pointer();
            let place = if pointer.is_empty() { "arguments" } else { &pointer };
            self.notes.push(format!("{place}: read {got} as {read}"));
        }
    }

    /// Notes a fault at the current place. Reading goes on with a value that is never used.
    pub(super) fn fault(&mut self, message: impl Into<String>, hint: Option<String>) -> Val {
        if self.faults.len() < MAX_FAULTS {
            let pointer = self.pointer();
            self.faults.push(Fault { pointer, message: message.into(), hint });
        }
        Val::Bool(false)
    }

    /// Notes that something else was expected.
    pub(super) fn expected(&mut self, what: impl fmt::Display, got: impl fmt::Display) -> Val {
        self.fault(format!("expected {what}, got {got}"), None)
    }

    /// Notes that the text is no JSON from here on, unless the reading was ended for its many faults.
    pub(super) fn unreadable(&mut self, text: &str, error: &serde_json::Error) {
        if !self.faults.is_empty() && !error.is_syntax() && !error.is_eof() {
            return;
        }
        let (message, hint) = if text.trim().is_empty() {
            ("expected a JSON object, got nothing".to_owned(), "send the arguments as one JSON object")
        } else if error.to_string().starts_with("number out of range") {
            ("a number that no floating-point number holds".to_owned(), "send a smaller one")
        } else {
            (format!("not readable as JSON: {error}"), "send the arguments as one JSON object")
        };
        self.fault(message, Some(hint.to_owned()));
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Name(name) => pointer.push_str(&quotable(name).replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }

    /// Reads at a step further in. The step is left only after a success, so that an error keeps its place.
    pub(super) fn within<T, E>(&mut self, step: Step, read: impl FnOnce(&mut Cx) -> Result<T, E>) -> Result<T, E> {
        self.path.push(step);
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    /// Whether there are as many faults as anyone reads; reading ends then.
    pub(super) fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }
}

pub(super) fn stop_if_enough<E: serde::de::Error>(cx: &Cx) -> Result<(), E> {
    if cx.is_full() { Err(E::custom("too many faults")) } else { Ok(()) }
}

/// A text as JSON shows it, for a fault.
pub(super) fn describe_str(text: &str) -> String {
    serde_json::Value::from(quotable(text)).to_string()
}

/// What a JSON text is, for a fault.
pub(super) fn describe_raw(text: &str) -> String {
    match text.as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        _ => quotable(text),
    }
}

/// The start of a text, cut on a character boundary.
pub(super) fn quotable(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
