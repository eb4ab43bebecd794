//! `--json`: which verbs have it, and which tests hold their keys against the rule.

use std::path::Path;
use std::process::Command;

use crate::support::{Demo, TAUT};

/// Each verb with `--json`, and the tests below `tests/tools` that run it. Each of them parses all
/// of what it prints and has its keys looked at by `odd_json_keys`.
const VERBS: [(&str, &str); 49] = [
    ("backtest", "backtest.rs"),
    ("backtest compare", "backtest.rs"),
    ("backtest sweep", "backtest.rs"),
    ("bench waits", "channel/command.rs"),
    ("book verify", "book.rs"),
    ("config explain", "operate.rs"),
    ("demo", "../suite/outcome.rs"),
    ("doctor", "doctor.rs"),
    ("engine replay", "engine.rs"),
    ("explain", "operate.rs"),
    ("export", "recorded.rs"),
    ("feed replay", "feed.rs"),
    ("fix decode", "fix_tools.rs"),
    ("gateway alive", "gateway.rs"),
    ("gateway cancel-all", "gateway.rs"),
    ("gateway drop", "gateway.rs"),
    ("gateway hand-over", "gateway.rs"),
    ("gateway kill", "gateway.rs"),
    ("gateway limits", "gateway.rs"),
    ("gateway orders", "gateway.rs"),
    ("gateway outliers", "gateway.rs"),
    ("gateway positions", "gateway.rs"),
    ("gateway reload", "gateway.rs"),
    ("gateway revive", "gateway.rs"),
    ("gateway roll", "gateway.rs"),
    ("gateway snapshot", "gateway.rs"),
    ("gateway stages", "gateway.rs"),
    ("gateway status", "gateway.rs"),
    ("gateway stop", "gateway.rs"),
    ("import", "recorded.rs"),
    ("ipc list", "ipc.rs"),
    ("ipc stat", "ipc.rs"),
    ("jitter", "jitter.rs"),
    ("journal check", "journal.rs"),
    ("journal latencies", "journal.rs"),
    ("journal show", "journal.rs"),
    ("receive", "channel/command.rs"),
    ("record feed", "gateway/recorded.rs"),
    ("record info", "../suite/replay.rs"),
    ("record latencies", "../suite/replay.rs"),
    ("record merge", "../suite/replay.rs"),
    ("relay", "channel/command.rs"),
    ("replay", "../suite/replay.rs"),
    ("saturate", "saturate.rs"),
    ("send", "channel/command.rs"),
    ("strategy touch", "gateway.rs"),
    ("top", "top.rs"),
    ("venue state", "../web_clients/faults.rs"),
    ("ws connect", "ws.rs"),
];

#[test]
fn the_json_of_every_verb_that_prints_it_is_checked() {
    let mut found = Vec::new();
    find(&[], &mut found);
    found.sort();
    let listed: Vec<_> = VERBS.iter().map(|(verb, _)| *verb).collect();
    assert_eq!(found, listed);
    for (verb, file) in VERBS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(file);
        let text = std::fs::read_to_string(&path).expect("the tests");
        let last = verb.rsplit(' ').next().expect("a verb");
        assert!(text.contains("odd_json_keys("), "{file} checks the keys of `taut {verb}`");
        assert!(file.contains('/') || text.contains(last), "{file} runs `taut {verb}`");
    }
}

/// The verbs below these words whose help has `--json`.
fn find(words: &[&str], found: &mut Vec<String>) {
    let mut command = Command::new(TAUT);
    command.args(words).arg("--help");
    let outcome = Demo::answer(command);
    outcome.expect_code(0);
    if outcome.stdout.lines().any(|line| line.trim_start().starts_with("--json")) {
        found.push(words.join(" "));
    }
    let lines = outcome.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let below = lines.take_while(|line| line.starts_with("  "));
    // What explains a verb goes on in lines that are indented further.
    let verbs = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs.filter(|verb| !verb.is_empty() && *verb != "help") {
        find(&[words, &[verb]].concat(), found);
    }
}
