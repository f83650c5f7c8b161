//! A component that takes another's place is not run until somebody agrees.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;

use support::checkout;
use support::mcp::Place;

/// Puts a guest tool in the place of the component.
fn put(place: &Place, guest: &str) {
    fs::copy(checkout(&format!("guest-tools/dist/{guest}.wasm")), place.path().join("tool.wasm")).unwrap();
}

fn run(place: &Place, arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = place.witbox(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[test]
fn another_component_is_not_run_until_somebody_agrees() {
    let place = Place::new("[toolset.mine]\ncomponent = \"tool.wasm\"\n");
    put(&place, "greet");
    assert!(run(&place, &["list"]).0.contains("mine_greet"), "the first is agreed to");
    put(&place, "triage");
    let (listed, told, _) = run(&place, &["list"]);
    assert!(!listed.contains("mine_"), "{listed}");
    assert!(told.contains("tool.wasm has changed since it was first used"), "{told}");
    assert!(told.contains("witbox agree mine"), "{told}");
    let (_, _, code) = run(&place, &["call", "mine_classify", "{\"dtc_codes\": []}"]);
    assert_eq!(code, Some(3), "there is no such tool");
    assert_eq!(run(&place, &["check"]).2, Some(1));
    // What it was is what was agreed to.
    put(&place, "greet");
    assert!(run(&place, &["list"]).0.contains("mine_greet"));

    put(&place, "triage");
    let (told, _, code) = run(&place, &["agree", "mine"]);
    assert_eq!(code, Some(0));
    assert!(told.starts_with("mine: sha256:") && told.contains(" in place of sha256:"), "{told}");
    assert!(told.contains("  new: witbox:triage/") && told.contains("  gone: witbox:greet/"), "{told}");
    assert!(run(&place, &["list"]).0.contains("mine_classify"));
    assert!(run(&place, &["agree", "mine"]).0.contains("as before"));
    // Another session is of the same workspace.
    assert_eq!(run(&place, &["check"]).2, Some(0));
    for (toolset, reason) in [("none", "has no toolset `none`"), ("work", "")] {
        let (_, told, code) = run(&place, &["agree", toolset]);
        assert!(told.contains(reason), "{told}");
        assert_eq!(code, Some(if reason.is_empty() { 0 } else { 2 }));
    }

    // A broken record is as good as none; one that is another file's is none.
    fs::write(place.path().join("work/components/mine.json"), "nonsense").unwrap();
    put(&place, "greet");
    assert!(run(&place, &["list"]).0.contains("mine_greet"));
    fs::rename(place.path().join("tool.wasm"), place.path().join("other.wasm")).unwrap();
    let config = place.path().join("witbox.toml");
    let text = fs::read_to_string(&config).unwrap().replace("tool.wasm", "other.wasm");
    fs::write(&config, text).unwrap();
    assert!(run(&place, &["list"]).0.contains("mine_greet"), "the operator named another file");
}

#[test]
fn who_writes_a_tool_may_have_any() {
    let place = Place::new("[toolset.mine]\ncomponent = \"tool.wasm\"\nreload = true\n");
    for (guest, tool) in [("greet", "mine_greet"), ("triage", "mine_classify"), ("greet", "mine_greet")] {
        put(&place, guest);
        assert!(run(&place, &["list"]).0.contains(tool));
    }
    let place = Place::new(&format!(
        "[toolset.mine]\ncomponent = \"tool.wasm\"\nreload = true\ndigest = \"sha256:{}\"\n",
        "0".repeat(64)
    ));
    assert!(run(&place, &["check"]).1.contains("`reload` lets any component be used"));
}
