//! The journal of inputs: whole, cut, rotten, without room.

use std::fs;
use std::path::{Path, PathBuf};

use taut_journal::{
    Copied, Damage, Frame, InputReader, InputSettings, InputWriter, Inputs, JournalError, RUN,
    TURN, What, copy_inputs, segment_name,
};
use taut_types::Nanos;
use tempfile::TempDir;

/// The smallest segment.
const SETTINGS: InputSettings = InputSettings { segment_bytes: 1 << 16 };

/// The bytes of a frame: all lengths, and words that are zeros.
fn bytes(number: u64) -> Vec<u8> {
    let length = number * 37 % 1_500;
    (0..length)
        .map(|byte| if number.is_multiple_of(5) { 0 } else { (number + byte) as u8 })
        .collect()
}

fn append(writer: &mut InputWriter, number: u64) -> Result<u64, JournalError> {
    writer.append(if number == 1 { RUN } else { TURN }, Nanos(number as i64), &bytes(number))
}

/// A journal of so many frames, ended or left as a process that is killed leaves one.
fn write(count: u64, is_ended: bool) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("inputs");
    let Inputs { mut writer, mut keeper } = Inputs::create(&folder, SETTINGS).expect("a journal");
    for number in 1..=count {
        keeper.turn().expect("room");
        assert_eq!(append(&mut writer, number), Ok(number));
    }
    if is_ended {
        keeper.finish(writer).expect("the end");
    }
    (directory, folder)
}

/// All frames, up to an error.
fn read(folder: &Path) -> (u64, Result<(), JournalError>) {
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
    let mut reader = match InputReader::open(folder) {
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
        assert_eq!(read(&folder), (1_000, Ok(())), "{is_ended}");
    }
    let (_directory, folder) = write(3, true);
    assert!(!folder.join(segment_name(2)).exists(), "what was made ahead is removed");
    let length = fs::metadata(folder.join(segment_name(1))).expect("a segment").len();
    assert!(length < 1_000, "the last one is cut: {length}");
}

#[test]
fn an_empty_journal_has_no_frame() {
    let (_directory, folder) = write(0, true);
    assert_eq!(read(&folder), (0, Ok(())));
}

#[test]
fn every_flipped_bit_is_named() {
    let (_directory, folder) = write(12, true);
    let file = folder.join(segment_name(1));
    let whole = fs::read(&file).expect("the segment");
    // The header says nothing of the run but when it was made, and its own sum covers that. With no
    // right frame behind it, a wrong one is what a power cut leaves of the last.
    let last = whole.len() as u64 - 32 - bytes(12).len().next_multiple_of(8) as u64;
    for bit in 0..8 * whole.len() {
        let mut wrong = whole.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, wrong).expect("write it");
        let (count, result) = read(&folder);
        if bit as u64 / 8 >= last {
            assert_eq!((count, result), (11, Ok(())), "bit {bit}");
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
        let (count, _) = read(&folder);
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
    let (count, result) = read(&folder);
    assert_eq!(count, 5);
    // It is damage or the end, and no sixth frame.
    assert!(matches!(result, Ok(()) | Err(JournalError::Damaged(_))), "{result:?}");
}

#[test]
fn a_missing_segment_is_named() {
    let (_directory, folder) = write(1_000, true);
    fs::remove_file(folder.join(segment_name(3))).expect("remove");
    let (count, result) = read(&folder);
    assert!((100..1_000).contains(&count), "{count}");
    let what = What::Missing;
    assert_eq!(result, Err(Damage { segment: 3, offset: 0, what }.into()));
    let (_directory, folder) = write(1_000, true);
    fs::rename(folder.join(segment_name(4)), folder.join(segment_name(3))).expect("rename");
    let (_, result) = read(&folder);
    let what = What::Number(4);
    assert_eq!(result, Err(Damage { segment: 3, offset: 24, what }.into()));
}

#[test]
fn a_day_begins_a_segment_where_one_is_ready() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("inputs");
    let Inputs { mut writer, mut keeper } = Inputs::create(&folder, SETTINGS).expect("a journal");
    assert!(writer.begin_segment(), "it is one that begins");
    assert_eq!(append(&mut writer, 1), Ok(1));
    assert!(!writer.begin_segment(), "none is ready");
    assert_eq!(append(&mut writer, 2), Ok(2));
    keeper.turn().expect("room");
    assert!(writer.begin_segment());
    assert_eq!(append(&mut writer, 3), Ok(3));
    keeper.finish(writer).expect("the end");
    assert!(folder.join(segment_name(2)).exists());
    assert_eq!(read(&folder), (3, Ok(())));
}

#[test]
fn without_a_next_segment_the_writer_says_so_and_loses_nothing_before() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("inputs");
    let Inputs { mut writer, keeper } = Inputs::create(&folder, SETTINGS).expect("a journal");
    let full = (1..).find_map(|number| append(&mut writer, number).err().map(|e| (number, e)));
    let (number, error) = full.expect("an end");
    assert_eq!(error, JournalError::Full { segment: 2, error: None });
    assert!(error.to_string().contains(&segment_name(2)), "{error}");
    keeper.finish(writer).expect("the end");
    assert_eq!(read(&folder), (number - 1, Ok(())));
}

#[test]
fn a_folder_with_something_in_it_and_frames_without_an_end_are_refused() {
    let directory = tempfile::tempdir().expect("temporary directory");
    fs::write(directory.path().join("file"), "").expect("a file");
    let refused = Inputs::create(directory.path(), SETTINGS).expect_err("not empty");
    assert!(matches!(refused, JournalError::Folder(_)), "{refused}");
    let folder = directory.path().join("inputs");
    let Inputs { mut writer, mut keeper } = Inputs::create(&folder, SETTINGS).expect("a journal");
    keeper.turn().expect("room");
    let refused = writer.append(TURN, Nanos(1), &[0; 1 << 16]).expect_err("too long");
    assert!(refused.to_string().contains("segment_bytes"), "{refused}");
    assert_eq!(append(&mut writer, 1), Ok(1), "a shorter one goes on");
}

#[test]
fn a_copy_ends_where_it_is_to_or_where_nothing_can_be_believed() {
    let (directory, folder) = write(300, true);
    let copy = |name: &str, last| {
        let to = directory.path().join(name);
        let copied = copy_inputs(&folder, &to, last, SETTINGS, &mut |_| ()).expect("a copy");
        assert_eq!(read(&to), (copied.frames, Ok(())));
        copied
    };
    assert_eq!(copy("all", None), Copied { frames: 300, damage: None });
    assert_eq!(copy("some", Some(17)), Copied { frames: 17, damage: None });
    let file = folder.join(segment_name(2));
    let mut bytes = fs::read(&file).expect("the segment");
    bytes[1_000] ^= 1;
    fs::write(&file, bytes).expect("write it");
    let copied = copy("believed", None);
    assert_eq!(copied.damage.map(|damage| (damage.segment, damage.what)), Some((2, What::Record)));
    assert!(copied.frames > 10, "{copied:?}");
}

#[test]
fn an_append_allocates_nothing() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let folder = directory.path().join("inputs");
    let Inputs { mut writer, mut keeper } = Inputs::create(&folder, SETTINGS).expect("a journal");
    let payload = bytes(40);
    for _ in 0..4 {
        keeper.turn().expect("room");
        let allocations = allocation_counter::measure(|| {
            for time in 0..30 {
                writer.append(TURN, Nanos(time), &payload).expect("room");
            }
        });
        assert_eq!(allocations.count_total, 0);
    }
}
