//! Core modules → components.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
    WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{CodeSection, ConstExpr, GlobalSection, GlobalType, ImportSection, Instruction, Module, ValType};
use wasmparser::{ExternalKind, FunctionBody, GlobalSectionReader, Import, Imports, Parser, Payload, TypeRef};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What programs for preview 1 exit with. The adapter makes one code of all that are not 0, so that they call the host instead,
/// by this interface.
const EXIT: &str = "wasi:cli/exit@0.2.12";
const EXIT_FUNCTION: &str = "exit-with-code";
const EXIT_WIT: &str = "package wasi:cli@0.2.12; interface exit { exit-with-code: func(status-code: u8); } \
     world exits { import exit; }";
/// The same in preview 1: both take one `i32`.
const PREVIEW1_EXIT: &str = "proc_exit";

/// Whether a core module is a program: its start is a function that runs it to its end.
pub(crate) fn is_program(module: &[u8]) -> bool {
    Parser::is_core_wasm(module) && exports(module, "_start", ExternalKind::Func)
}

/// Makes a core module a component, with the adapter for WASI preview 1 where it needs that. Of what kind its exports are the
/// type section says that wit-bindgen leaves in it; a program needs none.
///
/// # Errors
/// Why it cannot be one.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let (module, adapter) = match is_program(module) {
        true => (prepared(module)?, Some(WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)),
        false => {
            let is_adapted = any_import(module, |module, _| module == PREVIEW1);
            (module.to_vec(), is_adapted.then_some(WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER))
        }
    };
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).map_err(told)?;
    if let Some(adapter) = adapter {
        encoder = encoder.adapter(PREVIEW1, adapter).map_err(told)?;
    }
    encoder.encode().map_err(told)
}

/// A program that hands its exit code to the host, where it has one, and leaves the adapter's memory alone.
fn prepared(module: &[u8]) -> Result<Vec<u8>, String> {
    if any_import(module, |module, _| module == PREVIEW1) && !exports(module, "memory", ExternalKind::Memory) {
        return Err("it exports no memory named `memory`, which every program for WASI does".to_owned());
    }
    let mut change = Change { heap: heap(module) };
    let mut changed = Module::new();
    change.parse_core_module(&mut changed, Parser::new(0), module).map_err(told)?;
    let mut changed = changed.finish();
    if any_import(module, |module, name| (module, name) == (PREVIEW1, PREVIEW1_EXIT)) {
        let mut resolve = Resolve::default();
        let package = resolve.push_source("exit.wit", EXIT_WIT).map_err(told)?;
        let world = resolve.select_world(&[package], None).map_err(told)?;
        embed_component_metadata(&mut changed, &resolve, world, StringEncoding::UTF8).map_err(told)?;
    }
    Ok(changed)
}

/// Where a program's heap is at first.
struct Heap {
    /// The size of its memory, in pages.
    pages: u32,
    /// The number of the global that says whether it has asked for more; one that is added.
    has_grown: u32,
}

/// What is known of a program's heap; nothing where it has no heap as a C library has it.
fn heap(module: &[u8]) -> Option<Heap> {
    let (mut pages, mut globals, mut defines_globals) = (None, 0, false);
    for payload in Parser::new(0).parse_all(module) {
        match payload.ok()? {
            Payload::ImportSection(imports) => {
                let types = imports.into_imports().flatten().map(|import| import.ty);
                globals += u32::try_from(types.filter(|ty| matches!(ty, TypeRef::Global(_))).count()).ok()?;
            }
            Payload::MemorySection(memories) => {
                let memory = memories.into_iter().flatten().next().filter(|memory| !memory.memory64)?;
                pages = u32::try_from(memory.initial).ok();
            }
            Payload::GlobalSection(section) => {
                globals += section.count();
                defines_globals = true;
            }
            _ => {}
        }
    }
    Some(Heap { pages: pages.filter(|_| defines_globals)?, has_grown: globals })
}

/// Writes a program as it was, but for two things.
///
/// It exits by another import. And until it has asked for more memory, it is told of as much as it was made with: the adapter
/// takes memory of the program's before that, and wasi-libc took all that there was for its heap until January 2023 (since
/// then it goes by what the linker says).
struct Change {
    heap: Option<Heap>,
}

impl Reencode for Change {
    type Error = std::convert::Infallible;

    fn parse_imports(&mut self, section: &mut ImportSection, imports: Imports<'_>) -> Result<(), reencode::Error> {
        let imports = match imports {
            Imports::Single(at, import) if (import.module, import.name) == (PREVIEW1, PREVIEW1_EXIT) => {
                Imports::Single(at, Import { module: EXIT, name: EXIT_FUNCTION, ..import })
            }
            imports => imports,
        };
        reencode::utils::parse_imports(self, section, imports)
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        reencode::utils::parse_global_section(self, globals, section)?;
        if self.heap.is_some() {
            let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
            globals.global(ty, &ConstExpr::i32_const(0));
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result<(), reencode::Error> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let instruction = self.parse_instruction(&mut operators)?;
            match (&instruction, &self.heap) {
                (Instruction::MemoryGrow(0), Some(heap)) => {
                    function.instruction(&Instruction::I32Const(1));
                    function.instruction(&Instruction::GlobalSet(heap.has_grown));
                    function.instruction(&instruction);
                }
                (Instruction::MemorySize(0), Some(heap)) => {
                    function.instruction(&instruction);
                    function.instruction(&Instruction::I32Const(heap.pages.cast_signed()));
                    function.instruction(&Instruction::GlobalGet(heap.has_grown));
                    function.instruction(&Instruction::Select);
                }
                _ => {
                    function.instruction(&instruction);
                }
            }
        }
        code.function(&function);
        Ok(())
    }
}

fn exports(module: &[u8], name: &str, kind: ExternalKind) -> bool {
    any(module, |payload| match payload {
        Payload::ExportSection(exports) => {
            exports.into_iter().any(|export| export.is_ok_and(|export| export.name == name && export.kind == kind))
        }
        _ => false,
    })
}

fn any_import(module: &[u8], is: impl Fn(&str, &str) -> bool) -> bool {
    any(module, |payload| match payload {
        Payload::ImportSection(imports) => {
            imports.into_imports().any(|import| import.is_ok_and(|import| is(import.module, import.name)))
        }
        _ => false,
    })
}

fn any(module: &[u8], is: impl Fn(Payload<'_>) -> bool) -> bool {
    Parser::new(0).parse_all(module).any(|payload| payload.is_ok_and(&is))
}

fn told(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}
