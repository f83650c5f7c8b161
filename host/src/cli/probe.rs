//! `witbox probe`: what hostile code could reach under a toolset's grant.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::bail;
use witbox::{Exposure, Host};

use super::engine::Compiling;
use super::report::Report;
use super::source::read_plan;
use super::wall::Inside;
use super::{Exit, block_on, engine};

/// Runs hostile code under a toolset's grant, and tells what it could reach and change
///
/// The toolset's own component does not run, and the built-in probe takes its place. Files are opened to read and to write,
/// and nothing is written to them; no request is sent, and no secret is read.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox probe -c witbox.toml files")]
pub(super) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = "witbox.toml")]
    config: PathBuf,

    /// The toolset
    toolset: String,

    /// Prints one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let plan = read_plan(&args.config)?;
    let Some(toolset) = plan.toolsets.iter().find(|toolset| toolset.name == args.toolset) else {
        let known: Vec<&str> = plan.toolsets.iter().map(|toolset| toolset.name.as_str()).collect();
        bail!("{} has no toolset `{}`; there are {}", args.config.display(), args.toolset, known.join(", "));
    };
    let engine = engine::of_plan(&plan, Compiling::WhenAsked, report)?;
    let mut host = Host::builder(&engine);
    host.protect(&args.config);
    let exposure = block_on(&Inside::open(), async { host.probe(toolset).await })??;
    if args.json {
        report.json(&exposure)?;
    } else {
        report.print(&people(&args.toolset, &exposure))?;
    }
    Ok(Exit::Ok)
}

fn people(name: &str, exposure: &Exposure) -> String {
    let mut out = format!("what hostile code could do as the toolset `{name}`\n");
    // Writing to a string does not fail, here and below.
    if exposure.mounts.is_empty() {
        out.push_str("\nfiles: none\n");
    }
    for mount in &exposure.mounts {
        let _ = writeln!(out, "\n{} ({}, {})", mount.guest, mount.host, mount.mode);
        let all = if mount.complete { "all" } else { "the first" };
        let _ = writeln!(out, "  of {all} {} files in {} folders", mount.files, mount.folders);
        let list = |names: &[String], count: u64| match names {
            [] => String::new(),
            names => {
                let more = count.saturating_sub(names.len() as u64);
                let shown: Vec<String> = names.iter().map(|name| name.escape_debug().to_string()).collect();
                format!(": {}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
            }
        };
        let _ = writeln!(
            out,
            "  could read {} ({} bytes){}",
            mount.readable,
            mount.bytes,
            list(&mount.sample_readable, mount.readable)
        );
        let _ = writeln!(out, "  could change {}{}", mount.writable, list(&mount.sample_writable, mount.writable));
        if let Some(rest) = &mount.could_add {
            let _ = writeln!(out, "  could add {} files and {} bytes in all", rest.files, rest.bytes);
        }
        if let Some(failure) = &mount.failure {
            let _ = writeln!(out, "  it was stopped on the way: {failure}");
        }
    }
    section(&mut out, "requests", &exposure.requests, "none");
    section(&mut out, "secrets, spent and not seen", &exposure.secrets, "none");
    section(&mut out, "secrets that it holds itself", &exposure.exposed, "none");
    section(&mut out, "environment", &exposure.variables, "empty");
    let limits = &exposure.limits;
    let _ = write!(
        out,
        "\neach call: {} units of fuel, {} bytes of memory, {} ms, {} requests, {} bytes up and {} down\n",
        limits.fuel, limits.memory, limits.timeout_ms, limits.requests, limits.upload, limits.download
    );
    section(&mut out, "tried in vain", &exposure.refused, "nothing");
    if !exposure.unexpected.is_empty() {
        section(&mut out, "reached, which no grant allows", &exposure.unexpected, "nothing");
    }
    out
}

fn section(out: &mut String, title: &str, lines: &[String], empty: &str) {
    if lines.is_empty() {
        let _ = writeln!(out, "\n{title}: {empty}");
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for line in lines {
        let _ = writeln!(out, "  {}", line.replace('\n', " "));
    }
}
