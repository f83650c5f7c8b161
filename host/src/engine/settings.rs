//! The engines' settings. What decides on compiled code is the same for the two that run plain components, so that code
//! compiled once runs on either.

use std::sync::OnceLock;

use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, Strategy};

use super::Capacity;

/// Linear memories and tables that are kept ready for each call. Tools of all known compilers have one or two memories, and
/// a table in each of up to some ten core modules.
const MEMORIES: u32 = 4;
const TABLES: u32 = 16;
/// The most core instances of a component that runs in the pool. Those of componentize-py have some 60.
const CORE_INSTANCES: u32 = 200;
/// The most bytes that the engine's own records of a component and its instances may have: 400 bytes for each function of
/// a table's segments and some more; those of componentize-py have some 500 KB.
const RECORDS: usize = 4 << 20;
/// How much of a memory, a table and a stack stays in RAM for the next call, in bytes: what most calls use. Clearing it
/// costs less than giving it back to the system and asking for it again.
const KEPT_OF_A_MEMORY: usize = 1 << 20;
const KEPT_OF_A_TABLE: usize = 64 << 10;
/// The most that 32-bit memories can have.
const MAX_MEMORY: u64 = 4 << 30;

/// Compiles for the engines with these settings, one for plain and one for composed components.
#[derive(Default)]
pub(crate) struct Compiler {
    plain: OnceLock<wasmtime::Engine>,
    composed: OnceLock<wasmtime::Engine>,
}

impl Compiler {
    pub(crate) fn engine(&self, is_composed: bool) -> wasmtime::Result<&wasmtime::Engine> {
        let (cell, settings) = if is_composed { (&self.composed, composed()) } else { (&self.plain, plain()) };
        match cell.get() {
            Some(engine) => Ok(engine),
            None => {
                let engine = wasmtime::Engine::new(&settings)?;
                Ok(cell.get_or_init(|| engine))
            }
        }
    }
}

/// For plain components, each memory made for its call.
pub(super) fn plain() -> Config {
    let mut config = Config::new();
    config
        // Winch is younger and checks less.
        .strategy(Strategy::Cranelift)
        .consume_fuel(true)
        // Without it a store costs half as much; `async func`, streams and futures need it.
        .concurrency_support(false)
        .wasm_component_model_map(true)
        .wasm_component_model_fixed_length_lists(true)
        // Proposals that no componentizer needs by default, and whose implementations are the youngest.
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .wasm_custom_page_sizes(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false);
    config
}

/// For components that are composed of several.
pub(super) fn composed() -> Config {
    let mut config = plain();
    config.epoch_interruption(true);
    config
}

/// For plain components, from memory that is kept ready: as much of everything as all calls that may run at once can use,
/// so that none is ever refused what its limits grant.
pub(super) fn pooled(capacity: &Capacity) -> Config {
    let calls = u32::try_from(capacity.calls).unwrap_or(u32::MAX);
    let memory = usize::try_from(capacity.call_memory.min(MAX_MEMORY)).unwrap_or(usize::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_component_instance_size(RECORDS)
        .max_core_instance_size(RECORDS)
        .max_memory_size(memory)
        // As many as the memory of a call would pay for.
        .table_elements(memory / size_of::<usize>())
        .linear_memory_keep_resident(KEPT_OF_A_MEMORY)
        .table_keep_resident(KEPT_OF_A_TABLE)
        // Only what a call wrote to is cleared, where the kernel tells (Linux 6.7).
        .pagemap_scan(Enabled::Auto);
    let mut config = plain();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
