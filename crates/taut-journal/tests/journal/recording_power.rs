//! A recording after a power cut: whatever of it the disk has, in whatever order it was
//! written, what is read is the beginning of what was appended.

use std::fs;
use std::path::Path;

use taut_journal::{Journal, JournalError, Reader, TURN, segment_name};
use taut_types::Nanos;

use crate::recording::{SETTINGS, read_each};

/// What a disk writes whole.
const BLOCK: usize = 512;

/// Bytes of a frame that no other one has.
fn bytes(number: u64) -> Vec<u8> {
    (0..number * 53 % 290).map(|byte| (number * 7 + byte) as u8 | 1).collect()
}

/// Frames in a segment, as a power cut finds them; where each ends in the file.
fn write(folder: &Path, count: u64) -> (Vec<u8>, Vec<usize>) {
    let Journal { mut writer, housekeeper, .. } =
        Journal::begin(folder, SETTINGS, None).expect("a journal");
    for number in 1..=count {
        writer.record(TURN, Nanos(number as i64), &bytes(number)).expect("room");
    }
    drop((writer, housekeeper));
    fs::remove_file(folder.join(segment_name(2))).expect("it was made ahead");
    let whole = fs::read(folder.join(segment_name(1))).expect("the segment");
    let mut reader = Reader::open(folder).expect("a journal");
    let mut ends = Vec::new();
    while let Some(frame) = reader.next_frame().expect("right") {
        ends.push(frame.at.1 as usize + 24 + frame.bytes.len().next_multiple_of(8));
    }
    assert_eq!(ends.len() as u64, count);
    (whole, ends)
}

/// How many frames are read, each of which is right.
fn read(folder: &Path) -> (usize, Result<(), JournalError>) {
    let (count, end) = read_each(folder, |count, frame| {
        assert_eq!((frame.sequence, frame.bytes), (count, &*bytes(count)));
    });
    (count as usize, end)
}

#[test]
fn a_cut_at_every_byte_leaves_all_frames_before_it() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    let (whole, ends) = write(&folder, 24);
    let used = *ends.last().expect("frames");
    let file = folder.join(segment_name(1));
    for cut in 64..=used {
        // The file keeps its length: what did not get there is zeros.
        let mut left = whole.clone();
        left[cut..].fill(0);
        fs::write(&file, left).expect("write it");
        let (count, result) = read(&folder);
        // A frame's last bytes may be zeros by themselves.
        let at_least = ends.iter().filter(|end| **end <= cut).count();
        assert!(count >= at_least && count <= at_least + 1, "cut at {cut}: {count}");
        assert_eq!(result, Ok(()), "cut at {cut}: a torn tail is no damage");
    }
}

#[test]
fn blocks_in_every_order_leave_the_frames_before_the_first_that_is_missing() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    let (whole, ends) = write(&folder, 24);
    let used = *ends.last().expect("frames");
    let blocks = used.div_ceil(BLOCK);
    assert!((6..=12).contains(&blocks), "{blocks} blocks");
    let file = folder.join(segment_name(1));
    // Every order of writing comes to this: some blocks are there, the others are not.
    for there in (0_u32..1 << blocks).step_by(2).map(|chosen| chosen | 1) {
        let mut left = whole.clone();
        for block in (0..blocks).filter(|block| there >> block & 1 == 0) {
            left[block * BLOCK..(block + 1) * BLOCK].fill(0);
        }
        fs::write(&file, left).expect("write it");
        let first_missing = (0..blocks).find(|block| there >> block & 1 == 0).unwrap_or(blocks);
        let whole_before = ends.iter().filter(|end| **end <= first_missing * BLOCK).count();
        let (count, result) = read(&folder);
        assert_eq!(count, whole_before, "{there:b}");
        match result {
            // What is behind cannot be told from rot, and is said.
            Err(JournalError::Damaged(damage)) => {
                assert!(damage.offset as usize <= first_missing * BLOCK, "{there:b}: {damage}");
            }
            other => assert_eq!(other, Ok(()), "{there:b}"),
        }
    }
}

#[test]
fn a_segment_whose_name_alone_was_kept_is_the_end() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    write(&folder, 5);
    for length in [0, 1 << 16] {
        fs::write(folder.join(segment_name(2)), vec![0; length]).expect("write it");
        assert_eq!(read(&folder), (5, Ok(())), "{length} bytes");
    }
}

#[test]
fn a_time_leads_to_its_frames_by_the_table_and_without() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    let at = |number: u64| Nanos(number as i64 * 200_000_000);
    for number in 1..=600 {
        housekeeper.turn().expect("room");
        writer.record(TURN, at(number), &bytes(number)).expect("room");
    }
    drop(writer);
    housekeeper.finish().expect("the end");
    let first_from = |time| {
        let mut reader = Reader::open_before(&folder, time).expect("a journal");
        let frame = reader.next_frame().expect("right").expect("a frame");
        assert!(frame.sequence == 1 || frame.time <= time);
        assert_eq!(frame.bytes, bytes(frame.sequence));
        frame.sequence
    };
    // A row a second, which is five frames.
    for number in [1, 2, 7, 300, 599, 600] {
        let first = first_from(at(number));
        assert!(first <= number && first + 5 > number, "{number}: {first}");
    }
    assert_eq!(first_from(Nanos(1)), 1, "before the first");
    // What the table says wrong is not believed.
    let table = folder.join("times");
    let mut rows = fs::read(&table).expect("the table");
    rows[32 * 40 + 3] ^= 1;
    fs::write(&table, &rows).expect("write it");
    assert!(first_from(at(600)) < 300, "up to the wrong row");
    let (_, right) = rows.split_at(32);
    fs::write(&table, right).expect("write it");
    fs::remove_file(folder.join("times")).expect("remove it");
    assert_eq!(first_from(at(600)), 1);
}
