//! Rust source as laws read it: tokens, comments, attributes. The lexer is proc-macro2's, the
//! grammar of attributes is syn's.

use proc_macro2::{
    Delimiter, Group, LexError, LineColumn, Span, TokenStream, TokenTree, token_stream,
};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token as Tok};

/// A source file: what is code, what is comment.
#[derive(Debug)]
pub struct Source {
    /// Its token trees, without its documentation.
    pub stream: TokenStream,
    /// The same, one after the other.
    pub tokens: Vec<Token>,
    /// The token trees of what ships: without the items under `#[cfg(test)]`.
    pub shipped: TokenStream,
    /// The same, one after the other.
    pub shipped_tokens: Vec<Token>,
    /// Its lines, with white space for every literal.
    pub lines: Vec<String>,
}

/// An identifier, a keyword or a punctuation character; literals are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it says.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

impl Source {
    /// Reads `text`.
    ///
    /// # Errors
    /// The line at which it stops being Rust.
    pub fn new(text: &str) -> Result<Self, usize> {
        let stream: TokenStream =
            text.parse().map_err(|error: LexError| error.span().start().line)?;
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        blank_literals(&stream, &mut lines);
        let stream = without_docs(stream);
        let shipped = without_tests(stream.clone());
        let (tokens, shipped_tokens) = (flat(stream.clone()), flat(shipped.clone()));
        Ok(Self { stream, tokens, shipped, shipped_tokens, lines })
    }

    /// The attributes `#![...]` at the head of the file.
    pub fn attributes(&self) -> Vec<Attribute> {
        let head = |input: ParseStream<'_>| {
            let attributes = Attribute::parse_inner(input)?;
            input.parse::<TokenStream>().map(|_| attributes)
        };
        head.parse2(self.stream.clone()).unwrap_or_default()
    }

    /// Whether its attributes put `lint` at one of the levels: `#![forbid(a, lint)]`.
    pub fn has_lint(&self, levels: &[&str], lint: &str) -> bool {
        self.attributes().iter().any(|attribute| {
            let lints = attribute.parse_args_with(Punctuated::<Meta, Tok![,]>::parse_terminated);
            let named = |meta: &Meta| path_text(meta.path()) == lint;
            levels.iter().any(|level| attribute.path().is_ident(level))
                && lints.is_ok_and(|lints| lints.iter().any(named))
        })
    }
}

/// All tokens of `stream`, groups opened.
pub fn flat(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    tokens
}

/// The text of the token at `at`; empty beyond the end.
pub fn text_at(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| &token.text)
}

/// Whether the tokens from `at` on say `texts`.
pub fn is_sequence(tokens: &[Token], at: usize, texts: &[&str]) -> bool {
    texts.iter().enumerate().all(|(n, &text)| text_at(tokens, at + n) == text)
}

/// Whether the comment directly above `line`, across attributes, says `needed`.
pub fn comments_above(lines: &[String], line: usize, needed: &str) -> bool {
    let above = lines[..line - 1].iter().rev().map(|line| line.trim());
    let mut comment = above.take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    comment.any(|line| line.starts_with("//") && line.contains(needed))
}

/// The line where `span` begins, from 1.
pub fn line(span: Span) -> usize {
    span.start().line
}

fn path_text(path: &syn::Path) -> String {
    path.segments.iter().map(|part| part.ident.to_string()).collect::<Vec<_>>().join("::")
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let push = |text: String, span: Span, tokens: &mut Vec<Token>| {
        tokens.push(Token { text, line: line(span) });
    };
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open.to_owned(), group.span_open(), tokens);
                flatten(group.stream(), tokens);
                push(close.to_owned(), group.span_close(), tokens);
            }
            TokenTree::Ident(ident) => push(ident.to_string(), ident.span(), tokens),
            TokenTree::Punct(punct) => push(punct.as_char().to_string(), punct.span(), tokens),
            TokenTree::Literal(_) => {}
        }
    }
}

/// Writes spaces over every literal; documentation, which proc-macro2 gives as one, stays.
fn blank_literals(stream: &TokenStream, lines: &mut [String]) {
    for tree in stream.clone() {
        match tree {
            TokenTree::Group(group) => blank_literals(&group.stream(), lines),
            TokenTree::Literal(literal) => {
                let (start, end) = (literal.span().start(), literal.span().end());
                let text = &lines[start.line - 1];
                if text.chars().nth(start.column) != Some('/') {
                    (start.line..=end.line).for_each(|n| blank(&mut lines[n - 1], n, start, end));
                }
            }
            _ => {}
        }
    }
}

/// Blanks the part of line `number` between two places.
fn blank(text: &mut String, number: usize, start: LineColumn, end: LineColumn) {
    let from = if number == start.line { start.column } else { 0 };
    let to = if number == end.line { end.column } else { usize::MAX };
    let chars = text.chars().enumerate();
    *text = chars.map(|(at, c)| if (from..to).contains(&at) { ' ' } else { c }).collect();
}

/// Without `#[doc = "..."]`, as which proc-macro2 gives `///`.
fn without_docs(stream: TokenStream) -> TokenStream {
    filtered(stream, &|_, attribute, _| {
        matches!(attribute.stream().into_iter().next(),
            Some(TokenTree::Ident(name)) if name == "doc")
    })
}

fn without_tests(stream: TokenStream) -> TokenStream {
    filtered(stream, &|marks, attribute, rest| {
        let is_test = marks == 1 && is_test_attribute(attribute);
        if is_test {
            skip_item(rest);
        }
        is_test
    })
}

/// Without the attributes that `drops` takes, and what it takes from the tokens behind them.
fn filtered(
    stream: TokenStream,
    drops: &dyn Fn(usize, &Group, &mut token_stream::IntoIter) -> bool,
) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut rest = stream.into_iter();
    while let Some(tree) = rest.next() {
        let TokenTree::Group(group) = tree else {
            kept.push(tree);
            continue;
        };
        let marks = attribute_marks(&kept);
        if group.delimiter() == Delimiter::Bracket && marks > 0 && drops(marks, &group, &mut rest) {
            kept.truncate(kept.len() - marks);
            continue;
        }
        let mut inner = Group::new(group.delimiter(), filtered(group.stream(), drops));
        inner.set_span(group.span());
        kept.push(inner.into());
    }
    kept.into_iter().collect()
}

/// How many of the last tokens are the `#` or `#!` of an attribute.
fn attribute_marks(kept: &[TokenTree]) -> usize {
    let is = |tree: &TokenTree, c| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c);
    match kept {
        [.., hash] if is(hash, '#') => 1,
        [.., hash, bang] if is(hash, '#') && is(bang, '!') => 2,
        _ => 0,
    }
}

/// Whether it is `cfg(test)` or `cfg(all(.., test, ..))`: what compiles in tests only.
fn is_test_attribute(attribute: &Group) -> bool {
    let holds = |meta: &Meta, name: &str| match meta {
        Meta::List(list) if list.path.is_ident(name) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Tok![,]>::parse_terminated);
            inner.map(|inner| inner.into_iter().collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let Ok(meta) = syn::parse2::<Meta>(attribute.stream()) else { return false };
    let is_test = |meta: &Meta| meta.path().is_ident("test");
    let either = |meta: &Meta| is_test(meta) || holds(meta, "all").iter().any(is_test);
    holds(&meta, "cfg").iter().any(either)
}

/// Takes the rest of an item: to its semicolon or behind its braces.
fn skip_item(rest: &mut token_stream::IntoIter) {
    let mut import = false;
    for tree in rest {
        match tree {
            TokenTree::Ident(word) if word == "use" => import = true,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !import => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn source(code: &str) -> Source {
        Source::new(code).expect("tokens")
    }

    fn shipped(code: &str) -> String {
        let tokens = source(code).shipped_tokens;
        tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn literals_leave_space_and_comments_stay() {
        let text = "a(\"// b\", r#\"c\"#); // é \"d\"\n/// \"e\"\nf('g',\n\"h\ni\") /* j */";
        let lines = source(text).lines;
        assert_eq!(lines[0], "a(      ,       ); // é \"d\"");
        assert_eq!(lines[1..], ["/// \"e\"", "f(   ,", "  ", "  ) /* j */"]);
    }

    #[test]
    fn tokens_know_their_lines_and_documentation_is_none() {
        let tokens = source("//! A.\n/// B.\nfn f<'a>() {\n\"c\" }").tokens;
        let texts: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, ["fn", "f", "<", "'", "a", ">", "(", ")", "{", "}"]);
        assert_eq!((tokens[0].line, tokens[9].line), (3, 4));
    }

    #[test]
    fn what_is_no_rust_names_its_line() {
        assert_eq!(Source::new("a\n}").err(), Some(2));
    }

    #[test]
    fn items_under_cfg_test_do_not_ship() {
        assert_eq!(shipped("a(); #[cfg(test)] mod tests { fn f() { x } } b();"), "a ( ) ; b ( ) ;");
        assert_eq!(shipped("#[cfg(test)] extern crate std; a"), "a");
        assert_eq!(shipped("#[cfg(test)] #[allow(x)] pub(crate) use a::{b, c}; d"), "d");
        assert_eq!(shipped("#[cfg(all(test, not(loom)))] mod tests; a"), "a");
        assert_eq!(shipped("#[cfg(test)] const A: [u8; 2] = [1; 2]; b"), "b");
        assert_eq!(shipped("mod a { #[cfg(test)] fn f() {} b }"), "mod a { b }");
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
        let source = source("#![no_std]\n#![forbid(a::b, missing_docs)]\nmod a { #![b] }");
        assert_eq!(source.attributes().len(), 2);
        assert!(source.has_lint(&["deny", "forbid"], "a::b"));
        assert!(source.has_lint(&["forbid"], "missing_docs"));
        assert!(!source.has_lint(&["deny"], "a::b") && !source.has_lint(&["forbid"], "b"));
    }
}
