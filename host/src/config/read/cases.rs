//! The walk over a file of cases: a configuration's toolsets, with fakes and cases.

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::units::parse_fuel;
use super::{Entry, Reader};
use crate::call::Status;
use crate::policy::Limits;
use crate::sandbox::{Answer, Fake};
use crate::testing::{Case, CaseFile, Expected};

impl<'t> Reader<'t> {
    pub(super) fn case_file(&mut self, root: &DeTable<'t>) -> CaseFile {
        let mut plan = super::Plan::new(Vec::new());
        let mut limits = Limits::default();
        if let Some(value) = root.get("limits") {
            self.limits(value, "[limits]", &mut limits);
        }
        let (mut fakes, mut cases) = (Vec::new(), Vec::new());
        for (key, value) in root {
            match key.get_ref().as_ref() {
                "limits" => {}
                "toolset" => {
                    let table = self.table(value, "[toolset.NAME] tables");
                    for (name, value) in table.into_iter().flatten() {
                        plan.toolsets.extend(self.toolset(name, value, &limits));
                    }
                }
                "fake" => {
                    let list = self.array(value, "an array of [[fake]] tables");
                    fakes.extend(list.into_iter().flatten().filter_map(|fake| self.fake(fake)));
                }
                "case" => {
                    let list = self.array(value, "an array of [[case]] tables");
                    cases.extend(list.into_iter().flatten().filter_map(|case| self.case(case)));
                }
                _ => self.unknown(key, "the file", &["limits", "toolset", "fake", "case"], &[]),
            }
        }
        if !root.contains_key("case") {
            self.report(0..0, "there is no [[case]] in it", None);
        }
        CaseFile { file: self.file.to_owned(), folder: self.folder.to_owned(), plan, fakes, cases }
    }

    fn fake(&mut self, value: Entry<'_, 't>) -> Option<Fake> {
        let table = self.table(value, "a table")?;
        let (mut method, mut url, mut status, mut body) = ("GET".to_owned(), None, None, String::new());
        let mut headers = Vec::new();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "method" => method = self.string(value).unwrap_or_default(),
                "url" => url = self.string(value),
                "status" => {
                    status = self.count(value, "a status");
                    if status.is_some_and(|status| !(200..600).contains(&status)) {
                        self.report(value.span(), "a status is from 200 to 599", None);
                    }
                }
                "body" => body = self.string(value).unwrap_or_default(),
                "headers" => {
                    for (name, value) in self.table(value, "a table of strings").into_iter().flatten() {
                        let text = self.string(value).unwrap_or_default();
                        let is_header = http::HeaderName::try_from(name.get_ref().as_ref()).is_ok()
                            && http::HeaderValue::try_from(&text).is_ok();
                        if !is_header {
                            self.report(name.span(), &format!("`{}` is no header", name.get_ref()), None);
                        }
                        headers.push((name.get_ref().to_string(), text));
                    }
                }
                _ => self.unknown(key, "[[fake]]", &["method", "url", "status", "headers", "body"], &[]),
            }
        }
        let Some(url) = url else {
            self.report(value.span(), "[[fake]] has no `url`", None);
            return None;
        };
        let mut fake = Fake::new(&method, &url, body);
        if let Some(status) = status {
            fake = fake.status(u16::try_from(status).unwrap_or(200));
        }
        Some(headers.iter().fold(fake, |fake, (name, value)| fake.header(name, value)))
    }

    fn case(&mut self, value: Entry<'_, 't>) -> Option<Case> {
        let table = self.table(value, "a table")?;
        let (mut name, mut tool, mut arguments, mut person) = (None, None, "{}".to_owned(), None);
        let mut expected = Expected {
            status: Status::Ok,
            text: None,
            contains: Vec::new(),
            structured: None,
            schema: None,
            denied: None,
            max_fuel: None,
            changed: Vec::new(),
            unchanged: Vec::new(),
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => name = self.string(value),
                "tool" => tool = self.string(value),
                "arguments" => {
                    // A text is sent as it is, so that a case can be about what is no JSON.
                    arguments = match value.get_ref() {
                        DeValue::String(text) => text.to_string(),
                        _ => self.json(value).unwrap_or_default().to_string(),
                    };
                }
                "person" => person = self.answer(value),
                "status" => expected.status = self.status(value).unwrap_or(expected.status),
                "text" => expected.text = self.string(value),
                "contains" => expected.contains = self.strings(value).unwrap_or_default(),
                "structured" => expected.structured = self.json(value),
                "schema" => {
                    expected.schema = self.json(value);
                    // With references a short schema may take for ever.
                    if expected.schema.as_ref().is_some_and(has_reference) {
                        self.report(value.span(), "the schema of a case holds no references; write it out", None);
                    }
                }
                "denied" => expected.denied = self.strings(value),
                "max-fuel" => self.set(value, &mut expected.max_fuel, |text| parse_fuel(text).map(Some)),
                "changed" => expected.changed = self.patterns(value),
                "unchanged" => expected.unchanged = self.patterns(value),
                _ => {
                    let known = [
                        "name",
                        "tool",
                        "arguments",
                        "person",
                        "status",
                        "text",
                        "contains",
                        "structured",
                        "schema",
                        "denied",
                        "max-fuel",
                        "changed",
                        "unchanged",
                    ];
                    self.unknown(key, "[[case]]", &known, &[]);
                }
            }
        }
        for key in ["name", "tool"] {
            if !table.contains_key(key) {
                self.report(value.span(), &format!("[[case]] has no `{key}`"), None);
            }
        }
        Some(Case { name: name?, tool: tool?, arguments, person, expected })
    }

    fn answer(&mut self, value: Entry<'_, 't>) -> Option<Answer> {
        match self.string(value)?.as_str() {
            "allow" => Some(Answer::Allow),
            "deny" => Some(Answer::Deny),
            text => {
                let message = format!("`{text}` is no answer: expected \"allow\" or \"deny\"");
                self.report(value.span(), &message, None);
                None
            }
        }
    }

    fn status(&mut self, value: Entry<'_, 't>) -> Option<Status> {
        let text = self.string(value)?;
        let found = Status::ALL.into_iter().find(|status| status.as_str() == text);
        if found.is_none() {
            let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
            self.report(value.span(), &format!("`{text}` is no status; there are {}", known.join(", ")), None);
        }
        found
    }

    /// A value of TOML as the same of JSON.
    fn json(&mut self, value: &Spanned<DeValue<'t>>) -> Option<Value> {
        Some(match value.get_ref() {
            DeValue::String(text) => Value::from(text.to_string()),
            DeValue::Boolean(value) => Value::from(*value),
            DeValue::Array(values) => values.iter().map(|value| self.json(value)).collect::<Option<Vec<_>>>()?.into(),
            DeValue::Table(table) => {
                let mut object = Map::new();
                for (key, value) in table {
                    object.insert(key.get_ref().to_string(), self.json(value)?);
                }
                object.into()
            }
            DeValue::Integer(number) => {
                let text = number.as_str().replace('_', "");
                let read = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from));
                match read.ok().filter(|_| number.radix() == 10) {
                    Some(number) => number,
                    None => {
                        self.report(value.span(), "expected a decimal number of 64 bits", None);
                        return None;
                    }
                }
            }
            DeValue::Float(number) => {
                let read = number.as_str().replace('_', "").parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                match read {
                    Some(number) => number.into(),
                    None => {
                        self.report(value.span(), "JSON has no such number", None);
                        return None;
                    }
                }
            }
            DeValue::Datetime(_) => {
                self.report(value.span(), "JSON has no dates; write a string", None);
                return None;
            }
        })
    }
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_reference = |key: &String| matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef");
            fields.iter().any(|(key, value)| is_reference(key) || has_reference(value))
        }
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}
