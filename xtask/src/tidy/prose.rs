//! Words that the pages do not use: docs/glossary.md lists them, with what to say instead.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "prose",
    reason: "a reader meets the field's words on every page, and none that has to be explained",
    check,
};

/// The page whose section lists the words: it may name them.
const GLOSSARY: &str = "docs/glossary.md";
const SECTION: &str = "\n## Not used\n";
/// Pages outside of the book that the law holds for, too.
const PAGES: &[&str] =
    &["ARCHITECTURE.md", "BENCHMARKS.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let words = house.tree.text(GLOSSARY).map(listed).unwrap_or_default();
    let is_page = |path: &str| {
        let is_of_book = path.starts_with("docs/") && path.ends_with(".md") && path != GLOSSARY;
        is_of_book || PAGES.contains(&path)
    };
    let mut findings = Vec::new();
    for (path, text) in house.tree.texts().filter(|(path, _)| is_page(path)) {
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let prose = if is_code { String::new() } else { prose(line) };
            for (word, instead) in &words {
                if prose.contains(word) {
                    let what = format!("`{}`", word.trim());
                    findings.push(Finding::new(path, number, what, format!("say {instead}")));
                }
            }
        }
    }
    findings
}

/// The words of the glossary's table, each between spaces, with what to say instead.
fn listed(glossary: &str) -> Vec<(String, &str)> {
    let section = glossary.split_once(SECTION).map_or("", |(_, section)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.skip(1).filter_map(|row| row.trim_end_matches(" |").split_once(" | "));
    let words = rows.flat_map(|(words, instead)| words.split(", ").map(move |w| (w, instead)));
    words.map(|(word, instead)| (prose(word), instead)).collect()
}

/// The words of a line in lower case, between single spaces, without its code spans.
fn prose(line: &str) -> String {
    let outside = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let lower = outside.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let mut prose = String::from(" ");
    for word in words.filter(|word| !word.is_empty()) {
        prose.push_str(word);
        prose.push(' ');
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::{GLOSSARY, LAW};
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const WORDS: &str = "# Words\n| stranger | a word before the section |\n\n## Not used\n\n\
        | word | use instead |\n|---|---|\n\
        | twin, twins | a reference |\n| one's own | your own |\n";

    #[test]
    fn a_page_uses_no_word_of_the_list() {
        for (text, word) in [("Two Twins.\n", "`twins`"), ("| one's  own |\n", "`one's own`")] {
            for page in ["README.md", "docs/a.md", "docs/b/c.md"] {
                let text = format!("# A\n```sh\ntwin\n```\n{text}");
                let tree = [(GLOSSARY, WORDS), (page, &text)];
                assert_broken(&LAW, &tree, &format!("{page}:5"), word);
            }
        }
    }

    #[test]
    fn code_other_pages_and_parts_of_words_are_free() {
        let kept = [
            ("docs/a.md", "A stranger, `twin`, twined, one own.\n```\ntwin\n```\n"),
            ("CHANGELOG.md", "A twin.\n"),
            ("docs/a.txt", "A twin.\n"),
        ];
        for page in kept {
            assert_kept(&LAW, &[(GLOSSARY, WORDS), page]);
        }
    }
}
