//! Width: the shape of files.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "width",
    reason: "100 columns, plain white space, files that can be read at one sitting",
    check,
};

const COLUMNS_MAX: usize = 100;
const LINES_MAX: usize = 800;
const FILE_BYTES_MAX: usize = 1 << 20;
/// How far down a long file may say why it is long.
const REASON_LINES: usize = 10;
/// Whose white space is ours; data has its own.
const TEXT_SUFFIXES: &[&str] = &[".rs", ".toml", ".md", ".yml", ".ci/run"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in house.tree.files() {
        if file.bytes > FILE_BYTES_MAX {
            let what = format!("{} bytes", file.bytes);
            let remedy = format!("keep files of more than {FILE_BYTES_MAX} out of the repository");
            findings.push(Finding::new(path, 1, what, remedy));
        }
        let Some(text) = &file.text else { continue };
        if TEXT_SUFFIXES.iter().any(|suffix| path.ends_with(suffix)) {
            check_white_space(path, text, &mut findings);
        }
        if path.ends_with(".rs") {
            check_size(path, text, &mut findings);
        }
    }
    findings
}

fn check_white_space(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (number, line) in (1..).zip(text.split('\n')) {
        if line.contains('\t') {
            findings.push(Finding::new(path, number, "a tab", "indent with spaces"));
        }
        if line.ends_with(char::is_whitespace) {
            findings.push(Finding::new(path, number, "white space at the end", "remove it"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        let line = text.split('\n').count();
        findings.push(Finding::new(path, line, "no line end at the end", "add one"));
    }
}

fn check_size(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (number, line) in (1..).zip(text.lines()) {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            let what = format!("{columns} columns");
            let remedy = format!("break the line at {COLUMNS_MAX}");
            findings.push(Finding::new(path, number, what, remedy));
        }
    }
    let line_count = text.lines().count();
    let says_why = |line: &str| {
        line.trim_start().strip_prefix("// size:").is_some_and(|why| !why.trim().is_empty())
    };
    if line_count > LINES_MAX && !text.lines().take(REASON_LINES).any(says_why) {
        let what = format!("{line_count} lines");
        let remedy = "make it two files, or say why not in its first lines: `// size: <why>`";
        findings.push(Finding::new(path, 1, what, remedy));
    }
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, check, house};

    const MAIN: &str = "xtask/src/main.rs";

    #[test]
    fn lines_have_100_columns_counted_in_characters() {
        let hundred = format!("// {}\n", "é".repeat(97));
        assert_kept(&LAW, &[(MAIN, &hundred)]);
        let more = format!("\n// {}\n", "é".repeat(98));
        assert_broken(&LAW, &[(MAIN, &more)], "xtask/src/main.rs:2", "101 columns");
        assert_kept(&LAW, &[("README.md", &more)]);
    }

    #[test]
    fn white_space_is_plain() {
        assert_broken(&LAW, &[(MAIN, "a\n\tb\n")], "xtask/src/main.rs:2", "a tab");
        assert_broken(&LAW, &[(MAIN, "a \nb\n")], "xtask/src/main.rs:1", "at the end");
        assert_broken(&LAW, &[("SECURITY.md", "a\nb")], "SECURITY.md:2", "no line end");
        assert_kept(&LAW, &[("tests/golden/a.csv", "a \t")]);
    }

    #[test]
    fn a_long_file_says_why() {
        let lines = "a();\n".repeat(800);
        assert_kept(&LAW, &[(MAIN, &lines)]);
        let long = format!("//! Docs.\n{lines}");
        assert_broken(&LAW, &[(MAIN, &long)], "xtask/src/main.rs:1", "801 lines");
        let silent = format!("// size:\n{lines}");
        assert_broken(&LAW, &[(MAIN, &silent)], "xtask/src/main.rs:1", "801 lines");
        assert_kept(&LAW, &[(MAIN, &format!("//! Docs.\n// size: one table\n{lines}"))]);
    }

    #[test]
    fn no_file_is_larger_than_a_mebibyte() {
        let mut tree = house();
        tree.insert("tests/golden/a.bin", vec![0xff; 1 << 20]);
        assert!(check(&LAW, &tree).is_empty());
        tree.insert("tests/golden/a.bin", vec![0xff; (1 << 20) + 1]);
        assert!(check(&LAW, &tree)[0].starts_with("tests/golden/a.bin:1: width: 1048577 bytes"));
    }
}
