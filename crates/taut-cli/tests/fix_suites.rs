//! The acceptance suites of other engines, against `taut fix echo --acceptance`; `cargo xtask
//! fix-suites` fetches them:
//!
//! * QuickFIX/Go's: 467 scripts of QuickFIX's own suite, and 38 of its extra ones
//!   (LastMsgSeqNumProcessed, NextExpectedMsgSeqNum, chunked resends); the 467 once more with
//!   `quickfix_compatible`, as QuickFIX itself has them: all of these pass;
//! * QuickFIX/J's: 376 of the suite, and 27 extra ones (garbled messages and fine times besides).
//!
//! Each script that ends otherwise must be among the explained ones, in the way that is told there,
//! and each of those must end otherwise. Of other folders every script must end as it says.
#![forbid(unsafe_code)]

#[path = "fix_suites/script.rs"]
mod script;

#[path = "fix_suites/groups.rs"]
mod groups;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use groups::{Group, Outcome, Version, groups, play};
use script::Ended;

/// A script that ends otherwise here.
struct Explained {
    /// Of these versions; of all that have it when none is named.
    versions: &'static [&'static str],
    /// Of its name.
    part: &'static str,
    /// Parts of what is told of the difference, each of which must be there.
    tells: &'static [&'static str],
    why: &'static str,
}

const fn explained(
    part: &'static str,
    tells: &'static [&'static str],
    why: &'static str,
) -> Explained {
    Explained { versions: &[], part, tells, why }
}

impl Explained {
    const fn of(mut self, versions: &'static [&'static str]) -> Self {
        self.versions = versions;
        self
    }

    fn is_of(&self, name: &str) -> bool {
        let is_of_version = |version: &&str| name.contains(&format!("/{version}/"));
        name.contains(self.part)
            && (self.versions.is_empty() || self.versions.iter().any(is_of_version))
    }
}

const LAST_PART: &str = "the last part is asked for up to the last number that is missing, not for \
    all that follows (0; 999999 in FIX 4.0 and 4.1): what is held already does not come again";
/// A ResendRequest that was to ask for all that follows, and asks up to a number.
const LAST_PART_TELLS: &[&str] = &["|35=2|", "|16=0|"];
const EARLY_LAST_PART_TELLS: &[&str] = &["|35=2|", "|16=999999|"];
const EARLY: &[&str] = &["fix40", "fix41"];
const TAG_OF_REFUSAL: &str = "RefTagID (371) is optional in a Reject, and QuickFIX's script, which \
    is otherwise the same, has none";

/// Those whose Reject has the field at all.
const WITH_TAG_OF_REFUSAL: &[&str] = &["fix42", "fix43", "fix44", "fix50"];

const QUICKFIX_GO: &[Explained] = &[
    explained(
        "/2r_",
        &["Message Type"],
        "QuickFIX/Go writes \"Message Type\", QuickFIX \"message type\", as here",
    )
    .of(&["fix40", "fix41"]),
    explained(
        "2b_NextExpectedMsgSeqNumTooHigh",
        &["35=5|", "58="],
        "the same Logout with a Text (58) of other words",
    ),
    explained("resendreqchunksize/", EARLY_LAST_PART_TELLS, LAST_PART).of(EARLY),
    explained("resendreqchunksize/", LAST_PART_TELLS, LAST_PART),
];

const QUICKFIX_J: &[Explained] = &[
    explained("/11c_NewSeqNoLess", &["371=36|"], TAG_OF_REFUSAL).of(WITH_TAG_OF_REFUSAL),
    explained("/2f_PossDupOrigSendingTimeTooHigh", &["371=122|"], TAG_OF_REFUSAL)
        .of(WITH_TAG_OF_REFUSAL),
    explained("/2o_SendingTimeValueOutOfRange", &["371=52|"], TAG_OF_REFUSAL)
        .of(WITH_TAG_OF_REFUSAL),
    explained("/2q_MsgTypeNotValid", &["371=35|"], TAG_OF_REFUSAL).of(WITH_TAG_OF_REFUSAL),
    explained(
        "/1d_InvalidLogonBadSendingTime",
        &["disconnected instead"],
        "whoever has not logged on hears nothing, as in QuickFIX's script; the acceptor says why",
    )
    .of(&["fix40", "fix41", "fix42", "fix43", "fix44"]),
    explained(
        "/QFJ648_NegativeHeartBtInt",
        &["disconnected instead"],
        "whoever has not logged on hears nothing; the acceptor says why",
    ),
    explained(
        "/14j_",
        &["371=78|372=D|"],
        "the same refusal, naming the group's count (78) instead of the member (80) that is not \
         its first",
    )
    .of(&["fix42"]),
    explained(
        "/14j_",
        &["371=661|372=D|373=6|"],
        "the field has two faults: a value that is no number, which is found first here, and a \
         place out of order",
    ),
    explained(
        "/21_RepeatingGroupSpecifierWithValueOfZero",
        &["35=d|"],
        "our echo gives a group of no members back, as it came",
    ),
    explained(
        "/QFJ650_",
        &["1137=7|"],
        "DefaultApplVerID (1137) is required in a Logon of FIXT.1.1",
    )
    .of(&["fix50"]),
    explained("resendRequestChunkSize/", EARLY_LAST_PART_TELLS, LAST_PART).of(EARLY),
    explained("resendRequestChunkSize/", LAST_PART_TELLS, LAST_PART),
    explained(
        "rejectGarbledMessages/",
        &["no message"],
        "a garbled message is left out without a word, as the standard says; there is no option",
    ),
];

/// Where `cargo xtask fix-suites` has unpacked QuickFIX/J's sources, and put its dictionaries.
const QUICKFIX_J_FOLDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/target/quickfixj");
const OF_QUICKFIX_J: &str =
    "org.quickfixj-2.1.0/quickfixj-core/src/test/resources/quickfix/test/acceptance/definitions";

/// The folder of QuickFIX/Go's sources: where Go keeps the module that our peer is built with.
fn quickfix_go() -> Option<PathBuf> {
    let peer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix/go");
    let output = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", "github.com/quickfixgo/quickfix"])
        .current_dir(peer)
        .output()
        .ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder.join("_test/definitions").is_dir().then_some(folder)
}

/// QuickFIX's own suite, for sessions that are told to be like it: QuickFIX/Go's but for the words
/// of the refusal in `2r` of FIX 4.0 and 4.1, and DefaultApplVerID (1137) in that of FIX 5.0.
fn quickfix_itself(definitions: &Path) -> Vec<Group<'static>> {
    let mut own = groups(definitions, false);
    own.retain(|group| group.suite == "server");
    for group in &mut own {
        group.suite = "quickfix_compatible";
        group.keys += "\nquickfix_compatible = true";
        let mut scripts = group.scripts.iter_mut();
        let refusal = scripts.find(|script| script.name.starts_with("2r_")).expect("it has a 2r");
        for line in refusal.lines.iter_mut().filter(|line| line.contains("\x0158=")) {
            *line = quickfix_refusal(line, group.version);
        }
    }
    own
}

/// QuickFIX's line for a line of QuickFIX/Go's.
fn quickfix_refusal(line: &str, version: &Version) -> String {
    let replaced = |old: &str, new: &str| {
        assert!(line.contains(old), "{line}");
        line.replace(old, new)
    };
    match (version.folder, version.application) {
        ("fix40" | "fix41", _) => replaced("Message Type", "message type"),
        (_, Some((_, code))) => replaced("380=3\x01", &format!("380=3\x011137={code}\x01"))
            .replace("\x019=94\x01", "\x019=101\x01"),
        _ => line.to_owned(),
    }
}

/// The scripts of a suite.
#[derive(Default)]
struct Counted {
    all: usize,
    passed: usize,
    in_other_words: usize,
}

/// Prints a line for each suite, and for each script that ended otherwise; how many of these have
/// no explanation.
fn report(outcomes: &[Outcome], explained: &[Explained]) -> usize {
    let mut suites: BTreeMap<&str, Counted> = BTreeMap::new();
    let mut unexplained = 0;
    for (name, outcome) in outcomes {
        let (of_suite, _) = name.split_once('/').expect("a suite");
        let counted = suites.entry(of_suite).or_default();
        counted.all += 1;
        counted.passed += usize::from(outcome.is_ok());
        counted.in_other_words += usize::from(*outcome == Ok(Ended::InOtherWords));
        let explained = explained.iter().find(|explained| explained.is_of(name));
        match (outcome, explained) {
            (Ok(_), None) => {}
            (Ok(_), Some(Explained { why, .. })) => {
                unexplained += 1;
                println!("{name}: it passes, and was to differ: {why}");
            }
            (Err(told), Some(Explained { tells, why, .. }))
                if tells.iter().all(|part| told.contains(part)) =>
            {
                println!("{name}: differs: {why}");
            }
            (Err(told), _) => {
                unexplained += 1;
                println!("{name}: UNEXPLAINED: {told}");
            }
        }
    }
    for (suite, Counted { all, passed, in_other_words }) in suites {
        let words = match in_other_words {
            0 => String::new(),
            count => format!(", {count} of them with a Text (58) of other words"),
        };
        println!("{suite}: {passed} of {all} scripts pass{words}");
    }
    unexplained
}

/// `cargo xtask fix-suites`
#[test]
#[ignore = "a minute, and it needs Go: all scripts of QuickFIX/Go"]
fn every_script_of_quickfix_go_passes_or_differs_as_explained() {
    let sources = quickfix_go();
    let sources = sources.expect("Go has the sources: `go mod download` in bench/peers/fix/go");
    let definitions = sources.join("_test/definitions");
    let (dictionaries, groups) = (sources.join("spec"), groups(&definitions, false));
    assert_eq!(count(&groups), [467, 38]);
    let unexplained = report(&play(&groups, &dictionaries), QUICKFIX_GO);
    let all = report(&play(&quickfix_itself(&definitions), &dictionaries), &[]);
    assert_eq!((unexplained, all), (0, 0), "scripts without an explanation");
}

/// `cargo xtask fix-suites`
#[test]
#[ignore = "a minute, and it needs Maven: all scripts of QuickFIX/J"]
fn every_script_of_quickfix_j_passes_or_differs_as_explained() {
    let folder = Path::new(QUICKFIX_J_FOLDER);
    let definitions = folder.join(OF_QUICKFIX_J);
    let has_sources = definitions.is_dir();
    assert!(
        has_sources,
        "the sources of QuickFIX/J: `cargo xtask fix-suites` has Maven bring them"
    );
    let groups = groups(&definitions, true);
    assert_eq!(count(&groups), [376, 27]);
    let unexplained = report(&play(&groups, &folder.join("dictionaries")), QUICKFIX_J);
    assert_eq!(unexplained, 0, "scripts without an explanation");
}

/// How many scripts the suite itself has, and how many the extra ones have.
fn count(groups: &[Group<'_>]) -> [usize; 2] {
    ["server", "extra"].map(|suite| {
        let of_suite =
            groups.iter().filter(|group| (group.suite == "server") == (suite == "server"));
        of_suite.map(|group| group.scripts.len()).sum()
    })
}

/// `cargo xtask fix-suites DEFINITIONS DICTIONARIES`: other scripts, none of which is explained.
#[test]
#[ignore = "it needs scripts: TAUT_FIX_DEFINITIONS and TAUT_FIX_DICTIONARIES name their folders"]
fn every_script_of_two_folders_passes() {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let folders = (folder("TAUT_FIX_DEFINITIONS"), folder("TAUT_FIX_DICTIONARIES"));
    let (Some(definitions), Some(dictionaries)) = folders else {
        panic!("no TAUT_FIX_DEFINITIONS and TAUT_FIX_DICTIONARIES name folders");
    };
    let is_java = definitions.join("resendRequestChunkSize").is_dir();
    let outcomes = play(&groups(&definitions, is_java), &dictionaries);
    assert!(!outcomes.is_empty(), "{} has no SUITE/VERSION/*.def", definitions.display());
    assert_eq!(report(&outcomes, &[]), 0, "scripts end otherwise than they say");
}
