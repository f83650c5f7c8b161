//! The exports of a component → its tools, and what is no tool and why.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wit_parser::{Function, Interface, InterfaceId, Resolve, WorldId, WorldItem, WorldKey};

use super::lower::{Reading, Unread, lower};
use super::shape::{Field, Kind, Refusal, Shaper, json_name};
use super::{Export, Fallible, Tool, ToolDocs, command};
use crate::component::{Docs, Docstring, ToolClaims, interface_name};
use crate::text::one_line;

/// What the values of one example may take, in bytes.
const EXAMPLE_ROOM: u64 = 64 << 20;
/// The most lines of `Examples:` that are read.
const MAX_EXAMPLES: usize = 20;

/// An export that became no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NoTool {
    /// The export, as `interface#function`, `interface` or `function`.
    pub export: String,
    /// Why it is none.
    pub reason: String,
}

/// What a component exports.
#[derive(Debug, Default, Serialize, Deserialize)]
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
    claims: &BTreeMap<String, ToolClaims>,
) -> Exported {
    let mut deriver = Deriver {
        wit: decoded.map(|(resolve, world)| Wit::of(resolve, *world)),
        docs,
        claims,
        shaper: Shaper::new(decoded.map(|(resolve, _)| resolve), docs),
        exported: Exported::default(),
    };
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => deriver.function(None, name, &ty),
            ComponentItem::ComponentInstance(instance) => deriver.interface(engine, name, &instance),
            ComponentItem::Type(_) | ComponentItem::Resource(_) => {}
            _ => deriver.skip(name, "neither a function nor an interface"),
        }
    }
    deriver.exported
}

struct Deriver<'a> {
    wit: Option<Wit<'a>>,
    docs: &'a Docs,
    claims: &'a BTreeMap<String, ToolClaims>,
    shaper: Shaper<'a>,
    exported: Exported,
}

impl Deriver<'_> {
    fn interface(&mut self, engine: &wasmtime::Engine, name: &str, instance: &ComponentInstance) {
        if command::is_command(name) {
            return self.command(engine, name, instance);
        }
        if name.starts_with("wasi:") {
            return self.skip(name, "an interface of WASI, for a host and not for a model");
        }
        for (function, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(ty) => self.function(Some(name), function, &ty),
                // Types are how functions are described, and no functions.
                ComponentItem::Type(_) | ComponentItem::Resource(_) => {}
                _ => self.skip(&format!("{name}#{function}"), "neither a function nor a type"),
            }
        }
    }

    fn command(&mut self, engine: &wasmtime::Engine, name: &str, instance: &ComponentInstance) {
        let export = Export { interface: Some(name.to_owned()), function: command::FUNCTION.to_owned() };
        let is_command = instance.exports(engine).any(|(function, item)| {
            function == export.function && matches!(item.ty, ComponentItem::ComponentFunc(ty) if command::is_type(&ty))
        });
        if !is_command {
            return self.skip(name, "not the interface of this name in WASI: it has no `run: func() -> result`");
        }
        self.docs.begin();
        // Those of the function are WASI's own and say nothing of the program.
        let docs = self.docs.interface("");
        let docstring = docs.as_deref().map(Docstring::parse).unwrap_or_default();
        let params = command::params(&docstring);
        let claims = self.claims.get(&export.to_string()).cloned().unwrap_or_default();
        let mut docs = self.tool_docs(&export, docstring, &params);
        if docs.text.is_none() {
            docs.faults.push("nothing tells what the program does; `witbox pack` takes the docs of a world".to_owned());
            docs.text = Some(command::TEXT.into());
        }
        self.exported.tools.push(Tool {
            name: String::new(),
            toolset: String::new(),
            export,
            title: claims.title.as_deref().map(one_line),
            hints: claims.hints,
            docs,
            params,
            returns: None,
            fallible: None,
            is_command: true,
            is_whole: false,
        });
    }

    fn function(&mut self, interface: Option<&str>, function: &str, ty: &ComponentFunc) {
        let export = Export { interface: interface.map(str::to_owned), function: function.to_owned() };
        if function.starts_with('[') {
            return self.skip(&export.to_string(), "a method, static function or constructor of a resource");
        }
        if is_componentizer_init(interface, function, ty) {
            return self.skip(&export.to_string(), "set-up that the component's compiler added for itself");
        }
        match self.tool(export.clone(), ty) {
            Ok(tool) => self.exported.tools.push(tool),
            Err(refusal) => self.skip(&export.to_string(), refusal.to_string()),
        }
    }

    fn skip(&mut self, export: &str, reason: impl Into<String>) {
        self.exported.no_tools.push(NoTool { export: export.to_owned(), reason: reason.into() });
    }

    fn tool(&mut self, export: Export, ty: &ComponentFunc) -> Result<Tool, Refusal> {
        if ty.async_() {
            return Err(Refusal::Async("async function"));
        }
        self.shaper.next_tool();
        let wit = self.wit.as_ref().and_then(|wit| wit.function(&export));
        self.docs.begin();
        let docs = self.docs.item(export.interface.as_deref().unwrap_or_default(), &export.function);
        let docstring = docs.as_deref().map(Docstring::parse).unwrap_or_default();
        let mut params = Vec::new();
        for (index, (name, ty)) in ty.params().enumerate() {
            let wit_type = wit.and_then(|function| Some(function.params.get(index)?.ty));
            params.push(Field {
                name: json_name(name),
                wit: name.to_owned(),
                docs: docstring.arg(name).map(Arc::from),
                shape: self.shaper.shape(&ty, wit_type)?,
            });
        }
        let mut returns = None;
        let mut fallible = None;
        if let Some(ty) = ty.results().next() {
            let shape = self.shaper.shape(&ty, wit.and_then(|function| function.result))?;
            match shape.kind {
                Kind::Result(ok, err) => {
                    returns = ok.map(|shape| *shape);
                    fallible = Some(Fallible { err: err.map(|shape| *shape) });
                }
                _ => returns = Some(shape),
            }
        }
        let claims = self.claims.get(&export.to_string()).cloned().unwrap_or_default();
        Ok(Tool {
            name: String::new(),
            toolset: String::new(),
            docs: self.tool_docs(&export, docstring, &params),
            export,
            title: claims.title.as_deref().map(one_line),
            hints: claims.hints,
            params,
            returns,
            fallible,
            is_command: false,
            is_whole: false,
        })
    }
}

impl Deriver<'_> {
    fn tool_docs(&self, export: &Export, docstring: Docstring, params: &[Field]) -> ToolDocs {
        let names: Vec<&str> = params.iter().map(|param| param.wit.as_str()).collect();
        let strangers = docstring.strangers(&names);
        let mut faults: Vec<String> = strangers
            .into_iter()
            .map(|name| format!("`Args:` has `{name}`, which is none of its parameters"))
            .collect();
        let mut docs = ToolDocs { returns: docstring.returns, ..ToolDocs::default() };
        if docstring.examples.len() > MAX_EXAMPLES {
            faults.push(format!("of its {} lines of examples {MAX_EXAMPLES} are read", docstring.examples.len()));
        }
        for line in docstring.examples.into_iter().take(MAX_EXAMPLES) {
            if !line.starts_with('{') {
                docs.more_examples.push(line);
                continue;
            }
            match (RawValue::from_string(line.clone()), lower(params, &line, Reading::Exact, EXAMPLE_ROOM)) {
                (Ok(example), Ok(_)) => docs.examples.push(example),
                (Ok(_), Err(unread)) => {
                    let why = match unread {
                        Unread::Faulty(wrong) => wrong.first().map(ToString::to_string).unwrap_or_default(),
                        Unread::TooLarge => "it takes too much memory".to_owned(),
                    };
                    faults.push(format!("the example {line} does not fit: {why}"));
                }
                (Err(_), _) => faults.push(format!("the example {line} is not JSON on one line")),
            }
        }
        docs.text = docstring.text.map(Arc::from).or_else(|| self.docs_around(export));
        let asked = self.docs.asked();
        if asked.cut > 0 {
            faults.push(format!("{} of its docs are too long and were cut or left out", asked.cut));
        }
        docs.hidden = asked.hidden;
        docs.faults = faults;
        docs
    }

    /// The docs of the interface or the world, where the function is all that there is in it.
    fn docs_around(&self, export: &Export) -> Option<Arc<str>> {
        let wit = self.wit.as_ref()?;
        let is_alone = match &export.interface {
            Some(interface) => wit.interface(interface)?.functions.len() == 1,
            None => wit.functions.len() == 1 && wit.interfaces.is_empty(),
        };
        let docs = self.docs.interface(export.interface.as_deref().unwrap_or_default());
        docs.filter(|_| is_alone)
    }
}

/// The exports of a decoded world by name.
struct Wit<'a> {
    resolve: &'a Resolve,
    functions: HashMap<&'a str, &'a Function>,
    interfaces: HashMap<String, InterfaceId>,
}

impl<'a> Wit<'a> {
    fn of(resolve: &'a Resolve, world: WorldId) -> Self {
        let mut wit = Wit { resolve, functions: HashMap::new(), interfaces: HashMap::new() };
        for (key, item) in resolve.worlds.get(world).into_iter().flat_map(|world| &world.exports) {
            match (key, item) {
                (WorldKey::Name(name), WorldItem::Function(function)) => {
                    wit.functions.insert(name, function);
                }
                (WorldKey::Name(name), WorldItem::Interface { id, .. }) => {
                    wit.interfaces.insert(name.clone(), *id);
                }
                (WorldKey::Interface(id), _) => {
                    wit.interfaces.insert(interface_name(resolve, *id), *id);
                }
                _ => {}
            }
        }
        wit
    }

    fn function(&self, export: &Export) -> Option<&'a Function> {
        match &export.interface {
            None => self.functions.get(export.function.as_str()).copied(),
            Some(interface) => self.interface(interface)?.functions.get(&export.function),
        }
    }

    fn interface(&self, name: &str) -> Option<&'a Interface> {
        self.resolve.interfaces.get(*self.interfaces.get(name)?)
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
