//! Bounds on what a component's few bytes may cost at load, checked before the compiler sees them.
//!
//! The compiler writes out every instantiation, so that ten levels of ten instances are 10^10, and it walks nested types
//! by recursion.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef, Parser,
    Payload,
};

/// The deepest that components may nest. Those of wit-component nest two deep, compositions a level more for each.
const MAX_DEPTH: usize = 50;
/// The most instances of components and core modules, written out. Those of componentize-py have some 60.
const MAX_INSTANCES: u64 = 5_000;
/// The most types that may start within another type of one section, which bounds how deep they nest. WIT never nests
/// more than a world within a package.
const MAX_NESTED_TYPES: usize = 1_000;

/// A component that would cost too much to load.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMuch {
    #[error("its components nest more than {MAX_DEPTH} deep")]
    Depth,
    #[error("it makes more than {MAX_INSTANCES} instances")]
    Instances,
    #[error("its types nest too deep")]
    Types,
}

/// What a component's structure says of the cost of running it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Structure {
    /// Whether components within it have code that calls between them. The engine then copies and transcodes strings for
    /// them in loops that use no fuel.
    pub(crate) is_composed: bool,
}

/// Reads a component's structure. What cannot be parsed is left to the compiler to refuse.
pub(crate) fn check(bytes: &[u8]) -> Result<Structure, TooMuch> {
    let mut structure = Structure::default();
    let mut frames: Vec<Frame> = vec![Frame::default()];
    // Core modules within components have ends of their own.
    let mut modules = 0usize;
    // What a component costs whose definition cannot be seen, such as one that an instance exports.
    let mut dearest = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { break };
        match payload {
            Payload::ModuleSection { .. } => modules += 1,
            Payload::ComponentSection { .. } => {
                frames.push(Frame::default());
                if frames.len() > MAX_DEPTH {
                    return Err(TooMuch::Depth);
                }
            }
            Payload::End(_) if modules > 0 => modules -= 1,
            Payload::End(_) => {
                let Some(frame) = frames.pop() else { break };
                dearest = dearest.max(frame.instances);
                if let Some(parent) = frames.last_mut() {
                    parent.components.push(frame.instances);
                }
            }
            Payload::ComponentTypeSection(section) => {
                let contents = bytes.get(section.range()).unwrap_or_default();
                if nested_types(contents) > MAX_NESTED_TYPES {
                    return Err(TooMuch::Types);
                }
            }
            Payload::ComponentCanonicalSection(_) => structure.is_composed |= frames.len() > 1,
            Payload::InstanceSection(section) => add(&mut frames, u64::from(section.count()))?,
            Payload::ComponentInstanceSection(section) => {
                for instance in section.into_iter().flatten() {
                    let ComponentInstance::Instantiate { component_index, .. } = instance else { continue };
                    let components = frames.last().map(|frame| frame.components.as_slice()).unwrap_or_default();
                    let inner = components.get(component_index as usize).copied().unwrap_or(dearest);
                    add(&mut frames, inner.saturating_add(1))?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.into_iter().flatten() {
                    let cost = match alias {
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            let outer = frames.len().checked_sub(1 + count as usize);
                            let outer = outer.and_then(|outer| frames.get(outer));
                            outer.and_then(|frame| frame.components.get(index as usize)).copied().unwrap_or(dearest)
                        }
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => dearest,
                        _ => continue,
                    };
                    define(&mut frames, cost);
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.into_iter().flatten() {
                    if let ComponentTypeRef::Component(_) = import.ty {
                        define(&mut frames, dearest);
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.into_iter().flatten() {
                    // An export is a new item of its kind.
                    if export.kind == ComponentExternalKind::Component {
                        let components = frames.last().map(|frame| frame.components.as_slice()).unwrap_or_default();
                        let cost = components.get(export.index as usize).copied().unwrap_or(dearest);
                        define(&mut frames, cost);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(structure)
}

/// A component while it is read.
#[derive(Default)]
struct Frame {
    /// What each component of its index space costs, in instances.
    components: Vec<u64>,
    /// What it costs itself.
    instances: u64,
}

fn define(frames: &mut [Frame], cost: u64) {
    if let Some(frame) = frames.last_mut() {
        frame.components.push(cost);
    }
}

fn add(frames: &mut [Frame], instances: u64) -> Result<(), TooMuch> {
    if let Some(frame) = frames.last_mut() {
        frame.instances = frame.instances.saturating_add(instances);
        if frame.instances > MAX_INSTANCES {
            return Err(TooMuch::Instances);
        }
    }
    Ok(())
}

/// How many component and instance types may start within others: each does with a byte for a type declaration and one
/// for its kind. Names may hold the same bytes, so that this is at least as many as there are.
fn nested_types(section: &[u8]) -> usize {
    section.windows(2).filter(|pair| matches!(pair, [0x01, 0x41 | 0x42])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Result<Structure, TooMuch> {
        check(&wat::parse_str(text).unwrap())
    }

    #[test]
    fn instances_are_counted_as_they_are_written_out() {
        let levels = |count: usize| {
            let mut text = "(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
            for level in 1..=count {
                let below = level - 1;
                let ten = format!("(instance (instantiate $c{below}))").repeat(10);
                text = format!("{text} (component $c{level} (alias outer 1 $c{below} (component $c{below})) {ten})");
            }
            format!("(component {text} (instance (instantiate $c{count})))")
        };
        assert_eq!(check_text(&levels(3)), Ok(Structure::default()));
        assert_eq!(check_text(&levels(4)), Err(TooMuch::Instances));
        assert_eq!(check_text(&levels(10)), Err(TooMuch::Instances));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("(component {}{}", "(component ".repeat(depth), ")".repeat(depth + 1));
        assert!(check_text(&nested(MAX_DEPTH - 1)).is_ok());
        assert_eq!(check_text(&nested(MAX_DEPTH)), Err(TooMuch::Depth));
    }

    #[test]
    fn types_within_types_are_bounded() {
        // Too deep for the text's parser too: a thousand and one levels of an instance type in an instance type.
        let mut types = vec![0x42, 0x00];
        for _ in 0..=MAX_NESTED_TYPES {
            types.splice(0..0, [0x42, 0x01, 0x01]);
        }
        assert_eq!(nested_types(&types), MAX_NESTED_TYPES + 1);
    }

    #[test]
    fn code_in_inner_components_is_seen() {
        let inner = r#"(component (core module $m (func (export "f"))) (core instance $i (instantiate $m))
            (func (export "f") (canon lift (core func $i "f"))))"#;
        assert!(check_text(&format!("(component {inner})")).unwrap().is_composed);
        assert!(!check_text(inner).unwrap().is_composed);
        // What wit-component makes around an exported interface has no code.
        assert!(
            !check_text("(component (component (import \"f\" (func $f)) (export \"g\" (func $f))))")
                .unwrap()
                .is_composed
        );
    }
}
