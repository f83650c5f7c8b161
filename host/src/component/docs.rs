//! The docs of a component, by interface and item.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::manifest::{InterfaceDocs, ItemDocs};
use crate::text::visible;

/// Docs from a `witbox:manifest`, or from a `package-docs` section that another tool wrote.
#[derive(Debug, Default)]
pub(crate) struct Docs {
    manifest: BTreeMap<String, InterfaceDocs>,
    /// By the interface's name without its package, which `package-docs` does not tell.
    foreign: BTreeMap<String, InterfaceDocs>,
    hidden: Cell<usize>,
}

impl Docs {
    pub(super) fn new(manifest: BTreeMap<String, InterfaceDocs>, foreign: BTreeMap<String, InterfaceDocs>) -> Self {
        Docs { manifest, foreign, hidden: Cell::new(0) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifest.is_empty() && self.foreign.is_empty()
    }

    /// The docs of an interface. The world is the interface of the empty name, here and below.
    pub(crate) fn interface(&self, interface: &str) -> Option<String> {
        self.shown(self.holder(interface)?.docs.as_deref())
    }

    /// The docs of a function or a type.
    pub(crate) fn item(&self, interface: &str, item: &str) -> Option<String> {
        self.shown(self.find(interface, item)?.docs.as_deref())
    }

    /// Whether a function or a type has docs.
    pub(crate) fn has_item(&self, interface: &str, item: &str) -> bool {
        self.find(interface, item).is_some_and(|item| item.docs.is_some())
    }

    /// The docs of a field, a case or a flag of a type.
    pub(crate) fn member(&self, interface: &str, item: &str, member: &str) -> Option<String> {
        self.shown(self.find(interface, item)?.members.get(member).map(String::as_str))
    }

    /// How many hidden characters were left out of what was asked for since the last time.
    pub(crate) fn take_hidden(&self) -> usize {
        self.hidden.take()
    }

    /// What a person would see of a text. A model is shown no more than that.
    fn shown(&self, text: Option<&str>) -> Option<String> {
        let (text, hidden) = visible(text?);
        self.hidden.set(self.hidden.get() + hidden);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn find(&self, interface: &str, item: &str) -> Option<&ItemDocs> {
        self.holder(interface)?.items.get(item)
    }

    fn holder(&self, interface: &str) -> Option<&InterfaceDocs> {
        let (path, _) = interface.split_once('@').unwrap_or((interface, ""));
        let (_, plain) = path.rsplit_once('/').unwrap_or(("", path));
        self.manifest.get(interface).or_else(|| self.foreign.get(plain))
    }
}
