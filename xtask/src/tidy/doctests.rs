//! Examples in documentation: a library without any says so, and who adds one is told.
//!
//! `cargo test` documents a whole library to look for examples; `doctest = false` saves that time.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::Source;

/// The law.
pub const LAW: Law = Law {
    name: "doctests",
    reason: "an example in documentation is run, or it is no example of what works",
    check,
};

/// Blocks that are shown and not run.
const SHOWN: &[&str] = &["text", "toml", "json", "xml"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        if package.manifest.is_false(&["lib", "doctest"]) {
            for (path, source) in house.sources_of(package) {
                let remedy = "take `doctest = false` out of its Cargo.toml, or label the block";
                let what = "an example that is not run";
                findings
                    .extend(examples(source).map(|line| Finding::new(path, line, what, remedy)));
            }
        }
    }
    findings
}

/// The lines on which blocks of code begin that would be run, from 1.
fn examples(source: &Source) -> impl Iterator<Item = usize> {
    let mut is_open = false;
    source.lines.iter().enumerate().filter_map(move |(at, line)| {
        let text = line.trim_start();
        let comment = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"))?;
        let label = comment.trim().strip_prefix("```")?;
        is_open = !is_open;
        (is_open && !SHOWN.contains(&label)).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, manifest};

    const MANIFEST: &str = "crates/taut-simd/Cargo.toml";
    const LIB: &str = "crates/taut-simd/src/lib.rs";

    #[test]
    fn a_library_whose_examples_are_not_run_has_none() {
        let runs = manifest("taut-simd", 1, false, true, "");
        let runs_none = format!("{runs}\n[lib]\ndoctest = false\n");
        let example = "//! Rings.\n//!\n//! ```\n//! run();\n//! ```\n";
        let picture = "//! Rings.\n//!\n//! ```text\n//! a -> b\n//! ```\n";
        assert_kept(&LAW, &[(MANIFEST, &runs), (LIB, example)]);
        assert_kept(&LAW, &[(MANIFEST, &runs_none), (LIB, picture)]);
        let files = [(MANIFEST, &*runs_none), (LIB, example)];
        assert_broken(&LAW, &files, "crates/taut-simd/src/lib.rs:3", "not run");
    }
}
