//! Types → JSON Schema (2020-12), the neutral form that the dialects start from.

use serde_json::{Map, Value, json};

use super::shape::{Case, Field, Kind, Label, Shape};

/// Whether a schema says what may be sent or what comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

/// The schema of a tool's arguments.
pub(crate) fn input(params: &[Field]) -> Value {
    object(params, Direction::Input)
}

/// The schema of what a tool returns.
pub(crate) fn output(returns: &Shape) -> Value {
    schema(returns, Direction::Output)
}

fn schema(shape: &Shape, direction: Direction) -> Value {
    let of = |shape: &Shape| schema(shape, direction);
    let schema = match &shape.kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int(int) => {
            let (min, max) = int.range();
            json!({"type": "integer", "minimum": number(min), "maximum": number(max)})
        }
        // A result that is not finite becomes null.
        Kind::F32 | Kind::F64 if direction == Direction::Output => {
            json!({"type": ["number", "null"]})
        }
        Kind::F32 | Kind::F64 => json!({"type": "number"}),
        Kind::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
        Kind::String => json!({"type": "string"}),
        Kind::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
        Kind::List(element) => json!({"type": "array", "items": of(element)}),
        Kind::FixedList(element, length) => {
            json!({"type": "array", "items": of(element), "minItems": length, "maxItems": length})
        }
        Kind::Tuple(shapes) => tuple(shapes.iter().map(of).collect()),
        Kind::Record(fields) => object(fields, direction),
        Kind::Variant(cases) => variant(cases, direction),
        Kind::Enum(labels) => enumeration(labels),
        Kind::Flags(labels) => {
            json!({"type": "array", "items": enumeration(labels), "uniqueItems": true})
        }
        Kind::Option(inner) => nullable(match inner.is_nullable() {
            true => single("some", of(inner), None),
            false => of(inner),
        }),
        Kind::Result(ok, err) => {
            let of = |side: &Option<Box<Shape>>| side.as_deref().map_or_else(null, of);
            json!({"oneOf": [single("ok", of(ok), None), single("err", of(err), None)]})
        }
        Kind::Map(key, value) if matches!(key.kind, Kind::String) => {
            json!({"type": "object", "additionalProperties": of(value)})
        }
        Kind::Map(key, value) => json!({"type": "array", "items": tuple(vec![of(key), of(value)])}),
    };
    described(schema, shape.docs.as_deref())
}

fn object(fields: &[Field], direction: Direction) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let schema = schema(&field.shape, direction);
        properties.insert(field.name.clone(), described(schema, field.docs.as_deref()));
    }
    // In a result every field is there: an absent option is written as null.
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| direction == Direction::Output || field.required())
        .map(|field| field.name.as_str())
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

fn tuple(items: Vec<Value>) -> Value {
    let length = items.len();
    if length == 0 {
        return json!({"type": "array", "maxItems": 0});
    }
    json!({"type": "array", "prefixItems": items, "items": false, "minItems": length, "maxItems": length})
}

fn variant(cases: &[Case], direction: Direction) -> Value {
    let bare: Vec<Label> = cases
        .iter()
        .filter(|case| case.payload.is_none())
        .map(|case| Label { name: case.name.clone(), docs: case.docs.clone() })
        .collect();
    let mut forms = Vec::new();
    if !bare.is_empty() {
        forms.push(enumeration(&bare));
    }
    for case in cases {
        if let Some(payload) = &case.payload {
            forms.push(single(&case.name, schema(payload, direction), case.docs.as_deref()));
        }
    }
    match (forms.len(), forms.pop()) {
        (1, Some(form)) => form,
        (_, last) => {
            forms.extend(last);
            json!({"oneOf": forms})
        }
    }
}

/// A string out of a list. JSON Schema has no place for the docs of each, so they follow as one description.
fn enumeration(labels: &[Label]) -> Value {
    let names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
    let docs: Vec<String> =
        labels.iter().filter_map(|label| Some(format!("{}: {}", label.name, label.docs.as_ref()?))).collect();
    let docs = (!docs.is_empty()).then(|| docs.join("\n"));
    described(json!({"type": "string", "enum": names}), docs.as_deref())
}

fn single(key: &str, value: Value, docs: Option<&str>) -> Value {
    let schema = json!({
        "type": "object",
        "properties": { key: value },
        "required": [key],
        "additionalProperties": false,
    });
    described(schema, docs)
}

fn null() -> Value {
    json!({"type": "null"})
}

/// A schema, or null. Plain types take `null` into their `type`; where other keywords would exclude it, a union does.
fn nullable(schema: Value) -> Value {
    let plain = ["enum", "oneOf", "anyOf"].iter().all(|keyword| schema.get(keyword).is_none());
    match schema {
        Value::Object(mut fields) if plain => {
            let types = match fields.get("type") {
                Some(Value::String(name)) => json!([name, "null"]),
                Some(types @ Value::Array(_)) => types.clone(),
                _ => return json!({"anyOf": [fields, {"type": "null"}]}),
            };
            fields.insert("type".to_owned(), types);
            Value::Object(fields)
        }
        schema => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Adds docs to a schema. The nearer docs come first: a field's before its type's.
fn described(mut schema: Value, docs: Option<&str>) -> Value {
    let Some(docs) = docs else { return schema };
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(inner) => format!("{docs}\n{inner}"),
        None => docs.to_owned(),
    };
    schema["description"] = Value::String(text);
    schema
}

fn number(value: i128) -> Value {
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => value.into(),
        (_, Ok(value)) => value.into(),
        _ => Value::Null,
    }
}
