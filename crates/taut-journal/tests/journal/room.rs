//! Without room, and without the right to write.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_journal::{Entry, Journal, JournalError, Reader, TURN, read, segment_name};
use taut_types::{ClientOrderId, Nanos, RequestId};

use crate::flow::{Flow, small};
use crate::recording::SETTINGS;

/// A file system of half a megabyte, gone when this is.
struct SmallDisk {
    folder: PathBuf,
    _parent: tempfile::TempDir,
}

impl SmallDisk {
    /// Nothing where it cannot be mounted.
    fn new() -> Option<Self> {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("disk");
        fs::create_dir(&folder).expect("a folder");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "none"])
            .arg(&folder)
            .output();
        let is_mounted = mount.is_ok_and(|output| output.status.success());
        is_mounted.then_some(Self { folder, _parent: parent })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).output();
    }
}

fn is_no_room(error: JournalError) -> bool {
    match error {
        JournalError::File { error, .. } | JournalError::Full { error: Some(error), .. } => {
            error.is_no_room()
        }
        _ => false,
    }
}

#[test]
fn a_full_disk_stops_orders_by_its_file_and_lets_cancels_leave() {
    let Some(disk) = SmallDisk::new() else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    let settings = taut_journal::Settings { segments_kept: 100, ..small() };
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::open(&disk.folder, settings).expect("the journal");
    let mut flow = Flow::new(1);
    let mut failed_turn = None;
    let (at, failed) = loop {
        let entry = flow.next();
        if let Err(error) = writer.append(Nanos(1), &entry) {
            break (writer.next_sequence(), error);
        }
        failed_turn = failed_turn.or(housekeeper.turn().err());
    };
    // Housekeeping says it while the writer still has room.
    let told = failed_turn.expect("a turn has failed");
    assert!(is_no_room(told), "{told}");
    assert!(is_no_room(failed), "{failed}");
    let JournalError::Full { segment, .. } = failed else { panic!("{failed}") };
    assert!(failed.to_string().contains(&segment_name(segment)), "{failed}");
    assert!(!disk.folder.join(segment_name(segment)).exists(), "nothing half-made");
    // Orders do not leave, cancels do.
    writer.admit(Nanos(1), &flow.create(1 << 20)).expect_err("no order leaves unjournalled");
    let request = RequestId { order: ClientOrderId(1), version: 2 };
    (0..40).for_each(|_| writer.admit(Nanos(1), &Entry::Cancel { request }).expect("it leaves"));
    assert!(writer.unjournalled() > 0);
    let journalled = writer.next_sequence() - 1;
    assert!(journalled >= at - 1);
    // What was written is whole.
    let found = read(&disk.folder, 10, &mut |_| ()).expect("it");
    assert_eq!(found.state.as_of, journalled);
    assert!(found.tails.is_empty());
    // Room makes it go on.
    fs::remove_file(disk.folder.join(segment_name(1))).expect("the oldest");
    housekeeper.turn().expect("there is room");
    writer.admit(Nanos(1), &flow.create(1 << 21)).expect("orders leave again");
    drop((writer, housekeeper));
    let error = Journal::open(&disk.folder, settings).expect_err("no room for one more");
    assert!(is_no_room(error), "{error}");
}

#[test]
fn a_full_disk_holds_up_a_recording_until_there_is_room() {
    let Some(disk) = SmallDisk::new() else {
        println!("skipped: no file system can be mounted here");
        return;
    };
    let folder = disk.folder.join("recording");
    let filler = disk.folder.join("filler");
    fs::write(&filler, vec![1; 200_000]).expect("there is room");
    let Journal { mut writer, mut housekeeper, .. } =
        Journal::begin(&folder, SETTINGS, None).expect("a journal");
    let mut failed_turn = None;
    let (last, failed) = loop {
        failed_turn = failed_turn.or(housekeeper.turn().err());
        if let Err(error) = writer.record(TURN, Nanos(1), &[7; 900]) {
            break (writer.next_sequence() - 1, error);
        }
    };
    assert!(is_no_room(failed_turn.expect("a turn has failed")) && is_no_room(failed), "{failed}");
    assert!(last > 100, "{last}");
    // There is room: it goes on with the next number.
    fs::remove_file(&filler).expect("it");
    housekeeper.turn().expect("there is room");
    assert_eq!(writer.record(TURN, Nanos(2), b"on"), Ok(last + 1));
    drop(writer);
    housekeeper.finish().expect("the end");
    let mut reader = Reader::open(&folder).expect("a journal");
    let count = std::iter::from_fn(|| reader.next_frame().expect("right").map(|_| ())).count();
    assert_eq!(count as u64, last + 1);
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

#[test]
fn a_folder_that_is_read_only_is_refused() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("journal");
    drop(Journal::open(&folder, small()).expect("the journal"));
    permit(&folder, 0o500);
    let is_held_back = fs::write(folder.join("probe"), "").is_err();
    let opened = Journal::open(&folder, small());
    permit(&folder, 0o700);
    if is_held_back {
        let error = opened.expect_err("it cannot be written");
        let is_named = matches!(error, JournalError::Folder(_) | JournalError::File { .. });
        assert!(is_named, "{error}");
    } else {
        println!("skipped: this user may write everywhere");
    }
    // Root is held back by the kernel's own trees.
    let error = Journal::open(Path::new("/proc/journal"), small()).expect_err("not there");
    assert!(matches!(error, JournalError::Folder(_)), "{error}");
}
