//! The walk over what a toolset may send, and the secrets that go with it.

use toml::de::DeValue;

use super::super::{SecretPlan, SecretSource};
use super::{Entry, Key, Reader};
use crate::policy::{HttpRule, Origin, Secret};

impl<'t> Reader<'t> {
    /// An origin, or a table with one.
    pub(super) fn http_rule(&mut self, value: Entry<'_, 't>, toolset: &str) -> Option<HttpRule> {
        if let DeValue::String(_) = value.get_ref() {
            return Some(HttpRule::new(self.origin(value)?));
        }
        let place = format!("http of [toolset.{toolset}]");
        let table = self.table(value, "an origin such as \"https://api.example\", or a table with one")?;
        let mut origin = None;
        let mut methods = None;
        let mut private = false;
        let mut authorities = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "origin" => origin = self.origin(value),
                "methods" => methods = self.methods(value),
                "private" => private = self.boolean(value).unwrap_or_default(),
                "ca-file" => authorities = self.string(value).map(|file| self.folder.join(file)),
                _ => self.unknown(key, &place, &["origin", "methods", "private", "ca-file"], &[]),
            }
        }
        if !table.contains_key("origin") {
            self.report(value.span(), &format!("{place} has no `origin`"), None);
        }
        let mut rule = HttpRule::new(origin?);
        if let Some(methods) = methods {
            rule = rule.methods(&methods.iter().map(String::as_str).collect::<Vec<_>>());
        }
        if private {
            rule = rule.private();
        }
        Some(match authorities {
            Some(file) => rule.trusting(file),
            None => rule,
        })
    }

    /// A program that is named by a path is found from the file, as all paths are.
    fn command(&mut self, value: Entry<'_, 't>) -> Option<Vec<String>> {
        let mut command = self.strings(value)?;
        match command.first_mut() {
            None => self.report(value.span(), "a command names at least a program", None),
            Some(program) if program.contains('/') => *program = self.folder.join(&*program).display().to_string(),
            Some(_) => {}
        }
        Some(command)
    }

    fn origin(&mut self, value: Entry<'_, 't>) -> Option<Origin> {
        let text = self.string(value)?;
        let origin = Origin::parse(&text);
        origin.map_err(|error| self.report(value.span(), &error.to_string(), None)).ok()
    }

    fn methods(&mut self, value: Entry<'_, 't>) -> Option<Vec<String>> {
        let methods = self.strings(value)?;
        if methods.is_empty() {
            self.report(value.span(), "`methods` names none; leave it out for all but CONNECT and TRACE", None);
        }
        for method in &methods {
            if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase()) {
                self.report(
                    value.span(),
                    &format!("`{method}` is no method: they are in capitals, as in \"GET\""),
                    None,
                );
            } else if matches!(method.as_str(), "CONNECT" | "TRACE") {
                self.report(value.span(), &format!("{method} is never granted"), None);
            }
        }
        Some(methods)
    }

    pub(super) fn secret(&mut self, key: Key<'_, 't>, value: Entry<'_, 't>, toolset: &str) -> Option<SecretPlan> {
        let name = key.get_ref().to_string();
        let place = format!("[toolset.{toolset}.secret.{name}]");
        let table = self.table(value, "a table")?;
        let mut sources = Vec::new();
        let mut origin = None;
        let mut header = None;
        let mut format = None;
        let mut exposed = false;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "from-env" => sources.push(self.string(value).map(SecretSource::Variable)),
                "from-file" => {
                    sources.push(self.string(value).map(|file| SecretSource::File(self.folder.join(file))));
                }
                "from-command" => sources.push(self.command(value).map(SecretSource::Command)),
                "origin" => origin = self.origin(value),
                "header" => header = self.string(value),
                "format" => format = self.string(value),
                "expose" => exposed = self.boolean(value).unwrap_or_default(),
                _ => {
                    let known = ["from-env", "from-file", "from-command", "origin", "header", "format", "expose"];
                    self.unknown(key, &place, &known, &[]);
                }
            }
        }
        let [source] = sources.as_slice() else {
            let hint = "write one of from-env = \"NAME\", from-file = \"path\" and from-command = [\"program\"]";
            let message = format!("{place} must say where its value comes from, once");
            self.report(key.span(), &message, Some(hint.to_owned()));
            return None;
        };
        let is_spent = ["origin", "header", "format"].iter().any(|key| table.contains_key(*key));
        if is_spent && !table.contains_key("origin") || !is_spent && !exposed {
            let hint = "write origin = \"https://api.example\" and header = \"authorization\", or expose = true";
            self.report(key.span(), &format!("{place} does not say what it is for"), Some(hint.to_owned()));
        }
        if table.contains_key("origin") && !table.contains_key("header") {
            let hint = "such as header = \"authorization\" with format = \"Bearer {}\"";
            self.report(key.span(), &format!("{place} has no `header`"), Some(hint.to_owned()));
        }
        let spent = match (origin, header) {
            (Some(origin), Some(header)) => Some((origin, header, format.unwrap_or_else(|| "{}".to_owned()))),
            _ => None,
        };
        let plan = SecretPlan { name, source: source.clone()?, spent, exposed };
        // All but the value can be told now.
        let placeholder = Secret::new(&plan.name, "placeholder");
        let checked = placeholder.and_then(|secret| match &plan.spent {
            Some((origin, header, format)) => secret.spent_at(origin.clone(), header, format),
            None => Ok(secret),
        });
        checked.map_err(|error| self.report(key.span(), &error.to_string(), None)).ok()?;
        Some(plan)
    }
}
