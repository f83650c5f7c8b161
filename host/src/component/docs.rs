//! Docs of a component: from its `witbox:manifest`, or from a `package-docs` section that another tool wrote.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::manifest::{self, InterfaceDocs, ItemDocs, Manifest, ManifestError};
use super::sections;

/// The section in which WIT packages carry docs (wit-parser's `PackageMetadata`).
pub(super) const PACKAGE_DOCS: &str = "package-docs";

/// Docs by interface and item.
#[derive(Debug, Default)]
pub(crate) struct Docs {
    manifest: BTreeMap<String, InterfaceDocs>,
    /// By the interface's name without its package, which `package-docs` does not tell.
    foreign: BTreeMap<String, InterfaceDocs>,
}

impl Docs {
    /// Reads both sections. One that cannot be read leaves a note.
    pub(super) fn read(component: &[u8], notes: &mut Vec<String>) -> Self {
        let mut kept = |docs| match docs {
            Ok(docs) => docs,
            Err(error) => {
                notes.push(format!("its docs cannot be read: {error}"));
                None
            }
        };
        let manifest = kept(Manifest::read(component).map(|manifest| Some(manifest?.docs)));
        let foreign = kept(PackageDocs::read(component).map(|docs| Some(docs?.by_interface())));
        Docs { manifest: manifest.unwrap_or_default(), foreign: foreign.unwrap_or_default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifest.is_empty() && self.foreign.is_empty()
    }

    /// The docs of a function or a type. The world is the interface of the empty name.
    pub(crate) fn item(&self, interface: &str, item: &str) -> Option<&str> {
        self.find(interface, item)?.docs.as_deref()
    }

    /// The docs of a field, a case or a flag of a type.
    pub(crate) fn member(&self, interface: &str, item: &str, member: &str) -> Option<&str> {
        self.find(interface, item)?.members.get(member).map(String::as_str)
    }

    fn find(&self, interface: &str, item: &str) -> Option<&ItemDocs> {
        let (path, _) = interface.split_once('@').unwrap_or((interface, ""));
        let (_, plain) = path.rsplit_once('/').unwrap_or(("", path));
        let holder = self.manifest.get(interface).or_else(|| self.foreign.get(plain))?;
        holder.items.get(item)
    }
}

/// What is read of `package-docs`. The format has more, none of which is for a model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PackageDocs {
    worlds: BTreeMap<String, ForeignWorld>,
    interfaces: BTreeMap<String, ForeignInterface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignWorld {
    types: BTreeMap<String, ForeignType>,
    funcs: BTreeMap<String, ForeignFunction>,
    func_exports: BTreeMap<String, ForeignFunction>,
    interfaces: BTreeMap<String, ForeignInterface>,
    interface_exports: BTreeMap<String, ForeignInterface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignInterface {
    docs: Option<String>,
    funcs: BTreeMap<String, ForeignFunction>,
    types: BTreeMap<String, ForeignType>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignType {
    docs: Option<String>,
    items: BTreeMap<String, String>,
}

/// A function's docs: a plain string in version 0 of the format, an object since.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ForeignFunction {
    Plain(Option<String>),
    Object {
        #[serde(default)]
        docs: Option<String>,
    },
}

impl PackageDocs {
    fn read(component: &[u8]) -> Result<Option<Self>, ManifestError> {
        let Some(contents) = sections::find(component, PACKAGE_DOCS)? else {
            return Ok(None);
        };
        // One byte of version, then JSON.
        let json = contents.get(1..).unwrap_or_default();
        manifest::read_json(PACKAGE_DOCS, json).map(Some)
    }

    fn by_interface(self) -> BTreeMap<String, InterfaceDocs> {
        let mut all: BTreeMap<String, InterfaceDocs> = BTreeMap::new();
        for (name, interface) in self.interfaces {
            all.insert(name, interface.into());
        }
        for world in self.worlds.into_values() {
            for (name, interface) in world.interfaces.into_iter().chain(world.interface_exports) {
                all.insert(name, interface.into());
            }
            let own = ForeignInterface {
                docs: None,
                funcs: world.funcs.into_iter().chain(world.func_exports).collect(),
                types: world.types,
            };
            all.entry(String::new()).or_default().items.extend(InterfaceDocs::from(own).items);
        }
        all
    }
}

impl From<ForeignInterface> for InterfaceDocs {
    fn from(foreign: ForeignInterface) -> Self {
        let functions = foreign.funcs.into_iter().map(|(name, function)| {
            let docs = match function {
                ForeignFunction::Plain(docs) | ForeignFunction::Object { docs } => docs,
            };
            (name, ItemDocs { docs, members: BTreeMap::new() })
        });
        let types = foreign.types.into_iter().map(|(name, ty)| (name, ItemDocs { docs: ty.docs, members: ty.items }));
        InterfaceDocs { docs: foreign.docs, items: functions.chain(types).collect() }
    }
}

/// A function's docs, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FunctionDocs {
    /// What is left without the sections.
    pub(crate) text: Option<String>,
    args: HashMap<String, String>,
}

impl FunctionDocs {
    /// The docs of a parameter, by its WIT name or that name in snake_case.
    pub(crate) fn arg(&self, name: &str) -> Option<&str> {
        let found = self.args.get(name).or_else(|| self.args.get(&name.replace('-', "_")));
        found.map(String::as_str)
    }
}

/// Takes the `Args:` section, in the form of Google's Python style guide, out of a function's docs: WIT has no docs for
/// parameters.
pub(crate) fn split_args(docs: &str) -> FunctionDocs {
    let mut text = String::new();
    let mut args: HashMap<String, String> = HashMap::new();
    let mut lines = docs.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() != "Args:" {
            text.push_str(line);
            text.push('\n');
            continue;
        }
        let outer = indent(line);
        let mut entry_indent = None;
        let mut current: Option<String> = None;
        while let Some(line) = lines.next_if(|line| line.trim().is_empty() || indent(line) > outer) {
            if line.trim().is_empty() {
                continue;
            }
            let entry = *entry_indent.get_or_insert(indent(line));
            match line.trim().split_once(':') {
                Some((name, about)) if indent(line) <= entry => {
                    // `name (type): text` names a type that the WIT says already.
                    let name = name.split_whitespace().next().unwrap_or_default().to_owned();
                    args.insert(name.clone(), about.trim().to_owned());
                    current = Some(name);
                }
                _ => {
                    if let Some(about) = current.as_ref().and_then(|name| args.get_mut(name)) {
                        about.push(' ');
                        about.push_str(line.trim());
                    }
                }
            }
        }
    }
    let text = text.trim();
    FunctionDocs { text: (!text.is_empty()).then(|| text.to_owned()), args }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn args_leave_the_description() {
        let docs = "Reads a file.\n\nLine by line.\n\nArgs:\n    path: Where it is.\n    max-lines (u32): At most\n        so many: really.\n\nReturns:\n    The lines.";
        let split = split_args(docs);
        assert_eq!(split.text.as_deref(), Some("Reads a file.\n\nLine by line.\n\nReturns:\n    The lines."));
        assert_eq!(split.arg("path"), Some("Where it is."));
        assert_eq!(split.arg("max-lines"), Some("At most so many: really."));
        assert_eq!(split.arg("other"), None);
    }

    #[test]
    fn an_empty_section_leaves_nothing() {
        assert_eq!(split_args("Args:"), FunctionDocs::default());
        assert_eq!(split_args(""), FunctionDocs::default());
    }

    #[test]
    fn both_versions_of_package_docs_are_read() {
        for (version, function) in [(0, r#""says hello""#), (1, r#"{"docs":"says hello","stability":{"stable":{}}}"#)] {
            let json =
                format!(r#"{{"docs":"x","later":1,"interfaces":{{"greet":{{"funcs":{{"hello":{function}}}}}}}}}"#);
            let mut contents = vec![version];
            contents.extend_from_slice(json.as_bytes());
            let component = sections::with(&wat::parse_str("(component)").unwrap(), PACKAGE_DOCS, &contents).unwrap();
            let docs = Docs::read(&component, &mut Vec::new());
            assert_eq!(docs.item("a:b/greet@1.0.0", "hello"), Some("says hello"));
        }
    }
}
