//! A random value of a random type survives value → JSON → value, and fits its schema on the way.

use proptest::prelude::*;
use wasmtime::component::Val;

use super::lift::lift;
use super::lower::{Reading, Unread, lower};
use super::shape::{Case, Field, Int, Kind, Label, Named, Shape};
use super::weight::block;

fn names(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::hash_set("[a-z][a-z0-9]{0,6}(-[a-z][a-z0-9]{0,3}){0,2}", count)
        .prop_map(|names| names.into_iter().collect())
}

fn labels(names: Vec<String>) -> Named<Label> {
    Named::new(names.into_iter().map(|name| Label { name, docs: None }).collect())
}

fn ints() -> impl Strategy<Value = Kind> {
    use Int::*;
    prop::sample::select(vec![U8, U16, U32, U64, S8, S16, S32, S64]).prop_map(Kind::Int)
}

/// Every kind of type, nested a few levels.
fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Kind::Bool),
        ints(),
        Just(Kind::F32),
        Just(Kind::F64),
        Just(Kind::Char),
        Just(Kind::String),
        Just(Kind::Bytes),
        names(1..5).prop_map(|names| Kind::Enum(labels(names))),
        names(1..5).prop_map(|names| Kind::Flags(labels(names))),
    ]
    .prop_map(Shape::plain);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let side = prop::option::of(boxed.clone());
        prop_oneof![
            boxed.clone().prop_map(Kind::List),
            (boxed.clone(), 1..4u32).prop_map(|(element, length)| Kind::FixedList(element, length)),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kind::Tuple),
            boxed.clone().prop_map(Kind::Option),
            (side.clone(), side).prop_map(|(ok, err)| Kind::Result(ok, err)),
            (prop_oneof![ints(), Just(Kind::String), Just(Kind::Bool), Just(Kind::Char)], boxed)
                .prop_map(|(key, value)| Kind::Map(Box::new(Shape::plain(key)), value)),
            (names(1..5), prop::collection::vec(inner.clone(), 5)).prop_map(|(names, shapes)| {
                let fields = names.into_iter().zip(shapes);
                Kind::Record(fields.map(|(name, shape)| field(&name, shape)).collect())
            }),
            (names(1..5), prop::collection::vec(prop::option::of(inner), 5)).prop_map(|(names, payloads)| {
                let cases = names.into_iter().zip(payloads);
                Kind::Variant(Named::new(cases.map(|(name, payload)| Case::new(&name, None, payload)).collect()))
            }),
        ]
        .prop_map(Shape::plain)
    })
}

fn field(wit: &str, shape: Shape) -> Field {
    Field { name: super::shape::json_name(wit), wit: wit.to_owned(), docs: None, shape }
}

/// Which values of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// What JSON can say: numbers are finite, and keys of maps are not repeated.
    Json,
    /// All of them.
    Wit,
}

/// Random values of a type.
fn values(shape: &Shape, of: Of) -> BoxedStrategy<Val> {
    match &shape.kind {
        Kind::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Kind::Int(int) => match int {
            Int::U8 => any::<u8>().prop_map(Val::U8).boxed(),
            Int::U16 => any::<u16>().prop_map(Val::U16).boxed(),
            Int::U32 => any::<u32>().prop_map(Val::U32).boxed(),
            Int::U64 => prop_oneof![any::<u64>(), Just(u64::MAX)].prop_map(Val::U64).boxed(),
            Int::S8 => any::<i8>().prop_map(Val::S8).boxed(),
            Int::S16 => any::<i16>().prop_map(Val::S16).boxed(),
            Int::S32 => any::<i32>().prop_map(Val::S32).boxed(),
            Int::S64 => prop_oneof![any::<i64>(), Just(i64::MIN)].prop_map(Val::S64).boxed(),
        },
        Kind::F32 if of == Of::Wit => any::<f32>().prop_map(Val::Float32).boxed(),
        Kind::F64 if of == Of::Wit => any::<f64>().prop_map(Val::Float64).boxed(),
        Kind::F32 => {
            (prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO).prop_map(Val::Float32).boxed()
        }
        Kind::F64 => {
            (prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO).prop_map(Val::Float64).boxed()
        }
        Kind::Char => any::<char>().prop_map(Val::Char).boxed(),
        Kind::String => any::<String>().prop_map(Val::String).boxed(),
        Kind::Bytes => prop::collection::vec(any::<u8>().prop_map(Val::U8), 0..20).prop_map(Val::List).boxed(),
        Kind::List(element) => prop::collection::vec(values(element, of), 0..4).prop_map(Val::List).boxed(),
        Kind::FixedList(element, length) => {
            prop::collection::vec(values(element, of), *length as usize).prop_map(Val::FixedLengthList).boxed()
        }
        Kind::Tuple(shapes) => all(shapes.iter(), of).prop_map(Val::Tuple).boxed(),
        Kind::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|field| field.wit.clone()).collect();
            all(fields.iter().map(|field| &field.shape), of)
                .prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect()))
                .boxed()
        }
        Kind::Variant(cases) => {
            let cases: Vec<_> = cases
                .iter()
                .map(|case| {
                    let name = case.name.clone();
                    payload(case.payload.as_ref(), of).prop_map(move |value| Val::Variant(name.clone(), value)).boxed()
                })
                .collect();
            prop::strategy::Union::new(cases).boxed()
        }
        Kind::Enum(labels) => {
            let names: Vec<String> = labels.iter().map(|label| label.name.clone()).collect();
            prop::sample::select(names).prop_map(Val::Enum).boxed()
        }
        Kind::Flags(labels) => {
            let names: Vec<String> = labels.iter().map(|label| label.name.clone()).collect();
            let count = names.len();
            prop::sample::subsequence(names, 0..=count).prop_map(Val::Flags).boxed()
        }
        Kind::Option(inner) => {
            prop::option::of(values(inner, of)).prop_map(|value| Val::Option(value.map(Box::new))).boxed()
        }
        Kind::Result(ok, err) => prop_oneof![
            payload(ok.as_deref(), of).prop_map(|value| Val::Result(Ok(value))),
            payload(err.as_deref(), of).prop_map(|value| Val::Result(Err(value))),
        ]
        .boxed(),
        Kind::Map(key, value) => prop::collection::vec((values(key, of), values(value, of)), 0..4)
            .prop_map(move |pairs| {
                let mut kept: Vec<(Val, Val)> = Vec::new();
                for (key, value) in pairs {
                    if of == Of::Wit || kept.iter().all(|(other, _)| *other != key) {
                        kept.push((key, value));
                    }
                }
                Val::Map(kept)
            })
            .boxed(),
    }
}

fn all<'s>(shapes: impl Iterator<Item = &'s Shape>, of: Of) -> Vec<BoxedStrategy<Val>> {
    shapes.map(|shape| values(shape, of)).collect()
}

fn payload(shape: Option<&Shape>, of: Of) -> BoxedStrategy<Option<Box<Val>>> {
    match shape {
        Some(shape) => values(shape, of).prop_map(|value| Some(Box::new(value))).boxed(),
        None => Just(None).boxed(),
    }
}

/// What a value takes besides its place, by what its parts have room for.
fn takes(value: &Val) -> usize {
    let all = |values: &[Val]| values.iter().map(takes).sum::<usize>();
    let boxed = |value: &Option<Box<Val>>| value.as_ref().map_or(0, |value| block(size_of::<Val>()) + takes(value));
    match value {
        Val::String(text) | Val::Enum(text) => block(text.capacity()),
        Val::List(values) | Val::Tuple(values) | Val::FixedLengthList(values) => {
            block(values.capacity() * size_of::<Val>()) + all(values)
        }
        Val::Map(entries) => {
            let values = entries.iter().map(|(key, value)| takes(key) + takes(value)).sum::<usize>();
            block(entries.capacity() * size_of::<(Val, Val)>()) + values
        }
        Val::Record(fields) => {
            let values = fields.iter().map(|(name, value)| block(name.capacity()) + takes(value)).sum::<usize>();
            block(fields.capacity() * size_of::<(String, Val)>()) + values
        }
        Val::Variant(name, payload) => block(name.capacity()) + boxed(payload),
        Val::Option(value) | Val::Result(Ok(value) | Err(value)) => boxed(value),
        Val::Flags(names) => {
            block(names.capacity() * size_of::<String>())
                + names.iter().map(|name| block(name.capacity())).sum::<usize>()
        }
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn value_to_json_to_value((shape, value) in shapes().prop_flat_map(|shape| {
        let value = values(&shape, Of::Json);
        (Just(shape), value)
    })) {
        let lifted = lift(&shape, &value, u64::MAX).unwrap();
        prop_assert_eq!(&lifted.notes, &Vec::<String>::new());
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&lifted.json).is_ok(), "{}", lifted.json);
        let params = [field("value", shape)];
        let text = format!(r#"{{"value": {}}}"#, lifted.json);
        let lowered = lower(&params, &text, Reading::Lenient, u64::MAX);
        let lowered = lowered.map_err(|unread| TestCaseError::fail(format!("{unread:?}: {text}")))?;
        prop_assert_eq!((&lowered.values, &lowered.notes), (&vec![value], &Vec::new()), "{}", text);
        // What values take is never told too low, and is what bounds them.
        let takes = lowered.values.iter().map(takes).sum::<usize>() as u64;
        prop_assert!(lowered.weight >= takes, "{} < {takes}: {text}", lowered.weight);
        let room = lowered.weight;
        prop_assert!(lower(&params, &text, Reading::Lenient, room).is_ok());
        prop_assert_eq!(lower(&params, &text, Reading::Lenient, room - 1), Err(Unread::TooLarge));
    }

    #[test]
    fn every_value_fits_the_output_schema((shape, value) in shapes().prop_flat_map(|shape| {
        let value = values(&shape, Of::Wit);
        (Just(shape), value)
    })) {
        let lifted = lift(&shape, &value, u64::MAX).unwrap();
        let schema = super::schema::output(&shape, None);
        let instance = serde_json::from_str(&lifted.json).unwrap();
        prop_assert!(jsonschema::draft202012::is_valid(&schema, &instance), "{} {}", schema, lifted.json);
    }

    /// Nothing that a model writes makes lowering panic, and what is refused has a reason.
    #[test]
    fn any_text_is_read_or_refused(shape in shapes(), text in r#"[\[\]{}:,"a-c0-9.eE\\ nulltrsf-]{0,60}"#) {
        let params = [field("value", shape)];
        for text in [text.clone(), format!(r#"{{"value": {text}}}"#)] {
            if let Err(unread) = lower(&params, &text, Reading::Lenient, u64::MAX) {
                let Unread::Faulty(faults) = unread else { return Err(TestCaseError::fail("there was room")) };
                prop_assert!(!faults.is_empty() && faults.len() <= 20);
                prop_assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
            }
        }
    }
}
