//! The walk over what a toolset may do with files: its mounts and its rules.

use toml::de::DeValue;

use super::super::units::parse_bytes;
use super::{Entry, Reader};
use crate::policy::{Effect, FsRule, GuestPath, Mount, Operation, PathPattern};

impl<'t> Reader<'t> {
    pub(super) fn mount(&mut self, value: Entry<'_, 't>, toolset: &str) -> Option<Mount> {
        let place = format!("[[toolset.{toolset}.mount]]");
        let table = self.table(value, "a table")?;
        let mut host = None;
        let mut guest = None;
        let mut writable = false;
        let mut crosses_devices = false;
        let mut makes_links = false;
        let mut is_shown = false;
        let mut max_bytes = None;
        let mut max_files = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "host" => {
                    host = self.string(value).filter(|host| !host.is_empty());
                    if matches!(value.get_ref(), DeValue::String(text) if text.is_empty()) {
                        self.report(value.span(), "an empty text is no folder", None);
                    }
                }
                "guest" => {
                    let text = self.string(value);
                    guest = text.and_then(|text| match GuestPath::parse(&text) {
                        Ok(path) => Some(path),
                        Err(error) => {
                            self.report(value.span(), &error.to_string(), None);
                            None
                        }
                    });
                }
                "mode" => match self.string(value).as_deref() {
                    Some("ro") => {}
                    Some("rw") => writable = true,
                    Some(text) => {
                        self.report(value.span(), &format!("`{text}` is no mode: expected \"ro\" or \"rw\""), None);
                    }
                    None => {}
                },
                "max-bytes" => self.set(value, &mut max_bytes, |text| parse_bytes(text).map(Some)),
                "max-files" => max_files = self.count(value, "files"),
                "resources" => is_shown = self.boolean(value).unwrap_or_default(),
                "symlinks" => makes_links = self.boolean(value).unwrap_or_default(),
                "cross-devices" => crosses_devices = self.boolean(value).unwrap_or_default(),
                _ => {
                    let known =
                        ["host", "guest", "mode", "resources", "symlinks", "cross-devices", "max-bytes", "max-files"];
                    self.unknown(key, &place, &known, &[]);
                }
            }
        }
        for name in ["host", "guest"] {
            if !table.contains_key(name) {
                self.report(value.span(), &format!("{place} has no `{name}`"), None);
            }
        }
        let host = self.folder.join(host?);
        let mount = if writable { Mount::read_write(host, guest?) } else { Mount::read_only(host, guest?) };
        let (max_bytes, max_files) = (max_bytes.unwrap_or(mount.max_bytes), max_files.unwrap_or(mount.max_files));
        let mount = mount.quota(max_bytes, max_files);
        let mount = if is_shown { mount.shown() } else { mount };
        let mount = if makes_links { mount.making_links() } else { mount };
        Some(if crosses_devices { mount.crossing_devices() } else { mount })
    }

    /// A rule has one of `allow` and `deny`, and the paths that it is about.
    pub(super) fn fs_rule(&mut self, value: Entry<'_, 't>, toolset: &str) -> Option<FsRule> {
        let place = format!("[[toolset.{toolset}.fs]]");
        let mut effects: Vec<(Effect, Vec<Operation>)> = Vec::new();
        let mut patterns = None;
        let table = self.table(value, "a table")?;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "allow" => effects.push((Effect::Allow, self.operations(value))),
                "deny" => effects.push((Effect::Deny, self.operations(value))),
                "ask" => effects.push((Effect::Ask, self.operations(value))),
                "paths" => patterns = Some(self.patterns(value)),
                _ => self.unknown(key, &place, &["allow", "deny", "ask", "paths"], &[]),
            }
        }
        if !table.contains_key("paths") {
            let hint = "name the paths that it is about, such as paths = [\"/docs/**\"]";
            self.report(value.span(), &format!("{place} has no `paths`"), Some(hint.to_owned()));
        }
        let [(effect, operations)] = effects.as_slice() else {
            let hint = "write one of them in each rule, such as allow = [\"read\", \"write\"]";
            let message = format!("{place} must have one of `allow`, `deny` and `ask`");
            self.report(value.span(), &message, Some(hint.to_owned()));
            return None;
        };
        Some(match effect {
            Effect::Allow => FsRule::allow(operations, patterns?),
            Effect::Deny => FsRule::deny(operations, patterns?),
            Effect::Ask => FsRule::ask(operations, patterns?),
        })
    }

    fn operations(&mut self, value: Entry<'_, 't>) -> Vec<Operation> {
        let mut operations = Vec::new();
        let names = self.strings(value);
        if names.as_ref().is_some_and(Vec::is_empty) {
            self.report(value.span(), "a rule about no operation decides nothing", None);
        }
        for name in names.into_iter().flatten() {
            match name.as_str() {
                "read" => operations.push(Operation::Read),
                "write" => operations.push(Operation::Write),
                _ => {
                    let message = format!("`{name}` is no operation on files: expected \"read\" or \"write\"");
                    self.report(value.span(), &message, None);
                }
            }
        }
        operations
    }

    pub(super) fn patterns(&mut self, value: Entry<'_, 't>) -> Vec<PathPattern> {
        let mut patterns = Vec::new();
        let texts = self.strings(value);
        if texts.as_ref().is_some_and(Vec::is_empty) {
            self.report(value.span(), "a rule about no path decides nothing", None);
        }
        for text in texts.into_iter().flatten() {
            match PathPattern::parse(&text) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => self.report(value.span(), &error.to_string(), None),
            }
        }
        patterns
    }
}
