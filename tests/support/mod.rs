//! What the tests share: components made on the spot, and hosts with them.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "tests may")]

pub mod http;
pub mod instance;
pub mod mcp;
pub mod probe;
pub mod program;
pub mod rng;
pub mod server;
pub mod subset;
pub mod types;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use libtest_mimic::Failed;
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve, WorldId, WorldItem, WorldKey};
use witbox::{Component, Engine, Grant, Host};

/// One engine for all tests of a process.
pub static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new().unwrap());

/// The folder `tests`.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// A file of the checkout.
pub fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Result<(), Failed> {
    let output = command.output()?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&text)).into());
    }
    Ok(())
}

/// A host with one toolset.
pub fn host(name: &str, component: &Component, grant: Grant) -> Host {
    let mut host = Host::builder(&ENGINE);
    host.toolset(name, component, grant).unwrap();
    host.build()
}

/// A component from its text.
pub fn wat(text: &str) -> Component {
    Component::new(&ENGINE, &wat::parse_str(text).unwrap()).unwrap()
}

/// A component of a world whose functions crash when they are called.
pub fn dummy(resolve: &Resolve, world: WorldId) -> Vec<u8> {
    let mut module = dummy_module(resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

/// The same of the only world of a WIT.
pub fn dummy_of(wit: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("dummy.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    dummy(&resolve, world)
}

/// A component whose functions give back the list that they get: each must have the type `func(values: list<T>) ->
/// list<T>`. In the canonical ABI a list is a pointer and a length whatever `T` is, so that one core function serves
/// every `T`, and every value crosses into the guest's memory and back.
pub fn echo(wit: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("echo.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut exports = String::new();
    for (key, item) in &resolve.worlds[world].exports {
        match item {
            WorldItem::Function(function) => exports.push_str(&export(&function.name)),
            WorldItem::Interface { id, .. } => {
                let interface = match key {
                    WorldKey::Name(name) => name.clone(),
                    WorldKey::Interface(_) => resolve.id_of(*id).unwrap(),
                };
                for name in resolve.interfaces[*id].functions.keys() {
                    exports.push_str(&export(&format!("{interface}#{name}")));
                }
            }
            WorldItem::Type { .. } => {}
        }
    }
    let text = format!(
        r#"(module
          (memory (export "memory") 16)
          (global $free (mut i32) (i32.const 1024))
          ;; A list's place and length, where the host reads them.
          (func $echo (param i32 i32) (result i32)
            (i32.store (i32.const 16) (local.get 0))
            (i32.store (i32.const 20) (local.get 1))
            (i32.const 16))
          {exports}
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at (i32.and
              (i32.add (global.get $free) (i32.sub (local.get 2) (i32.const 1)))
              (i32.sub (i32.const 0) (local.get 2))))
            (global.set $free (i32.add (local.get $at) (local.get 3)))
            (block (loop
              (br_if 1 (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
              (br_if 0 (i32.ge_s (memory.grow (i32.const 64)) (i32.const 0)))
              unreachable))
            (local.get $at)))"#
    );
    let mut module = wat::parse_str(&text).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

fn export(name: &str) -> String {
    format!("(export {name:?} (func $echo))\n")
}
