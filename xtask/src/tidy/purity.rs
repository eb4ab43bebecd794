//! Purity: a pure crate is `no_std` and without unsafe code, by the compiler's word.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::is_sequence;

/// The law.
pub const LAW: Law = Law {
    name: "purity",
    reason: "`no_std` is what keeps I/O, threads and clocks out of protocol cores",
    check,
};

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in house.packages.iter().filter(|package| package.pure == Some(true)) {
        let root = package.file("src/lib.rs");
        let Some(source) = house.source(&root) else {
            let what = "a pure crate without src/lib.rs";
            findings.push(Finding::new(package.path(), 1, what, "add it, or declare pure = false"));
            continue;
        };
        if !source.attributes().iter().any(|attribute| attribute.path().is_ident("no_std")) {
            let what = "a pure crate without `#![no_std]`";
            findings.push(Finding::new(&root, 1, what, "add it: it keeps the world out"));
        }
        if !source.has_lint(&["forbid"], "unsafe_code") {
            let what = "a pure crate without `#![forbid(unsafe_code)]`";
            findings.push(Finding::new(&root, 1, what, "add it"));
        }
        let src = package.file("src/");
        for (path, source) in house.sources_of(package).filter(|(path, _)| path.starts_with(&src)) {
            let shipped = &source.shipped_tokens;
            for at in 0..shipped.len() {
                if is_sequence(shipped, at, &["extern", "crate", "std"]) {
                    let what = "`extern crate std` in a pure crate";
                    let remedy = "put `#[cfg(test)]` above it";
                    findings.push(Finding::new(path, shipped[at].line, what, remedy));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, check, house};

    const FIX: &str = "crates/taut-fix/src/lib.rs";

    #[test]
    fn a_pure_crate_is_no_std() {
        let text = "#![forbid(unsafe_code)]\n";
        assert_broken(&LAW, &[(FIX, text)], "crates/taut-fix/src/lib.rs:1", "no_std");
        let sometimes = "#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]\n";
        assert_broken(&LAW, &[(FIX, sometimes)], "crates/taut-fix/src/lib.rs:1", "no_std");
        let commented = "// #![no_std]\n#![forbid(unsafe_code)]\n";
        assert_broken(&LAW, &[(FIX, commented)], "crates/taut-fix/src/lib.rs:1", "no_std");
    }

    #[test]
    fn a_pure_crate_forbids_unsafe_code() {
        let text = "#![no_std]\n#![deny(unsafe_code)]\n";
        assert_broken(&LAW, &[(FIX, text)], "crates/taut-fix/src/lib.rs:1", "forbid(unsafe_code)");
    }

    #[test]
    fn only_its_tests_know_std() {
        let text = "#![no_std]\n#![forbid(unsafe_code)]\n#[macro_use]\nextern crate std;\n";
        assert_broken(&LAW, &[(FIX, text)], "crates/taut-fix/src/lib.rs:4", "extern crate std");
    }

    #[test]
    fn a_pure_crate_is_a_library() {
        let mut tree = house();
        tree.remove(FIX);
        let violations = check(&LAW, &tree);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].starts_with("crates/taut-fix/Cargo.toml:1: purity: "));
    }
}
