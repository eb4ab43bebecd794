//! Other FIX engines against `taut fix echo` and `taut fix send`: Logon, orders, TestRequest, lost
//! messages both ways, Logout.
//!
//! `bench/peers/fix/install.sh` builds them into `bench/peers/fix/target`, or `TAUT_FIX_PEERS`
//! names such a folder; a peer that is not there is skipped with a notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_testkit::Process;

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/fix");
const DICTIONARY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/dictionaries/FIX44.xml");

/// A folder of ours, and what a peer is started with; `None` where it is absent.
struct Peer {
    name: &'static str,
    program: PathBuf,
    before: Vec<String>,
    dictionary: Option<String>,
}

impl Peer {
    fn find(name: &'static str) -> Option<Self> {
        let built = std::env::var_os("TAUT_FIX_PEERS").map(PathBuf::from);
        let built = built.unwrap_or_else(|| Path::new(PEERS).join("target"));
        let file = |path: &str| built.join(path).display().to_string();
        let script = |name: &str| format!("{PEERS}/python/{name}.py");
        let shared = Path::new(DICTIONARY).is_file().then(|| DICTIONARY.to_owned());
        let shared = shared.or_else(|| Some(String::from("-")));
        let (program, needed, before, dictionary) = match name {
            "quickfixgo" => (built.join("fix-peer-go"), "fix-peer-go", vec![], shared),
            "QuickFIX/J" => {
                let classes = format!("{}:{}", file("java"), file("java/lib/*"));
                let before = [String::from("-cp"), classes, String::from("Peer")].to_vec();
                // The dictionary of its own messages: it refuses to read that of QuickFIX.
                (PathBuf::from("java"), "java/Peer.class", before, Some(String::from("FIX44.xml")))
            }
            "deribit-fix" => (built.join("fix-peer-deribit"), "fix-peer-deribit", vec![], None),
            _ => {
                let python = built.join("python/bin/python3");
                (python, "python/bin/python3", vec![script(name)], None)
            }
        };
        if !built.join(needed).exists() {
            println!("skipped: no {name} ({} is not there)", file(needed));
            return None;
        }
        Some(Self { name, program, before, dictionary })
    }

    fn start(&self, arguments: &[&str]) -> Process {
        let mut command = Command::new(&self.program);
        command.args(&self.before).args(arguments).args(&self.dictionary);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Process::start(&mut command)
    }
}

/// The port that a program says it listens on.
fn port(process: &mut Process) -> String {
    process.stdout_line("its port", |line| {
        let digits = line.trim().rsplit([':', ' ']).next()?;
        let is_it = line.starts_with("listening ") && digits.parse::<u16>().is_ok();
        is_it.then(|| digits.to_owned())
    })
}

/// All that it says until it ends by itself.
fn finish(process: Process) -> Vec<String> {
    let output = process.finish();
    let said: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said:#?} {errors}", output.status);
    said
}

/// Settings of one session with a log, in a folder; validating where the dictionary is there.
fn settings(folder: &Path, us: &str, them: &str) -> PathBuf {
    let dictionary = if Path::new(DICTIONARY).is_file() {
        format!("dictionary = \"{DICTIONARY}\"\n")
    } else {
        String::new()
    };
    let text = format!(
        "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
         target_comp_id = \"{them}\"\nlog = \"log\"\n{dictionary}"
    );
    let path = folder.join("taut.toml");
    fs::write(&path, text).expect("room");
    path
}

/// What taut logged: `<` or `>`, then the fields with `|`.
fn log(folder: &Path) -> Vec<String> {
    let file = fs::read_dir(folder.join("log")).expect("the log").next().expect("a file");
    let text = fs::read_to_string(file.expect("a file").path()).expect("text");
    let lines = text.replace('\x01', "|");
    lines.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
}

/// How many messages went this way with this field.
fn count(log: &[String], way: char, field: &str) -> usize {
    let field = format!("|{field}|");
    log.iter().filter(|line| line.starts_with(way) && line.contains(&field)).count()
}

fn taut(arguments: &[&str], config: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("fix").args(arguments).arg("--config").arg(config);
    command
}

/// The peer connects; it loses messages as `loses` says, and tells its story.
fn peer_is_a_client(name: &'static str, arguments: &[&str], loses: bool) {
    let Some(peer) = Peer::find(name) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let config = settings(folder.path(), "HOST", "GUEST");
    let mut acceptor = Process::start(&mut taut(&["echo", "--listen", "127.0.0.1:0"], &config));
    let port = port(&mut acceptor);
    let arguments: Vec<_> = arguments.iter().copied().chain([&*port]).collect();
    let said = finish(peer.start(&arguments));
    let told = format!("{} {said:#?}", peer.name);
    assert_eq!(said.first().map(String::as_str), Some("logon"), "{told}");
    assert_eq!(said.last().map(String::as_str), Some("logout"), "{told}");
    for wanted in ["order order-1", "order order-3", "again order-1", "again order-3"] {
        assert!(said.iter().any(|line| line == wanted), "{wanted}: {told}");
    }
    assert!(said.iter().any(|line| line.starts_with("heartbeat ")), "{told}");
    let log = log(folder.path());
    let is_refused = |way| count(&log, way, "35=3") + count(&log, way, "35=j");
    assert_eq!((is_refused('<'), is_refused('>')), (0, 0), "{log:#?}");
    assert_eq!(count(&log, '<', "35=2"), 1, "{log:#?}");
    assert_eq!((count(&log, '<', "35=5"), count(&log, '>', "35=5")), (1, 1), "{log:#?}");
    if loses {
        assert!(said.iter().any(|line| line == "order order-5"), "{told}");
        assert_eq!(count(&log, '>', "35=2"), 1, "{log:#?}");
    }
}

/// taut connects and sends five orders; each comes back.
fn peer_is_a_venue(name: &'static str) {
    let Some(peer) = Peer::find(name) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let config = settings(folder.path(), "GUEST", "HOST");
    let orders = folder.path().join("orders");
    let order = |at| {
        format!("8=FIX.4.4|35=D|11=order-{at}|21=1|38=100|40=1|54=1|55=X|60=20260302-09:30:00|\n")
    };
    fs::write(&orders, (1..=5).map(order).collect::<String>()).expect("room");
    let mut venue = peer.start(&["acceptor"]);
    let connect = format!("127.0.0.1:{}", port(&mut venue));
    let mut command = taut(&["send", "--wait", "2", "--connect", &connect], &config);
    let back = finish(Process::start(command.arg(&orders)));
    let said = finish(venue);
    for at in 1..=5 {
        let id = format!("|11=order-{at}|");
        assert!(back.iter().any(|line| line.contains(&id)), "{id}: {back:#?} {said:#?}");
    }
    let log = log(folder.path());
    // Each side missed something, asked for it and got it.
    assert_eq!(count(&log, '>', "35=2"), 1, "{log:#?}");
    assert_eq!(count(&log, '<', "35=2"), 1, "{log:#?}");
    assert!(count(&log, '>', "43=Y") > 0 && count(&log, '<', "43=Y") > 0, "{log:#?}");
    assert_eq!((count(&log, '<', "35=5"), count(&log, '>', "35=5")), (1, 1), "{log:#?}");
    assert_eq!(said.last().map(String::as_str), Some("logout"), "{said:#?}");
}

#[test]
fn quickfixgo_is_served() {
    peer_is_a_client("quickfixgo", &["initiator"], true);
}

#[test]
fn quickfixgo_serves() {
    peer_is_a_venue("quickfixgo");
}

#[test]
fn quickfix_j_is_served() {
    peer_is_a_client("QuickFIX/J", &["initiator"], true);
}

#[test]
fn quickfix_j_serves() {
    peer_is_a_venue("QuickFIX/J");
}

#[test]
fn simplefix_is_served() {
    peer_is_a_client("simple", &["initiator"], true);
}

#[test]
fn simplefix_serves() {
    peer_is_a_venue("simple");
}

#[test]
fn asyncfix_is_served() {
    peer_is_a_client("engine", &[], false);
}

/// It sorts its fields by tag, MsgType too, which Deribit lets pass: so do we, when we are told.
#[test]
fn deribit_fix_is_served_when_it_knows_the_secret() {
    let Some(peer) = Peer::find("deribit-fix") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("taut.toml");
    let text = "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"DERIBITSERVER\"\n\
                target_comp_id = \"GUEST\"\nmsg_type_anywhere = true\nreset_on_logon = true\n\
                log = \"log\"\n[sessions.credentials]\nkind = \"deribit\"\nusername = \"me\"\n\
                secret = \"the secret\"\n";
    fs::write(&config, text).expect("room");
    let mut acceptor = Process::start(&mut taut(&["echo", "--listen", "127.0.0.1:0"], &config));
    let port = port(&mut acceptor);
    assert_eq!(finish(peer.start(&[&port, "me", "another"])), ["refused"]);
    assert_eq!(finish(peer.start(&[&port, "me", "the secret"])), ["logon", "order", "logout"]);
    let log = log(folder.path());
    assert!(log.iter().all(|line| !line.contains("the secret")), "{log:#?}");
    // Nonce and hash are blotted out.
    let logon = log.iter().find(|line| line.contains("|35=A|")).expect("a Logon");
    assert!(logon.contains("|96=***") && logon.contains("|554=***"), "{logon}");
}
