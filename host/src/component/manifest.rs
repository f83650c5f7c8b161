//! The custom section `witbox:manifest`: what an author's WIT says and component encoders drop.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sections::{self, SectionError};

/// The section's name.
pub(crate) const SECTION: &str = "witbox:manifest";
/// The largest manifest that is read or written, in bytes; docs of a whole WASI are some 200 KB.
const MAX_BYTES: usize = 1 << 20;
/// The version of the format that is written. A reader refuses what is newer.
const VERSION: u32 = 1;

/// What a component says of itself. All of it is a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    /// Docs by interface, as `namespace:package/name@version` or a plain name; the world's own under the empty name.
    #[serde(default)]
    pub(crate) docs: BTreeMap<String, InterfaceDocs>,
}

/// The docs of one interface and of what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InterfaceDocs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) docs: Option<String>,
    /// Functions and types, which share one namespace in WIT.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) items: BTreeMap<String, ItemDocs>,
}

/// The docs of a function, or of a type with its fields, cases or flags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemDocs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) docs: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) members: BTreeMap<String, String>,
}

/// A manifest that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error(transparent)]
    Section(#[from] SectionError),
    #[error("its section `{section}` has {bytes} bytes, at most {MAX_BYTES} are read")]
    TooLarge { section: &'static str, bytes: usize },
    #[error("its section `{section}` is not the JSON that is expected there: {error}")]
    Json { section: &'static str, error: serde_json::Error },
    #[error("its section `{SECTION}` is of version {0}; this witbox reads version {VERSION}")]
    Version(u32),
}

impl Manifest {
    /// A manifest with docs.
    pub(crate) fn new(docs: BTreeMap<String, InterfaceDocs>) -> Self {
        Manifest { version: VERSION, docs }
    }

    /// Reads the manifest of a component's binary, if it has one.
    pub(crate) fn read(component: &[u8]) -> Result<Option<Self>, ManifestError> {
        let Some(contents) = sections::find(component, SECTION)? else {
            return Ok(None);
        };
        let manifest: Manifest = read_json(SECTION, contents)?;
        if manifest.version != VERSION {
            return Err(ManifestError::Version(manifest.version));
        }
        Ok(Some(manifest))
    }

    /// A copy of a component's binary with this manifest in place of any that it has.
    pub(crate) fn write(&self, component: &[u8]) -> Result<Vec<u8>, ManifestError> {
        let contents = serde_json::to_vec(self).map_err(|error| ManifestError::Json { section: SECTION, error })?;
        if contents.len() > MAX_BYTES {
            return Err(ManifestError::TooLarge { section: SECTION, bytes: contents.len() });
        }
        Ok(sections::with(component, SECTION, &contents)?)
    }
}

/// Reads a section that holds JSON.
pub(super) fn read_json<T: DeserializeOwned>(section: &'static str, json: &[u8]) -> Result<T, ManifestError> {
    if json.len() > MAX_BYTES {
        return Err(ManifestError::TooLarge { section, bytes: json.len() });
    }
    serde_json::from_slice(json).map_err(|error| ManifestError::Json { section, error })
}
