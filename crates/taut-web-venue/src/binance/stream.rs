//! Market streams by their names.

use crate::binance::candles;
use crate::binance::settings::SymbolMarket;

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
    /// Of futures.
    MarkPrice(usize),
    /// In SBE.
    Sbe(usize, SbeStream),
    /// An account's events, by its listen key.
    Account(usize),
    /// One that there is not: nothing ever comes, as at the venue.
    Unknown,
}

/// A market's streams in SBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SbeStream {
    Trades,
    BestBidAsk,
    /// Each 50 ms.
    Depth,
    /// The best 20 levels, each 50 ms.
    Depth20,
}

/// Which streams a connection can have: those of where it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `stream.binance.com`.
    SpotJson,
    /// `stream-sbe.binance.com`, or below `/sbe`.
    SpotSbe,
    /// Futures: what is in the book, and trades, below `/public`.
    UsdMPublic,
    /// Futures: what is made of these, below `/market`.
    UsdMMarket,
    /// `fstream.binance.com` below neither: nothing comes there.
    UsdMNone,
}

impl Class {
    /// By the host and the path that were asked for, and the path without what says it.
    pub fn of<'a>(host: &str, path: &'a str) -> (Self, &'a str) {
        let below =
            [("/sbe", Self::SpotSbe), ("/public", Self::UsdMPublic), ("/market", Self::UsdMMarket)];
        for (start, class) in below {
            if let Some(rest) = path.strip_prefix(start).filter(|rest| rest.starts_with('/')) {
                return (class, rest);
            }
        }
        let class = match host.split('.').next() {
            Some("stream-sbe") => Self::SpotSbe,
            Some("fstream") => Self::UsdMNone,
            _ => Self::SpotJson,
        };
        (class, path)
    }

    /// Whose streams these are.
    pub const fn market(self) -> SymbolMarket {
        match self {
            Self::SpotJson | Self::SpotSbe => SymbolMarket::SpotMarket,
            Self::UsdMPublic | Self::UsdMMarket | Self::UsdMNone => SymbolMarket::UsdM,
        }
    }
}

/// A stream of futures by what stands behind the `@`, where its class has it.
pub fn usd_m_stream_of(place: usize, kind: &str, class: Class) -> Option<Stream> {
    let stream = match kind {
        "markPrice@1s" => Stream::MarkPrice(place),
        _ => stream_of(place, kind)?,
    };
    let own = match stream {
        Stream::Depth(_, Speed::Fast) | Stream::Partial(_, _, Speed::Fast) => Class::UsdMPublic,
        Stream::BookTicker(_) | Stream::Trade(_) => Class::UsdMPublic,
        Stream::AggTrade(_) | Stream::Kline(..) | Stream::MarkPrice(_) => Class::UsdMMarket,
        _ => return None,
    };
    (own == class).then_some(stream)
}

/// A market's stream in SBE by what stands behind the `@`.
pub fn sbe_stream_of(place: usize, kind: &str) -> Option<Stream> {
    let stream = match kind {
        "trade" => SbeStream::Trades,
        "bestBidAsk" => SbeStream::BestBidAsk,
        "depth" => SbeStream::Depth,
        "depth20" => SbeStream::Depth20,
        _ => return None,
    };
    Some(Stream::Sbe(place, stream))
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
