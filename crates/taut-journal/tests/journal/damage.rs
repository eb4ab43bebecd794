//! Files that were cut and files whose bits flipped: nothing wrong is believed, and what is wrong
//! is said with its place.

use std::fs;
use std::path::{Path, PathBuf};

use taut_journal::{
    Damage, Entry, Journal, JournalError, Recovered, Settings, TailKind, What, read, scan,
    segment_name,
};
use taut_types::Nanos;

use crate::flow::{self, Flow, small};

const SETTINGS: Settings = Settings {
    segment_bytes: 64 << 10,
    segments_kept: 9,
    durability: taut_journal::Durability::None,
    on_failure: taut_journal::OnFailure::StopOrders,
    executions_max: 40,
    marks: false,
};

/// A journal of so many segments in use; the file of each and what was written.
fn written(folder: &Path, segments: u32, entries_in_last: usize) -> (Vec<PathBuf>, Vec<Entry>) {
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::open(folder, SETTINGS).expect("the journal");
    let mut flow = Flow::new(5);
    let mut all = Vec::new();
    let mut in_last = 0;
    while in_last < entries_in_last {
        let entry = flow.next();
        writer.append(Nanos(9), &entry).expect("room");
        all.push(entry);
        housekeeper.turn().expect("a turn");
        // Its own number is known by the one that is prepared behind it.
        in_last += usize::from(folder.join(segment_name(segments + 1)).exists());
    }
    drop((writer, housekeeper));
    // What is prepared and not in use is left out here: it is cut and flipped by itself.
    fs::remove_file(folder.join(segment_name(segments + 1))).expect("it was prepared");
    ((1..=segments).map(|number| folder.join(segment_name(number))).collect(), all)
}

fn reread(folder: &Path) -> Result<Recovered, Damage> {
    match read(folder, small().executions_max, &mut |_| ()) {
        Ok(found) => Ok(found),
        Err(JournalError::Damaged(damage)) => Err(damage),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_newest_file_that_is_cut_anywhere_keeps_what_is_whole_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (files, all) = written(folder.path(), 2, 30);
    let whole = reread(folder.path()).expect("a whole journal");
    flow::assert_same(&whole.state, &all);
    let [first, second] = &whole.segments[..] else { panic!("{:?}", whole.segments) };
    let before = first.records.expect("records").1;
    let bytes = fs::read(&files[1]).expect("the file");
    for len in (0..second.used_bytes + 40).chain([60_000, 65_535]) {
        let cut = bytes.get(..len as usize).expect("it is longer");
        let mut last = before;
        let scanned = scan(cut, 2, Some(before + 1), 40, &mut |shown| last = shown.sequence);
        match scanned {
            Ok(found) => {
                assert_eq!(found.tail.expect("it is said").kind, TailKind::Cut, "{len}");
                assert!(found.used_bytes <= len);
                // The records that are whole, every one.
                let due = whole.state.as_of.min(last + 1);
                assert!(len < second.used_bytes || last == whole.state.as_of, "{len}: {due}");
            }
            Err(damage) => assert!(
                matches!(damage.what, What::Cut | What::Checkpoint) && damage.segment == 2,
                "{len}: {damage}"
            ),
        }
    }
    // Through the folder too, and an older file is never cut.
    fs::write(&files[1], &bytes[..second.used_bytes as usize - 8]).expect("it");
    let found = reread(folder.path()).expect("all but the last record");
    flow::assert_same(&found.state, &all[..all.len() - 1]);
    assert!(found.requests_lost_max() > 0);
    fs::write(&files[1], &bytes).expect("it");
    let older = fs::read(&files[0]).expect("the file");
    fs::write(&files[0], &older[..older.len() - 8]).expect("it");
    let damage = reread(folder.path()).expect_err("an older file");
    assert_eq!((damage.segment, damage.what), (1, What::Cut));
}

#[test]
fn flipped_bits_are_found_and_named() {
    flip_bits(false);
}

#[test]
#[ignore = "a million scans"]
fn every_flipped_bit_is_found_and_named() {
    flip_bits(true);
}

/// Flips each bit of two files, or of their ends and of some places between.
fn flip_bits(is_every: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let (files, all) = written(folder.path(), 2, 12);
    let whole = reread(folder.path()).expect("a whole journal");
    for (at, file) in files.iter().enumerate() {
        let number = at as u32 + 1;
        let right = fs::read(file).expect("the file");
        let segment = whole.segments[at];
        let first = segment.records.expect("records").0;
        let used = segment.used_bytes as usize;
        let mut bytes = right.clone();
        let (start, end) = (used.min(2_500), used.saturating_sub(800));
        let places = 0..right.len();
        let is_chosen = |byte: &usize| *byte < start || (end..used).contains(byte);
        for byte in places.filter(|byte| is_every || is_chosen(byte) || byte % 997 == 0) {
            for bit in 0..8 {
                bytes[byte] ^= 1 << bit;
                let mut count = 0;
                let scanned = scan(&bytes, number, Some(first), 40, &mut |_| count += 1);
                let place = format!("byte {byte} of {used}, bit {bit}, segment {number}");
                match scanned {
                    Err(damage) => {
                        assert_eq!(damage.segment, number, "{place}");
                        assert!(damage.offset <= byte as u64, "{place}: {damage}");
                    }
                    Ok(found) => {
                        let tail = found.tail.unwrap_or_else(|| panic!("{place}: not found"));
                        let end = tail.offset + tail.bytes;
                        // What became 0 at the very end cannot be told from what was never there.
                        let is_gone = bytes[byte] == 0 && byte as u64 >= end;
                        let is_in = (tail.offset..end).contains(&(byte as u64));
                        assert!(is_in || is_gone, "{place}: {tail:?}");
                        // It cost the last record at the most.
                        assert!(found.records.is_none_or(|(_, last)| {
                            last + 1 >= segment.records.expect("records").1
                        }));
                    }
                }
                bytes[byte] ^= 1 << bit;
            }
        }
    }
    // The last record of an older file: what is behind it in the next one tells.
    let right = fs::read(&files[0]).expect("the file");
    let mut bytes = right.clone();
    let last_byte = whole.segments[0].used_bytes as usize - 1;
    bytes[last_byte] ^= 1;
    fs::write(&files[0], &bytes).expect("it");
    let damage = reread(folder.path()).expect_err("a record is missing");
    assert_eq!((damage.segment, damage.what), (1, What::Record));
    assert!(damage.offset <= last_byte as u64 && damage.to_string().contains("0000000001.journal"));
    fs::write(&files[0], &right).expect("it");
    // The last record of all: a tail, of which somebody may know.
    let mut bytes = fs::read(&files[1]).expect("the file");
    bytes[whole.segments[1].used_bytes as usize - 1] ^= 1;
    fs::write(&files[1], &bytes).expect("it");
    let found = reread(folder.path()).expect("all but one");
    flow::assert_same(&found.state, &all[..all.len() - 1]);
    assert_eq!(found.tails[0].kind, TailKind::Damaged);
    assert!(found.requests_lost_max() >= 1);
    // It is opened all the same, and what was lost is lost from there on.
    let Journal { mut writer, recovered, housekeeper } =
        Journal::open(folder.path(), SETTINGS).expect("the journal");
    assert_eq!(recovered.state.orders, found.state.orders);
    for (owner, highest) in &recovered.state.highest {
        assert!(highest.number() > found.state.highest[owner].number(), "its number is skipped");
    }
    writer.append(Nanos(1), &all[0]).expect("room");
    drop((writer, housekeeper));
    let again = reread(folder.path()).expect("it");
    assert_eq!((again.requests_lost_max(), again.tails.len()), (0, 1));
    assert_eq!(again.state.highest, recovered.state.highest);
}

#[test]
fn files_that_are_missing_or_stand_in_for_others_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (files, _) = written(folder.path(), 3, 5);
    let aside = folder.path().join("aside");
    fs::rename(&files[1], &aside).expect("it");
    let damage = reread(folder.path()).expect_err("one is missing");
    assert_eq!((damage.segment, damage.what), (2, What::Missing));
    fs::copy(&files[0], &files[1]).expect("it");
    let damage = reread(folder.path()).expect_err("a copy of another");
    assert_eq!((damage.segment, damage.what), (2, What::Number(1)));
    fs::rename(&aside, &files[1]).expect("it");
    reread(folder.path()).expect("all of it again");
    let mut bytes = fs::read(&files[2]).expect("it");
    bytes.push(0);
    fs::write(&files[2], &bytes).expect("it");
    assert_eq!(reread(folder.path()).expect_err("too long").what, What::Long);
    fs::write(&files[2], "no journal").expect("it");
    assert_eq!(reread(folder.path()).expect_err("no journal").what, What::Cut);
}
