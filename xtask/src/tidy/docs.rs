//! Documents: those that exist, what they name, and what they must not betray.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "docs",
    reason: "a reader finds every crate on the map, a command at once, and no path of our machines",
    check,
};

const DOCUMENTS: &[&str] = &[
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
];
const MAPS: &[&str] = &["ARCHITECTURE.md", "README.md"];
const README_LINES_MAX: usize = 150;
const COMMAND_LINES: usize = 25;
/// Folders of people and of build machines, in pieces: this file is checked like any other.
const PRIVATE_FOLDERS: &[&str] =
    &[concat!("/", "home", "/"), concat!("/", "root", "/"), concat!("/", "work", "/")];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in DOCUMENTS {
        if house.tree.text(path).is_none() {
            findings.push(Finding::new(path, 1, "it does not exist", "write it"));
        }
    }
    if let Some(readme) = house.tree.text("README.md") {
        check_readme(readme, &mut findings);
    }
    for path in MAPS {
        let Some(map) = house.tree.text(path) else { continue };
        let crates = house.packages.iter().filter(|package| package.folder.starts_with("crates/"));
        for package in crates.filter(|package| !names(map, &package.name)) {
            let what = format!("`{}` is not named", package.name);
            findings.push(Finding::new(path, 1, what, "say in one line what the crate is for"));
        }
    }
    for (path, text) in house.tree.texts() {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(folder) = private_folder(line) {
                let what = format!("an absolute path under `{folder}`");
                let remedy = "make it relative to the repository";
                findings.push(Finding::new(path, number, what, remedy));
            }
        }
    }
    findings
}

fn check_readme(readme: &str, findings: &mut Vec<Finding>) {
    let line_count = readme.lines().count();
    if line_count > README_LINES_MAX {
        let what = format!("{line_count} lines, more than {README_LINES_MAX}");
        findings.push(Finding::new(
            "README.md",
            README_LINES_MAX + 1,
            what,
            "move details to docs",
        ));
    }
    let top: Vec<&str> = readme.lines().take(COMMAND_LINES).collect();
    let fence = top.iter().position(|line| line.starts_with("```"));
    let command = fence.and_then(|fence| top.get(fence + 1));
    if command.is_none_or(|line| line.trim().is_empty() || line.starts_with("```")) {
        let what = format!("no fenced command in the first {COMMAND_LINES} lines");
        let remedy = "show how to run it before you explain it";
        findings.push(Finding::new("README.md", 1, what, remedy));
    }
}

/// Whether `text` contains `name` as a whole name: `taut` is not named by `taut-fix`.
fn names(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .any(|word| word == name)
}

/// The private folder that an absolute path on this line begins with.
fn private_folder(line: &str) -> Option<&'static str> {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-~*})>".contains(c))
    };
    let absolute = |folder: &&&str| line.match_indices(**folder).any(|(at, _)| begins(at));
    PRIVATE_FOLDERS.iter().find(absolute).copied()
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, check, house};

    const README: &str = "# taut\n```sh\ncargo run\n```\ntaut-types taut-simd taut-fix\n";

    #[test]
    fn every_document_exists() {
        for path in super::DOCUMENTS {
            let mut tree = house();
            tree.remove(path);
            let violations = check(&LAW, &tree);
            assert_eq!(violations, [format!("{path}:1: docs: it does not exist; write it")]);
        }
    }

    #[test]
    fn the_readme_is_short_and_begins_with_a_command() {
        let long = format!("{README}{}", "\n".repeat(146));
        assert_broken(&LAW, &[("README.md", &long)], "README.md:151", "151 lines");
        assert_kept(&LAW, &[("README.md", &long[1..].replacen("\n\n", "\n", 1))]);
        let late = format!("{}{README}", "\n".repeat(23));
        assert_broken(&LAW, &[("README.md", &late)], "README.md:1", "no fenced command");
        let empty = README.replace("cargo run\n", "");
        assert_broken(&LAW, &[("README.md", &empty)], "README.md:1", "no fenced command");
    }

    #[test]
    fn every_crate_is_on_both_maps() {
        let without = README.replace("taut-fix", "taut-fixture");
        assert_broken(&LAW, &[("README.md", &without)], "README.md:1", "`taut-fix`");
        let map = [("ARCHITECTURE.md", "taut-types taut-fix\n")];
        assert_broken(&LAW, &map, "ARCHITECTURE.md:1", "`taut-simd`");
    }

    #[test]
    fn no_file_names_a_private_folder() {
        for folder in super::PRIVATE_FOLDERS {
            for before in ["", "see `", "path=", "file://"] {
                let text = format!("a\n{before}{folder}b\n");
                assert_broken(&LAW, &[("SECURITY.md", &text)], "SECURITY.md:2", folder);
            }
        }
        assert_kept(&LAW, &[("SECURITY.md", "../home/a, target/home/b, https://c.org/root/d\n")]);
    }
}
