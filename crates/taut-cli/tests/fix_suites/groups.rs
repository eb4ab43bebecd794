//! The scripts of a folder `SUITE/VERSION/NAME.def`, what their sessions are set to, and an
//! acceptor for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_fix::{Precision, Role, Store};
use taut_fix_engine::{SessionStore, Settings};
use taut_testkit::Process;

use crate::script::{Dialect, Ended, Numbers, Script};

/// The name of a script, and what it came to.
pub type Outcome = (String, Result<Ended, String>);

/// A version of the suite: its folder, its BeginString, its application's version and dictionary.
pub struct Version {
    pub folder: &'static str,
    begin: &'static str,
    pub application: Option<(&'static str, char)>,
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

pub const VERSIONS: [Version; 8] = [
    version("fix40", "FIX.4.0", None, "FIX40.xml"),
    version("fix41", "FIX.4.1", None, "FIX41.xml"),
    version("fix42", "FIX.4.2", None, "FIX42.xml"),
    version("fix43", "FIX.4.3", None, "FIX43.xml"),
    version("fix44", "FIX.4.4", None, "FIX44.xml"),
    version("fix50", "FIXT.1.1", Some(("FIX.5.0", '7')), "FIX50.xml"),
    version("fix50sp1", "FIXT.1.1", Some(("FIX.5.0SP1", '8')), "FIX50SP1.xml"),
    version("fix50sp2", "FIXT.1.1", Some(("FIX.5.0SP2", '9')), "FIX50SP2.xml"),
];

/// The folders of QuickFIX/Go's suites, and what their sessions have.
const SUITES: &[(&str, &str)] = &[
    ("server", "reset_on_logon = true"),
    ("lastseqnumprocessed", "reset_on_logon = true\nlast_processed = true"),
    ("nextexpectedseqnum", "next_expected = true"),
    ("resendreqchunksize", "reset_on_logon = true\nresend_chunk = 5"),
];
/// Those of QuickFIX/J's, whose sessions begin anew with each connection.
const SUITES_J: &[(&str, &str)] = &[
    ("server", ""),
    ("lastMsgSeqNumProcessed", "last_processed = true"),
    ("nextExpectedMsgSeqNum", "next_expected = true"),
    ("resendRequestChunkSize", "resend_chunk = 5"),
    ("rejectGarbledMessages", ""),
    ("timestamps", "timestamps = \"nanos\""),
];

/// What the scripts are for.
pub struct Group<'a> {
    pub suite: &'static str,
    pub keys: String,
    pub version: &'a Version,
    pub scripts: Vec<Script>,
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
    fn play(&self, dictionaries: &Path) -> Vec<Outcome> {
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

/// The scripts below a folder `SUITE/VERSION/NAME.def`.
pub fn groups(definitions: &Path, is_java: bool) -> Vec<Group<'static>> {
    let scripts = |folder: &Path, dialect| -> Vec<Script> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "def"));
        paths.sort();
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = |path: &PathBuf| {
            let text = fs::read(path).expect("a script that was just listed");
            Script::new(name(path), &text, dialect)
        };
        paths.iter().map(read).collect()
    };
    let suites = if is_java { SUITES_J } else { SUITES };
    let mut groups = Vec::new();
    for &(suite, keys) in suites {
        let dialect = match suite {
            "timestamps" => Dialect::QuickFixJ(Precision::Nanos),
            _ if is_java => Dialect::QuickFixJ(Precision::Millis),
            _ => Dialect::QuickFix,
        };
        let keys =
            if is_java { format!("reset_on_disconnect = true\n{keys}") } else { keys.into() };
        for version in &VERSIONS {
            let scripts = scripts(&definitions.join(suite).join(version.folder), dialect);
            groups.push(Group { suite, keys: keys.clone(), version, scripts });
        }
    }
    groups.retain(|group| !group.scripts.is_empty());
    groups
}

/// Plays all groups side by side: most of their time is waiting.
pub fn play(groups: &[Group<'_>], dictionaries: &Path) -> Vec<Outcome> {
    std::thread::scope(|scope| {
        let play = |group| scope.spawn(move || Group::play(group, dictionaries));
        let running: Vec<_> = groups.iter().map(play).collect();
        running.into_iter().flat_map(|group| group.join().expect("its scripts")).collect()
    })
}
