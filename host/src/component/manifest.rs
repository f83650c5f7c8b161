//! The custom section `witbox:manifest`: what an author's WIT says and component encoders drop.

use std::collections::BTreeMap;
use std::fmt;

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
    #[serde(flatten)]
    pub(crate) claims: Claims,
}

/// What an author writes in `tool.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// What people call the toolset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The author's version of it.
    #[serde(default, rename = "tool-version", skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needs: Option<Needs>,
    /// By function, as `interface#function` or, of the world itself, `function`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tools: BTreeMap<String, ToolClaims>,
}

/// What an author says of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ToolClaims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(flatten)]
    pub(crate) hints: Hints,
}

/// What a tool says of its effects. A claim: nothing is granted, cached or asked for by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Hints {
    /// Whether it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether what it changes may be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether it deals with the world outside of what it was granted, as a search of the web does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// What a component says that it must have: kinds, never paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Needs {
    /// To read files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
    /// To write files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write: bool,
    /// The origins that it sends requests to, such as `https://api.weather.example`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// The names of the secrets that requests to them carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The interfaces of the host that it imports, beside WASI's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut needs = Vec::new();
        needs.extend(self.read.then(|| "to read files".to_owned()));
        needs.extend(self.write.then(|| "to write files".to_owned()));
        for (what, names) in
            [("requests to", &self.origins), ("the secrets", &self.secrets), ("imports", &self.imports)]
        {
            if !names.is_empty() {
                needs.push(format!("{what} {}", names.join(", ")));
            }
        }
        f.write_str(if needs.is_empty() { "nothing" } else { "" })?;
        f.write_str(&needs.join("; "))
    }
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
    #[error("it has several sections `{SECTION}`")]
    Several,
    #[error("the manifest does not fit the component: {0}")]
    Misfit(String),
}

impl Manifest {
    /// A manifest of docs and claims.
    pub(crate) fn new(docs: BTreeMap<String, InterfaceDocs>, claims: Claims) -> Self {
        Manifest { version: VERSION, docs, claims }
    }

    /// Whether its author said more than docs.
    pub(crate) fn has_claims(&self) -> bool {
        self.claims != Claims::default()
    }

    /// Reads the manifest of a component's binary, if it has one.
    pub(crate) fn read(component: &[u8]) -> Result<Option<Self>, ManifestError> {
        let Some(contents) = sections::find(component, SECTION)? else {
            return Ok(None);
        };
        if sections::count(component, SECTION) > 1 {
            return Err(ManifestError::Several);
        }
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
