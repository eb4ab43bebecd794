//! The session cases of the QuickFIX acceptance definitions for FIX 4.4, on virtual time.
//!
//! Each definition is a script: `I` lines come in, `E` lines are expected, byte for byte except for
//! sums and times. Cases that need the echo application, a data dictionary, a message store or
//! several connections wait for those; what is named here must pass.

use std::path::{Path, PathBuf};

use taut_fix::{Now, Role, SessionConfig};
use taut_types::Nanos;

use crate::support::{Driver, START_UTC, at, comp_id, config, message, shown};

/// The cases that this version passes.
const PASSING: &[&str] = &[
    "10_MsgSeqNumEqual",
    "10_MsgSeqNumGreater",
    "10_MsgSeqNumLess",
    "11a_NewSeqNoGreater",
    "11b_NewSeqNoEqual",
    "11c_NewSeqNoLess",
    "13b_UnsolicitedLogoutMessage",
    "14b_RequiredFieldMissing",
    "14d_TagSpecifiedWithoutValue",
    "14f_IncorrectDataFormat",
    "14g_HeaderBodyTrailerFieldsOutOfOrder",
    "14h_RepeatedTag",
    "1a_ValidLogonMsgSeqNumTooHigh",
    "1a_ValidLogonWithCorrectMsgSeqNum",
    "1c_InvalidSenderCompID",
    "1c_InvalidTargetCompID",
    "1d_InvalidLogonBadSendingTime",
    "1d_InvalidLogonLengthInvalid",
    "1d_InvalidLogonWrongBeginString",
    "1e_NotLogonMessage",
    "2a_MsgSeqNumCorrect",
    "2b_MsgSeqNumTooHigh",
    "2c_MsgSeqNumTooLow",
    "2e_PossDupAlreadyReceived",
    "2e_PossDupNotReceived",
    "2i_BeginStringValueUnexpected",
    "2k_CompIDDoesNotMatchProfile",
    "2o_SendingTimeValueOutOfRange",
    "2q_MsgTypeNotValid",
    "2t_FirstThreeFieldsOutOfOrder",
    "4a_NoDataSentDuringHeartBtInt",
    "4b_ReceivedTestRequest",
    "6_SendTestRequest",
    "7_ReceiveRejectMessage",
    "8_OnlyAdminMessages",
    "SessionReset",
];

const DEFINITIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/at/definitions/fix44");

#[test]
fn the_session_cases_of_the_quickfix_definitions_pass() {
    let folder = Path::new(DEFINITIONS);
    if !folder.is_dir() {
        println!("skipped: the QuickFIX acceptance definitions are not at hand");
        return;
    }
    let mut names: Vec<PathBuf> =
        folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    let mut failures = Vec::new();
    let mut passed = Vec::new();
    for path in names {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let script = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
        match Run::new().play(&script) {
            Ok(()) => passed.push(name),
            Err(error) => failures.push((name, error)),
        }
    }
    println!("{} of {} cases pass", passed.len(), passed.len() + failures.len());
    for name in PASSING {
        let failure = failures.iter().find(|(failed, _)| failed == name);
        assert!(failure.is_none(), "{failure:?}");
        assert!(passed.iter().any(|passed| passed == name), "{name} is gone");
    }
}

struct Run {
    session: Driver,
    seconds: f64,
    open: bool,
}

impl Run {
    fn new() -> Self {
        let config = SessionConfig {
            sender_comp_id: comp_id("ISLD"),
            target_comp_id: comp_id("TW44"),
            ..config(Role::Acceptor)
        };
        Self { session: Driver::new(config), seconds: 0.0, open: false }
    }

    fn now(&self) -> Now {
        at(self.seconds)
    }

    fn play(mut self, script: &str) -> Result<(), String> {
        for line in script.lines() {
            let line = line.trim_end_matches(['\r', ' ']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let outcome = match line {
                "iCONNECT" => {
                    self.session.connect(self.now());
                    self.open = true;
                    Ok(())
                }
                "iDISCONNECT" => {
                    self.session.transport_closed(self.now());
                    self.open = false;
                    Ok(())
                }
                "eDISCONNECT" => self.expect_disconnect(),
                _ if line.starts_with("I8=") || line.starts_with("I35=") => {
                    self.feed(&self.prepared(&line[1..]));
                    Ok(())
                }
                _ if line.starts_with("E8=") => self.expect(&line[1..]),
                _ => Err("not a single connection".to_string()),
            };
            outcome.map_err(|error| format!("{error} at {}", shown(line.as_bytes())))?;
        }
        Ok(())
    }

    /// Fills in times, the length and the sum, as far as they are absent.
    fn prepared(&self, line: &str) -> Vec<u8> {
        let mut text = line.to_string();
        while let Some(start) = text.find("<TIME") {
            let end = start + text[start..].find('>').expect("a closing bracket");
            let offset: i64 = text[start + 5..end].parse().unwrap_or(0);
            text.replace_range(start..=end, &self.stamp(offset));
        }
        if !text.ends_with('\x01') {
            text.push('\x01');
        }
        let first = text.find('\x01').expect("a delimiter") + 1;
        if text.starts_with("8=") && !text[first..].starts_with("9=") {
            let rest = &text[first..];
            let counted = rest.find("\x0110=").map_or(rest.len(), |at| at + 1);
            text.insert_str(first, &format!("9={counted}\x01"));
        }
        if !text.contains("\x0110=") {
            let sum = text.bytes().fold(0u8, u8::wrapping_add);
            text += &format!("10={sum:03}\x01");
        }
        text.into_bytes()
    }

    /// Seconds of the virtual day, as a timestamp.
    fn stamp(&self, offset: i64) -> String {
        let day_second = START_UTC / 1_000_000_000 % 86_400 + self.seconds as i64 + offset;
        let (hours, minutes, seconds) = (day_second / 3600, day_second / 60 % 60, day_second % 60);
        format!("20260302-{hours:02}:{minutes:02}:{seconds:02}")
    }

    fn feed(&mut self, bytes: &[u8]) {
        let mut at = 0;
        // What a case expects comes in order, so what is queued may wait for its `E` line.
        loop {
            let consumed = self.session.handle_bytes(self.now(), &bytes[at..]).consumed;
            at += consumed;
            if consumed == 0 {
                break;
            }
        }
    }

    /// The next message that the session sends, waiting for as long as a case may.
    fn next(&mut self) -> Option<String> {
        let mut out = [0; 512];
        let end = self.seconds + 60.0;
        loop {
            if let Some(range) = self.session.poll_transmit(self.now(), &mut out) {
                return Some(String::from_utf8_lossy(&out[range]).into_owned());
            }
            let due = self.session.poll_timeout()?;
            let due = (due - Nanos(1_000)).0 as f64 / 1e9 + 1e-6;
            if due > end {
                return None;
            }
            self.seconds = self.seconds.max(due);
            self.session.handle_timeout(self.now());
        }
    }

    fn expect(&mut self, line: &str) -> Result<(), String> {
        let Some(reply) = self.next() else { return Err("nothing was sent".to_string()) };
        let (made, wanted) = (fields(&reply), fields(line));
        // A definition may leave the length and the sum away.
        let given = |tag: &str| wanted.iter().any(|(wanted, _)| *wanted == tag);
        let made: Vec<_> = made.into_iter().filter(|(tag, _)| given(tag)).collect();
        let same = made.len() == wanted.len()
            && made.iter().zip(&wanted).all(|((made_tag, made_value), (tag, value))| {
                made_tag == tag
                    && match *tag {
                        "10" => made_value.len() == 3,
                        "42" | "52" | "60" | "122" => made_value.len() >= 17,
                        _ => made_value == value,
                    }
            });
        if same { Ok(()) } else { Err(format!("sent {}", shown(reply.as_bytes()))) }
    }

    fn expect_disconnect(&mut self) -> Result<(), String> {
        if let Some(reply) = self.next() {
            return Err(format!("sent {}", shown(reply.as_bytes())));
        }
        if !self.session.is_closed() {
            return Err("still connected".to_string());
        }
        self.session.transport_closed(self.now());
        self.open = false;
        Ok(())
    }
}

fn fields(message: &str) -> Vec<(&str, &str)> {
    let fields = message.split('\x01').filter(|field| !field.is_empty());
    fields.map(|field| field.split_once('=').unwrap_or((field, ""))).collect()
}

#[test]
fn the_runner_completes_messages_as_the_definitions_mean_them() {
    let run = Run::new();
    assert_eq!(
        run.prepared("8=FIX.4.4\x0135=0\x0134=2\x0149=TW44\x0152=<TIME-1>\x0156=ISLD\x01"),
        message("35=0|34=2|49=TW44|52=20260302-09:29:59|56=ISLD|")
    );
}
