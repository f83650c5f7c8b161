//! Whether a manifest is that of its component.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::component_types::ComponentEntityType;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use super::manifest::{Claims, Hints, Manifest, ManifestError, Needs};
use crate::tool::{is_command, nearest};

/// What of a component a manifest may speak of.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// The names of what it imports.
    imports: BTreeSet<String>,
    /// The names of what it exports.
    exports: BTreeSet<String>,
    /// The functions among its exports, as `interface#function` or `function`.
    functions: BTreeSet<String>,
    /// The functions and types of each interface that it imports or exports; those of the world itself under the empty
    /// name.
    items: BTreeMap<String, BTreeSet<String>>,
}

impl Outline {
    /// Whether it runs a program.
    pub(crate) fn is_program(&self) -> bool {
        self.exports.iter().any(|export| is_command(export))
    }

    /// Reads it from a component's binary.
    pub(crate) fn read(component: &[u8]) -> Result<Self, wasmparser::BinaryReaderError> {
        let mut outline = Outline::default();
        let mut depth = 0usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::ComponentImportSection(reader) if depth == 0 => {
                    for import in reader {
                        outline.imports.insert(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(reader) if depth == 0 => {
                    for export in reader {
                        outline.exports.insert(export?.name.name.to_owned());
                    }
                }
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        let types = Validator::new_with_features(WasmFeatures::all()).validate_all(component)?;
        let types = types.as_ref();
        let imports = outline.imports.iter().map(|name| (name, types.component_item_for_import(name), false));
        let exports = outline.exports.iter().map(|name| (name, types.component_item_for_export(name), true));
        for (name, item, is_export) in imports.chain(exports) {
            let Some(item) = item else { continue };
            let ComponentEntityType::Instance(instance) = item.ty else {
                outline.items.entry(String::new()).or_default().insert(name.clone());
                if is_export && matches!(item.ty, ComponentEntityType::Func(_)) {
                    outline.functions.insert(name.clone());
                }
                continue;
            };
            let items = outline.items.entry(name.clone()).or_default();
            for (inner, item) in &types[instance].exports {
                items.insert(inner.clone());
                if is_export && matches!(item.ty, ComponentEntityType::Func(_)) {
                    outline.functions.insert(format!("{name}#{inner}"));
                }
            }
        }
        Ok(outline)
    }

    /// Whether it imports or exports an interface of this name.
    pub(crate) fn has_interface(&self, name: &str) -> bool {
        self.items.contains_key(name)
    }

    /// Whether an interface that it imports or exports, or the world itself, has a function or a type of this name.
    pub(crate) fn has_item(&self, interface: &str, item: &str) -> bool {
        self.items.get(interface).is_some_and(|items| items.contains(item))
    }

    /// The functions that it exports, but for those of WASI's interfaces and of resources.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        let functions = self.functions.iter().map(String::as_str);
        functions.filter(|function| !function.starts_with("wasi:") && !function.contains('['))
    }

    /// What it imports and exports.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.exports.union(&self.imports).map(String::as_str)
    }

    /// The functions that are meant by a name: by `interface#function`, or by the function alone.
    pub(crate) fn functions_named(&self, name: &str) -> Vec<&str> {
        if let Some(function) = self.functions.get(name) {
            return vec![function];
        }
        // By the function alone, or without the interface's version.
        let is_named = |function: &&String| {
            let (interface, plain) = function.rsplit_once('#').unwrap_or(("", function));
            let (path, _) = interface.split_once('@').unwrap_or((interface, ""));
            !plain.starts_with('[') && (plain == name || format!("{path}#{plain}") == name)
        };
        self.functions.iter().filter(is_named).map(String::as_str).collect()
    }

    /// Why no function goes by a name: the nearest that does, or all.
    pub(crate) fn no_function(&self, name: &str) -> String {
        let plain =
            |function: &str| function.rsplit_once('#').map_or(function.to_owned(), |(_, plain)| plain.to_owned());
        let known: BTreeSet<String> = self.functions.iter().map(|function| plain(function)).collect();
        let hint = match nearest(&plain(name), known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "there is none".to_owned(),
            None => format!("there are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        format!("the component exports no function `{name}`; {hint}")
    }

    /// Whether a manifest speaks of this component.
    ///
    /// # Errors
    /// The first thing in which they differ.
    pub(crate) fn check(&self, manifest: &Manifest) -> Result<(), ManifestError> {
        let fits = self.check_docs(manifest).and_then(|()| self.check_claims(&manifest.claims));
        fits.map_err(ManifestError::Misfit)
    }

    fn check_docs(&self, manifest: &Manifest) -> Result<(), String> {
        for (interface, docs) in &manifest.docs {
            // Docs of the world itself are under the empty name, and may be all that there is.
            if !interface.is_empty() && !self.items.contains_key(interface) {
                return Err(format!("it documents `{interface}`, which the component neither imports nor exports"));
            }
            if let Some(item) = docs.items.keys().find(|item| !self.has_item(interface, item)) {
                let place = if interface.is_empty() { "the world".to_owned() } else { format!("`{interface}`") };
                return Err(format!("it documents `{item}` of {place}, which the component does not have"));
            }
        }
        Ok(())
    }

    /// Whether what an author says can be true of this component.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub(crate) fn check_claims(&self, claims: &Claims) -> Result<(), String> {
        for (function, tool) in &claims.tools {
            if !self.functions.contains(function) {
                return Err(self.no_function(function));
            }
            check_hints(function, tool.hints)?;
        }
        claims.needs.as_ref().map_or(Ok(()), |needs| self.check_needs(needs))
    }

    fn check_needs(&self, needs: &Needs) -> Result<(), String> {
        if (needs.read || needs.write) && !self.has_import("wasi:filesystem/") {
            return Err(
                "it needs to read or write files, but the component does not import `wasi:filesystem`".to_owned()
            );
        }
        for origin in &needs.origins {
            check_origin(origin)?;
        }
        let reaches_out = !needs.origins.is_empty() || !needs.secrets.is_empty();
        if reaches_out && !self.reaches_network() {
            return Err(
                "it needs origins or secrets, but the component imports neither `wasi:http` nor `wasi:sockets`"
                    .to_owned(),
            );
        }
        for secret in &needs.secrets {
            if secret.is_empty() || !secret.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
                return Err(format!("`{secret}` is no name of a secret: use lower-case letters, digits and `-`"));
            }
        }
        for import in &needs.imports {
            if !self.imports.contains(import) {
                return Err(format!("it needs the import `{import}`, which the component does not have"));
            }
        }
        Ok(())
    }

    fn reaches_network(&self) -> bool {
        self.has_import("wasi:http/") || self.has_import("wasi:sockets/")
    }

    fn has_import(&self, prefix: &str) -> bool {
        self.imports.iter().any(|import| import.starts_with(prefix))
    }
}

fn check_hints(function: &str, hints: Hints) -> Result<(), String> {
    if hints.read_only == Some(true) && hints.destructive == Some(true) {
        return Err(format!("`{function}` is said to be both read-only and destructive"));
    }
    Ok(())
}

/// An origin is scheme, host and perhaps a port (RFC 6454).
fn check_origin(text: &str) -> Result<(), String> {
    let refuse = || format!("`{text}` is no origin: expected one like `https://api.weather.example`, without a path");
    let uri: http::Uri = text.parse().map_err(|_| refuse())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_bare = uri.path_and_query().is_none_or(|path| path == "/") && !text.ends_with('/') && !text.contains('@');
    if is_web && is_bare && uri.host().is_some_and(|host| !host.is_empty()) { Ok(()) } else { Err(refuse()) }
}
