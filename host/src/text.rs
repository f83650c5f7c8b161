//! Characters of strangers' texts that show nothing, or something else than they are.

/// Whether a character moves the cursor, reorders what is shown, or shows nothing: control characters but newline and
/// tab, C1, bidirectional formatting (Unicode UAX #9), zero-width characters, fillers, variation selectors but the one
/// of emoji, and tags.
///
/// A description is stripped of them, since a model reads what a person cannot see.
///
/// ```
/// assert!(witbox::is_hidden('\u{200b}'));
/// assert!(!witbox::is_hidden('é'));
/// ```
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{feff}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Enough of them carry a hidden text.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{fe00}'..='\u{fe0e}' | '\u{1d173}'..='\u{1d17a}' => true,
        _ => false,
    }
}

/// A text without its hidden characters, and how many there were. Line ends become plain newlines first.
pub(crate) fn visible(text: &str) -> (String, usize) {
    let text = text.replace("\r\n", "\n");
    let kept: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    let hidden = text.chars().count() - kept.chars().count();
    (kept, hidden)
}

/// A text as one line of at most 200 characters, for names that stand among others' words.
pub(crate) fn one_line(text: &str) -> String {
    let line = visible(text).0.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::{one_line, visible};

    #[test]
    fn a_line_is_one() {
        assert_eq!(one_line(" a\n\n b\t\u{200b}c "), "a b c");
        assert_eq!(one_line(&"é".repeat(300)).chars().count(), 200);
    }

    #[test]
    fn hidden_characters_go_and_are_counted() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\u{202e}d\u{200b}e\u{e0041}f\r\n\tü\u{fe0f}";
        assert_eq!(visible(hostile), ("a[2Jbcdef\n\tü\u{fe0f}".to_owned(), 5));
    }
}
