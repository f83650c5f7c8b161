//! Programs as tools: one function with arguments and standard input, whatever the program.

use std::sync::Arc;

use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Type, Val};

use super::lower::Fault;
use super::shape::{Field, Kind, Shape};
use crate::component::Docstring;

/// What arguments may take in all, in bytes: the adapter for preview 1 has a page of memory, less its own.
const MAX_ARGS: usize = 48 << 10;
/// The function that runs a program.
pub(super) const FUNCTION: &str = "run";
/// What a model is told of a program that says nothing of itself.
pub(super) const TEXT: &str = "Runs a command-line program, which no shell stands before. What it writes to standard output comes back; where it \
     fails or writes to standard error, its exit code and that too.";

const ARGS: &str = "The program's arguments, without its own name. Each is handed over as it is: nothing is split, quoted or expanded.";
const STDIN: &str = "What the program reads from standard input.";

/// Whether an interface is the one by which WASI 0.2 runs programs.
pub(crate) fn is_command(name: &str) -> bool {
    name.starts_with("wasi:cli/run@0.2.")
}

/// Whether a function is the one that it has there.
pub(super) fn is_type(ty: &ComponentFunc) -> bool {
    let returns: Vec<Type> = ty.results().collect();
    let [Type::Result(result)] = &returns[..] else { return false };
    !ty.async_() && ty.params().next().is_none() && result.ok().is_none() && result.err().is_none()
}

/// What it takes, with what its author says of each.
pub(super) fn params(docstring: &Docstring) -> Vec<Field> {
    let strings = Shape::plain(Kind::List(Box::new(Shape::plain(Kind::String))));
    [("args", ARGS, strings), ("stdin", STDIN, Shape::plain(Kind::String))]
        .map(|(name, docs, shape)| Field {
            name: name.to_owned(),
            wit: name.to_owned(),
            docs: Some(docstring.arg(name).map_or_else(|| docs.into(), Arc::from)),
            shape: Shape::plain(Kind::Option(Box::new(shape))),
        })
        .into()
}

/// What a program is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Its name and its arguments.
    pub(crate) args: Vec<String>,
    pub(crate) stdin: String,
}

impl CommandLine {
    /// Reads it from the values of [`params`].
    ///
    /// # Errors
    /// An argument that programs cannot be given.
    pub(crate) fn of(program: &str, values: &[Val]) -> Result<Self, Fault> {
        let mut line = CommandLine { args: vec![program.to_owned()], stdin: String::new() };
        for value in values {
            let Val::Option(Some(value)) = value else { continue };
            match value.as_ref() {
                Val::String(stdin) => line.stdin.clone_from(stdin),
                Val::List(args) => line.args.extend(args.iter().filter_map(|arg| match arg {
                    Val::String(arg) => Some(arg.clone()),
                    _ => None,
                })),
                _ => {}
            }
        }
        let bytes: usize = line.args.iter().map(|arg| arg.len() + 8).sum();
        if bytes > MAX_ARGS {
            return Err(Fault {
                pointer: "/args".to_owned(),
                message: format!(
                    "they take {bytes} bytes, 8 for each among them, and a program has {MAX_ARGS} for them"
                ),
                hint: Some("hand over in `stdin` what is long".to_owned()),
            });
        }
        // Programs for preview 1 and all of C take a character of code 0 for the end.
        match line.args.iter().skip(1).position(|arg| arg.contains('\0')) {
            Some(index) => Err(Fault {
                pointer: format!("/args/{index}"),
                message: "an argument of a program cannot hold the character U+0000".to_owned(),
                hint: Some("hand it over in `stdin`".to_owned()),
            }),
            None => Ok(line),
        }
    }
}
