//! The outermost sections of a component's binary: custom ones read, left out and appended, the rest untouched.

use std::ops::Range;

use wasm_encoder::ComponentSection as _;

/// A section's place in the file is not readable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a section that starts at byte {offset} does not end within the file")]
pub(crate) struct SectionError {
    offset: usize,
}

/// The magic number and the version.
const PREAMBLE: usize = 8;
const CUSTOM: u8 = 0;

struct Section<'b> {
    /// From its id to its end.
    whole: Range<usize>,
    /// Its name and contents where it is a custom section.
    custom: Option<(&'b str, &'b [u8])>,
}

fn sections(bytes: &[u8]) -> impl Iterator<Item = Result<Section<'_>, SectionError>> {
    let mut offset = PREAMBLE;
    std::iter::from_fn(move || {
        let start = offset;
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let section = section(rest, start).ok_or(SectionError { offset: start });
        // Nothing can be found behind a section without an end.
        offset = section.as_ref().map_or(bytes.len(), |section| section.whole.end);
        Some(section)
    })
}

fn section(rest: &[u8], start: usize) -> Option<Section<'_>> {
    let mut reader = wasmparser::BinaryReader::new(rest, start);
    let id = reader.read_u8().ok()?;
    let size = reader.read_var_u32().ok()?;
    let contents = reader.read_bytes(size as usize).ok()?;
    let custom = (id == CUSTOM)
        .then(|| {
            let mut reader = wasmparser::BinaryReader::new(contents, 0);
            let name = reader.read_string().ok()?;
            Some((name, reader.read_bytes(reader.bytes_remaining()).ok()?))
        })
        .flatten();
    Some(Section { whole: start..reader.original_position(), custom })
}

/// How many custom sections have a name.
pub(super) fn count(bytes: &[u8], name: &str) -> usize {
    sections(bytes).flatten().filter(|section| section.custom.is_some_and(|(found, _)| found == name)).count()
}

/// The contents of the first custom section of a name.
pub(super) fn find<'b>(bytes: &'b [u8], name: &str) -> Result<Option<&'b [u8]>, SectionError> {
    for section in sections(bytes) {
        if let Some((found, contents)) = section?.custom
            && found == name
        {
            return Ok(Some(contents));
        }
    }
    Ok(None)
}

/// A copy without the custom sections of a name.
pub(super) fn without(bytes: &[u8], name: &str) -> Result<Vec<u8>, SectionError> {
    let mut kept = bytes.get(..PREAMBLE).unwrap_or(bytes).to_vec();
    for section in sections(bytes) {
        let section = section?;
        if section.custom.is_none_or(|(found, _)| found != name) {
            kept.extend_from_slice(&bytes[section.whole]);
        }
    }
    Ok(kept)
}

/// A copy with one custom section of a name, at the end.
pub(super) fn with(bytes: &[u8], name: &str, contents: &[u8]) -> Result<Vec<u8>, SectionError> {
    let mut kept = without(bytes, name)?;
    let section = wasm_encoder::CustomSection { name: name.into(), data: contents.into() };
    section.append_to_component(&mut kept);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_replaced_and_found() {
        let empty = wat::parse_str("(component)").unwrap();
        let one = with(&empty, "a", b"first").unwrap();
        let two = with(&one, "b", b"other").unwrap();
        let replaced = with(&two, "a", b"second").unwrap();
        assert_eq!(find(&replaced, "a").unwrap(), Some(&b"second"[..]));
        assert_eq!(find(&replaced, "b").unwrap(), Some(&b"other"[..]));
        assert_eq!(find(&empty, "a").unwrap(), None);
        let plain = without(&without(&replaced, "a").unwrap(), "b").unwrap();
        assert_eq!(plain, empty);
    }

    #[test]
    fn a_section_that_runs_past_the_end_is_an_error() {
        let mut bytes = wat::parse_str("(component)").unwrap();
        bytes.extend_from_slice(&[0, 0xff, 0xff, 0x03, b'x']);
        assert_eq!(find(&bytes, "a"), Err(SectionError { offset: 8 }));
    }
}
