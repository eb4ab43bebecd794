//! What a file or a peer says may hold characters that a terminal obeys instead of showing them: it
//! would move its cursor, take another title, or answer as if somebody had typed. They are written
//! as in JSON, `\u001b`, on a terminal and in a file alike.

use std::borrow::Cow;

/// The text with every character that a terminal would obey, or that changes the direction of what
/// stands behind it, written as JSON writes it; line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_holds_what_a_terminal_obeys() {
        let text = "a\u{1b}]0;title\u{7}\r\u{9b}2J\u{7f}\u{202e}b\n\tc";
        let shown = "a\\u001b]0;title\\u0007\\u000d\\u009b2J\\u007f\\u202eb\n\tc";
        assert_eq!(visible(text), shown);
    }

    #[test]
    fn what_is_harmless_stays_as_it_is() {
        let text = "tick to trade 6.74 \u{b5}s \u{2192} \u{4e16}\u{754c}\n\tnext";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }
}
