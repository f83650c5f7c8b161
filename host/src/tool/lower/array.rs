//! JSON arrays → lists, maps as pairs, and flags.

use std::collections::HashSet;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess};
use wasmtime::component::Val;

use super::fault::{Cx, Step, quotable, stop_if_enough};
use super::value::{Place, ShapeSeed, ShapeVisitor};
use super::wanted::Wanted;
use crate::tool::lift::scalar_key;
use crate::tool::shape::{Label, Named, Shape};
use crate::tool::weight;

/// Reads the entries of a map.
pub(super) fn read_entries<'de, A: SeqAccess<'de>>(
    mut seq: A,
    key: &Shape,
    value: &Shape,
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    loop {
        let step = Step::Index(entries.len());
        let read = cx.within(step, |cx| seq.next_element_seed(EntrySeed { key, value, cx }))?;
        let Some(read) = read else { return Ok(Val::Map(entries)) };
        let mut values = match read {
            Val::Tuple(values) => values.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let entry = (values.next().unwrap_or(Val::Bool(false)), values.next().unwrap_or(Val::Bool(false)));
        if cx.faults.is_empty() && !seen.insert(scalar_key(&entry.0)) {
            cx.path.push(Step::Index(entries.len()));
            cx.fault("the key of this entry was given before", None);
            cx.path.pop();
        }
        entries.push(entry);
        cx.take_room(weight::ENTRY)?;
        stop_if_enough(cx)?;
    }
}

/// One entry of a map, as a tuple of key and value.
struct EntrySeed<'a> {
    key: &'a Shape,
    value: &'a Shape,
    cx: &'a mut Cx,
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let EntrySeed { key, value, cx } = self;
        deserializer.deserialize_any(ShapeVisitor::new(Wanted::Entry(key, value), cx))
    }
}

/// Reads as many elements as there are types.
pub(super) fn read_tuple<'de, A: SeqAccess<'de>>(
    mut seq: A,
    wanted: Wanted<'_>,
    shapes: &[&Shape],
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let mut values = Vec::with_capacity(shapes.len());
    for (index, shape) in shapes.iter().enumerate() {
        match cx.within(Step::Index(index), |cx| seq.next_element_seed(ShapeSeed::new(shape, cx)))? {
            Some(value) => values.push(value),
            None => break,
        }
    }
    let more = count_rest(&mut seq)?;
    if values.len() + more != shapes.len() {
        return Ok(cx.expected(wanted, format_args!("an array of {}", values.len() + more)));
    }
    Ok(Val::Tuple(values))
}

/// Reads the names of a set, each once.
pub(super) fn read_flags<'de, A: SeqAccess<'de>>(
    mut seq: A,
    wanted: Wanted<'_>,
    labels: &Named<Label>,
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let mut set = vec![false; labels.len()];
    let mut index = 0;
    while let Some(value) = cx.within(Step::Index(index), |cx| seq.next_element_seed(LabelSeed { labels, cx }))? {
        if let Val::Enum(name) = value
            && let Some((place, _)) = labels.find(&name)
        {
            if set[place] {
                cx.path.push(Step::Index(index));
                cx.fault(
                    format!("\"{}\" is given twice", quotable(&name)),
                    Some(format!("expected {wanted}, each once")),
                );
                cx.path.pop();
            }
            set[place] = true;
        }
        index += 1;
        cx.take_room(weight::LABEL)?;
        stop_if_enough(cx)?;
    }
    let names = labels.iter().zip(set).filter(|(_, set)| *set).map(|(label, _)| label.name.clone());
    Ok(Val::Flags(names.collect()))
}

/// One name of a set.
struct LabelSeed<'a> {
    labels: &'a Named<Label>,
    cx: &'a mut Cx,
}

impl<'de> DeserializeSeed<'de> for LabelSeed<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        deserializer.deserialize_any(ShapeVisitor::new(Wanted::Label(self.labels), self.cx))
    }
}

pub(super) fn read_all<'de, A: SeqAccess<'de>>(
    seq: &mut A,
    element: &Shape,
    cx: &mut Cx,
) -> Result<Vec<Val>, A::Error> {
    let mut values = Vec::new();
    loop {
        let read = cx.within(Step::Index(values.len()), |cx| {
            seq.next_element_seed(ShapeSeed { place: Place::InArray, ..ShapeSeed::new(element, cx) })
        })?;
        let Some(value) = read else { return Ok(values) };
        values.push(value);
        stop_if_enough(cx)?;
    }
}

fn count_rest<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<usize, A::Error> {
    let mut count = 0;
    while seq.next_element::<IgnoredAny>()?.is_some() {
        count += 1;
    }
    Ok(count)
}

pub(super) fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Val, A::Error> {
    count_rest(&mut seq)?;
    Ok(Val::Bool(false))
}
