//! The components in `guest-tools/dist` are those of the sources beside them.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use support::checkout;

#[test]
fn every_component_is_built_from_its_sources() {
    let guests = checkout("guest-tools");
    let manifest: Value = serde_json::from_slice(&fs::read(guests.join("dist/manifest.json")).unwrap()).unwrap();
    let tools = manifest["tools"].as_object().unwrap();
    let mut built: Vec<_> =
        fs::read_dir(guests.join("dist")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    built.retain(|name| name != "manifest.json");
    assert_eq!(built.len(), tools.len(), "dist holds what the manifest names: {built:?}");
    for (tool, digests) in tools {
        let component = fs::read(guests.join(format!("dist/{tool}.wasm"))).unwrap();
        assert_eq!(digests["component"], format!("sha256:{}", sha256(&component)), "{tool}.wasm");
        assert_eq!(digests["sources"], sources(&guests, tool), "{tool}: run `just guests`");
    }
}

/// The digest that `guest-tools/build` makes: of the lines that `sha256sum` prints for the files, sorted by path.
fn sources(guests: &Path, tool: &str) -> String {
    let mut files: Vec<PathBuf> = ["Cargo.toml", "tool.toml"].map(|name| PathBuf::from(tool).join(name)).into();
    files.extend(["Cargo.toml", "Cargo.lock"].map(PathBuf::from));
    let mut folders = vec![PathBuf::from(tool).join("src"), PathBuf::from(tool).join("wit"), PathBuf::from("paging")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(guests.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if guests.join(&path).is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut files: Vec<String> = files.into_iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    files.sort();
    let lines = files.iter().map(|path| format!("{}  {path}\n", sha256(&fs::read(guests.join(path)).unwrap())));
    format!("sha256:{}", sha256(lines.collect::<String>().as_bytes()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
