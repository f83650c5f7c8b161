//! What a compiler made → a component that keeps its docs.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;
use wit_parser::{Docs, Resolve, TypeDefKind, TypeId, WorldId, WorldItem, WorldKey};

use crate::component::{InterfaceDocs, ItemDocs, Manifest, ManifestError, imports_preview1, interface_name};
use crate::error::Error;

/// Why a component could not be packed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("the WIT in `{folder}` cannot be read: {reason}")]
    Wit { folder: String, reason: String },
    #[error("the module cannot be made a component: {0}")]
    Encode(String),
    #[error("nothing that the WIT documents is in the component, which has {0}")]
    Foreign(String),
    #[error("the WIT has no doc comments to keep")]
    NoDocs,
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// Puts the docs of the WIT in `folder` into a component's binary, where [`Component`](crate::Component) finds them:
/// component encoders drop them. A core module with the type section that wit-bindgen leaves in it is made a component
/// first, with the adapter for WASI preview 1 where it needs that.
///
/// `world` names the world that the component was built for; it may be left out where the package has one world only.
///
/// # Errors
/// When the WIT cannot be read, has no docs or is that of another component, or when the module has no such type
/// section.
pub fn pack(module: &[u8], folder: &Path, world: Option<&str>) -> Result<Vec<u8>, Error> {
    Ok(keep_docs(module, folder, world)?)
}

fn keep_docs(module: &[u8], folder: &Path, world: Option<&str>) -> Result<Vec<u8>, PackError> {
    let unreadable = |error: &dyn std::fmt::Display| PackError::Wit {
        folder: folder.display().to_string(),
        reason: format!("{error:#}"),
    };
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(folder).map_err(|error| unreadable(&error))?;
    let world = resolve.select_world(&[package], world).map_err(|error| unreadable(&error))?;

    let component = match wasmparser::Parser::is_core_wasm(module) {
        true => encode(module)?,
        false => module.to_vec(),
    };
    let names = interface_names(&component);
    let all = docs(&resolve, world);
    if all.is_empty() {
        return Err(PackError::NoDocs);
    }
    let mut kept = all;
    kept.retain(|interface, docs| {
        if interface.is_empty() {
            // The world's own items; its docs alone are no sign that the component is of this world.
            docs.items.retain(|name, _| names.contains(name.as_str()));
            return !docs.items.is_empty();
        }
        names.contains(interface.as_str())
    });
    if kept.is_empty() {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        let has = if names.is_empty() { "no imports and exports".to_owned() } else { names.join(", ") };
        return Err(PackError::Foreign(has));
    }
    Ok(Manifest::new(kept).write(&component)?)
}

fn encode(module: &[u8]) -> Result<Vec<u8>, PackError> {
    let encoder = ComponentEncoder::default().validate(true).module(module);
    let encoded = encoder.and_then(|encoder| {
        let mut encoder = match imports_preview1(module) {
            true => encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?,
            false => encoder,
        };
        encoder.encode()
    });
    encoded.map_err(|error| PackError::Encode(format!("{error:#}")))
}

/// The interfaces that a component imports or exports.
fn interface_names(component: &[u8]) -> HashSet<&str> {
    let mut names = HashSet::new();
    let mut depth = 0usize;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        match payload {
            Ok(wasmparser::Payload::ComponentImportSection(reader)) if depth == 0 => {
                names.extend(reader.into_iter().flatten().map(|import| import.name.name));
            }
            Ok(wasmparser::Payload::ComponentExportSection(reader)) if depth == 0 => {
                names.extend(reader.into_iter().flatten().map(|export| export.name.name));
            }
            Ok(wasmparser::Payload::ModuleSection { .. } | wasmparser::Payload::ComponentSection { .. }) => depth += 1,
            Ok(wasmparser::Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    names
}

/// Every doc comment of the WIT that a component of the world could need.
fn docs(resolve: &Resolve, world: WorldId) -> BTreeMap<String, InterfaceDocs> {
    let mut all = BTreeMap::new();
    for (id, interface) in resolve.interfaces.iter() {
        let mut docs = InterfaceDocs { docs: interface.docs.contents.clone(), items: BTreeMap::new() };
        for (name, function) in &interface.functions {
            keep(&mut docs, name, item(&function.docs));
        }
        for (name, id) in &interface.types {
            keep(&mut docs, name, type_docs(resolve, *id));
        }
        if docs != InterfaceDocs::default() {
            all.insert(interface_name(resolve, id), docs);
        }
    }
    let mut own = InterfaceDocs { docs: resolve.worlds[world].docs.contents.clone(), items: BTreeMap::new() };
    for (key, item_) in resolve.worlds[world].imports.iter().chain(&resolve.worlds[world].exports) {
        let WorldKey::Name(name) = key else { continue };
        match item_ {
            WorldItem::Function(function) => keep(&mut own, name, item(&function.docs)),
            WorldItem::Type { id, .. } => keep(&mut own, name, type_docs(resolve, *id)),
            WorldItem::Interface { .. } => {}
        }
    }
    if own != InterfaceDocs::default() {
        all.insert(String::new(), own);
    }
    all
}

fn keep(docs: &mut InterfaceDocs, name: &str, item: ItemDocs) {
    if item != ItemDocs::default() {
        docs.items.insert(name.to_owned(), item);
    }
}

fn item(docs: &Docs) -> ItemDocs {
    ItemDocs { docs: docs.contents.clone(), members: BTreeMap::new() }
}

fn type_docs(resolve: &Resolve, id: TypeId) -> ItemDocs {
    let def = &resolve.types[id];
    let members: Vec<(&String, &Docs)> = match &def.kind {
        TypeDefKind::Record(record) => record.fields.iter().map(|field| (&field.name, &field.docs)).collect(),
        TypeDefKind::Variant(variant) => variant.cases.iter().map(|case| (&case.name, &case.docs)).collect(),
        TypeDefKind::Enum(names) => names.cases.iter().map(|case| (&case.name, &case.docs)).collect(),
        TypeDefKind::Flags(names) => names.flags.iter().map(|flag| (&flag.name, &flag.docs)).collect(),
        _ => Vec::new(),
    };
    let members = members.into_iter().filter_map(|(name, docs)| Some((name.clone(), docs.contents.clone()?)));
    ItemDocs { members: members.collect(), ..item(&def.docs) }
}
