use dbn::encode::{DbnEncodable, DbnEncoder, EncodeRecord};
use dbn::enums::{SType, Schema};
use dbn::{BidAskPair, FlagSet, MetadataBuilder, RecordHeader, StatusMsg, rtype};

use super::*;

const DOLLAR: i64 = 1_000_000_000;

/// A file of some records.
#[derive(Default)]
struct Written(Vec<u8>);

impl Written {
    fn new() -> Self {
        let metadata = MetadataBuilder::new()
            .dataset("TEST".to_owned())
            .schema(Some(Schema::Mbo))
            .start(0)
            .stype_in(Some(SType::RawSymbol))
            .stype_out(SType::InstrumentId)
            .build();
        let mut bytes = Vec::new();
        DbnEncoder::new(&mut bytes, &metadata).expect("a file");
        Self(bytes)
    }

    fn with(mut self, record: &impl DbnEncodable) -> Self {
        dbn::encode::DbnRecordEncoder::new(&mut self.0).encode_record(record).expect("a record");
        self
    }

    /// The rows of the file, and what was left out.
    fn rows(&self) -> (Vec<Row>, u64) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.dbn");
        std::fs::write(&path, &self.0).expect("a file");
        let reading = Reading::new();
        let mut rows = DbnRows::open(Files::new(&[path], &reading)).expect("a file");
        let mut all = Vec::new();
        while let Some(row) = rows.next_row().expect("a record") {
            all.push(row);
        }
        (all, reading.left_out())
    }
}

fn order(action: u8, side: u8, order_id: u64, dollars: i64, size: u32, flags: u8) -> MboMsg {
    let mut record = MboMsg {
        order_id,
        price: dollars * DOLLAR,
        size,
        flags: FlagSet::new(flags),
        action: action as _,
        side: side as _,
        ts_recv: 7,
        ..MboMsg::default()
    };
    record.hd.instrument_id = 42;
    record.hd.ts_event = 5;
    record
}

/// What a row says, but for its times.
fn said(rows: &[Row]) -> Vec<(Kind, Option<Side>, i64, i64, u64)> {
    let said =
        |row: &Row| (row.kind, row.side, row.price.0 / DOLLAR, row.qty.mantissa, row.order_id);
    rows.iter().map(said).collect()
}

#[test]
fn orders_are_followed_from_a_snapshot_to_their_end() {
    let snapshot = flags::SNAPSHOT;
    let (rows, left_out) = Written::new()
        .with(&order(b'A', b'B', 1, 10, 5, snapshot))
        .with(&order(b'A', b'A', 2, 12, 4, snapshot))
        .with(&order(b'A', b'B', 3, 9, 1, 0))
        .with(&order(b'T', b'A', 0, 10, 2, 0))
        .with(&order(b'F', b'B', 1, 10, 2, 0))
        .with(&order(b'C', b'B', 1, 10, 2, 0))
        .with(&order(b'M', b'A', 2, 13, 6, 0))
        .with(&order(b'C', b'B', 3, 9, 1, 0))
        .with(&order(b'C', b'B', 9, 9, 1, 0))
        .with(&order(b'F', b'B', 9, 9, 1, 0))
        .with(&order(b'R', b'N', 0, 0, 0, 0))
        .with(&order(b'C', b'A', 2, 13, 6, 0))
        .rows();
    let (buy, sell) = (Some(Side::Buy), Some(Side::Sell));
    assert_eq!(
        said(&rows),
        [
            (Kind::Clear, None, 0, 0, 0),
            (Kind::Add, buy, 10, 5, 1),
            (Kind::Add, sell, 12, 4, 2),
            (Kind::Add, buy, 9, 1, 3),
            (Kind::Trade, sell, 10, 2, 0),
            (Kind::Fill, buy, 10, 2, 1),
            (Kind::Modify, buy, 10, 3, 1),
            (Kind::Modify, sell, 13, 6, 2),
            (Kind::Cancel, buy, 9, 0, 3),
            (Kind::Clear, None, 0, 0, 0),
        ]
    );
    assert_eq!(left_out, 3, "a cancel and a fill of a stranger, a cancel of what was cleared");
    assert!(
        rows.iter().all(|row| (row.exchange_at.0, row.local_at.0, row.instrument) == (5, 7, 42))
    );
}

#[test]
fn records_of_levels_and_of_the_top_are_about_them() {
    let (rows, _) = Written::new()
        .with(&order(b'M', b'B', 77, 10, 5, flags::MBP))
        .with(&order(b'C', b'B', 77, 10, 5, flags::MBP))
        .with(&order(b'A', b'A', 78, 11, 5, flags::MBP | flags::SNAPSHOT))
        .with(&order(b'A', b'A', 0, 11, 3, flags::TOB))
        .rows();
    let (buy, sell) = (Some(Side::Buy), Some(Side::Sell));
    assert_eq!(
        said(&rows),
        [
            (Kind::Level, buy, 10, 5, 0),
            (Kind::Level, buy, 10, 0, 0),
            (Kind::Clear, None, 0, 0, 0),
            (Kind::Snapshot, sell, 11, 5, 0),
            (Kind::Best, sell, 11, 3, 0),
        ]
    );
}

#[test]
fn trades_and_what_changes_among_the_best_levels_are_rows_and_all_else_is_left_out() {
    let pair = |bid: i64, bid_sz, ask: i64, ask_sz| BidAskPair {
        bid_px: bid * DOLLAR,
        bid_sz,
        ask_px: ask * DOLLAR,
        ask_sz,
        ..BidAskPair::default()
    };
    let best = |action: u8, first, second| {
        let mut levels: [BidAskPair; 10] = Default::default();
        (levels[0], levels[1]) = (first, second);
        let (action, side) = (action as _, b'A' as _);
        Mbp10Msg {
            action,
            side,
            price: 10 * DOLLAR,
            size: 2,
            ts_recv: 9,
            levels,
            ..Mbp10Msg::default()
        }
    };
    let hd = RecordHeader::new::<TradeMsg>(rtype::MBP_0, 1, 42, 4);
    let trade = TradeMsg { hd, price: 3 * DOLLAR, size: 8, side: b'B' as _, ..TradeMsg::default() };
    let (rows, left_out) = Written::new()
        .with(&trade)
        .with(&best(b'A', pair(10, 5, 12, 5), pair(9, 4, 13, 1)))
        .with(&best(b'T', pair(10, 3, 12, 5), pair(8, 4, 13, 1)))
        .with(&StatusMsg::default())
        .rows();
    let (buy, sell) = (Some(Side::Buy), Some(Side::Sell));
    let level = Kind::Level;
    assert_eq!(
        said(&rows),
        [
            (Kind::Trade, buy, 3, 8, 0),
            (level, buy, 10, 5, 0),
            (level, buy, 9, 4, 0),
            (level, sell, 12, 5, 0),
            (level, sell, 13, 1, 0),
            (Kind::Trade, sell, 10, 2, 0),
            (level, buy, 9, 0, 0),
            (level, buy, 10, 3, 0),
            (level, buy, 8, 4, 0),
        ]
    );
    assert_eq!(left_out, 1);
    assert_eq!((rows[0].exchange_at.0, rows[0].local_at.0), (4, 4), "no time of its own");
}
