//! Packets of taut's own feed through gateway, book and a fused strategy, to be counted:
//! `valgrind --tool=callgrind feed_cost COUNT`, twice with different counts; the difference is the
//! packets' own, with what it takes to make them.

use std::hint::black_box;
use std::net::{SocketAddr, SocketAddrV4, TcpListener};

use taut_fix::CompId;
use taut_gateway::{FeedInput, FusedClient, Gateway, GatewayConfig, Regions, Strategy, Trading};
use taut_ipc::Segment;
use taut_market_data::native::{
    Levels, Message, NativeConfig, NativeFeed, PACKET_BYTES_MAX, PacketFlags, PacketHeader,
    PacketWriter, SnapshotBegin, SnapshotLevels, SnapshotPart,
};
use taut_market_data::{BookOrder, Event, EventKind, LevelPlace, LevelUpdate, Source, Trade};
use taut_sys::{Clock, TickMapping};
use taut_types::{
    Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Qty, SequenceNumber, Side, Symbol,
};

const INSTRUMENT: InstrumentId = InstrumentId(0);
/// Of a side.
const LEVELS: i64 = 50;

/// Looks at every event and never trades.
#[derive(Default)]
struct Sum {
    events: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, value: i64) {
        self.hash = self.hash.wrapping_mul(31).wrapping_add(value.cast_unsigned());
    }
}

impl Strategy for Sum {
    fn on_market(&mut self, _now: Nanos, event: &Event, _trading: &mut impl Trading) {
        self.events += 1;
        match event.kind {
            EventKind::Top(top) => {
                for (price, lots) in [top.bid, top.ask].into_iter().flatten() {
                    self.add(price.0 ^ lots.0);
                }
            }
            EventKind::Level(level) => {
                let LevelPlace::Behind(depth) = level.place else { return };
                self.add(level.price.0 ^ level.lots.0 ^ i64::from(depth));
            }
            EventKind::Trade(trade) => self.add(trade.price.0 ^ trade.lots.0),
            _ => {}
        }
    }
}

type Counted<'m> = Gateway<'m, FusedClient<Sum>, NativeFeed>;

fn open<'m>(regions: &Regions<'m>, order_address: SocketAddrV4) -> Counted<'m> {
    let share = Qty { mantissa: 1, decimals: 0 };
    let symbol = Symbol::new(b"AAPL").expect("a symbol");
    let instrument = Instrument::new(INSTRUMENT, symbol, Price(10_000_000), share);
    let name = |name: &[u8]| CompId::new(name).expect("a name");
    let config = GatewayConfig {
        instruments: vec![instrument.expect("an instrument")],
        order_address,
        sender_comp_id: name(b"GATEWAY"),
        target_comp_id: name(b"VENUE"),
        heartbeat_interval: Nanos::from_secs(5),
        session: taut_gateway::SessionSettings::default(),
        order_capacity: 1 << 10,
        risk: GatewayConfig::default_risk().into(),
        hot: true,
        keeps_warm: true,
    };
    let feed = NativeConfig {
        instruments: &config.instruments,
        stream_id: Some(7),
        level_capacity: 1 << 13,
        has_retransmission: false,
    };
    // It stands still: a count is no matter of time.
    let clock = Clock::new(TickMapping::from_words([0, 0, 1_000_000_000, 0, 0]));
    let feed = NativeFeed::new(&feed, clock.now()).expect("one instrument");
    let client = FusedClient::new(Sum::default());
    Gateway::new(&config, clock, FeedInput::HandedOver, feed, client, regions).expect("a gateway")
}

fn header(sequence: u64, flags: PacketFlags) -> PacketHeader {
    let sequence = SequenceNumber(sequence);
    PacketHeader { sequence, flags, sending_time: Nanos(1), stream_id: 7, message_count: 0 }
}

fn level(side: Side, depth: i64, lots: i64) -> LevelUpdate {
    let price = Price(585_330_000_000 - side.sign() * (depth + 1) * 10_000_000);
    LevelUpdate { side, price, lots: Lots(lots), order_count: 3, place: LevelPlace::ByPrice }
}

/// A book to begin with.
fn snapshot() -> Vec<Vec<u8>> {
    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    let mut packet = |message: Message<'_>| {
        writer.begin(header(1, PacketFlags::SNAPSHOT)).expect("a packet");
        writer.push(&message).expect("room");
        writer.finish().to_vec()
    };
    let mut packets = vec![packet(Message::SnapshotBegin(SnapshotBegin {
        last_sequence: SequenceNumber(0),
        snapshot_id: 1,
        instrument: INSTRUMENT,
        level_count: 2 * LEVELS as u32,
        order_count: 0,
        packet_count: 4,
    }))];
    for (packet_index, side) in (1..).zip(Side::BOTH) {
        let levels: Vec<_> = (0..LEVELS).map(|depth| level(side, depth, 10)).collect();
        let part = SnapshotPart { snapshot_id: 1, packet_index, instrument: INSTRUMENT };
        let levels = SnapshotLevels { part, levels: Levels::new(&levels) };
        packets.push(packet(Message::SnapshotLevels(levels)));
    }
    packets
}

/// What an order does to the feed: it rests, leaves, or trades through a level.
#[inline(never)]
fn tick(writer: &mut PacketWriter<[u8; PACKET_BYTES_MAX]>, number: u64) -> &[u8] {
    let side = if number.is_multiple_of(2) { Side::Buy } else { Side::Sell };
    let depth = (number * 7 % 11).cast_signed();
    let total = |modulo: u64| (number % modulo).cast_signed() + 1;
    let (order_id, lots) = (OrderId(number), Lots(1));
    let changed = |depth, lots| EventKind::Level(level(side, depth, lots));
    let price = level(side, depth, 0).price;
    let added = EventKind::OrderAdd(BookOrder { order_id, side, price, lots, priority: 0 });
    let deleted = EventKind::OrderDelete { order_id, side };
    let _ = writer.begin(header(number, PacketFlags::LAST));
    let mut push = |kind| writer.push(&Message::Event(INSTRUMENT, kind)).expect("room");
    match number % 4 {
        0 | 1 => {
            push(added);
            push(changed(depth, total(100)));
        }
        2 => {
            push(deleted);
            push(changed(depth, total(90)));
        }
        _ => {
            push(EventKind::Trade(Trade {
                trade_id: number,
                price: level(side, 0, 0).price,
                lots,
                aggressor: Some(side.opposite()),
                resting_order: order_id,
            }));
            push(deleted);
            push(changed(0, total(80)));
            push(changed(1, total(70)));
        }
    }
    writer.finish()
}

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let segment = Segment::create("feed-cost", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    // Somebody to connect to, who never answers.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let Ok(SocketAddr::V4(at)) = listener.local_addr() else { return };
    let mut gateway = open(&regions, at);
    for packet in snapshot() {
        gateway.handle_frame(Source::SNAPSHOT, &packet).expect("a gateway that goes on");
    }
    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    for number in 1..=count {
        let datagram = black_box(tick(&mut writer, number));
        gateway.handle_frame(Source::LINE_A, datagram).expect("a gateway that goes on");
    }
    let told = gateway.client().strategy();
    let counters = gateway.counters();
    assert_eq!((counters.ticks, counters.live), (count, 1));
    println!("{count} packets, {} events, hash {:016x}", told.events, told.hash);
}
