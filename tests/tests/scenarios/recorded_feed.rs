//! Another venue's market data through the same gateway: a recording of Binance's streams is what
//! the strategy trades on, and the orders go to a venue of ours.

use taut_gateway::{
    FeedInput, FusedClient, Gateway, GatewayConfig, Regions, TouchConfig, TouchStrategy,
};
use taut_ipc::Segment;
use taut_market_data::binance::{BinanceConfig, BinanceFeed, BinanceJson, DepthBook};
use taut_market_data::{Context, Event, EventKind, FeedRequest, Source};
use taut_recording::capture::Capture;
use taut_testkit::Deadline;
use taut_tests::data::{BINANCE_SPOT, shared};
use taut_tests::lockstep::{START, clock, standing_at};
use taut_tests::recording::{Notice, Recorded};
use taut_tests::setup::{feed, gateway_config, open_venue, synthetic_flow, venue_config};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Symbol};
use taut_venue::{Now, VenueConfig};

/// The gateway's number of it; Binance has a symbol.
const ID: InstrumentId = InstrumentId(0);

fn instrument() -> Instrument {
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    let lot = Qty { mantissa: 1, decimals: BinanceJson::SIZE_DECIMALS };
    Instrument::new(ID, symbol, tick, lot).expect("an instrument")
}

/// The time for the venue, on the clocks of the gateway.
fn at_time(mono: Nanos) -> Now {
    Now { mono, utc: clock().utc_at(mono) }
}

#[test]
fn a_recording_of_binance_trades_through_the_gateway_that_taut_s_own_feed_trades_through() {
    let Some(path) = shared(BINANCE_SPOT) else { return };
    let capture = Capture::read(&path).expect("a capture");
    let segment = Segment::create("recorded-feed", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");

    let (output, _sockets) = feed();
    let venue_config = VenueConfig { instruments: vec![instrument()], ..venue_config() };
    let (mut venue, at) = open_venue(&venue_config, synthetic_flow(1, 1), output);
    let config =
        GatewayConfig { instruments: vec![instrument()], hot: false, ..gateway_config(at) };
    let touch = TouchConfig { orders_per_second: 100, lots: Lots(10), ..TouchConfig::default() };
    let client = Recorded::new(FusedClient::new(TouchStrategy::new(touch, START)));
    let handler =
        BinanceFeed::new(&BinanceConfig::new(instrument()), START).expect("a lot of 1e-8");
    let mut gateway =
        Gateway::new(&config, clock(), FeedInput::HandedOver, handler, client, &regions)
            .expect("a gateway");
    let deadline = Deadline::default();
    while gateway.counters().logged_on == 0 {
        venue.poll(at_time(START)).expect("the venue goes on");
        gateway.poll().expect("the gateway goes on");
        deadline.check("a session", || format!("{:?}", gateway.counters()));
    }

    // The same frames into a decoder and a book, without a gateway around them.
    let (mut decoder, mut book) = (BinanceJson::default(), DepthBook::new(1 << 16, 1 << 12));
    let (mut first, mut now, mut requests) = (None, START, 0);
    for (count, frame) in capture.frames().enumerate() {
        let frame = frame.expect("a frame");
        let mut sink = |context: &Context<'_>, event: &Event| {
            book.on_event(context, event, &mut |_| {});
        };
        decoder.decode(frame.received, frame.bytes, &mut sink).expect("a frame of Binance's");

        now = START + frame.received.since(*first.get_or_insert(frame.received));
        gateway.clock_mut().set_mapping(standing_at(now));
        // The capture has the answer to the one request that is made.
        let is_snapshot = frame.bytes.starts_with(b"{\"lastUpdateId\"");
        let source = if is_snapshot { Source::SNAPSHOT } else { Source::LINE_A };
        gateway.handle_frame(source, frame.bytes).expect("the gateway goes on");
        while let Some(request) = gateway.poll_feed_request() {
            assert_eq!(request, FeedRequest::Snapshot(ID));
            requests += 1;
        }
        if count.is_multiple_of(16) {
            venue.poll(at_time(now)).expect("the venue goes on");
            while gateway.poll_one().expect("the gateway goes on") {}
            gateway.housekeeping().expect("the gateway goes on");
        }
    }
    gateway.client_mut().stop(now);
    while !gateway.client().is_idle() || gateway.counters().unanswered > 0 {
        now = now + Nanos::from_millis(1);
        gateway.clock_mut().set_mapping(standing_at(now));
        venue.poll(at_time(now)).expect("the venue goes on");
        while gateway.poll_one().expect("the gateway goes on") {}
        gateway.housekeeping().expect("the gateway goes on");
        deadline.check("an idle strategy", || format!("{:?}", gateway.counters()));
    }

    let counters = gateway.counters();
    println!("{counters:?}, {requests} requests");
    assert_eq!(
        (counters.live, counters.gaps, counters.snapshots, counters.malformed),
        (1, 0, 1, 0)
    );
    let own = gateway.book(ID).expect("a book");
    assert_eq!(own.state_hash(), book.book().state_hash());
    assert!(requests >= 1);
    assert!(counters.orders > 50, "{}", counters.orders);
    assert_eq!(counters.orders, counters.acks + counters.order_rejects);
    assert_eq!(counters.order_rejects, 0);

    // What the strategy was told names the instrument and both times.
    let events = gateway.client().notices.iter().filter_map(|(_, notice)| match notice {
        Notice::Market(_, events) => Some(events),
        _ => None,
    });
    let (mut told, mut tops) = (0, 0);
    for event in events.flatten() {
        told += 1;
        assert!(event.instrument == ID && event.receive_time >= START);
        if let EventKind::Trade(_) = event.kind {
            assert!(event.exchange_time > Nanos::from_secs(1_700_000_000));
        }
        tops += u64::from(matches!(event.kind, EventKind::Top(_)));
    }
    println!("{told} events, {tops} tops");
    assert!(told > 10_000 && tops > 500);
}
