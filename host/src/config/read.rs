//! The walk over a configuration's tables. Every key is known, refused as not built yet, or a mistake.

mod cases;
mod client;
mod files;
mod network;
mod results;

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::units::{parse_bytes, parse_duration, parse_fuel};
use super::{Diagnostic, Diagnostics, Plan, Source, ToolsetPlan, Wall, largest};
use crate::error::Error;
use crate::policy::{Grant, Limits, check_variable};
use crate::testing::CaseFile;
use crate::tool::{ToolsetName, nearest};

pub(super) fn plan(text: &str, file: &str, folder: &Path) -> Result<Plan, Diagnostics> {
    walk(text, file, folder, Reader::plan)
}

pub(super) fn cases(text: &str, file: &str, folder: &Path) -> Result<CaseFile, Diagnostics> {
    walk(text, file, folder, Reader::case_file)
}

fn walk<'t, T>(
    text: &'t str,
    file: &'t str,
    folder: &'t Path,
    read: impl FnOnce(&mut Reader<'t>, &DeTable<'t>) -> T,
) -> Result<T, Diagnostics> {
    let mut reader = Reader { text, file, folder, diagnostics: Vec::new(), more: 0 };
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        reader.report(error.span().unwrap_or(0..0), error.message(), None);
    }
    // What could be recovered of a broken file would only bring up mistakes that are none.
    if !reader.diagnostics.is_empty() {
        return Err(reader.diagnostics());
    }
    let value = read(&mut reader, root.get_ref());
    if reader.diagnostics.is_empty() { Ok(value) } else { Err(reader.diagnostics()) }
}

/// How many mistakes are told of one file; nobody reads more.
const MAX_DIAGNOSTICS: usize = 100;

type Key<'k, 't> = &'k Spanned<toml::de::DeString<'t>>;
type Entry<'k, 't> = &'k Spanned<DeValue<'t>>;

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
    folder: &'t Path,
    diagnostics: Vec<Diagnostic>,
    /// How many more there would be.
    more: usize,
}

impl<'t> Reader<'t> {
    fn plan(&mut self, root: &DeTable<'t>) -> Plan {
        let mut limits = Limits::default();
        let mut toolsets: Vec<ToolsetPlan> = Vec::new();
        let mut plan = Plan::new(Vec::new());
        if let Some(value) = root.get("limits") {
            self.limits(value, "[limits]", &mut limits);
        }
        for (key, value) in root {
            match key.get_ref().as_ref() {
                "limits" => {}
                "host" => self.host(value, &mut plan),
                "results" => self.results(value, &mut plan),
                "workspace" => self.workspace(value, &mut plan),
                "toolset" => {
                    let Some(table) = self.table(value, "[toolset.NAME] tables") else {
                        continue;
                    };
                    for (name, value) in table {
                        toolsets.extend(self.toolset(name, value, &limits));
                    }
                }
                "client" => {
                    for (name, value) in self.table(value, "[client.NAME] tables").into_iter().flatten() {
                        plan.clients.extend(self.client(name, value));
                    }
                }
                _ => {
                    self.unknown(key, "the file", &["client", "host", "limits", "results", "toolset", "workspace"], &[])
                }
            }
        }
        if let Some(clients) = root.get("client").and_then(|clients| clients.get_ref().as_table()) {
            let known: Vec<&str> = toolsets.iter().map(|toolset| toolset.name.as_str()).collect();
            self.known_toolsets(clients, &known);
        }
        let largest = largest(&toolsets).unwrap_or(limits.memory);
        plan.capacity.call_memory = largest.min(plan.capacity.memory);
        Plan { toolsets, ..plan }
    }

    /// What all calls may use together.
    fn host(&mut self, value: Entry<'_, 't>, plan: &mut Plan) {
        let capacity = &mut plan.capacity;
        for (key, value) in self.table(value, "a table").into_iter().flatten() {
            match key.get_ref().as_ref() {
                "calls" => {
                    let calls = self.at_least(value, 1, "calls").and_then(|calls| usize::try_from(calls).ok());
                    capacity.calls = calls.unwrap_or(capacity.calls);
                }
                "queue" => {
                    let queue = self.count(value, "calls").and_then(|queue| usize::try_from(queue).ok());
                    capacity.queue = queue.unwrap_or(capacity.queue);
                }
                "memory" => self.set(value, &mut capacity.memory, parse_bytes),
                "component-size" => self.set(value, &mut plan.max_component, parse_bytes),
                "wall" => {
                    let walls = [("offered", Wall::Offered), ("required", Wall::Required), ("off", Wall::Off)];
                    let Some(text) = self.string(value) else { continue };
                    match walls.into_iter().find(|(name, _)| *name == text) {
                        Some((_, wall)) => plan.wall = wall,
                        None => {
                            let message = format!("`{text}` is no wall: expected \"offered\", \"required\" or \"off\"");
                            self.report(value.span(), &message, None);
                        }
                    }
                }
                _ => self.unknown(key, "[host]", &["calls", "component-size", "memory", "queue", "wall"], &[]),
            }
        }
    }

    fn toolset(&mut self, key: Key<'_, 't>, value: Entry<'_, 't>, limits: &Limits) -> Option<ToolsetPlan> {
        let name = key.get_ref().to_string();
        let place = format!("[toolset.{name}]");
        if let Err(error) = ToolsetName::parse(&name) {
            self.report(key.span(), &error.to_string(), None);
        }
        let table = self.table(value, "a table")?;
        let mut source = None;
        let mut digest = None;
        let mut reload = false;
        let mut tools = None;
        let mut limits = limits.clone();
        let mut grant = Grant::default();
        let mut secrets = Vec::new();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "component" => source = self.source(value),
                "digest" => digest = self.digest(value),
                "reload" => reload = self.boolean(value).unwrap_or_default(),
                "tools" => {
                    tools = self.strings(value);
                    if tools.as_ref().is_some_and(Vec::is_empty) {
                        self.report(value.span(), "`tools` names none; leave it out for all of them", None);
                    }
                }
                "limits" => self.limits(value, &format!("[toolset.{name}.limits]"), &mut limits),
                "env" => {
                    for (name, value) in self.table(value, "a table of strings").into_iter().flatten() {
                        let Some(text) = self.string(value) else { continue };
                        match check_variable(name.get_ref(), &text) {
                            Ok(()) => grant = grant.env(name.get_ref().to_string(), text),
                            Err(error) => self.report(name.span(), &error.to_string(), None),
                        }
                    }
                }
                "mount" => {
                    let mounts = self.array(value, "an array of [[toolset.NAME.mount]] tables");
                    for mount in mounts.into_iter().flatten() {
                        if let Some(mount) = self.mount(mount, &name) {
                            grant = grant.mount(mount);
                        }
                    }
                }
                "fs" => {
                    let rules = self.array(value, "an array of [[toolset.NAME.fs]] tables");
                    for rule in rules.into_iter().flatten() {
                        if let Some(rule) = self.fs_rule(rule, &name) {
                            grant = grant.fs(rule);
                        }
                    }
                }
                "http" => {
                    let rules = self.array(value, "an array of origins, such as [\"https://api.example\"]");
                    for rule in rules.into_iter().flatten() {
                        if let Some(rule) = self.http_rule(rule, &name) {
                            grant = grant.http(rule);
                        }
                    }
                }
                "secret" => {
                    let table = self.table(value, "[toolset.NAME.secret.SECRET] tables");
                    for (key, value) in table.into_iter().flatten() {
                        secrets.extend(self.secret(key, value, &name));
                    }
                }
                _ => self.unknown(
                    key,
                    &place,
                    &["component", "digest", "env", "fs", "http", "limits", "mount", "reload", "secret", "tools"],
                    &["tool", "approve"],
                ),
            }
        }
        if !table.contains_key("component") {
            let hint = "name a file or a built-in, such as component = \"builtin:files\"";
            self.report(key.span(), &format!("{place} has no `component`"), Some(hint.to_owned()));
        }
        if reload && digest.is_some() {
            let hint = "leave one of them out";
            self.report(
                key.span(),
                &format!("{place} has a `digest`, and `reload` lets any component be used"),
                Some(hint.to_owned()),
            );
        }
        Some(ToolsetPlan { name, source: source?, digest, reload, tools, grant: grant.limits(limits), secrets })
    }

    fn source(&mut self, value: Entry<'_, 't>) -> Option<Source> {
        let text = self.string(value)?;
        if let Some(name) = text.strip_prefix("builtin:") {
            return Some(Source::Builtin(name.to_owned()));
        }
        if text.is_empty() || text.contains("://") {
            self.report(value.span(), &format!("`{text}` is neither a file nor `builtin:NAME`"), None);
            return None;
        }
        Some(Source::File(self.folder.join(text)))
    }

    fn digest(&mut self, value: Entry<'_, 't>) -> Option<String> {
        let text = self.string(value)?;
        let digits = text.strip_prefix("sha256:").unwrap_or_default();
        if digits.len() != 64 || !digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')) {
            let hint = "expected `sha256:` and 64 lower-case hexadecimal digits, as `witbox inspect` prints them";
            self.report(value.span(), &format!("`{text}` is no digest"), Some(hint.to_owned()));
            return None;
        }
        Some(text)
    }

    fn limits(&mut self, value: Entry<'_, 't>, place: &str, limits: &mut Limits) {
        for (key, value) in self.table(value, "a table").into_iter().flatten() {
            match key.get_ref().as_ref() {
                "fuel" => self.set(value, &mut limits.fuel, parse_fuel),
                "memory" => self.set(value, &mut limits.memory, parse_bytes),
                "timeout" => self.set(value, &mut limits.timeout, parse_duration),
                "ask-timeout" => self.set(value, &mut limits.ask_timeout, parse_duration),
                "input" => self.set(value, &mut limits.input, parse_bytes),
                "output" => self.set(value, &mut limits.output, parse_bytes),
                "stream" => self.set(value, &mut limits.stream, parse_bytes),
                "requests" => limits.requests = self.count(value, "requests").unwrap_or(limits.requests),
                "upload" => self.set(value, &mut limits.upload, parse_bytes),
                "download" => self.set(value, &mut limits.download, parse_bytes),
                _ => {
                    let known = [
                        "fuel",
                        "memory",
                        "timeout",
                        "ask-timeout",
                        "input",
                        "output",
                        "stream",
                        "requests",
                        "upload",
                        "download",
                    ];
                    self.unknown(key, place, &known, &[]);
                }
            }
        }
    }

    fn set<T>(&mut self, value: Entry<'_, 't>, target: &mut T, parse: impl Fn(&str) -> Result<T, Error>) {
        let Some(text) = self.quantity(value) else {
            return;
        };
        match parse(&text) {
            Ok(parsed) => *target = parsed,
            Err(error) => self.report(value.span(), &error.to_string(), None),
        }
    }

    /// A quantity is a string with its unit, or a plain number.
    fn quantity(&mut self, value: Entry<'_, 't>) -> Option<String> {
        match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
            DeValue::String(_) => self.string(value),
            other => {
                let message = format!("expected a string or a whole number, got {}", other.type_str());
                self.report(value.span(), &message, None);
                None
            }
        }
    }

    fn string(&mut self, value: Entry<'_, 't>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => {
                self.report(value.span(), &format!("expected a string, got {}", other.type_str()), None);
                None
            }
        }
    }

    fn count(&mut self, value: Entry<'_, 't>, what: &str) -> Option<u64> {
        let text = self.quantity(value)?;
        let count = text.parse();
        if count.is_err() {
            self.report(value.span(), &format!("`{text}` is no number of {what}"), None);
        }
        count.ok()
    }

    fn at_least(&mut self, value: Entry<'_, 't>, least: u64, what: &str) -> Option<u64> {
        let count = self.count(value, what)?;
        if count < least {
            self.report(value.span(), &format!("{count} {what} are too few: at least {least}"), None);
            return None;
        }
        Some(count)
    }

    fn boolean(&mut self, value: Entry<'_, 't>) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            other => {
                self.report(value.span(), &format!("expected true or false, got {}", other.type_str()), None);
                None
            }
        }
    }

    fn strings(&mut self, value: Entry<'_, 't>) -> Option<Vec<String>> {
        let values = self.array(value, "an array of strings")?;
        values.iter().map(|value| self.string(value)).collect()
    }

    fn array<'v>(&mut self, value: &'v Spanned<DeValue<'t>>, what: &str) -> Option<&'v toml::de::DeArray<'t>> {
        match value.get_ref() {
            DeValue::Array(array) => Some(array),
            other => {
                self.report(value.span(), &format!("expected {what}, got {}", other.type_str()), None);
                None
            }
        }
    }

    fn table<'v>(&mut self, value: &'v Spanned<DeValue<'t>>, what: &str) -> Option<&'v DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            other => {
                self.report(value.span(), &format!("expected {what}, got {}", other.type_str()), None);
                None
            }
        }
    }

    fn unknown(&mut self, key: Key<'_, 't>, place: &str, known: &[&str], not_built: &[&str]) {
        let name = key.get_ref();
        if not_built.contains(&name.as_ref()) {
            let hint = "remove it: what it would grant or refuse is not in force";
            let message = format!("`{name}` in {place} is not built in this version");
            return self.report(key.span(), &message, Some(hint.to_owned()));
        }
        let hint = match nearest(name, known.iter().chain(not_built).copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", known.join(", ")),
        };
        self.report(key.span(), &format!("unknown key `{name}` in {place}"), Some(hint));
    }

    fn report(&mut self, span: Range<usize>, message: &str, hint: Option<String>) {
        if self.diagnostics.len() == MAX_DIAGNOSTICS {
            self.more += 1;
            return;
        }
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.diagnostics.push(Diagnostic {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.to_owned(),
            hint,
        });
    }

    fn diagnostics(mut self) -> Diagnostics {
        self.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        Diagnostics { told: self.diagnostics, more: self.more }
    }
}
