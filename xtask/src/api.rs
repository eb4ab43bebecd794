//! `cargo xtask api`: what the facade's modules offer, as headers that a review sees change.
//!
//! Each `pub use taut_x as x` of the facade has its header in `crates/taut/api/x.txt`: the public
//! items that the crate's root leads to, through modules and re-exports, without bodies, private
//! fields and documentation, sorted by name. Items that a macro makes are named where they are
//! re-exported. Nothing is compiled, so that it is quick and needs no other toolchain.

mod header;
mod modules;

use std::fs;
use std::path::Path;

use syn::{Item, UseTree};

use crate::tidy::{House, Tree};
use modules::Modules;

const FACADE: &str = "crates/taut/src/lib.rs";
const GOLDENS: &str = "crates/taut/api";

/// Compares the headers with those that are checked in, or writes them.
///
/// # Errors
/// In words, with the first lines that differ.
pub fn run(root: &Path, bless: bool) -> Result<String, String> {
    let tree = Tree::load(root).map_err(|error| error.to_string())?;
    let headers = headers(&House::new(&tree))?;
    let folder = root.join(GOLDENS);
    if bless {
        // A module that is gone takes its header along.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (name, text) in &headers {
            let path = folder.join(format!("{name}.txt"));
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        return Ok(format!("api: {} headers written", headers.len()));
    }
    let path = |name: &str| format!("{GOLDENS}/{name}.txt");
    let mut wrong: Vec<String> = headers
        .iter()
        .filter_map(|(name, text)| {
            let golden = tree.text(&path(name)).unwrap_or_default();
            difference(golden, text).map(|lines| format!("{}:\n{lines}", path(name)))
        })
        .collect();
    let known = |file: &str| headers.iter().any(|(name, _)| path(name) == file);
    let stale = tree.files().map(|(file, _)| file).filter(|file| file.starts_with(GOLDENS));
    wrong.extend(stale.filter(|file| !known(file)).map(|file| format!("{file}: no such module")));
    if wrong.is_empty() {
        return Ok(format!("api: {} headers are as they were agreed on", headers.len()));
    }
    wrong.push("if that is meant: cargo xtask api --bless".to_owned());
    Err(wrong.join("\n"))
}

/// The header of every module of the facade, by name.
fn headers(house: &House<'_>) -> Result<Vec<(String, String)>, String> {
    let facade = house.source(FACADE).ok_or_else(|| format!("{FACADE} is not there"))?;
    let facade = syn::parse2::<syn::File>(facade.shipped.clone());
    let facade = facade.map_err(|error| format!("{FACADE}: {error}"))?;
    let public = |name: &str| {
        let package = house.package(name).ok_or_else(|| format!("`{name}` is no package"))?;
        Ok::<_, String>(header::text(Modules::of(house, package)?.public()))
    };
    let mut headers = vec![("lib".to_owned(), public("taut")?)];
    for item in &facade.items {
        let Item::Use(item) = item else { continue };
        let UseTree::Rename(renamed) = &item.tree else { continue };
        let name = renamed.ident.to_string().replace('_', "-");
        headers.push((renamed.rename.to_string(), public(&name)?));
    }
    Ok(headers)
}

/// The first lines that only one of the two has, as `-` and `+`.
fn difference(golden: &str, now: &str) -> Option<String> {
    const LINES: usize = 20;
    let only = |one: &str, other: &str, mark: &str| -> Vec<String> {
        let others: std::collections::BTreeSet<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !others.contains(line));
        lines.take(LINES).map(|line| format!("  {mark} {line}")).collect()
    };
    let lines = [only(golden, now, "-"), only(now, golden, "+")].concat();
    let moved = || "  the same lines in another order".to_owned();
    (golden != now).then(|| if lines.is_empty() { moved() } else { lines.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::{difference, headers};
    use crate::tidy::{House, Tree};

    fn header(files: &[(&str, &str)]) -> String {
        let mut tree = Tree::default();
        let manifest = "[workspace]\nmembers = [\"crates/*\"]\n";
        tree.insert("Cargo.toml", manifest.into());
        tree.insert("crates/taut-a/Cargo.toml", b"[package]\nname = \"taut-a\"\n".to_vec());
        tree.insert("crates/taut/Cargo.toml", b"[package]\nname = \"taut\"\n".to_vec());
        tree.insert("crates/taut/src/lib.rs", b"pub use taut_a as a;\n".to_vec());
        for (path, text) in files {
            tree.insert(&format!("crates/taut-a/src/{path}"), (*text).into());
        }
        let house = House::new(&tree);
        let headers = headers(&house).expect("headers");
        headers.into_iter().find(|(name, _)| name == "a").expect("a").1
    }

    #[test]
    fn a_header_has_signatures_and_nothing_private() {
        let code = "/// A.\n#[derive(Debug)]\npub struct A { pub b: u8, c: u8 }\nstruct D;\n\
                    impl A { pub fn f(&self) -> u8 { self.c } fn g() {} }\n\
                    impl Iterator for A { type Item = u8; fn next(&mut self) { x } }\n\
                    impl D { pub fn h() {} }\npub const E: u8 = 7;\n\
                    #[cfg(test)] pub mod t { pub fn k() {} }\npub(crate) fn l() {}\n";
        let expected = "#[derive(Debug)]\npub struct A {\n    pub b: u8,\n    private: _,\n}\n\
                        impl A {\n    pub fn f(&self) -> u8 {}\n}\n\
                        impl Iterator for A {\n    type Item = u8;\n}\npub const E: u8 = _;\n";
        assert_eq!(header(&[("lib.rs", code)]), expected);
    }

    #[test]
    fn re_exports_lead_to_what_they_name() {
        let root = "mod a; pub mod b; pub use a::{A as Z, f}; pub use b::*; pub use other::X;";
        let a = "mod c; pub use c::A; pub fn f(x: u8) {} pub fn hidden() {}";
        let files = [
            ("lib.rs", root),
            ("a.rs", a),
            ("a/c.rs", "pub enum A { B(u8) }"),
            ("b.rs", "pub trait T { fn t(&self) { x } }"),
        ];
        let expected = "pub enum Z {\n    B(u8),\n}\npub trait T {\n    fn t(&self) {}\n}\n\
                        pub mod b {\n    pub trait T {\n        fn t(&self) {}\n    }\n}\n\
                        pub fn f(x: u8) {}\npub use other::X;\n";
        let mut lines: Vec<_> = expected.lines().collect();
        let found = header(&files);
        let mut found: Vec<_> = found.lines().collect();
        lines.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, lines);
    }

    #[test]
    fn a_difference_shows_both_sides() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").as_deref(), Some("  - b\n  + c"));
        assert!(difference("a\nb\n", "b\na\n").is_some());
    }
}
