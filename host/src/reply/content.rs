//! What a tool returns where text is not enough: blocks of `witbox:host/content`, and bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wasmtime::component::Val;

use super::Block;
use super::media::{Kind, Media};
use crate::tool::{ContentShape, Shape, TooLarge, lift};

/// The blocks of a value that a model is shown as more than text.
///
/// # Errors
/// When they are more than `limit` bytes, written out.
pub(super) fn blocks(shape: ContentShape<'_>, value: Val, limit: u64) -> Result<Vec<Block>, TooLarge> {
    let blocks = match (shape, value) {
        (ContentShape::Bytes, value) => vec![shown(bytes(&value), None)],
        (ContentShape::Blocks(shape), Val::List(values)) => {
            values.into_iter().map(|value| block(shape, value, limit)).collect::<Result<_, _>>()?
        }
        (ContentShape::Block(shape), value) | (ContentShape::Blocks(shape), value) => vec![block(shape, value, limit)?],
    };
    let size: usize = blocks.iter().map(Block::size).sum();
    if size as u64 > limit { Err(TooLarge) } else { Ok(blocks) }
}

/// One block. A case that we do not know is its JSON.
fn block(shape: &Shape, value: Val, limit: u64) -> Result<Block, TooLarge> {
    let Val::Variant(name, Some(payload)) = &value else { return json(shape, &value, limit) };
    Ok(match (name.as_str(), payload.as_ref()) {
        ("text", Val::String(text)) => Block::Text { text: text.clone() },
        ("image" | "audio", Val::Record(fields)) => {
            let data = fields.iter().find(|(name, _)| name == "data").map(|(_, data)| bytes(data));
            shown(data.unwrap_or_default(), None)
        }
        ("resource", Val::Record(fields)) => embedded(fields),
        _ => return json(shape, &value, limit),
    })
}

fn json(shape: &Shape, value: &Val, limit: u64) -> Result<Block, TooLarge> {
    Ok(Block::Text { text: lift(shape, value, limit)?.json })
}

fn embedded(fields: &[(String, Val)]) -> Block {
    let (mut uri, mut claimed, mut document) = (None, None, None);
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("uri", value) => uri = text(value),
            ("mime-type", value) => claimed = text(value),
            (_, Val::Variant(_, value)) => document = value.as_deref(),
            _ => {}
        }
    }
    match document {
        Some(Val::String(text)) => {
            let text = text.clone();
            let mime_type = claimed.unwrap_or_else(|| Media::of(text.as_bytes()).mime_type.to_owned());
            Block::Resource { mime_type, uri, document: Document::Text { text } }
        }
        document => shown(document.map(bytes).unwrap_or_default(), uri),
    }
}

/// Bytes as the block that they are.
fn shown(bytes: Vec<u8>, uri: Option<String>) -> Block {
    let media = Media::of(&bytes);
    let is_plain = media.mime_type == "text/plain" && uri.is_none();
    shown_as(media, bytes, uri, is_plain)
}

/// What a program wrote. Text is text as it is, of whatever kind.
pub(super) fn output(bytes: Vec<u8>) -> Block {
    shown_as(Media::of(&bytes), bytes, None, true)
}

fn shown_as(Media { mime_type, kind, .. }: Media, bytes: Vec<u8>, uri: Option<String>, text_is_shown: bool) -> Block {
    let mime_type = mime_type.to_owned();
    match kind {
        Kind::Image => Block::Image { mime_type, data: STANDARD.encode(bytes) },
        Kind::Audio => Block::Audio { mime_type, data: STANDARD.encode(bytes) },
        Kind::Text if text_is_shown => Block::Text { text: String::from_utf8_lossy(&bytes).into_owned() },
        Kind::Text | Kind::Data => {
            Block::Resource { mime_type, uri, document: Document::Data { data: STANDARD.encode(bytes) } }
        }
    }
}

fn bytes(value: &Val) -> Vec<u8> {
    let Val::List(values) = value else { return Vec::new() };
    values.iter().map(|value| if let Val::U8(byte) = value { *byte } else { 0 }).collect()
}

/// The text of an `option<string>`.
fn text(value: &Val) -> Option<String> {
    match value {
        Val::Option(Some(value)) => match value.as_ref() {
            Val::String(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Document {
    /// Text as it is.
    Text {
        /// The text.
        text: String,
    },
    /// Anything else.
    Data {
        /// Its bytes in base64.
        data: String,
    },
}
