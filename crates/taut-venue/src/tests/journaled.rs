//! A venue that is killed, or stops, and goes on from its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use taut_fix::{
    CompId, ExecType, MassCancelType, MassStatusType, MemoryStore, OrderCancelReplaceRequest,
    OrderMassCancelRequest, OrderMassStatusRequest, Session,
};
use taut_testkit::{Draw, for_each_seed};
use taut_types::{InstrumentId, Nanos, OrderFlags, Qty, Side};

use crate::journal::{IMAGE_END, Put};
use crate::tests::client::{Answer, Client, cancel, limit, market};
use crate::tests::consumer::{order_consumer, order_hash};
use crate::tests::many::{Listener, compare, crowd, many};
use crate::tests::rig::{Rig, UTC, config, drain, instrument, text};
use crate::{Flow, Now, Phase, Venue, VenueConfig};

/// Most of the time orders trade.
const PHASES: [Phase; 7] = [
    Phase::Continuous,
    Phase::Continuous,
    Phase::PreOpen,
    Phase::OpeningAuction,
    Phase::Halted,
    Phase::ClosingAuction,
    Phase::Closed,
];

pub(super) const START: Now = Now { mono: Nanos::from_secs(1_000), utc: UTC };

/// Orders stay, so that a venue that goes on is what it was.
pub(super) fn lasting() -> VenueConfig {
    VenueConfig { cancel_on_disconnect: false, ..config() }
}

/// All that the exchange has come to.
pub(super) fn image(venue: &mut Venue) -> Vec<u8> {
    let mut put = Put::default();
    venue.put_exchange(&mut put);
    put.0
}

/// The terms of the order with this ClOrdID: whatever they are, they are known.
fn terms(id: u64) -> (Side, i64, String) {
    let mixed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let side = Side::BOTH[mixed as usize % 2];
    (side, 2 + (mixed / 2 % 8) as i64, format!("{}.00", 95 + mixed / 16 % 10))
}

/// A request of whatever kind.
pub(super) fn ask(random: &mut impl Draw, client: &mut Client, now: Now, next_id: &mut u64) {
    let id = *next_id;
    *next_id += 1;
    let (side, qty, price) = terms(id);
    let account = Some(text("A")).filter(|_| random.below(2) == 0);
    // A late one, mostly: it is open.
    let named = (id - random.below(12).min(id - 1)).max(1);
    match random.below(12) {
        0..=4 => {
            client.order(now, &taut_fix::NewOrderSingle { account, ..limit(id, side, qty, &price) })
        }
        5 => client.order(now, &market(id, side, qty)),
        6 => {
            let order = limit(id, side, qty, &price);
            let max_floor = Some(Qty::whole(1));
            client.order(now, &taut_fix::NewOrderSingle { max_floor, ..order });
        }
        7 => {
            let order = limit(id, side, qty, &price);
            let stop_price = order.price;
            let flags = OrderFlags::NONE;
            client.order(now, &taut_fix::NewOrderSingle { stop_price, flags, ..order });
        }
        8 => client.cancel(now, &cancel(id, named, terms(named).0)),
        9 => {
            // Some keep their place with less.
            let (their_side, their_qty, their_price) = terms(named);
            let less = limit(id, their_side, (their_qty - 1).max(1), &their_price);
            let order = if random.below(3) > 0 { less } else { limit(id, side, qty, &price) };
            let orig_cl_ord_id = named.into();
            client.request(now, &OrderCancelReplaceRequest { orig_cl_ord_id, order });
        }
        10 => {
            let request = OrderMassStatusRequest {
                request_id: id.into(),
                scope: MassStatusType::All,
                symbol: None,
            };
            client.request(now, &request);
        }
        _ if random.below(5) == 0 => {
            let request = OrderMassCancelRequest {
                cl_ord_id: id.into(),
                scope: MassCancelType::All,
                symbol: None,
                side: None,
                transact_time: Nanos::ZERO,
            };
            client.request(now, &request);
        }
        _ => client.order(now, &limit(id, side, qty, "0.001")),
    }
}

fn has_type(answer: &Answer, exec_type: ExecType) -> bool {
    matches!(answer, Answer::Report(report) if report.exec_type == exec_type)
}

/// What a client has been told, without the numbers of questions: each ExecID once.
pub(super) fn executions(client: &Client) -> BTreeMap<u64, Answer> {
    let reports = client.reports.iter().filter(|it| matches!(it, Answer::Report(_)));
    let told = client.exec_ids.iter().zip(reports).filter(|(id, _)| **id > 0);
    told.map(|(id, report)| (*id, *report)).collect()
}

/// A day of two clients, killed and started again: the exchange is the same at every start.
#[test]
fn a_killed_venue_goes_on_as_if_it_had_not_been() {
    for_each_seed(0..6, |seed, mut random| {
        let open = if seed % 3 == 0 { Rig::synced } else { Rig::journaled };
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["ALPHA", "BETA"];
        let mut sessions: Vec<Option<Session<MemoryStore>>> =
            names.iter().map(|name| Some(Client::session(name, false))).collect();
        let (mut now, mut id, mut told) = (START, 1, BTreeMap::new());
        let mut last: Option<Vec<u8>> = None;
        for start in 0..4 {
            let (mut rig, recovered) = open(&lasting(), Flow::None, folder.path(), now);
            assert_eq!(recovered.starts, start);
            if let Some(last) = &last {
                assert_eq!(image(&mut rig.venue), *last, "what was recovered is something else");
            }
            let mut clients: Vec<Client> = sessions
                .iter_mut()
                .map(|session| {
                    let session = session.take().expect("a session");
                    let mut client = Client::resume(rig.orders_at, session, rig.now);
                    rig.advance(Nanos::from_millis(2));
                    rig.until(&mut client, Client::is_logged_on);
                    client
                })
                .collect();
            let asked: u64 = 5 + random.below(120);
            for _ in 0..asked {
                let which = random.below(2) as usize;
                ask(&mut random, &mut clients[which], rig.now, &mut id);
                if random.below(20) == 0 {
                    let phase = random.pick(&PHASES);
                    rig.venue.set_phase(rig.now, InstrumentId(1), phase).expect("it is listed");
                }
                if random.below(40) == 0 {
                    let member = CompId::new(names[which].as_bytes()).expect("a name");
                    let is_killed = random.below(2) == 0;
                    rig.venue.set_killed(rig.now, member, is_killed).expect("it was here");
                }
                rig.advance(Nanos::from_micros(100));
                // Some are served together.
                if random.below(3) == 0 {
                    rig.poll();
                }
            }
            // What was asked has been executed; not all of it has been read.
            for _ in 0..3 {
                rig.poll();
            }
            if random.below(2) == 0 {
                clients.iter_mut().for_each(|client| client.pump(rig.now));
            }
            if random.below(2) == 0 {
                // Heartbeats have numbers, and are in no journal.
                for _ in 0..6 {
                    rig.advance(Nanos::from_secs(16));
                    rig.poll();
                    clients.iter_mut().for_each(|client| {
                        let _ = client.session.handle_timeout(rig.now);
                        client.pump(rig.now);
                        client.transmit(rig.now);
                    });
                }
                assert_eq!(rig.venue.connection_count(), 2);
            }
            let mut consumer = order_consumer();
            for _ in 0..300 {
                rig.tick();
                drain(&rig.snapshot, |datagram| consumer.on_snapshot(datagram));
                drain(&rig.incremental, |datagram| consumer.on_increment(datagram));
            }
            assert_eq!(order_hash(&consumer.book), order_hash(rig.venue.book()));
            last = Some(image(&mut rig.venue));
            if random.below(3) == 0 {
                rig.venue.stop(rig.now).expect("it stops");
            }
            for (client, session) in clients.into_iter().zip(&mut sessions) {
                for (exec_id, answer) in executions(&client) {
                    if let Some(before) = told.insert(exec_id, answer) {
                        assert_eq!(before, answer, "an execution is told as another one");
                    }
                }
                *session = Some(client.break_off(rig.now));
            }
            now = rig.now;
        }
        // At the end each client hears what it has missed, under the numbers that it had.
        let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), now);
        for session in &mut sessions {
            let session = session.take().expect("a session");
            let mut client = Client::resume(rig.orders_at, session, rig.now);
            rig.advance(Nanos::from_millis(2));
            rig.until(&mut client, Client::is_logged_on);
            ask_status(&mut client, rig.now, id);
            rig.until(&mut client, |client| client.mass.iter().any(|(_, _, is_last)| *is_last));
            for (exec_id, answer) in executions(&client) {
                if let Some(before) = told.insert(exec_id, answer) {
                    assert_eq!(before, answer, "an execution is told as another one");
                }
            }
        }
        // Each execution has a number of its own, from 1 on, and none is missing.
        let numbers: BTreeSet<u64> = told.keys().copied().collect();
        let all: BTreeSet<u64> = (1..=numbers.last().copied().unwrap_or(0)).collect();
        assert_eq!(numbers, all, "an execution was lost");
    });
}

pub(super) fn ask_status(client: &mut Client, now: Now, id: u64) {
    let (request_id, scope) = (id.into(), MassStatusType::All);
    client.request(now, &OrderMassStatusRequest { request_id, scope, symbol: None });
}

/// A copy of a journal whose last start's first segment ends at this byte.
fn cut(from: &Path, to: &Path, epoch: u32, bytes: u64) {
    copied(from, to);
    let last = segment(to, epoch);
    let length = fs::metadata(&last).expect("a segment").len();
    let file = fs::OpenOptions::new().write(true).open(last).expect("a segment");
    // A power cut leaves zeros.
    file.set_len(bytes).expect("cut");
    file.set_len(length).expect("filled up");
}

fn copied(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if path.is_dir() {
            let copied = to.join(&name);
            fs::create_dir_all(&copied).expect("a folder");
            for file in fs::read_dir(&path).expect("a folder").flatten() {
                fs::copy(file.path(), copied.join(file.file_name())).expect("a copy");
            }
        }
    }
}

fn segment(folder: &Path, epoch: u32) -> PathBuf {
    folder.join(format!("epoch-{epoch:08}")).join("0000000001.journal")
}

/// Wherever the journal ends, the venue is what it was at some input, and what comes before the end
/// is there.
#[test]
fn a_journal_that_ends_anywhere_is_taken_up_to_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), START);
    let mut client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    // The image after each input, by where the journal ended then.
    let mut images = vec![image(&mut rig.venue)];
    for id in 1..=20 {
        let side = if id % 3 == 0 { Side::Sell } else { Side::Buy };
        client.order(rig.now, &limit(id, side, 1 + id as i64, "100.00"));
        rig.until(&mut client, |client| client.is_answered(id));
        images.push(image(&mut rig.venue));
    }
    let now = rig.now;
    drop((client, rig));
    let whole = fs::read(segment(folder.path(), 1)).expect("a segment");
    let end = whole.iter().rposition(|byte| *byte != 0).expect("frames") as u64;
    let (mut seen, mut before) = (BTreeSet::new(), 0);
    for bytes in (end * 3 / 4..=end + 8).step_by(37).chain([end + 8]) {
        let copy = tempfile::tempdir().expect("a folder");
        cut(folder.path(), copy.path(), 1, bytes);
        let (mut rig, recovered) = Rig::journaled(&lasting(), Flow::None, copy.path(), now);
        let found = image(&mut rig.venue);
        let at = images.iter().position(|image| *image == found).expect("it was so once");
        assert!(recovered.inputs >= before, "a longer journal has more");
        before = recovered.inputs;
        seen.insert(at);
    }
    assert!(seen.len() > 3 && seen.contains(&20), "{seen:?}");
}

/// A start that is damaged is not passed over for the one before it: that would forget what was
/// acknowledged. One that has done nothing is.
#[test]
fn a_damaged_start_is_refused_and_one_that_did_nothing_is_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        drop(Rig::journaled(&lasting(), Flow::None, folder.path(), START));
    }
    let (second, third) = (segment(folder.path(), 2), segment(folder.path(), 3));
    let whole = fs::read(&second).expect("a segment");
    fs::create_dir(third.parent().expect("a folder")).expect("a folder");
    let starts = |what: &str| {
        let copy = tempfile::tempdir().expect("a folder");
        copied(folder.path(), copy.path());
        let settings = crate::JournalSettings { segment_bytes: 1 << 18, ..Default::default() };
        let opened = crate::VenueJournal::open(copy.path(), settings);
        opened.map(|journal| journal.starts()).map_err(|error| format!("{what}: {error}"))
    };
    assert_eq!(starts("an empty folder"), Ok(2));
    fs::write(&third, vec![0; 1 << 18]).expect("zeros");
    assert_eq!(starts("nothing but zeros"), Ok(2));
    // The image is cut off: its end is not there.
    let mut reader = taut_journal::Reader::open(second.parent().expect("a folder")).expect("it");
    let end = loop {
        let frame = reader.next_frame().expect("right").expect("an end");
        if frame.kind == IMAGE_END {
            break frame.at.1 as usize;
        }
    };
    let mut cut = whole.clone();
    cut[end..].fill(0);
    fs::write(&second, &cut).expect("a cut image");
    assert_eq!(starts("no end"), Ok(1));
    // A bit of the header is another one.
    let mut rotten = whole.clone();
    rotten[9] ^= 4;
    fs::write(&second, &rotten).expect("rot");
    let refused = starts("rot").expect_err("refused");
    assert!(refused.contains("0000000001.journal"), "{refused}");
    fs::write(&second, &whole).expect("as it was");
    assert_eq!(starts("whole again"), Ok(2));
}

/// Who follows the feed sees no gap over a restart, and has every book behind it.
#[test]
fn the_feed_goes_on_under_its_numbers_and_a_flow_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = VenueConfig { cancel_on_disconnect: true, ..many(3) };
    let instruments = config.instruments.clone();
    let flow = |seed| crowd(seed, &[1, 2, 3], 10_000);
    let (mut rig, recovered) = Rig::journaled(&config, flow(1), folder.path(), START);
    assert_eq!((recovered.starts, recovered.inputs), (0, 0));
    let mut listener = Listener::new(&rig, &instruments);
    for seed in 2..5 {
        rig.venue.start_flow(rig.now.mono);
        for _ in 0..300 {
            rig.tick();
            listener.listen(&rig);
        }
        assert_eq!(compare(&rig, &listener, &instruments), 3);
        let published = rig.venue.counters().published;
        let (next, recovered) = Rig::journaled_again(&config, flow(seed), folder.path(), rig);
        rig = next;
        assert!(recovered.inputs > 300, "{recovered:?}");
        // The flow begins anew in some turns.
        (0..50).for_each(|_| _ = rig.poll());
        let book = |venue: &Venue| venue.book_state(instruments[0].id()).expect("a book").orders;
        let fresh = Rig::new(&config, flow(seed));
        assert_eq!(book(&rig.venue), book(&fresh.venue), "the flow before has left something");
        assert!(rig.venue.counters().published >= published);
        listener.ask_at(&rig);
    }
    for _ in 0..300 {
        rig.tick();
        listener.listen(&rig);
    }
    assert_eq!(compare(&rig, &listener, &instruments), 3);
    let sequencer = listener.feed.arbiter().sequencer();
    assert_eq!(sequencer.lost(sequencer.last()), 0, "the feed has a hole");
}

#[test]
fn clients_that_were_connected_are_gone_and_hear_that_their_orders_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, _) = Rig::journaled(&config(), Flow::None, folder.path(), START);
    let mut client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    for id in 1..=3 {
        client.order(rig.now, &limit(id, Side::Buy, 1, "100.00"));
    }
    rig.until(&mut client, |client| client.reports.len() == 3);
    drain(&rig.incremental, |_| {});
    let session = client.break_off(rig.now);
    let (mut rig, recovered) = Rig::journaled_again(&config(), Flow::None, folder.path(), rig);
    assert_eq!((recovered.open_orders, recovered.was_stopped), (3, false));
    let mut packets = 0;
    drain(&rig.incremental, |_| packets += 1);
    assert_eq!(packets, 3, "the orders' ends, and nothing that was sent before");
    assert_eq!(rig.venue.book().order_count(), 0);
    let mut client = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, |client| client.reports.len() == 3);
    let is_end = |answer| has_type(answer, ExecType::Canceled);
    assert!(client.reports.iter().all(is_end), "{:?}", client.reports);
    assert!(client.duplicates.iter().all(|is_duplicate| *is_duplicate));
}

#[test]
fn a_venue_of_other_instruments_or_sessions_does_not_take_a_journal_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), START);
    rig.venue.stop(rig.now).expect("it stops");
    drop(rig);
    let open = || {
        let settings =
            crate::JournalSettings { segment_bytes: 1 << 18, ..crate::JournalSettings::default() };
        crate::VenueJournal::open(folder.path(), settings).expect("a journal")
    };
    let refused = |config: &VenueConfig| {
        let rig = Rig::new(config, Flow::None);
        rig.venue.with_journal(open(), START).map(drop).expect_err("refused").to_string()
    };
    let kept = VenueConfig { reset_on_logon: false, ..lasting() };
    assert!(
        refused(&VenueConfig { reset_on_logon: true, ..kept.clone() }).contains("reset_on_logon")
    );
    assert!(refused(&VenueConfig { stream_id: 5, ..kept.clone() }).contains("stream_id"));
    let other = VenueConfig { instruments: many(1).instruments, ..kept.clone() };
    assert!(refused(&other).contains("instruments are others"), "{}", refused(&other));
    // One more instrument is welcome.
    let more = many(1).instruments[0];
    let instruments = vec![instrument(), more];
    let (rig, recovered) =
        Rig::journaled(&VenueConfig { instruments, ..lasting() }, Flow::None, folder.path(), START);
    assert!(recovered.was_stopped);
    // Two venues do not write one journal.
    let second = crate::VenueJournal::open(folder.path(), crate::JournalSettings::default());
    assert!(second.is_err(), "it is locked");
    drop(rig);
}

#[test]
fn a_sweep_whose_reports_are_more_than_a_write_leaves_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), START);
    let mut client = Client::resume(rig.orders_at, Client::session("ALPHA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    for id in 1..=200 {
        client.order(rig.now, &limit(id, Side::Buy, 1, "100.00"));
        rig.until(&mut client, |client| client.is_answered(id));
    }
    // All of them at once: more reports than a write has room for.
    let mut taker = Client::resume(rig.orders_at, Client::session("BETA", false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut taker, Client::is_logged_on);
    taker.order(rig.now, &limit(1, Side::Sell, 200, "100.00"));
    rig.until(&mut taker, |taker| taker.reports.len() == 201);
    rig.until(&mut client, |client| client.reports.len() == 400);
    let fills = client.reports.iter().filter(|answer| has_type(answer, ExecType::Trade));
    assert_eq!(fills.count(), 200);
    let before = rig.now;
    drop(rig);
    let (mut rig, recovered) = Rig::journaled(&lasting(), Flow::None, folder.path(), before);
    assert_eq!((recovered.open_orders, recovered.clients), (0, 2));
    assert_eq!(rig.venue.book().order_count(), 0);
    rig.poll();
}
