//! A component's WIT, as far as it can be decoded.

use wit_parser::decoding::DecodedWasm;
use wit_parser::{Function, InterfaceId, Resolve, TypeDefKind, WorldId, WorldItem, WorldKey};

use super::{package_docs, sections};

/// The name of the threads that compile components and decode their WIT. Both panic on some inputs; a panic hook can
/// tell such a panic, which becomes an error or a note of the component, by the thread's name.
pub const LOADER_THREAD: &str = "witbox-load";
/// Types nest, and both walk them by recursion.
const STACK_BYTES: usize = 64 << 20;

/// Runs something on a thread of its own, with a stack for deep recursion. Nothing comes back where it panics.
pub(super) fn apart<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(LOADER_THREAD.to_owned()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, run).ok()?.join().ok()
    })
}

/// Decodes the WIT of a component.
pub(super) fn wit(component: &[u8]) -> Result<(Resolve, WorldId), String> {
    // Decoding fails on docs that it cannot place; they are read apart.
    let plain = sections::without(component, package_docs::SECTION).map_err(|error| error.to_string())?;
    let decoded = apart(|| match wit_parser::decoding::decode(&plain) {
        Ok(DecodedWasm::Component(resolve, world)) => Ok((resolve, world)),
        Ok(DecodedWasm::WitPackage(..)) => Err("it is a WIT package".to_owned()),
        Err(error) => Err(format!("{error:#}")),
    });
    decoded.unwrap_or_else(|| Err("the decoder panicked on it".to_owned()))
}

/// An interface by the name under which a component exports it: `namespace:package/name@version`, or a plain name.
pub(crate) fn interface_name(resolve: &Resolve, id: InterfaceId) -> String {
    let named =
        resolve.interfaces.get(id).is_some_and(|interface| interface.name.is_some() && interface.package.is_some());
    if named && let Some(name) = resolve.id_of(id) {
        return name;
    }
    let worlds = resolve.worlds.iter().map(|(_, world)| world);
    worlds
        .flat_map(|world| world.exports.iter().chain(&world.imports))
        .find_map(|(key, item)| match (key, item) {
            (WorldKey::Name(name), WorldItem::Interface { id: found, .. }) if *found == id => Some(name.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

/// What a component has that needs the asynchronous component model, and in which functions.
pub(super) fn asynchronous(component: &[u8]) -> Option<(String, String)> {
    let (resolve, world) = wit(component).ok()?;
    let mut kinds = Vec::new();
    let mut functions = Vec::new();
    let world = resolve.worlds.get(world)?;
    for (key, item) in world.exports.iter().chain(&world.imports) {
        let holder = match item {
            WorldItem::Interface { id, .. } => {
                let name = interface_name(&resolve, *id);
                resolve.interfaces.get(*id)?.functions.values().map(|f| (format!("{name}#{}", f.name), f)).collect()
            }
            WorldItem::Function(function) => {
                let WorldKey::Name(name) = key else { continue };
                vec![(name.clone(), function)]
            }
            WorldItem::Type { .. } => Vec::new(),
        };
        for (name, function) in holder {
            if let Some(kind) = asynchronous_kind(&resolve, function) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
                functions.push(name);
            }
        }
    }
    (!functions.is_empty()).then(|| (kinds.join(", "), functions.join(", ")))
}

fn asynchronous_kind(resolve: &Resolve, function: &Function) -> Option<&'static str> {
    if function.kind.is_async() {
        return Some("async func");
    }
    let mut seen = std::collections::HashSet::new();
    let mut types: Vec<_> = function.params.iter().map(|param| param.ty).chain(function.result).collect();
    while let Some(ty) = types.pop() {
        let id = match ty {
            wit_parser::Type::ErrorContext => return Some("error-context"),
            wit_parser::Type::Id(id) if seen.insert(id) => id,
            _ => continue,
        };
        match &resolve.types.get(id)?.kind {
            TypeDefKind::Stream(_) => return Some("stream"),
            TypeDefKind::Future(_) => return Some("future"),
            TypeDefKind::Record(record) => types.extend(record.fields.iter().map(|field| field.ty)),
            TypeDefKind::Tuple(tuple) => types.extend(&tuple.types),
            TypeDefKind::Variant(variant) => types.extend(variant.cases.iter().filter_map(|case| case.ty)),
            TypeDefKind::Option(ty)
            | TypeDefKind::List(ty)
            | TypeDefKind::FixedLengthList(ty, _)
            | TypeDefKind::Type(ty) => types.push(*ty),
            TypeDefKind::Map(key, value) => types.extend([*key, *value]),
            TypeDefKind::Result(result) => types.extend(result.ok.into_iter().chain(result.err)),
            _ => {}
        }
    }
    None
}
