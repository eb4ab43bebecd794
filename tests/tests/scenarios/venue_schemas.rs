//! The decoders of venues' market data beside the venues' own schemas, which lie beside the
//! repository: the layouts are the same, and messages laid out by the venue's schema are read.

use std::path::Path;

use taut_market_data::binance::{FrameKind, decode_stream};
use taut_market_data::mdp3::{Cell, PlacedBook, decode_packet};
use taut_market_data::{
    BestPrices, Context, Event, EventKind, InstrumentKey, Instruments, MarketDataError,
    SessionStatistics, TradingStatus,
};
use taut_sbe_gen::{Body, Schema};
use taut_tests::venue_message::{Named, VenueMessage};
use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price, Side, Symbol};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn own(name: &str) -> Schema {
    let path = Path::new(ROOT).join("crates/taut-market-data/schema").join(name);
    Schema::read(&path).expect("a schema")
}

fn venue(name: &str) -> Option<Schema> {
    let path = Path::new(ROOT).join("../shared/schemas").join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(Schema::read(&path).expect("a schema"))
}

/// What is read stands where the venue has it.
fn same_body(ours: &Body, theirs: &Body, place: &str) {
    assert_eq!(ours.block_length, theirs.block_length, "{place}");
    for field in &ours.fields {
        let found = theirs.fields.iter().find(|other| other.id == field.id && other.size > 0);
        let other = found.unwrap_or_else(|| panic!("{place}.{} is not there", field.name));
        let at = |field: &taut_sbe_gen::Field| (field.offset, field.size);
        assert_eq!(at(field), at(other), "{place}.{}", field.name);
    }
    // Groups are found by what stands before them: ours are the first of theirs.
    for (group, other) in ours.groups.iter().zip(&theirs.groups) {
        let place = format!("{place}.{}", group.name);
        assert_eq!(group.id, other.id, "{place}");
        let layout = |group: &taut_sbe_gen::Group| {
            let dimension = &group.dimension;
            let slot = |slot: &taut_sbe_gen::Slot| (slot.offset, slot.primitive.bytes());
            (dimension.size, slot(&dimension.block_length), slot(&dimension.count))
        };
        assert_eq!(layout(group), layout(other), "{place}");
        same_body(&group.body, &other.body, &place);
    }
    assert!(ours.groups.len() <= theirs.groups.len(), "{place}");
    for (data, other) in ours.data.iter().zip(&theirs.data) {
        assert_eq!((data.id, data.data_offset), (other.id, other.data_offset), "{place}");
    }
}

#[test]
fn what_is_read_stands_where_the_venues_schemas_have_it() {
    for (ours, theirs) in
        [("binance-spot-stream.xml", "stream_1_0.xml"), ("cme-mdp3.xml", "cme-mdp3-v9.xml")]
    {
        let ours = own(ours);
        let Some(theirs) = venue(theirs) else { return };
        assert_eq!((ours.id, ours.version), (theirs.id, theirs.version));
        for message in &ours.messages {
            let found = theirs.messages.iter().find(|other| other.id == message.id);
            let other = found.unwrap_or_else(|| panic!("template {} is not there", message.id));
            same_body(&message.body, &other.body, &message.name);
        }
        println!("{} templates are laid out alike", ours.messages.len());
    }
}

/// Events with their instruments and sequences, as text.
fn stream_events(message: &[u8]) -> Result<(FrameKind, Vec<(u64, EventKind)>), MarketDataError> {
    let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
    let instruments = Instruments::new(&[(symbol, InstrumentId(7))]);
    let mut told = Vec::new();
    let mut sink = |context: &Context<'_>, event: &Event| {
        assert_eq!(context.instrument, InstrumentKey::Symbol(b"BTCUSDT"));
        assert_eq!(event.exchange_time, Nanos::from_micros(1_723_161_256_298_001));
        assert_eq!(event.instrument, InstrumentId(7));
        told.push((context.sequence.last, event.kind));
    };
    decode_stream(Nanos(5), message, 8, &instruments, &mut sink).map(|kind| (kind, told))
}

const HEAD: [Named<'static>; 3] =
    [("eventTime", 1_723_161_256_298_001), ("priceExponent", -2), ("qtyExponent", -5)];

fn with(more: &[Named<'static>]) -> Vec<Named<'static>> {
    HEAD.iter().chain(more).copied().collect()
}

#[test]
fn binance_messages_of_the_venues_schema_are_read() {
    let Some(schema) = venue("stream_1_0.xml") else { return };
    let price = |cents: i64| Price(cents * 10_000_000);
    let lots = |size: i64| Lots(size * 1_000);

    let fields = with(&[("bookUpdateId", 7), ("bidPrice", 6_180_020), ("bidQty", 12)]);
    let best =
        VenueMessage::new(&schema, 10_001, &[&fields[..], &[("askPrice", 6_180_030)]].concat())
            .text("BTCUSDT");
    let (kind, told) = stream_events(&best).unwrap();
    // No lots: nobody is there.
    let top = BestPrices { bid: Some((price(6_180_020), lots(12))), ask: None };
    assert_eq!((kind, &told[..]), (FrameKind::BookTicker, &[(7, EventKind::Top(top))][..]));

    let level = |price, qty| [("price", price), ("qty", qty)];
    for (template, ids, kind) in [
        (10_002, &[("bookUpdateId", 9)][..], FrameKind::BestLevels),
        (10_003, &[("firstBookUpdateId", 8), ("lastBookUpdateId", 9)], FrameKind::Depth),
    ] {
        let depth = VenueMessage::new(&schema, template, &with(ids))
            .group("bids", &[&level(100, 3), &level(99, 0)])
            .group("asks", &[&level(101, 5)])
            .text("BTCUSDT");
        let (read, told) = stream_events(&depth).unwrap();
        let levels: Vec<_> = told
            .iter()
            .filter_map(|(id, event)| match event {
                EventKind::Level(level) => Some((*id, level.side, level.price, level.lots)),
                _ => None,
            })
            .collect();
        assert_eq!(read, kind);
        assert_eq!(
            levels,
            [
                (9, Side::Buy, price(100), lots(3)),
                (9, Side::Buy, price(99), lots(0)),
                (9, Side::Sell, price(101), lots(5)),
            ]
        );
        assert_eq!(told.len(), 5);
        for cut in 0..depth.len() {
            assert!(stream_events(&depth[..cut]).is_err(), "cut at {cut}");
        }
    }

    let one = [("id", 3), ("price", 100), ("qty", 2), ("isBuyerMaker", 1)];
    let trades = VenueMessage::new(&schema, 10_000, &with(&[("transactTime", HEAD[0].1)]))
        .group("trades", &[&one, &one])
        .text("BTCUSDT");
    let (kind, told) = stream_events(&trades).unwrap();
    assert_eq!((kind, told.len()), (FrameKind::Trade, 2));
    let EventKind::Trade(trade) = told[0].1 else { panic!("{told:?}") };
    assert_eq!((trade.aggressor, trade.price), (Some(Side::Sell), price(100)));
}

/// A packet of MDP 3.0: its head, and each message behind its size.
fn packet(sequence: u32, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = sequence.to_le_bytes().to_vec();
    bytes.extend_from_slice(&77_u64.to_le_bytes());
    for message in messages {
        let size = u16::try_from(message.len() + 2).expect("a short message");
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

fn cme_events(packet: &[u8]) -> Result<Vec<(InstrumentKey<'static>, EventKind)>, MarketDataError> {
    let mut told = Vec::new();
    let mut sink = |context: &Context<'_>, event: &Event| {
        let instrument = match context.instrument {
            InstrumentKey::Id(id) => {
                assert_eq!(event.instrument, InstrumentId(id));
                InstrumentKey::Id(id)
            }
            _ => {
                assert_eq!(event.instrument, InstrumentId::ALL);
                InstrumentKey::Channel
            }
        };
        told.push((instrument, event.kind));
    };
    decode_packet(Nanos(5), packet, &mut sink).map(|_| told)
}

/// An entry of a book by price.
fn entry(side: u8, level: i64, action: i64, price: i64, size: i64) -> Vec<Named<'static>> {
    vec![
        ("MDEntryPx", price),
        ("MDEntrySize", size),
        ("SecurityID", 11),
        ("MDPriceLevel", level),
        ("MDUpdateAction", action),
        ("MDEntryType", side.into()),
    ]
}

fn book_update(schema: &Schema, entries: &[Vec<Named<'_>>]) -> Vec<u8> {
    let entries: Vec<&[Named<'_>]> = entries.iter().map(Vec::as_slice).collect();
    VenueMessage::new(schema, 46, &[("TransactTime", 9), ("MatchEventIndicator", 128)])
        .group("NoMDEntries", &entries)
        .group("NoOrderIDEntries", &[])
        .finish()
}

#[test]
fn cme_statistics_of_the_venues_schema_are_read() {
    let Some(schema) = venue("cme-mdp3-v9.xml") else { return };
    let message = |template, entries: &[&[Named<'_>]]| {
        VenueMessage::new(&schema, template, &[("TransactTime", 9), ("MatchEventIndicator", 128)])
            .group("NoMDEntries", entries)
            .finish()
    };
    let priced = |kind: u8, price, flag| {
        let entry = [("MDEntryPx", price), ("SecurityID", 11), ("RptSeq", 3)];
        [&entry[..], &[("OpenCloseSettlFlag", flag), ("MDEntryType", kind.into())]].concat()
    };
    let gone = [&priced(b'8', 1, 255)[..], &[("MDUpdateAction", 2)]].concat();
    let session = message(
        51,
        &[
            &priced(b'4', 100, 0),
            // What the opening may be, and no trade.
            &priced(b'4', 55, 5),
            &priced(b'7', 120, 255),
            &priced(b'8', 90, 255),
            &priced(b'N', 130, 255),
            &gone,
        ],
    );
    let day = message(
        49,
        &[
            &[("MDEntryPx", 95), ("SecurityID", 11), ("MDEntryType", b'6'.into())],
            &[("MDEntrySize", 7_000), ("SecurityID", 11), ("MDEntryType", b'C'.into())],
            &[("MDEntrySize", 1), ("SecurityID", 11), ("MDEntryType", b'B'.into())],
        ],
    );
    let volume = message(37, &[&[("MDEntrySize", 42), ("SecurityID", 11)]]);
    let mut statistics = SessionStatistics::default();
    for (instrument, event) in cme_events(&packet(1, &[session, day, volume])).unwrap() {
        assert_eq!(
            instrument == InstrumentKey::Id(11),
            matches!(event, EventKind::Statistic(_)),
            "{event:?}"
        );
        statistics.apply(&event);
    }
    let price = |price| Some(Price(price));
    let expected = SessionStatistics {
        open: price(100),
        high: price(120),
        // The venue took it back.
        low: None,
        last: None,
        settlement: price(95),
        volume: Lots(42),
        open_interest: Some(Lots(7_000)),
        ..SessionStatistics::default()
    };
    assert_eq!(statistics, expected);
}

/// The prices of a side, 0 for none and -1 where nothing is known.
fn prices(book: &PlacedBook, side: Side) -> Vec<i64> {
    let price = |cell: &Cell| match cell {
        Cell::Level { price, .. } => price.0,
        Cell::Empty => 0,
        Cell::Unknown => -1,
    };
    book.places(side).iter().map(price).collect()
}

fn apply(book: &mut PlacedBook, message: Vec<u8>) {
    for (_, event) in cme_events(&packet(1, &[message])).unwrap() {
        book.on_event(&event);
    }
}

#[test]
fn a_cme_book_by_price_follows_places_and_heals_by_natural_refresh() {
    let Some(schema) = venue("cme-mdp3-v9.xml") else { return };
    let mut book = PlacedBook::new(3);
    assert!(!book.is_sound());
    let snapshot = VenueMessage::new(&schema, 52, &[("SecurityID", 11), ("RptSeq", 4)])
        .group(
            "NoMDEntries",
            &[
                &[("MDEntryPx", 100), ("MDEntrySize", 1), ("MDEntryType", b'0'.into())],
                &[("MDEntryPx", 98), ("MDEntrySize", 1), ("MDEntryType", b'0'.into())],
                &[("MDEntryPx", 101), ("MDEntrySize", 1), ("MDEntryType", b'1'.into())],
                &[("MDEntryPx", i64::MAX), ("MDEntryType", b'J'.into())],
            ],
        )
        .finish();
    apply(&mut book, snapshot);
    assert!(book.is_sound());
    assert_eq!([prices(&book, Side::Buy), prices(&book, Side::Sell)], [[100, 98, 0], [101, 0, 0]]);

    // A level between two, one that falls off the end, one changed, one implied and left out.
    let (bid, ask) = (b'0', b'1');
    apply(
        &mut book,
        book_update(
            &schema,
            &[
                entry(bid, 2, 0, 99, 5),
                entry(bid, 1, 0, 102, 5),
                entry(ask, 1, 1, 103, 6),
                entry(b'E', 1, 0, 55, 6),
            ],
        ),
    );
    assert_eq!(
        [prices(&book, Side::Buy), prices(&book, Side::Sell)],
        [[102, 100, 99], [103, 0, 0]]
    );
    apply(&mut book, book_update(&schema, &[entry(bid, 2, 2, 100, 0), entry(bid, 3, 0, 97, 1)]));
    assert_eq!(prices(&book, Side::Buy), [102, 99, 97]);
    apply(&mut book, book_update(&schema, &[entry(bid, 2, 4, 0, 0), entry(ask, 1, 3, 0, 0)]));
    assert_eq!([prices(&book, Side::Buy), prices(&book, Side::Sell)], [[97, 0, 0], [0, 0, 0]]);

    book.forget();
    apply(&mut book, book_update(&schema, &[entry(bid, 2, 1, 96, 1), entry(bid, 1, 0, 98, 1)]));
    assert_eq!(prices(&book, Side::Buy), [98, -1, 96]);
    assert!(!book.is_sound());
    let mut refresh = vec![entry(bid, 2, 1, 97, 1)];
    refresh.extend((1..=3).map(|level| entry(ask, level, 1, 100 + level, 1)));
    apply(&mut book, book_update(&schema, &refresh));
    assert!(book.is_sound());
    let reset = VenueMessage::new(&schema, 4, &[("TransactTime", 9)]).group("NoMDEntries", &[&[]]);
    apply(&mut book, reset.finish());
    assert_eq!(prices(&book, Side::Buy), [0, 0, 0]);
}

#[test]
fn a_cme_level_without_a_place_is_malformed_and_says_nothing() {
    let Some(schema) = venue("cme-mdp3-v9.xml") else { return };
    for (action, level) in [0, 1, 2, 4, 5].into_iter().flat_map(|a| [0, 11].map(|l| (a, l))) {
        let entries = [entry(b'0', 1, 0, 99, 5), entry(b'0', level, action, 98, 5)];
        let told = cme_events(&packet(1, &[book_update(&schema, &entries)]));
        assert!(told.is_err(), "action {action}, level {level}");
    }
    // All of a side, and an implied level, are not about a place of the book.
    let entries = [entry(b'0', 0, 3, 0, 0), entry(b'E', 0, 0, 55, 6)];
    assert!(cme_events(&packet(1, &[book_update(&schema, &entries)])).is_ok());
}

#[test]
fn cme_orders_trades_and_states_are_read_and_a_wrong_packet_says_nothing() {
    let Some(schema) = venue("cme-mdp3-v9.xml") else { return };
    let by_order = VenueMessage::new(&schema, 47, &[("TransactTime", 9)])
        .group(
            "NoMDEntries",
            &[
                &[
                    ("OrderID", 8),
                    ("MDOrderPriority", 3),
                    ("MDEntryPx", 100),
                    ("MDDisplayQty", 2),
                    ("SecurityID", 11),
                    ("MDEntryType", b'1'.into()),
                ],
                &[("OrderID", 9), ("MDUpdateAction", 2), ("MDEntryType", b'0'.into())],
            ],
        )
        .finish();
    let with_level = VenueMessage::new(&schema, 46, &[("MatchEventIndicator", 128)])
        .group("NoMDEntries", &[&entry(b'0', 1, 0, 100, 7)])
        .group("NoOrderIDEntries", &[&[("OrderID", 5), ("MDDisplayQty", 7), ("ReferenceID", 1)]])
        .finish();
    let trade = VenueMessage::new(&schema, 48, &[])
        .group(
            "NoMDEntries",
            &[&[
                ("MDEntryPx", 100),
                ("MDEntrySize", 4),
                ("SecurityID", 11),
                ("AggressorSide", 2),
                ("MDTradeEntryID", 6),
            ]],
        )
        .group("NoOrderIDEntries", &[])
        .finish();
    let status =
        VenueMessage::new(&schema, 30, &[("SecurityID", 11), ("SecurityTradingStatus", 17)]);
    let heartbeat = VenueMessage::new(&schema, 12, &[]).finish();
    let chunk =
        VenueMessage::new(&schema, 53, &[("SecurityID", 11), ("NoChunks", 2), ("CurrentChunk", 1)])
            .group("NoMDEntries", &[&[("OrderID", 1), ("MDEntryType", b'0'.into())]])
            .finish();
    let all = packet(1, &[by_order, with_level, trade, status.finish(), heartbeat, chunk]);
    let told = cme_events(&all).unwrap();
    let eleven = InstrumentKey::Id(11);
    let orders: Vec<_> = told
        .iter()
        .filter_map(|(_, event)| match event {
            EventKind::OrderAdd(order) => Some((order.order_id.0, order.side, order.lots.0)),
            _ => None,
        })
        .collect();
    assert_eq!(orders, [(8, Side::Sell, 2), (5, Side::Buy, 7), (1, Side::Buy, 0)]);
    let deleted = EventKind::OrderDelete { order_id: OrderId(9), side: Side::Buy };
    assert!(told.contains(&(InstrumentKey::Id(0), deleted)));
    assert!(told.contains(&(eleven, EventKind::Status(TradingStatus::Trading))));
    let trades: Vec<_> =
        told.iter().filter(|(_, event)| matches!(event, EventKind::Trade(_))).collect();
    assert_eq!(trades.len(), 1);
    let ends: Vec<_> = told
        .iter()
        .filter_map(|(_, event)| match event {
            EventKind::End { is_final } => Some(*is_final),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [false, true, false, false]);

    let bounds: Vec<usize> =
        (12..all.len()).filter(|&cut| cme_events(&all[..cut]).is_ok()).collect();
    assert_eq!(bounds.len(), 6, "only whole messages are read: {bounds:?}");
    // An action that does not exist, and an order that refers to no level.
    let wrong = book_update(&schema, &[entry(b'0', 1, 9, 100, 7)]);
    assert!(cme_events(&packet(1, &[wrong])).is_err());
    let lost = VenueMessage::new(&schema, 46, &[])
        .group("NoMDEntries", &[])
        .group("NoOrderIDEntries", &[&[("OrderID", 5), ("ReferenceID", 1)]]);
    assert!(cme_events(&packet(1, &[lost.finish()])).is_err());
}
