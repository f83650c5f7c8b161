//! `tool.toml`: what an author says of a component beside its WIT.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::component::{Claims, Hints, Needs, Outline, ToolClaims};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolToml {
    title: Option<String>,
    version: Option<String>,
    needs: Option<Needs>,
    #[serde(default)]
    tool: BTreeMap<String, ToolTable>,
}

/// `[tool.NAME]`, by the function's name in WIT.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ToolTable {
    title: Option<String>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
}

/// Reads the text of a `tool.toml` for a component.
///
/// # Errors
/// What cannot be read, with its line, and what names no function of the component or more than one.
pub(super) fn read(text: &str, outline: &Outline) -> Result<Claims, String> {
    let file: ToolToml = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut tools = BTreeMap::new();
    for (name, table) in file.tool {
        let function = match outline.functions_named(&name).as_slice() {
            [function] => (*function).to_owned(),
            [] => return Err(format!("[tool.{name}]: {}", outline.no_function(&name))),
            several => {
                let several = several.join("\", \"");
                return Err(format!("[tool.{name}]: several functions have this name; write one of \"{several}\""));
            }
        };
        let hints = Hints {
            read_only: table.read_only,
            destructive: table.destructive,
            idempotent: table.idempotent,
            open_world: table.open_world,
        };
        if tools.insert(function.clone(), ToolClaims { title: table.title, hints }).is_some() {
            return Err(format!("[tool.{name}]: `{function}` has another table"));
        }
    }
    Ok(Claims { title: file.title, version: file.version, needs: file.needs, tools })
}
