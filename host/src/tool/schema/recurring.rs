//! Named types that a schema has more than once, each with its key under `$defs`.

use std::collections::HashMap;

use crate::tool::shape::{Kind, Shape, TypeName};

/// The keys of the types that recur among some shapes.
pub(super) fn keys<'s>(roots: impl Iterator<Item = &'s Shape>) -> HashMap<TypeName, String> {
    let mut counts: Vec<(&TypeName, usize)> = Vec::new();
    let mut places: HashMap<&TypeName, usize> = HashMap::new();
    let mut open: Vec<&Shape> = roots.collect();
    open.reverse();
    while let Some(shape) = open.pop() {
        if let Some(name) = definable(shape) {
            let place = *places.entry(name).or_insert(counts.len());
            if let Some((_, count)) = counts.get_mut(place) {
                *count += 1;
                // What is within was counted where the type was met first.
                continue;
            }
            counts.push((name, 1));
        }
        open.extend(shape.children().rev());
    }
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let mut keys = HashMap::new();
    for (name, _) in counts.into_iter().filter(|(_, count)| *count > 1) {
        let holders = taken.entry(&name.name).or_default();
        *holders += 1;
        // A WIT name has no underscore, so that this is no other's.
        let key = if *holders == 1 { name.name.clone() } else { format!("{}_{holders}", name.name) };
        keys.insert(name.clone(), key);
    }
    keys
}

/// The name of a type that is worth a definition: a name for a number says less than the number's bounds.
fn definable(shape: &Shape) -> Option<&TypeName> {
    let has_parts = matches!(shape.kind, Kind::Record(_) | Kind::Variant(_) | Kind::Enum(_) | Kind::Flags(_));
    shape.name.as_ref().filter(|_| has_parts)
}
