//! The section `package-docs`, in which WIT packages carry docs (wit-parser's `PackageMetadata`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::manifest::{self, InterfaceDocs, ItemDocs, ManifestError};
use super::sections;

/// The section's name.
pub(super) const SECTION: &str = "package-docs";

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
    pub(super) fn read(component: &[u8]) -> Result<Option<Self>, ManifestError> {
        let Some(contents) = sections::find(component, SECTION)? else {
            return Ok(None);
        };
        // One byte of version, then JSON.
        let json = contents.get(1..).unwrap_or_default();
        manifest::read_json(SECTION, json).map(Some)
    }

    /// The docs by interface; those of all worlds together under the empty name.
    pub(super) fn by_interface(self) -> BTreeMap<String, InterfaceDocs> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_package_docs_are_read() {
        for (version, function) in [(0, r#""says hello""#), (1, r#"{"docs":"says hello","stability":{"stable":{}}}"#)] {
            let json =
                format!(r#"{{"docs":"x","later":1,"interfaces":{{"greet":{{"funcs":{{"hello":{function}}}}}}}}}"#);
            let mut contents = vec![version];
            contents.extend_from_slice(json.as_bytes());
            let component = sections::with(&wat::parse_str("(component)").unwrap(), SECTION, &contents).unwrap();
            let docs = PackageDocs::read(&component).unwrap().unwrap().by_interface();
            assert_eq!(docs["greet"].items["hello"].docs.as_deref(), Some("says hello"));
        }
    }
}
