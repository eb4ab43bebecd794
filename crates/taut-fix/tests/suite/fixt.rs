//! What FIXT 1.1 has of its own.

use taut_fix::{BeginString, Role, SessionConfig};

use crate::support::{Driver, at, config, sent};

/// A message of the buyer, `|` for the delimiter.
fn from_buyer(msg_type: &str, sequence: u64, rest: &str) -> Vec<u8> {
    let header = format!("35={msg_type}|34={sequence}|49=BUYER|52=20260302-09:30:00.000|56=VENUE|");
    let body = format!("{header}{rest}").replace('|', "\x01");
    let text = format!("8=FIXT.1.1\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    format!("{text}10={sum:03}\x01").into_bytes()
}

/// What a venue of FIX 5.0 SP1 sends back to a Logon that names SP2, and to a message that it does
/// not read.
fn refusal(quickfix_compatible: bool) -> Vec<String> {
    let mut venue = Driver::new(SessionConfig {
        begin: BeginString::Fixt11,
        default_application_version: Some(b'8'),
        dictionaries: None,
        quickfix_compatible,
        ..config(Role::Acceptor)
    });
    venue.connect(at(0.0));
    venue.handle_bytes(at(0.0), &from_buyer("A", 1, "98=0|108=30|1137=9|"));
    venue.handle_bytes(at(0.0), &from_buyer("E", 2, "66=list|"));
    sent(&mut venue, at(0.0))
}

#[test]
fn names_the_application_version_in_its_logon_alone() {
    let header = "49=VENUE|52=20260302-09:30:00.000|56=BUYER";
    let logon = format!("35=A|34=1|{header}|98=0|108=30|1137=9|");
    let refused = format!("35=j|34=2|{header}|45=2|58=Unsupported Message Type|372=E|380=3|");
    assert_eq!(refusal(false), [logon, refused]);
}

#[test]
fn names_the_application_version_in_a_business_message_reject_as_quickfix_does() {
    let refused = refusal(true);
    assert!(refused[1].ends_with("|372=E|380=3|1137=9|"), "{refused:?}");
    assert_eq!(refused[0], refusal(false)[0], "all else is as it was");
}
