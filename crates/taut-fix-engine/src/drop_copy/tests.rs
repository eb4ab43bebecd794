//! The queue between the trading thread and the server; readers are in taut-gateway's tests.

use std::net::Ipv4Addr;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use taut_fix::{CompId, FixError};
use taut_io::{EpollKernel, EventLoop, LoopConfig};
use taut_types::Nanos;

use super::*;
use crate::application::Outbox;

/// Numbers, for whoever's CompID has their last digit.
struct Numbers;

impl DropCopySource for Numbers {
    type Execution = u64;

    fn is_for(&self, reader: CompId, execution: &u64) -> bool {
        reader.as_bytes().ends_with(format!("{}", execution % 10).as_bytes())
    }

    fn send(&self, _: &mut Outbox<'_>, _: u64, execution: &u64) -> Result<(), FixError> {
        TOLD.with_borrow_mut(|told| told.push(*execution));
        Ok(())
    }
}

thread_local! {
    static TOLD: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn what_finds_no_room_is_counted() {
    let mut events = EventLoop::new(EpollKernel::new(2).unwrap(), LoopConfig::default()).unwrap();
    let (to, taken) = sync_channel(2);
    let mut notes = DropCopyNotes::new(to, events.io().poster(), Arc::default());
    // Nobody takes what is handed over.
    (0..3).for_each(|number| notes.note(number));
    notes.hand_over();
    assert_eq!(notes.lost(), 0);
    assert_eq!([taken.try_recv(), taken.try_recv()], [Ok(0), Ok(1)]);
    notes.hand_over();
    assert_eq!(taken.try_recv(), Ok(2), "it waited");
    drop(taken);
    notes.note(3);
    notes.hand_over();
    assert_eq!(notes.lost(), 1);
}

#[test]
fn the_end_waits_for_room_and_counts_what_finds_none() {
    let mut events = EventLoop::new(EpollKernel::new(2).unwrap(), LoopConfig::default()).unwrap();
    let mut noted = |last_wait| {
        let ((to, taken), lost) = (sync_channel(2), Arc::new(OnceLock::new()));
        let mut notes = DropCopyNotes::new(to, events.io().poster(), Arc::clone(&lost));
        notes.set_last_wait(last_wait);
        (0..100).for_each(|number| notes.note(number));
        (notes, taken, lost)
    };
    let wait = Duration::from_secs(60);
    let (notes, taken, lost) = noted(Nanos::from_secs(60));
    let dropped = std::thread::spawn(move || drop(notes));
    (0..100).for_each(|number| assert_eq!(taken.recv_timeout(wait), Ok(number)));
    assert_eq!(taken.recv_timeout(wait), Err(RecvTimeoutError::Disconnected));
    dropped.join().unwrap();
    assert_eq!(lost.get(), Some(&0));
    // Nobody takes what is handed over, and then there is nobody.
    let (notes, taken, lost) = noted(Nanos::from_millis(5));
    drop(notes);
    assert_eq!((taken.iter().count(), lost.get()), (2, Some(&98)));
    let (notes, taken, lost) = noted(Nanos::from_secs(60));
    drop(taken);
    drop(notes);
    assert_eq!(lost.get(), Some(&100));
}

#[test]
fn the_server_ends_though_no_word_of_the_end_finds_room_and_tells_what_was_lost() {
    static TOLD_LOST: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let comp_id = |text: &str| CompId::new(text.as_bytes()).unwrap();
    let settings = DropCopySettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        sender_comp_id: comp_id("VENUE"),
        readers: vec![comp_id("MEMBER1")],
        store: folder.path().to_owned(),
        tell: Tell::new(|words| TOLD_LOST.lock().unwrap().push(words.to_owned())),
    };
    let (mut notes, server) = DropCopyServer::open(&settings, Numbers).unwrap();
    notes.set_last_wait(Nanos::from_millis(5));
    // One by one: the server's words are full long before its queue is.
    for number in 0..18_000 {
        notes.note(number);
        notes.hand_over();
    }
    drop(notes);
    server.run().unwrap();
    assert_eq!(TOLD.take().len(), 1_639, "of the 16,384 that found room, one in ten");
    let lost = "drop copies lost: 1616; the server was too far behind";
    assert_eq!(*TOLD_LOST.lock().unwrap(), [lost]);
}

#[test]
fn each_reader_is_told_what_is_for_it_and_the_server_ends_with_its_other_end() {
    let folder = tempfile::tempdir().unwrap();
    let comp_id = |text: &str| CompId::new(text.as_bytes()).unwrap();
    let settings = DropCopySettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        sender_comp_id: comp_id("VENUE"),
        readers: vec![comp_id("MEMBER1"), comp_id("MEMBER2")],
        store: folder.path().to_owned(),
        tell: Tell::new(|words| panic!("{words}")),
    };
    let (mut notes, server) = DropCopyServer::open(&settings, Numbers).unwrap();
    [1, 2, 3, 11].into_iter().for_each(|number| notes.note(number));
    drop(notes);
    server.run().unwrap();
    assert_eq!(TOLD.take(), [1, 11, 2]);
}
