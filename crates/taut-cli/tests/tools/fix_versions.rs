//! The acceptance acceptor in every version: each session whose dictionary is in the folder is
//! enabled and behaves by its own version's rules. The dictionaries and scripts are our own, in the
//! formats of QuickFIX; the runner is the suite's.

use std::fs;
use std::path::Path;
use std::process::Command;

use taut_testkit::{DEADLINE, Process, Run, until_some};

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/at");

/// Tag, name, type.
const FIELDS: [(u32, &str, &str); 37] = [
    (7, "BeginSeqNo", "SEQNUM"),
    (8, "BeginString", "STRING"),
    (9, "BodyLength", "LENGTH"),
    (10, "CheckSum", "STRING"),
    (11, "ClOrdID", "STRING"),
    (16, "EndSeqNo", "SEQNUM"),
    (21, "HandlInst", "CHAR"),
    (34, "MsgSeqNum", "SEQNUM"),
    (35, "MsgType", "STRING"),
    (36, "NewSeqNo", "SEQNUM"),
    (38, "OrderQty", "QTY"),
    (40, "OrdType", "CHAR"),
    (43, "PossDupFlag", "BOOLEAN"),
    (45, "RefSeqNum", "SEQNUM"),
    (49, "SenderCompID", "STRING"),
    (52, "SendingTime", "UTCTIMESTAMP"),
    (54, "Side", "CHAR"),
    (55, "Symbol", "STRING"),
    (56, "TargetCompID", "STRING"),
    (58, "Text", "STRING"),
    (60, "TransactTime", "UTCTIMESTAMP"),
    (97, "PossResend", "BOOLEAN"),
    (98, "EncryptMethod", "INT"),
    (108, "HeartBtInt", "INT"),
    (112, "TestReqID", "STRING"),
    (122, "OrigSendingTime", "UTCTIMESTAMP"),
    (123, "GapFillFlag", "BOOLEAN"),
    (141, "ResetSeqNumFlag", "BOOLEAN"),
    (371, "RefTagID", "INT"),
    (372, "RefMsgType", "STRING"),
    (373, "SessionRejectReason", "INT"),
    (379, "BusinessRejectRefID", "STRING"),
    (380, "BusinessRejectReason", "INT"),
    (453, "NoPartyIDs", "NUMINGROUP"),
    (789, "NextExpectedMsgSeqNum", "SEQNUM"),
    (1128, "ApplVerID", "STRING"),
    (1137, "DefaultApplVerID", "STRING"),
];

/// The session layer's messages: type, name, required and optional tags.
const ADMIN: [(&str, &str, &[u32], &[u32]); 7] = [
    ("0", "Heartbeat", &[], &[112]),
    ("1", "TestRequest", &[112], &[]),
    ("2", "ResendRequest", &[7, 16], &[]),
    ("3", "Reject", &[45], &[58, 371, 372, 373]),
    ("4", "SequenceReset", &[36], &[123]),
    ("5", "Logout", &[], &[58]),
    ("A", "Logon", &[98, 108], &[141, 789, 1137]),
];
const APPLICATION: [(&str, &str, &[u32], &[u32]); 3] = [
    ("D", "NewOrderSingle", &[11, 21, 40, 54, 55], &[38, 58, 60]),
    ("F", "OrderCancelRequest", &[11, 54, 55], &[]),
    ("j", "BusinessMessageReject", &[45, 372, 380], &[58, 379]),
];

fn members(required: &[u32], optional: &[u32]) -> String {
    let one = |tag: &u32, yes: &str| {
        let (_, name, _) = FIELDS.iter().find(|(known, ..)| known == tag).expect("a field");
        format!("<field name=\"{name}\" required=\"{yes}\"/>")
    };
    let required = required.iter().map(|tag| one(tag, "Y"));
    required.chain(optional.iter().map(|tag| one(tag, "N"))).collect()
}

fn dictionary(kind: &str, minor: u32, major: u32, pack: u32, admin: bool, app: bool) -> String {
    let message = |(code, name, required, optional): &(&str, &str, &[u32], &[u32]), category| {
        let fields = members(required, optional);
        format!(
            "<message name=\"{name}\" msgtype=\"{code}\" msgcat=\"{category}\">{fields}</message>"
        )
    };
    let mut messages = String::new();
    if admin {
        messages.extend(ADMIN.iter().map(|it| message(it, "admin")));
    }
    if app {
        messages.extend(APPLICATION.iter().map(|it| message(it, "app")));
    }
    let (header, trailer) = if admin {
        (members(&[8, 9, 35, 34, 49, 52, 56], &[43, 97, 122, 1128]), members(&[10], &[]))
    } else {
        (String::new(), String::new())
    };
    let fields: String = FIELDS
        .iter()
        .map(|(tag, name, kind)| {
            format!("<field number=\"{tag}\" name=\"{name}\" type=\"{kind}\"/>")
        })
        .collect();
    format!(
        "<fix type=\"{kind}\" major=\"{major}\" minor=\"{minor}\" servicepack=\"{pack}\">\
         <header>{header}</header><trailer>{trailer}</trailer>\
         <messages>{messages}</messages><components/><fields>{fields}</fields></fix>"
    )
}

fn write_dictionaries(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).expect("room");
    for minor in 0..=4 {
        write(&format!("FIX4{minor}.xml"), dictionary("FIX", minor, 4, 0, true, true));
    }
    write("FIXT11.xml", dictionary("FIXT", 1, 1, 0, true, false));
    for (pack, name) in ["FIX50.xml", "FIX50SP1.xml", "FIX50SP2.xml"].into_iter().enumerate() {
        write(name, dictionary("FIX", 0, 5, pack as u32, false, true));
    }
}

/// A version of the suite: its name, BeginString, peer, and DefaultApplVerID.
struct Version {
    name: &'static str,
    begin: &'static str,
    peer: &'static str,
    application: Option<&'static str>,
}

const fn plain(name: &'static str, begin: &'static str, peer: &'static str) -> Version {
    Version { name, begin, peer, application: None }
}

const fn fixt(name: &'static str, peer: &'static str, application: &'static str) -> Version {
    Version { name, begin: "FIXT.1.1", peer, application: Some(application) }
}

const VERSIONS: [Version; 8] = [
    plain("FIX40", "FIX.4.0", "TW40"),
    plain("FIX41", "FIX.4.1", "TW41"),
    plain("FIX42", "FIX.4.2", "TW42"),
    plain("FIX43", "FIX.4.3", "TW43"),
    plain("FIX44", "FIX.4.4", "TW44"),
    fixt("FIX50", "TW50", "7"),
    fixt("FIX50SP1", "TW50SP1", "8"),
    fixt("FIX50SP2", "TW50SP2", "9"),
];

impl Version {
    fn is_old(&self) -> bool {
        matches!(self.name, "FIX40" | "FIX41")
    }

    /// A line of the runner: what the peer sends, its body separated by `|`.
    fn sends(&self, kind: &str, number: u32, body: &str) -> String {
        let (begin, peer) = (self.begin, self.peer);
        let text = format!("I8={begin}|35={kind}|34={number}|49={peer}|52=<TIME>|56=ISLD|{body}\n");
        text.replace('|', "\x01")
    }

    /// A line of the runner: what the acceptor answers.
    fn answers(&self, kind: &str, number: u32, body: &str) -> String {
        let (begin, peer) = (self.begin, self.peer);
        let time = if self.is_old() { "" } else { ".000" };
        let text =
            format!("35={kind}|34={number}|49=ISLD|52=00000000-00:00:00{time}|56={peer}|{body}");
        format!("E8={begin}|9={}|{text}10=0|\n", text.len()).replace('|', "\x01")
    }

    /// Logon, an echo, each kind of refusal, a gap, Logout.
    fn script(&self) -> String {
        let version = self.application.map_or_else(String::new, |code| format!("1137={code}|"));
        let logon = format!("98=0|108=30|{version}");
        let order = "11=id|21=1|40=1|54=1|55=INTC|60=20260302-09:30:00|";
        let refused = |number: u32, text: &str, tag: Option<u32>, kind: &str, reason: u32| {
            if self.is_old() {
                let tag = tag.map_or_else(String::new, |tag| format!(" ({tag})"));
                return format!("45={number}|58={text}{tag}|");
            }
            let tag = tag.map_or_else(String::new, |tag| format!("371={tag}|"));
            format!("45={number}|58={text}|{tag}372={kind}|373={reason}|")
        };
        let unsupported = if self.is_old() {
            self.answers("3", 5, "45=5|58=Unsupported message type|")
        } else {
            self.answers("j", 5, "45=5|58=Unsupported Message Type|372=F|380=3|")
        };
        let all = if self.is_old() { 999_999 } else { 0 };
        [
            String::from("iCONNECT\n"),
            self.sends("A", 1, &logon),
            self.answers("A", 1, &logon),
            self.sends("D", 2, order),
            self.answers("D", 2, order),
            self.sends("D", 3, &order.replace("21=1|", "")),
            self.answers("3", 3, &refused(3, "Required tag missing", Some(21), "D", 1)),
            self.sends("D", 4, &format!("{order}999=x|")),
            self.answers("3", 4, &refused(4, "Invalid tag number", Some(999), "D", 0)),
            self.sends("F", 5, "11=id|54=1|55=INTC|"),
            unsupported,
            self.sends("*", 6, ""),
            self.answers("3", 6, &refused(6, "Invalid MsgType", None, "*", 11)),
            self.sends("1", 9, "112=HELLO|"),
            self.answers("2", 7, &format!("7=7|16={all}|")),
            self.sends("5", 10, ""),
            self.answers("5", 8, ""),
            String::from("eDISCONNECT\n"),
        ]
        .concat()
    }
}

/// Starts the acceptor over a folder; returns what it said of the sessions, and its port.
fn start(dictionaries: &Path) -> (Process, Vec<String>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["fix", "echo", "--listen", "127.0.0.1:0", "--acceptance", "--dictionaries"]);
    let mut process = Process::start(command.arg(dictionaries));
    let port = |line: &str| Some(line.rsplit_once(':')?.1.to_owned());
    let port = process.stdout_line("its port", port);
    let notes = until_some("ten notes on its sessions", DEADLINE, || {
        let said = process.stderr();
        let whole = said.rfind('\n').map(|end| said[..end].lines().map(str::to_owned).collect());
        whole.filter(|notes: &Vec<_>| notes.len() >= 10)
    });
    (process, notes, port)
}

#[test]
fn every_version_follows_its_own_rules() {
    let runner = Path::new(SUITE).join("run.py");
    if !runner.is_file() || Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 or the runner at {SUITE} is missing");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    write_dictionaries(folder.path());
    let (_acceptor, notes, port) = start(folder.path());
    assert!(notes.iter().all(|line| line.starts_with("enabled: ")), "{notes:#?}");
    let scripts: Vec<_> = VERSIONS
        .iter()
        .map(|version| {
            let path = folder.path().join(format!("{}.def", version.name));
            fs::write(&path, version.script()).expect("room");
            path
        })
        .collect();
    let output = Command::new("python3")
        .arg(runner)
        .args(["--port", &port, "--fields"])
        .arg(Path::new(SUITE).join("fields.fmt"))
        .args(&scripts)
        .run();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("\"cases\": 8, \"failed\": 0"), "{told}");
}

#[test]
fn sessions_without_their_dictionary_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    write_dictionaries(folder.path());
    for name in ["FIX40.xml", "FIX50SP1.xml"] {
        fs::remove_file(folder.path().join(name)).expect("the file");
    }
    let (_acceptor, notes, _) = start(folder.path());
    let missing: Vec<_> = notes.iter().filter(|line| line.starts_with("not enabled: ")).collect();
    assert_eq!(missing.len(), 2, "{notes:#?}");
    assert!(missing[0].contains("TW40 (FIX40.xml is not there)"), "{missing:?}");
    assert!(missing[1].contains("TW50SP1 (FIX50SP1.xml is not there)"), "{missing:?}");
}
