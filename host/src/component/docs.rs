//! The docs of a component, by interface and item.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::manifest::{InterfaceDocs, ItemDocs};
use crate::text::visible;

/// The longest text that a model is shown of one thing, in bytes.
const MAX_TEXT: usize = 16 << 10;
/// The most that a model is shown of one tool, in bytes: a type that is used often brings its docs each time.
const MAX_TEXT_OF_A_TOOL: usize = 256 << 10;

/// Docs from a `witbox:manifest`, or from a `package-docs` section that another tool wrote.
#[derive(Debug, Default)]
pub(crate) struct Docs {
    manifest: BTreeMap<String, Interface>,
    /// By the interface's name without its package, which `package-docs` does not tell.
    foreign: BTreeMap<String, Interface>,
    asked: Cell<Asked>,
}

#[derive(Debug)]
struct Interface {
    docs: Option<Text>,
    items: BTreeMap<String, Item>,
}

#[derive(Debug)]
struct Item {
    docs: Option<Text>,
    members: BTreeMap<String, Text>,
}

/// What a person would see of a text. A model is shown no more than that.
#[derive(Debug)]
struct Text {
    shown: Arc<str>,
    hidden: usize,
    is_cut: bool,
}

/// What was asked for since a tool was begun.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    bytes: usize,
    /// Characters that show nothing and were left out.
    pub(crate) hidden: usize,
    /// Texts that were cut, or left out as there was too much before them.
    pub(crate) cut: usize,
}

impl Docs {
    pub(super) fn new(manifest: BTreeMap<String, InterfaceDocs>, foreign: BTreeMap<String, InterfaceDocs>) -> Self {
        let shown = |docs: BTreeMap<String, InterfaceDocs>| {
            docs.into_iter().map(|(name, docs)| (name, Interface::from(docs))).collect()
        };
        Docs { manifest: shown(manifest), foreign: shown(foreign), asked: Cell::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifest.is_empty() && self.foreign.is_empty()
    }

    /// Begins another tool.
    pub(crate) fn begin(&self) {
        self.asked.take();
    }

    /// What was asked for of the tool at hand.
    pub(crate) fn asked(&self) -> Asked {
        self.asked.get()
    }

    /// The docs of an interface. The world is the interface of the empty name, here and below.
    pub(crate) fn interface(&self, interface: &str) -> Option<Arc<str>> {
        self.show(self.holder(interface)?.docs.as_ref()?)
    }

    /// The docs of a function or a type.
    pub(crate) fn item(&self, interface: &str, item: &str) -> Option<Arc<str>> {
        self.show(self.find(interface, item)?.docs.as_ref()?)
    }

    /// Whether a function or a type has docs.
    pub(crate) fn has_item(&self, interface: &str, item: &str) -> bool {
        self.find(interface, item).is_some_and(|item| item.docs.is_some())
    }

    /// The docs of a field, a case or a flag of a type.
    pub(crate) fn member(&self, interface: &str, item: &str, member: &str) -> Option<Arc<str>> {
        self.show(self.find(interface, item)?.members.get(member)?)
    }

    fn show(&self, text: &Text) -> Option<Arc<str>> {
        let mut asked = self.asked.get();
        let fits = asked.bytes + text.shown.len() <= MAX_TEXT_OF_A_TOOL;
        asked.hidden += text.hidden;
        asked.cut += usize::from(text.is_cut || !fits);
        asked.bytes += if fits { text.shown.len() } else { 0 };
        self.asked.set(asked);
        (fits && !text.shown.is_empty()).then(|| text.shown.clone())
    }

    fn find(&self, interface: &str, item: &str) -> Option<&Item> {
        self.holder(interface)?.items.get(item)
    }

    fn holder(&self, interface: &str) -> Option<&Interface> {
        let (path, _) = interface.split_once('@').unwrap_or((interface, ""));
        let (_, plain) = path.rsplit_once('/').unwrap_or(("", path));
        self.manifest.get(interface).or_else(|| self.foreign.get(plain))
    }
}

impl From<InterfaceDocs> for Interface {
    fn from(docs: InterfaceDocs) -> Self {
        let items = docs.items.into_iter().map(|(name, item)| (name, Item::from(item)));
        Interface { docs: docs.docs.as_deref().map(Text::of), items: items.collect() }
    }
}

impl From<ItemDocs> for Item {
    fn from(docs: ItemDocs) -> Self {
        let members = docs.members.iter().map(|(name, text)| (name.clone(), Text::of(text)));
        Item { docs: docs.docs.as_deref().map(Text::of), members: members.collect() }
    }
}

impl Text {
    fn of(text: &str) -> Self {
        let (text, hidden) = visible(text);
        let text = text.trim();
        let end = text.floor_char_boundary(MAX_TEXT);
        Text { shown: text[..end].into(), hidden, is_cut: end < text.len() }
    }
}
