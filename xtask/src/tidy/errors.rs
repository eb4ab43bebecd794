//! Errors: what a call returns as one says what is wrong, and goes through `?`.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::Token;

/// The law.
pub const LAW: Law = Law {
    name: "errors",
    reason: "a caller prints every error in words and passes it on with `?`",
    check,
};

/// What the name of an error ends in.
const ENDING: &str = "Error";

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in house.packages.iter().filter(|package| package.folder.starts_with("crates/")) {
        let (mut types, mut errors) = (Vec::new(), BTreeSet::new());
        for (path, source) in house.sources_of(package) {
            types.extend(public_types(&source.shipped_tokens).map(|token| (path, token)));
            errors.extend(implementors(&source.shipped_tokens));
        }
        for (path, Token { text, line }) in types {
            if !errors.contains(&text) {
                let what = format!("`{text}` is no `core::error::Error`");
                let remedy = "implement it and `Display`, in words that say what to do";
                findings.push(Finding::new(path, line, what, remedy));
            }
        }
    }
    findings
}

/// The names of public types that say that they are errors.
fn public_types(all: &[Token]) -> impl Iterator<Item = Token> {
    all.windows(3).filter_map(|window| match window {
        [public, kind, name]
            if public.text == "pub"
                && matches!(&*kind.text, "enum" | "struct")
                && name.text.ends_with(ENDING) =>
        {
            Some(name.clone())
        }
        _ => None,
    })
}

/// The types that implement `Error`.
fn implementors(all: &[Token]) -> impl Iterator<Item = String> {
    all.windows(3).filter_map(|window| match window {
        [error, keyword, name] if error.text == "Error" && keyword.text == "for" => {
            Some(name.text.clone())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const AT: &str = "crates/taut-fix/src/error.rs";

    #[test]
    fn a_public_error_implements_error() {
        let bare = "//! Errors.\n\n/// Why.\npub enum FixError {\n    Full,\n}\n";
        assert_broken(&LAW, &[(AT, bare)], "crates/taut-fix/src/error.rs:4", "`FixError`");
        let whole = format!("{bare}\nimpl core::error::Error for FixError {{}}\n");
        assert_kept(&LAW, &[(AT, &whole)]);
        let elsewhere = "//! More.\n\nimpl core::error::Error for FixError {}\n";
        assert_kept(&LAW, &[(AT, bare), ("crates/taut-fix/src/more.rs", elsewhere)]);
    }

    #[test]
    fn what_is_private_or_a_test_or_no_error_need_not() {
        let others = "//! Errors.\n\nenum FixError {}\npub enum Reason {}\n\
                      #[cfg(test)]\nmod tests {\n    pub struct TestError;\n}\n";
        assert_kept(&LAW, &[(AT, others)]);
    }
}
