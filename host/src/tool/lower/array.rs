//! JSON arrays → lists, maps as pairs, and flags.

use std::collections::HashSet;

use serde::de::{IgnoredAny, SeqAccess};
use wasmtime::component::Val;

use super::fault::{Cx, Step, stop_if_enough};
use super::value::ShapeSeed;
use super::wanted::Wanted;
use crate::tool::lift::scalar_key;
use crate::tool::shape::{Kind, Label, Shape};

pub(super) fn read_pairs<'de, A: SeqAccess<'de>>(mut seq: A, pair: &Shape, cx: &mut Cx) -> Result<Val, A::Error> {
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    while let Some(value) = next_element(&mut seq, pairs.len(), pair, cx)? {
        let mut values = match value {
            Val::Tuple(values) => values.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let pair = (values.next().unwrap_or(Val::Bool(false)), values.next().unwrap_or(Val::Bool(false)));
        if cx.faults.is_empty() && !seen.insert(scalar_key(&pair.0)) {
            cx.path.push(Step::Index(pairs.len()));
            cx.fault("the key of this pair was given before", None);
            cx.path.pop();
        }
        pairs.push(pair);
    }
    Ok(Val::Map(pairs))
}

pub(super) fn read_flags<'de, A: SeqAccess<'de>>(
    mut seq: A,
    wanted: Wanted<'_>,
    labels: &[Label],
    cx: &mut Cx,
) -> Result<Val, A::Error> {
    let label = Shape { kind: Kind::Enum(labels.to_vec()), docs: None };
    let mut set = vec![false; labels.len()];
    for (index, value) in read_all(&mut seq, &label, cx)?.into_iter().enumerate() {
        let Val::Enum(name) = value else { continue };
        if let Some(position) = labels.iter().position(|label| label.name == name) {
            if set[position] {
                cx.path.push(Step::Index(index));
                cx.fault(format!("\"{name}\" is given twice"), Some(format!("expected {wanted}, each once")));
                cx.path.pop();
            }
            set[position] = true;
        }
    }
    let names = labels.iter().zip(set).filter(|(_, set)| *set).map(|(label, _)| label.name.clone());
    Ok(Val::Flags(names.collect()))
}

pub(super) fn read_all<'de, A: SeqAccess<'de>>(
    seq: &mut A,
    element: &Shape,
    cx: &mut Cx,
) -> Result<Vec<Val>, A::Error> {
    let mut values = Vec::new();
    while let Some(value) = next_element(seq, values.len(), element, cx)? {
        values.push(value);
        stop_if_enough(cx)?;
    }
    Ok(values)
}

pub(super) fn next_element<'de, A: SeqAccess<'de>>(
    seq: &mut A,
    index: usize,
    shape: &Shape,
    cx: &mut Cx,
) -> Result<Option<Val>, A::Error> {
    cx.within(Step::Index(index), |cx| seq.next_element_seed(ShapeSeed { shape, cx }))
}

pub(super) fn count_rest<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<usize, A::Error> {
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
