//! A recording after a power cut: whatever of it the disk has, in whatever order it was
//! written, what is read is the beginning of what was appended.

use std::fs;
use std::path::Path;

use taut_journal::{Durability, Journal, JournalError, Reader, Settings, TURN, segment_name};
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

/// Frames of a journal with marks, of which the disk has all up to this number for certain, and
/// where each ends: segment and byte.
fn write_marked(folder: &Path, safe: u64, count: u64) -> Vec<(u32, usize)> {
    let settings = Settings { durability: Durability::Sync, marks: true, ..SETTINGS };
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(folder, settings, None).expect("a journal");
    for number in 1..=count {
        housekeeper.turn().expect("room");
        writer.record(TURN, Nanos(number as i64), &bytes(number)).expect("room");
        // Batches of three.
        if number <= safe && (number % 3 == 0 || number == safe) {
            writer.commit().expect("on the disk");
            assert_eq!(housekeeper.turn().expect("room").durable, number);
        }
    }
    drop((writer, housekeeper));
    let mut reader = Reader::open(folder).expect("a journal");
    let mut ends = Vec::new();
    while let Some(frame) = reader.next_frame().expect("right") {
        let length = 24 + frame.bytes.len().next_multiple_of(8);
        ends.push((frame.at.0, frame.at.1 as usize + length));
    }
    assert_eq!(ends.len() as u64, count);
    ends
}

/// A cut is no damage, whatever the disk has of what was not synchronised, over the end of a
/// segment, too; and all that was synchronised is there.
#[test]
fn with_marks_any_cut_is_the_end_and_nothing_that_was_safe_is_gone() {
    // Where a segment ends moves a little with the marks.
    let roll = |safe| {
        let directory = tempfile::tempdir().expect("a folder");
        let ends = write_marked(&directory.path().join("recording"), safe, 440);
        ends.iter().position(|(segment, _)| *segment == 2).expect("two segments") as u64
    };
    let rolled = roll(roll(300) - 6);
    for (safe, count) in [(4, 24), (rolled - 6, rolled + 8), (0, 12)] {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = directory.path().join("recording");
        let ends = write_marked(&folder, safe, count);
        let (first, from) = match safe {
            0 => (1, 64),
            safe => ends[safe as usize - 1],
        };
        let files: Vec<(std::path::PathBuf, Vec<u8>)> = (first..=first + 1)
            .map(|number| folder.join(segment_name(number)))
            .map(|file| (file.clone(), fs::read(&file).expect("a segment")))
            .collect();
        // Blocks that may not be there: what of them was synchronised is.
        let mut blocks = Vec::new();
        for (at, (_, whole)) in files.iter().enumerate() {
            let start = if at == 0 { from } else { 64 };
            let used = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let bounds = (start / BLOCK..used.div_ceil(BLOCK)).map(|block| {
                (at, start.max(block * BLOCK)..((block + 1) * BLOCK).min(whole.len()))
            });
            blocks.extend(bounds.filter(|(_, range)| range.start < used));
        }
        assert!((4..=11).contains(&blocks.len()), "{} blocks", blocks.len());
        for there in 0_u32..1 << blocks.len() {
            let mut left: Vec<Vec<u8>> = files.iter().map(|(_, whole)| whole.clone()).collect();
            for (block, (at, range)) in blocks.iter().enumerate() {
                if there >> block & 1 == 0 {
                    left[*at][range.clone()].fill(0);
                }
            }
            for ((file, _), left) in files.iter().zip(&left) {
                fs::write(file, left).expect("write it");
            }
            let (found, result) = read(&folder);
            assert_eq!(result, Ok(()), "{safe} of {count}, {there:b}: no damage");
            assert!(found as u64 >= safe, "{there:b}: {found} of {safe} that were safe");
        }
    }
}

/// What was on the disk does not go unnoticed: something behind says that it was there.
#[test]
fn with_marks_rot_of_what_was_safe_is_refused() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    let ends = write_marked(&folder, 440, 446);
    assert_eq!((ends[0].0, ends[439].0), (1, 2), "two segments");
    for (number, (segment, end)) in ends.iter().enumerate().take(440) {
        let file = folder.join(segment_name(*segment));
        let whole = fs::read(&file).expect("a segment");
        let mut rotten = whole.clone();
        // The time in its head, or all of it and what is around.
        rotten[end - 8 * (number % 2) - 1] ^= 4;
        if number % 7 == 0 {
            rotten[end.saturating_sub(400).max(64)..*end].fill(0);
        }
        fs::write(&file, &rotten).expect("write it");
        let (found, result) = read(&folder);
        assert!(matches!(result, Err(JournalError::Damaged(_))), "{number}: {found} {result:?}");
        fs::write(&file, &whole).expect("write it");
    }
}

/// The first entry of a later segment is looked behind, too.
#[test]
fn rot_at_the_start_of_a_segment_is_refused_when_right_entries_stand_behind() {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    for number in 1..=500 {
        housekeeper.turn().expect("room");
        writer.record(TURN, Nanos(number as i64), &bytes(number)).expect("room");
    }
    drop((writer, housekeeper));
    let file = folder.join(segment_name(2));
    let mut rotten = fs::read(&file).expect("the second segment");
    rotten[64 + 16] ^= 1;
    fs::write(&file, &rotten).expect("write it");
    let (found, result) = read(&folder);
    assert!(matches!(result, Err(JournalError::Damaged(_))), "{found}: {result:?}");
}
