//! JSON as a file that is paged by lines: one item or field a line, and what is short stays together on its line.

use std::io::{self, Write};

/// What is at most this long stays on one line, in bytes: a record as a whole, so that a line that was found says all of it.
const LINE: usize = 160;
/// How far lines are indented at most: what nests deeper would grow by its depth.
const MAX_INDENT: usize = 8;

/// Writes compact JSON in lines. The text must be JSON without white space outside of strings, as the host writes it.
pub(super) fn lay_out(json: &str, out: &mut impl Write) -> io::Result<()> {
    let mut layout = Layout { json: json.as_bytes(), at: 0, depth: 0, out };
    layout.run()
}

/// How many items an array has, or fields an object; nothing for any other value.
pub(super) fn count_items(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    if !matches!(bytes.first(), Some(b'[' | b'{')) {
        return None;
    }
    if bytes.len() == 2 {
        return Some(0);
    }
    let (mut depth, mut at, mut count) = (0_usize, 0, 1);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => count += 1,
            _ => {}
        }
        at += 1;
    }
    Some(count)
}

struct Layout<'j, W> {
    json: &'j [u8],
    at: usize,
    depth: usize,
    out: W,
}

impl<W: Write> Layout<'_, W> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(&byte) = self.json.get(self.at) {
            let end = match byte {
                b'"' => after_string(self.json, self.at),
                // The value as a whole is put on one line only where there is nothing in it.
                b'[' | b'{' => match self.short_end() {
                    Some(end) if self.depth > 0 || end == self.at + 2 => end,
                    _ => self.at + 1,
                },
                _ => self.at + 1,
            };
            let is_opened = matches!(byte, b'[' | b'{') && end == self.at + 1;
            if matches!(byte, b']' | b'}') {
                self.depth = self.depth.saturating_sub(1);
                self.line()?;
            }
            self.out.write_all(&self.json[self.at..end])?;
            self.at = end;
            if is_opened {
                self.depth += 1;
            }
            if is_opened || byte == b',' {
                self.line()?;
            }
        }
        self.out.write_all(b"\n")
    }

    fn line(&mut self) -> io::Result<()> {
        const SPACES: [u8; MAX_INDENT] = [b' '; MAX_INDENT];
        self.out.write_all(b"\n")?;
        self.out.write_all(&SPACES[..self.depth.min(MAX_INDENT)])
    }

    /// Where the array or object that begins here ends, if that is soon.
    fn short_end(&self) -> Option<usize> {
        let within = &self.json[..self.json.len().min(self.at + LINE)];
        let (mut depth, mut at) = (0_usize, self.at);
        while at < within.len() {
            match within[at] {
                b'"' => {
                    at = after_string(within, at);
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }
}

/// Where a string that begins at a quote ends, behind its other one.
fn after_string(json: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < json.len() {
        match json[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn laid_out(value: &Value) -> String {
        let mut out = Vec::new();
        lay_out(&value.to_string(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_item_or_a_field_has_a_line() {
        let long = "x".repeat(LINE);
        for (value, lines) in [
            (json!([]), vec!["[]"]),
            (json!(1), vec!["1"]),
            (json!([1, [2, {"a": "]"}]]), vec!["[", " 1,", " [2,{\"a\":\"]\"}]", "]"]),
            (
                json!({"a": {"b": long, "c": 1}, "d": []}),
                vec!["{", " \"a\":{", &format!("  \"b\":\"{long}\","), "  \"c\":1", " },", " \"d\":[]", "}"],
            ),
        ] {
            assert_eq!(laid_out(&value), lines.join("\n") + "\n");
        }
        let deep = (0..100).fold(json!("x".repeat(LINE)), |value, _| json!([value]));
        assert!(laid_out(&deep).lines().all(|line| line.len() < LINE + 20));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
            "[\"\\\\\\[\\]{},:\n]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 200, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\{]{0,8}", inner), 0..12)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_laid_out_is_the_same_value(value in values()) {
            let text = laid_out(&value);
            prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
            let items = match &value {
                Value::Array(items) => Some(items.len()),
                Value::Object(fields) => Some(fields.len()),
                _ => None,
            };
            prop_assert_eq!(count_items(&value.to_string()), items);
        }
    }
}
