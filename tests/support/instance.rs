//! Random values that a schema allows, as a model would write them: by its keywords, and where a dialect lacks one by
//! what the description says in its place.

use base64::Engine as _;
use serde_json::{Map, Number, Value, json};

use super::rng::Rng;

const MAX_SAFE: i128 = (1 << 53) - 1;

/// A value that `schema` allows; references are looked up in `root`.
pub fn instance(schema: &Value, root: &Value, rng: &mut Rng) -> Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.strip_prefix('#').unwrap());
        return instance(target.unwrap_or_else(|| panic!("{reference} leads nowhere")), root, rng);
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(union).and_then(Value::as_array) {
            return instance(rng.pick(forms), root, rng);
        }
    }
    if schema.get("nullable") == Some(&json!(true)) && rng.below(4) == 0 {
        return Value::Null;
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return rng.pick(values).clone();
    }
    let name = match &schema["type"] {
        Value::Array(names) => rng.pick(names).as_str().unwrap(),
        name => name.as_str().unwrap_or_else(|| panic!("a schema without a type: {schema}")),
    };
    match name {
        "null" => Value::Null,
        "boolean" => json!(rng.coin()),
        "integer" => integer(schema, rng),
        "number" => number(rng),
        "string" => string(schema, rng),
        "array" => array(schema, root, rng),
        "object" => object(schema, root, rng),
        other => panic!("{other} is no type"),
    }
}

fn says(schema: &Value, words: &str) -> bool {
    schema.get("description").and_then(Value::as_str).is_some_and(|text| text.contains(words))
}

fn bound(schema: &Value, keyword: &str, unsaid: i128) -> i128 {
    let bound = schema.get(keyword);
    bound.map_or(unsaid, |bound| bound.to_string().parse().unwrap())
}

fn integer(schema: &Value, rng: &mut Rng) -> Value {
    let (min, max) = (bound(schema, "minimum", -MAX_SAFE), bound(schema, "maximum", MAX_SAFE));
    let within = min + i128::from(rng.next()) % (max - min + 1);
    let value = *rng.pick(&[min, max, within, within.clamp(min.max(-9), max.min(9))]);
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => json!(value),
        (_, Ok(value)) => json!(value),
        _ => panic!("{value} is beyond 64 bits"),
    }
}

fn number(rng: &mut Rng) -> Value {
    let float = f64::from(rng.next() as i32) / f64::from(1 << (rng.below(20)));
    Number::from_f64(float).map_or(json!(0), Value::Number)
}

fn string(schema: &Value, rng: &mut Rng) -> Value {
    if schema.get("contentEncoding").is_some() || says(schema, "Bytes in base64.") {
        let count = rng.below(9);
        return json!(base64::engine::general_purpose::STANDARD.encode(rng.bytes(count)));
    }
    let is_one = schema.get("maxLength") == Some(&json!(1)) || says(schema, "One character.");
    let count = if is_one { 1 } else { rng.below(6) };
    let text: String = (0..count)
        .map(|_| *rng.pick(&['a', 'Z', '0', ' ', '"', '\\', '\n', 'é', '漢', '🦀', '\0', '_', '-']))
        .collect();
    json!(text)
}

fn array(schema: &Value, root: &Value, rng: &mut Rng) -> Value {
    if let Some(prefix) = schema.get("prefixItems").and_then(Value::as_array) {
        return prefix.iter().map(|item| instance(item, root, rng)).collect();
    }
    let min = bound(schema, "minItems", 0) as usize;
    let max = bound(schema, "maxItems", min as i128 + 3) as usize;
    let count = min + rng.below(max - min + 1);
    let mut items: Vec<Value> = Vec::new();
    for _ in 0..count {
        let item = instance(&schema["items"], root, rng);
        let key = |item: &Value| item.get("key").cloned();
        let repeats = match (schema.get("uniqueItems").is_some() || says(schema, "Each at most once."), &item) {
            (true, _) => items.contains(&item),
            (_, Value::Object(_)) if says(schema, "each key once") => {
                items.iter().any(|other| same_number(&key(other), &key(&item)))
            }
            // The entries of a map as pairs; a list of pairs would allow more.
            (_, Value::Array(pair)) if pair.len() == 2 => {
                items.iter().any(|other| same_number(&other.get(0).cloned(), &pair.first().cloned()))
            }
            _ => false,
        };
        if !repeats || min > 0 {
            items.push(item);
        }
    }
    Value::Array(items)
}

/// Whether two keys are one: 1 and 1.0 are.
fn same_number(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a.as_ref().and_then(Value::as_f64), b.as_ref().and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn object(schema: &Value, root: &Value, rng: &mut Rng) -> Value {
    let mut object = Map::new();
    let empty = Map::new();
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema.get("properties").and_then(Value::as_object).unwrap_or(&empty) {
        if required.contains(&name.as_str()) || rng.coin() {
            object.insert(name.clone(), instance(property, root, rng));
        }
    }
    if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
        for index in 0..rng.below(3) {
            let name = *rng.pick(&["", "$ref", "a b", "key", "é\"\\"]);
            object.insert(format!("{name}{index}"), instance(values, root, rng));
        }
    }
    Value::Object(object)
}
