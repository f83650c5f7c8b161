//! Every dialect's schemas, for random types and for those of the guest tools.
//!
//! `WITBOX_CASES` says how many calls the random tests make, `WITBOX_SEED` where they start. `BLESS=1` writes the
//! snapshots and `docs/schemas.md`; a person reads the difference.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arbitrary::Unstructured;
use serde_json::{Value, json};
use support::instance::instance;
use support::rng::Rng;
use support::subset;
use support::types::{TYPES, Types};
use support::{ENGINE, checkout, dummy, dummy_of, echo, host, tests};
use wit_parser::decoding::DecodedWasm;
use witbox::{Call, Component, Dialect, Grant, Host, Limits, Reply, Severity, Status, Tool};

fn cases() -> usize {
    std::env::var("WITBOX_CASES").map_or(2_000, |cases| cases.parse().unwrap())
}

fn seed() -> u64 {
    std::env::var("WITBOX_SEED").map_or(1, |seed| seed.parse().unwrap())
}

fn call_all(host: &Host, calls: Vec<Call>) -> Vec<Reply> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(host.call_all(calls))
}

/// Describes a tool for every dialect that can hold it, checked.
fn described(tool: &Arc<Tool>) -> Vec<(Dialect, Value)> {
    let mut all = Vec::new();
    for dialect in Dialect::ALL {
        match dialect.tool(tool) {
            Ok(described) => {
                if let Err(wrong) = subset::check(dialect, &described) {
                    panic!("{dialect}: {} of {}: {wrong}", tool.name(), tool.export());
                }
                all.push((dialect, described));
            }
            // Only structured outputs have limits of their own.
            Err(error) => {
                assert!(dialect.strict().is_ok_and(|strict| strict == dialect), "{dialect}: {error}");
                assert!(error.is_dialect() && error.to_string().contains("at most"), "{error}");
            }
        }
    }
    all
}

/// Calls of a tool with arguments that a dialect's schema allows.
fn calls(tool: &Arc<Tool>, described: &[(Dialect, Value)], each: usize, rng: &mut Rng) -> Vec<Call> {
    let mut calls = Vec::new();
    for (dialect, described) in described {
        for _ in 0..each {
            let arguments = match subset::input(*dialect, described) {
                Some(schema) => instance(schema, schema, rng),
                None => json!({}),
            };
            if matches!(dialect, Dialect::Mcp | Dialect::Anthropic) {
                let schema = subset::input(*dialect, described).unwrap();
                jsonschema::draft202012::validate(schema, &arguments).unwrap();
            }
            calls.push(Call::new(format!("{dialect} {}", calls.len()), tool.name(), arguments.to_string()));
        }
    }
    calls
}

#[test]
fn random_packages_become_tools_that_take_what_their_schemas_say() {
    let mut rng = Rng::new(seed());
    let mut made = 0;
    let mut components = 0;
    while made < cases() {
        let bytes = rng.bytes(4096);
        let config = wit_smith::Config { max_type_size: 60, fixed_length_lists: true, ..wit_smith::Config::default() };
        let Ok(package) = wit_smith::smith(&config, &mut Unstructured::new(&bytes)) else { continue };
        let Ok(DecodedWasm::WitPackage(resolve, package)) = wit_parser::decoding::decode(&package) else {
            panic!("wit-smith made no package");
        };
        for (_, &world) in &resolve.packages[package].worlds {
            if resolve.worlds[world].exports.is_empty() {
                continue;
            }
            let binary = dummy(&resolve, world);
            let Ok(component) = Component::new(&ENGINE, &binary) else { continue };
            components += 1;
            // Names that collide even with package and version are an error that shows both.
            let tools = match component.tools("smith") {
                Ok(tools) => tools,
                Err(error) => {
                    assert!(error.is_toolset(), "{error}");
                    continue;
                }
            };
            witbox::lint(&tools);
            let described: Vec<_> = tools.iter().map(|tool| (tool, described(tool))).collect();
            let mut host = Host::builder(&ENGINE);
            let limits = Limits { input: 64 << 20, ..Limits::default() };
            host.strict_arguments();
            if host.toolset("smith", &component, Grant::default().limits(limits)).is_err() {
                continue;
            }
            let host = host.build();
            let calls: Vec<Call> =
                described.iter().flat_map(|(tool, described)| calls(tool, described, 1, &mut rng)).collect();
            made += calls.len();
            for chunk in calls.chunks(64) {
                let chunk = chunk.iter().enumerate();
                let chunk: Vec<Call> = chunk
                    .map(|(index, call)| Call::new(format!("{} {index}", call.id), &call.tool, &call.arguments))
                    .collect();
                for (call, reply) in chunk.iter().zip(call_all(&host, chunk.clone())) {
                    // The functions are empty, so that whatever was read crashes or runs out.
                    let was_read = matches!(reply.status, Status::Trap | Status::Limit | Status::Ok | Status::Failed);
                    assert!(was_read, "{call:?}\n{reply:?}");
                }
            }
        }
    }
    eprintln!("{made} calls of {components} components");
}

#[test]
fn random_values_of_random_types_come_back_as_the_output_schema_says() {
    const FUNCTIONS: usize = 12;
    let mut rng = Rng::new(seed());
    let mut made = 0;
    while made < cases() {
        let mut types = Types { rng: &mut rng, declarations: String::new(), count: 0 };
        let mut functions = String::new();
        for index in 0..FUNCTIONS {
            let ty = types.any(3);
            let name = char::from(b'a' + index as u8);
            writeln!(functions, "f-{name}: func(values: list<{ty}>) -> list<{ty}>;").unwrap();
        }
        let declarations = types.declarations;
        let wit = format!("package a:b;\ninterface i {{\n{declarations}{functions}}}\nworld w {{ export i; }}");
        let component = Component::new(&ENGINE, &echo(&wit)).unwrap();
        let mut host = Host::builder(&ENGINE);
        host.strict_arguments().toolset("t", &component, Grant::default()).unwrap();
        let host = host.build();
        // Of bytes there is no schema: they are what is in them.
        for tool in host.registry().tools().iter().filter(|tool| tool.output_schema().is_some()) {
            let described = described(tool);
            let output = witbox::mcp::tool(tool)["outputSchema"].clone();
            let output = jsonschema::draft202012::new(&output).unwrap();
            let first = calls(tool, &described, 3, &mut rng);
            made += first.len();
            let replies = call_all(&host, first.clone());
            let mut again = Vec::new();
            for (call, reply) in first.iter().zip(&replies) {
                assert_eq!(reply.status, Status::Ok, "{wit}\n{call:?}\n{}", reply.text());
                let result: Value = serde_json::from_str(&witbox::mcp::result(Some(tool), reply)).unwrap();
                if let Err(error) = output.validate(&result["structuredContent"]) {
                    panic!("{wit}\n{call:?}\n{result}\n{error}");
                }
                let structured = reply.structured.as_ref().unwrap().get();
                again.push(Call::new(&call.id, &call.tool, format!("{{\"values\": {structured}}}")));
            }
            for (first, again) in replies.iter().zip(call_all(&host, again)) {
                let texts = [first, &again].map(|reply| reply.structured.as_ref().map(|value| value.get()));
                assert_eq!(texts[0], texts[1], "{wit}\n{again:?}");
            }
        }
    }
    eprintln!("{made} calls");
}

#[test]
fn large_types_are_held_or_refused_by_name() {
    let params: Vec<String> = (0..300).map(|index| format!("p{index}: option<u32>")).collect();
    let labels: Vec<String> = (0..2_000).map(|index| format!("l{index}")).collect();
    let mut nested = "string".to_owned();
    for _ in 0..60 {
        nested = format!("list<{nested}>");
    }
    let wit = format!(
        "package a:b;\ninterface i {{\nenum many {{ {} }}\nwide: func({});\nlong: func(one: many) -> many;\ndeep: func(one: {nested});\n}}\nworld w {{ export i; }}",
        labels.join(", "),
        params.join(", "),
    );
    let component = Component::new(&ENGINE, &dummy_of(&wit)).unwrap();
    let tools = component.tools("t").unwrap();
    let mut refused = BTreeMap::new();
    for tool in &tools {
        let fine = described(tool);
        refused.insert(tool.name(), Dialect::ALL.len() - fine.len());
    }
    // Both strict dialects refuse the long enum and the deep list.
    assert_eq!(refused, BTreeMap::from([("t_wide", 0), ("t_long", 2), ("t_deep", 2)]));
    let (request, left_out) = Dialect::OpenAiStrict.tools(&tools);
    assert_eq!(request.as_array().unwrap().len(), 1);
    let messages: Vec<&str> = left_out.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        ["it has 2000 enum values, at most 1000 are allowed", "it has 62 levels of nesting, at most 10 are allowed",]
    );
    let host = host("t", &component, Grant::default());
    let deep = format!("{}\"x\"{}", "[".repeat(60), "]".repeat(60));
    let replies = call_all(
        &host,
        vec![
            Call::new("1", "t_wide", r#"{"p0": 1, "p299": null}"#),
            Call::new("2", "t_long", r#"{"one": "l1999"}"#),
            Call::new("3", "t_deep", format!(r#"{{"one": {deep}}}"#)),
        ],
    );
    assert!(replies.iter().all(|reply| reply.status == Status::Trap), "{replies:?}");
}

/// An imported resource that is exported again, within itself and within others.
#[test]
fn functions_over_resources_are_no_tools_and_leave_the_others() {
    let wit = "package a:b;
        interface handles {
            resource handle { constructor(id: u32); get: func() -> string; copy: static func(of: borrow<handle>) -> handle; }
            make: func() -> handle;
            plain: func(x: u32) -> u32;
        }
        interface more {
            use handles.{handle};
            record holder { held: list<tuple<handle, option<handle>>> }
            take: func(h: borrow<handle>) -> handle;
            nested: func(h: holder) -> result<holder, handle>;
            fine: func();
        }
        world w { import handles; export handles; export more; }";
    let component = Component::new(&ENGINE, &dummy_of(wit)).unwrap();
    let tools = component.tools("t").unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["t_plain", "t_fine"]);
    tools.iter().for_each(|tool| {
        described(tool);
    });
    let no_tools: BTreeMap<&str, &str> =
        component.no_tools().iter().map(|none| (none.export.as_str(), none.reason.as_str())).collect();
    for function in ["a:b/handles#make", "a:b/more#take", "a:b/more#nested"] {
        assert_eq!(no_tools[function], "its types hold a resource, which has no form in JSON");
    }
    assert_eq!(no_tools.len(), 6, "{no_tools:?}");
}

/// A megabyte of docs on a type that is used nine hundred times is not nine hundred megabytes.
#[test]
fn docs_are_bounded_however_often_their_type_is_used() {
    let fields: Vec<String> = (0..900).map(|index| format!("n{index}: t")).collect();
    let wit = format!(
        "package a:b;\ninterface i {{\n/// {}\ntype t = u8;\nrecord r {{ {} }}\n/// Does it.\nf: func(r: r);\n}}\nworld w {{ export i; }}",
        "D".repeat(500_000),
        fields.join(", "),
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.wit");
    fs::write(&file, &wit).unwrap();
    let packed = witbox::pack(&dummy_of(&wit), &file, None).unwrap();
    let tools = Component::new(&ENGINE, &packed.bytes).unwrap().tools("t").unwrap();
    for (dialect, described) in described(&tools[0]) {
        let length = described.to_string().len();
        assert!(length < 600_000, "{dialect}: {length}");
    }
    let findings = witbox::lint(&tools);
    assert!(
        findings.iter().any(|finding| finding.message.ends_with("too long and were cut or left out")),
        "{findings:?}"
    );
}

/// What little text could make much of is refused, with at most twenty faults and short ones.
#[test]
fn arguments_cost_no_more_than_they_hold() {
    let options: Vec<String> = (0..1_000).map(|index| format!("option-number-{index}: option<u8>")).collect();
    let labels: Vec<String> = (0..30).map(|index| format!("{}{index}", "l".repeat(5_000))).collect();
    let wit = format!(
        "package a:b;\ninterface i {{\nrecord r {{ {} }}\nenum e {{ {} }}\nfewer: func(values: list<r>) -> list<r>;\nlabels: func(values: list<e>) -> list<e>;\n}}\nworld w {{ export i; }}",
        options.join(", "),
        labels.join(", "),
    );
    let component = Component::new(&ENGINE, &echo(&wit)).unwrap();
    let host = host("t", &component, Grant::default());
    let empty = vec!["{}"; 2_000].join(",");
    let strangers: Vec<String> = (0..10_000).map(|index| format!("\"option_numbre_{index}\": 1")).collect();
    let replies = call_all(
        &host,
        vec![
            Call::new("1", "t_fewer", format!(r#"{{"values": [{empty}]}}"#)),
            Call::new("2", "t_fewer", format!(r#"{{"values": [{{{}}}]}}"#, strangers.join(","))),
            Call::new("3", "t_labels", format!(r#"{{"values": [{}]}}"#, vec!["\"no\""; 100].join(","))),
        ],
    );
    let messages: Vec<&str> = replies.iter().map(|reply| reply.error.as_ref().unwrap().message.as_str()).collect();
    assert_eq!(messages[0], "the arguments take more than the call's 268435456 bytes of memory");
    for message in &messages[1..] {
        assert_eq!(message.lines().count(), 20);
        assert!(message.len() < 50_000, "{}", message.len());
    }
}

/// An import and an export of one plain name: the model is told of what is exported.
#[test]
fn docs_are_those_of_the_export() {
    for (first, second) in [("export", "import"), ("import", "export")] {
        let wit = format!(
            "package a:b;\nworld w {{\n{first} foo: interface {{ /// The {first}.\nf: func() -> string; }}\n\
             {second} foo: interface {{ /// The {second}.\nf: func() -> string; }}\n}}"
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("both.wit"), &wit).unwrap();
        let packed = witbox::pack(&dummy_of(&wit), folder.path(), None).unwrap();
        let tools = Component::new(&ENGINE, &packed.bytes).unwrap().tools("t").unwrap();
        assert_eq!(tools[0].description(), "The export.");
    }
}

#[test]
fn too_many_tools_and_bad_docs_are_found() {
    let functions: Vec<String> = (0..129).map(|index| format!("fn{index}: func();")).collect();
    let wit = format!("package a:b;\ninterface i {{ {} }}\nworld w {{ export i; }}", functions.join("\n"));
    let tools = Component::new(&ENGINE, &dummy_of(&wit)).unwrap().tools("t").unwrap();
    let findings = witbox::lint(&tools);
    let rejected = findings.iter().filter(|finding| finding.severity == Severity::Rejected);
    assert_eq!(
        rejected.map(ToString::to_string).collect::<Vec<_>>(),
        ["rejected (openai, openai strict, openai-responses, openai-responses strict, gemini): there are 129 tools, \
             and a request takes 128 at most"]
    );
    assert!(findings.iter().any(|finding| finding.to_string() == "hard for a model: t_fn0: it has no description"));
}

/// The tools that come with witbox, in every dialect.
#[test]
fn guest_tools_are_described_as_ever() {
    for name in ["data", "files", "greet", "probe", "triage"] {
        let bytes = fs::read(checkout(&format!("guest-tools/dist/{name}.wasm"))).unwrap();
        let component = Component::new(&ENGINE, &bytes).unwrap();
        let tools = component.tools(name).unwrap();
        tools.iter().for_each(|tool| {
            described(tool);
        });
        for dialect in Dialect::ALL {
            let (request, left_out) = dialect.tools(&tools);
            assert!(left_out.is_empty(), "{left_out:?}");
            let file = tests().join(format!("schemas/{name}.{}.json", dialect.to_string().replace(' ', "-")));
            same_as_file(&file, &(serde_json::to_string_pretty(&request).unwrap() + "\n"));
        }
    }
}

fn same_as_file(file: &Path, got: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, got).unwrap();
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert!(kept == got, "{} differs; this came of it:\n{got}", file.display());
}

/// `docs/schemas.md`, and that each of its values comes back from a component as it is.
#[test]
fn the_table_of_types_is_true() {
    let mut page = String::from(
        "# Types, schemas, values\n\nThe tests make this page. A parameter of each WIT type is described so by each dialect, and the value is one that \
         every tool takes and returns in this form. The forms that a dialect has in place of another are taken besides: \
         entries for a map, an object with `_0`, `_1` for a tuple.\n\n| WIT | value | dialects | schema |\n|---|---|---|---|\n",
    );
    for (ty, declaration, value) in TYPES {
        let wit = format!(
            "package a:b;\ninterface i {{\n{declaration}\nrecord held {{ value: {ty} }}\necho: func(values: list<held>) -> list<held>;\n}}\nworld w {{ export i; }}"
        );
        let component = Component::new(&ENGINE, &echo(&wit)).unwrap();
        let mut host = Host::builder(&ENGINE);
        host.strict_arguments().toolset("t", &component, Grant::default()).unwrap();
        let host = host.build();
        let replies =
            call_all(&host, vec![Call::new("1", "t_echo", format!(r#"{{"values": [{{"value": {value}}}]}}"#))]);
        assert_eq!(replies[0].structured.as_ref().unwrap().get(), format!(r#"[{{"value":{value}}}]"#), "{ty}");

        let mut forms: Vec<(String, Vec<String>)> = Vec::new();
        for (dialect, tool) in described(&host.registry().tools()[0]) {
            let schema = subset::input(dialect, &tool).unwrap();
            let text = schema.pointer("/properties/values/items/properties/value").unwrap().to_string();
            match forms.iter_mut().find(|(known, _)| *known == text) {
                Some((_, dialects)) => dialects.push(dialect.to_string()),
                None => forms.push((text, vec![dialect.to_string()])),
            }
        }
        if let [(_, dialects)] = forms.as_mut_slice() {
            *dialects = vec!["all".to_owned()];
        }
        let wit = if declaration.is_empty() { ty } else { declaration };
        for (schema, dialects) in forms {
            let cells = [format!("`{wit}`"), format!("`{value}`"), dialects.join(", "), format!("`{schema}`")];
            writeln!(page, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")).unwrap();
        }
    }
    same_as_file(&checkout("docs/schemas.md"), &page);
}
