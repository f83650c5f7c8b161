//! The doc comments of a WIT.

use std::collections::BTreeMap;

use wit_parser::{Docs, Resolve, TypeDefKind, TypeId, WorldId, WorldItem, WorldKey};

use crate::component::{InterfaceDocs, ItemDocs, interface_name};

/// Every doc comment of the WIT that a component of the world could need.
pub(super) fn wit_docs(resolve: &Resolve, world: WorldId) -> BTreeMap<String, InterfaceDocs> {
    let mut all = BTreeMap::new();
    // A plain name may be that of an import and of an export; the model is told of what is exported.
    let exported = |id| {
        resolve.worlds[world]
            .exports
            .values()
            .any(|item| matches!(item, WorldItem::Interface { id: exported, .. } if *exported == id))
    };
    let mut interfaces: Vec<_> = resolve.interfaces.iter().collect();
    interfaces.sort_by_key(|(id, _)| exported(*id));
    for (id, interface) in interfaces {
        let mut docs = InterfaceDocs { docs: interface.docs.contents.clone(), items: BTreeMap::new() };
        for (name, function) in &interface.functions {
            keep(&mut docs, name, item(&function.docs));
        }
        for (name, id) in &interface.types {
            keep(&mut docs, name, type_docs(resolve, *id));
        }
        if docs != InterfaceDocs::default() || exported(id) {
            all.insert(interface_name(resolve, id), docs);
        }
    }
    all.retain(|_, docs| *docs != InterfaceDocs::default());
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
