//! What a compiler made → a component that keeps its docs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wit_parser::Resolve;

use super::advice::advice;
use super::tool_toml;
use super::wit_docs::wit_docs;
use crate::component::{Claims, InterfaceDocs, Manifest, ManifestError, Outline, componentize};
use crate::error::Error;

/// The file beside the WIT, or beside its folder, in which an author writes what the WIT cannot say.
const TOOL_TOML: &str = "tool.toml";

/// The largest that is read, in bytes.
const MAX_TOOL_TOML: u64 = 1 << 20;

/// Why a component could not be packed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("the WIT in `{folder}` cannot be read: {reason}")]
    Wit { folder: String, reason: String },
    #[error("the module cannot be made a component: {0}")]
    Encode(String),
    #[error("not a valid component: {0}")]
    Invalid(String),
    #[error("the WIT documents {documented}, none of which is in the component; it has {has}")]
    Foreign { documented: String, has: String },
    #[error("the WIT has no doc comments to keep")]
    NoDocs,
    #[error("{file}: {reason}")]
    ToolToml { file: String, reason: String },
    #[error("there are both `{0}` and `{1}`; keep one")]
    SeveralToolToml(String, String),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// A component with its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Its binary.
    pub bytes: Vec<u8>,
    /// The `tool.toml` that was read, if there is one.
    pub tool_toml: Option<PathBuf>,
    /// What its author may want to mend, such as an entry of `Args:` that names no parameter.
    pub warnings: Vec<String>,
}

/// Puts a manifest into a component's binary, where [`Component`](crate::Component) finds it: the docs of the WIT in
/// `folder`, which component encoders drop, and what a file `tool.toml` in that folder or beside it says. A core module
/// with the type section that wit-bindgen leaves in it is made a component first, with the adapter for WASI preview 1
/// where it needs that.
///
/// `world` names the world that the component was built for; it may be left out where the package has one world only.
///
/// # Errors
/// When the WIT cannot be read, has no docs or is that of another component, when `tool.toml` cannot be read or does
/// not fit the component, or when the module has no such type section.
pub fn pack(module: &[u8], folder: &Path, world: Option<&str>) -> Result<Packed, Error> {
    Ok(packed(module, folder, world)?)
}

fn packed(module: &[u8], folder: &Path, world: Option<&str>) -> Result<Packed, PackError> {
    let unreadable = |error: &dyn std::fmt::Display| PackError::Wit {
        folder: folder.display().to_string(),
        reason: format!("{error:#}"),
    };
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(folder).map_err(|error| unreadable(&error))?;
    let world = resolve.select_world(&[package], world).map_err(|error| unreadable(&error))?;

    let component = match wasmparser::Parser::is_core_wasm(module) {
        true => componentize(module).map_err(PackError::Encode)?,
        false => module.to_vec(),
    };
    let outline = Outline::read(&component).map_err(|error| PackError::Invalid(error.to_string()))?;
    let (claims, tool_toml) = claims(folder, &outline)?;
    let mut warnings = Vec::new();
    if tool_toml.is_none() && Manifest::read(&component).is_ok_and(|old| old.is_some_and(|old| old.has_claims())) {
        warnings.push(format!("the component's earlier title, needs and hints are left out: there is no {TOOL_TOML}"));
    }
    let docs = match wit_docs(&resolve, world) {
        docs if docs.is_empty() && claims != Claims::default() => docs,
        docs => of_component(docs, &outline)?,
    };
    warnings.extend(advice(&resolve, world, &outline));
    let manifest = Manifest::new(docs, claims);
    outline.check(&manifest)?;
    Ok(Packed { bytes: manifest.write(&component)?, tool_toml, warnings })
}

/// What a `tool.toml` says, and where it is; nothing where there is none.
fn claims(wit: &Path, outline: &Outline) -> Result<(Claims, Option<PathBuf>), PackError> {
    // WIT may be given as one file of its folder.
    let folder = if wit.is_file() { wit.parent().unwrap_or(Path::new("")) } else { wit };
    let mut files = vec![folder.join(TOOL_TOML)];
    // `..` where the folder's own name does not tell its parent, as that of `.` does not.
    let parent = match (folder.file_name(), folder.parent()) {
        (Some(_), Some(parent)) => parent.to_owned(),
        _ => folder.join(".."),
    };
    files.push(parent.join(TOOL_TOML));
    files.retain(|file| file.exists());
    let file = match files.as_slice() {
        [] => return Ok((Claims::default(), None)),
        [file] => file.clone(),
        [first, second, ..] => {
            return Err(PackError::SeveralToolToml(first.display().to_string(), second.display().to_string()));
        }
    };
    let refuse = |reason: String| PackError::ToolToml { file: file.display().to_string(), reason };
    let metadata = std::fs::metadata(&file).map_err(|error| refuse(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MAX_TOOL_TOML {
        return Err(refuse(format!("not a file of at most {MAX_TOOL_TOML} bytes")));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| refuse(error.to_string()))?;
    let claims = tool_toml::read(&text, outline).map_err(refuse)?;
    outline.check_claims(&claims).map_err(refuse)?;
    Ok((claims, Some(file)))
}

/// The docs of what is in the component, of all that the WIT has.
fn of_component(
    mut all: BTreeMap<String, InterfaceDocs>,
    outline: &Outline,
) -> Result<BTreeMap<String, InterfaceDocs>, PackError> {
    if all.is_empty() {
        return Err(PackError::NoDocs);
    }
    let documented: Vec<&str> = all.keys().map(String::as_str).filter(|interface| !interface.is_empty()).collect();
    let documented = if documented.is_empty() { "functions of a world".to_owned() } else { documented.join(", ") };
    // Of a program's WIT nothing is the program's own, but the docs of its world.
    let has_docs = all.get("").is_some_and(|world| world.docs.is_some());
    let mut is_foreign = !(has_docs && outline.is_program());
    all.retain(|interface, docs| {
        docs.items.retain(|item, _| outline.has_item(interface, item));
        // The docs of a world alone are no sign that the component is of this world.
        let is_there = interface.is_empty() || outline.has_interface(interface);
        is_foreign &= !is_there || (interface.is_empty() && docs.items.is_empty());
        is_there
    });
    if is_foreign {
        let names: Vec<&str> = outline.names().collect();
        let has = if names.is_empty() { "no imports and exports".to_owned() } else { names.join(", ") };
        return Err(PackError::Foreign { documented, has });
    }
    Ok(all)
}
