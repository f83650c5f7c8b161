//! Tables in files: what is in them, and the rows that match.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs;
use std::sync::LazyLock;

use serde_json::{Value, json};
use support::ENGINE;
use support::rng::Rng;
use tempfile::TempDir;
use witbox::{Call, Component, Grant, Host, Mount, Reply, ResultLimits, Status, Workspace};

static DATA: LazyLock<Component> = LazyLock::new(|| Component::builtin(&ENGINE, "data").unwrap());

fn call(host: &Host, tool: &str, arguments: &Value) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(host.call(Call::new("1", tool, arguments.to_string())))
}

/// A folder with files, and what reads them.
struct Tables {
    folder: TempDir,
    host: Host,
}

impl Tables {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let grant = Grant::default().mount(Mount::read_only(folder.path(), "/t".parse().unwrap()));
        let host = support::host("data", &DATA, grant);
        Tables { folder, host }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    /// What a tool says of a file: its value, or its error's text.
    fn ask(&self, tool: &str, name: &str, arguments: &Value) -> Result<Value, String> {
        let mut arguments = arguments.clone();
        arguments["path"] = json!(format!("/t/{name}"));
        let reply = call(&self.host, tool, &arguments);
        match reply.status {
            Status::Ok => Ok(serde_json::from_str(reply.structured.unwrap().get()).unwrap()),
            Status::ToolError => Err(reply.text()),
            _ => panic!("{arguments}: {reply:?}"),
        }
    }

    fn describe(&self, name: &str, arguments: &Value) -> Result<Value, String> {
        self.ask("data_describe", name, arguments)
    }

    fn rows(&self, name: &str, arguments: &Value) -> Result<Value, String> {
        self.ask("data_rows", name, arguments)
    }
}

/// The columns of a description as lines: name, kind, present, numbers, least, greatest, mean.
fn columns(description: &Value) -> Vec<String> {
    let column = |column: &Value| {
        let text = |name: &str| match &column[name] {
            Value::String(text) => text.clone(),
            Value::Null => "-".to_owned(),
            other => other.to_string(),
        };
        ["name", "kind", "present", "numbers", "minimum", "maximum", "mean"].map(text).join("|")
    };
    description["columns"].as_array().unwrap().iter().map(column).collect()
}

#[test]
fn tables_are_described_however_they_are_written() {
    let tables = Tables::new();
    let of_two = ["a|integer|2|2|1|3|2.0", "b|text|2|0|x|y|-"];
    for (name, content, arguments, rows, expected) in [
        ("plain.csv", &b"a,b\n1,x\n3,y\n"[..], json!({}), 2, &of_two[..]),
        ("no-end.csv", b"a,b\n1,x\n3,y", json!({}), 2, &of_two),
        ("crlf.csv", b"a,b\r\n1,x\r\n3,y\r\n", json!({}), 2, &of_two),
        ("bom.csv", b"\xef\xbb\xbfa,b\n1,x\n3,y\n", json!({}), 2, &of_two),
        ("semicolons.csv", b"a;b\n1;x\n3;y\n", json!({}), 2, &of_two),
        ("tabs.tsv", b"a\tb\n1\tx\n3\ty\n", json!({}), 2, &of_two),
        ("bars.txt", b"a|b\n1|x\n3|y\n", json!({}), 2, &of_two),
        ("said.csv", b"a:b\n1:x\n3:y\n", json!({"reading": {"separator": ":"}}), 2, &of_two),
        (
            "headless.csv",
            b"1,x\n3,y\n",
            json!({"reading": {"header": false}}),
            2,
            &["1|integer|2|2|1|3|2.0", "2|text|2|0|x|y|-"],
        ),
        ("array.json", br#"[{"a": 1, "b": "x"}, {"a": 3, "b": "y"}]"#, json!({}), 2, &of_two),
        ("member.json", br#"{"n": 2, "rows": [{"a": 1, "b": "x"}, {"a": 3, "b": "y"}]}"#, json!({}), 2, &of_two),
        (
            "members.json",
            br#"{"tags": ["t"], "rows": [{"a": 1, "b": "x"}, {"a": 3, "b": "y"}]}"#,
            json!({"reading": {"member": "rows"}}),
            2,
            &of_two,
        ),
        ("lines.jsonl", b"{\"a\": 1, \"b\": \"x\"}\n{\"a\": 3, \"b\": \"y\"}\n", json!({}), 2, &of_two),
        ("lines.json", b"{\"a\": 1, \"b\": \"x\"}\n{\"a\": 3, \"b\": \"y\"}\n", json!({}), 2, &of_two),
        ("one.json", br#"{"a": 1, "b": {"c": 2}}"#, json!({}), 1, &["a|integer|1|1|1|1|1.0", "b|nested|1|0|-|-|-"]),
        ("arrays.json", br#"[[1, "x"], [3]]"#, json!({}), 2, &["1|integer|2|2|1|3|2.0", "2|text|1|0|x|x|-"]),
        ("cells.json", b"\xef\xbb\xbf [1, 3]", json!({}), 2, &["value|integer|2|2|1|3|2.0"]),
        (
            "quotes.csv",
            b"\"a,\"\"1\"\"\",b\n\"line\none\",2.5\n",
            json!({}),
            1,
            &["a,\"1\"|text|1|0|line\none|line\none|-", "b|number|1|1|2.5|2.5|2.5"],
        ),
        ("empty.csv", b"", json!({}), 0, &[]),
        ("header.csv", b"a,b\n", json!({}), 0, &["a|empty|0|0|-|-|-", "b|empty|0|0|-|-|-"]),
        ("empty.json", b"[]", json!({}), 0, &[]),
        ("twice.csv", b"a,a\n1,2\n", json!({}), 1, &["a|integer|1|1|1|1|1.0", "a (2)|integer|1|1|2|2|2.0"]),
        (
            "kinds.csv",
            b"n,m,b,z,e,s\n1,1,true,007,,9\n2.5,n/a,false,12,,10\n-1e3,3,TRUE,01234,,\n",
            json!({}),
            3,
            &[
                "n|number|3|3|-1e3|2.5|-332.1666666666667",
                "m|text|3|2|1|n/a|-",
                "b|boolean|3|0|TRUE|true|-",
                "z|text|3|1|007|12|-",
                "e|empty|0|0|-|-|-",
                "s|integer|2|2|9|10|9.5",
            ],
        ),
        (
            "numbers.json",
            br#"[{"n": 123456789012345678901234567890}, {"n": 123456789012345678901234567891}, {"n": null}, {}]"#,
            json!({}),
            4,
            &["n|integer|2|2|123456789012345678901234567890|123456789012345678901234567891|1.2345678901234568e+29"],
        ),
        ("typed.json", br#"[{"n": "1"}, {"n": "2"}]"#, json!({}), 2, &["n|text|2|0|1|2|-"]),
        ("some.csv", b"a,b\n1,x\n3,y\n", json!({"columns": ["b"]}), 2, &["b|text|2|0|x|y|-"]),
        ("inches.csv", b"size 5\" in;b\n1;x\n", json!({}), 1, &["size 5\" in|integer|1|1|1|1|1.0", "b|text|1|0|x|x|-"]),
        ("returns.csv", b"a,b\r1,x;y;z\r", json!({}), 1, &["a|integer|1|1|1|1|1.0", "b|text|1|0|x;y;z|x;y;z|-"]),
        (
            "cancel.csv",
            b"n\n10000000000000000\n1\n-10000000000000000\n",
            json!({}),
            3,
            &["n|integer|3|3|-10000000000000000|10000000000000000|0.3333333333333333"],
        ),
        (
            "again.csv",
            b"a\n1\n",
            json!({"columns": ["a", "a"]}),
            1,
            &["a|integer|1|1|1|1|1.0", "a|integer|1|1|1|1|1.0"],
        ),
    ] {
        tables.write(name, content);
        let described = tables.describe(name, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(described["rows"], rows, "{name}");
        assert_eq!(columns(&described), expected, "{name}");
        assert_eq!((&described["notes"], &described["left_out"]), (&json!([]), &json!(0)), "{name}");
    }
}

#[test]
fn what_is_odd_is_noted_and_what_cannot_be_read_is_refused() {
    let tables = Tables::new();
    for (name, content, arguments, expected) in [
        (
            "ragged.csv",
            &b"a,b\n1\n1,2\n1,2,3\n"[..],
            json!({}),
            &["rows: 1 have fewer cells", "rows: 1 have more cells"][..],
        ),
        ("latin1.csv", b"a\ncaf\xe9\nx\n", json!({}), &["rows: 1 are not UTF-8"]),
        ("long.csv", b"a,b\n1,2,3\n1,2,3\n1,2\n", json!({}), &["rows: 2 have more cells"]),
    ] {
        tables.write(name, content);
        let described = tables.describe(name, &arguments).unwrap();
        let notes = described["notes"].as_array().unwrap();
        assert_eq!(notes.len(), expected.len(), "{notes:?}");
        for (note, expected) in notes.iter().zip(expected) {
            assert!(note.as_str().unwrap().starts_with(expected), "{note}");
        }
    }
    for (name, content, arguments, expected) in [
        ("utf16.csv", &b"\xff\xfea\0"[..], json!({}), "UTF-16"),
        ("image.csv", b"\x89PNG\0\0", json!({}), "it is no text"),
        ("several.json", br#"{"a": [], "b": []}"#, json!({}), "several of its members hold rows, `a`, `b`"),
        ("several.json", br#"{"a": [], "b": []}"#, json!({"reading": {"member": "c"}}), "it has no member `c`"),
        ("several.json", br#"{"a": 1, "b": []}"#, json!({"reading": {"member": "a"}}), "an array of rows"),
        ("array.json", b"[1]", json!({"reading": {"member": "a"}}), "member: it is no object"),
        ("number.json", b"5", json!({}), "neither an array nor an object"),
        ("cut.json", br#"[{"a": 1}, {"a": "#, json!({}), "no JSON that can be read: EOF"),
        ("more.json", b"[1] 2", json!({}), "trailing characters"),
        ("bad.jsonl", b"{\"a\": 1}\nnot\n", json!({}), "line 2"),
        ("a.csv", b"a,b\n1,2\n", json!({"columns": ["c"]}), "there is no column `c`; there are `a`, `b`"),
        ("a.csv", b"a,b\n1,2\n", json!({"reading": {"separator": "::"}}), "separator: one character"),
    ] {
        tables.write(name, content);
        let error = tables.describe(name, &arguments).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
    }
    assert!(tables.describe("absent.csv", &json!({})).unwrap_err().starts_with("/t/absent.csv: "));
    assert!(tables.describe("../etc/passwd", &json!({})).is_err());
    let deep = "[".repeat(100_000);
    tables.write("deep.json", &deep);
    assert!(tables.describe("deep.json", &json!({})).unwrap_err().contains("no JSON that can be read"));
    let names: Vec<String> = (0..10_001).map(|n| format!("c{n}")).collect();
    tables.write("wide.csv", names.join(","));
    assert!(tables.describe("wide.csv", &json!({})).unwrap_err().contains("more than 10000 columns"));
}

#[test]
fn rows_that_match_are_found_and_counted() {
    let tables = Tables::new();
    tables.write("s.csv", "id,name,price\n1,Apple,0.5\n2,pear,10\n3,,2\n4,PEAR tree,\n5,fig,010\n");
    let ids = |arguments: &Value| {
        let page = tables.rows("s.csv", arguments).unwrap();
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row.as_array().unwrap().len() == page["columns"].as_array().unwrap().len()));
        let ids = rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ");
        (ids, page["matched"].as_u64().unwrap(), page["next"].as_u64())
    };
    let when = |column: &str, is: &str, value: Option<&str>| json!({"conditions": [{"column": column, "is": is, "value": value}]});
    for (arguments, expected) in [
        (json!({}), "1 2 3 4 5"),
        (when("price", "equal", Some("10.0")), "2"),
        (when("price", "not-equal", Some("10")), "1 3 4 5"),
        (when("price", "less", Some("2")), "1 5"),
        (when("price", "at-most", Some("2")), "1 3 5"),
        (when("price", "more", Some(" 2 ")), "2"),
        (when("price", "at-least", Some("2")), "2 3"),
        (when("name", "contains", Some("PEar")), "2 4"),
        (when("name", "missing", None), "3"),
        (when("price", "present", None), "1 2 3 5"),
        (when("name", "less", Some("b")), "1 4"),
        (
            json!({"conditions": [
                {"column": "name", "is": "contains", "value": "pear"}, {"column": "price", "is": "present"}]}),
            "2",
        ),
    ] {
        let count = expected.split(' ').count() as u64;
        assert_eq!(ids(&arguments), (expected.to_owned(), count, None), "{arguments}");
    }
    assert_eq!(ids(&json!({"limit": 2})), ("1 2".to_owned(), 5, Some(2)));
    assert_eq!(ids(&json!({"limit": 2, "offset": 4})), ("5".to_owned(), 5, None));
    assert_eq!(ids(&json!({"limit": 0})), (String::new(), 5, None));
    assert_eq!(ids(&json!({"offset": 99})), (String::new(), 5, None));
    let page = tables.rows("s.csv", &json!({"columns": ["price", "id"], "offset": 3, "limit": 1})).unwrap();
    assert_eq!((&page["columns"], &page["rows"]), (&json!(["price", "id"]), &json!([[null, "4"]])));
    for (arguments, expected) in [
        (when("cost", "less", Some("2")), "there is no column `cost`"),
        (json!({"columns": ["cost"]}), "there is no column `cost`"),
        (when("price", "less", None), "needs a `value`"),
        (when("price", "missing", Some("1")), "has no `value`"),
    ] {
        let error = tables.rows("s.csv", &arguments).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    tables.write("zero.csv", "x\n-0.0\n0\n");
    assert_eq!(tables.rows("zero.csv", &when("x", "equal", Some("0"))).unwrap()["matched"], 2);
    // Rows of JSON may have columns that earlier ones lack.
    tables.write("later.json", r#"[{"a": "\u0000\"x"}, {"b": [1, {"c": 2}]}, {"a": true, "b": 1.50}]"#);
    let page = tables.rows("later.json", &json!({})).unwrap();
    assert_eq!(page["columns"], json!(["a", "b"]));
    assert_eq!(page["rows"], json!([["\0\"x", null], [null, "[1, {\"c\": 2}]"], ["true", "1.50"]]));
}

/// Against what is plainly computed, for many tables.
#[test]
fn descriptions_and_pages_are_true() {
    let tables = Tables::new();
    let mut rng = Rng::new(7);
    for case in 0..40 {
        let count = rng.below(400);
        let numbers: Vec<Option<i64>> =
            (0..count).map(|_| (!rng.coin() || rng.coin()).then(|| rng.below(2_000) as i64 - 1_000)).collect();
        let words: Vec<String> = (0..count)
            .map(|_| (0..1 + rng.below(30)).map(|_| *rng.pick(&['a', 'é', ',', '"', '\n', ';', '0'])).collect())
            .collect();
        let name = if rng.coin() { "t.csv" } else { "t.json" };
        let text = if name == "t.csv" {
            let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let rows = numbers.iter().zip(&words);
            let rows = rows.map(|(n, word)| format!("{},{}\n", n.map_or(String::new(), |n| n.to_string()), cell(word)));
            format!("n,word\n{}", rows.collect::<String>())
        } else {
            let rows = numbers.iter().zip(&words).map(|(n, word)| json!({"n": n, "word": word}));
            json!(rows.collect::<Vec<_>>()).to_string()
        };
        tables.write(name, text);
        let described = tables.describe(name, &json!({})).unwrap();
        assert_eq!(described["rows"], count, "{case}");
        let there: Vec<i64> = numbers.iter().flatten().copied().collect();
        if count > 0 {
            let column = &described["columns"][0];
            assert_eq!(column["present"], there.len());
            assert_eq!(column["minimum"].as_str().map(str::to_owned), there.iter().min().map(i64::to_string));
            assert_eq!(column["maximum"].as_str().map(str::to_owned), there.iter().max().map(i64::to_string));
            let mean = there.iter().sum::<i64>() as f64 / there.len().max(1) as f64;
            assert!(there.is_empty() || (column["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
        }
        if count == 0 {
            continue;
        }
        // Pages of what is above a number, put together.
        let above = rng.below(2_000) as i64 - 1_000;
        let expected: Vec<&String> =
            numbers.iter().zip(&words).filter(|(n, _)| n.is_some_and(|n| n > above)).map(|(_, word)| word).collect();
        let condition = json!([{"column": "n", "is": "more", "value": above.to_string()}]);
        let (mut found, mut offset) = (Vec::new(), Some(0));
        while let Some(from) = offset {
            let limit = 1 + rng.below(50);
            let arguments = json!({"conditions": condition, "columns": ["word"], "offset": from, "limit": limit});
            let page = tables.rows(name, &arguments).unwrap();
            assert_eq!(page["matched"], expected.len());
            found.extend(page["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap().to_owned()));
            offset = page["next"].as_u64();
        }
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{case}");
    }
}

#[test]
fn answers_are_never_too_large_for_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let session = Workspace::open(&folder.path().join("work")).unwrap().session("a").unwrap();
    let results = session.results_folder().to_owned();
    let mut host = Host::builder(&ENGINE);
    host.results(session, ResultLimits { evict_above: 1_000, pointer: 1_000 }).unwrap();
    host.toolset("data", &DATA, Grant::default()).unwrap();
    let host = host.build();
    // What was evicted is there to be read.
    let wide: Vec<String> = (0..500).map(|n| format!("column {n}")).collect();
    let rows: String = (0..300).map(|n| format!("{}\n", vec![format!("\u{1}{n}"); 500].join(","))).collect();
    fs::write(results.join("wide-0.csv"), format!("{}\n{rows}", wide.join(","))).unwrap();
    let described = call(&host, "data_describe", &json!({"path": "/results/wide-0.csv"}));
    assert!(described.text().len() <= 4_000, "{}", described.text().len());
    let described: Value = serde_json::from_str(&described.text()).unwrap();
    let shown = described["columns"].as_array().unwrap().len() as u64;
    assert_eq!((described["rows"].as_u64(), described["left_out"].as_u64()), (Some(300), Some(500 - shown)));
    let page = call(&host, "data_rows", &json!({"path": "/results/wide-0.csv"}));
    assert_eq!(page.status, Status::ToolError);
    assert!(page.text().contains("ask for fewer of its columns"), "{}", page.text());
    fs::write(results.join("name-0.csv"), format!("{}\n1\n", "n".repeat(1_000_000))).unwrap();
    for arguments in [json!({"limit": 0}), json!({}), json!({"columns": ["x"]})] {
        let mut arguments = arguments;
        arguments["path"] = json!("/results/name-0.csv");
        let page = call(&host, "data_rows", &arguments);
        assert!(page.status == Status::ToolError && page.text().len() <= 4_000, "{} {arguments}", page.text().len());
    }
    let page = call(&host, "data_rows", &json!({"path": "/results/wide-0.csv", "columns": ["column 7"], "limit": 300}));
    assert!(page.text().len() <= 4_000 && page.evicted.is_empty(), "{}", page.text().len());
    let page: Value = serde_json::from_str(&page.text()).unwrap();
    assert_eq!(page["next"].as_u64(), Some(page["rows"].as_array().unwrap().len() as u64));
}
