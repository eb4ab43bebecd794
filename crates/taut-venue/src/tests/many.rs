//! Many instruments: each has its engine, its flow, its symbol and its place on the feed.

use taut_book::{Level, LevelBook, OrderBook};
use taut_engine::Command;
use taut_fix::{CancelRejectReason, ExecType, OrderCancelRequest};
use taut_market_data::feed::RetransmitConfig;
use taut_market_data::native::{NativeConfig, NativeFeed};
use taut_market_data::{BestPrices, Context, Event, FeedHandler, FeedRequest, Soundness, Source};
use taut_recording::capture::Capture;
use taut_sys::{DatagramOptions, Socket};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};

use crate::flow::{Crowd, LobsterFlow, ReplayFlow, SyntheticConfig, SyntheticFlow};
use crate::tests::client::{Answer, cancel, limit};
use crate::tests::rig::{Rig, STREAM, config, drain, text};
use crate::{FeedLoss, Flow, Speed, VenueConfig, VenueError};

const STEP: Nanos = Nanos::from_millis(1);

fn instruments(count: u32) -> Vec<Instrument> {
    let named = |number: u32| {
        let symbol = Symbol::new(format!("S{number}").as_bytes()).expect("a symbol");
        let lot = Qty { mantissa: 1, decimals: 0 };
        let tick = Price(10_000_000 << (number % 3));
        Instrument::new(InstrumentId(number), symbol, tick, lot).expect("valid")
    };
    // Their numbers are neither the places nor the order of the symbols.
    (0..count).map(|place| named(3 * (count - place))).collect()
}

pub(super) fn many(count: u32) -> VenueConfig {
    VenueConfig {
        instruments: instruments(count),
        order_capacity: 512,
        level_capacity: 128,
        ..config()
    }
}

pub(super) fn crowd(seed: u64, weights: &[u32], ticks_hz: u32) -> Flow {
    let config = SyntheticConfig { seed, level_count: 10, ..SyntheticConfig::default() };
    Flow::crowd(Crowd::new(config, 0, weights), ticks_hz)
}

/// Whoever listens to the whole feed, and asks for what is missing.
pub(super) struct Listener {
    pub(super) feed: NativeFeed,
    asking: Socket,
    told: u64,
}

impl Listener {
    pub(super) fn new(rig: &Rig, instruments: &[Instrument]) -> Self {
        let config = NativeConfig {
            instruments,
            stream_id: Some(STREAM),
            level_capacity: 256,
            has_retransmission: true,
        };
        let feed = NativeFeed::new(&config, rig.now.mono).expect("instruments");
        Self { feed, asking: asking(rig), told: 0 }
    }

    /// The venue is another one in the place of the last.
    pub(super) fn ask_at(&mut self, rig: &Rig) {
        self.asking = asking(rig);
    }

    fn frame(&mut self, now: Nanos, source: Source, bytes: &[u8]) {
        let Self { feed, told, .. } = self;
        let mut sink = |_: &Context<'_>, _: &Event| *told += 1;
        if let Some(frame) = feed.decode(now, source, bytes) {
            feed.apply(frame, &mut sink);
        }
        if !feed.is_settled() {
            feed.recover(now, &mut sink);
        }
    }

    pub(super) fn listen(&mut self, rig: &Rig) {
        let now = rig.now.mono;
        let mut frames = Vec::new();
        let sockets = [&rig.incremental, &rig.line_b, &self.asking, &rig.snapshot];
        for (source, socket) in (0..).zip(sockets) {
            drain(socket, |bytes| frames.push((Source(source), bytes.to_vec())));
        }
        frames.iter().for_each(|(source, bytes)| self.frame(now, *source, bytes));
        self.feed.handle_timeout(now);
        if !self.feed.is_settled() {
            self.feed.recover(now, &mut |_: &Context<'_>, _: &Event| {});
        }
        while let Some(FeedRequest::Packets(request)) = self.feed.poll_request() {
            let mut bytes = [0; 1_400];
            assert!(request.write(&mut bytes));
            self.asking.send(&bytes).expect("sent");
        }
    }
}

fn asking(rig: &Rig) -> Socket {
    let peer = rig.requests_at.inet();
    let at = "127.0.0.1:0".parse().map(taut_sys::Address::Inet).expect("an address");
    let options = DatagramOptions { peer, ..DatagramOptions::default() };
    Socket::datagram(&at, &options).expect("a socket")
}

/// A book of levels as the venue has it.
fn levels(of: &Instrument, book: Option<&OrderBook>) -> LevelBook {
    let mut levels = LevelBook::with_capacity(256);
    for side in Side::BOTH {
        for Level { price, lots, order_count } in book.into_iter().flat_map(|it| it.levels(side)) {
            let price = of.price(price).expect("a price");
            levels.apply(side, price, lots, order_count).expect("room");
        }
    }
    levels
}

/// How many books are sound, and as the venue has them if nothing is under way.
pub(super) fn compare(rig: &Rig, listener: &Listener, instruments: &[Instrument]) -> usize {
    let is_level = listener.feed.arbiter().sequencer().last().0 == rig.venue.counters().published;
    let is_sound =
        |of: &&Instrument| listener.feed.soundness(of.id()) == Soundness::Sound && is_level;
    let sound = instruments.iter().filter(is_sound).map(|of| {
        let book = listener.feed.book(of.id()).expect("a book");
        let theirs = levels(of, rig.venue.book_of(of.id()));
        assert_eq!(book.state_hash(), theirs.state_hash(), "{}", of.symbol());
        assert_eq!(listener.feed.best(of.id()), BestPrices::of(&theirs));
    });
    sound.count()
}

#[test]
fn whoever_listens_has_every_book_over_losses_and_a_restart() {
    for (count, seed) in [(1, 1), (3, 2), (3, 3), (40, 4)] {
        let loss = FeedLoss { a_per_mille: 200, b_per_mille: 200, seed };
        // One run in two has to live without answers.
        let mut retransmit = config().retransmit;
        if seed % 2 == 0 {
            retransmit = RetransmitConfig { burst_bytes: 0, bytes_per_second: 0, ..retransmit };
        }
        let config = VenueConfig { loss, retransmit, ..many(count) };
        let instruments = &config.instruments;
        let weights: Vec<u32> = (1..=count).collect();
        let mut rig = Rig::new(&config, crowd(seed, &weights, 10_000));
        let mut listener = Listener::new(&rig, instruments);
        rig.venue.start_flow(rig.now.mono);
        let mut compared = 0;
        for _ in 0..400 {
            rig.advance(STEP);
            rig.poll();
            listener.listen(&rig);
            compared += compare(&rig, &listener, instruments);
        }
        assert!(compared > 0, "{compared}: {:?}", listener.feed.counters());
        rig.venue.stop_flow();
        settle(&mut rig, &mut listener, instruments);
        let counters = rig.venue.counters();
        assert!(counters.lost_on_a > 100 && counters.flow_rejects == 0, "{counters:?}");
        // The venue begins anew, under another stream.
        let again = VenueConfig { stream_id: STREAM, ..config.clone() };
        let mut next = Rig::new(&again, crowd(!seed, &weights, 10_000));
        next.now = rig.now;
        next.advance(Nanos::from_secs(4));
        let mut listener =
            Listener { asking: Listener::new(&next, instruments).asking, ..listener };
        next.venue.start_flow(next.now.mono);
        for _ in 0..200 {
            next.advance(STEP);
            next.poll();
            listener.listen(&next);
        }
        next.venue.stop_flow();
        settle(&mut next, &mut listener, instruments);
    }
}

/// Lets the venue rest until the listener has all of its books.
fn settle(rig: &mut Rig, listener: &mut Listener, instruments: &[Instrument]) {
    let mut sound = 0;
    for _ in 0..20_000 {
        rig.advance(STEP);
        rig.poll();
        listener.listen(rig);
        sound = compare(rig, listener, instruments);
        if sound == instruments.len() {
            return;
        }
    }
    panic!("{sound} books are sound: {:?} {:?}", listener.feed.counters(), rig.venue.counters());
}

#[test]
fn two_thousand_instruments_are_traded_published_and_followed() {
    const COUNT: u32 = 2_000;
    let config = many(COUNT);
    let instruments = &config.instruments;
    // Half of them have a crowd; what nobody trades costs nothing but its snapshot.
    let weights: Vec<u32> = (0..COUNT).map(|place| place % 2).collect();
    let mut rig = Rig::new(&config, crowd(9, &weights, 20_000));
    let mut listener = Listener::new(&rig, instruments);
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..300 {
        rig.advance(STEP);
        rig.poll();
        listener.listen(&rig);
    }
    rig.venue.stop_flow();
    settle(&mut rig, &mut listener, instruments);
    let traded = instruments.iter().filter(|of| rig.venue.book_of(of.id()).is_some()).count();
    // The first has its memory from the start.
    assert_eq!(traded, 1_001);
    // An order reaches its instrument by the symbol alone.
    let mut client = rig.log_on("ALPHA");
    for (id, place) in (1..).zip([0, 7, 1_999]) {
        let symbol = instruments[place].symbol();
        let order = limit(id, Side::Buy, 1, "100.00");
        client.order(rig.now, &taut_fix::NewOrderSingle { symbol: symbol.into(), ..order });
    }
    rig.until(&mut client, |client| client.reports.len() == 3);
    assert!(client.reports.iter().all(|answer| matches!(answer,
        Answer::Report(report) if report.exec_type == ExecType::New)));
    settle(&mut rig, &mut listener, instruments);
    println!("{} bytes resident", resident_bytes());
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}

#[test]
fn commands_are_shared_by_weight_and_no_two_orders_have_an_id() {
    let weights = [5, 0, 1, 10];
    let flow = crowd(3, &weights, 1_000);
    let mut ids: Vec<u64> = flow.initial_orders().iter().map(|(_, it)| it.order_id.0).collect();
    let Flow::Synthetic { mut crowd, .. } = flow else { panic!("a crowd") };
    let mut shares = [0; 4];
    for _ in 0..16_000 {
        let (place, step) = crowd.step(|_| crate::flow::Top::default());
        shares[place] += 1;
        if let crate::flow::FlowStep::Command(Command::New(order)) = step {
            ids.push(order.order_id.0);
        }
    }
    for (share, weight) in shares.into_iter().zip(weights) {
        let expected = weight as i32 * 1_000;
        assert!((share - expected).abs() <= expected / 8, "{shares:?}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    // One instrument's crowd is the flow of a venue of one, command by command.
    let config = SyntheticConfig { seed: 3, level_count: 10, ..SyntheticConfig::default() };
    let (mut one, mut alone) = (Crowd::new(config, 0, &[7]), SyntheticFlow::new(config));
    for _ in 0..100 {
        let top = crate::flow::Top::default();
        let expected = (0, crate::flow::FlowStep::Command(alone.next_command(top)));
        assert_eq!(one.step(|_| top), expected);
    }
}

#[test]
fn orders_of_one_symbol_do_not_meet_those_of_another_and_each_report_names_its_own() {
    let mut rig = Rig::new(&many(3), Flow::None);
    let mut client = rig.log_on("ALPHA");
    let of = |symbol: &str, order| taut_fix::NewOrderSingle { symbol: text(symbol), ..order };
    client.order(rig.now, &of("S9", limit(1, Side::Sell, 1, "100.00")));
    client.order(rig.now, &of("S6", limit(2, Side::Buy, 1, "100.00")));
    client.order(rig.now, &of("S9", limit(3, Side::Buy, 1, "100.00")));
    rig.until(&mut client, |client| client.reports.len() == 5);
    assert_eq!(client.symbols, ["S9", "S6", "S9", "S9", "S9"]);
    assert_eq!(rig.venue.counters().trades, 1);
    let left = rig.venue.book_of(InstrumentId(6)).expect("a book");
    assert_eq!(left.best(Side::Buy).map(|level| level.lots), Some(Lots(1)));
    // A cancel that names another symbol than its order is refused.
    let wrong = OrderCancelRequest { symbol: text("S9"), ..cancel(4, 2, Side::Buy) };
    client.cancel(rig.now, &wrong);
    let right = OrderCancelRequest { symbol: text("S6"), ..cancel(5, 2, Side::Buy) };
    client.cancel(rig.now, &right);
    rig.until(&mut client, |client| client.reports.len() == 7);
    assert!(matches!(
        client.reports[5],
        Answer::CancelReject { reason: Some(CancelRejectReason::Other), .. }
    ));
    assert!(matches!(client.reports[6],
        Answer::Report(report) if report.exec_type == ExecType::Canceled));
    assert_eq!(client.symbols.last().map(String::as_str), Some("S6"));
}

#[test]
fn symbols_that_nobody_listed_are_refused_whatever_they_are() {
    let mut rig = Rig::new(&many(3), Flow::None);
    let mut client = rig.log_on("ALPHA");
    let hostile =
        ["S", "S99", "s9", "S9S9S9S9S9S9S9S9S9S9S9", "0", "*", "%s", "'--", "../S9", "S9,S6"];
    for (id, symbol) in (1..).zip(hostile) {
        let order = limit(id, Side::Buy, 1, "100.00");
        client.order(rig.now, &taut_fix::NewOrderSingle { symbol: text(symbol), ..order });
    }
    rig.until(&mut client, |client| client.reports.len() == hostile.len());
    assert!(client.reports.iter().all(|answer| matches!(answer,
        Answer::Report(report) if report.refusal == Some(1))));
    assert_eq!(client.texts[0], "Symbol S is not one of the 3 that are traded here");
    assert_eq!(rig.venue.counters().order_rejects, hostile.len() as u64);
}

#[test]
fn a_recording_is_the_first_instruments_and_the_others_have_their_crowd() {
    let rows = "34200.000000000,1,11,100,5853300,1\n34200.010000000,1,12,50,5853600,-1\n";
    let flow = LobsterFlow::parse("rows.csv", rows.as_bytes()).expect("a flow");
    let recorded = Flow::recorded(flow, Speed::Factor(1.0));
    let config = SyntheticConfig { level_count: 10, ..SyntheticConfig::default() };
    let others = Flow::crowd(Crowd::new(config, 1, &[1, 1]), 1_000);
    let mut rig = Rig::new(&many(3), Flow::Several(vec![recorded, others]));
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..30 {
        rig.poll();
        rig.advance(STEP);
    }
    assert_eq!(rig.venue.book().order_count(), 2);
    let counters = rig.venue.counters();
    assert!(rig.venue.flow_finished() && counters.flow_commands >= 30, "{counters:?}");
    for instrument in [3, 6] {
        assert!(rig.venue.book_of(InstrumentId(instrument)).is_some_and(|it| it.order_count() > 9));
    }
}

#[test]
fn a_replay_is_the_market_of_the_instrument_in_its_place() {
    let rows = "34200.000000000,1,11,100,5853300,1\n34200.010000000,1,12,50,5853600,-1\n";
    let config = many(3);
    let replay = ReplayFlow::of(&Capture::of("rows.csv", rows), "S3", config.instruments[2]);
    let replay = Flow::replay(replay.expect("a flow").in_place(2), Speed::Max);
    let crowd = crowd(1, &[1, 0, 0], 0);
    let mut rig = Rig::new(&config, Flow::Several(vec![replay, crowd]));
    let at_rest = rig.venue.book().state_hash();
    rig.venue.start_flow(rig.now.mono);
    rig.until_venue(|venue| venue.replay_ends(2) == 1);
    let orders = |number| rig.venue.book_of(InstrumentId(number)).map_or(0, |it| it.order_count());
    assert_eq!((orders(6), orders(3)), (0, 2));
    assert_eq!(rig.venue.book().state_hash(), at_rest, "a crowd of no commands rests");
    assert!(orders(9) > 9);
}

#[test]
fn instruments_that_cannot_be_told_apart_are_refused() {
    let [a, b, c] = <[Instrument; 3]>::try_from(instruments(3)).expect("three");
    let same_symbol = Instrument::new(InstrumentId(99), a.symbol(), a.tick(), a.lot());
    let same_number = Instrument::new(a.id(), c.symbol(), a.tick(), a.lot());
    for wrong in
        [vec![], vec![a, same_symbol.expect("valid")], vec![a, b, same_number.expect("valid")]]
    {
        let error = VenueConfig { instruments: wrong, ..config() }.check().expect_err("refused");
        let is_named = matches!(error, VenueError::Config { setting: "instruments", .. });
        assert!(is_named, "{error}");
    }
}
