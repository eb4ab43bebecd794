//! Orders that go from an order journal into recordings and back.

use std::fs;
use std::path::Path;

use taut_journal::{
    Durability, Entry, Journal, JournalError, Settings, State, TURN, orders_in, read, segment_name,
    writing_process,
};
use taut_types::Nanos;

use crate::flow::{self, Flow, small};
use crate::recording::SETTINGS;

/// Writes some entries; the journal is left as a process that is killed leaves it.
fn write(journal: Journal, flow: &mut Flow, written: &mut Vec<Entry>) {
    let Journal { mut writer, mut housekeeper, recovered } = journal;
    flow::assert_same_orders(&recovered.state, written);
    assert!(writer.next_sequence() > recovered.state.as_of);
    for at in 0..700 {
        housekeeper.turn().expect("room");
        let entry = flow.next();
        writer.append(Nanos(at), &entry).expect("room");
        written.push(entry);
        if at % 2 == 0 {
            writer.record(TURN, Nanos(at), b"what was heard").expect("room");
        }
    }
}

fn state(folder: &Path) -> State {
    read(folder, small().executions_max, &mut |_| ()).expect("right").state
}

#[test]
fn a_journal_s_orders_go_into_recordings_and_come_back() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let home = directory.path().join("home");
    let (mut flow, mut written) = (Flow::new(11), Vec::new());
    let open = || Journal::open(&home, small());
    let record = |name| Journal::record(&home, name, SETTINGS);
    write(open().expect("a journal"), &mut flow, &mut written);
    assert_eq!(orders_in(&home).expect("it"), home);
    for name in ["first", "second"] {
        write(record(name).expect("a recording"), &mut flow, &mut written);
        assert_eq!(orders_in(&home).expect("it"), home.join(name));
        flow::assert_same_orders(&state(&home), &written);
        flow::assert_same_orders(&state(&home.join(name)), &written);
    }
    // The names' order says nothing.
    write(record("a day before").expect("a recording"), &mut flow, &mut written);
    write(open().expect("a journal"), &mut flow, &mut written);
    assert_eq!(orders_in(&home).expect("it"), home);
    assert!(!home.join(segment_name(1)).exists(), "what the recordings have gone on from");
    write(open().expect("a journal"), &mut flow, &mut written);
    write(record("third").expect("a recording"), &mut flow, &mut written);
    flow::assert_same_orders(&state(&home), &written);
    // Its folder is gone: nothing is begun over it.
    fs::rename(home.join("third"), directory.path().join("elsewhere")).expect("it goes");
    for refused in [open(), record("fourth")] {
        let refused = refused.expect_err("the orders are gone");
        assert_eq!(refused, JournalError::OrdersGone);
    }
}

#[test]
fn one_writer_has_the_home_and_the_recording_in_it() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let home = directory.path().join("home");
    let first = Journal::record(&home, "first", SETTINGS).expect("a recording");
    let locked = JournalError::Locked { process: std::process::id() };
    assert_eq!(Journal::record(&home, "second", SETTINGS).expect_err("one writer"), locked);
    assert_eq!(Journal::open(&home, small()).expect_err("one writer"), locked);
    assert!(!home.join("second").exists(), "nothing was begun");
    assert_eq!(writing_process(&home.join("first")), Some(std::process::id()));
    drop(first);
    Journal::record(&home, "second", SETTINGS).expect("it is free");
}

#[test]
fn a_start_that_is_cut_short_anywhere_leaves_the_orders_where_they_were() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let home = directory.path().join("home");
    let (mut flow, mut written) = (Flow::new(5), Vec::new());
    let settings = Settings { durability: Durability::Async, ..small() };
    write(Journal::record(&home, "first", SETTINGS).expect("it"), &mut flow, &mut written);
    let pointer = fs::read(home.join("orders")).expect("the file");
    // Its segments are there, and the file still names the recording.
    drop(Journal::open(&home, settings).expect("a journal"));
    fs::write(home.join("orders"), &pointer).expect("write it");
    write(Journal::open(&home, settings).expect("a journal"), &mut flow, &mut written);
    // A recording's folder is there, and nothing names it.
    fs::create_dir(home.join("begun")).expect("a folder");
    write(Journal::record(&home, "second", SETTINGS).expect("it"), &mut flow, &mut written);
    flow::assert_same_orders(&state(&home), &written);
}
