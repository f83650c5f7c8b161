//! The components that come with witbox.

use super::ComponentError;

const BUILTINS: [(&str, &[u8]); 5] = [
    ("data", include_bytes!("../../builtin/data.wasm")),
    ("files", include_bytes!("../../builtin/files.wasm")),
    ("probe", include_bytes!("../../builtin/probe.wasm")),
    ("resources", include_bytes!("../../builtin/resources.wasm")),
    ("triage", include_bytes!("../../builtin/triage.wasm")),
];

/// One of them: its name and its bytes.
pub(super) fn find(name: &str) -> Result<(&'static str, &'static [u8]), ComponentError> {
    let found = BUILTINS.iter().find(|(known, _)| *known == name);
    found.copied().ok_or_else(|| ComponentError::NoBuiltin {
        name: name.to_owned(),
        known: BUILTINS.map(|(known, _)| known).join(", "),
    })
}
