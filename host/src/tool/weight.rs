//! What values cost the host, in bytes: a value of one byte in a guest's memory may take a hundred times as much here.
//!
//! The engine charges what it lifts by an estimate that is too low for some types: names of flags and cases count as their
//! letters, and room that vectors keep in reserve does not count. How far too low is found out for each type, once.

use wasmtime::component::Val;

use super::shape::{Kind, Shape};

/// What a place for a value takes.
const SLOT: f64 = size_of::<Val>() as f64;
/// What a field of a record takes: its name's place and its value's.
const FIELD: f64 = size_of::<(String, Val)>() as f64;
/// The places that a vector has at least, once it has any; it doubles them as it grows.
const LEAST: usize = 4;

/// What a block of memory of so many bytes takes with what the allocator adds, by glibc's malloc: eight bytes, in steps of
/// sixteen, thirty-two at least. Others add less.
pub(super) fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// How many bytes a lifted value of a type takes at most for each byte that the engine charges for it.
///
/// The worst of a whole is no worse than the worst of its parts, so that each is looked at with the place that it is in.
pub(crate) fn worst_ratio(shape: &Shape) -> f64 {
    Slot { host: SLOT, charged: SLOT, is_single: true }.worst(&shape.kind)
}

/// A place for a value: what it takes, and what the engine charges for it.
#[derive(Clone, Copy)]
struct Slot {
    host: f64,
    charged: f64,
    /// Whether there is only one such place, so that what it wastes does not count.
    is_single: bool,
}

impl Slot {
    fn ratio(self) -> f64 {
        self.host / self.charged
    }

    fn and(self, host: usize, charged: usize) -> Self {
        Slot { host: self.host + host as f64, charged: self.charged + charged as f64, ..self }
    }

    fn worst(self, kind: &Kind) -> f64 {
        let inner = match kind {
            // UTF-8 takes up to two bytes for one of Latin-1, and three for two of UTF-16; the engine lets the latter grow by
            // doubling, so that as much again may be left over. Of a single one that is never touched.
            Kind::String => self.and(block(1), 1).ratio().max(if self.is_single { 2.0 } else { 3.0 }),
            Kind::Bytes => self.elements(&Kind::Bool),
            Kind::List(element) | Kind::FixedList(element, _) => self.elements(&element.kind),
            Kind::Map(key, value) => {
                let slot = Slot { host: block(size_of::<(Val, Val)>()) as f64 / 2.0, charged: SLOT, is_single: false };
                slot.worst(&key.kind).max(slot.worst(&value.kind))
            }
            Kind::Tuple(shapes) => {
                let slot = self.part(vector(shapes.len(), SLOT), SLOT);
                shapes.iter().map(|shape| slot.worst(&shape.kind)).fold(0.0, f64::max)
            }
            Kind::Record(fields) => {
                let host = vector(fields.len(), FIELD);
                let worst = |name: &str| self.part(host + block(name.len()) as f64, SLOT + name.len() as f64);
                fields.iter().map(|field| worst(&field.wit).worst(&field.shape.kind)).fold(0.0, f64::max)
            }
            Kind::Variant(cases) => {
                let worst = cases.iter().map(|case| {
                    let named = self.and(block(case.name.len()), case.name.len());
                    case.payload.as_ref().map_or(named.ratio(), |payload| named.boxed(payload).max(named.ratio()))
                });
                worst.fold(0.0, f64::max)
            }
            Kind::Enum(labels) => {
                let worst = labels.iter().map(|label| self.and(block(label.name.len()), label.name.len()).ratio());
                worst.fold(0.0, f64::max)
            }
            Kind::Flags(labels) => {
                let mut lengths: Vec<usize> = labels.iter().map(|label| label.name.len()).collect();
                lengths.sort_unstable();
                let mut names = self;
                let mut worst: f64 = 0.0;
                // Those with the shortest names cost most for what they are charged.
                for (count, length) in (1..).zip(lengths) {
                    names = names.and(block(length), length);
                    let places = block(places(count) * size_of::<String>());
                    worst = worst.max(names.and(places, 0).ratio());
                }
                worst
            }
            Kind::Option(inner) => self.boxed(inner),
            Kind::Result(ok, err) => {
                let sides = [ok, err].into_iter().flatten();
                sides.map(|side| self.boxed(side)).fold(0.0, f64::max)
            }
            Kind::Bool | Kind::Int(_) | Kind::F32 | Kind::F64 | Kind::Char => 0.0,
        };
        inner.max(self.ratio())
    }

    /// A value in a box of its own.
    fn boxed(self, shape: &Shape) -> f64 {
        self.and(block(size_of::<Val>()), size_of::<Val>()).worst(&shape.kind)
    }

    /// The elements of a list. A short one has room for more than it holds; a single long one has only touched what it
    /// holds.
    fn elements(self, element: &Kind) -> f64 {
        let host = if self.is_single { SLOT } else { block(LEAST * size_of::<Val>()) as f64 };
        Slot { host, charged: SLOT, is_single: false }.worst(element)
    }

    /// A part of what is here, which there is as often as the whole.
    fn part(self, host: f64, charged: f64) -> Self {
        Slot { host, charged, is_single: self.is_single }
    }
}

fn places(count: usize) -> usize {
    if count == 0 { 0 } else { count.next_power_of_two().max(LEAST) }
}

/// What each of a vector's values takes of it.
fn vector(count: usize, each: f64) -> f64 {
    if count == 0 { 0.0 } else { block(places(count) * each as usize) as f64 / count as f64 }
}

/// What reading a value of a type from JSON takes at most, without what it is made of: its place in a vector that has
/// grown, a box, and a name.
pub(super) fn read(shape: &Shape) -> usize {
    let place = 2 * size_of::<Val>();
    match &shape.kind {
        Kind::Record(fields) => {
            let field = |name: &str| size_of::<(String, Val)>() + size_of::<Option<Val>>() + block(name.len());
            place + fields.iter().map(|shape| field(&shape.wit)).sum::<usize>()
        }
        Kind::Tuple(shapes) => place + shapes.len() * size_of::<Option<Val>>(),
        Kind::Option(_) | Kind::Result(..) => place + block(size_of::<Val>()),
        Kind::Variant(_) | Kind::Enum(_) => place + block(size_of::<Val>()) + block(1),
        Kind::Bool | Kind::Int(_) | Kind::F32 | Kind::F64 | Kind::Char => place,
        Kind::List(_) | Kind::FixedList(..) | Kind::Bytes => place + block(LEAST * size_of::<Val>()),
        Kind::Map(..) => place + block(LEAST * size_of::<(Val, Val)>()),
        Kind::Flags(_) => place + block(LEAST * size_of::<String>()),
        Kind::String => place + block(1),
    }
}

/// What the bytes of a `list<u8>` take.
pub(super) fn bytes(count: usize) -> usize {
    count.saturating_mul(size_of::<Val>())
}

/// What an entry of a map takes beside its value: its places, and what tells whether its key was given before.
pub(super) const ENTRY: usize = 2 * size_of::<(Val, Val)>() + 96;
/// What one name of a set takes.
pub(super) const LABEL: usize = 2 * size_of::<String>() + 32;

#[cfg(test)]
mod tests {
    use super::super::shape::{Case, Field, Int, Label, Named};
    use super::*;

    fn plain(kind: Kind) -> Shape {
        Shape::plain(kind)
    }

    fn list(kind: Kind) -> Shape {
        plain(Kind::List(Box::new(plain(kind))))
    }

    fn labels(count: usize) -> Named<Label> {
        Named::new((0..count).map(|n| Label { name: format!("f{n}"), docs: None }).collect())
    }

    #[test]
    fn types_cost_what_they_do() {
        let record = |name: &str| {
            let shape = plain(Kind::Int(Int::U8));
            Kind::Record(vec![Field { name: name.to_owned(), wit: name.to_owned(), docs: None, shape }])
        };
        let variant = Kind::Variant(Named::new(vec![Case::new("a", None, None)]));
        let cases = [
            ("number", plain(Kind::Int(Int::U64)), 1.0..=1.0),
            ("bytes", plain(Kind::Bytes), 1.0..=1.0),
            ("string", plain(Kind::String), 2.0..=2.0),
            ("list of numbers", list(Kind::Int(Int::U8)), 1.0..=1.0),
            ("list of strings", list(Kind::String), 3.0..=3.0),
            ("list of lists of numbers", list(Kind::List(Box::new(plain(Kind::Bool)))), 4.0..=4.5),
            ("list of records", list(record("a")), 7.0..=7.5),
            ("list of variants", list(variant), 1.7..=1.8),
            ("list of sets of 32", list(Kind::Flags(labels(32))), 15.0..=20.0),
            ("list of sets of one", list(Kind::Flags(labels(1))), 4.0..=4.6),
        ];
        for (what, shape, expected) in cases {
            let ratio = worst_ratio(&shape);
            assert!(expected.contains(&ratio), "{what}: {ratio}");
        }
    }

    #[test]
    fn deep_types_are_weighed_in_no_time() {
        let mut shape = plain(Kind::Bool);
        for _ in 0..100 {
            shape = plain(Kind::Tuple(vec![plain(Kind::List(Box::new(shape)))]));
        }
        assert!(worst_ratio(&shape) < 10.0);
    }
}
