//! Phases of a day, auctions and price bands, also behind a restart.

use taut_fix::{ExecType, NewOrderSingle};
use taut_market_data::native::{Message, PacketReader};
use taut_market_data::{EventKind, TradingStatus};
use taut_types::{InstrumentId, Lots, Nanos, Price, Side, TimeInForce};

use crate::journal::Put;
use crate::tests::client::{Answer, Client, limit, market};
use crate::tests::consumer::{order_consumer, order_hash};
use crate::tests::many::{Listener, compare, many};
use crate::tests::rig::{Rig, UTC, config, drain, text};
use crate::{BookState, Flow, Now, Phase, PriceBands, ScheduledPhase, Venue, VenueConfig};

const START: Now = Now { mono: Nanos::from_secs(1_000), utc: UTC };
/// The first instrument.
const AAPL: InstrumentId = InstrumentId(1);

fn price(text: &str) -> Price {
    Price::parse(text.as_bytes()).expect("a price")
}

/// Ten seconds from one to the next, ten seconds behind the start.
fn day() -> Vec<ScheduledPhase> {
    let phases = [
        Phase::PreOpen,
        Phase::OpeningAuction,
        Phase::Continuous,
        Phase::ClosingAuction,
        Phase::Closed,
    ];
    let since_midnight = UTC.0 % (24 * 3_600 * 1_000_000_000);
    let at = |number: i64| Nanos(since_midnight + 10_000_000_000 * number);
    let entry = |(number, phase)| ScheduledPhase { instruments: None, at: at(number), phase };
    (1..).zip(phases).map(entry).collect()
}

fn lasting() -> VenueConfig {
    VenueConfig { cancel_on_disconnect: false, ..config() }
}

fn state(rig: &Rig) -> BookState {
    rig.venue.book_state(AAPL).expect("it is traded")
}

fn image(venue: &mut Venue) -> Vec<u8> {
    let mut put = Put::default();
    venue.put_exchange(&mut put);
    put.0
}

fn after(rig: &mut Rig, seconds: i64) {
    rig.advance(Nanos::from_secs(seconds));
    rig.poll();
}

fn enter(rig: &mut Rig, client: &mut Client, order: &NewOrderSingle) -> ExecType {
    let before = client.reports.len();
    client.order(rig.now, order);
    rig.until(client, |client| client.reports.len() > before);
    let Answer::Report(report) = client.reports[before] else { panic!("a report") };
    report.exec_type
}

/// Type, quantity and price of what a client was told since.
fn fills(client: &Client, since: usize) -> Vec<(u64, i64, Price)> {
    let fill = |answer: &Answer| match answer {
        Answer::Report(report) if report.exec_type == ExecType::Trade => {
            report.last.map(|(lots, price)| (report.id, lots, price))
        }
        _ => None,
    };
    client.reports[since..].iter().filter_map(fill).collect()
}

fn resume(rig: &mut Rig, name: &str) -> Client {
    let mut client = Client::resume(rig.orders_at, Client::session(name, false), rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    client
}

#[test]
fn a_day_goes_through_its_phases_and_what_was_collected_trades_at_one_price() {
    let mut rig = Rig::new(&VenueConfig { schedule: day(), ..config() }, Flow::None);
    let mut client = rig.log_on("ALPHA");
    assert_eq!(state(&rig).phase, Phase::Closed, "what the day before ended with");
    assert_eq!(enter(&mut rig, &mut client, &limit(1, Side::Buy, 1, "1.00")), ExecType::Rejected);
    assert_eq!(client.texts[0], "the day is over");
    after(&mut rig, 10);
    assert_eq!(state(&rig).phase, Phase::PreOpen);
    for order in [
        limit(2, Side::Buy, 10, "101.00"),
        limit(3, Side::Sell, 4, "100.00"),
        limit(4, Side::Sell, 3, "101.50"),
        market(5, Side::Buy, 2),
    ] {
        assert_eq!(enter(&mut rig, &mut client, &order), ExecType::New);
    }
    let time_in_force = TimeInForce::ImmediateOrCancel;
    let at_once = NewOrderSingle { time_in_force, ..limit(6, Side::Buy, 1, "101.00") };
    assert_eq!(enter(&mut rig, &mut client, &at_once), ExecType::Rejected);
    assert!(client.texts.last().expect("a text").contains("collected for an auction"));
    assert_eq!(state(&rig).indicative, Some((price("101"), Lots(4), 8)));
    after(&mut rig, 10);
    assert_eq!(state(&rig).phase, Phase::OpeningAuction);
    let before = client.reports.len();
    after(&mut rig, 10);
    rig.until(&mut client, |client| client.reports.len() == before + 4);
    // The market order first, then by price and time: all of it at one price.
    let at = price("101");
    assert_eq!(fills(&client, before), [(5, 2, at), (3, 2, at), (2, 2, at), (3, 2, at)]);
    assert_eq!((state(&rig).phase, state(&rig).indicative), (Phase::Continuous, None));
    assert_eq!(state(&rig).bid, Some((at, Lots(8))));
    // Who follows the feed has the book, and knows when it trades.
    let (mut consumer, mut statuses) = (order_consumer(), Vec::new());
    for _ in 0..3 {
        drain(&rig.snapshot, |datagram| consumer.on_snapshot(datagram));
        drain(&rig.incremental, |datagram| {
            consumer.on_increment(datagram);
            for message in PacketReader::new(datagram).expect("a packet").messages() {
                if let Message::Event(_, EventKind::Status(status)) = message.expect("a message") {
                    statuses.push(status);
                }
            }
        });
        after(&mut rig, 1);
    }
    assert_eq!(order_hash(&consumer.book), order_hash(rig.venue.book()));
    use TradingStatus::{Closed, PreOpen, Trading};
    assert_eq!(statuses, [Closed, PreOpen, PreOpen, Trading]);
    // At the end of the day nothing stays that is for a day.
    let before = client.reports.len();
    after(&mut rig, 17);
    rig.until(&mut client, |client| client.reports.len() == before + 2);
    let is_expired =
        |it: &Answer| matches!(it, Answer::Report(it) if it.exec_type == ExecType::Expired);
    assert!(client.reports[before..].iter().all(is_expired), "{:?}", client.reports);
    assert_eq!((state(&rig).phase, state(&rig).orders), (Phase::Closed, 0));
}

#[test]
fn phases_that_were_missed_are_gone_through_and_one_by_hand_holds_until_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = VenueConfig { schedule: day(), ..lasting() };
    let (mut rig, _) = Rig::journaled(&config, Flow::None, folder.path(), START);
    let mut client = resume(&mut rig, "ALPHA");
    after(&mut rig, 12);
    for order in [limit(1, Side::Buy, 5, "100.00"), limit(2, Side::Sell, 3, "99.00")] {
        assert_eq!(enter(&mut rig, &mut client, &order), ExecType::New);
    }
    let (session, now) = (client.break_off(rig.now), rig.now);
    drop(rig);
    // Nobody runs the venue when the auction ends.
    let late = Nanos::from_secs(20);
    let now = Now { mono: now.mono + late, utc: now.utc + late };
    let (mut rig, _) = Rig::journaled(&config, Flow::None, folder.path(), now);
    assert_eq!((state(&rig).phase, rig.venue.counters().trades), (Phase::Continuous, 1));
    let mut client = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, |client| fills(client, 0).len() == 2);
    // An operator's halt is not undone by an entry that was carried out.
    assert_eq!(rig.venue.set_phase(rig.now, AAPL, Phase::Halted), Ok(true));
    assert_eq!(rig.venue.set_phase(rig.now, AAPL, Phase::Halted), Ok(false));
    rig.poll();
    let (before, now) = (image(&mut rig.venue), rig.now);
    drop((rig, client));
    let (mut rig, _) = Rig::journaled(&config, Flow::None, folder.path(), now);
    assert!(image(&mut rig.venue) == before, "it is something else");
    rig.poll();
    assert_eq!(state(&rig).phase, Phase::Halted);
    after(&mut rig, 10);
    assert_eq!(state(&rig).phase, Phase::ClosingAuction);
}

fn bands(limits: Option<(&str, &str)>, dynamic: &str, interruption: Option<i64>) -> PriceBands {
    PriceBands {
        instrument: AAPL,
        limits: limits.map(|(low, high)| (price(low), price(high))),
        dynamic: Some(price(dynamic)),
        interruption: interruption.map(Nanos::from_secs),
    }
}

#[test]
fn a_price_outside_of_a_band_is_refused() {
    let bands = vec![bands(Some(("90.00", "110.00")), "5.00", None)];
    let mut rig = Rig::new(&VenueConfig { bands, ..config() }, Flow::None);
    let mut client = rig.log_on("ALPHA");
    let (rig, client) = (&mut rig, &mut client);
    assert_eq!(enter(rig, client, &limit(1, Side::Buy, 1, "110.01")), ExecType::Rejected);
    assert_eq!(client.texts[0], "Price 110.01 is outside of the band from 90 to 110");
    // There is no last trade yet.
    assert_eq!(enter(rig, client, &limit(2, Side::Sell, 1, "110.00")), ExecType::New);
    assert_eq!(enter(rig, client, &limit(3, Side::Sell, 1, "100.00")), ExecType::New);
    assert_eq!(enter(rig, client, &limit(4, Side::Buy, 1, "100.00")), ExecType::New);
    rig.until(client, |client| fills(client, 0).len() == 2);
    assert_eq!(enter(rig, client, &limit(5, Side::Buy, 1, "94.99")), ExecType::Rejected);
    assert_eq!(client.texts.last().expect("one"), "the price is too far from the last trade");
    assert_eq!(enter(rig, client, &limit(6, Side::Buy, 1, "95.00")), ExecType::New);
}

#[test]
fn a_trade_too_far_away_interrupts_trading_for_an_auction_also_over_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = VenueConfig { bands: vec![bands(None, "5.00", Some(30))], ..lasting() };
    let (mut rig, _) = Rig::journaled(&config, Flow::None, folder.path(), START);
    let mut client = resume(&mut rig, "ALPHA");
    for order in [
        limit(1, Side::Sell, 1, "100.00"),
        limit(2, Side::Sell, 5, "110.00"),
        limit(3, Side::Buy, 1, "100.00"),
        // The one at 100 is gone: the next would be a trade 10 away.
        limit(4, Side::Buy, 2, "110.00"),
    ] {
        assert_eq!(enter(&mut rig, &mut client, &order), ExecType::New);
    }
    assert_eq!((state(&rig).phase, rig.venue.counters().trades), (Phase::VolatilityAuction, 1));
    assert_eq!(state(&rig).indicative, Some((price("110"), Lots(2), -3)));
    after(&mut rig, 20);
    let (before, now) = (image(&mut rig.venue), rig.now);
    drop((rig, client));
    // With other bands in the file the past stays what it was, and the interruption ends in time.
    let other = VenueConfig { bands: vec![bands(None, "50.00", None)], ..config.clone() };
    for config in [&other, &config] {
        let (mut rig, recovered) = Rig::journaled(config, Flow::None, folder.path(), now);
        assert_eq!(recovered.open_orders, 2);
        assert_eq!(state(&rig).phase, Phase::VolatilityAuction);
        if config.bands[0].interruption.is_some() {
            assert!(image(&mut rig.venue) == before, "it is something else");
        }
    }
    let (mut rig, _) = Rig::journaled(&config, Flow::None, folder.path(), now);
    after(&mut rig, 9);
    assert_eq!(state(&rig).phase, Phase::VolatilityAuction);
    let due = rig.venue.next_deadline().since(rig.now.mono);
    assert!(due <= Nanos::from_secs(1), "the interruption's end is a deadline");
    after(&mut rig, 1);
    assert_eq!((state(&rig).phase, rig.venue.counters().trades), (Phase::Continuous, 2));
    assert_eq!(state(&rig).offer, Some((price("110"), Lots(3))));
}

#[test]
fn an_instrument_that_nobody_trades_has_its_phases_without_an_engine() {
    let schedule = day();
    let config = VenueConfig { schedule, order_capacity: 64, level_capacity: 32, ..many(200) };
    let instruments = config.instruments.clone();
    let mut rig = Rig::new(&config, Flow::None);
    let mut listener = Listener::new(&rig, &instruments);
    let mut client = rig.log_on("ALPHA");
    after(&mut rig, 10);
    let id = instruments[7].id();
    assert!(instruments[1..].iter().all(|it| rig.venue.book_of(it.id()).is_none()));
    let symbol = text(instruments[7].symbol().as_str());
    for order in [limit(1, Side::Buy, 2, "10.00"), limit(2, Side::Sell, 1, "10.00")] {
        let order = NewOrderSingle { symbol, ..order };
        assert_eq!(enter(&mut rig, &mut client, &order), ExecType::New);
    }
    assert_eq!(rig.venue.book_state(id).expect("listed").phase, Phase::PreOpen);
    // Its book is crossed; who listens has it as it is.
    let mut sound = 0;
    for _ in 0..400 {
        rig.tick();
        listener.listen(&rig);
        sound = compare(&rig, &listener, &instruments);
        if sound == instruments.len() {
            break;
        }
    }
    assert_eq!(sound, instruments.len());
    after(&mut rig, 20);
    rig.until(&mut client, |client| fills(client, 0).len() == 2);
    listener.listen(&rig);
    assert_eq!(compare(&rig, &listener, &instruments), instruments.len());
}

#[test]
fn bands_and_schedules_that_cannot_be_are_refused() {
    let check = |config: VenueConfig| config.check().expect_err("refused").to_string();
    let with = |of: PriceBands| VenueConfig { bands: vec![of], ..config() };
    let fine = bands(None, "1.00", None);
    assert!(check(with(PriceBands { instrument: InstrumentId(9), ..fine })).contains("traded"));
    assert!(check(with(bands(Some(("2", "1")), "1", None))).contains("limits"));
    assert!(check(with(bands(None, "0", None))).contains("dynamic"));
    assert!(
        check(with(PriceBands { dynamic: None, ..bands(None, "1", Some(1)) })).contains("inter")
    );
    let at = |at: Nanos| {
        let phase = ScheduledPhase { instruments: None, at, phase: Phase::Closed };
        VenueConfig { schedule: vec![phase], ..config() }
    };
    assert!(check(at(Nanos::from_secs(86_400))).contains("less than 24 hours"));
    assert!(at(Nanos::from_secs(86_399)).check().is_ok());
}
