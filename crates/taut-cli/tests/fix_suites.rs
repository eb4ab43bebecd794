//! The acceptance suites that QuickFIX/Go brings, against `taut fix echo --acceptance`: 467 scripts
//! of QuickFIX's own suite, and 38 of its extra ones (LastMsgSeqNumProcessed,
//! NextExpectedMsgSeqNum, chunked resends). `cargo xtask fix-suites` fetches them, and takes
//! folders of scripts besides: those of QuickFIX and QuickFIX/J have the same form.
//!
//! Each script that ends otherwise must be among [`EXPLAINED`], and each of those must end
//! otherwise.
#![forbid(unsafe_code)]

#[path = "fix_suites/script.rs"]
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use script::{Numbers, Script};
use taut_fix::{Role, Store};
use taut_fix_engine::{SessionStore, Settings};
use taut_testkit::Process;

/// A version of the suite: its folder, its BeginString, its application's version and dictionary.
struct Version {
    folder: &'static str,
    begin: &'static str,
    application: Option<(&'static str, char)>,
    dictionary: &'static str,
}

const fn version(
    folder: &'static str,
    begin: &'static str,
    application: Option<(&'static str, char)>,
    dictionary: &'static str,
) -> Version {
    Version { folder, begin, application, dictionary }
}

const VERSIONS: [Version; 8] = [
    version("fix40", "FIX.4.0", None, "FIX40.xml"),
    version("fix41", "FIX.4.1", None, "FIX41.xml"),
    version("fix42", "FIX.4.2", None, "FIX42.xml"),
    version("fix43", "FIX.4.3", None, "FIX43.xml"),
    version("fix44", "FIX.4.4", None, "FIX44.xml"),
    version("fix50", "FIXT.1.1", Some(("FIX.5.0", '7')), "FIX50.xml"),
    version("fix50sp1", "FIXT.1.1", Some(("FIX.5.0SP1", '8')), "FIX50SP1.xml"),
    version("fix50sp2", "FIXT.1.1", Some(("FIX.5.0SP2", '9')), "FIX50SP2.xml"),
];

/// The folders of suites, in small letters as all engines write them, and what their sessions have.
const SUITES: [(&str, &str); 5] = [
    ("server", "reset_on_logon = true"),
    ("lastseqnumprocessed", "reset_on_logon = true\nlast_processed = true"),
    ("lastmsgseqnumprocessed", "reset_on_logon = true\nlast_processed = true"),
    ("nextexpectedseqnum", "next_expected = true"),
    ("nextexpectedmsgseqnum", "next_expected = true"),
];
/// As above: `resendreqchunksize` at QuickFIX/Go, `resendRequestChunkSize` at QuickFIX/J.
const CHUNKED: (&str, &str) = ("resendre", "reset_on_logon = true\nresend_chunk = 5");

/// Scripts of QuickFIX/Go that end otherwise here, in every version that has them, and why.
const EXPLAINED: &[(&str, &str)] = &[
    ("fix40/2r_", "QuickFIX/Go writes \"Message Type\", QuickFIX \"message type\", as here"),
    ("fix41/2r_", "QuickFIX/Go writes \"Message Type\", QuickFIX \"message type\", as here"),
    ("2b_NextExpectedMsgSeqNumTooHigh", "the same Logout with a Text (58) of other words"),
    (
        "resendreqchunksize/",
        "the last part is asked for up to the last number that is missing, not up to 0 (all that \
         follows): what is held already does not come again",
    ),
];

/// What the scripts are for.
struct Group<'a> {
    suite: String,
    keys: String,
    version: &'a Version,
    scripts: Vec<Script>,
}

impl Group<'_> {
    /// Settings for a session with the peer TW; the store is in a folder where numbers are given.
    fn settings(&self, dictionaries: &Path, store: Option<&Path>) -> String {
        let Version { begin, application, dictionary, .. } = self.version;
        let path = |name: &str| format!("{:?}", dictionaries.join(name).display().to_string());
        let mut text = format!(
            "failed_logons_per_minute = 0\n[[sessions]]\nbegin_string = \"{begin}\"\n\
             sender_comp_id = \"ISLD\"\ntarget_comp_id = \"TW\"\ndictionary = {}\n{}\n",
            path(dictionary),
            self.keys
        );
        if let Some((name, _)) = application {
            let transport = path("FIXT11.xml");
            text +=
                &format!("default_appl_ver_id = \"{name}\"\ntransport_dictionary = {transport}\n");
        }
        if let Some(store) = store {
            text += &format!("store = {:?}\nsync = \"never\"\n", store.display().to_string());
        }
        text
    }

    /// Plays all scripts; what became of each.
    fn play(&self, dictionaries: &Path) -> Vec<(String, Result<(), String>)> {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = Acceptor::start(&self.settings(dictionaries, None), folder.path(), "shared");
        let outcome = |(at, script): (usize, &Script)| {
            let outcome = match script.numbers() {
                None => script.play(&shared.port),
                Some(numbers) => {
                    let store = folder.path().join(at.to_string());
                    let text = self.settings(dictionaries, Some(&store));
                    set_numbers(&text, numbers);
                    let own = Acceptor::start(&text, folder.path(), &at.to_string());
                    script.play(&own.port)
                }
            };
            (format!("{}/{}/{}", self.suite, self.version.folder, script.name), outcome)
        };
        self.scripts.iter().enumerate().map(outcome).collect()
    }
}

/// What an earlier run of the session would have left.
fn set_numbers(settings: &str, numbers: Numbers) {
    let settings = Settings::parse(settings, Path::new(""), Role::Acceptor).expect("settings");
    let mut store = SessionStore::open(&settings.sessions[0]).expect("a store");
    store.set_next_outgoing(numbers.outgoing).expect("room");
    store.set_next_incoming(numbers.incoming).expect("room");
}

struct Acceptor {
    port: String,
    _process: Process,
}

impl Acceptor {
    fn start(settings: &str, folder: &Path, name: &str) -> Self {
        let file = folder.join(format!("{name}.toml"));
        fs::write(&file, settings).expect("room");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["fix", "echo", "--listen", "127.0.0.1:0", "--acceptance", "--config"]);
        let mut process = Process::start(command.arg(&file));
        let port =
            |line: &str| Some(line.strip_prefix("listening on ")?.rsplit_once(':')?.1.to_owned());
        let port = process.stdout_line("its port", port);
        Self { port, _process: process }
    }
}

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

/// The scripts below a folder `SUITE/VERSION/NAME.def`.
fn groups(definitions: &Path) -> Vec<Group<'static>> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut groups = Vec::new();
    for suite in folders(definitions) {
        let folder = name(&suite);
        let lower = folder.to_lowercase();
        let known = SUITES.iter().find(|(known, _)| *known == lower).copied();
        let chunked = lower.starts_with(CHUNKED.0).then_some(CHUNKED);
        let Some((_, keys)) = known.or(chunked) else { continue };
        for path in folders(&suite) {
            let of_version = name(&path).to_lowercase();
            let Some(version) = VERSIONS.iter().find(|known| known.folder == of_version) else {
                continue;
            };
            let scripts = folders(&path)
                .into_iter()
                .filter(|path| path.extension().is_some_and(|extension| extension == "def"));
            let read = |path: PathBuf| {
                Script::new(name(&path), &fs::read(&path).expect("a script that was just listed"))
            };
            let scripts = scripts.map(read).collect();
            groups.push(Group { suite: folder.clone(), keys: keys.to_owned(), version, scripts });
        }
    }
    groups
}

/// QuickFIX's `2r`, which is QuickFIX/Go's but for DefaultApplVerID (1137) in the refusal.
fn quickfix_refusals(definitions: &Path) -> Vec<Group<'static>> {
    let versions = VERSIONS.iter().filter_map(|version| Some((version, version.application?.1)));
    let of = |(version, code): (&'static Version, char)| {
        let name = "2r_UnregisteredMsgType.def";
        let path = definitions.join("server").join(version.folder).join(name);
        let mut script = Script::new(name.to_owned(), &fs::read(path).expect("the script"));
        for line in &mut script.lines {
            if line.contains("\x0135=j\x01") {
                *line = line.replace("\x019=94\x01", "\x019=101\x01");
                *line = line.replace("380=3\x01", &format!("380=3\x011137={code}\x01"));
                assert!(line.contains("1137="), "{line}");
            }
        }
        let keys = "reset_on_logon = true\nquickfix_compatible = true".to_owned();
        let suite = "quickfix_compatible".to_owned();
        Group { suite, keys, version, scripts: vec![script] }
    };
    versions.map(of).collect()
}

/// Plays all groups side by side: most of their time is waiting.
fn play(groups: &[Group<'_>], dictionaries: &Path) -> Vec<(String, Result<(), String>)> {
    std::thread::scope(|scope| {
        let play = |group| scope.spawn(move || Group::play(group, dictionaries));
        let running: Vec<_> = groups.iter().map(play).collect();
        running.into_iter().flat_map(|group| group.join().expect("its scripts")).collect()
    })
}

/// Prints a line for each suite, and for each script that ended otherwise; how many of these have
/// no explanation.
fn report(outcomes: &[(String, Result<(), String>)], explained: &[(&str, &str)]) -> usize {
    let mut suites: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut unexplained = 0;
    for (name, outcome) in outcomes {
        let (of_suite, _) = name.split_once('/').expect("a suite");
        let (passed, all) = suites.entry(of_suite).or_default();
        *passed += usize::from(outcome.is_ok());
        *all += 1;
        let why = explained.iter().find(|(part, _)| name.contains(part)).map(|(_, why)| *why);
        match (outcome, why) {
            (Ok(()), None) => {}
            (Ok(()), Some(why)) => {
                unexplained += 1;
                println!("{name}: it passes, and was to differ: {why}");
            }
            (Err(_), Some(why)) => println!("{name}: differs: {why}"),
            (Err(told), None) => {
                unexplained += 1;
                println!("{name}: UNEXPLAINED: {told}");
            }
        }
    }
    for (suite, (passed, all)) in suites {
        println!("{suite}: {passed} of {all} scripts pass");
    }
    unexplained
}

/// `cargo xtask fix-suites`
#[test]
#[ignore = "a minute, and it needs Go: all scripts of QuickFIX/Go"]
fn every_script_of_quickfix_go_passes_or_differs_as_explained() {
    let Some(sources) = quickfix_go() else {
        println!("skipped: Go does not have the sources of github.com/quickfixgo/quickfix");
        return;
    };
    let definitions = sources.join("_test/definitions");
    let mut groups = groups(&definitions);
    let count = |suite: &str| -> usize {
        let of_suite =
            groups.iter().filter(|group| (group.suite == "server") == (suite == "server"));
        of_suite.map(|group| group.scripts.len()).sum()
    };
    assert_eq!([count("server"), count("extra")], [467, 38]);
    groups.extend(quickfix_refusals(&definitions));
    let unexplained = report(&play(&groups, &sources.join("spec")), EXPLAINED);
    assert_eq!(unexplained, 0, "scripts without an explanation");
}

/// `cargo xtask fix-suites DEFINITIONS DICTIONARIES`: what other scripts come to is only told.
#[test]
#[ignore = "it needs scripts: TAUT_FIX_DEFINITIONS and TAUT_FIX_DICTIONARIES name their folders"]
fn scripts_of_other_engines_are_told() {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let folders = (folder("TAUT_FIX_DEFINITIONS"), folder("TAUT_FIX_DICTIONARIES"));
    let (Some(definitions), Some(dictionaries)) = folders else {
        println!("skipped: no TAUT_FIX_DEFINITIONS and TAUT_FIX_DICTIONARIES");
        return;
    };
    let outcomes = play(&groups(&definitions), &dictionaries);
    assert!(!outcomes.is_empty(), "{} has no SUITE/VERSION/*.def", definitions.display());
    report(&outcomes, &[]);
}
