//! What a power cut and what time do to the file: every length, every combination of pages that
//! were not synchronised, every flipped bit, every state of a rewrite.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use taut_fix::Store;
use taut_fix_engine::store::{FileStore, Retention, Sync};
use taut_types::Nanos;

/// The unit that a device writes whole, small enough for every combination: the file's own.
const PAGE: usize = 8;
/// Pages of which every combination is tried; more are tried in a window at each end.
const PAGES_MAX: usize = 10;

fn open(path: &Path) -> FileStore {
    FileStore::open(path, Sync::Never).expect("the store opens whatever happened")
}

fn message(sequence: u64) -> Vec<u8> {
    format!("8=FIX.4.4|9=20|35=D|34={sequence}|58={}|", "x".repeat(sequence as usize % 9))
        .into_bytes()
}

/// One step of a small session's life.
fn step(store: &mut FileStore, at: u64) {
    match at % 4 {
        0 => store.set_next_incoming(store.next_incoming() + 1).expect("room"),
        3 => store.set_next_outgoing(store.next_outgoing() + 1).expect("room"),
        _ => {
            let sequence = store.next_outgoing();
            store.keep(sequence, &message(sequence)).expect("room");
        }
    }
}

/// What was synchronised, and so may have been sent.
struct Known {
    outgoing: u64,
    incoming: u64,
    messages: Vec<u64>,
}

impl Known {
    fn of(store: &mut FileStore) -> Self {
        let messages = (1..store.next_outgoing()).filter(|at| store.read(*at).is_some());
        let messages = messages.collect::<Vec<_>>();
        Self { outgoing: store.next_outgoing(), incoming: store.next_incoming(), messages }
    }

    /// Holds a recovered store against it, and uses it.
    fn check(&self, path: &Path, what: &str) {
        let mut store = open(path);
        assert!(store.next_outgoing() >= self.outgoing, "{what}: {}", store.next_outgoing());
        assert!(store.next_incoming() >= self.incoming, "{what}: {}", store.next_incoming());
        for sequence in &self.messages {
            assert_eq!(store.read(*sequence), Some(&message(*sequence)[..]), "{what}: {sequence}");
        }
        for sequence in 1..store.next_outgoing() {
            let found = store.read(sequence);
            assert!(found.is_none_or(|found| found == message(sequence)), "{what}: {sequence}");
        }
        let next = store.next_outgoing();
        store.keep(next, &message(next)).expect("room");
        drop(store);
        let mut store = open(path);
        assert_eq!(store.read(next), Some(&message(next)[..]), "{what}: it goes on");
        assert_eq!((store.next_outgoing(), store.torn_bytes()), (next + 1, 0), "{what}");
    }
}

/// All files that a cut can leave, of what was synchronised and what was written behind it.
fn images(synced: &[u8], written: &[u8]) -> Vec<Vec<u8>> {
    let mut images: Vec<_> =
        (synced.len()..=written.len()).map(|length| written[..length].to_vec()).collect();
    let pages: Vec<usize> = (synced.len()..written.len()).step_by(PAGE).collect();
    let windows = if pages.len() <= PAGES_MAX {
        vec![&pages[..]]
    } else {
        vec![&pages[..PAGES_MAX], &pages[pages.len() - PAGES_MAX..]]
    };
    for window in windows {
        for mask in 0..1u32 << window.len() {
            let mut image = written.to_vec();
            for (bit, page) in window.iter().enumerate() {
                if mask >> bit & 1 == 0 {
                    let end = (page + PAGE).min(image.len());
                    image[*page..end].fill(0);
                }
            }
            images.push(image);
        }
    }
    images
}

#[test]
fn a_power_cut_at_any_byte_and_with_any_pages_lost_loses_nothing_that_was_synchronised() {
    let folder = tempfile::tempdir().expect("a folder");
    let (live, cut) = (folder.path().join("live"), folder.path().join("cut"));
    let mut count = 0;
    // Batches of one, two and three records between synchronisations.
    for batch in 1..=3 {
        let _ = fs::remove_file(&live);
        let mut store = open(&live);
        for at in 0..3 {
            step(&mut store, at);
        }
        let synced = fs::read(&live).expect("the file");
        let known = Known::of(&mut store);
        for at in 3..3 + batch {
            step(&mut store, at);
        }
        let written = fs::read(&live).expect("the file");
        for image in images(&synced, &written) {
            fs::write(&cut, &image).expect("room");
            known.check(&cut, &format!("batch {batch}, {} bytes", image.len()));
            count += 1;
        }
    }
    println!("{count} files");
}

#[test]
fn a_bit_that_rots_costs_one_message_and_no_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path);
    store.begin_period(Nanos(7)).expect("room");
    for at in 0..6 {
        step(&mut store, at);
    }
    let (outgoing, incoming) = (store.next_outgoing(), store.next_incoming());
    let sent = Known::of(&mut store).messages;
    drop(store);
    let whole = fs::read(&path).expect("the file");
    for bit in 0..whole.len() * 8 {
        let mut rotten = whole.clone();
        rotten[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &rotten).expect("room");
        let mut store = open(&path);
        assert!(store.next_outgoing() >= outgoing, "{bit}: {}", store.next_outgoing());
        let lost = sent.iter().filter(|at| store.read(**at).is_none()).count();
        assert!(lost <= 1, "{bit}: {lost}");
        let is_last = store.torn_bytes() > 0;
        // The number that is expected may go back by what the last record said: then it is asked
        // for again, and comes as a possible duplicate.
        assert!(is_last || store.next_incoming() == incoming, "{bit}");
        for sequence in &sent {
            let found = store.read(*sequence);
            assert!(found.is_none_or(|found| found == message(*sequence)), "{bit}");
        }
    }
}

#[test]
fn a_message_that_rots_while_the_store_is_open_is_not_sent_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path);
    store.keep(1, &message(1)).expect("room");
    store.keep(2, &message(2)).expect("room");
    let mut bytes = fs::read(&path).expect("the file");
    bytes[8 + 32 + 3] ^= 1;
    fs::write(&path, &bytes).expect("room");
    assert_eq!(store.read(1), None);
    assert_eq!(store.read(2), Some(&message(2)[..]));
}

#[test]
fn old_messages_are_let_go_and_the_newest_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path);
    store.set_retention(Retention { messages: 10, bytes: 4000 });
    store.begin_period(Nanos(7)).expect("room");
    let mut rewritten = 0;
    for at in 0..2000 {
        step(&mut store, at);
        rewritten += u32::from(store.compact_if_due().expect("a device"));
        assert!(store.file_bytes() <= 4200, "{at}: {}", store.file_bytes());
    }
    assert!(rewritten > 5, "{rewritten}");
    let known = Known::of(&mut store);
    let next = store.next_outgoing();
    let newest = (next - 10..next).filter(|at| store.read(*at).is_some()).count();
    // One number in three is not a message's.
    assert!((6..=7).contains(&newest), "{newest}");
    drop(store);
    known.check(&path, "after opening again");
    assert_eq!(open(&path).period(), Some(Nanos(7)));
}

#[test]
fn a_crash_in_a_rewrite_leaves_the_old_file_or_the_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (live, cut) = (folder.path().join("live"), folder.path().join("cut"));
    let mut store = open(&live);
    store.set_retention(Retention { messages: 3, bytes: 1 });
    for at in 0..40 {
        step(&mut store, at);
    }
    let old = fs::read(&live).expect("the file");
    let all = Known::of(&mut store);
    assert!(store.compact_if_due().expect("a device"));
    let new = fs::read(&live).expect("the file");
    assert!(new.len() < old.len() / 2);
    let rest = Known::of(&mut store);
    assert_eq!((rest.outgoing, rest.incoming), (all.outgoing, all.incoming));
    // Before it takes the place, any part of it may be there.
    for length in 0..=new.len() {
        fs::write(&cut, &old).expect("room");
        fs::write(folder.path().join("cut.new"), &new[..length]).expect("room");
        all.check(&cut, &format!("{length} bytes of the new file"));
    }
    fs::write(&cut, &new).expect("room");
    rest.check(&cut, "the new file");
    // The leftovers are in nobody's way.
    let mut store = open(&cut);
    store.reset().expect("a device");
    assert_eq!((store.next_outgoing(), store.next_incoming(), store.read(1)), (1, 1, None));
    store.keep(1, b"again").expect("room");
    drop(store);
    assert_eq!(open(&cut).read(1), Some(&b"again"[..]));
}

#[test]
fn a_second_process_is_refused_also_after_a_rewrite() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut store = open(&path);
    store.reset().expect("a device");
    assert!(FileStore::open(&path, Sync::Never).is_err());
    drop(store);
    assert!(FileStore::open(&path, Sync::Never).is_ok());
}
