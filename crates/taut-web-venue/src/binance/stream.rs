//! Market streams by their names.

use crate::binance::candles;

/// How often a folded stream is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Each 100 ms.
    Fast,
    /// Each second.
    Slow,
}

/// What can be listened to; markets by their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    Depth(usize, Speed),
    /// The best so many levels.
    Partial(usize, usize, Speed),
    BookTicker(usize),
    Trade(usize),
    AggTrade(usize),
    /// By the width of its candles.
    Kline(usize, &'static str),
    Ticker(usize),
    MiniTicker(usize),
    MiniTickers,
    AvgPrice(usize),
    /// An account's events, by its listen key.
    Account(usize),
    /// One that there is not: nothing ever comes, as at the venue.
    Unknown,
}

/// The stream of a market by what stands behind the `@`.
pub fn stream_of(place: usize, kind: &str) -> Option<Stream> {
    let plain = match kind {
        "bookTicker" => Some(Stream::BookTicker(place)),
        "trade" => Some(Stream::Trade(place)),
        "aggTrade" => Some(Stream::AggTrade(place)),
        "ticker" => Some(Stream::Ticker(place)),
        "miniTicker" => Some(Stream::MiniTicker(place)),
        "avgPrice" => Some(Stream::AvgPrice(place)),
        _ => None,
    };
    if plain.is_some() {
        return plain;
    }
    if let Some(width) = kind.strip_prefix("kline_") {
        let known = candles::INTERVALS.iter().find(|(name, _)| *name == width);
        return known.map(|(name, _)| Stream::Kline(place, name));
    }
    let depth = kind.strip_prefix("depth")?;
    let (levels, speed) = match depth.split_once('@') {
        None => (depth, Speed::Slow),
        Some((levels, "1000ms")) => (levels, Speed::Slow),
        Some((levels, "100ms")) => (levels, Speed::Fast),
        Some(_) => return None,
    };
    match levels {
        "" => Some(Stream::Depth(place, speed)),
        "5" | "10" | "20" => Some(Stream::Partial(place, levels.parse().ok()?, speed)),
        _ => None,
    }
}
