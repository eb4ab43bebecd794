//! A recording: whole, cut, rotten, without room.

use std::fs;
use std::path::{Path, PathBuf};

use taut_journal::{
    Copied, Damage, Durability, Frame, Journal, JournalError, OnFailure, RUN, Reader, Settings,
    State, TURN, What, Writer, copy, read, segment_name,
};
use taut_types::Nanos;
use tempfile::TempDir;

use crate::flow::{self, Flow};

/// The smallest segments.
pub const SETTINGS: Settings = Settings {
    segment_bytes: 1 << 16,
    segments_kept: u32::MAX,
    durability: Durability::None,
    on_failure: OnFailure::StopOrders,
    executions_max: 40,
    marks: false,
};

/// The bytes of a frame: all lengths, and words that are zeros.
fn bytes(number: u64) -> Vec<u8> {
    let length = number * 37 % 1_500;
    (0..length)
        .map(|byte| if number.is_multiple_of(5) { 0 } else { (number + byte) as u8 })
        .collect()
}

fn append(writer: &mut Writer, number: u64) -> Result<u64, JournalError> {
    writer.record(if number == 1 { RUN } else { TURN }, Nanos(number as i64), &bytes(number))
}

fn end(writer: Writer, housekeeper: taut_journal::Housekeeper) -> Result<(), JournalError> {
    drop(writer);
    housekeeper.finish()
}

/// A journal of so many frames, ended or left as a process that is killed leaves one.
fn write(count: u64, is_ended: bool) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    for number in 1..=count {
        housekeeper.turn().expect("room");
        assert_eq!(append(&mut writer, number), Ok(number));
    }
    if is_ended {
        end(writer, housekeeper).expect("the end");
    }
    (directory, folder)
}

/// All frames, up to an error.
fn read_all(folder: &Path) -> (u64, Result<(), JournalError>) {
    read_each(folder, |count, frame| {
        assert_eq!((frame.sequence, frame.time), (count, Nanos(count as i64)));
        assert_eq!(frame.bytes, bytes(count));
        assert_eq!(frame.kind, if count == 1 { RUN } else { TURN });
    })
}

/// How many frames are read up to an error, each looked at by its number.
pub fn read_each(
    folder: &Path,
    mut look: impl FnMut(u64, &Frame<'_>),
) -> (u64, Result<(), JournalError>) {
    let mut reader = match Reader::open(folder) {
        Ok(reader) => reader,
        Err(error) => return (0, Err(error)),
    };
    let mut count = 0;
    loop {
        match reader.next_frame() {
            Ok(None) => return (count, Ok(())),
            Err(error) => return (count, Err(error)),
            Ok(Some(frame)) => {
                count += 1;
                look(count, &frame);
            }
        }
    }
}

#[test]
fn frames_of_all_lengths_come_back_over_many_segments() {
    for is_ended in [true, false] {
        let (_directory, folder) = write(1_000, is_ended);
        assert!(folder.join(segment_name(8)).exists(), "several segments");
        assert_eq!(read_all(&folder), (1_000, Ok(())), "{is_ended}");
    }
    let (_directory, folder) = write(3, true);
    assert!(!folder.join(segment_name(2)).exists(), "what was made ahead is removed");
    let length = fs::metadata(folder.join(segment_name(1))).expect("a segment").len();
    assert!(length < 1_000, "the last one is cut: {length}");
}

#[test]
fn an_empty_journal_has_no_frame() {
    let (_directory, folder) = write(0, true);
    assert_eq!(read_all(&folder), (0, Ok(())));
}

#[test]
fn every_flipped_bit_is_named() {
    let (_directory, folder) = write(12, true);
    let file = folder.join(segment_name(1));
    let whole = fs::read(&file).expect("the segment");
    // The header says nothing of the run but when it was made, and its own sum covers that. With no
    // right frame behind it, a wrong one is what a power cut leaves of the last: of the end.
    let end = whole.len() as u64 - 24;
    for bit in 0..8 * whole.len() {
        let mut wrong = whole.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, wrong).expect("write it");
        let (count, result) = read_all(&folder);
        if bit as u64 / 8 >= end {
            assert_eq!((count, result), (12, Ok(())), "bit {bit}");
            continue;
        }
        let Err(JournalError::Damaged(Damage { segment: 1, offset, .. })) = result else {
            panic!("bit {bit}: {count} frames, {result:?}");
        };
        assert!(offset <= bit as u64 / 8, "bit {bit}: named at {offset}");
    }
}

#[test]
fn a_cut_file_ends_or_is_named_and_gives_no_wrong_frame() {
    let (_directory, folder) = write(12, false);
    let file = folder.join(segment_name(1));
    let whole = fs::read(&file).expect("the segment");
    let used = 8 + whole.iter().rposition(|byte| *byte != 0).expect("frames");
    for length in (0..used).rev() {
        fs::write(&file, &whole[..length]).expect("write it");
        let (count, _) = read_all(&folder);
        assert!(count < 12 || length >= used - 8, "cut at {length}: {count}");
    }
}

#[test]
fn a_frame_of_an_older_file_is_none() {
    let (_directory, folder) = write(5, false);
    let (_other, other) = write(9, false);
    let (mine, theirs) = (folder.join(segment_name(1)), other.join(segment_name(1)));
    let (mut words, old) = (fs::read(&mine).expect("it"), fs::read(theirs).expect("it"));
    let used = words.iter().rposition(|byte| *byte != 0).expect("frames") / 8 * 8 + 8;
    words[used..].copy_from_slice(&old[used..]);
    fs::write(&mine, words).expect("write it");
    let (count, result) = read_all(&folder);
    assert_eq!(count, 5);
    // It is damage or the end, and no sixth frame.
    assert!(matches!(result, Ok(()) | Err(JournalError::Damaged(_))), "{result:?}");
}

#[test]
fn a_missing_segment_is_named() {
    let (_directory, folder) = write(1_000, true);
    fs::remove_file(folder.join(segment_name(3))).expect("remove");
    let (count, result) = read_all(&folder);
    assert!((100..1_000).contains(&count), "{count}");
    let what = What::Missing;
    assert_eq!(result, Err(Damage { segment: 3, offset: 0, what }.into()));
    let (_directory, folder) = write(1_000, true);
    fs::rename(folder.join(segment_name(4)), folder.join(segment_name(3))).expect("rename");
    let (_, result) = read_all(&folder);
    let what = What::Number(4);
    assert_eq!(result, Err(Damage { segment: 3, offset: 32, what }.into()));
}

#[test]
fn a_day_begins_a_segment_where_one_is_ready() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    assert!(writer.begin_segment(), "it is one that begins");
    assert_eq!(append(&mut writer, 1), Ok(1));
    assert!(writer.begin_segment());
    assert_eq!(append(&mut writer, 2), Ok(2));
    assert!(!writer.begin_segment(), "none is ready");
    assert_eq!(append(&mut writer, 3), Ok(3));
    housekeeper.turn().expect("room");
    assert!(writer.begin_segment());
    assert_eq!(append(&mut writer, 4), Ok(4));
    end(writer, housekeeper).expect("the end");
    assert!(folder.join(segment_name(3)).exists());
    assert_eq!(read_all(&folder), (4, Ok(())));
}

#[test]
fn without_a_next_segment_the_writer_says_so_and_loses_nothing_before() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("recording");
    let Journal { mut writer, housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    let full = (1..).find_map(|number| append(&mut writer, number).err().map(|e| (number, e)));
    let (number, error) = full.expect("an end");
    assert_eq!(error, JournalError::Full { segment: 3, error: None });
    assert!(error.to_string().contains(&segment_name(3)), "{error}");
    end(writer, housekeeper).expect("the end");
    assert_eq!(read_all(&folder), (number - 1, Ok(())));
}

#[test]
fn a_folder_with_something_in_it_and_frames_without_an_end_are_refused() {
    let directory = tempfile::tempdir().expect("temporary directory");
    fs::write(directory.path().join("file"), "").expect("a file");
    let refused = Journal::begin(directory.path(), SETTINGS, None).expect_err("not empty");
    assert!(matches!(refused, JournalError::Folder(_)), "{refused}");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    housekeeper.turn().expect("room");
    let refused = writer.record(TURN, Nanos(1), &[0; 1 << 16]).expect_err("too long");
    assert!(refused.to_string().contains("segment_bytes"), "{refused}");
    assert_eq!(append(&mut writer, 1), Ok(1), "a shorter one goes on");
}

#[test]
fn a_copy_ends_where_it_is_to_or_where_nothing_can_be_believed() {
    let (directory, folder) = write(300, true);
    let copy = |name: &str, last| {
        let to = directory.path().join(name);
        let copied = copy(&folder, &to, last, SETTINGS, &mut |_| ()).expect("a copy");
        assert_eq!(read_all(&to), (copied.entries, Ok(())));
        assert_eq!(copied.last, copied.entries);
        copied
    };
    assert_eq!(copy("all", None), Copied { entries: 300, last: 300, damage: None });
    assert_eq!(copy("some", Some(17)), Copied { entries: 17, last: 17, damage: None });
    let file = folder.join(segment_name(2));
    let mut bytes = fs::read(&file).expect("the segment");
    bytes[1_000] ^= 1;
    fs::write(&file, bytes).expect("write it");
    let copied = copy("believed", None);
    assert_eq!(copied.damage.map(|damage| (damage.segment, damage.what)), Some((2, What::Record)));
    assert!(copied.entries > 10, "{copied:?}");
}

#[test]
fn an_append_allocates_nothing() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("recording");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    let payload = bytes(40);
    for _ in 0..4 {
        housekeeper.turn().expect("room");
        let allocations = allocation_counter::measure(|| {
            for time in 0..30 {
                writer.record(TURN, Nanos(time), &payload).expect("room");
            }
        });
        assert_eq!(allocations.count_total, 0);
    }
}

#[test]
fn orders_stand_in_a_recording_under_the_same_numbers() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("recording");
    let (mut flow, mut written) = (Flow::new(3), Vec::new());
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, Some(State::default())).expect("a journal");
    for number in 1..=2_000_u64 {
        housekeeper.turn().expect("room");
        let appended = if number.is_multiple_of(3) {
            let entry = flow.next();
            written.push(entry);
            writer.append(Nanos(number as i64), &entry)
        } else {
            append(&mut writer, number)
        };
        assert_eq!(appended, Ok(number));
    }
    let mut seen = Vec::new();
    let mut visit = |shown: &taut_journal::Shown| seen.push(shown.entry.expect("known"));
    let found = read(&folder, 40, &mut visit).expect("right");
    assert!(found.segments.len() > 8 && found.recorded == 1_334, "{found:?}");
    flow::assert_same_orders(&found.state, &written);
    assert_eq!(seen, written);
    // The other sort is read, too.
    let is_of = |number: u64, frame: &Frame<'_>| {
        assert_eq!((frame.sequence, frame.is_about_orders()), (number, number.is_multiple_of(3)));
        assert!(frame.is_about_orders() || frame.bytes == bytes(number));
    };
    assert_eq!(read_each(&folder, is_of), (2_000, Ok(())));
    assert_eq!(housekeeper.state().orders, found.state.orders);
    end(writer, housekeeper).expect("the end");
    let again = read(&folder, 40, &mut |_| ()).expect("right");
    assert_eq!((again.state.orders, again.tails.len()), (found.state.orders, 0));
    assert_eq!(again.state.as_of, 2_001, "the end is an entry");
    // A copy has them, too.
    let to = directory.path().join("copy");
    copy(&folder, &to, Some(1_500), SETTINGS, &mut |_| ()).expect("a copy");
    let half = read(&to, 40, &mut |_| ()).expect("right");
    flow::assert_same_orders(&half.state, &written[..500]);
    let refused = read(&write(5, true).1, 40, &mut |_| ()).expect_err("it has no orders");
    assert!(refused.to_string().contains("no orders are kept"), "{refused}");
}
