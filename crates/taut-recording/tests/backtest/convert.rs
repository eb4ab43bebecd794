//! Captures and message files as the referee converts them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;
use taut_recording::capture::Capture;
use taut_recording::hft::{BUY, EXCHANGE, HftRow, LOCAL, SELL};
use taut_types::parse_decimal;

pub const BINANCE: &str = "data/binance/usdm_btcusdt_20240808.gz";
pub const LOBSTER: &str = "data/lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv";

const LEVEL: u64 = 1;
const TRADE: u64 = 2;
const CLEAR: u64 = 3;
const SNAPSHOT: u64 = 4;
/// What the referee adds to the smallest latency.
const BASE_LATENCY: i64 = 500_000;
/// 2012-06-21 in nanoseconds; the file's clock is taken as UTC.
const LOBSTER_DAY: i64 = 1_340_236_800_000_000_000;
const LOBSTER_LATENCY: i64 = 50_000;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(rename = "T")]
    time: Option<i64>,
    #[serde(borrow, default)]
    bids: Vec<(&'a str, &'a str)>,
    #[serde(borrow, default)]
    asks: Vec<(&'a str, &'a str)>,
}

#[derive(Deserialize)]
struct Data<'a> {
    e: &'a str,
    #[serde(rename = "T")]
    time: i64,
    #[serde(rename = "X", default)]
    kind: &'a str,
    #[serde(default)]
    m: bool,
    #[serde(default)]
    p: &'a str,
    #[serde(default)]
    q: &'a str,
    /// Levels of an update, one price of a ticker.
    #[serde(borrow, default)]
    b: Levels<'a>,
    #[serde(borrow, default)]
    a: Levels<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Levels<'a> {
    #[serde(borrow)]
    Many(Vec<(&'a str, &'a str)>),
    One(#[expect(dead_code, reason = "a ticker's price, which is not asked for")] &'a str),
}

impl Default for Levels<'_> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<'a> Levels<'a> {
    fn list(&self) -> &[(&'a str, &'a str)] {
        match self {
            Self::Many(levels) => levels,
            Self::One(_) => &[],
        }
    }
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// A capture of Binance's futures: trades and levels, a snapshot after a clear up to its end.
/// Converted once for all tests.
pub fn binance(path: &Path) -> Vec<HftRow> {
    static ROWS: OnceLock<Vec<HftRow>> = OnceLock::new();
    ROWS.get_or_init(|| converted(path)).clone()
}

fn converted(path: &Path) -> Vec<HftRow> {
    let capture = Capture::read(path).expect("a capture");
    let mut rows = Vec::new();
    for frame in capture.frames() {
        let frame = frame.expect("a frame");
        let line: Line<'_> = serde_json::from_slice(frame.bytes).expect("JSON");
        let mut push = |ev: u64, time: i64, px: f64, qty: f64| {
            let exch_ts = time * 1_000_000;
            let local_ts = frame.received.0;
            rows.push(HftRow { ev, exch_ts, local_ts, px, qty, ..HftRow::default() });
        };
        match (&line.data, line.time) {
            (Some(data), _) if data.e == "trade" && data.kind == "MARKET" => {
                let side = if data.m { SELL } else { BUY };
                push(TRADE | side, data.time, number(data.p), number(data.q));
            }
            (Some(data), _) if data.e == "depthUpdate" => {
                for (side, levels) in [(BUY, &data.b), (SELL, &data.a)] {
                    for (px, qty) in levels.list() {
                        push(LEVEL | side, data.time, number(px), number(qty));
                    }
                }
            }
            (None, Some(time)) => {
                for (side, levels) in [(BUY, &line.bids), (SELL, &line.asks)] {
                    let Some((last, _)) = levels.last() else { continue };
                    push(CLEAR | side, time, number(last), 0.0);
                    for (px, qty) in levels {
                        push(SNAPSHOT | side, time, number(px), number(qty));
                    }
                }
            }
            _ => {}
        }
    }
    let least = rows.iter().map(|row| row.local_ts - row.exch_ts).min().unwrap_or(0);
    if least < 0 {
        rows.iter_mut().for_each(|row| row.local_ts += BASE_LATENCY - least);
    }
    merged(&rows)
}

/// The rows in the order of both clocks: one that stands at the same place in both is one row.
fn merged(rows: &[HftRow]) -> Vec<HftRow> {
    let (mut exchange, mut local) = (rows.to_vec(), rows.to_vec());
    exchange.sort_by_key(|row| row.exch_ts);
    local.sort_by_key(|row| row.local_ts);
    let (mut exchange, mut local) = (exchange.iter().peekable(), local.iter().peekable());
    let times = |row: &HftRow| (row.exch_ts, row.local_ts);
    let mut all = Vec::with_capacity(rows.len() * 2);
    loop {
        let (row, seen) = match (exchange.peek(), local.peek()) {
            (Some(one), Some(other)) if times(one) == times(other) => {
                local.next();
                (exchange.next(), EXCHANGE | LOCAL)
            }
            (Some(one), Some(other)) if times(one) < times(other) => (exchange.next(), EXCHANGE),
            (_, Some(_)) => (local.next(), LOCAL),
            (_, None) => (exchange.next(), EXCHANGE),
        };
        let Some(row) = row else { return all };
        all.push(HftRow { ev: row.ev | seen, ..*row });
    }
}

/// A LOBSTER message file: orders one by one; what is executed is a fill before what is left.
pub fn lobster(path: &Path) -> Vec<HftRow> {
    let text = std::fs::read_to_string(path).expect("a message file");
    let mut left: HashMap<u64, i64> = HashMap::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split(',').collect();
        let whole = |at: usize| fields[at].parse::<i64>().expect("a number");
        let (kind, order_id, size) = (whole(1), whole(2).cast_unsigned(), whole(3));
        let time = fields[0].as_bytes();
        let time = &time[..time.len().min(fields[0].find('.').map_or(usize::MAX, |dot| dot + 10))];
        let exch_ts = LOBSTER_DAY + parse_decimal(time, 9).expect("seconds");
        let side = if whole(5) == 1 { BUY } else { SELL };
        let px = whole(4) as f64 / 10_000.0;
        let mut push = |kind: u64, qty: i64| {
            let ev = kind | side | EXCHANGE | LOCAL;
            let (local_ts, qty) = (exch_ts + LOBSTER_LATENCY, qty as f64);
            rows.push(HftRow { ev, exch_ts, local_ts, px, qty, order_id, ..HftRow::default() });
        };
        match kind {
            1 => {
                left.insert(order_id, size);
                push(10, size);
            }
            2..=4 => {
                let Some(rest) = left.get_mut(&order_id) else { continue };
                if kind == 4 {
                    push(13, size);
                }
                *rest -= size;
                if *rest > 0 {
                    push(12, *rest);
                } else {
                    left.remove(&order_id);
                    push(11, 0);
                }
            }
            _ => {}
        }
    }
    rows
}
