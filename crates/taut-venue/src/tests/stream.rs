//! A recorded venue's own feed: its clients over WebSocket, and a trader beside them.

use taut_io::{AdmissionCounters, Completion, EpollKernel, EventLoop, Io, LoopConfig};
use taut_market_data::binance::{Applied, BinanceJson, DepthBook, FrameKind};
use taut_market_data::{Context, Event};
use taut_net::{WsEvent, WsStream};
use taut_recording::capture::Capture;
use taut_sys::{Address, Socket, StreamOptions};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, Side, Symbol};
use taut_ws::{ClientRequest, Connection, Seed, WsConfig, WsUrl};

use crate::flow::BinanceFlow;
use crate::orders::SESSIONS_MAX;
use crate::stream::CLIENTS_MAX;
use crate::tests::client::{Answer, Client, connect, limit};
use crate::tests::rig::{Rig, config, text};
use crate::{Flow, Speed, VenueConfig};

const ASK: &str = "{\"id\":1,\"method\":\"depth\",\"params\":{\"symbol\":\"BTCUSDT\"}}";
const ROUNDS_MAX: u32 = 2_000_000;

fn bitcoin() -> Instrument {
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    Instrument::new(InstrumentId(1), symbol, tick, Qty { mantissa: 1, decimals: 8 }).expect("valid")
}

/// A market that comes and goes for so many updates around 100.
fn capture(updates: u64) -> Capture {
    let mut frames = String::from(
        "1 {\"lastUpdateId\":10,\"bids\":[[\"100\",\"1\"]],\"asks\":[[\"101\",\"3\"]]}\n",
    );
    for id in 11..11 + updates {
        let (bid, ask) = (100 - id % 7, 101 + id % 5);
        frames.push_str(&format!(
            "{id} {{\"stream\":\"btcusdt@depth\",\"data\":{{\"e\":\"depthUpdate\",\
             \"E\":1723161255208,\
             \"s\":\"BTCUSDT\",\"U\":{id},\"u\":{id},\"b\":[[\"{bid}\",\"{}\"]],\
             \"a\":[[\"{ask}\",\"{}\"]]}}}}\n",
            id % 4,
            id % 3 + 1,
        ));
    }
    Capture::of("made up", frames)
}

/// A client that keeps the book as Binance says: the stream's frames, and the book once asked for.
struct Follower {
    events: EventLoop<EpollKernel>,
    stream: WsStream,
    api: WsStream,
    decoder: BinanceJson,
    book: DepthBook,
    frames: Vec<String>,
    has_asked: bool,
}

impl Follower {
    fn connect(at: &Address) -> Self {
        let kernel = EpollKernel::new(4).expect("a kernel");
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let mut open = |path: &str| {
            let (socket, _) = Socket::connect(at, &StreamOptions::default()).expect("connect");
            let io = events.io();
            let stream = io.adopt(socket).expect("a stream");
            let url = format!("ws://localhost{path}");
            let request = ClientRequest::new(&WsUrl::parse(&url).expect("a URL"));
            let seed = Seed::new([7; 16]);
            let connection = Connection::client(&WsConfig::default(), &request, seed, io.now());
            WsStream::client(io, stream, None, connection.expect("a client")).expect("a stream")
        };
        let (stream, api) = (open("/stream?streams=btcusdt@depth"), open("/ws-api/v3"));
        Self {
            events,
            stream,
            api,
            decoder: BinanceJson::new(BinanceJson::LEVELS_MAX, 8),
            book: DepthBook::new(64, 64),
            frames: Vec::new(),
            has_asked: false,
        }
    }

    fn pump(&mut self) {
        let Self { events, stream, api, frames, has_asked, .. } = self;
        let before = frames.len();
        let mut hear = |_: &mut taut_ws::Outbox, event: WsEvent<'_>| {
            if let WsEvent::Session(taut_ws::Event::Text(text)) = event {
                frames.push(text.to_owned());
            }
        };
        let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
            let _ =
                stream.handle(io, &completion, &mut hear) || api.handle(io, &completion, &mut hear);
        };
        events.poll(&mut handler).expect("a turn");
        if api.is_open() && stream.is_open() && !*has_asked {
            *has_asked = true;
            api.outbox().text(ASK).expect("room");
            api.flush(events.io());
        }
        let mut nobody = |_: &Applied| {};
        for frame in &self.frames[before..] {
            let mut sink = |context: &Context<'_>, event: &Event| {
                self.book.on_event(context, event, &mut nobody);
            };
            let kind = self.decoder.decode(Nanos(0), frame.as_bytes(), &mut sink);
            assert_ne!(kind.expect("a frame"), FrameKind::Other, "{frame}");
        }
    }

    fn levels(&self, side: Side) -> Vec<(Price, Lots)> {
        let mut levels: Vec<_> =
            self.book.book().iter(side).map(|level| (level.price, level.lots)).collect();
        levels.sort_unstable();
        levels
    }
}

fn rig(updates: u64) -> (Rig, Address) {
    let flow = BinanceFlow::of(&capture(updates), bitcoin()).expect("a flow");
    let config = VenueConfig { instruments: vec![bitcoin()], ..config() };
    Rig::with_stream(&config, Flow::binance(flow, Speed::Max))
}

#[test]
fn a_follower_has_the_venues_book_and_a_trader_trades_against_it() {
    const UPDATES: u64 = 3_000;
    let (mut rig, at) = rig(UPDATES);
    let mut follower = Follower::connect(&at);
    let mut trader = rig.log_on("TRADER");
    for round in 0.. {
        assert!(round < ROUNDS_MAX, "nobody followed");
        rig.poll();
        follower.pump();
        if rig.venue.stream_count() == 1 && follower.book.has_started() {
            break;
        }
    }
    rig.venue.start_flow(rig.now.mono);
    let mut orders = 0;
    for round in 0.. {
        assert!(round < ROUNDS_MAX, "{} frames came", follower.frames.len());
        rig.advance(Nanos::from_micros(50));
        rig.poll();
        follower.pump();
        trader.pump(rig.now);
        if round % 10 == 0 && orders < 100 && !rig.venue.flow_finished() {
            orders += 1;
            let side = if orders % 2 == 0 { Side::Buy } else { Side::Sell };
            let price = if side == Side::Buy { "110" } else { "90" };
            let order = limit(orders, side, 1_000, price);
            trader.order(rig.now, &taut_fix::NewOrderSingle { symbol: text("BTCUSDT"), ..order });
        }
        let all = UPDATES as usize + 1;
        if rig.venue.flow_finished() && follower.frames.len() == all && orders == 100 {
            break;
        }
        if rig.venue.flow_finished() {
            orders = 100;
        }
    }
    assert!(!follower.book.is_stale());
    assert_eq!(follower.book.counters().gaps, 0);
    for side in Side::BOTH {
        let price = |price| bitcoin().price(price).expect("a price");
        let mut venue: Vec<_> =
            rig.venue.book().levels(side).map(|level| (price(level.price), level.lots)).collect();
        venue.sort_unstable();
        assert_eq!(venue, follower.levels(side), "{side:?}");
    }
    let fills = |client: &Client| {
        let is_fill =
            |answer: &&Answer| matches!(answer, Answer::Report(report) if report.last.is_some());
        client.reports.iter().filter(is_fill).count()
    };
    assert!(fills(&trader) > 10, "{:?}", trader.reports);
    assert_eq!(rig.venue.counters().flow_rejects, 0);
}

#[test]
fn who_gave_way_is_counted_at_the_listener_that_it_came_to() {
    let (mut rig, at) = rig(1);
    let mut silent = Vec::new();
    for (at, count) in [(at, CLIENTS_MAX + 3), (rig.orders_at, SESSIONS_MAX + 2)] {
        for _ in 0..count {
            silent.push(connect(&at));
            rig.poll();
        }
    }
    let counters = rig.venue.counters();
    let counts = |it: AdmissionCounters| (it.admitted, it.evicted, it.turned_away());
    assert_eq!(counts(counters.stream_connections), (CLIENTS_MAX as u64 + 3, 3, 3));
    let sessions_max = SESSIONS_MAX as u64;
    assert_eq!(counts(counters.order_connections), (sessions_max + 2, 2, 2));
    let words = counters.order_connections.to_string();
    assert_eq!(words, "0 beyond the slots, 2 gave way, 0 were late");
}

#[test]
fn a_client_that_comes_late_joins_by_the_book_that_it_asks_for() {
    let (mut rig, at) = rig(500);
    rig.venue.start_flow(rig.now.mono);
    let mut follower = None;
    for round in 0.. {
        assert!(round < ROUNDS_MAX, "the book never was the venue's");
        rig.advance(Nanos::from_micros(50));
        rig.poll();
        if rig.venue.counters().flow_commands > 200 {
            follower.get_or_insert_with(|| Follower::connect(&at)).pump();
        }
        if let Some(follower) = &follower
            && follower.book.has_started()
            && rig.venue.flow_finished()
        {
            // It came too late for the last frames, or has them all.
            assert!(!follower.book.is_stale());
            break;
        }
    }
}
