//! A recorded Binance market end to end: the venue's book is the recorded one, its frames go out as
//! they were recorded, and a gateway with Binance's handler trades there.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_gateway::{
    FeedInput, FeedStreams, FusedClient, Gateway, GatewayConfig, Regions, SnapshotLimits,
    StreamAddress, TouchConfig, TouchStrategy,
};
use taut_ipc::Segment;
use taut_market_data::FeedHandler;
use taut_market_data::binance::{BinanceConfig, BinanceFeed};
use taut_sys::{Address, Anchoring, Clock, Socket, StreamOptions, monotonic, utc};
use taut_testkit::Deadline;
use taut_tests::data::shared;
use taut_tests::setup::{feed, gateway_config, venue_config};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};
use taut_venue::flow::BinanceFlow;
use taut_venue::{Flow, Now, Speed, Venue, VenueConfig, VenueSockets};

const RECORDING: &str = "binance/spot_btcusdt_20240808.gz";

fn bitcoin() -> Instrument {
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    Instrument::new(InstrumentId(0), symbol, tick, Qty { mantissa: 1, decimals: 8 }).expect("valid")
}

fn listen() -> (Socket, SocketAddrV4) {
    let any = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)));
    let socket = Socket::listen(&any, &StreamOptions::default()).expect("a port");
    match socket.local_address() {
        Ok(Address::Inet(SocketAddr::V4(at))) => (socket, at),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gateway_trades_in_a_recorded_binance_market() {
    let Some(path) = shared(RECORDING) else { return };
    let flow = BinanceFlow::read(&path, bitcoin()).expect("a flow");
    let (orders, orders_at) = listen();
    let (stream, stream_at) = listen();
    // Nobody listens to the venue's own feed.
    let (output, _sockets) = feed();
    let sockets = VenueSockets { orders: orders.into(), feed: output, stream: Some(stream.into()) };
    let config = VenueConfig { instruments: vec![bitcoin()], ..venue_config() };
    let mut venue = Venue::new(&config, sockets, Flow::binance(flow, Speed::Max)).expect("a venue");

    let segment = Segment::create("recorded-binance", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let clock = Clock::new(Anchoring::start().mapping());
    let habits =
        TouchConfig { orders_per_second: 20_000, lots: Lots(100), rest: Nanos::from_millis(1) };
    let client = FusedClient::new(TouchStrategy::new(habits, clock.now()));
    let at =
        |path: &str| StreamAddress::new(SocketAddr::V4(stream_at), format!("ws://localhost{path}"));
    let input = FeedInput::Streams(FeedStreams {
        books: Vec::new(),
        stream: at("/stream?streams=btcusdt@depth@100ms"),
        snapshot: at("/ws-api/v3"),
        figures: None,
        snapshot_requests: vec!["{\"id\":1,\"method\":\"depth\"}".to_owned()],
        snapshot_limits: SnapshotLimits::of_levels(100),
        symbols: None,
        silence: Nanos::from_secs(10),
        renewed_after: FeedStreams::RENEWED_AFTER,
        tls: None,
    });
    let handler = BinanceFeed::new(&BinanceConfig::new(bitcoin()), clock.now()).expect("a handler");
    let config = GatewayConfig {
        instruments: vec![bitcoin()],
        hot: false,
        ..gateway_config(taut_tests::setup::VenueAddresses { orders: orders_at })
    };
    let mut gateway =
        Gateway::new(&config, clock, input, handler, client, &regions).expect("a gateway");

    let turn = |venue: &mut Venue, gateway: &mut Gateway<'_, _, BinanceFeed>| {
        venue.poll(Now { mono: monotonic(), utc: utc() }).expect("the venue goes on");
        gateway.poll().expect("the gateway goes on");
        gateway.housekeeping().expect("the gateway goes on");
    };
    let deadline = Deadline::default();
    while !gateway.is_ready() {
        turn(&mut venue, &mut gateway);
        deadline.check("the gateway never was ready", || format!("{:?}", gateway.counters()));
    }
    venue.start_flow(monotonic());
    let deadline = Deadline::default();
    while !venue.flow_finished() {
        turn(&mut venue, &mut gateway);
        deadline.check("the recording never ended", || format!("{:?}", gateway.counters()));
    }
    gateway.client_mut().stop();
    let deadline = Deadline::default();
    let has_all = |gateway: &Gateway<'_, _, BinanceFeed>| {
        let book = gateway.book(InstrumentId(0)).expect("a book");
        Side::BOTH.into_iter().all(|side| book.level_count(side) > 0)
            && gateway.counters().unanswered == 0
    };
    while !(gateway.client().is_at_rest()
        && has_all(&gateway)
        && venue.flow_finished()
        && same_levels(&venue, &gateway))
    {
        turn(&mut venue, &mut gateway);
        deadline.check("the gateway never came to rest", || format!("{:?}", gateway.counters()));
    }
    let (counters, depth) = (gateway.counters(), gateway.feed().counters());
    println!("{counters:?}\n{:?}", venue.counters());
    assert!(counters.fills > 100, "{counters:?}");
    assert_eq!((counters.gaps, counters.malformed, depth.silences), (0, 0, 0), "{counters:?}");
    assert_eq!(counters.orders, counters.acks + counters.order_rejects, "{counters:?}");
    assert_eq!(venue.counters().flow_rejects, 0);
}

/// Whether the gateway's book, which the frames made, is the venue's.
fn same_levels<C>(venue: &Venue, gateway: &Gateway<'_, C, BinanceFeed>) -> bool
where
    C: taut_gateway::Client,
{
    let book = gateway.book(InstrumentId(0)).expect("a book");
    Side::BOTH.into_iter().all(|side| {
        let theirs = venue
            .book()
            .levels(side)
            .map(|level| (bitcoin().price(level.price).expect("a price"), level.lots));
        theirs.eq(book.iter(side).map(|level| (level.price, level.lots)))
    })
}
