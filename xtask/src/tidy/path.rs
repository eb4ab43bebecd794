//! Paths in code, `use` trees and expressions alike, each leaf written out.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{ItemUse, UseTree};

use super::source::line;

/// Keywords behind which a path may begin with `::`.
const KEYWORDS: &[&str] = &[
    "as", "break", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move", "mut", "ref",
    "return", "unsafe", "use", "where", "while",
];

/// One leaf: `use a::{b, c as d}` has two, `a::b` and `a::c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its names; a glob's last one is `*`.
    pub segments: Vec<String>,
    /// The name that a `use` gives it; none when it is no import.
    pub import: Option<String>,
    /// Where it ends, from 1.
    pub line: usize,
    /// The inline modules (`mod a { .. }`) around it, outermost first.
    pub inline: Vec<String>,
    /// How many braces stand around it.
    pub depth: usize,
    /// It began with `::`, so its first name is a crate.
    pub global: bool,
}

impl Path {
    /// Its names, to be matched.
    pub fn names(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }
}

/// All imports, and all paths of two names and more, in macros too.
pub fn paths(stream: TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    walk(stream, &Place::default(), &mut found);
    found
}

/// What stands around a path.
#[derive(Clone, Default)]
struct Place {
    inline: Vec<String>,
    depth: usize,
}

impl Place {
    fn path(&self, segments: Vec<String>, line: usize, global: bool) -> Path {
        let (inline, depth) = (self.inline.clone(), self.depth);
        Path { segments, import: None, line, inline, depth, global }
    }
}

fn walk(stream: TokenStream, place: &Place, found: &mut Vec<Path>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        match (tree, trees.get(at + 1)) {
            // `pub(super)` says who sees, not what is used.
            (TokenTree::Ident(word), Some(TokenTree::Group(_))) if word == "pub" => at += 2,
            // `use<'a>` is a bound.
            (TokenTree::Ident(word), Some(next)) if word == "use" && !is_punct(next, '<') => {
                let end = trees[at..].iter().position(|tree| is_punct(tree, ';'));
                let end = end.map_or(trees.len(), |end| at + end + 1);
                if let Ok(item) = syn::parse2::<ItemUse>(trees[at..end].iter().cloned().collect()) {
                    let global = item.leading_colon.is_some();
                    leaves(&item.tree, Vec::new(), &mut |segments, import, line| {
                        let path = place.path(segments, line, global);
                        found.push(Path { import: Some(import), ..path });
                    });
                }
                at = end;
            }
            (TokenTree::Ident(word), _) if KEYWORDS.contains(&&*word.to_string()) => at += 1,
            (TokenTree::Ident(_), _) => at = path(&trees, at, place, found),
            (TokenTree::Group(group), _) => {
                let mut inner = place.clone();
                if group.delimiter() == Delimiter::Brace {
                    inner.depth += 1;
                    inner.inline.extend(module(&trees[..at]));
                }
                walk(group.stream(), &inner, found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that may begin at the name at `at`; returns where to go on.
fn path(trees: &[TokenTree], at: usize, place: &Place, found: &mut Vec<Path>) -> usize {
    let colons = |at: usize| {
        trees.get(at..at + 2).is_some_and(|pair| pair.iter().all(|tree| is_punct(tree, ':')))
    };
    let (mut segments, mut end, mut last) = (Vec::new(), at, at);
    while let Some(name) = trees.get(end).and_then(name) {
        segments.push(name);
        last = end;
        if !colons(end + 1) {
            break;
        }
        end += 3;
    }
    let before = at.checked_sub(3).and_then(|before| trees.get(before));
    let global = at >= 2 && colons(at - 2);
    // It goes on behind the generics of `Vec::<u8>::new`.
    let goes_on = before.is_some_and(|tree| {
        is_punct(tree, '>') || name(tree).is_some_and(|name| !KEYWORDS.contains(&&*name))
    });
    if segments.len() > 1 && !(global && goes_on) {
        found.push(place.path(segments, line(trees[last].span()), global));
    }
    last + 1
}

/// The name of the module whose braces follow these tokens.
fn module(before: &[TokenTree]) -> Option<String> {
    let [.., word, name] = before else { return None };
    (self::name(word)? == "mod").then(|| self::name(name))?
}

fn name(tree: &TokenTree) -> Option<String> {
    if let TokenTree::Ident(name) = tree { Some(name.to_string()) } else { None }
}

fn is_punct(tree: &TokenTree, c: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// Tells every leaf of a `use`: its names, the name that it gets, its line.
fn leaves(
    tree: &UseTree,
    mut names: Vec<String>,
    tell: &mut impl FnMut(Vec<String>, String, usize),
) {
    let (last, import) = match tree {
        UseTree::Path(path) => {
            names.push(path.ident.to_string());
            return leaves(&path.tree, names, tell);
        }
        UseTree::Group(group) => {
            return group.items.iter().for_each(|tree| leaves(tree, names.clone(), tell));
        }
        UseTree::Glob(glob) => {
            names.push("*".to_owned());
            return tell(names, "*".to_owned(), line(glob.star_token.spans[0]));
        }
        UseTree::Name(name) => (&name.ident, None),
        UseTree::Rename(rename) => (&rename.ident, Some(rename.rename.to_string())),
    };
    if last != "self" || names.is_empty() {
        names.push(last.to_string());
    }
    let own = names.last().cloned().unwrap_or_default();
    tell(names, import.unwrap_or(own), line(last.span()));
}

#[cfg(test)]
mod tests {
    use super::{Path, paths};

    fn all(code: &str) -> Vec<Path> {
        paths(code.parse().expect("tokens"))
    }

    fn written_out(code: &str) -> Vec<String> {
        all(code).iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn a_use_tree_has_one_path_per_leaf() {
        assert_eq!(
            written_out("use a::{b::{self, C}, d as e, f::*}; pub use {g::h, i};"),
            ["a::b", "a::b::C", "a::d", "a::f::*", "g::h", "i"]
        );
        assert_eq!(all("use a::{d as e};")[0].import.as_deref(), Some("e"));
        assert_eq!(all("use a::B;")[0].import.as_deref(), Some("B"));
    }

    #[test]
    fn expressions_types_and_macros_have_paths_too() {
        assert_eq!(
            written_out("fn f(x: crate::a::B) -> u8 { x.y(); let z = Vec::<super::D>::new(); z }"),
            ["crate::a::B", "super::D"]
        );
        assert_eq!(written_out("<crate::a::B as super::C>::d()"), ["crate::a::B", "super::C"]);
        assert_eq!(written_out("assert!(super::a(), \"{}\", b::C)"), ["super::a", "b::C"]);
        assert!(all("return ::core::mem::size_of::<u8>();")[0].global);
        assert!(all("use ::core::mem;")[0].global);
    }

    #[test]
    fn visibility_and_capture_bounds_are_no_paths() {
        assert!(written_out("pub(in crate::a) struct B; fn f() -> impl C + use<'a> {}").is_empty());
    }

    #[test]
    fn inline_modules_are_named() {
        let path = all("mod a { mod b { fn f() { super::c(); } } }").remove(0);
        assert_eq!((path.inline.join("::"), path.depth), ("a::b".to_owned(), 3));
    }

    #[test]
    fn broken_code_ends() {
        assert!(written_out("use a::{b, ;:: {,} } use").is_empty());
    }
}
