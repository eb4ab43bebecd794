//! A journal from outside: opened, written, rolled, opened again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use taut_journal::{
    Durability, Entry, Journal, JournalError, OnFailure, Settings, read, segment_name,
    writing_process,
};
use taut_testkit::for_each_seed;
use taut_types::{ClientOrderId, Nanos, RequestId};

use crate::flow::{self, Flow, small};

#[test]
fn what_was_written_is_there_again_over_rolls_and_restarts() {
    for_each_seed(0..4, |seed, _| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut flow = Flow::new(seed);
        let mut written = Vec::new();
        for durability in [Durability::None, Durability::Async, Durability::Sync] {
            let settings = Settings { durability, segments_kept: 100, ..small() };
            let Journal { mut writer, mut housekeeper, recovered, lock } =
                Journal::open(folder.path(), settings).expect("the journal");
            flow::assert_same(&recovered.state, &written);
            assert!(recovered.tails.is_empty());
            // Enough for several segments of 64 KiB.
            for at in 0..3_000 {
                let entry = flow.next();
                let sequence = writer.append(Nanos(at), &entry).expect("room");
                written.push(entry);
                assert_eq!(sequence, written.len() as u64);
                if at % 64 == 0 {
                    writer.commit().expect("a disk");
                    housekeeper.turn().expect("a turn");
                }
            }
            housekeeper.turn().expect("a turn");
            flow::assert_same(housekeeper.state(), &written);
            drop((writer, housekeeper, lock));
        }
        let mut seen = Vec::new();
        let mut visit = |shown: &taut_journal::Shown| seen.push(shown.entry.expect("known"));
        let found = read(folder.path(), usize::MAX, &mut visit).expect("a whole journal");
        assert_eq!(seen, written);
        assert!(found.segments.len() > 6, "{}", found.segments.len());
    });
}

#[test]
fn old_segments_go_and_checkpoints_stand_for_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut flow = Flow::new(7);
    let mut written = Vec::new();
    let settings = Settings { segments_kept: 1, ..small() };
    for _ in 0..3 {
        let Journal { mut writer, mut housekeeper, recovered, lock } =
            Journal::open(folder.path(), settings).expect("the journal");
        flow::assert_same(&recovered.state, &written);
        for at in 0..5_000 {
            let entry = flow.next();
            writer.append(Nanos(at), &entry).expect("room");
            written.push(entry);
            if at % 50 == 0 {
                housekeeper.turn().expect("a turn");
            }
        }
        housekeeper.turn().expect("a turn");
        let files = fs::read_dir(folder.path()).expect("it").count();
        assert!(files <= 4, "{files}: one old segment, this one, the next one, the lock");
        drop((writer, housekeeper, lock));
    }
}

#[test]
fn a_second_writer_is_refused_by_the_first_one_s_number() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(writing_process(folder.path()), None);
    let first = Journal::open(folder.path(), small()).expect("the journal");
    let second = Journal::open(folder.path(), small()).expect_err("one writer");
    assert_eq!(second, JournalError::Locked { process: std::process::id() });
    assert!(second.to_string().contains(&std::process::id().to_string()), "{second}");
    assert_eq!(writing_process(folder.path()), Some(std::process::id()));
    drop(first);
    assert_eq!(writing_process(folder.path()), None);
    Journal::open(folder.path(), small()).expect("the journal is free");
}

#[test]
fn nobody_else_may_read_it() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("deep/journal");
    let journal = Journal::open(&folder, small()).expect("the journal");
    let mode = |path: &std::path::Path| {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
    };
    assert_eq!(mode(&folder), 0o700);
    for name in ["lock".to_owned(), segment_name(1), segment_name(2)] {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
    drop(journal);
}

#[test]
fn without_housekeeping_orders_stop_and_cancels_leave() {
    let order = ClientOrderId(1);
    let create = |flow: &mut Flow| loop {
        let entry = flow.next();
        if matches!(entry, Entry::Create { .. }) {
            return entry;
        }
    };
    let cancel = Entry::Cancel { request: RequestId { order, version: 2 } };
    for (on_failure, leaves) in [(OnFailure::StopOrders, false), (OnFailure::GoOn, true)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut flow = Flow::new(1);
        let settings = Settings { on_failure, ..small() };
        let Journal { mut writer, mut housekeeper, .. } =
            Journal::open(folder.path(), settings).expect("the journal");
        // Two segments are ready.
        let error = loop {
            if let Err(error) = writer.append(Nanos(1), &flow.next()) {
                break error;
            }
        };
        assert_eq!(error, JournalError::Full { segment: 3, error: None });
        assert!(error.to_string().contains(&segment_name(3)), "{error}");
        assert_eq!(writer.admit(Nanos(1), &create(&mut flow)).is_ok(), leaves);
        // It may be shorter than what is left.
        writer.admit(Nanos(1), &cancel).expect("a cancel makes nothing larger");
        let before = writer.next_sequence();
        housekeeper.turn().expect("a turn");
        writer.admit(Nanos(1), &create(&mut flow)).expect("there is room again");
        assert_eq!(writer.next_sequence(), before + 1);
    }
}

#[test]
fn an_append_allocates_nothing_over_a_roll_either() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut flow = Flow::new(3);
    let Journal { mut writer, .. } = Journal::open(folder.path(), small()).expect("the journal");
    let entries: Vec<_> = (0..1_200).map(|_| flow.next()).collect();
    let info = allocation_counter::measure(|| {
        for entry in &entries {
            writer.admit(Nanos(1), entry).expect("room");
        }
    });
    assert_eq!(info.count_total, 0);
    let found = read(folder.path(), 10, &mut |_| ()).expect("it");
    assert!(found.segments[1].records.is_some(), "it has rolled");
}

#[test]
fn an_append_touches_no_page_that_is_not_there() {
    // The machine may take a page away at any time, but not each time.
    let fewest = (0..5).map(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { segment_bytes: 1 << 20, ..small() };
        let journal = Journal::open(folder.path(), settings).expect("the journal");
        let mut writer = journal.writer;
        let mut flow = Flow::new(3);
        let entries: Vec<_> = (0..9_000).map(|_| flow.next()).collect();
        // The code's own pages.
        let (first, rest) = entries.split_at(100);
        first.iter().for_each(|it| writer.admit(Nanos(1), it).expect("room"));
        let before = taut_sys::thread_usage().page_faults;
        rest.iter().for_each(|it| writer.admit(Nanos(1), it).expect("room"));
        taut_sys::thread_usage().page_faults - before
    });
    assert_eq!(fewest.min(), Some(0), "in 170 pages");
}

#[test]
fn settings_out_of_range_are_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for settings in [
        Settings { segment_bytes: 4096, ..Settings::default() },
        Settings { segment_bytes: 100_000, ..Settings::default() },
        Settings { segments_kept: 0, ..Settings::default() },
    ] {
        let error = Journal::open(folder.path(), settings).expect_err("out of range");
        assert!(matches!(error, JournalError::Settings(_)), "{error}");
    }
}

#[test]
fn a_state_that_fits_no_checkpoint_stops_orders_and_says_the_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::open(folder.path(), small()).expect("the journal");
    let mut flow = Flow::new(1);
    let failed = (0..2_000).find_map(|number| {
        let entry = flow.create(number);
        writer.append(Nanos(1), &entry).err().or_else(|| housekeeper.turn().err())
    });
    let Some(JournalError::CheckpointTooLarge { bytes }) = failed else {
        panic!("{failed:?}");
    };
    assert!(bytes > 32 << 10);
}
