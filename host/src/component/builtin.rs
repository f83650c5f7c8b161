//! The components that come with witbox.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::ComponentError;

const BUILTINS: [(&str, &[u8]); 5] = [
    ("data", include_bytes!("../../builtin/data.wasm")),
    ("files", include_bytes!("../../builtin/files.wasm")),
    ("probe", include_bytes!("../../builtin/probe.wasm")),
    ("resources", include_bytes!("../../builtin/resources.wasm")),
    ("triage", include_bytes!("../../builtin/triage.wasm")),
];

/// What they were built from and became, as their build says; a test holds it to the bytes.
const MANIFEST: &str = include_str!("../../builtin/manifest.json");

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) bytes: &'static [u8],
    /// `sha256:` and the hexadecimal SHA-256 of its bytes.
    pub(super) digest: &'static str,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(borrow)]
    tools: HashMap<&'static str, Digests>,
}

#[derive(Deserialize)]
struct Digests {
    component: &'static str,
}

pub(super) fn find(name: &str) -> Result<Builtin, ComponentError> {
    static DIGESTS: OnceLock<HashMap<&str, Digests>> = OnceLock::new();
    let digests = DIGESTS
        .get_or_init(|| serde_json::from_str::<Manifest>(MANIFEST).map(|manifest| manifest.tools).unwrap_or_default());
    let found = BUILTINS.iter().find(|(known, _)| *known == name);
    let found = found.and_then(|(name, bytes)| Some(Builtin { name, bytes, digest: digests.get(name)?.component }));
    found.ok_or_else(|| ComponentError::NoBuiltin {
        name: name.to_owned(),
        known: BUILTINS.map(|(known, _)| known).join(", "),
    })
}
