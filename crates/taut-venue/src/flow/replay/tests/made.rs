//! Recordings that a seed makes, and the books that they are made from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use taut_recording::capture::Capture;
use taut_types::{HalfTicks, Instrument, Lots, Price, Side};

use super::{Book, instrument};
use crate::flow::SplitMix64;

/// How a recording is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    BinanceSpot,
    BinanceFutures,
    Deribit,
}

impl Format {
    pub const ALL: [Self; 3] = [Self::BinanceSpot, Self::BinanceFutures, Self::Deribit];

    /// The instrument's name there.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BinanceSpot | Self::BinanceFutures => "BTCUSDT",
            Self::Deribit => "BTC-PERPETUAL",
        }
    }

    /// Amounts are coins, or dollars.
    pub fn instrument(self) -> Instrument {
        match self {
            Self::BinanceSpot | Self::BinanceFutures => instrument("0.5", "0.01"),
            Self::Deribit => instrument("0.5", "10"),
        }
    }
}

/// A recording.
pub struct Made {
    format: Format,
    pub instrument: Instrument,
    pub text: String,
    /// The book at the start.
    pub first: Book,
    /// The book by the number of each update.
    pub books: BTreeMap<u64, Book>,
    sides: [BTreeMap<i64, i64>; 2],
    /// The last update.
    id: u64,
    time: u64,
}

/// Changes of levels: side, ticks, lots.
type Changes = Vec<(Side, i64, i64)>;

impl Made {
    /// A market that moves, of 200 updates.
    pub fn new(format: Format, seed: u64) -> Self {
        let (mut made, mut random) = (Self::empty(format), SplitMix64::new(seed));
        let mut middle = 200;
        let levels =
            (1..8).flat_map(|far| [(Side::Buy, 200 - far, far), (Side::Sell, 200 + far, 9)]);
        made.begin(&levels.collect::<Vec<_>>());
        for _ in 0..200 {
            let moved = random.below(7) as i64 - 3;
            middle = (middle + moved).clamp(100, 300);
            let mut changes = BTreeMap::new();
            // What stands where the market is now goes, and some more comes and goes.
            for &bid in made.sides[0].keys().filter(|bid| **bid >= middle) {
                changes.insert((false, bid), 0);
            }
            for &ask in made.sides[1].keys().filter(|ask| **ask <= middle) {
                changes.insert((true, ask), 0);
            }
            for _ in 0..1 + random.below(5) {
                let (is_ask, far) = (random.chance(500), 1 + random.below(20) as i64);
                let ticks = if is_ask { middle + far } else { middle - far };
                changes.insert((is_ask, ticks), random.below(9) as i64);
            }
            // A level that is there twice on its way would be none of a venue's.
            let side = |is_ask| if is_ask { Side::Sell } else { Side::Buy };
            let changes: Changes = changes
                .iter()
                .map(|(&(is_ask, ticks), &lots)| (side(is_ask), ticks, lots))
                .collect();
            made.update(&changes, 1 + random.below(9));
        }
        made
    }

    /// A bid of 100 and an offer of 101, and an update that brings a bid of 100.5.
    pub fn tiny(format: Format) -> Self {
        let mut made = Self::empty(format);
        made.begin(&[(Side::Buy, 200, 3), (Side::Sell, 202, 4)]);
        made.update(&[(Side::Buy, 201, 7)], 2);
        made
    }

    pub fn capture(&self) -> Capture {
        Capture::of("f", self.text.clone())
    }

    fn empty(format: Format) -> Self {
        Self {
            format,
            instrument: format.instrument(),
            text: String::new(),
            first: Book::default(),
            books: BTreeMap::new(),
            sides: [BTreeMap::new(), BTreeMap::new()],
            id: 9,
            time: 1_000,
        }
    }

    fn begin(&mut self, levels: &[(Side, i64, i64)]) {
        self.set(levels);
        let (id, time, [bids, asks]) = (self.id, self.time, self.shown(levels));
        let _ = match self.format {
            Format::BinanceSpot | Format::BinanceFutures => writeln!(
                self.text,
                "{time} {{\"lastUpdateId\":{id},\"bids\":[{bids}],\"asks\":[{asks}]}}"
            ),
            Format::Deribit => {
                let head = "\"type\":\"snapshot\"";
                self.deribit(&format!("{head},\"change_id\":{id}"), &bids, &asks)
            }
        };
        self.first = self.book();
    }

    fn update(&mut self, levels: &[(Side, i64, i64)], ids: u64) {
        self.set(levels);
        let (before, is_first) = (self.id, self.books.is_empty());
        self.id += ids;
        self.time += 1_000_000;
        let (id, time, [bids, asks]) = (self.id, self.time, self.shown(levels));
        let _ = match self.format {
            Format::BinanceSpot => writeln!(
                self.text,
                "{time} {{\"stream\":\"btcusdt@depth@100ms\",\"data\":{{\"e\":\"depthUpdate\",\
                 \"E\":1,\"s\":\"BTCUSDT\",\"U\":{},\"u\":{id},\"b\":[{bids}],\"a\":[{asks}]}}}}",
                before + 1
            ),
            Format::BinanceFutures => {
                // The first one covers the snapshot.
                let first = before + u64::from(!is_first);
                writeln!(
                    self.text,
                    "{time} {{\"e\":\"depthUpdate\",\"E\":1,\"T\":1,\"s\":\"BTCUSDT\",\
                     \"U\":{first},\"u\":{id},\"pu\":{before},\"b\":[{bids}],\"a\":[{asks}]}}"
                )
            }
            Format::Deribit => {
                let head = format!("\"type\":\"change\",\"prev_change_id\":{before}");
                self.deribit(&format!("{head},\"change_id\":{id}"), &bids, &asks)
            }
        };
        self.books.insert(id, self.book());
    }

    fn deribit(&mut self, head: &str, bids: &str, asks: &str) -> std::fmt::Result {
        writeln!(
            self.text,
            "{} {{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{{\
             \"channel\":\"book.BTC-PERPETUAL.raw\",\"data\":{{{head},\"timestamp\":1,\
             \"instrument_name\":\"BTC-PERPETUAL\",\"bids\":[{bids}],\"asks\":[{asks}]}}}}}}",
            self.time
        )
    }

    fn set(&mut self, levels: &[(Side, i64, i64)]) {
        for &(side, ticks, lots) in levels {
            let side = &mut self.sides[usize::from(side == Side::Sell)];
            if lots == 0 {
                side.remove(&ticks);
            } else {
                side.insert(ticks, lots);
            }
        }
    }

    fn book(&self) -> Book {
        let level = |(&ticks, &lots): (&i64, &i64)| (HalfTicks(2 * ticks), Lots(lots));
        [0, 1].map(|side: usize| self.sides[side].iter().map(level).collect())
    }

    /// Bids and asks as the venue writes them.
    fn shown(&self, levels: &[(Side, i64, i64)]) -> [String; 2] {
        Side::BOTH.map(|side| {
            let of_side = levels.iter().filter(|level| level.0 == side);
            of_side.map(|&(_, ticks, lots)| self.level(ticks, lots)).collect::<Vec<_>>().join(",")
        })
    }

    fn level(&self, ticks: i64, lots: i64) -> String {
        let price = Price(self.instrument.tick().0 * ticks);
        let price = if ticks % 2 == 0 { format!("{price}.0") } else { price.to_string() };
        let size = self.instrument.qty(Lots(lots)).expect("a quantity");
        match (self.format, lots) {
            (Format::BinanceSpot | Format::BinanceFutures, _) => {
                format!("[\"{price}\",\"{size}\"]")
            }
            (Format::Deribit, 0) => format!("[\"delete\",{price},0.0]"),
            (Format::Deribit, _) => format!("[\"new\",{price},{size}.0]"),
        }
    }
}
