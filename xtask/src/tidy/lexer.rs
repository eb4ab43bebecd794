//! Rust source taken apart into code and comments, line for line and column for column.
//!
//! Just enough of the grammar to know what is code: comments (nested), strings (escaped, raw, byte,
//! C), character literals against lifetimes. Literals vanish altogether; no law reads them.

/// A source file in two layers of the same shape: every character that is not of the layer is a
/// space, every line break stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Everything but comments and literals.
    pub code: String,
    /// The comments, documentation included, with their slashes.
    pub comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    /// Takes `text` apart. Never fails: what does not end, ends with the text.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut source = Self { code: String::new(), comments: String::new() };
        let mut at = 0;
        while at < chars.len() {
            let (kind, end) = span(&chars, at);
            let end = end.clamp(at + 1, chars.len());
            for &c in &chars[at..end] {
                let blank = if c == '\n' { '\n' } else { ' ' };
                source.code.push(if kind == Kind::Code { c } else { blank });
                source.comments.push(if kind == Kind::Comment { c } else { blank });
            }
            at = end;
        }
        source
    }
}

/// The kind of what begins at `at`, and where it ends (possibly beyond the text).
fn span(chars: &[char], at: usize) -> (Kind, usize) {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => (Kind::Comment, line_end(chars, at)),
        '/' if next == Some('*') => (Kind::Comment, block_end(chars, at)),
        '"' => (Kind::Literal, quoted_end(chars, at + 1, '"')),
        '\'' => match char_end(chars, at) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        c if is_word(c) => word_span(chars, at),
        _ => (Kind::Code, at + 1),
    }
}

/// A word, or the literal that it prefixes.
fn word_span(chars: &[char], at: usize) -> (Kind, usize) {
    let end = at + chars[at..].iter().take_while(|&&c| is_word(c)).count();
    let word: String = chars[at..end].iter().collect();
    let next = chars.get(end).copied();
    match (word.as_str(), next) {
        ("b" | "c", Some('"')) => (Kind::Literal, quoted_end(chars, end + 1, '"')),
        ("b", Some('\'')) => (Kind::Literal, char_end(chars, end).unwrap_or(end + 1)),
        ("r" | "br" | "cr", Some('"' | '#')) => match raw_end(chars, end) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, end),
        },
        _ => (Kind::Code, end),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_end(chars: &[char], at: usize) -> usize {
    at + chars[at..].iter().take_while(|&&c| c != '\n').count()
}

fn block_end(chars: &[char], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

/// Behind the `quote` that ends a literal whose first inner character is at `at`.
fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Behind a character literal that begins with the quote at `at`; none when it is a lifetime.
fn char_end(chars: &[char], at: usize) -> Option<usize> {
    match chars.get(at + 1)? {
        '\\' => Some(quoted_end(chars, at + 1, '\'')),
        _ => (chars.get(at + 2) == Some(&'\'')).then_some(at + 3),
    }
}

/// Behind a raw string whose hashes (or quote) begin at `at`; none when it is a raw identifier.
fn raw_end(chars: &[char], at: usize) -> Option<usize> {
    let hash_count = chars[at..].iter().take_while(|&&c| c == '#').count();
    let inner = at + hash_count + 1;
    if chars.get(inner - 1) != Some(&'"') {
        return None;
    }
    let closes = |&end: &usize| {
        chars[end] == '"' && (1..=hash_count).all(|n| chars.get(end + n) == Some(&'#'))
    };
    let end = (inner..chars.len()).find(closes).unwrap_or(chars.len());
    Some(end + 1 + hash_count)
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn code(text: &str) -> String {
        Source::new(text).code
    }

    /// The code's words, so that a test need not count spaces.
    fn words(text: &str) -> String {
        code(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keeps_lines_and_columns() {
        let source = Source::new("a // b\n\"c\nd\" e");
        assert_eq!(source.code, "a     \n  \n   e");
        assert_eq!(source.comments, "  // b\n  \n    ");
    }

    #[test]
    fn block_comments_nest() {
        assert_eq!(words("a /* b /* c */ d */ e"), "a e");
        assert_eq!(words("a /**/ b /***/ c"), "a b c");
        assert_eq!(words("a /* never ends"), "a");
    }

    #[test]
    fn a_comment_in_a_string_is_none_and_a_string_in_a_comment_is_none() {
        assert_eq!(words(r#"a "// b" c"#), "a c");
        assert_eq!(words("a // \"b\nc"), "a c");
    }

    #[test]
    fn strings_end_at_an_unescaped_quote() {
        assert_eq!(words(r#"a "b \" c \\" d"#), "a d");
        assert_eq!(words(r#"a "never ends"#), "a");
    }

    #[test]
    fn raw_strings_end_with_their_hashes() {
        assert_eq!(words(r###"a r"b\" c"###), "a c");
        assert_eq!(words(r###"a r#"b " c"# d"###), "a d");
        assert_eq!(words(r####"a r##"b "# c"## d"####), "a d");
        assert_eq!(words(r###"a br#"b"# cr"c" d"###), "a d");
    }

    #[test]
    fn raw_identifiers_are_code() {
        assert_eq!(words("let r#type = r;"), "let r#type = r;");
    }

    #[test]
    fn byte_and_c_literals_are_literals() {
        assert_eq!(words(r#"a b"x" b'y' b'\'' c"z" d"#), "a d");
        assert_eq!(words(r#"crab"x""#), "crab");
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        assert_eq!(words("fn f<'a, 'b>(x: &'a str)"), "fn f<'a, 'b>(x: &'a str)");
        assert_eq!(
            words(r"x == 'a' || x == '\'' || x == '\u{1f600}' || '\\'"),
            "x == || x == || x == ||"
        );
        assert_eq!(words("'outer: loop { break 'outer; }"), "'outer: loop { break 'outer; }");
        assert_eq!(words("match c { '\"' => 1, '/' => 2 }"), "match c { => 1, => 2 }");
        assert_eq!(words("&'static str, '_'"), "&'static str,");
    }

    #[test]
    fn counts_characters_not_bytes() {
        assert_eq!(code("/* é */x"), "       x");
    }
}
