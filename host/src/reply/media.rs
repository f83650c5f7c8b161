//! What bytes are, by what is in them. What a guest says of them is a claim.

use infer::MatcherType;

/// The largest picture or sound that is shown, in bytes: five megabytes in base64, the least that a provider takes.
const MAX_SHOWN: usize = 15 << 18;
/// The longest side of a picture that is shown, in pixels: what the strictest provider takes.
const MAX_SIDE: usize = 8_000;
/// How much of a text is looked at to tell what it is, in bytes.
pub(super) const LOOKED_AT: usize = 1_024;

/// What bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    pub(super) mime_type: &'static str,
    /// The end of a file's name.
    pub(super) extension: &'static str,
    pub(super) kind: Kind,
}

/// How they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A picture that every provider with pictures takes.
    Image,
    Audio,
    Text,
    /// Not at all.
    Data,
}

impl Media {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let found = infer::get(bytes).filter(|found| found.matcher_type() != MatcherType::Text);
        if let Some(found) = found {
            let kind = match (found.mime_type(), found.matcher_type()) {
                ("image/png" | "image/jpeg" | "image/gif" | "image/webp", _) if is_shown(bytes) => Kind::Image,
                (_, MatcherType::Audio) if bytes.len() <= MAX_SHOWN => Kind::Audio,
                _ => Kind::Data,
            };
            // Providers and clients know it by the name without the mark of what is not registered.
            let mime_type = if found.mime_type() == "audio/x-wav" { "audio/wav" } else { found.mime_type() };
            return Media { mime_type, extension: found.extension(), kind };
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(is_no_text) => Media::of_text(text),
            _ => Media { mime_type: "application/octet-stream", extension: "bin", kind: Kind::Data },
        }
    }

    /// The same by the start of what is longer, which may end within a character.
    pub(super) fn of_start(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() => Media::of(&bytes[..error.valid_up_to()]),
            _ => Media::of(bytes),
        }
    }

    fn of_text(text: &str) -> Self {
        let start = text[..text.floor_char_boundary(LOOKED_AT)].trim_start_matches('\u{feff}').trim_start();
        let start = start.to_ascii_lowercase();
        let (mime_type, extension) =
            if start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg")) {
                ("image/svg+xml", "svg")
            } else if start.starts_with("<!doctype html") || start.starts_with("<html") {
                ("text/html", "html")
            } else {
                ("text/plain", "txt")
            };
        Media { mime_type, extension, kind: Kind::Text }
    }
}

/// Whether a character is in no text: of the control characters texts have those of lines and pages, and terminals' own.
fn is_no_text(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}')
}

/// Whether a picture has a size that can be told, and that providers take.
fn is_shown(bytes: &[u8]) -> bool {
    let side = |side: usize| (1..=MAX_SIDE).contains(&side);
    bytes.len() <= MAX_SHOWN && imagesize::blob_size(bytes).is_ok_and(|size| side(size.width) && side(size.height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_they_are() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0";
        let huge = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x20\x02\0\0\0\x03\x08\x06\0\0\0";
        let elf = [&b"\x7fELF\x02\x01\x01"[..], &[0; 60]].concat();
        let boundary = [vec![b'x'; LOOKED_AT - 1], "é".into()].concat();
        for (bytes, mime_type, kind) in [
            (&png[..], "image/png", Kind::Image),
            (huge, "image/png", Kind::Data),
            (&png[..12], "image/png", Kind::Data),
            (b"GIF89a\x02\0\x03\0\0\0\0", "image/gif", Kind::Image),
            (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav", Kind::Audio),
            (b"%PDF-1.7\n", "application/pdf", Kind::Data),
            (b"PK\x03\x04", "application/zip", Kind::Data),
            (&elf, "application/x-executable", Kind::Data),
            (b"<svg xmlns='x'/>", "image/svg+xml", Kind::Text),
            (b"\xef\xbb\xbf <?xml version='1.0'?><SVG/>", "image/svg+xml", Kind::Text),
            (b" <!DOCTYPE html><script>", "text/html", Kind::Text),
            (b"", "text/plain", Kind::Text),
            (&boundary, "text/plain", Kind::Text),
            (b"text\0", "application/octet-stream", Kind::Data),
            (b"\x01", "application/octet-stream", Kind::Data),
            (b"\x1b[1mbold\r\n", "text/plain", Kind::Text),
            (b"\xff\xfe\xfd", "application/octet-stream", Kind::Data),
        ] {
            let media = Media::of(bytes);
            assert_eq!((media.mime_type, media.kind), (mime_type, kind), "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_start_may_end_within_a_character() {
        let text = "zwölf".as_bytes();
        for (start, kind) in
            [(&text[..3], Kind::Text), (&text[..4], Kind::Text), (b"\xc3z", Kind::Data), (b"a\0b", Kind::Data)]
        {
            assert_eq!(Media::of_start(start).kind, kind, "{start:?}");
        }
    }
}
