//! Keeps secrets out of texts: a seat belt, since whoever saw a value can write it in a way that nobody looks for.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

use crate::policy::Secret;
use crate::reply::{Block, Denial, Reply, ReplyError};

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
            forms.extend(forms_of(secret.value()).into_iter().map(|text| Form { text, mark: mark.clone() }));
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

    /// The text of a JSON value, which stays one: a number that is or holds a secret becomes a string.
    fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(found) = self.found.as_ref().filter(|found| found.is_match(text)) else { return text.into() };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let (token, after) = rest.split_at(token_length(rest));
            match token.as_bytes().first() {
                Some(b'"') => out.push_str(&self.text(token)),
                _ if found.is_match(token) => out.push_str(&format!("\"{}\"", self.text(token))),
                _ => out.push_str(token),
            }
            rest = after;
        }
        out.into()
    }

    /// Bytes with asterisks in place of each secret, so that their number stays.
    pub(crate) fn mask(&self, bytes: &mut [u8]) {
        let Some(found) = &self.found else { return };
        let spans: Vec<std::ops::Range<usize>> = found.find_iter(&*bytes).map(|found| found.range()).collect();
        for span in spans {
            bytes[span].fill(b'*');
        }
    }

    /// How many bytes at the end may be the start of a secret.
    pub(crate) fn held_back(&self, bytes: &[u8]) -> usize {
        let longest = |form: &Form| {
            let most = bytes.len().min(form.text.len().saturating_sub(1));
            (1..=most).rev().find(|held| bytes.ends_with(&form.text.as_bytes()[..*held])).unwrap_or_default()
        };
        self.forms.iter().map(longest).max().unwrap_or_default()
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
        for Block::Text { text } in &mut reply.content {
            match self.text(text) {
                // What was JSON stays so.
                Cow::Owned(_) if serde_json::from_str::<&RawValue>(text).is_ok() => {
                    *text = self.json(text).into_owned()
                }
                Cow::Owned(redacted) => *text = redacted,
                Cow::Borrowed(_) => {}
            }
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
            (r#"{"n": 18446744073709551615}"#, r#"{"n": 18446744073709551615}"#),
        ] {
            let redacted = redactor.json(text);
            assert_eq!(redacted, expected);
            assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
        }
    }

    #[test]
    fn a_start_at_the_end_is_held_back() {
        let redactor = redactor("secret-value");
        assert_eq!(redactor.held_back(b"the secret-val"), 10);
        assert_eq!(redactor.held_back(b"the secret-value"), 0);
        let mut bytes = *b"a secret-value b";
        redactor.mask(&mut bytes);
        assert_eq!(&bytes, b"a ************ b");
    }
}
