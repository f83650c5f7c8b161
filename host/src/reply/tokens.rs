//! How many tokens a text is to a model.

use std::sync::Arc;

use crate::error::{Error, Kind};

/// Counts tokens as a model does.
pub trait Tokenizer: Send + Sync {
    /// How many tokens a text is.
    fn count(&self, text: &str) -> usize;

    /// How long a text may be, in bytes, that is not more than so many tokens, whatever it says. By no count is a token less
    /// than a byte.
    fn bytes(&self, tokens: usize) -> usize {
        tokens
    }
}

/// Four bytes a token: what most models' come to on English and code.
#[derive(Debug, Clone, Copy, Default)]
pub struct FourBytes;

impl Tokenizer for FourBytes {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn bytes(&self, tokens: usize) -> usize {
        tokens.saturating_mul(4)
    }
}

/// A tokenizer by its name: `four-bytes`, and with the feature `tiktoken` OpenAI's, such as `o200k_base`, or by the name of a
/// model that has it, such as `gpt-4o`.
///
/// # Errors
/// When there is none of this name, or this build has none of them.
pub fn tokenizer(name: &str) -> Result<Arc<dyn Tokenizer>, Error> {
    if name == "four-bytes" {
        return Ok(Arc::new(FourBytes));
    }
    #[cfg(any(test, feature = "tiktoken"))]
    if let Some(tiktoken) = tiktoken::find(name) {
        return Ok(tiktoken);
    }
    Err(Kind::Tokenizer(name.to_owned()).into())
}

#[cfg(any(test, feature = "tiktoken"))]
mod tiktoken {
    use std::sync::Arc;

    use tiktoken_rs::tokenizer::{Tokenizer as Encoding, get_tokenizer};
    use tiktoken_rs::{CoreBPE, bpe_for_tokenizer};

    use super::Tokenizer;

    /// How much is counted at once, in bytes. The library's expressions give up, and panic, on a megabyte of spaces.
    const PIECE: usize = 64 << 10;
    /// From where on a piece ends where it can.
    const ENOUGH: usize = 16 << 10;

    struct Tiktoken(&'static CoreBPE);

    pub(super) fn find(name: &str) -> Option<Arc<dyn Tokenizer>> {
        let encoding = match name {
            "o200k_base" => Encoding::O200kBase,
            "cl100k_base" => Encoding::Cl100kBase,
            model => get_tokenizer(model)?,
        };
        Some(Arc::new(Tiktoken(bpe_for_tokenizer(encoding).ok()?)))
    }

    impl Tokenizer for Tiktoken {
        fn count(&self, text: &str) -> usize {
            let mut rest = text;
            let mut count = 0;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(piece(rest));
                count += self.0.count_ordinary(piece);
                rest = after;
            }
            count
        }
    }

    /// The length of the first piece: up to where a line begins with a letter, since no token goes across that; or as much as may
    /// be.
    fn piece(text: &str) -> usize {
        if text.len() <= PIECE {
            return text.len();
        }
        let starts = text.as_bytes()[ENOUGH..PIECE].windows(2);
        let mut starts = starts.enumerate().filter(|(_, pair)| pair[0] == b'\n' && pair[1].is_ascii_alphabetic());
        starts.next().map_or_else(|| text.floor_char_boundary(PIECE), |(at, _)| ENOUGH + at + 1)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_text_is_as_many_tokens_as_it_is() {
            let o200k = find("o200k_base").unwrap();
            for (text, tokens) in [("", 0), ("hello world", 2), ("naïve café", 4)] {
                assert_eq!(o200k.count(text), tokens, "{text}");
            }
            let same = find("gpt-4o").unwrap();
            let lines: String = (0..40_000).map(|n| format!("line {n}:  of the text\n\nand more; ")).collect();
            let whole = tiktoken_rs::o200k_base_singleton().count_ordinary(&lines);
            assert_eq!((o200k.count(&lines), same.count(&lines)), (whole, whole));
            // Texts that the library gives up on as a whole.
            let spaces = o200k.count(&" ".repeat(2_000_000));
            assert!((10_000..100_000).contains(&spaces), "{spaces}");
            assert!(find("gpt-none").is_none());
        }
    }
}
