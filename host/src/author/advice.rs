//! What an author may want to mend before anyone uses the tool.

use std::collections::BTreeMap;

use wit_parser::{Function, Resolve, WorldId, WorldItem, WorldKey};

use crate::component::{Docstring, Outline, interface_name};
use crate::text::visible;
use crate::tool::json_name;

/// Where the WIT and the component differ, and what of a function's docs a model would miss.
pub(super) fn advice(resolve: &Resolve, world: WorldId, outline: &Outline) -> Vec<String> {
    let mut warnings = Vec::new();
    let exported = exported_functions(resolve, world);
    for (name, function) in &exported {
        if outline.functions_named(name).is_empty() {
            warnings.push(format!("the WIT exports `{name}`, which the component does not"));
        } else {
            of_function(function, &mut warnings);
        }
    }
    for function in outline.functions().filter(|function| !exported.iter().any(|(name, _)| name == function)) {
        warnings
            .push(format!("the component exports `{function}`, which the WIT does not have, so that it has no docs"));
    }
    warnings
}

/// Notes what of a function's docs a model would miss, or would not be told.
fn of_function(function: &Function, warnings: &mut Vec<String>) {
    let name = &function.name;
    let Some(docs) = &function.docs.contents else {
        return warnings.push(format!("`{name}` has no docs"));
    };
    let (docs, hidden) = visible(docs);
    if hidden > 0 {
        warnings
            .push(format!("the docs of `{name}` hold {hidden} characters that show nothing; witbox leaves them out"));
    }
    let docstring = Docstring::parse(&docs);
    let params: Vec<&str> = function.params.iter().map(|param| param.name.as_str()).collect();
    for stranger in docstring.strangers(&params) {
        warnings.push(format!("`Args:` of `{name}` has `{stranger}`, which is none of its parameters"));
    }
    for param in params.iter().filter(|param| docstring.arg(param).is_none()) {
        warnings.push(format!("`Args:` of `{name}` does not have its parameter `{param}`"));
    }
    for example in docstring.examples.iter().filter(|example| example.starts_with('{')) {
        let keys: Result<BTreeMap<String, serde_json::Value>, _> = serde_json::from_str(example);
        match keys {
            Err(error) => warnings.push(format!("an example of `{name}` is not JSON on one line: {error}")),
            Ok(keys) => {
                for key in keys.keys().filter(|key| !params.iter().any(|param| json_name(param) == **key)) {
                    warnings
                        .push(format!("an example of `{name}` has the key `{key}`, which is none of its parameters"));
                }
            }
        }
    }
}

/// The functions that a world exports, as `interface#function` or `function`, without those of resources.
fn exported_functions(resolve: &Resolve, world: WorldId) -> Vec<(String, &Function)> {
    let mut functions = Vec::new();
    for (key, item) in &resolve.worlds[world].exports {
        match (key, item) {
            (_, WorldItem::Function(function)) => functions.push((function.name.clone(), function)),
            (key, WorldItem::Interface { id, .. }) => {
                let interface = match key {
                    WorldKey::Name(name) => name.clone(),
                    WorldKey::Interface(id) => interface_name(resolve, *id),
                };
                let all = resolve.interfaces[*id].functions.iter();
                functions.extend(all.map(|(name, function)| (format!("{interface}#{name}"), function)));
            }
            (_, WorldItem::Type { .. }) => {}
        }
    }
    functions.retain(|(_, function)| !function.name.starts_with('['));
    functions
}
