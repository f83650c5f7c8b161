//! `witbox test`: cases as files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use witbox::{CaseFile, CaseReport, Trust};

use super::report::Report;
use super::wall::{self, Inherited, Inside};
use super::{Exit, block_on, engine};

/// What the files of cases are called in a folder.
const SUFFIX: &str = ".cases.toml";
/// The largest file of cases that is read, in bytes.
const MAX_FILE: usize = 16 << 20;

/// Runs cases: calls under a grant, with what must come of each
///
/// A case file is a configuration with [[case]] tables; docs/cases.md says what they hold. Exits with 0 when all came out
/// as expected, with 1 when some did not, and with 2 when there is nothing to run.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  witbox test tests/")]
pub(super) struct Args {
    /// Files of cases, and folders in which those named *.cases.toml are found
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,

    /// Lets cases mount what lies outside of their folders, send requests and read secrets, as a configuration does
    #[arg(long)]
    trust: bool,

    /// Prints one JSON document: the cases, and how many passed and failed
    #[arg(long, conflicts_with = "junit")]
    json: bool,

    /// Prints a report as JUnit writes it
    #[arg(long)]
    junit: bool,
}

#[derive(Serialize)]
struct Summary<'r> {
    passed: usize,
    failed: usize,
    cases: &'r [CaseReport],
}

pub(super) fn run(args: &Args, inherited: &Inherited, report: &Report) -> anyhow::Result<Exit> {
    let mut files = Vec::new();
    for path in &args.paths {
        find(path, &mut files)?;
    }
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    if files.is_empty() {
        bail!("there are no files named *{SUFFIX} to run");
    }
    let everything = Trust::Everything { variable: |name| std::env::var(name).ok() };
    let trust = if args.trust { everything } else { Trust::Nothing };
    let engine = engine::plain(report)?;
    let read = |file: &PathBuf| {
        let text = super::source::read_text(file, MAX_FILE)?;
        Ok(CaseFile::read(&text, &file.display().to_string(), &folder(file))?)
    };
    let cases: Vec<CaseFile> = files.iter().map(read).collect::<anyhow::Result<_>>()?;
    let loaded: Vec<_> = cases.iter().map(|cases| cases.load(&engine)).collect();
    // Trusted cases may do what the operator may: read secrets, by commands too.
    let inside = if args.trust {
        Inside::open()
    } else {
        wall::raise_for_cases(files.iter().map(|file| folder(file)).collect(), inherited)?
    };
    let reports = block_on(&inside, async {
        let mut reports = Vec::new();
        for cases in &loaded {
            reports.extend(cases.run(trust).await);
        }
        reports
    })?;
    let failed = reports.iter().filter(|report| !report.passed()).count();
    let summary = Summary { passed: reports.len() - failed, failed, cases: &reports };
    if args.json {
        report.json(&summary)?;
    } else if args.junit {
        report.print(&junit(&files, &reports)?)?;
    } else {
        report.print(&people(&summary))?;
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failure })
}

/// The folder of a file of cases.
fn folder(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// The files of cases at a path, in their order.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let shown = || path.display().to_string();
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(shown)?.collect();
    let mut entries = entries.with_context(shown)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // Links lead elsewhere, and pipes have no end.
        let kind = entry.file_type().with_context(shown)?;
        if kind.is_dir() {
            find(&entry.path(), files)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn people(summary: &Summary<'_>) -> String {
    let width = summary.cases.iter().map(|case| case.file.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for case in summary.cases {
        let verdict = if case.passed() { "ok  " } else { "FAIL" };
        let fuel = case.usage.map(|usage| format!("  {} fuel", usage.fuel)).unwrap_or_default();
        lines.push(format!("{verdict}  {:width$}  {}{fuel}", one_line(&case.file), one_line(&case.name)));
        lines.extend(case.failures.iter().map(|failure| format!("        {}", one_line(failure))));
    }
    lines.push(format!("{} passed, {} failed", summary.passed, summary.failed));
    lines.join("\n")
}

/// What cases say may be anything; none of it begins a line.
fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

fn junit(files: &[PathBuf], reports: &[CaseReport]) -> anyhow::Result<String> {
    use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
    let mut report = Report::new("witbox");
    for file in files {
        let file = file.display().to_string();
        let mut suite = TestSuite::new(file.as_str());
        for case in reports.iter().filter(|case| case.file == file) {
            let status = if case.passed() {
                TestCaseStatus::success()
            } else {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(case.failures.join("\n"));
                status
            };
            let mut tested = TestCase::new(case.name.as_str(), status);
            tested.set_classname(file.as_str()).set_time(case.wall());
            suite.add_test_case(tested);
        }
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}
