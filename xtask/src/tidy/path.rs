//! Paths in code, `use` trees and expressions alike, each leaf written out.

use super::token::{Token, group_end, text_at};

/// Keywords behind which a path may begin with `::`.
const KEYWORDS: &[&str] = &[
    "as", "break", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move", "mut", "ref",
    "return", "unsafe", "use", "where", "while",
];

/// One leaf: `use a::{b, c as d}` has two, `a::b` and `a::c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<'s> {
    /// Its names; a glob's last one is `*`.
    pub segments: Vec<&'s str>,
    /// The name that a `use` gives it; none when it is no import.
    pub import: Option<&'s str>,
    /// Where it ends, from 1.
    pub line: usize,
    /// The inline modules (`mod a { .. }`) around it, outermost first.
    pub inline: Vec<&'s str>,
    /// How many braces stand around it.
    pub depth: usize,
    /// It began with `::`, so its first name is a crate.
    pub global: bool,
}

/// All imports, and all paths of two names and more.
pub fn paths<'s>(tokens: &[Token<'s>]) -> Vec<Path<'s>> {
    let mut walker = Walker { tokens, at: 0, braces: Vec::new(), global: false, found: Vec::new() };
    walker.walk();
    walker.found
}

struct Walker<'t, 's> {
    tokens: &'t [Token<'s>],
    at: usize,
    /// The open braces, each with its name when it is a module's.
    braces: Vec<Option<&'s str>>,
    global: bool,
    found: Vec<Path<'s>>,
}

impl<'s> Walker<'_, 's> {
    fn walk(&mut self) {
        let mut module = None;
        while let Some(token) = self.tokens.get(self.at) {
            match (token.text, self.text(1)) {
                ("{", _) => {
                    self.braces.push(module.take());
                    self.at += 1;
                }
                ("}", _) => {
                    self.braces.pop();
                    self.at += 1;
                }
                // `pub(super)` says who sees, not what is used.
                ("pub", "(") => self.at = group_end(self.tokens, self.at + 1),
                ("mod", name) if self.text(2) == "{" => {
                    module = Some(name);
                    self.at += 2;
                }
                // `use<'a>` is a bound.
                ("use", next) if next != "<" => {
                    self.global = next == "::";
                    self.at += 1 + usize::from(self.global);
                    self.tree(Vec::new(), true);
                }
                _ if self.begins() => {
                    self.global = self.at > 0 && self.tokens[self.at - 1].text == "::";
                    self.tree(Vec::new(), false);
                }
                _ => self.at += 1,
            }
        }
    }

    /// Reads a path or a group of them behind `prefix`.
    fn tree(&mut self, prefix: Vec<&'s str>, import: bool) {
        let mut segments = prefix;
        loop {
            if self.text(0) == "{" {
                return self.group(&segments, import);
            }
            let Some(token) = self.tokens.get(self.at) else { return };
            if !token.is_word() && token.text != "*" {
                return;
            }
            segments.push(token.text);
            self.at += 1;
            let next = self.tokens.get(self.at + 1);
            let goes_on = next.is_some_and(|t| t.is_word() || matches!(t.text, "{" | "*"));
            if self.text(0) != "::" || !goes_on {
                return self.leaf(segments, import);
            }
            self.at += 1;
        }
    }

    fn group(&mut self, prefix: &[&'s str], import: bool) {
        let end = group_end(self.tokens, self.at);
        self.at += 1;
        while self.at + 1 < end {
            let start = self.at;
            self.tree(prefix.to_vec(), import);
            // A comma, or something that is no path: on with the next token.
            self.at = if self.at == start { start + 1 } else { self.at };
        }
        self.at = end;
    }

    fn leaf(&mut self, mut segments: Vec<&'s str>, import: bool) {
        let line = self.tokens[self.at - 1].line;
        if segments.len() > 1 && segments.last() == Some(&"self") {
            segments.pop();
        }
        let mut name = segments.last().copied();
        if import && self.text(0) == "as" {
            name = Some(self.text(1));
            self.at += 2;
        }
        if import || segments.len() > 1 {
            self.found.push(Path {
                segments,
                import: name.filter(|_| import),
                line,
                inline: self.braces.iter().flatten().copied().collect(),
                depth: self.braces.len(),
                global: self.global,
            });
        }
    }

    /// Whether a path begins here, and does not go on as behind the generics of `Vec::<u8>::new`.
    fn begins(&self) -> bool {
        let names = |token: &Token<'_>| token.is_word() && !KEYWORDS.contains(&token.text);
        match self.tokens[..=self.at] {
            [.., before, colons, here] if colons.text == "::" => {
                names(&here) && !names(&before) && before.text != ">"
            }
            [.., here] => names(&here),
            [] => false,
        }
    }

    fn text(&self, ahead: usize) -> &'s str {
        text_at(self.tokens, self.at + ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, paths};
    use crate::tidy::token::tokens;

    fn leaves(code: &str) -> Vec<String> {
        paths(&tokens(code)).iter().map(|path| path.segments.join("::")).collect()
    }

    fn only(code: &str) -> Path<'_> {
        paths(&tokens(code)).remove(0)
    }

    #[test]
    fn a_use_tree_has_one_path_per_leaf() {
        assert_eq!(
            leaves("use a::{b::{self, C}, d as e, f::*}; pub use {g::h, i};"),
            ["a::b", "a::b::C", "a::d", "a::f::*", "g::h", "i"]
        );
        assert_eq!(only("use a::{d as e};").import, Some("e"));
        assert_eq!(only("use a::B;").import, Some("B"));
    }

    #[test]
    fn expressions_and_types_have_paths_too() {
        assert_eq!(
            leaves("fn f(x: crate::a::B) -> u8 { x.y(); let z = Vec::<super::D>::new(); z as u8 }"),
            ["crate::a::B", "super::D"]
        );
        assert_eq!(leaves("<crate::a::B as super::C>::d()"), ["crate::a::B", "super::C"]);
        assert!(only("return ::core::mem::size_of::<u8>();").global);
        assert!(only("use ::core::mem;").global);
    }

    #[test]
    fn visibility_and_capture_bounds_are_no_paths() {
        assert!(leaves("pub(in crate::a) struct B; fn f() -> impl C + use<'a> {}").is_empty());
    }

    #[test]
    fn inline_modules_are_named() {
        let path = only("mod a { mod b { fn f() { super::c(); } } }");
        assert_eq!((path.inline, path.depth), (vec!["a", "b"], 3));
    }

    #[test]
    fn broken_code_ends() {
        assert_eq!(leaves("use a::{b, ;:: {, } use"), ["a::b"]);
    }
}
