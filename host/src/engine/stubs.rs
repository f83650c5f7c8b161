//! Imports that no host function answers: the component still loads, and what it calls of them fails.

use wasmtime::Engine;
use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

/// The interfaces of WASI that the linker has, at any release 0.2.x: the engine links those by semantic version.
const PROVIDED: [&str; 29] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Those of witbox's own, at any release 0.1.x.
const OWN: [&str; 2] = ["witbox:host/log", "witbox:host/progress"];

/// The most things that are stubbed for one component; a few bytes of nested types can name millions.
const MAX_STUBS: usize = 10_000;

/// A resource of an interface that nobody provides; a guest never holds one.
struct Nothing;

/// Defines what a component imports and the linker lacks.
pub(super) fn define<T: 'static>(
    linker: &mut Linker<T>,
    engine: &Engine,
    component: &Component,
) -> wasmtime::Result<()> {
    let mut left = MAX_STUBS;
    for (name, item) in component.component_type().imports(engine) {
        if is_provided(name) {
            continue;
        }
        match item.ty {
            ComponentItem::ComponentInstance(instance) => {
                let mut stub = linker.instance(name)?;
                define_instance(&mut stub, engine, name, &instance, &mut left)?;
            }
            item => define_item(&mut linker.root(), name, name.to_owned(), &item)?,
        }
    }
    Ok(())
}

fn define_instance<T: 'static>(
    linker: &mut LinkerInstance<'_, T>,
    engine: &Engine,
    path: &str,
    instance: &ComponentInstance,
    left: &mut usize,
) -> wasmtime::Result<()> {
    for (name, item) in instance.exports(engine) {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| wasmtime::format_err!("it imports more than {MAX_STUBS} things that this host lacks"))?;
        let path = format!("{path}#{name}");
        match item.ty {
            ComponentItem::ComponentInstance(inner) => {
                define_instance(&mut linker.instance(name)?, engine, &path, &inner, left)?;
            }
            item => define_item(linker, name, path, &item)?,
        }
    }
    Ok(())
}

fn define_item<T: 'static>(
    linker: &mut LinkerInstance<'_, T>,
    name: &str,
    path: String,
    item: &ComponentItem,
) -> wasmtime::Result<()> {
    match item {
        ComponentItem::ComponentFunc(_) => linker
            .func_new(name, move |_, _, _, _| wasmtime::bail!("it called `{path}`, which this host does not provide")),
        ComponentItem::Resource(_) => linker.resource(name, ResourceType::host::<Nothing>(), |_, _| Ok(())),
        ComponentItem::Module(_) | ComponentItem::Component(_) => {
            wasmtime::bail!("it imports `{path}`, a module or component, which this host does not provide")
        }
        _ => Ok(()),
    }
}

fn is_provided(import: &str) -> bool {
    let Some((interface, version)) = import.split_once('@') else {
        return false;
    };
    let known: &[&str] = match version.strip_prefix("0.2.") {
        Some(_) => &PROVIDED,
        None if version.starts_with("0.1.") => &OWN,
        None => return false,
    };
    !version.contains('-') && known.contains(&interface)
}
