//! The standard custom sections in which a component says who made it (`wasm-metadata` writes them): each is one text.

use serde::{Deserialize, Serialize};

use super::sections;
use crate::text::{one_line, visible};

/// The most of one text that is shown, in bytes.
const MAX_TEXT: usize = 4096;

/// Who made a component, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        let whole = |section| {
            let contents = sections::find(component, section).ok()??;
            std::str::from_utf8(contents).ok()
        };
        let text = |section| whole(section).map(one_line);
        Metadata {
            name: name(component),
            description: whole("description").map(shown),
            authors: text("authors"),
            licenses: text("licenses"),
            source: text("source"),
            homepage: text("homepage"),
            revision: text("revision"),
            version: text("version"),
        }
    }

    /// What there is, with a word for each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
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
        Ok(wasmparser::ComponentName::Component { name, .. }) => Some(one_line(name)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_hides_is_not_shown() {
        let mut bytes = wat::parse_str("(component $weather)").unwrap();
        for (section, text) in
            [("description", "Tells\u{202e} it.\u{1b}[2J"), ("licenses", "MIT"), ("version", "1.2.3")]
        {
            bytes = sections::with(&bytes, section, text.as_bytes()).unwrap();
        }
        bytes = sections::with(&bytes, "authors", &[0xff, 0xfe]).unwrap();
        bytes = sections::with(&bytes, "source", b"here\nand\tthere").unwrap();
        let metadata = Metadata::read(&bytes);
        assert_eq!(metadata.name.as_deref(), Some("weather"));
        assert_eq!(metadata.description.as_deref(), Some("Tells it.[2J"));
        assert_eq!(metadata.authors, None);
        assert_eq!(metadata.source.as_deref(), Some("here and there"));
        assert_eq!(shown(&"é".repeat(MAX_TEXT)).chars().count(), MAX_TEXT / 2 + 1);
        let words: Vec<&str> = metadata.iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["name", "version", "description", "licenses", "source"]);
    }
}
