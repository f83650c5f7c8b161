//! What is expected at a place, in words.

use std::fmt;

use wasmtime::component::Val;

use super::fault::{Cx, describe_str};
use crate::tool::nearest::nearest;
use crate::tool::shape::{Case, Field, Kind, Label, Named, Shape};

/// The most names that a fault offers.
const MAX_NAMES: usize = 20;
/// What is shown of each, in bytes.
const MAX_NAME: usize = 80;

/// What a visitor is to make of the JSON value that it meets.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    Shape(&'a Shape),
    /// An object with these keys.
    Fields(&'a [Field]),
    /// `{"some": …}` around a type that may itself be null.
    Some(&'a Shape),
    /// A name out of a list.
    Label(&'a Named<Label>),
    /// The key and the value of a map's entry: `[key, value]`, or an object of both.
    Entry(&'a Shape, &'a Shape),
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self {
            Wanted::Fields(_) => return f.write_str("an object"),
            Wanted::Some(_) => return f.write_str("an object with the key \"some\""),
            Wanted::Entry(..) => return f.write_str("a pair of key and value"),
            Wanted::Label(labels) => return one_of(f, labels),
            Wanted::Shape(shape) => shape,
        };
        match &shape.kind {
            Kind::Bool => f.write_str("true or false"),
            Kind::Int(int) => {
                let (min, max) = int.range();
                write!(f, "an integer from {min} to {max}")
            }
            Kind::F32 | Kind::F64 => f.write_str("a number"),
            Kind::Char => f.write_str("a string of one character"),
            Kind::String => f.write_str("a string"),
            Kind::Bytes => f.write_str("a string in base64"),
            Kind::List(element) => write!(f, "an array of {}", Several(element)),
            Kind::FixedList(element, length) => write!(f, "an array of {length} {}", Several(element)),
            Kind::Tuple(shapes) => write!(f, "an array of {}", shapes.len()),
            Kind::Record(fields) => {
                f.write_str("an object")?;
                required_keys(f, fields)
            }
            Kind::Variant(cases) => {
                f.write_str("one of ")?;
                names(f, cases.iter().map(case_form))
            }
            Kind::Enum(labels) => one_of(f, labels),
            Kind::Flags(labels) => {
                f.write_str("an array of ")?;
                names(f, labels.iter().map(|label| format!("\"{}\"", short(&label.name))))
            }
            Kind::Option(inner) => write!(f, "{} or null", Wanted::Shape(inner)),
            Kind::Result(..) => f.write_str("an object with the key \"ok\" or \"err\""),
            Kind::Map(key, _) if matches!(key.kind, Kind::String) => f.write_str("an object"),
            Kind::Map(..) => f.write_str("an array of pairs"),
        }
    }
}

fn one_of(f: &mut fmt::Formatter<'_>, labels: &[Label]) -> fmt::Result {
    f.write_str("one of ")?;
    names(f, labels.iter().map(|label| format!("\"{}\"", short(&label.name))))
}

/// A name as it is told: WIT bounds the length of none.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}

/// A case as it is written.
pub(super) fn case_form(case: &Case) -> String {
    match case.payload {
        Some(_) => format!("{{\"{}\": …}}", short(&case.name)),
        None => format!("\"{}\"", short(&case.name)),
    }
}

/// What an array holds, in one word or a few.
struct Several<'a>(&'a Shape);

impl fmt::Display for Several<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Bool => f.write_str("booleans"),
            Kind::Int(_) => f.write_str("integers"),
            Kind::F32 | Kind::F64 => f.write_str("numbers"),
            Kind::Char | Kind::String | Kind::Bytes | Kind::Enum(_) => f.write_str("strings"),
            Kind::List(_) | Kind::FixedList(..) | Kind::Tuple(_) | Kind::Flags(_) => f.write_str("arrays"),
            Kind::Record(fields) => {
                f.write_str("objects")?;
                required_keys(f, fields)
            }
            _ => f.write_str("values"),
        }
    }
}

/// The keys that an object must have.
fn required_keys(f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
    let required: Vec<&Field> = fields.iter().filter(|field| field.required()).collect();
    if required.is_empty() {
        return Ok(());
    }
    f.write_str(" with ")?;
    names(f, required.iter().map(|field| format!("\"{}\"", field.name)))
}

fn names(f: &mut fmt::Formatter<'_>, all: impl ExactSizeIterator<Item = String>) -> fmt::Result {
    let more = all.len().saturating_sub(MAX_NAMES);
    for (index, name) in all.take(MAX_NAMES).enumerate() {
        write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
    }
    if more > 0 {
        write!(f, " and {more} more")?;
    }
    Ok(())
}

impl Cx {
    /// Notes that nothing is named like that, with the nearest name.
    pub(super) fn no_such<'n>(&mut self, wanted: Wanted<'_>, got: &str, names: impl Iterator<Item = &'n str>) -> Val {
        if self.is_full() {
            return Val::Bool(false);
        }
        let hint = nearest(got, names).map(|name| format!("did you mean \"{}\"?", short(name)));
        self.fault(format!("expected {wanted}, got {}", describe_str(got)), hint)
    }

    /// Notes a key that an object does not have.
    pub(super) fn unknown<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) {
        if self.is_full() {
            return;
        }
        let known: Vec<&str> = known.collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if known.is_empty() => "it takes none".to_owned(),
            None => {
                let shown: Vec<_> = known.iter().take(MAX_NAMES).map(|name| format!("\"{name}\"")).collect();
                format!("known are {}", shown.join(", "))
            }
        };
        self.fault(format!("unknown key {}", describe_str(name)), Some(hint));
    }

    /// Notes a key that was there before: nobody can tell which one counts.
    pub(super) fn doubled(&mut self, name: &str) {
        self.fault(format!("the key {} is given twice", describe_str(name)), Some("give it once".to_owned()));
    }
}
