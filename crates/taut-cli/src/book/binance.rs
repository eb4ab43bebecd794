//! `--format binance`: a book built from depth frames against the bookTicker frames beside them.
//!
//! The book begins with the REST snapshot of the capture; updates that came before it are kept and
//! joined by Binance's rules ("How to manage a local order book correctly", for the spot and for
//! the USD-margined futures streams). After each depth frame with `u` above the snapshot's
//! `lastUpdateId` the newest bookTicker with an id of at most `u` must show the book's top.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use taut_book::Level;
use taut_market_data::binance::{Applied, BinanceJson, DepthBook};
use taut_market_data::{Batch, BestPrices, Context, Event, EventKind};
use taut_recording::capture::{Capture, Frame};
use taut_types::{Lots, Price, Side};

use super::verdict::{Mismatch, UNEXPLAINED, Verdict, Within};
use crate::exit::Failure;

/// The stream lost a frame, so that the book is another market's.
const GAP: &str = "gap_in_the_depth_stream";

/// A best price lies behind the levels that the snapshot had: what is better was never told.
const BEYOND: &str = "beyond_the_levels_of_the_snapshot";

/// Levels a side: a snapshot has up to 5,000, and updates add levels far from the touch for ever.
const LEVELS_MAX: usize = 1 << 16;
/// Updates that can come before the snapshot.
const UPDATES_KEPT_MAX: usize = 1 << 16;

/// A price level: zero lots delete it.
type Quote = (Price, Lots);

/// Best bid and best ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticker {
    bid: Quote,
    ask: Quote,
}

impl fmt::Display for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |lots: Lots| {
            let unit = 10_i64.pow(u32::from(BinanceJson::SIZE_DECIMALS));
            format!("{}.{:08}", lots.0 / unit, lots.0 % unit)
        };
        let (bid, ask) = (self.bid, self.ask);
        write!(f, "{}@{} / {}@{}", size(bid.1), bid.0, size(ask.1), ask.0)
    }
}

impl From<&Applied> for Ticker {
    fn from(applied: &Applied) -> Self {
        let quote = |level: Option<Level>| level.map(|l| (l.price, l.lots)).unwrap_or_default();
        Self { bid: quote(applied.top.bid), ask: quote(applied.top.ask) }
    }
}

impl From<BestPrices> for Ticker {
    fn from(top: BestPrices) -> Self {
        Self { bid: top.bid.unwrap_or_default(), ask: top.ask.unwrap_or_default() }
    }
}

/// What a capture says: the book's tops behind its updates, and the truth.
#[derive(Default)]
struct Said {
    tops: Vec<(Applied, Ticker)>,
    /// Behind which prices the book of each top lacks levels, bids and asks.
    edges: Vec<[Option<Price>; 2]>,
    tickers: Vec<(u64, Ticker)>,
    /// The lines of the updates, by their last ids.
    lines: HashMap<u64, usize>,
}

/// Rebuilds the book and compares it. A snapshot that has `limit` levels of a side lacks those
/// behind them; without it each number of levels is taken for a limit that a snapshot can be asked
/// for.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read, is malformed, or has no snapshot.
pub fn verify(capture: &Path, limit: Option<usize>) -> Result<Verdict, Failure> {
    compare(&Capture::read(capture).map_err(Failure::usage)?, limit)
}

fn compare(capture: &Capture, limit: Option<usize>) -> Result<Verdict, Failure> {
    let mut decoder = BinanceJson::default();
    let book = DepthBook::new(LEVELS_MAX, UPDATES_KEPT_MAX);
    let mut book = book.with_snapshot_limit(limit);
    let mut said = Said::default();
    for frame in capture.frames() {
        let Frame { line, received, bytes } = frame.map_err(Failure::usage)?;
        let wrong = |what: &dyn fmt::Display| Failure::usage(capture.error(line, what));
        let mut sink = |context: &Context<'_>, event: &Event| {
            match event.kind {
                EventKind::Top(top) => {
                    said.tickers.push((context.sequence.last, Ticker::from(top)));
                }
                EventKind::Begin(Batch::Update) => {
                    said.lines.insert(context.sequence.last, line);
                }
                _ => {}
            }
            book.on_event(context, event, &mut |applied| {
                said.tops.push((*applied, Ticker::from(applied)));
            });
            said.edges.resize(said.tops.len(), Side::BOTH.map(|side| book.edge(side)));
        };
        decoder.decode(received, bytes, &mut sink).map_err(|error| wrong(&error))?;
        if book.counters().levels_refused > 0 {
            return Err(wrong(&"the book has no room for more levels of a side"));
        }
    }
    if !book.has_started() {
        let what = "it has no snapshot (a line whose JSON has lastUpdateId, bids and asks)";
        return Err(Failure::usage(capture.error(None, what)));
    }
    Ok(judge(said))
}

fn judge(mut said: Said) -> Verdict {
    // Later frames can carry an older id only within one update; stable, so that the last one wins.
    said.tickers.sort_by_key(|&(id, _)| id);
    let mut verdict = Verdict::new("tops after depth frames");
    let mut within = Within::default();
    for (&(applied, book), edges) in said.tops.iter().zip(&said.edges) {
        let known = said.tickers.partition_point(|&(id, _)| id <= applied.sequence.last);
        let Some(&(id, truth)) = known.checked_sub(1).and_then(|at| said.tickers.get(at)) else {
            continue;
        };
        let equal = truth == book;
        if id >= applied.sequence.first {
            within.states += 1;
            within.equal += u64::from(equal);
        }
        if equal {
            verdict.equal();
        } else {
            let reason = match (applied.is_stale, is_wrong_within(&truth, &book, edges)) {
                (true, _) => GAP,
                (false, false) => BEYOND,
                (false, true) => UNEXPLAINED,
            };
            let line = said.lines.get(&applied.sequence.last).copied().unwrap_or_default();
            let (truth, book) = (truth.to_string(), book.to_string());
            verdict.mismatch(Mismatch { line, reason, truth, book });
        }
    }
    verdict.within_update = Some(within);
    verdict
}

/// Whether a side differs whose best price is one that the snapshot's levels vouch for.
fn is_wrong_within(truth: &Ticker, book: &Ticker, [bids, asks]: &[Option<Price>; 2]) -> bool {
    let has = |(_, lots): Quote| lots != Lots(0);
    let knows_bid = bids.is_none_or(|edge| has(book.bid) && book.bid.0 >= edge);
    let knows_ask = asks.is_none_or(|edge| has(book.ask) && book.ask.0 <= edge);
    knows_bid && truth.bid != book.bid || knows_ask && truth.ask != book.ask
}

#[cfg(test)]
mod tests;
