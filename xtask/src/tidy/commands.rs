//! Commands that a page names: each is a verb of the `taut` command.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "commands",
    reason: "a reader can run every command of `taut` that a page names",
    check,
};

/// Where the command's verbs are declared.
const CLI: &str = "crates/taut-cli/src/main.rs";
/// What is told of older versions stays.
const HISTORY: &str = "CHANGELOG.md";

fn check(house: &House<'_>) -> Vec<Finding> {
    let verbs = house.tree.text(CLI).map(verbs).unwrap_or_default();
    let mut findings = Vec::new();
    let is_page = |path: &str| path.ends_with(".md") && path != HISTORY;
    for (path, text) in house.tree.texts().filter(|(path, _)| is_page(path)) {
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            for word in named(line, is_code).filter(|word| !verbs.iter().any(|verb| verb == word)) {
                let what = format!("`taut {word}` is no command");
                let remedy = format!("name one that `enum Verb` of {CLI} has");
                findings.push(Finding::new(path, number, what, remedy));
            }
        }
    }
    findings
}

/// The verbs of `enum Verb`, as they are typed.
fn verbs(source: &str) -> Vec<String> {
    let lines = source.lines().skip_while(|line| *line != "enum Verb {").skip(1);
    let variants = lines.take_while(|line| *line != "}").filter_map(|line| {
        let name = line.strip_prefix("    ")?.split(['(', '{', ',']).next()?.trim();
        name.starts_with(|letter: char| letter.is_ascii_uppercase()).then_some(name)
    });
    variants.map(typed).chain(["help".to_owned()]).collect()
}

/// `IpcKill` is typed `ipc-kill`.
fn typed(variant: &str) -> String {
    let mut verb = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !verb.is_empty() {
            verb.push('-');
        }
        verb.push(letter.to_ascii_lowercase());
    }
    verb
}

/// What follows `taut` where it begins a code span, or a line of code; a flag is no verb, nor is a
/// word that stands for one.
fn named(line: &str, is_code: bool) -> impl Iterator<Item = &str> {
    let spans = line.match_indices("`taut ").map(|(at, begin)| &line[at + begin.len()..]);
    let code = line.trim_start();
    let command = code.strip_prefix("$ ").unwrap_or(code).strip_prefix("taut ");
    let is_word = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let end = |letter: char| !letter.is_ascii_lowercase() && letter != '-';
    let places = spans.chain(command.filter(|_| is_code));
    places.filter_map(move |rest| rest.split(end).next()).filter(is_word)
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const CLI: &str = "//! It.\n#![forbid(unsafe_code)]\nenum Verb {\n    /// Books.\n    \
        #[command(subcommand)]\n    Book(book::Book),\n    IpcKill {\n        rate: u32,\n    },\n\
        }\nenum Other {\n    Dance,\n}\n";

    #[test]
    fn a_page_names_verbs_that_exist() {
        let cli = (super::CLI, CLI);
        for page in [
            "`taut book verify`, `taut ipc-kill`, `taut --help`, `taut VERB`\n",
            "taut dance is prose, and `taut\nbook` goes on\n",
            "```\n$ taut book verify\n  taut ipc-kill --rate 1\n```\ntaut dances\n",
        ] {
            assert_kept(&LAW, &[cli, ("docs/a.md", page)]);
        }
        for (page, line, word) in [
            ("a\nRun `taut dance` now.\n", 2, "`taut dance`"),
            ("`taut book`, then `taut bock`\n", 1, "`taut bock`"),
            ("```sh\n$ taut ipckill\n```\n", 2, "`taut ipckill`"),
            ("`taut rate`\n", 1, "`taut rate`"),
        ] {
            assert_broken(&LAW, &[cli, ("docs/a.md", page)], &format!("docs/a.md:{line}"), word);
        }
        assert_kept(&LAW, &[cli, ("CHANGELOG.md", "`taut dance` is gone\n")]);
    }
}
