//! A journal that is copied to another folder over a stream of bytes, and a standby on the copy.

use std::path::Path;

use taut_journal::Reader;
use taut_testkit::{Draw, for_each_seed};
use taut_types::Nanos;

use crate::tests::journaled::{START, image, lasting};
use crate::tests::many::crowd;
use crate::tests::rig::Rig;
use crate::{
    Acknowledge, Flow, Followed, JournalCopy, JournalSettings, Replication, Serving, ServingEnd,
    ServingTerms, ShipError, Shipment, VenueConfig, VenueJournal, Whereabouts,
};

const SETTINGS: JournalSettings =
    JournalSettings { segment_bytes: 1 << 18, acknowledge: Acknowledge::Memory };

/// Every entry of a start's journal: number, kind and content.
fn entries(folder: &Path, epoch: u32) -> Vec<(u64, u16, Vec<u8>)> {
    let mut reader = Reader::open(&folder.join(format!("epoch-{epoch:08}"))).expect("a journal");
    let mut entries = Vec::new();
    while let Some(frame) = reader.next_frame().expect("right entries") {
        entries.push((frame.sequence, frame.kind, frame.bytes.to_vec()));
    }
    entries
}

/// Sends what there is over a connection that may break at any byte; whether it holds.
fn ship(shipment: &mut Shipment, copy: &mut JournalCopy, random: &mut impl Draw) -> bool {
    let (mut out, mut came) = (Vec::new(), Vec::new());
    let last = shipment.fill(&mut out, 1 << 20).expect("a journal");
    while !out.is_empty() {
        if random.below(60) == 0 {
            return false;
        }
        let count = (1 + random.below(4_000) as usize).min(out.len());
        came.extend(out.drain(..count));
        let taken = copy.take(&came).expect("whole entries");
        came.drain(..taken);
    }
    assert_eq!((copy.last(), came.len()), (last, 0));
    true
}

#[test]
fn a_copy_has_every_entry_once_over_connections_that_break_anywhere() {
    for_each_seed(0..2, |_, mut random| {
        let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (theirs, ours) = (theirs.path(), ours.path());
        let config = VenueConfig { reset_on_logon: false, ..lasting() };
        let flow = |seed| crowd(seed, &[1], 20_000);
        let (mut rig, _) = Rig::journaled(&config, flow(1), theirs, START);
        let mut copy = JournalCopy::open(ours, SETTINGS).expect("a folder");
        rig.venue.start_flow(rig.now.mono);
        let mut broken = 0;
        for _ in 0..30 {
            let opened = Shipment::open(theirs, copy.needs()).expect("a journal");
            let mut shipment = opened.expect("a start");
            copy.begin(shipment.from()).expect("what is due");
            for _ in 0..random.below(8) {
                (0..random.below(6)).for_each(|_| rig.tick());
                copy.turn().expect("a disk");
                if !ship(&mut shipment, &mut copy, &mut random) {
                    broken += 1;
                    break;
                }
            }
        }
        let mut rest = Vec::new();
        let mut shipment = Shipment::open(theirs, copy.needs()).unwrap().expect("a start");
        copy.begin(shipment.from()).expect("what is due");
        let _ = shipment.fill(&mut rest, 1 << 24);
        assert_eq!(copy.take(&rest), Ok(rest.len()));
        assert!(broken > 0, "no connection broke");
        assert!(entries(ours, 1) == entries(theirs, 1), "they differ");
        assert!(copy.last() > 100, "{}", copy.last());
        // A standby on the copy is what the venue is.
        let mut standby = rig.standby(&config, Flow::None, ours);
        while standby.follow(rig.now, 64).expect("right inputs") != Followed::Level {}
        let mut put = crate::journal::Put::default();
        standby.put_exchange(&mut put);
        assert!(put.0 == image(&mut rig.venue), "they differ");
        // A venue that was started again is copied from its beginning.
        let (rig, _) = Rig::journaled_again(&config, flow(2), theirs, rig);
        let mut shipment = Shipment::open(theirs, copy.needs()).unwrap().expect("a start");
        assert_eq!(shipment.from(), Whereabouts { epoch: 2, next: 1 });
        copy.begin(shipment.from()).expect("a later start");
        let mut bytes = Vec::new();
        let _ = shipment.fill(&mut bytes, 1 << 24);
        assert_eq!(copy.take(&bytes), Ok(bytes.len()));
        assert!(standby.is_left_behind().expect("a folder"));
        drop(rig);
    });
}

#[test]
fn what_does_not_follow_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut copy = JournalCopy::open(folder.path(), SETTINGS).unwrap();
    assert_eq!(copy.needs(), Whereabouts { epoch: 0, next: 1 });
    assert_eq!(copy.take(&[]), Err(ShipError::Entry { due: 1 }), "nobody said whose");
    let later = Whereabouts { epoch: 3, next: 8 };
    assert_eq!(copy.begin(later), Err(ShipError::Entry { due: 1 }), "it has none of these");
    copy.begin(Whereabouts { epoch: 3, next: 1 }).unwrap();
    let entry = |number: u64, length: u32| {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(160_u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend(Nanos(5).0.to_le_bytes());
        bytes.extend(vec![7; length.min(64) as usize]);
        bytes
    };
    assert_eq!(copy.take(&entry(1, 20)), Ok(44));
    assert_eq!(copy.take(&entry(1, 20)), Err(ShipError::Entry { due: 2 }), "it was there");
    assert_eq!(copy.take(&entry(3, 20)), Err(ShipError::Entry { due: 2 }), "one is missing");
    assert_eq!(copy.take(&entry(2, u32::MAX)), Err(ShipError::Entry { due: 2 }), "too long");
    assert_eq!(copy.take(&entry(2, 20)[..43]), Ok(0), "not whole");
    let behind = Whereabouts { epoch: 2, next: 1 };
    assert_eq!(copy.begin(behind), Err(ShipError::Ahead { own: 3, theirs: 2 }));
    for said in [later, behind] {
        assert_eq!(Whereabouts::read(&said.to_bytes()), Some(said));
        let mut bytes = said.to_bytes();
        bytes[9] ^= 1;
        assert_eq!(Whereabouts::read(&bytes), None, "another version");
    }
}

/// With `replicated` a report leaves when a copy has its input, and never where the copy has become
/// the venue.
#[test]
fn no_answer_leaves_before_a_copy_has_its_input() {
    use crate::tests::client::{Client, limit};
    use taut_types::Side;

    let folder = tempfile::tempdir().unwrap();
    let replication = Replication::new().unwrap();
    let (mut rig, _) = Rig::replicated(&lasting(), folder.path(), &replication, START);
    let copying = std::thread::spawn({
        let replication = replication.clone();
        let folder = folder.path().to_owned();
        move || {
            let nothing = Whereabouts { epoch: 0, next: 1 };
            let mut shipment = Shipment::open(&folder, nothing).unwrap().expect("a start");
            let mut out = Vec::new();
            while !replication.is_overtaken() {
                let wanted = [replication.bell()];
                let _ = taut_sys::wait_readable(&wanted, Some(Nanos::from_millis(1)));
                out.clear();
                let last = shipment.fill(&mut out, usize::MAX).unwrap();
                if !replication.is_overtaken() {
                    replication.acknowledge(last);
                }
            }
        }
    });
    let mut client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    for id in 1..=20 {
        client.order(rig.now, &limit(id, Side::Buy, 1, "100.00"));
        rig.until(&mut client, |client| client.is_answered(id));
    }
    let inputs = entries(folder.path(), 1).len() as u64;
    assert!(replication.copied() >= inputs - 1, "{} of {inputs}", replication.copied());
    replication.overtake();
    copying.join().unwrap();
    client.order(rig.now, &limit(21, Side::Buy, 1, "100.00"));
    client.transmit(rig.now);
    let deadline = taut_testkit::Deadline::default();
    let error = loop {
        deadline.check("an order that nobody copies", || format!("{:?}", client.reports.len()));
        if let Err(error) = rig.venue.poll(rig.now) {
            break error;
        }
    };
    assert_eq!(error, crate::VenueError::NotReplicated);
    client.pump(rig.now);
    assert!(!client.is_answered(21), "an answer left");
}

#[test]
fn a_venue_that_waits_for_a_copy_looks_beside_and_ends_when_it_is_told_to() {
    use crate::tests::client::Client;

    let folder = tempfile::tempdir().unwrap();
    let replication = Replication::new().unwrap();
    let (looks, looked) = std::sync::mpsc::channel();
    let (mut rig, _) = Rig::replicated(&lasting(), folder.path(), &replication, START);
    replication.while_waiting(move |waiting| {
        looks.send(waiting.span).unwrap();
        waiting.span < Nanos::from_millis(50)
    });
    let _client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    let deadline = taut_testkit::Deadline::default();
    let error = loop {
        deadline.check("a logon that nobody copies", String::new);
        if let Err(error) = rig.venue.poll(rig.now) {
            break error;
        }
    };
    assert_eq!(error, crate::VenueError::NotReplicated);
    let looks: Vec<Nanos> = looked.try_iter().collect();
    assert!(looks.len() > 1 && looks.is_sorted(), "{looks:?}");
    assert!(looks.iter().rev().skip(1).all(|it| *it < Nanos::from_millis(50)), "{looks:?}");
}

/// Entries of the start before have the same numbers as others of this one.
#[test]
fn a_copy_is_served_once_the_journal_of_this_start_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (rig, _) = Rig::journaled(&lasting(), Flow::None, path, START);
    drop(rig);
    let replication = Replication::new().unwrap();
    let terms = ServingTerms {
        folder: path.to_owned(),
        replication: replication.clone(),
        is_replicated: true,
        is_own_standby: true,
    };
    let nothing = Whereabouts { epoch: 0, next: 1 }.to_bytes();
    let mut early = Serving::new(terms.clone(), START.mono);
    assert_eq!(early.handle_bytes(&nothing), Err(ServingEnd::NoCopy));
    replication.go_on_alone();
    let (_rig, _) = Rig::replicated(&lasting(), path, &replication, START);
    let mut serving = Serving::new(terms, START.mono);
    assert_eq!(serving.handle_bytes(&nothing), Ok(()));
    assert_eq!(serving.from(), Some(Whereabouts { epoch: 2, next: 1 }));
}

/// The venue that was cut off is started again and again, and its successor's machine comes back as
/// a standby: what it acknowledged is not given up for the other one's journal.
#[test]
fn a_start_that_takes_anothers_place_has_a_number_to_which_that_one_does_not_come() {
    let folder = tempfile::tempdir().unwrap();
    let (rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), START);
    drop(rig);
    let journal = VenueJournal::open(folder.path(), SETTINGS).unwrap().promoted();
    let config = VenueConfig { stream_id: journal.stream_id().unwrap(), ..lasting() };
    let rig = Rig::new(&VenueConfig { reset_on_logon: false, ..config }, Flow::None);
    let taken = rig.venue.with_journal(journal, START).expect("a venue");
    drop(taken);
    let nothing = Whereabouts { epoch: 0, next: 1 };
    let own = Shipment::open(folder.path(), nothing).unwrap().expect("a start").from();
    assert_eq!(own.epoch, 1_000);
    let mut copy = JournalCopy::open(folder.path(), SETTINGS).unwrap();
    for theirs in [2, 3, 999] {
        let refused = copy.begin(Whereabouts { epoch: theirs, next: 1 });
        assert_eq!(refused, Err(ShipError::Ahead { own: 1_000, theirs }));
    }
}

#[test]
fn a_venue_that_is_to_wait_for_a_copy_does_not_begin_without_one_to_wait_for() {
    let folder = tempfile::tempdir().unwrap();
    let settings = JournalSettings { acknowledge: Acknowledge::Replicated, ..SETTINGS };
    let journal = VenueJournal::open(folder.path(), settings).unwrap();
    let rig = Rig::new(&VenueConfig { reset_on_logon: false, ..lasting() }, Flow::None);
    let refused = rig.venue.with_journal(journal, START).map(drop).expect_err("nobody is there");
    assert!(refused.to_string().contains("replicate_to"), "{refused}");
}
