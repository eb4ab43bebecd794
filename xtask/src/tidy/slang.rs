//! Slang: names that a native reader of the field would have to ask about.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "slang",
    reason: "names are the field's own terms, so that nobody has to learn ours",
    check,
};

/// Whole names of types and variants that say nothing to others, and what they usually mean.
const WORDS: &[(&str, &str)] = &[
    ("Floor", "a minimum or a baseline"),
    ("Happening", "an event"),
    ("Hold", "a lease, a lock or a queue"),
    ("Leash", "a lease, a guard or a limit"),
    ("News", "an event or an update"),
    ("Patience", "a timeout, a deadline or a backoff"),
    ("Seat", "a slot or a subscriber"),
    ("Shelf", "a buffer, a cache or a store"),
    ("Spot", "a slot or a position"),
    ("Tally", "counters or a total"),
    ("Whose", "an owner or a source"),
];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in house.sources() {
        for (word, terms) in WORDS {
            // Once a file: whoever renames it finds the others.
            let Some(token) = source.tokens.iter().find(|token| token.text == *word) else {
                continue;
            };
            let remedy = format!("say what it is: {terms}");
            findings.push(Finding::new(path, token.line, format!("`{word}`"), remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const MAIN: &str = "xtask/src/main.rs";

    #[test]
    fn a_private_word_as_a_name_is_found() {
        for text in ["struct Floor;\n", "enum A { B, Hold(u8) }\n", "fn f() -> Whose { g() }\n"] {
            assert_broken(&LAW, &[(MAIN, text)], "xtask/src/main.rs:1", "`");
        }
    }

    #[test]
    fn a_part_of_a_name_and_a_word_of_prose_are_none() {
        assert_kept(&LAW, &[(MAIN, "/// Hold it.\nfn hold() { Holder; SPOT; spot } // News\n")]);
    }
}
