//! Tokens of blanked code, and the little structure that laws ask for.

/// A word (identifier, keyword or number), `::`, or one other character. Lifetimes are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'s> {
    /// What it says.
    pub text: &'s str,
    /// Its line, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether it is an identifier, a keyword or a number.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(is_word)
    }
}

/// All tokens of `code`, from which comments and literals were blanked.
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, text) in (1..).zip(code.split('\n')) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let lifetime = first == '\'';
            let body = &rest[usize::from(lifetime)..];
            let word = body.find(|c| !is_word(c)).unwrap_or(body.len());
            let len = match () {
                () if lifetime => 1 + word,
                () if word > 0 => word,
                () if rest.starts_with("::") => 2,
                () => first.len_utf8(),
            };
            if !lifetime {
                tokens.push(Token { text: &rest[..len], line });
            }
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

/// The tokens of what ships: without the items under `#[cfg(test)]`.
pub fn without_tests<'s>(tokens: &[Token<'s>]) -> Vec<Token<'s>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(tokens, at) {
            at = item_end(tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The attributes `#![...]` at the head of a file, without white space.
pub fn inner_attributes(tokens: &[Token<'_>]) -> Vec<String> {
    let mut attributes = Vec::new();
    let mut at = 0;
    while is_sequence(tokens, at, &["#", "!", "["]) {
        let end = group_end(tokens, at + 2);
        attributes.push(tokens[at + 3..end.saturating_sub(1)].iter().map(|t| t.text).collect());
        at = end;
    }
    attributes
}

/// Whether one of the attributes puts `lint` at one of the levels: `forbid(a, lint)`.
pub fn has_lint(attributes: &[String], levels: &[&str], lint: &str) -> bool {
    attributes.iter().any(|attribute| {
        let Some((level, lints)) = attribute.split_once('(') else { return false };
        levels.contains(&level) && lints.trim_end_matches(')').split(',').any(|l| l == lint)
    })
}

/// Whether the tokens from `at` on say `texts`.
pub fn is_sequence(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    texts.iter().enumerate().all(|(n, &text)| text_at(tokens, at + n) == text)
}

/// The text of the token at `at`; empty beyond the end.
pub fn text_at<'s>(tokens: &[Token<'s>], at: usize) -> &'s str {
    tokens.get(at).map_or("", |token| token.text)
}

/// Behind the bracket that closes the one at `open`.
pub fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `#[cfg(test)]`, or `#[cfg(all(.., test, ..))]`: what compiles in tests only.
fn is_test_attribute(tokens: &[Token<'_>], at: usize) -> bool {
    if !is_sequence(tokens, at, &["#", "[", "cfg", "("]) {
        return false;
    }
    let predicate = &tokens[at + 4..group_end(tokens, at + 3).saturating_sub(1).max(at + 4)];
    if is_sequence(predicate, 0, &["all", "("]) {
        let mut inner = 2;
        while inner < predicate.len() {
            match predicate[inner].text {
                "test" => return true,
                "(" => inner = group_end(predicate, inner),
                _ => inner += 1,
            }
        }
        return false;
    }
    matches!(predicate, [token] if token.text == "test")
}

/// Behind the item that begins with the attribute at `at`.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while is_sequence(tokens, at, &["#", "["]) {
        at = group_end(tokens, at + 1);
    }
    let import = tokens[at..].iter().take(6).any(|token| token.text == "use");
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return at + 1,
            "{" if !import => return group_end(tokens, at),
            "(" | "[" | "{" => at = group_end(tokens, at),
            // The end of what the item stands in: a field or a variant without a comma.
            ")" | "]" | "}" => return at,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{has_lint, inner_attributes, tokens, without_tests};

    fn shipped(code: &str) -> String {
        let kept = without_tests(&tokens(code));
        kept.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_double_colons_are_one_token_and_lifetimes_none() {
        let all = tokens("fn f<'a>(x: &'a a::B) {\n  1u8 }");
        let texts: Vec<_> = all.iter().map(|token| token.text).collect();
        assert_eq!(
            texts,
            ["fn", "f", "<", ">", "(", "x", ":", "&", "a", "::", "B", ")", "{", "1u8", "}"]
        );
        assert_eq!(all.last().map(|token| token.line), Some(2));
    }

    #[test]
    fn items_under_cfg_test_do_not_ship() {
        assert_eq!(shipped("a(); #[cfg(test)] mod tests { fn f() { x } } b();"), "a ( ) ; b ( ) ;");
        assert_eq!(shipped("#[cfg(test)] extern crate std; a"), "a");
        assert_eq!(shipped("#[cfg(test)] #[allow(x)] pub(crate) use a::{b, c}; d"), "d");
        assert_eq!(shipped("#[cfg(all(test, not(loom)))] mod tests; a"), "a");
        assert_eq!(shipped("#[cfg(test)] const A: [u8; 2] = [1; 2]; b"), "b");
    }

    #[test]
    fn items_under_other_conditions_ship() {
        for code in ["#[cfg(not(test))] a;", "#[cfg(any(test, fuzz))] a;", "#[cfg(loom)] a;"] {
            assert!(shipped(code).ends_with("a ;"), "{code}");
        }
        assert!(shipped("#[cfg(all(unix, not(test)))] a;").ends_with("a ;"));
    }

    #[test]
    fn inner_attributes_are_those_of_the_file() {
        let code = "#![no_std]\n#![forbid(unsafe_code, missing_docs)]\nmod a { #![b] }";
        let attributes = inner_attributes(&tokens(code));
        assert_eq!(attributes, ["no_std", "forbid(unsafe_code,missing_docs)"]);
        assert!(has_lint(&attributes, &["deny", "forbid"], "unsafe_code"));
        assert!(has_lint(&attributes, &["forbid"], "missing_docs"));
        assert!(!has_lint(&attributes, &["deny"], "unsafe_code"));
        assert!(!has_lint(&attributes, &["forbid"], "unsafe"));
    }
}
