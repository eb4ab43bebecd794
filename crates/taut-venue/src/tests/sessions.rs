//! Sessions: who is let in, who leaves, and what that does to the book.

use taut_fix::{ExecType, ExecutionReport, MemoryStore, OrdStatus, OrderStatusRequest, Session};
use taut_types::{Nanos, Price, Qty, Side};

use crate::flow::SplitMix64;
use crate::tests::client::{Answer, Client, cancel, connect, limit};
use crate::tests::consumer::{order_consumer, order_hash};
use crate::tests::rig::{Rig, config, drain, synthetic, text};
use crate::{Flow, SESSIONS_MAX, VenueConfig, VenueError};

#[test]
fn a_client_that_disconnects_takes_its_orders_along_and_the_feed_says_so() {
    let mut rig = Rig::new(&config(), synthetic(1));
    let mut consumer = order_consumer();
    let (mut leaver, mut stayer) = (rig.log_on("LEAVER"), rig.log_on("STAYER"));
    let resting = rig.venue.book().order_count();
    for id in 1..=5 {
        leaver.order(rig.now, &limit(id, Side::Buy, 1, "580.00"));
        stayer.order(rig.now, &limit(id, Side::Buy, 1, "580.00"));
    }
    rig.until(&mut leaver, |client| client.reports.len() == 5);
    rig.until(&mut stayer, |client| client.reports.len() == 5);
    assert_eq!(rig.venue.book().order_count(), resting + 10);
    drop(leaver);
    rig.until_venue(|venue| venue.book().order_count() == resting + 5);
    assert_eq!(rig.venue.counters().cancels_on_disconnect, 5);
    assert_eq!(rig.venue.connection_count(), 1);
    for _ in 0..300 {
        rig.tick();
        drain(&rig.snapshot, |datagram| consumer.on_snapshot(datagram));
        drain(&rig.incremental, |datagram| consumer.on_increment(datagram));
    }
    assert_eq!(rig.venue.counters().published, 15);
    assert!(consumer.is_live_after(15));
    assert_eq!(order_hash(&consumer.book), order_hash(rig.venue.book()));
    // Its name is free, and its ClOrdIDs too.
    let mut back = rig.log_on("LEAVER");
    back.order(rig.now, &limit(1, Side::Buy, 1, "580.00"));
    rig.until(&mut back, |client| client.reports.len() == 1);
    assert!(matches!(back.reports[0], Answer::Report(report) if report.refusal.is_none()));
    assert_eq!(stayer.reports.len(), 5);
}

#[test]
fn orders_stay_when_they_shall_and_a_later_client_is_not_told_of_their_fills() {
    let kept = VenueConfig { cancel_on_disconnect: false, ..config() };
    let mut rig = Rig::new(&kept, Flow::None);
    let mut leaver = rig.log_on("LEAVER");
    leaver.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut leaver, |client| client.reports.len() == 1);
    drop(leaver);
    rig.until_venue(|venue| venue.connection_count() == 0);
    assert_eq!(rig.venue.book().order_count(), 1);
    let mut next = rig.log_on("NEXT");
    next.order(rig.now, &limit(1, Side::Sell, 1, "100.00"));
    rig.until(&mut next, |client| client.reports.len() == 2);
    rig.tick();
    next.pump(rig.now);
    assert_eq!(next.reports.len(), 2);
    assert!(next.reports.iter().all(|answer| matches!(answer, Answer::Report(r) if r.id == 1)));
    assert_eq!(rig.venue.book().order_count(), 0);
}

/// Its reports were lost with the connection, and sessions begin anew here: only the venue knows.
#[test]
fn what_became_of_an_order_is_told_in_the_next_session_too_and_its_id_is_free() {
    let mut rig = Rig::empty();
    let (mut leaver, mut other) = (rig.log_on("LEAVER"), rig.log_on("OTHER"));
    leaver.order(rig.now, &limit(1, Side::Buy, 3, "100.00"));
    rig.until(&mut leaver, |client| client.reports.len() == 1);
    other.order(rig.now, &limit(1, Side::Sell, 3, "100.00"));
    rig.until(&mut other, |client| client.reports.len() == 2);
    drop(leaver);
    rig.until_venue(|venue| venue.connection_count() == 1);
    let mut back = rig.log_on("LEAVER");
    let symbol = limit(1, Side::Buy, 1, "100.00").symbol;
    let question =
        OrderStatusRequest { cl_ord_id: 1.into(), symbol, side: Side::Buy, request_id: None };
    back.request(rig.now, &question);
    rig.until(&mut back, |client| client.reports.len() == 1);
    let Answer::Report(told) = back.reports[0] else { panic!("{:?}", back.reports) };
    assert_eq!((told.status, told.cum), (OrdStatus::Filled, 3));
    back.order(rig.now, &limit(1, Side::Buy, 1, "99.00"));
    rig.until(&mut back, |client| client.reports.len() == 2);
    let Answer::Report(told) = back.reports[1] else { panic!("{:?}", back.reports) };
    assert_eq!(told.exec_type, ExecType::New);
}

#[test]
fn the_same_name_twice_is_closed_without_a_reply() {
    let mut rig = Rig::empty();
    let mut first = rig.log_on("ALPHA");
    let mut second = Client::connect(rig.orders_at, "ALPHA", rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut second, |client| client.is_closed);
    assert_eq!(second.session.counters().received, 0);
    assert_eq!(rig.venue.counters().session_refusals, 1);
    first.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut first, |client| client.reports.len() == 1);
}

#[test]
fn a_logout_is_answered_and_ends_the_session() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 1);
    client.session.logout(rig.now, "done");
    client.transmit(rig.now);
    rig.until(&mut client, |client| client.is_closed);
    assert!(client.session.is_closed());
    assert_eq!((rig.venue.book().order_count(), rig.venue.connection_count()), (0, 0));
}

#[test]
fn silence_is_met_by_heartbeats_a_test_request_and_the_end() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    client.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 1);
    // The client does not read any more, so it answers nothing.
    for _ in 0..200 {
        rig.advance(Nanos::from_secs(1));
        rig.poll();
    }
    assert_eq!((rig.venue.book().order_count(), rig.venue.connection_count()), (0, 0));
}

#[test]
fn a_ninth_client_is_turned_away() {
    let mut rig = Rig::empty();
    let clients: Vec<Client> = (0..SESSIONS_MAX).map(|at| rig.log_on(&format!("C{at}"))).collect();
    let mut ninth = Client::connect(rig.orders_at, "NINTH", rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut ninth, |client| client.is_closed);
    assert_eq!(rig.venue.counters().sessions, clients.len() as u64);
    // The listener, three channels and the requests.
    assert_eq!(rig.venue.source_count(), 5 + SESSIONS_MAX);
}

#[test]
fn silent_connections_keep_no_client_out() {
    let mut rig = Rig::empty();
    let mut stays = rig.log_on("STAYS");
    // More than there are places, whoever is silent longest gives way.
    let mut silent = Vec::new();
    for _ in 0..4 * SESSIONS_MAX {
        silent.push(connect(&rig.orders_at));
        rig.poll();
    }
    rig.log_on("COMES");
    assert_eq!(rig.venue.counters().sessions, 2);
    // Who was there before is served on.
    stays.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut stays, |client| client.reports.len() == 1);
}

#[test]
fn a_client_that_does_not_read_is_disconnected_before_its_reports_fill_the_memory() {
    let tight = VenueConfig { pending_bytes_max: 1 << 12, ..config() };
    let mut rig = Rig::new(&tight, Flow::None);
    let mut client = rig.log_on("DEAF");
    let mut id = 0;
    let mut encoded = |client: &mut Client, rig: &Rig, side, qty| {
        id += 1;
        client.encode(rig.now, &limit(id, side, qty, "100.00"))
    };
    // The kernel holds some 40 MB for the client; each round adds 151 reports.
    for _ in 0..4_000 {
        let mut bytes = Vec::new();
        for _ in 0..50 {
            bytes.extend(encoded(&mut client, &rig, Side::Sell, 1));
        }
        bytes.extend(encoded(&mut client, &rig, Side::Buy, 50));
        let mut sent = 0;
        while sent < bytes.len() && rig.venue.connection_count() > 0 {
            sent +=
                client.stream.send(&bytes[sent..]).map_or(bytes.len(), |sent| sent.unwrap_or(0));
            rig.poll();
            drain(&rig.incremental, |_| {});
        }
        if rig.venue.connection_count() == 0 {
            assert!(rig.venue.counters().reports > 1_000 && rig.venue.book().order_count() == 0);
            return;
        }
    }
    panic!("still connected: {:?}", rig.venue.counters());
}

#[test]
fn messages_that_a_venue_does_not_take_are_answered() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let report = ExecutionReport {
        order_id: text("1"),
        exec_id: text("1"),
        exec_ref_id: None,
        exec_trans_type: None,
        account: None,
        price: None,
        mass_status: None,
        charges: taut_fix::Charges::NONE,
        cl_ord_id: Some(text("1")),
        orig_cl_ord_id: None,
        exec_type: ExecType::New,
        ord_status: OrdStatus::New,
        symbol: Some(text("AAPL")),
        side: Side::Buy,
        order_qty: Some(Qty::whole(1)),
        last_qty: Qty::whole(0),
        last_price: None,
        leaves_qty: Qty::whole(1),
        cum_qty: Qty::whole(0),
        avg_price: Some(Price(0)),
        ord_rej_reason: None,
        text: &[],
        transact_time: None,
    };
    client.report(rig.now, &report);
    rig.until(&mut client, |client| client.reports.len() == 1);
    assert_eq!(client.reports, [Answer::BusinessReject]);
}

#[test]
fn no_bytes_that_a_client_sends_end_the_venue() {
    let mut rig = Rig::new(&config(), synthetic(9));
    rig.venue.start_flow(rig.now.mono);
    let mut random = SplitMix64::new(11);
    for round in 0..200 {
        let mut client = rig.log_on("NOISE");
        for id in 1..=5 {
            let mut message = client.encode(rig.now, &limit(id, Side::Buy, 1, "585.00"));
            // From the third message on, single bytes are wrong or the message is cut.
            if id > 2 {
                let at = random.below(message.len() as u64) as usize;
                if random.chance(500) {
                    message[at] = random.below(256) as u8;
                } else {
                    message.truncate(at);
                }
            }
            client.send(&message);
        }
        client.send(&[round; 100]);
        rig.tick();
        drop(client);
        rig.until_venue(|venue| venue.connection_count() == 0);
        drain(&rig.incremental, |_| {});
        drain(&rig.snapshot, |_| {});
    }
    let counters = rig.venue.counters();
    assert_eq!(counters.sessions, 200);
    assert!(counters.orders >= 400 && counters.cancels_on_disconnect >= 1, "{counters:?}");
}

#[test]
fn waits_until_something_arrives_or_is_due() {
    let mut rig = Rig::empty();
    rig.poll();
    let deadline = rig.venue.next_deadline();
    assert!(deadline > rig.now.mono && deadline <= rig.now.mono + Nanos::from_millis(50));
    rig.venue.wait(deadline, Nanos::from_secs(60)).expect("no wait when something is due");
    // A connection ends the wait, and the next poll takes it at once.
    let _client = connect(&rig.orders_at);
    rig.venue.wait(rig.now.mono, Nanos::from_secs(60)).expect("a wait");
    rig.poll();
    assert_eq!(rig.venue.connection_count(), 1);
}

#[test]
fn says_what_is_wrong_with_a_configuration() {
    let wrong = [
        VenueConfig { order_capacity: 0, ..config() },
        VenueConfig { snapshot_interval: Nanos::ZERO, ..config() },
        VenueConfig { flow_commands_per_poll: 0, ..config() },
    ];
    for config in wrong {
        let error = config.check().expect_err("refused");
        assert!(error.to_string().starts_with("venue configuration: `"), "{error}");
        assert!(matches!(error, VenueError::Config { .. }));
    }
}

#[test]
fn a_burst_of_orders_larger_than_a_connections_room_is_taken_whole() {
    const ORDERS: u64 = 4_000;
    let mut rig = Rig::empty();
    let mut client = rig.log_on("BURST");
    let now = rig.now;
    let orders = (1..=ORDERS).map(|id| limit(id, Side::Buy, 1, "100.00"));
    let burst: Vec<u8> = orders.flat_map(|order| client.encode(now, &order)).collect();
    let mut sent = 0;
    while sent < burst.len() {
        // As much as the kernel takes, before the venue has its turn.
        while let Ok(Some(bytes)) = client.stream.send(&burst[sent..]) {
            sent += bytes;
            if sent == burst.len() {
                break;
            }
        }
        rig.poll();
        client.pump(now);
        assert!(!client.is_closed, "the venue hung up after {sent} bytes");
    }
    rig.until(&mut client, |client| client.is_closed || client.reports.len() as u64 == ORDERS);
    assert!(!client.is_closed, "the venue hung up: {:?}", rig.venue.counters());
    assert_eq!(rig.venue.book().order_count() as u64, ORDERS);
}

/// A venue whose sessions last, and whose orders stay.
fn lasting() -> Rig {
    let lasting = VenueConfig { reset_on_logon: false, cancel_on_disconnect: false, ..config() };
    Rig::new(&lasting, Flow::None)
}

/// A connection of this session that is logged on.
fn resume(rig: &mut Rig, session: Session<MemoryStore>) -> Client {
    let mut client = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    client
}

fn kinds(client: &Client) -> Vec<(u64, ExecType)> {
    let kind = |answer: &Answer| match answer {
        Answer::Report(report) => (report.id, report.exec_type),
        other => panic!("{other:?}"),
    };
    client.reports.iter().map(kind).collect()
}

#[test]
fn what_a_client_misses_is_sent_again_when_it_is_back() {
    let mut rig = lasting();
    let mut client = resume(&mut rig, Client::session("ALPHA", false));
    client.order(rig.now, &limit(1, Side::Buy, 5, "100.00"));
    client.order(rig.now, &limit(2, Side::Buy, 5, "99.00"));
    rig.until(&mut client, |client| client.reports.len() == 2);
    let mut session = client.break_off(rig.now);
    rig.until_venue(|venue| venue.connection_count() == 0);
    for (round, cum) in [2, 4, 5].into_iter().enumerate() {
        // A fill while it is away.
        let mut other = resume(&mut rig, Client::session(&format!("OTHER{round}"), false));
        let qty = if cum == 5 { 1 } else { 2 };
        other.order(rig.now, &limit(1, Side::Sell, qty, "100.00"));
        rig.until(&mut other, |client| client.reports.len() == 2);
        drop(other);
        rig.until_venue(|venue| venue.connection_count() == 0);
        let mut client = resume(&mut rig, session);
        rig.until(&mut client, |client| !client.reports.is_empty());
        assert_eq!(kinds(&client), [(1, ExecType::Trade)]);
        assert!(matches!(client.reports[0], Answer::Report(report) if report.cum == cum));
        assert_eq!(client.duplicates, [true]);
        session = client.break_off(rig.now);
        rig.until_venue(|venue| venue.connection_count() == 0);
    }
    // Its ClOrdIDs are as they were, and its order is its own.
    let mut client = resume(&mut rig, session);
    client.order(rig.now, &limit(1, Side::Buy, 1, "90.00"));
    client.cancel(rig.now, &cancel(3, 2, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 2);
    assert_eq!(kinds(&client), [(1, ExecType::Rejected), (3, ExecType::Canceled)]);
    assert_eq!(client.duplicates, [false, false]);
}

#[test]
fn a_client_that_begins_anew_is_not_told_what_it_missed_and_still_has_its_orders() {
    let mut rig = lasting();
    let mut client = resume(&mut rig, Client::session("ALPHA", false));
    client.order(rig.now, &limit(1, Side::Buy, 5, "100.00"));
    client.order(rig.now, &limit(2, Side::Sell, 3, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 4);
    drop(client);
    rig.until_venue(|venue| venue.connection_count() == 0);
    // Another process under the same name: its numbers start at 1, and it says so.
    let mut client = resume(&mut rig, Client::session("ALPHA", true));
    // The ClOrdID of what is over is free, that of what is open is not.
    client.order(rig.now, &limit(2, Side::Buy, 1, "90.00"));
    client.order(rig.now, &limit(1, Side::Buy, 1, "90.00"));
    client.cancel(rig.now, &cancel(9, 1, Side::Buy));
    rig.until(&mut client, |client| client.reports.len() == 3);
    let expected = [(2, ExecType::New), (1, ExecType::Rejected), (9, ExecType::Canceled)];
    assert_eq!(kinds(&client), expected);
}

#[test]
fn cancels_on_disconnect_are_told_to_who_comes_back() {
    let mut rig = Rig::new(&VenueConfig { reset_on_logon: false, ..config() }, Flow::None);
    let mut client = resume(&mut rig, Client::session("ALPHA", false));
    client.order(rig.now, &limit(1, Side::Buy, 5, "100.00"));
    rig.until(&mut client, |client| client.reports.len() == 1);
    let session = client.break_off(rig.now);
    rig.until_venue(|venue| venue.book().order_count() == 0);
    let mut client = resume(&mut rig, session);
    rig.until(&mut client, |client| client.reports.len() == 1);
    assert_eq!(kinds(&client), [(1, ExecType::Canceled)]);
    assert_eq!(client.duplicates, [true]);
}

#[test]
fn a_name_that_is_in_use_costs_the_one_who_has_it_nothing() {
    let mut rig = lasting();
    let mut first = resume(&mut rig, Client::session("ALPHA", false));
    let session = Client::session("ALPHA", false);
    let mut second = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut second, |client| client.is_closed);
    first.order(rig.now, &limit(1, Side::Buy, 1, "100.00"));
    rig.until(&mut first, |client| client.reports.len() == 1);
    let session = first.break_off(rig.now);
    rig.until_venue(|venue| venue.connection_count() == 0);
    let mut first = resume(&mut rig, session);
    first.order(rig.now, &limit(2, Side::Buy, 1, "100.00"));
    rig.until(&mut first, |client| client.reports.len() == 1);
    assert_eq!((kinds(&first), &first.duplicates[..]), (vec![(2, ExecType::New)], &[false][..]));
}
