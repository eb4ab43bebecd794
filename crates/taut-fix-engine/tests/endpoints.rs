//! Two endpoints without a socket, on a clock of the test's own.
#![forbid(unsafe_code)]

use std::path::Path;

use taut_fix::{
    DisconnectReason, Event, Extras, FieldIndex, Now, Role, Store, Writer, parse_timestamp,
};
use taut_fix_engine::store::{FileStore, Sync};
use taut_fix_engine::{Application, Endpoint, Outbox, Received, Settings};

#[derive(Default)]
struct Recorder {
    events: Vec<Event>,
    disconnects: usize,
    warnings: Vec<String>,
}

impl Application for Recorder {
    fn handle(&mut self, event: Event, _: Received<'_>, _: &mut Outbox<'_>) {
        self.events.push(event);
    }

    fn disconnected(&mut self) {
        self.disconnects += 1;
    }

    fn warn(&mut self, words: &str) {
        self.warnings.push(words.to_owned());
    }
}

fn endpoint(role: Role, folder: &Path, more: &str) -> Endpoint<Recorder> {
    let (us, them) = if role == Role::Initiator { ("ME", "YOU") } else { ("YOU", "ME") };
    let text = format!(
        "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
         target_comp_id = \"{them}\"\nsending_time_tolerance_seconds = 0\n{more}"
    );
    let settings = Settings::parse(&text, folder, role).expect("settings");
    let session = settings.sessions.into_iter().next().expect("a session");
    Endpoint::open(session, Recorder::default()).expect("an endpoint")
}

/// Monday 2026-03-02 at this time of day; the monotonic clock runs along.
fn at(time: &str) -> Now {
    let text = if time.contains('-') { time.to_owned() } else { format!("20260302-{time}") };
    let utc = parse_timestamp(text.as_bytes()).expect("a time");
    Now { mono: utc, utc }
}

/// Takes what an endpoint wants to send.
fn take(endpoint: &mut Endpoint<Recorder>, to: &mut Vec<u8>) {
    to.extend_from_slice(endpoint.output());
    let taken = endpoint.output().len();
    endpoint.transmitted(taken);
}

struct Pair {
    near: Endpoint<Recorder>,
    far: Endpoint<Recorder>,
    index: FieldIndex,
    /// What each has sent and the other not read.
    to_far: Vec<u8>,
    to_near: Vec<u8>,
}

impl Pair {
    fn new(near: Endpoint<Recorder>, far: Endpoint<Recorder>) -> Self {
        let index = FieldIndex::with_capacity(64);
        Self { near, far, index, to_far: Vec::new(), to_near: Vec::new() }
    }

    fn connect(&mut self, now: Now) {
        self.far.connect(now);
        self.near.connect(now);
        self.take_output();
        self.run(now);
    }

    /// Takes what both want to send.
    fn take_output(&mut self) {
        take(&mut self.near, &mut self.to_far);
        take(&mut self.far, &mut self.to_near);
    }

    /// Until both are quiet.
    fn run(&mut self, now: Now) {
        for _ in 0..8 {
            let bytes = std::mem::take(&mut self.to_far);
            self.far.receive(now, &bytes, &mut self.index);
            self.far.tick(now);
            self.take_output();
            let bytes = std::mem::take(&mut self.to_near);
            self.near.receive(now, &bytes, &mut self.index);
            self.near.tick(now);
            self.take_output();
        }
    }

    fn send(&mut self, now: Now) {
        self.near.with_application(now, |_, outbox| {
            let sent = outbox.send(b"D", Extras::default(), |writer| writer.text::<11>(b"1"));
            sent.expect("the session is up");
        });
        self.take_output();
        self.run(now);
    }

    fn disconnect(&mut self, now: Now) {
        self.near.disconnect(now);
        self.far.disconnect(now);
    }

    fn next_numbers(&self) -> [u64; 2] {
        let store = self.near.session().store();
        [store.next_outgoing(), store.next_incoming()]
    }
}

const HOURS: &str = "store = \"state\"\nsync = \"never\"\n\
                     schedule = { start = \"08:00:00\", end = \"17:00:00\" }\n";

#[test]
fn numbers_live_as_long_as_the_opening_hours_and_through_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || {
        let sides = [Role::Initiator, Role::Acceptor];
        let [near, far] = sides.map(|role| endpoint(role, folder.path(), HOURS));
        Pair::new(near, far)
    };
    let mut pair = open();
    assert!(!pair.near.is_open(at("07:59:59")) && pair.near.is_open(at("08:00:00")));
    pair.connect(at("09:00:00"));
    pair.send(at("09:00:01"));
    assert_eq!(pair.next_numbers(), [3, 2]);
    pair.disconnect(at("10:00:00"));
    drop(pair);
    // Another process on the same day goes on.
    let mut pair = open();
    pair.connect(at("11:00:00"));
    pair.send(at("11:00:01"));
    assert_eq!(pair.next_numbers(), [5, 3]);
    // At the end of the day both log out.
    pair.run(at("16:59:59"));
    assert!(pair.near.session().is_active());
    pair.run(at("17:00:00"));
    assert!(pair.near.is_over() && pair.far.is_over());
    assert_eq!(pair.near.application().events.last(), Some(&Event::LoggedOut));
    pair.disconnect(at("17:00:01"));
    assert_eq!(pair.near.application().disconnects, 1);
    // The next day starts at 1.
    pair.connect(at("20260303-08:00:00"));
    assert_eq!(pair.next_numbers(), [2, 2]);
    pair.disconnect(at("20260303-08:00:01"));
    drop(pair);
    let mut pair = open();
    pair.connect(at("20260303-09:00:00"));
    assert_eq!(pair.next_numbers(), [3, 3]);
}

#[test]
fn a_day_that_could_not_begin_begins_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || {
        let sides = [Role::Initiator, Role::Acceptor];
        let [near, far] = sides.map(|role| endpoint(role, folder.path(), HOURS));
        Pair::new(near, far)
    };
    let mut pair = open();
    pair.connect(at("09:00:00"));
    pair.send(at("09:00:01"));
    pair.disconnect(at("10:00:00"));
    drop(pair);
    // The next day's first connection: the store cannot write itself anew, as in a crash.
    let in_the_way = folder.path().join("state/FIX.4.4-ME-YOU.store.new");
    std::fs::create_dir(&in_the_way).expect("a folder");
    let mut pair = open();
    pair.connect(at("20260303-09:00:00"));
    assert!(!pair.near.has_logged_on());
    drop(pair);
    std::fs::remove_dir(&in_the_way).expect("a folder");
    let mut pair = open();
    pair.connect(at("20260303-09:05:00"));
    assert!(pair.near.has_logged_on());
    assert_eq!(pair.next_numbers(), [2, 2]);
}

#[test]
fn a_logon_is_made_safe_before_it_leaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut near = endpoint(Role::Initiator, folder.path(), "store = \"state\"\n");
    near.connect(at("09:00:00"));
    assert!(!near.output().is_empty());
    assert!(!near.session().store().has_uncommitted());
}

#[test]
fn the_longest_message_that_can_be_sent_can_be_sent_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pair = two(folder.path(), "", "message_bytes_max = 131072\n");
    let now = at("09:00:00");
    pair.connect(now);
    let text = vec![b'x'; 64 * 1024];
    pair.near.with_application(now, |_, outbox| {
        let longest = (0..text.len()).rev().find(|length| {
            let body = |writer: &mut Writer<'_>| writer.text::<58>(&text[..*length]);
            outbox.send(b"D", Extras::default(), body).is_ok()
        });
        assert!(longest.is_some_and(|length| length > 60_000));
    });
    // It is lost, and what follows shows it.
    pair.take_output();
    pair.to_far.clear();
    pair.send(now);
    assert_eq!(pair.far.session().store().next_incoming(), pair.next_numbers()[0]);
}

#[test]
fn an_acceptor_asks_for_the_credentials_that_it_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for kind in ["password", "deribit"] {
        for (secret, is_right) in [("right", true), ("wrong", false)] {
            let with = |secret: &str| {
                let words = format!("kind = \"{kind}\", secret = \"{secret}\"");
                format!("credentials = {{ username = \"me\", {words} }}\n")
            };
            let near = endpoint(Role::Initiator, folder.path(), &with(secret));
            let far = endpoint(Role::Acceptor, folder.path(), &with("right"));
            let mut pair = Pair::new(near, far);
            pair.connect(at("09:00:00"));
            assert_eq!(pair.near.session().is_active(), is_right, "{kind} {secret}");
            assert_eq!(pair.far.has_logged_on(), is_right);
            let expected = if is_right { Event::LoggedOn } else { Event::LoggedOut };
            assert_eq!(pair.near.application().events, [expected]);
        }
    }
}

#[test]
fn logs_hold_both_directions_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = "log = \"log\"\nlogon_fields = { \"25035\" = \"1\" }\n\
                credentials = { kind = \"password\", username = \"me\", secret = \"hush\" }\n";
    let near = endpoint(Role::Initiator, folder.path(), more);
    let mut pair = Pair::new(near, endpoint(Role::Acceptor, folder.path(), ""));
    pair.connect(at("09:00:00"));
    pair.send(at("09:00:01"));
    let log = folder.path().join("log/FIX.4.4-ME-YOU.log");
    let text = std::fs::read_to_string(log).expect("the log").replace('\x01', "|");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains(" > 8=FIX.4.4|") && lines[1].contains(" < 8=FIX.4.4|"));
    assert!(lines[0].contains("|25035=1|553=me|554=****|") && !text.contains("hush"), "{text}");
    assert!(lines[2].contains("|35=D|"));
}

#[test]
fn heartbeats_go_out_when_they_are_due() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = "heartbeat_seconds = 5\n";
    let [near, far] =
        [Role::Initiator, Role::Acceptor].map(|role| endpoint(role, folder.path(), more));
    let mut pair = Pair::new(near, far);
    pair.connect(at("09:00:00"));
    assert_eq!(pair.near.due(at("09:00:00")), Some(at("09:00:05").mono));
    pair.run(at("09:00:05"));
    assert_eq!(pair.next_numbers(), [3, 3]);
    assert_eq!(pair.near.due(at("09:00:05")), Some(at("09:00:10").mono));
    pair.disconnect(at("09:00:06"));
    assert_eq!(pair.near.due(at("09:00:06")), None);
}

fn two(folder: &Path, near: &str, far: &str) -> Pair {
    let near = endpoint(Role::Initiator, folder, near);
    Pair::new(near, endpoint(Role::Acceptor, folder, far))
}

#[test]
fn numbers_start_again_when_the_reset_rules_say_and_else_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    // Next numbers after an order and: a cut, the next Logon, a Logout, the Logon after it.
    for (rule, expected) in [
        ("", [[3, 2], [4, 3], [5, 4], [6, 5]]),
        ("reset_on_logon = true", [[3, 2], [2, 2], [3, 3], [2, 2]]),
        ("reset_on_logout = true", [[3, 2], [4, 3], [1, 1], [2, 2]]),
        ("reset_on_disconnect = true", [[1, 1], [2, 2], [1, 1], [2, 2]]),
    ] {
        let mut pair = two(folder.path(), rule, rule);
        pair.connect(at("09:00:00"));
        pair.send(at("09:00:01"));
        pair.disconnect(at("09:00:02"));
        let mut seen = vec![pair.next_numbers()];
        pair.connect(at("09:00:03"));
        seen.push(pair.next_numbers());
        let now = at("09:00:04");
        pair.near.with_application(now, |_, outbox| outbox.log_out("bye"));
        pair.take_output();
        pair.run(now);
        assert!(pair.near.is_over() && pair.far.is_over(), "{rule}");
        pair.disconnect(at("09:00:05"));
        seen.push(pair.next_numbers());
        pair.connect(at("09:00:06"));
        seen.push(pair.next_numbers());
        assert_eq!(seen, expected, "{rule}");
        assert!(pair.near.session().is_active() && pair.far.session().is_active(), "{rule}");
    }
}

#[test]
fn with_369_a_message_tells_the_last_number_that_was_processed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pair = two(folder.path(), "last_processed = true\n", "");
    pair.connect(at("09:00:00"));
    for round in 0..2 {
        let now = at("09:00:01");
        pair.near.with_application(now, |_, outbox| {
            let sent = outbox.send(b"D", Extras::default(), |writer| writer.text::<11>(b"1"));
            sent.expect("the session is up");
        });
        pair.take_output();
        let text = String::from_utf8_lossy(&pair.to_far).replace('\x01', "|");
        assert!(text.contains(&format!("|369={}|", 1 + round)), "{text}");
        pair.far.with_application(now, |_, outbox| {
            let sent = outbox.send(b"8", Extras::default(), |writer| writer.text::<11>(b"1"));
            sent.expect("the session is up");
        });
        pair.take_output();
        pair.run(now);
    }
}

#[test]
fn a_789_beyond_what_was_sent_ends_the_logon() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = "next_expected = true\nstore = \"near\"\nsync = \"never\"\n";
    let mut first = two(folder.path(), near, "next_expected = true\n");
    first.connect(at("09:00:00"));
    first.disconnect(at("09:00:01"));
    drop(first);
    // The acceptor has forgotten everything: it cannot send from where it is asked to.
    let mut second = two(folder.path(), near, "next_expected = true\n");
    second.connect(at("09:00:02"));
    assert!(!second.near.session().is_active() && second.far.is_over());
    let reason = DisconnectReason::NextExpectedTooHigh;
    assert_eq!(second.far.application().events, [Event::Disconnect(reason)]);
}

#[test]
fn a_logon_whose_sending_time_is_too_far_away_is_not_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    for (later, is_right) in [("09:01:59", true), ("09:02:01", false)] {
        let mut pair = two(folder.path(), "", "");
        let text = "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"YOU\"\n\
                    target_comp_id = \"ME\"\nsending_time_tolerance_seconds = 120\n";
        let settings = Settings::parse(text, folder.path(), Role::Acceptor).expect("settings");
        let strict = settings.sessions.into_iter().next().expect("a session");
        pair.far = Endpoint::open(strict, Recorder::default()).expect("an endpoint");
        pair.near.connect(at("09:00:00"));
        pair.far.connect(at(later));
        pair.take_output();
        let logon = std::mem::take(&mut pair.to_far);
        pair.far.receive(at(later), &logon, &mut pair.index);
        pair.take_output();
        assert_eq!(pair.far.has_logged_on(), is_right, "{later}");
        assert_eq!(pair.to_near.is_empty(), !is_right, "{later}");
    }
}

#[test]
fn a_damaged_message_of_the_store_becomes_a_gap_fill() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = "store = \"near\"\nsync = \"never\"\n";
    let far = "store = \"far\"\nsync = \"never\"\n";
    let mut first = two(folder.path(), near, far);
    first.connect(at("09:00:00"));
    for _ in 0..4 {
        first.send(at("09:00:01"));
    }
    first.disconnect(at("09:00:02"));
    drop(first);
    // Orders 2 to 5 are in the file; the second of them rots.
    let path = folder.path().join("near/FIX.4.4-ME-YOU.store");
    let mut bytes = std::fs::read(&path).expect("the store");
    let third = bytes.windows(6).position(|part| part == b"\x0134=3\x01").expect("order 3");
    bytes[third + 1] ^= 4;
    std::fs::write(&path, &bytes).expect("room");
    // An acceptor that has forgotten the orders asks for them.
    let path = folder.path().join("far/FIX.4.4-YOU-ME.store");
    let mut store = FileStore::open(&path, Sync::Never).expect("the store");
    store.set_next_incoming(2).expect("room");
    drop(store);
    let mut second = two(folder.path(), near, far);
    let warnings = &second.near.application().warnings;
    assert!(warnings.iter().any(|words| words.contains("become gap fills")), "{warnings:?}");
    second.connect(at("09:00:03"));
    let sequence = |event: &Event| match event {
        Event::Application { sequence, .. } => Some(*sequence),
        _ => None,
    };
    let got: Vec<_> = second.far.application().events.iter().filter_map(sequence).collect();
    assert_eq!(got, [2, 4, 5]);
    assert!(second.near.session().is_active());
    assert_eq!(second.far.session().store().next_incoming(), second.next_numbers()[0]);
}
