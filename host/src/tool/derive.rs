//! The exports of a component → its tools, and what is no tool and why.

use serde::Serialize;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wit_parser::{Resolve, WorldId, WorldItem, WorldKey};

use super::shape::{Field, Kind, Refusal, Shaper, json_name};
use super::{Export, Fallible, Tool};
use crate::component::{Docs, interface_name, split_args};

/// An export that became no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NoTool {
    /// The export, as `interface#function`, `interface` or `function`.
    pub export: String,
    /// Why it is none.
    pub reason: String,
}

/// What a component exports.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    pub(crate) tools: Vec<Tool>,
    pub(crate) no_tools: Vec<NoTool>,
}

/// Derives the tools of a component. `decoded` is the component's WIT, as far as it could be decoded; only names and
/// docs of types come from it.
pub(crate) fn derive(
    engine: &wasmtime::Engine,
    component: &wasmtime::component::Component,
    decoded: Option<&(Resolve, WorldId)>,
    docs: &Docs,
) -> Exported {
    let mut exported = Exported::default();
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                let wit = decoded.and_then(|(resolve, world)| world_function(resolve, *world, name));
                exported.function(None, name, &ty, decoded.map(|(resolve, _)| resolve), wit, docs);
            }
            ComponentItem::ComponentInstance(instance) => {
                if name.starts_with("wasi:") {
                    let reason = if name.starts_with("wasi:cli/run@") {
                        "a command, which this version does not run as a tool"
                    } else {
                        "an interface of WASI, for a host and not for a model"
                    };
                    exported.skip(name, reason);
                    continue;
                }
                for (function, item) in instance.exports(engine) {
                    match item.ty {
                        ComponentItem::ComponentFunc(ty) => {
                            let wit = decoded
                                .and_then(|(resolve, world)| interface_function(resolve, *world, name, function));
                            exported.function(
                                Some(name),
                                function,
                                &ty,
                                decoded.map(|(resolve, _)| resolve),
                                wit,
                                docs,
                            );
                        }
                        // Types are how functions are described, and no functions.
                        ComponentItem::Type(_) | ComponentItem::Resource(_) => {}
                        _ => exported.skip(&format!("{name}#{function}"), "neither a function nor a type"),
                    }
                }
            }
            ComponentItem::Type(_) | ComponentItem::Resource(_) => {}
            _ => exported.skip(name, "neither a function nor an interface"),
        }
    }
    exported
}

impl Exported {
    fn skip(&mut self, export: &str, reason: impl Into<String>) {
        self.no_tools.push(NoTool { export: export.to_owned(), reason: reason.into() });
    }

    fn function(
        &mut self,
        interface: Option<&str>,
        function: &str,
        ty: &ComponentFunc,
        resolve: Option<&Resolve>,
        wit: Option<&wit_parser::Function>,
        docs: &Docs,
    ) {
        let export = Export { interface: interface.map(str::to_owned), function: function.to_owned() };
        if function.starts_with('[') {
            return self.skip(&export.to_string(), "a method, static function or constructor of a resource");
        }
        if is_componentizer_init(interface, function, ty) {
            return self.skip(&export.to_string(), "set-up that the component's compiler added for itself");
        }
        match shape(export.clone(), ty, resolve, wit, docs) {
            Ok(tool) => self.tools.push(tool),
            Err(refusal) => self.skip(&export.to_string(), refusal.to_string()),
        }
    }
}

/// What componentizers add: componentize-py an interface `exports` with a function `init`, componentize-qjs a function
/// `init` of the world, whose first parameters are the `shim` and the `script` that it was built with.
fn is_componentizer_init(interface: Option<&str>, function: &str, ty: &ComponentFunc) -> bool {
    match interface {
        _ if function != "init" => false,
        Some(interface) => interface == "exports",
        None => {
            let mut params = ty.params().map(|(name, _)| name);
            params.next() == Some("shim") && params.next() == Some("script")
        }
    }
}

fn shape(
    export: Export,
    ty: &ComponentFunc,
    resolve: Option<&Resolve>,
    wit: Option<&wit_parser::Function>,
    docs: &Docs,
) -> Result<Tool, Refusal> {
    if ty.async_() {
        return Err(Refusal::Async("async function"));
    }
    let mut shaper = Shaper::new(resolve, docs);
    let documented = docs
        .item(export.interface.as_deref().unwrap_or_default(), &export.function)
        .map(split_args)
        .unwrap_or_default();
    let mut params = Vec::new();
    for (index, (name, ty)) in ty.params().enumerate() {
        let wit_type = wit.and_then(|function| Some(function.params.get(index)?.ty));
        params.push(Field {
            name: json_name(name),
            wit: name.to_owned(),
            docs: documented.arg(name).map(str::to_owned),
            shape: shaper.shape(&ty, wit_type)?,
        });
    }
    let mut returns = None;
    let mut fallible = None;
    if let Some(ty) = ty.results().next() {
        let shape = shaper.shape(&ty, wit.and_then(|function| function.result))?;
        match shape.kind {
            Kind::Result(ok, err) => {
                returns = ok.map(|shape| *shape);
                fallible = Some(Fallible { err: err.map(|shape| *shape) });
            }
            _ => returns = Some(shape),
        }
    }
    Ok(Tool { name: String::new(), toolset: String::new(), export, docs: documented.text, params, returns, fallible })
}

fn world_function<'r>(resolve: &'r Resolve, world: WorldId, name: &str) -> Option<&'r wit_parser::Function> {
    let key = WorldKey::Name(name.to_owned());
    match resolve.worlds.get(world)?.exports.get(&key)? {
        WorldItem::Function(function) => Some(function),
        _ => None,
    }
}

fn interface_function<'r>(
    resolve: &'r Resolve,
    world: WorldId,
    interface: &str,
    function: &str,
) -> Option<&'r wit_parser::Function> {
    resolve.worlds.get(world)?.exports.values().find_map(|item| match item {
        WorldItem::Interface { id, .. } if interface_name(resolve, *id) == interface => {
            resolve.interfaces.get(*id)?.functions.get(function)
        }
        _ => None,
    })
}
