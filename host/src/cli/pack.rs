//! `witbox pack`: a component that keeps its docs.

use std::path::PathBuf;

use anyhow::Context;

use super::Exit;
use super::report::Report;

/// Makes a component that keeps the docs of its WIT
///
/// Compilers drop doc comments, so that a model would see bare names. A core module that wit-bindgen's macros were
/// compiled into is made a component first. A file tool.toml in the WIT's folder, or beside it, says what WIT cannot:
/// title, version, needs, and hints for each function.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox pack target/wasm32-wasip2/release/weather.wasm --wit wit -o weather.wasm")]
pub(super) struct Args {
    /// What the compiler made: a component, or a core module
    #[arg(value_name = "COMPONENT")]
    component: PathBuf,

    /// The folder or file with its WIT
    #[arg(long, value_name = "DIR")]
    wit: PathBuf,

    /// The world, where the WIT has several
    #[arg(long)]
    world: Option<String>,

    /// Where to write the result
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let module = std::fs::read(&args.component).with_context(|| args.component.display().to_string())?;
    let packed = witbox::pack(&module, &args.wit, args.world.as_deref())
        .with_context(|| args.component.display().to_string())?;
    for warning in &packed.warnings {
        report.note(&format!("warning: {warning}"));
    }
    std::fs::write(&args.output, &packed.bytes).with_context(|| args.output.display().to_string())?;
    let claims = match &packed.tool_toml {
        Some(file) => format!("with what {} says", file.display()),
        None => "without a tool.toml".to_owned(),
    };
    report.note(&format!("{}: {} bytes, {claims}", args.output.display(), packed.bytes.len()));
    Ok(Exit::Ok)
}
