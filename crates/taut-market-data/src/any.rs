//! The market data of any venue but taut's own, as one type: whatever is generic over a feed
//! handler is compiled once for all of them.

use alloc::boxed::Box;

use taut_book::{LevelBook, OrderBook};
use taut_types::{Instrument, InstrumentId, Nanos, SequenceNumber};

use crate::binance::{BinanceFeed, BinanceFeeds, BinanceFrame};
use crate::chained::ChainedFrame;
use crate::deribit::{self, DeribitFeed, DeribitFixFeed};
use crate::event::{BestPrices, Context, Event, MarketSink, Soundness};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, FollowError, Source};
use crate::okx::{OkxFeed, OkxJson};

type Chained<'f, D> = ChainedFrame<<D as crate::ChainedDecoder>::Body<'f>>;

/// The market data of any venue but taut's own ([`NativeFeed`](crate::native::NativeFeed)).
///
/// Cost: a branch for each call, and a call through a table for each event that is handed over;
/// the venue's own handler does without both.
#[derive(Debug)]
pub enum AnyFeed {
    /// One symbol at Binance.
    Binance(Box<BinanceFeed>),
    /// Combined streams of Binance.
    BinanceStreams(Box<BinanceFeeds>),
    /// Deribit over WebSocket.
    Deribit(Box<DeribitFeed>),
    /// Deribit over FIX.
    DeribitFix(Box<DeribitFixFeed>),
    /// OKX.
    Okx(Box<OkxFeed>),
}

/// A frame of one of them that was checked.
#[derive(Debug)]
pub enum AnyFrame<'f> {
    /// Of one symbol at Binance.
    Binance(BinanceFrame<'f>),
    /// Of a combined stream of Binance, with the place of its symbol.
    BinanceStreams((usize, BinanceFrame<'f>)),
    /// Of Deribit over WebSocket.
    Deribit(Chained<'f, deribit::DeribitJson>),
    /// Of Deribit over FIX.
    DeribitFix(Chained<'f, deribit::DeribitFix>),
    /// Of OKX.
    Okx(Chained<'f, OkxJson>),
}

macro_rules! from {
    ($($feed:ty => $variant:ident,)+) => {
        $(impl From<$feed> for AnyFeed {
            fn from(feed: $feed) -> Self {
                Self::$variant(Box::new(feed))
            }
        })+
    };
}

from! {
    BinanceFeed => Binance,
    BinanceFeeds => BinanceStreams,
    DeribitFeed => Deribit,
    DeribitFixFeed => DeribitFix,
    OkxFeed => Okx,
}

/// Does the same with whichever it is.
macro_rules! each {
    ($any:expr, $feed:ident => $act:expr) => {
        match $any {
            AnyFeed::Binance($feed) => $act,
            AnyFeed::BinanceStreams($feed) => $act,
            AnyFeed::Deribit($feed) => $act,
            AnyFeed::DeribitFix($feed) => $act,
            AnyFeed::Okx($feed) => $act,
        }
    };
}

/// Whoever takes the events, behind a table of functions: no handler is compiled for each of them.
struct Sink<'s>(&'s mut dyn MarketSink);

impl MarketSink for Sink<'_> {
    #[inline]
    fn on_event(&mut self, context: &Context<'_>, event: &Event) {
        self.0.on_event(context, event);
    }

    fn takes_listed_orders(&self) -> bool {
        self.0.takes_listed_orders()
    }
}

impl AnyFeed {
    fn apply_to(&mut self, frame: AnyFrame<'_>, mut sink: Sink<'_>) {
        match (self, frame) {
            (Self::Binance(feed), AnyFrame::Binance(frame)) => feed.apply(frame, &mut sink),
            (Self::BinanceStreams(feed), AnyFrame::BinanceStreams(frame)) => {
                feed.apply(frame, &mut sink);
            }
            (Self::Deribit(feed), AnyFrame::Deribit(frame)) => feed.apply(frame, &mut sink),
            (Self::DeribitFix(feed), AnyFrame::DeribitFix(frame)) => feed.apply(frame, &mut sink),
            (Self::Okx(feed), AnyFrame::Okx(frame)) => feed.apply(frame, &mut sink),
            // A frame that another handler has checked moves nothing.
            _ => {}
        }
    }

    fn recover_to(&mut self, now: Nanos, mut sink: Sink<'_>) {
        each!(self, feed => feed.recover(now, &mut sink));
    }
}

/// Hands on every method: one that is left out would do what the trait does by default.
impl FeedHandler for AnyFeed {
    type Frame<'f> = AnyFrame<'f>;

    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<AnyFrame<'f>> {
        match self {
            Self::Binance(feed) => feed.decode(received, source, bytes).map(AnyFrame::Binance),
            Self::BinanceStreams(feed) => {
                feed.decode(received, source, bytes).map(AnyFrame::BinanceStreams)
            }
            Self::Deribit(feed) => feed.decode(received, source, bytes).map(AnyFrame::Deribit),
            Self::DeribitFix(feed) => {
                feed.decode(received, source, bytes).map(AnyFrame::DeribitFix)
            }
            Self::Okx(feed) => feed.decode(received, source, bytes).map(AnyFrame::Okx),
        }
    }

    #[inline]
    fn apply(&mut self, frame: AnyFrame<'_>, sink: &mut impl MarketSink) {
        self.apply_to(frame, Sink(sink));
    }

    fn set_rehearsing(&mut self, is_rehearsal: bool) -> bool {
        each!(self, feed => feed.set_rehearsing(is_rehearsal))
    }

    fn follow(
        &mut self,
        instrument: &Instrument,
        number: InstrumentId,
        name: &[u8],
    ) -> Result<(), FollowError> {
        each!(self, feed => feed.follow(instrument, number, name))
    }

    fn is_settled(&self) -> bool {
        each!(self, feed => feed.is_settled())
    }

    fn is_whole(&self) -> bool {
        each!(self, feed => feed.is_whole())
    }

    fn needs_snapshots(&self) -> bool {
        each!(self, feed => feed.needs_snapshots())
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        self.recover_to(now, Sink(sink));
    }

    fn handle_timeout(&mut self, now: Nanos) {
        each!(self, feed => feed.handle_timeout(now));
    }

    fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        each!(self, feed => feed.handle_disconnect(now, source));
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        each!(self, feed => feed.poll_timeout())
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        each!(self, feed => feed.poll_request())
    }

    fn poll_contradiction(&mut self) -> Option<InstrumentId> {
        each!(self, feed => feed.poll_contradiction())
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        each!(self, feed => feed.soundness(instrument))
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        each!(self, feed => feed.best(instrument))
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        each!(self, feed => feed.book(instrument))
    }

    fn tells_orders(&self) -> bool {
        each!(self, feed => feed.tells_orders())
    }

    fn orders(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        each!(self, feed => feed.orders(instrument))
    }

    fn lost(&self, last: SequenceNumber) -> u64 {
        each!(self, feed => feed.lost(last))
    }

    fn counters(&self) -> FeedCounters {
        each!(self, feed => feed.counters())
    }

    fn tells_status(&self) -> bool {
        each!(self, feed => feed.tells_status())
    }

    fn events_max(&self) -> usize {
        each!(self, feed => feed.events_max())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use taut_types::{Price, Qty, Symbol};

    use super::*;
    use crate::chained::{ChainConfig, NamedInstrument};
    use crate::event::EventKind;

    const HEAD: &str =
        r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"book.BTC-PERPETUAL.raw","#;
    /// A book, and what follows it.
    const FRAMES: [&str; 2] = [
        r#""type":"snapshot","change_id":10,"bids":[["new",9.0,5.0]],"asks":[["new",9.5,2.0]]"#,
        r#""type":"change","prev_change_id":10,"change_id":11,"bids":[["new",9.2,1.0]],"asks":[]"#,
    ];

    /// The methods of the first block of a source that begins with `head`.
    fn methods<'a>(source: &'a str, head: &str) -> Vec<&'a str> {
        let (_, block) = source.split_once(head).unwrap();
        let (block, _) = block.split_once("\n}\n").unwrap();
        let names = block.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.filter_map(|line| line.split_once(['(', '<'])).map(|(name, _)| name).collect()
    }

    #[test]
    fn every_method_is_handed_on() {
        let all = methods(include_str!("handler.rs"), "pub trait FeedHandler {");
        assert!(all.len() > 20, "{all:?}");
        assert_eq!(methods(include_str!("any.rs"), "impl FeedHandler for AnyFeed {"), all);
    }

    fn feed() -> DeribitFeed {
        let lot = Qty { mantissa: 1, decimals: 0 };
        let symbol = Symbol::new(b"BTC").unwrap();
        let instrument = Instrument::new(InstrumentId(0), symbol, Price(2), lot).unwrap();
        let instruments = [NamedInstrument { name: b"BTC-PERPETUAL", instrument }];
        DeribitFeed::new(&ChainConfig::new(&instruments), Nanos(1)).unwrap()
    }

    fn told(feed: &mut impl FeedHandler) -> Vec<Event> {
        let mut told = Vec::new();
        for frame in FRAMES {
            let of = r#""timestamp":1,"instrument_name":"BTC-PERPETUAL""#;
            let frame = format!(r#"{HEAD}"data":{{{of},{frame}}}}}}}"#);
            let mut sink = |_: &Context<'_>, event: &Event| told.push(*event);
            if let Some(frame) = feed.decode(Nanos(2), Source::LINE_A, frame.as_bytes()) {
                feed.apply(frame, &mut sink);
            }
            feed.recover(Nanos(2), &mut sink);
        }
        told
    }

    #[test]
    fn it_tells_what_the_venue_s_own_handler_tells() {
        let (mut own, mut any) = (feed(), AnyFeed::from(feed()));
        let events = told(&mut own);
        let is_level = |event: &Event| matches!(event.kind, EventKind::Level(_));
        assert!(events.len() == 4 && events.iter().any(is_level), "{events:?}");
        assert_eq!(told(&mut any), events);
        assert_eq!((any.counters(), any.is_whole()), (own.counters(), true));
        assert_eq!(any.best(InstrumentId(0)), own.best(InstrumentId(0)));
    }
}
