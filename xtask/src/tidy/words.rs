//! Words that must not stay, and the lint that every parser carries.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::{Source, text_at};

/// The law.
pub const LAW: Law = Law {
    name: "words",
    reason: "nothing unfinished ships, and no parser can panic on an index",
    check,
};

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];
const MARKS: &[&str] = &["FIXME", "XXX"];
const PARSERS: &[&str] = &["taut-fix", "taut-lease"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in house.sources() {
        calls_placeholder(path, source, &mut findings);
        leaves_mark(path, source, &mut findings);
    }
    for package in &house.packages {
        let root = package.file("src/lib.rs");
        let parser = package.parser || PARSERS.contains(&&*package.name);
        let Some(source) = house.source(&root).filter(|_| parser) else { continue };
        if !source.has_lint(&["deny", "forbid"], "clippy::indexing_slicing") {
            let what = "a parser without `#![deny(clippy::indexing_slicing)]`";
            findings.push(Finding::new(&root, 1, what, "add it: input must not cause a panic"));
        }
    }
    findings
}

fn calls_placeholder(path: &str, source: &Source, findings: &mut Vec<Finding>) {
    let all = &source.tokens;
    for (at, token) in all.iter().enumerate() {
        let called = text_at(all, at + 1) == "!" && text_at(all, at + 2) != "=";
        if called && MACROS.contains(&&*token.text) {
            let what = format!("`{}!`", token.text);
            findings.push(Finding::new(path, token.line, what, "finish it, or return an error"));
        }
    }
}

fn leaves_mark(path: &str, source: &Source, findings: &mut Vec<Finding>) {
    for (line, text) in (1..).zip(&source.lines) {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(mark) = words.find(|word| MARKS.contains(word)) {
            let remedy = "do it, or open an issue and say in the code what holds today";
            findings.push(Finding::new(path, line, format!("`{mark}`"), remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, manifest};

    const MAIN: &str = "xtask/src/main.rs";

    #[test]
    fn nothing_unfinished_stays() {
        for name in ["todo", "unimplemented", "dbg"] {
            let text = format!("fn f() {{\n    {name}!(1)\n}}\n");
            assert_broken(&LAW, &[(MAIN, &text)], "xtask/src/main.rs:2", name);
        }
        assert_broken(&LAW, &[(MAIN, "a\n// FIXME: b\n")], "xtask/src/main.rs:2", "FIXME");
        assert_broken(&LAW, &[(MAIN, "/// Does XXX.\n")], "xtask/src/main.rs:1", "XXX");
    }

    #[test]
    fn the_same_letters_elsewhere_are_fine() {
        let text = "fn f() { if todo != 1 {} g(\"XXX dbg!()\"); }\n// XXXX, todo!()\n";
        assert_kept(&LAW, &[(MAIN, text)]);
    }

    #[test]
    fn a_parser_denies_indexing() {
        let path = "crates/taut-fix/src/lib.rs";
        let text = "#![deny(clippy::panic)]\n// #![deny(clippy::indexing_slicing)]\n";
        assert_broken(&LAW, &[(path, text)], "crates/taut-fix/src/lib.rs:1", "indexing_slicing");
        let declared =
            manifest("taut-simd", 1, false, true, "").replace("[lints]", "parser = true\n[lints]");
        let declared = [("crates/taut-simd/Cargo.toml", declared.as_str())];
        assert_broken(&LAW, &declared, "crates/taut-simd/src/lib.rs:1", "indexing_slicing");
    }
}
