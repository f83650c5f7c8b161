//! The standard custom sections in which a component says who made it (`wasm-metadata` writes them): each is one text.

use serde::Serialize;

use super::sections;
use crate::text::visible;

/// The most of one text that is shown, in bytes.
const MAX_TEXT: usize = 4096;

/// Who made a component, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Metadata {
    /// Its name, from the section `component-name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Its licences, as an SPDX expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licenses: Option<String>,
    /// Where its source is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Where more about it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The revision of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Metadata {
    /// Reads what there is; a section that is no text is as good as none.
    pub(super) fn read(component: &[u8]) -> Self {
        let text = |section| {
            let contents = sections::find(component, section).ok()??;
            Some(shown(std::str::from_utf8(contents).ok()?))
        };
        Metadata {
            name: name(component),
            description: text("description"),
            authors: text("authors"),
            licenses: text("licenses"),
            source: text("source"),
            homepage: text("homepage"),
            revision: text("revision"),
            version: text("version"),
        }
    }

    /// What there is, with a word for each.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("name", &self.name),
            ("version", &self.version),
            ("description", &self.description),
            ("authors", &self.authors),
            ("licenses", &self.licenses),
            ("source", &self.source),
            ("homepage", &self.homepage),
            ("revision", &self.revision),
        ];
        all.into_iter().filter_map(|(word, text)| Some((word, text.as_deref()?)))
    }
}

fn name(component: &[u8]) -> Option<String> {
    let contents = sections::find(component, "component-name").ok()??;
    let reader = wasmparser::BinaryReader::new(contents, 0);
    let mut names = wasmparser::ComponentNameSectionReader::new(reader);
    names.find_map(|name| match name {
        Ok(wasmparser::ComponentName::Component { name, .. }) => Some(shown(name)),
        _ => None,
    })
}

fn shown(text: &str) -> String {
    let (mut text, _) = visible(text);
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
    text
}
