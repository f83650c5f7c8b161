//! The walk over a shape that writes its schema.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::style::{Closed, Maps, Null, Style, Tuples, Unions};
use super::{Built, recurring};
use crate::tool::shape::{Case, Field, Int, Kind, Label, Shape, TypeName};

/// The integers up to here, and down to its negative, are exact as floating-point numbers: 2^53 - 1.
const MAX_SAFE: i128 = (1 << 53) - 1;

/// What no keyword says of an array that is a map.
const ENTRIES: &str = "The entries of a map, each key once.";

/// Whether a schema says what may be sent or what comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

pub(super) struct Builder<'s> {
    style: &'s Style,
    direction: Direction,
    /// The keys of the types that have a definition.
    keys: HashMap<TypeName, String>,
    defs: Map<String, Value>,
    loosened: BTreeSet<&'static str>,
}

impl<'s> Builder<'s> {
    pub(super) fn input<'a>(style: &'s Style, shapes: impl Iterator<Item = &'a Shape>) -> Self {
        let keys = if style.defs { recurring::keys(shapes) } else { HashMap::new() };
        Builder { style, direction: Direction::Input, keys, defs: Map::new(), loosened: BTreeSet::new() }
    }

    pub(super) fn output(style: &'s Style, returns: &Shape) -> Self {
        Builder { direction: Direction::Output, ..Builder::input(style, std::iter::once(returns)) }
    }

    pub(super) fn params(mut self, params: &[Field]) -> Built {
        let mut schema = self.object(params);
        if self.style.closed == Closed::BelowTheRoot
            && let Value::Object(fields) = &mut schema
        {
            fields.remove("additionalProperties");
        }
        let schema = self.with_defs(schema);
        Built { schema, loosened: self.loosened }
    }

    pub(super) fn returns(mut self, returns: &Shape, docs: Option<&str>) -> Value {
        let schema = self.schema(returns);
        let schema = self.described(schema, docs);
        self.with_defs(schema)
    }

    fn with_defs(&mut self, mut schema: Value) -> Value {
        if !self.defs.is_empty() {
            schema["$defs"] = Value::Object(std::mem::take(&mut self.defs));
        }
        schema
    }

    fn schema(&mut self, shape: &Shape) -> Value {
        let key = shape.name.as_ref().and_then(|name| self.keys.get(name)).cloned();
        let Some(key) = key else {
            return self.inline(shape);
        };
        if !self.defs.contains_key(&key) {
            // WIT types are not recursive, so that nothing within refers to this one.
            let schema = self.inline(shape);
            self.defs.insert(key.clone(), schema);
        }
        json!({"$ref": format!("#/$defs/{key}")})
    }

    fn inline(&mut self, shape: &Shape) -> Value {
        let schema = match &shape.kind {
            Kind::Bool => json!({"type": "boolean"}),
            Kind::Int(int) => self.integer(*int),
            // A result that is not finite becomes null.
            Kind::F32 | Kind::F64 if self.direction == Direction::Output => json!({"type": ["number", "null"]}),
            Kind::F32 | Kind::F64 => json!({"type": "number"}),
            Kind::Char if self.style.lengths => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Kind::Char => self.loosened(json!({"type": "string"}), "characters", "One character."),
            Kind::String => json!({"type": "string"}),
            Kind::Bytes if self.style.encoding => json!({"type": "string", "contentEncoding": "base64"}),
            Kind::Bytes => self.loosened(json!({"type": "string"}), "base64", "Bytes in base64."),
            Kind::List(element) => json!({"type": "array", "items": self.schema(element)}),
            Kind::FixedList(element, length) => {
                json!({"type": "array", "items": self.schema(element), "minItems": length, "maxItems": length})
            }
            Kind::Tuple(shapes) => self.tuple(&shapes.iter().collect::<Vec<_>>()),
            Kind::Record(fields) => self.object(fields),
            Kind::Variant(cases) => self.variant(cases),
            Kind::Enum(labels) => self.enumeration(labels),
            Kind::Flags(labels) => self.flags(labels),
            Kind::Option(inner) => {
                let schema = self.schema(inner);
                let schema = if inner.is_nullable() { self.single("some", schema, None) } else { schema };
                self.nullable(schema)
            }
            Kind::Result(ok, err) => {
                let side = |name: &str, side: &Option<Box<Shape>>| Case::new(name, None, side.as_deref().cloned());
                self.result(&[side("ok", ok), side("err", err)])
            }
            Kind::Map(key, value) => self.map(key, value),
        };
        self.described(schema, shape.docs.as_deref())
    }

    fn integer(&mut self, int: Int) -> Value {
        let (min, max) = int.range();
        let mut schema = json!({"type": "integer"});
        let mut unsaid = Vec::new();
        for (keyword, word, bound) in [("minimum", "at least", min), ("maximum", "at most", max)] {
            if self.style.wide_bounds || bound.abs() <= MAX_SAFE {
                schema[keyword] = number(bound);
            } else {
                unsaid.push(format!("{word} {bound}"));
            }
        }
        match unsaid.is_empty() {
            true => schema,
            false => self.loosened(schema, "64-bit bounds", &capital(&format!("{}.", unsaid.join(", ")))),
        }
    }

    fn object(&mut self, fields: &[Field]) -> Value {
        let mut properties = Map::new();
        for field in fields {
            let schema = self.schema(&field.shape);
            properties.insert(field.name.clone(), self.described(schema, field.docs.as_deref()));
        }
        // In a result every field is there: an absent option is written as null.
        let all = self.direction == Direction::Output || self.style.all_required;
        let required = fields.iter().filter(|field| all || field.required()).map(|field| field.name.as_str());
        self.keyed(properties, required.collect())
    }

    /// An object of these keys and no others.
    fn keyed(&self, properties: Map<String, Value>, required: Vec<&str>) -> Value {
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() || self.style.all_required {
            schema["required"] = json!(required);
        }
        if self.style.closed != Closed::Nowhere {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }

    fn tuple(&mut self, shapes: &[&Shape]) -> Value {
        let items: Vec<Value> = shapes.iter().map(|shape| self.schema(shape)).collect();
        let length = items.len();
        if self.style.tuples == Tuples::Prefix {
            // No `items: false`: validators of older drafts, which skip `prefixItems`, would refuse every item.
            return json!({"type": "array", "prefixItems": items, "minItems": length, "maxItems": length});
        }
        if let [first, rest @ ..] = items.as_slice()
            && rest.iter().all(|item| item == first)
        {
            return json!({"type": "array", "items": first, "minItems": length, "maxItems": length});
        }
        self.loosened.insert("tuples");
        let keys: Vec<String> = (0..length).map(tuple_key).collect();
        let properties = keys.iter().cloned().zip(items).collect();
        self.keyed(properties, keys.iter().map(String::as_str).collect())
    }

    fn map(&mut self, key: &Shape, value: &Shape) -> Value {
        let is_object = matches!(key.kind, Kind::String);
        if is_object && self.style.maps == Maps::Object {
            return json!({"type": "object", "additionalProperties": self.schema(value)});
        }
        if !is_object && self.style.tuples == Tuples::Prefix {
            let pairs = json!({"type": "array", "items": self.tuple(&[key, value])});
            return self.described(pairs, Some(ENTRIES));
        }
        let mut properties = Map::new();
        properties.insert("key".to_owned(), self.schema(key));
        properties.insert("value".to_owned(), self.schema(value));
        let entry = self.keyed(properties, vec!["key", "value"]);
        self.loosened(json!({"type": "array", "items": entry}), "maps", ENTRIES)
    }

    fn flags(&mut self, labels: &[Label]) -> Value {
        let items = self.enumeration(labels);
        match self.style.unique {
            true => json!({"type": "array", "items": items, "uniqueItems": true}),
            false => self.loosened(json!({"type": "array", "items": items}), "uniqueness", "Each at most once."),
        }
    }

    fn variant(&mut self, cases: &[Case]) -> Value {
        let bare = cases.iter().filter(|case| case.payload.is_none());
        let bare: Vec<Label> = bare.map(|case| Label { name: case.name.clone(), docs: case.docs.clone() }).collect();
        let mut forms = Vec::new();
        if !bare.is_empty() {
            forms.push(self.enumeration(&bare));
        }
        for case in cases {
            if let Some(payload) = &case.payload {
                let schema = self.schema(payload);
                // What is returned has the name; a key that is sent must not be longer than every provider takes.
                let may_be_name = !self.style.identifiers && case.name.len() == case.key.len();
                let is_name = may_be_name || self.direction == Direction::Output;
                let key = if is_name { &case.name } else { &case.key };
                forms.push(self.single(key, schema, case.docs.as_deref()));
            }
        }
        self.union(forms)
    }

    /// A `result` as a value: an object with one key. A side without a payload is null, or where null is no type its
    /// bare name.
    fn result(&mut self, sides: &[Case; 2]) -> Value {
        if self.style.null == Null::Keyword {
            return self.variant(sides);
        }
        let mut forms = Vec::new();
        for side in sides {
            let schema = side.payload.as_ref().map_or_else(null, |shape| self.schema(shape));
            forms.push(self.single(&side.name, schema, None));
        }
        self.union(forms)
    }

    fn union(&self, mut forms: Vec<Value>) -> Value {
        match (forms.len(), forms.pop()) {
            (1, Some(form)) => form,
            (_, last) => {
                forms.extend(last);
                json!({ self.union_keyword(): forms })
            }
        }
    }

    fn union_keyword(&self) -> &'static str {
        if self.style.unions == Unions::One { "oneOf" } else { "anyOf" }
    }

    /// A string out of a list. JSON Schema has no place for the docs of each, so they follow as one description.
    fn enumeration(&self, labels: &[Label]) -> Value {
        let names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
        let docs: Vec<String> =
            labels.iter().filter_map(|label| Some(format!("{}: {}", label.name, label.docs.as_ref()?))).collect();
        let docs = (!docs.is_empty()).then(|| docs.join("\n"));
        self.described(json!({"type": "string", "enum": names}), docs.as_deref())
    }

    fn single(&self, key: &str, value: Value, docs: Option<&str>) -> Value {
        let properties = std::iter::once((key.to_owned(), value)).collect();
        let schema = self.keyed(properties, vec![key]);
        self.described(schema, docs)
    }

    /// A schema, or null. Plain types take `null` into their `type`; where other keywords would exclude it, a union
    /// does.
    fn nullable(&self, mut schema: Value) -> Value {
        if self.style.null == Null::Keyword {
            self.innermost(&mut schema)["nullable"] = json!(true);
            return schema;
        }
        let plain = ["enum", "oneOf", "anyOf", "$ref"].iter().all(|keyword| schema.get(keyword).is_none());
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
    fn described(&self, mut schema: Value, docs: Option<&str>) -> Value {
        let Some(docs) = docs else { return schema };
        let place = self.innermost(&mut schema);
        let text = match place.get("description").and_then(Value::as_str) {
            Some(inner) => format!("{docs}\n{inner}"),
            None => docs.to_owned(),
        };
        place["description"] = Value::String(text);
        schema
    }

    /// Says in words what there is no keyword for.
    fn loosened(&mut self, schema: Value, what: &'static str, words: &str) -> Value {
        self.loosened.insert(what);
        self.described(schema, Some(words))
    }

    /// Where keywords may stand that are for the whole of a schema: a union that allows none beside it has them in its
    /// first form.
    fn innermost<'v>(&self, schema: &'v mut Value) -> &'v mut Value {
        if self.style.unions == Unions::BareAny && schema.get("anyOf").is_some() {
            return &mut schema["anyOf"][0];
        }
        schema
    }
}

/// The key of a tuple's item, where a tuple is an object.
pub(crate) fn tuple_key(index: usize) -> String {
    format!("_{index}")
}

fn null() -> Value {
    json!({"type": "null"})
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

fn number(value: i128) -> Value {
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => value.into(),
        (_, Ok(value)) => value.into(),
        _ => Value::Null,
    }
}
