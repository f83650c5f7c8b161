//! `witbox inspect --host`: what this machine offers to keep guests in.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use witbox::Capacity;

use super::Exit;
use super::engine::{cache_folder, plain};
use super::report::Report;
use super::wall::Offer;

#[derive(Serialize)]
struct Machine {
    /// What a process gives up before its calls, where a configuration does not say otherwise.
    wall: Offer,
    /// Why no memory is kept ready for calls; nothing where some is.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_pooled: Option<String>,
    /// What calls may use together, where a configuration does not say otherwise.
    capacity: Capacity,
    /// Where compiled code is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<PathBuf>,
}

pub(super) fn run(json: bool, report: &Report) -> anyhow::Result<Exit> {
    let engine = plain(report)?;
    let machine = Machine {
        wall: Offer::of_this_kernel(),
        not_pooled: engine.not_pooled().map(str::to_owned),
        capacity: engine.capacity().clone(),
        cache: cache_folder(),
    };
    if json {
        report.json(&machine)?;
    } else {
        report.print(&people(&machine))?;
    }
    Ok(Exit::Ok)
}

fn people(machine: &Machine) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "wall: {}", machine.wall);
    let _ = writeln!(out, "memory for calls: {}", machine.not_pooled.as_deref().unwrap_or("some is kept ready"));
    let Capacity { calls, queue, memory, .. } = machine.capacity;
    let _ = writeln!(out, "calls at once: {calls}, in {memory} bytes of memory; {queue} more wait");
    match &machine.cache {
        Some(folder) => writeln!(out, "compiled code: kept in {}", folder.display()),
        None => writeln!(out, "compiled code: not kept, as there is no home folder"),
    }
    .unwrap_or_default();
    out
}
