//! The component `probe` under a grant, and what its attempts come to.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use witbox::{Call, Component, Grant, Host, Reply, Status};

use super::{ENGINE, checkout};

/// Tries on request what a hostile tool would.
pub static PROBE: LazyLock<Component> = LazyLock::new(|| {
    let bytes = fs::read(checkout("guest-tools/dist/probe.wasm")).unwrap();
    Component::new(&ENGINE, &bytes).unwrap()
});

/// A way, a path and, where there are two, the other.
pub type Attempt<'a> = (&'a str, &'a str, Option<&'a str>);

/// A host whose toolset `probe` has a grant, where some files are the host's own.
pub fn probe_beside(own: &[&Path], grant: Grant) -> Host {
    let mut host = Host::builder(&ENGINE);
    for file in own {
        host.protect(file);
    }
    host.toolset("probe", &PROBE, grant).unwrap();
    host.build()
}

/// A host whose toolset `probe` has a grant.
pub fn probe(grant: Grant) -> Host {
    probe_beside(&[], grant)
}

/// One call of a host, on a runtime of its own.
pub fn call(host: &Host, tool: &str, arguments: &Value) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(host.call(Call::new("1", tool, arguments.to_string())))
}

/// One attempt, which the tool reports on whatever becomes of it.
pub fn touch(host: &Host, (way, path, other): Attempt<'_>) -> Reply {
    let reply = call(host, "probe_touch", &json!({"way": way, "path": path, "other": other}));
    assert_eq!(reply.status, Status::Ok, "{way}: {}", reply.text());
    reply
}

/// What an attempt came to: `+` and what was got, or `-` and the error.
pub fn outcome(reply: &Reply) -> String {
    let value: Value = serde_json::from_str(reply.structured.as_ref().unwrap().get()).unwrap();
    let (kind, text) = value.as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "allowed" => format!("+{}", text.as_str().unwrap()),
        _ => format!("-{}", text.as_str().unwrap()),
    }
}

/// The rule that refused an attempt.
pub fn rule(reply: &Reply) -> &str {
    &reply.denials[0].rule
}
