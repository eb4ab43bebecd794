//! Binance's streams over hours of virtual time: many symbols within the venue's limits, and
//! connections that are renewed before they end.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;

use taut_fix::{CompId, Now};
use taut_fix_engine::Credentials;
use taut_gateway::{
    BinanceOrderSettings, BinanceWs, FeedInput, FeedStreams, FusedClient, Gateway, GatewayConfig,
    GatewayCounters, OrderUpdate, Regions, SessionSettings, SnapshotLimits, Strategy,
    StreamAddress, Trading, Transport,
};
use taut_io::{SimConfig, SimHost, SimNetwork};
use taut_ipc::Segment;
use taut_market_data::binance::{BinanceConfig, BinanceFeeds};
use taut_market_data::{Event, EventKind, Soundness};
use taut_order_entry::sign::Ed25519Key;
use taut_runner::wires;
use taut_sys::Clock;
use taut_tests::setup::{VenueAddresses, base64, gateway_config};
use taut_types::{HalfTicks, Instrument, InstrumentId, Nanos, Price, Qty, Side, Symbol};
use taut_venue::flow::{Crowd, SyntheticConfig};
use taut_venue::{Flow, Venue, VenueConfig};
use taut_web_venue::binance::{Binance, BinanceSettings};
use taut_web_venue::{ApiKeySettings, BinanceAccountSettings, SymbolMarket, SymbolSettings};
use taut_web_venue::{Door, DoorConfig, Faults, Faulty};

const AT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8_080);
const TURN: Nanos = Nanos::from_millis(50);
const EPOCH: Nanos = Nanos::from_secs(1_767_225_600);
const SEED: [u8; 32] = [3; 32];
/// Half a dollar.
const TICK: Price = Price(500_000_000);

/// Counts the books that it is told of as sound and as stale.
#[derive(Clone, Default)]
struct Told {
    sound: Rc<Cell<u64>>,
    stale: Rc<Cell<u64>>,
}

impl Strategy for Told {
    fn on_market(&mut self, _now: Nanos, event: &Event, _trading: &mut impl Trading) {
        let count = match event.kind {
            EventKind::Book(Soundness::Sound) => &self.sound,
            EventKind::Book(Soundness::Stale(_)) => &self.stale,
            _ => return,
        };
        count.set(count.get() + 1);
    }

    fn on_order(&mut self, _now: Nanos, _update: &OrderUpdate, _trading: &mut impl Trading) {}
}

fn name(number: usize) -> String {
    format!("COIN{number}USDT")
}

fn instrument(number: usize) -> Instrument {
    let symbol = Symbol::new(name(number).as_bytes()).expect("short");
    let lot = Qty { mantissa: 1, decimals: 3 };
    Instrument::new(InstrumentId(number as u32), symbol, TICK, lot).expect("an instrument")
}

fn settings(symbols: usize) -> BinanceSettings {
    let market = |number| SymbolSettings {
        name: name(number),
        market: SymbolMarket::SpotMarket,
        base: format!("COIN{number}"),
        quote: "USDT".to_owned(),
        tick: "0.5".to_owned(),
        max_price: "1000000".to_owned(),
        step: "0.001".to_owned(),
        max_quantity: "9000".to_owned(),
        min_notional: "5".to_owned(),
        max_orders: 200,
        start_price: "43000".to_owned(),
        weight: 1,
    };
    // RFC 8410: an Ed25519 key's twelve bytes, and the key.
    let mut public = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    public.extend(Ed25519Key::new(&SEED).public());
    let key = ApiKeySettings {
        id: "one".to_owned(),
        secret: None,
        public_key: Some(base64(&public)),
        read_only: false,
    };
    let account = BinanceAccountSettings {
        name: "one".to_owned(),
        keys: vec![key],
        balances: [("USDT".to_owned(), "1000000".to_owned())].into(),
        maker_commission: "0".to_owned(),
        taker_commission: "0".to_owned(),
        orders_per_10s: 1_000,
        orders_per_day: 1_000_000,
    };
    BinanceSettings { instruments: (0..symbols).map(market).collect(), accounts: vec![account] }
}

fn config(symbols: usize) -> GatewayConfig {
    let url = "ws://localhost/ws-api/v3".to_owned();
    GatewayConfig {
        instruments: (0..symbols).map(instrument).collect(),
        hot: false,
        keeps_warm: false,
        order_capacity: 256,
        session: SessionSettings {
            transport: Transport::WebSocket { url, tls: None },
            credentials: Some(Credentials::Binance { api_key: "one".to_owned(), seed: SEED }),
            waits_for_venue: true,
            ..SessionSettings::default()
        },
        ..gateway_config(VenueAddresses { orders: AT })
    }
}

fn feed(symbols: usize, renewed_after: Nanos, now: Nanos) -> (FeedInput, BinanceFeeds) {
    let at = |url: String| StreamAddress::new(SocketAddr::V4(AT), url);
    let channel = |number| format!("{}@depth@100ms", name(number).to_lowercase());
    let channels: Vec<String> = (0..symbols).map(channel).collect();
    let request = |number| {
        let params = format!("{{\"symbol\":\"{}\",\"limit\":1000}}", name(number));
        format!("{{\"id\":{number},\"method\":\"depth\",\"params\":{params}}}")
    };
    let input = FeedInput::Streams(FeedStreams {
        stream: at(format!("ws://localhost/stream?streams={}", channels.join("/"))),
        snapshot: at("ws://localhost/ws-api/v3".to_owned()),
        figures: None,
        snapshot_requests: (0..symbols).map(request).collect(),
        books: Vec::new(),
        snapshot_limits: SnapshotLimits::of_levels(1_000),
        symbols: None,
        silence: Nanos::from_secs(20),
        renewed_after,
        tls: None,
    });
    let names: Vec<String> = (0..symbols).map(name).collect();
    let config = |number| BinanceConfig {
        level_capacity: 1_024,
        updates_kept_max: 1 << 12,
        silence: Nanos::from_secs(600),
        snapshot_limit: Some(1_000),
        ..BinanceConfig::new(instrument(number))
    };
    let configs: Vec<_> = names.iter().zip(0..).map(|(it, at)| (it.as_str(), config(at))).collect();
    (input, BinanceFeeds::new(&configs, now).expect("feeds"))
}

/// The venue, and a gateway that follows its books.
struct World<'m> {
    network: SimNetwork,
    venue: Venue<SimHost, Door<Faulty<Binance>>>,
    gateway: Gateway<'m, FusedClient<Told>, BinanceFeeds, SimHost, (), BinanceWs>,
    told: Told,
}

impl<'m> World<'m> {
    /// The venue ends connections of this age, and the gateway renews them at that one.
    fn open(symbols: usize, (life, renewed_after): (Nanos, Nanos), regions: &Regions<'m>) -> Self {
        let behaviour = SimConfig { window_bytes: 1 << 20, look_ns: 100, ..SimConfig::default() };
        let [venue_host, gateway_host] = SimHost::pair([32; 2], behaviour);
        let network = gateway_host.network();
        // Time 0 means that there is none.
        network.pass(Nanos::from_secs(1));
        let door =
            DoorConfig { plain: vec![AT.into()], connections_max: 16, ..DoorConfig::default() };
        let instruments = (0..symbols).map(instrument).collect();
        let config = VenueConfig {
            order_capacity: 1 << 12,
            level_capacity: 1 << 11,
            observer_sources: Door::<Faulty<Binance>>::sources(&door),
            ..VenueConfig::new(instruments, CompId::new(b"VENUE").expect("one"), 1)
        };
        let market = SyntheticConfig {
            level_count: 8,
            orders_per_level: 1,
            start_price: HalfTicks(2 * 2 * 43_000),
            ..SyntheticConfig::default()
        };
        let flow = Flow::crowd(Crowd::new(market, 0, &vec![1; symbols]), 200);
        let front = Binance::new(&settings(symbols)).expect("settings").with_life(life);
        let front = Door::new(Faulty::new(front, Faults::default()), door);
        let venue = Venue::on_kernel(venue_host, &config, wires::venue_sockets(), flow)
            .and_then(|venue| venue.with_observer(front));
        let mut venue = venue.expect("a venue");
        venue.start_flow(network.now());
        let clock = clock_at(network.now());
        let gateway_config = self::config(symbols);
        let orders = BinanceWs::new(&gateway_config, BinanceOrderSettings::default());
        let (input, feed) = feed(symbols, renewed_after, clock.now());
        let told = Told::default();
        let gateway = Gateway::with_handlers(
            gateway_host,
            &gateway_config,
            clock,
            input,
            (feed, orders.expect("a key")),
            FusedClient::new(told.clone()),
            regions,
        );
        Self { network, venue, gateway: gateway.expect("a gateway"), told }
    }

    fn turn(&mut self) {
        self.network.pass(TURN);
        let mono = self.network.now();
        self.venue.poll(Now { mono, utc: EPOCH + mono }).expect("the venue goes on");
        for _ in 0..64 {
            *self.gateway.clock_mut() = clock_at(self.network.now());
            if !self.gateway.poll_one().expect("the gateway goes on") {
                break;
            }
        }
        self.gateway.housekeeping().expect("the gateway goes on");
    }

    fn pass(&mut self, span: Nanos) {
        let end = self.network.now() + span;
        while self.network.now() < end {
            self.turn();
        }
    }

    fn until_sound(&mut self, symbols: usize, patience: Nanos) {
        let end = self.network.now() + patience;
        while self.told.sound.get() < symbols as u64 {
            let (now, sound) = (self.network.now(), self.told.sound.get());
            assert!(now < end, "{sound} books are sound; {:?}", self.counters());
            self.turn();
        }
    }

    fn counters(&self) -> GatewayCounters {
        self.gateway.counters()
    }

    fn refused_by_weight(&self) -> u64 {
        self.venue.observer().front().front().refused_by_weight()
    }
}

fn clock_at(now: Nanos) -> Clock {
    Clock::standing_at(now, EPOCH + now)
}

const NEVER: (Nanos, Nanos) = (Nanos::from_secs(86_400), Nanos::from_secs(86_400));

#[test]
fn the_books_of_a_hundred_symbols_come_and_the_venue_refuses_no_request() {
    let memory = Segment::create("binance-streams", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&memory).expect("regions");
    let mut world = World::open(100, NEVER, &regions);
    let start = world.network.now();
    // Twenty at once, and then one each 3.4 seconds: 50 of 1,900 in any minute.
    world.until_sound(100, Nanos::from_secs(400));
    let took = world.network.now().since(start);
    assert!(took > Nanos::from_secs(200), "5,000 of weight left within {took:?}");
    assert_eq!(world.refused_by_weight(), 0);
    assert_eq!(world.counters().retransmit_requests, 100, "each book was asked for once");
    let top = world.gateway.book(InstrumentId(99)).and_then(|book| book.level(Side::Buy, 0));
    assert!(top.is_some());
}

#[test]
fn a_stream_is_renewed_before_it_ends_and_no_book_becomes_stale() {
    let (long, short) = (Nanos::from_secs(3_600), Nanos::from_secs(80));
    // By its age, and by the word of the venue a minute before the end.
    for (case, times) in [(long, short), (short, long)].iter().enumerate() {
        let memory = Segment::create("binance-renewed", &Regions::LAYOUT).expect("a segment");
        let regions = Regions::of(&memory).expect("regions");
        let mut world = World::open(3, *times, &regions);
        world.until_sound(3, Nanos::from_secs(30));
        world.pass(Nanos::from_secs(200));
        let counters = world.counters();
        let lines = [counters.line_a, counters.line_b];
        assert!(lines.iter().all(|frames| *frames > 300), "{lines:?}");
        assert_eq!(world.told.stale.get(), 0, "case {case}");
        let GatewayCounters { gaps, retransmit_requests, malformed, .. } = counters;
        assert_eq!((gaps, retransmit_requests, malformed), (0, 3, 0), "case {case}");
    }
}
