//! What is known of a component without opening it: what it is, what it offers, what it says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::docs::Docs;
use super::fit::Outline;
use super::manifest::{Manifest, ManifestError, Needs};
use super::metadata::Metadata;
use super::package_docs::PackageDocs;
use super::{decode, digest};
use crate::text::one_line;
use crate::tool::{Exported, derive};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(super) digest: String,
    pub(super) size: usize,
    /// Whether components within it call each other, so that it runs on the engine for those.
    pub(super) is_composed: bool,
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
    pub(super) exported: Exported,
    pub(super) documented: bool,
    pub(super) about: About,
    pub(super) notes: Vec<String>,
}

/// What it says of itself as a whole.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) docs: Option<String>,
    /// Those of its exported interfaces.
    pub(super) interface_docs: BTreeMap<String, String>,
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    pub(super) needs: Option<Needs>,
    pub(super) metadata: Metadata,
}

impl Description {
    /// Describes a component that came as `file`; `compiled` is what its bytes became.
    pub(super) fn of(file: &[u8], bytes: &[u8], compiled: &wasmtime::component::Component, is_composed: bool) -> Self {
        let engine = compiled.engine();
        let ty = compiled.component_type();
        let imports: Vec<String> = ty.imports(engine).map(|(name, _)| name.to_owned()).collect();
        let exports: Vec<String> = ty.exports(engine).map(|(name, _)| name.to_owned()).collect();
        let mut notes = Vec::new();
        let mut kept = |read: Result<Manifest, ManifestError>| {
            read.unwrap_or_else(|error| {
                notes.push(format!("its manifest is refused: {error}"));
                Manifest::default()
            })
        };
        let manifest = kept(Manifest::read(bytes).and_then(|manifest| {
            let Some(manifest) = manifest else { return Ok(Manifest::default()) };
            Outline::read(bytes).map_err(|error| ManifestError::Misfit(error.to_string()))?.check(&manifest)?;
            Ok(manifest)
        }));
        let foreign = PackageDocs::read(bytes).unwrap_or_else(|error| {
            notes.push(format!("its docs cannot be read: {error}"));
            None
        });
        let decoded = decode::wit(bytes);
        if let Err(reason) = &decoded {
            notes.push(format!("its WIT cannot be decoded, so that types have no docs: {reason}"));
        }
        let docs = Docs::new(manifest.docs, foreign.map(PackageDocs::by_interface).unwrap_or_default());
        let exported = derive(engine, compiled, decoded.as_ref().ok(), &docs, &manifest.claims.tools);
        let claims = manifest.claims;
        let about = About {
            docs: docs.interface("").map(|docs| docs.to_string()),
            interface_docs: exports
                .iter()
                .filter_map(|export| Some((export.clone(), docs.interface(export)?.to_string())))
                .collect(),
            title: claims.title.as_deref().map(one_line),
            version: claims.version.as_deref().map(one_line),
            needs: claims.needs,
            metadata: Metadata::read(bytes),
        };
        Description {
            digest: digest(file),
            size: file.len(),
            is_composed,
            imports,
            exports,
            exported,
            documented: !docs.is_empty(),
            about,
            notes,
        }
    }
}
