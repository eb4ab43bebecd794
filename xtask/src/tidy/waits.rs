//! Waits: nobody sleeps where a condition is meant, not in disguise either.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::path::paths;
use super::source::{Source, comments_above, is_sequence, text_at};

/// The law.
pub const LAW: Law = Law {
    name: "waits",
    reason: "a wait has a condition: a sleep is too short on a busy machine and too long on others",
    check,
};

/// What waits for one of several descriptors, and with none of them for a time.
const WAITS: &[&str] = &["wait_readable"];
/// The words of a comment above a wait whose only aim is the pace.
const EXCUSE: &str = "PACE:";

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in house.sources() {
        let excused = |line: usize| comments_above(&source.lines, line, EXCUSE);
        for (line, what) in sleeps(source).into_iter().filter(|(line, _)| !excused(*line)) {
            let remedy = "wait for what is meant, with a deadline; where pacing is meant, say why \
                          in a comment above: `// PACE: <why>`";
            findings.push(Finding::new(path, line, what, remedy));
        }
    }
    findings
}

/// Every sleep, with its line.
fn sleeps(source: &Source) -> Vec<(usize, String)> {
    let all = &source.tokens;
    let is_empty_wait = |at: usize| {
        let list = if text_at(all, at + 3) == "mut" { at + 4 } else { at + 3 };
        WAITS.contains(&text_at(all, at))
            && is_sequence(all, at + 1, &["(", "&"])
            && is_sequence(all, list, &["[", "]"])
    };
    let waits = (0..all.len()).filter(|at| is_empty_wait(*at));
    let mut found: Vec<_> =
        waits.map(|at| (all[at].line, format!("`{}` of nothing", all[at].text))).collect();
    let named = paths(source.stream.clone()).into_iter().filter(|path| {
        let names = path.names();
        matches!(names[..], [.., "thread", "sleep" | "sleep_until" | "park_timeout"])
    });
    found.extend(named.map(|path| (path.line, format!("`{}`", path.segments.join("::")))));
    found
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const MAIN: &str = "xtask/src/main.rs";

    #[test]
    fn a_sleep_is_found_under_every_name() {
        for text in [
            "fn f() { std::thread::sleep(span); }\n",
            "use std::thread::sleep;\n",
            "fn f() { let _ = wait_readable(&[], Some(span)); }\n",
            "fn f() { let _ = taut_sys::wait_readable(&mut [], None); }\n",
        ] {
            assert_broken(&LAW, &[(MAIN, text)], "xtask/src/main.rs:1", "`");
        }
        let test = ("crates/taut-fix/tests/a.rs", "#[test]\nfn f() { thread::sleep(span); }\n");
        assert_broken(&LAW, &[test], "crates/taut-fix/tests/a.rs:2", "`thread::sleep`");
    }

    #[test]
    fn a_wait_for_something_is_none_and_a_pace_says_why() {
        assert_kept(&LAW, &[(MAIN, "fn f() { let _ = wait_readable(&[a], None); }\n")]);
        let paced = "fn f() {\n    // PACE: a picture a second, as it was asked for.\n    \
                     let _ = wait_readable(&[], Some(span));\n}\n";
        assert_kept(&LAW, &[(MAIN, paced)]);
        let silent = paced.replace("PACE: a picture", "A picture");
        assert_broken(&LAW, &[(MAIN, &silent)], "xtask/src/main.rs:3", "`wait_readable`");
    }
}
