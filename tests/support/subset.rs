//! What each provider takes, as far as its reference and its error messages say, written down without a look at how
//! witbox makes it.

use serde_json::{Map, Value};
use witbox::Dialect;

type Checked = Result<(), String>;

/// Whether a tool is what a dialect's provider takes.
pub fn check(dialect: Dialect, tool: &Value) -> Checked {
    match dialect {
        Dialect::Mcp => mcp(tool),
        Dialect::OpenAi => openai(&tool["function"], false),
        Dialect::OpenAiStrict => openai(&tool["function"], true),
        Dialect::OpenAiResponses => openai(tool, false),
        Dialect::OpenAiResponsesStrict => openai(tool, true),
        Dialect::Anthropic => anthropic(tool),
        Dialect::Gemini => gemini(tool),
        Dialect::Bedrock => bedrock(tool),
        other => Err(format!("{other} has no check")),
    }
}

/// The schema of a tool's arguments; nothing where a dialect leaves it out.
pub fn input(dialect: Dialect, tool: &Value) -> Option<&Value> {
    tool.pointer(match dialect {
        Dialect::Mcp => "/inputSchema",
        Dialect::OpenAi | Dialect::OpenAiStrict => "/function/parameters",
        Dialect::OpenAiResponses | Dialect::OpenAiResponsesStrict | Dialect::Gemini => "/parameters",
        Dialect::Bedrock => "/toolSpec/inputSchema/json",
        _ => "/input_schema",
    })
}

fn ensure(holds: bool, what: &str, place: &Value) -> Checked {
    if holds { Ok(()) } else { Err(format!("{what}: {place}")) }
}

fn is_name(text: &str, other: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || other.contains(c))
}

fn is_identifier(text: &str) -> bool {
    is_name(text, "_") && !text.starts_with(|first: char| first.is_ascii_digit())
}

fn named(tool: &Value) -> Checked {
    ensure(tool["name"].as_str().is_some_and(|name| is_name(name, "_-")), "a bad name", tool)?;
    ensure(tool["description"].is_string(), "no description", tool)
}

/// Every schema within a schema, and how many objects and arrays it is in.
fn each(schema: &Value, level: usize, visit: &mut impl FnMut(&Map<String, Value>, usize) -> Checked) -> Checked {
    let Some(fields) = schema.as_object() else { return Err(format!("no schema: {schema}")) };
    visit(fields, level)?;
    let within = level + usize::from(fields.contains_key("properties") || fields.contains_key("items"));
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(schemas)) => {
                schemas.values().try_for_each(|schema| each(schema, within, visit))?;
            }
            ("anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| each(schema, level, visit))?;
            }
            ("prefixItems", Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| each(schema, within, visit))?;
            }
            ("items" | "additionalProperties", schema @ Value::Object(_)) => each(schema, within, visit)?,
            _ => {}
        }
    }
    Ok(())
}

/// What holds for every dialect: a schema says something, is valid by the meta-schema, and has no dialect of its own.
fn sound(schema: &Value) -> Checked {
    jsonschema::draft202012::meta::validate(schema).map_err(|error| format!("{error}: {schema}"))?;
    ensure(schema["type"] == "object", "the root is no object", schema)?;
    ensure(
        ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"].iter().all(|key| schema.get(key).is_none()),
        "the root is a union",
        schema,
    )?;
    each(schema, 0, &mut |fields, _| {
        let place = Value::Object(fields.clone());
        ensure(!fields.contains_key("$schema"), "a `$schema`", &place)?;
        let says = ["type", "anyOf", "oneOf", "$ref"].iter().any(|key| fields.contains_key(*key));
        ensure(says, "a schema that says nothing", &place)?;
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
            ensure(target.is_some(), "a reference that leads nowhere", &place)?;
        }
        let known: Vec<&String> =
            fields.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).collect();
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        ensure(required.clone().all(|name| known.iter().any(|known| name == *known)), "a required stranger", &place)
    })
}

fn only(fields: &Map<String, Value>, allowed: &[&str]) -> Checked {
    match fields.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` is not allowed: {}", Value::Object(fields.clone()))),
        None => Ok(()),
    }
}

fn mcp(tool: &Value) -> Checked {
    named(tool)?;
    only(tool.as_object().unwrap(), &["name", "title", "description", "inputSchema", "outputSchema", "annotations"])?;
    sound(&tool["inputSchema"])?;
    tool.get("outputSchema").map_or(Ok(()), sound)
}

fn anthropic(tool: &Value) -> Checked {
    named(tool)?;
    only(tool.as_object().unwrap(), &["name", "description", "input_schema", "input_examples"])?;
    let schema = &tool["input_schema"];
    sound(schema)?;
    let keys = schema["properties"].as_object().unwrap().keys();
    ensure(keys.clone().all(|key| is_name(key, "_.-")), "a bad key", schema)?;
    for example in tool.get("input_examples").and_then(Value::as_array).into_iter().flatten() {
        jsonschema::draft202012::validate(schema, example).map_err(|error| format!("{error}: {example}"))?;
    }
    Ok(())
}

/// The keywords of structured outputs.
const STRICT: &[&str] = &[
    "type",
    "description",
    "enum",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
];
/// What others take besides.
const LOOSE: &[&str] = &["minLength", "maxLength", "uniqueItems"];

fn openai(function: &Value, is_strict: bool) -> Checked {
    named(function)?;
    ensure(function["strict"] == is_strict, "strictness is not said", function)?;
    let schema = &function["parameters"];
    sound(schema)?;
    let mut properties = 0;
    let mut values = 0;
    let mut chars = 0;
    each(schema, 1, &mut |fields, level| {
        let place = Value::Object(fields.clone());
        only(fields, &if is_strict { STRICT.to_vec() } else { [STRICT, LOOSE].concat() })?;
        if fields
            .get("type")
            .is_some_and(|name| name == "array" || name.as_array().is_some_and(|names| names.contains(&"array".into())))
        {
            ensure(fields.get("items").is_some_and(Value::is_object), "an array without items", &place)?;
        }
        if !is_strict {
            return Ok(());
        }
        ensure(level <= 10, "more than 10 levels", &place)?;
        if let Some(all) = fields.get("properties").and_then(Value::as_object) {
            properties += all.len();
            chars += all.keys().map(|key| key.chars().count()).sum::<usize>();
            ensure(fields.get("additionalProperties") == Some(&false.into()), "an open object", &place)?;
            let required = fields.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            ensure(required == all.len(), "a property that is not required", &place)?;
        }
        if let Some(names) = fields.get("enum").and_then(Value::as_array) {
            values += names.len();
            let these: usize = names.iter().map(|name| name.as_str().unwrap().chars().count()).sum();
            chars += these;
            ensure(names.len() <= 250 || these <= 15_000, "a large enum of long names", &place)?;
        }
        Ok(())
    })?;
    ensure(properties <= 5_000 && values <= 1_000 && chars <= 120_000, "too much in all", schema)
}

fn gemini(tool: &Value) -> Checked {
    named(tool)?;
    only(tool.as_object().unwrap(), &["name", "description", "parameters"])?;
    ensure(tool["description"] != "", "an empty description", tool)?;
    ensure(!tool["name"].as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()), "a bad name", tool)?;
    let Some(schema) = tool.get("parameters") else { return Ok(()) };
    sound(schema)?;
    each(schema, 1, &mut |fields, _| {
        let place = Value::Object(fields.clone());
        if fields.contains_key("anyOf") {
            return ensure(fields.len() == 1, "something beside anyOf", &place);
        }
        only(
            fields,
            &[
                "type",
                "description",
                "nullable",
                "enum",
                "properties",
                "required",
                "items",
                "minItems",
                "maxItems",
                "minLength",
                "maxLength",
                "minimum",
                "maximum",
            ],
        )?;
        let name = fields["type"].as_str().unwrap_or("several types");
        ensure(["string", "number", "integer", "boolean", "array", "object"].contains(&name), "a bad type", &place)?;
        ensure(!fields.contains_key("enum") || name == "string", "an enum of no strings", &place)?;
        ensure(name != "array" || fields.contains_key("items"), "an array without items", &place)?;
        if name == "object" {
            let properties = fields.get("properties").and_then(Value::as_object);
            ensure(properties.is_some_and(|all| !all.is_empty()), "an object without properties", &place)?;
            ensure(properties.is_some_and(|all| all.keys().all(|key| is_identifier(key))), "a bad key", &place)?;
        }
        Ok(())
    })
}

fn bedrock(tool: &Value) -> Checked {
    let spec = &tool["toolSpec"];
    named(spec)?;
    ensure(spec["description"] != "", "an empty description", spec)?;
    let schema = &spec["inputSchema"]["json"];
    sound(schema)?;
    only(schema.as_object().unwrap(), &["type", "properties", "required"])?;
    each(schema, 1, &mut |fields, _| only(fields, &[STRICT, LOOSE].concat()))
}
