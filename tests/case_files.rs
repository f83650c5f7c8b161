//! Files of cases, as `witbox test` runs them: what rules grant, as data.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use support::{ENGINE, tests};
use witbox::{CaseFile, Trust};

fn main() {
    let arguments = Arguments::from_args();
    let folder = tests().join("permissions");
    let mut trials = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.ends_with(".cases.toml"), "{name} is no file of cases");
            trials.push(Trial::test(name, move || run(&path)));
        }
    }
    assert!(!trials.is_empty(), "there are no cases in {}", folder.display());
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(path: &Path) -> Result<(), Failed> {
    let cases = CaseFile::read(&fs::read_to_string(path)?, &path.display().to_string(), path.parent().unwrap())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let reports = runtime.block_on(cases.load(&ENGINE).run(Trust::Nothing));
    assert!(!reports.is_empty());
    let failed: Vec<String> = reports
        .iter()
        .filter(|report| !report.passed())
        .map(|report| format!("{}: {}", report.name, report.failures.join("; ")))
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}
