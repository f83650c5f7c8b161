//! Keeps secrets out of texts: a seat belt, since whoever saw a value can write it in a way that nobody looks for.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

use crate::policy::Secret;
use crate::reply::{Block, Denial, Document, Reply, ReplyError};

/// Finds secrets as they are, in base64 (also as a part of what was encoded) and encoded for URLs or JSON.
#[derive(Debug, Default, Clone)]
pub(crate) struct Redactor {
    /// Nothing where there are no secrets.
    found: Option<AhoCorasick>,
    forms: Vec<Form>,
}

#[derive(Debug, Clone)]
struct Form {
    text: String,
    /// What is written in its place.
    mark: String,
    /// For each start of it, how long the longest shorter start is that ends it too (Knuth, Morris and Pratt).
    borders: Vec<usize>,
}

impl Form {
    fn new(text: String, mark: String) -> Self {
        let mut form = Form { borders: vec![0; text.len()], text, mark };
        for end in 1..form.text.len() {
            form.borders[end] = form.step(form.borders[end - 1], form.text.as_bytes()[end]);
        }
        form
    }

    /// How much of it is matched by one byte more.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        let text = self.text.as_bytes();
        while matched > 0 && (matched == text.len() || text[matched] != byte) {
            matched = self.borders[matched - 1];
        }
        matched + usize::from(text[matched] == byte)
    }

    /// How many bytes at the end are the start of it, but not all of it.
    fn started(&self, bytes: &[u8]) -> usize {
        let last = &bytes[bytes.len().saturating_sub(self.text.len())..];
        let matched = last.iter().fold(0, |matched, byte| self.step(matched, *byte));
        if matched == self.text.len() { self.borders[matched - 1] } else { matched }
    }
}

impl Redactor {
    /// Finds these secrets.
    ///
    /// # Errors
    /// When they are too many to look for.
    pub(crate) fn of<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Result<Self, String> {
        let mut forms: Vec<Form> = Vec::new();
        for secret in secrets {
            let mark = format!("[secret {}]", secret.name());
            forms.extend(forms_of(secret.value()).into_iter().map(|text| Form::new(text, mark.clone())));
        }
        if forms.is_empty() {
            return Ok(Redactor::default());
        }
        let found = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms.iter().map(|form| &form.text))
            .map_err(|error| format!("its secrets cannot be looked for: {error}"))?;
        Ok(Redactor { found: Some(found), forms })
    }

    /// Whether there is nothing to find.
    pub(crate) fn is_idle(&self) -> bool {
        self.found.is_none()
    }

    /// A text with a mark in place of each secret.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.found {
            Some(found) if found.is_match(text) => {
                let marks: Vec<&str> = self.forms.iter().map(|form| form.mark.as_str()).collect();
                found.replace_all(text, &marks).into()
            }
            _ => text.into(),
        }
    }

    /// The text of a JSON value, which stays one: a string that holds a secret holds a mark, and any other value that is or
    /// holds one becomes a string.
    fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(found) = &self.found else { return text.into() };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut changed = false;
        while !rest.is_empty() {
            let (token, after) = rest.split_at(token_length(rest));
            rest = after;
            match self.token(token) {
                Some(redacted) => {
                    changed = true;
                    out.push_str(&redacted);
                }
                None => out.push_str(token),
            }
        }
        let json = if changed { Cow::Owned(out) } else { text.into() };
        // A secret may be JSON itself.
        if found.is_match(&*json) { serde_json::Value::from(self.text(&json)).to_string().into() } else { json }
    }

    /// A token of JSON that shows a secret, without it.
    fn token(&self, token: &str) -> Option<String> {
        let found = self.found.as_ref()?;
        if !token.starts_with('"') {
            return found.is_match(token).then(|| serde_json::Value::from(self.text(token)).to_string());
        }
        // Any character of a string may be written as an escape.
        if !token.contains('\\') && !found.is_match(token) {
            return None;
        }
        let string: String = serde_json::from_str(token).ok()?;
        match self.text_or_json(&string) {
            Cow::Owned(redacted) => Some(serde_json::Value::from(redacted).to_string()),
            Cow::Borrowed(_) => None,
        }
    }

    /// A text that may be JSON, which stays so and may spell any character as an escape.
    fn text_or_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_json = text.trim_start().starts_with(['{', '[', '"']) && serde_json::from_str::<&RawValue>(text).is_ok();
        if is_json { self.json(text) } else { self.text(text) }
    }

    /// Bytes with asterisks in place of each secret, so that their number stays.
    pub(crate) fn mask(&self, bytes: &mut [u8]) {
        for span in self.spans(bytes) {
            bytes[span].fill(b'*');
        }
    }

    /// The same of bytes of which more will come: masks those that can be passed on, and says how many they are. The rest
    /// may be the start of a secret.
    pub(crate) fn mask_start(&self, bytes: &mut [u8]) -> usize {
        let held = self.forms.iter().map(|form| form.started(bytes)).max().unwrap_or_default();
        let mut end = bytes.len() - held;
        let spans = self.spans(bytes);
        if let Some(span) = spans.iter().find(|span| span.start < end && end < span.end) {
            end = span.start;
        }
        for span in spans.into_iter().filter(|span| span.end <= end) {
            bytes[span].fill(b'*');
        }
        end
    }

    fn spans(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let Some(found) = &self.found else { return Vec::new() };
        found.find_iter(bytes).map(|found| found.range()).collect()
    }

    fn block(&self, block: &mut Block) {
        match block {
            Block::Text { text } => {
                if let Cow::Owned(redacted) = self.text_or_json(text) {
                    *text = redacted;
                }
            }
            Block::Image { data, .. } | Block::Audio { data, .. } => self.base64(data),
            Block::Resource { uri, document, mime_type } => {
                for told in uri.iter_mut().chain([mime_type]) {
                    *told = self.text(told).into_owned();
                }
                match document {
                    Document::Text { text } => *text = self.text_or_json(text).into_owned(),
                    Document::Data { data } => self.base64(data),
                }
            }
        }
    }

    /// Bytes in base64 with asterisks in place of each secret.
    fn base64(&self, data: &mut String) {
        let engine = base64::engine::general_purpose::STANDARD;
        let Ok(mut bytes) = engine.decode(&*data) else { return };
        if self.found.as_ref().is_some_and(|found| found.is_match(&bytes)) {
            self.mask(&mut bytes);
            *data = engine.encode(bytes);
        }
    }

    /// A reply that shows no secret to anybody.
    pub(crate) fn reply(&self, reply: &mut Reply) {
        if self.found.is_none() {
            return;
        }
        let redact = |text: &mut String| {
            if let Cow::Owned(redacted) = self.text(text) {
                *text = redacted;
            }
        };
        for block in &mut reply.content {
            self.block(block);
        }
        if let Some(Cow::Owned(json)) = reply.structured.as_ref().map(|value| self.json(value.get())) {
            reply.structured = RawValue::from_string(json).ok();
        }
        if let Some(ReplyError { message, pointer, hint, .. }) = &mut reply.error {
            redact(message);
            pointer.iter_mut().chain(hint).for_each(redact);
        }
        for Denial { target, rule, .. } in &mut reply.denials {
            redact(target);
            redact(rule);
        }
        reply.notes.iter_mut().for_each(redact);
        redact(&mut reply.stdout);
        redact(&mut reply.stderr);
        reply.logs.iter_mut().for_each(|entry| redact(&mut entry.message));
    }
}

/// The bytes of the first token of a JSON text: a string, a run of other characters, or what separates them.
fn token_length(text: &str) -> usize {
    let is_separator =
        |byte: u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\n' | b'\t' | b'\r');
    let bytes = text.as_bytes();
    match bytes[0] {
        b'"' => {
            let mut escaped = false;
            let end = bytes.iter().skip(1).position(|byte| {
                let is_end = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                is_end
            });
            end.map_or(bytes.len(), |end| end + 2)
        }
        byte if is_separator(byte) => 1,
        _ => bytes.iter().position(|byte| is_separator(*byte)).unwrap_or(bytes.len()),
    }
}

/// Each form in which a value is looked for, whole.
fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    // What encoders for URLs leave as it is differs.
    let unreserved = percent.replace("%2D", "-").replace("%2E", ".").replace("%5F", "_").replace("%7E", "~");
    for encoded in [percent, unreserved.replace("%2A", "*"), unreserved.replace("%20", "+"), unreserved] {
        forms.push(lower_case_codes(&encoded));
        forms.push(encoded);
    }
    let json = serde_json::Value::from(value).to_string();
    forms.push(json[1..json.len() - 1].to_owned());
    for alphabet in [STANDARD, URL_SAFE] {
        let encoder = GeneralPurpose::new(&alphabet, NO_PAD);
        for before in 0..3 {
            forms.push(base64_within(&encoder, value, before));
        }
    }
    forms.sort();
    forms.dedup();
    forms
}

/// What base64 makes of a value, whatever comes before it (`before` bytes, of three) and after it.
fn base64_within(encoder: &GeneralPurpose, value: &str, before: usize) -> String {
    let padded = [&[0; 2][..before], value.as_bytes()].concat();
    let encoded = encoder.encode(&padded);
    // Six bits a character: those of the value alone.
    let (start, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    encoded[start..end].to_owned()
}

fn lower_case_codes(text: &str) -> String {
    let mut left = 0;
    let lower = |c: char| {
        left = if c == '%' { 3 } else { left };
        if left == 0 {
            return c;
        }
        left -= 1;
        c.to_ascii_lowercase()
    };
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(value: &str) -> Redactor {
        Redactor::of(&[Secret::new("key", value).unwrap()]).unwrap()
    }

    #[test]
    fn each_form_of_a_whole_value_is_found() {
        let value = r#"p@ss/w0rd+"x y"#;
        let standard = GeneralPurpose::new(&STANDARD, NO_PAD);
        let redactor = redactor(value);
        for text in [
            value.to_owned(),
            "p%40ss%2Fw0rd%2B%22x%20y".to_owned(),
            "p%40ss%2fw0rd%2b%22x%20y".to_owned(),
            "p%40ss%2Fw0rd%2B%22x+y".to_owned(),
            standard.encode(value),
            r#"{"a": "p@ss/w0rd+\"x y"}"#.to_owned(),
        ] {
            assert!(redactor.text(&format!("<{text}>")).contains("[secret key]"), "{text}");
        }
        for before in ["", "a", "ab", "user:"] {
            let encoded = standard.encode(format!("{before}{value}, and more"));
            assert!(redactor.text(&encoded).contains("[secret key]"), "{before}");
        }
        assert_eq!(redactor.text("p@ss/w0rd+"), "p@ss/w0rd+", "a part is none");
        assert_eq!(Redactor::default().text(value), value);
    }

    #[test]
    fn json_stays_json() {
        let redactor = redactor("12345678");
        for (text, expected) in [
            (
                r#"{"a": 12345678, "b": "x12345678", "c\"12345678": [1, 1.12345678e5, true]}"#,
                r#"{"a": "[secret key]", "b": "x[secret key]", "c\"[secret key]": [1, "1.[secret key]e5", true]}"#,
            ),
            ("12345678", r#""[secret key]""#),
            (r#""\u00312\u003345678""#, r#""[secret key]""#),
            (r#"{"n": 18446744073709551615}"#, r#"{"n": 18446744073709551615}"#),
        ] {
            let redacted = redactor.json(text);
            assert_eq!(redacted, expected);
            assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
        }
    }

    #[test]
    fn a_secret_that_is_json_itself_is_found() {
        let value = r#"{"user":"bob","password":"hunter22"}"#;
        let redactor = redactor(value);
        for text in [value.to_owned(), format!(r#"{{"conf":{value}}}"#), serde_json::Value::from(value).to_string()] {
            let redacted = redactor.json(&text);
            assert!(!redacted.contains("hunter22"), "{redacted}");
            assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok(), "{redacted}");
        }
        let redactor = self::redactor(r#"allowed""#);
        assert!(serde_json::from_str::<serde_json::Value>(&redactor.json(r#"{"allowed":"x"}"#)).is_ok());
    }

    #[test]
    fn a_start_at_the_end_is_held_back() {
        let pieces = |redactor: &Redactor, text: &str, size: usize| {
            let (mut held, mut out) = (Vec::new(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                held.extend(piece);
                let end = redactor.mask_start(&mut held);
                out.extend(held.drain(..end));
            }
            redactor.mask(&mut held);
            out.extend(held);
            String::from_utf8(out).unwrap()
        };
        let secrets = |values: &[&str]| {
            let secret = |(index, value): (usize, &&str)| Secret::new(&format!("k{index}"), *value).unwrap();
            Redactor::of(&values.iter().enumerate().map(secret).collect::<Vec<_>>()).unwrap()
        };
        for (values, text) in [
            (vec!["secret-value"], "a secret-value b secret-valu"),
            (vec!["aaaaaaaab"], "xaaaaaaaaaaaaab aaaaaaaa"),
            (vec!["AAAABBBB", "AAAABBBBtail-of-it"], "x AAAABBBBtail-of-it AAAABBBB AAAABBBBtail"),
            (vec!["AAAABBBB", "BBBBtail"], "AAAABBBBtail AAAABBBB BBBBtail"),
        ] {
            let redactor = secrets(&values);
            let mut whole = text.as_bytes().to_vec();
            redactor.mask(&mut whole);
            for size in 1..text.len() {
                assert_eq!(pieces(&redactor, text, size).as_bytes(), whole, "{text} by {size}");
            }
        }
    }
}
