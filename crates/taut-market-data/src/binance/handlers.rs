//! Books of several symbols on one connection: combined streams.

use alloc::boxed::Box;
use alloc::vec::Vec;

use taut_book::LevelBook;
use taut_types::{InstrumentError, InstrumentId, Nanos, SequenceNumber};

use super::handler::{BinanceConfig, BinanceFeed, BinanceFrame};
use crate::event::{BestPrices, MarketSink, Soundness, Staleness};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, Source};

/// What a message of combined streams begins with; its stream's name follows: `btcusdt@depth`.
const STREAM: &[u8] = b"{\"stream\":\"";
/// What an answer of the WebSocket API begins with; its request's id follows.
const ANSWER: &[u8] = b"{\"id\":";
/// A connection is about to end; whoever has it takes care of that.
const SHUTDOWN: &[u8] = b"{\"stream\":\"!serverShutdown\"";
/// A symbol may be quiet for so many times as long as the connection: in many markets nothing
/// changes for minutes, and a stream that dies alone is rare.
const QUIET: i64 = 30;

/// Books that follow Binance's combined streams, one for each symbol. A snapshot is the answer to a
/// request whose id is the number of its instrument.
#[derive(Debug)]
pub struct BinanceFeeds {
    /// Each at the number of its instrument.
    feeds: Box<[BinanceFeed]>,
    /// Names in small letters, sorted, with the numbers of their instruments.
    names: Box<[(Box<[u8]>, usize)]>,
    /// Who may ask for a snapshot next.
    turn: usize,
    /// Messages of streams and answers to requests that nobody here knows.
    strange: u64,
    /// The lines that have brought something since they were connected: each has all symbols.
    are_live: [bool; 2],
    /// When a line brought something of any symbol, and how long none may bring anything.
    heard: Nanos,
    silence: Nanos,
}

impl BinanceFeeds {
    /// Handlers that have heard nothing: one for each instrument, whose numbers count from 0.
    /// Allocates all their memory.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when an instrument's lot is no power of ten,
    /// [`InstrumentError::OutOfRange`] when its number is not its place.
    pub fn new(configs: &[(&str, BinanceConfig)], now: Nanos) -> Result<Self, InstrumentError> {
        let mut feeds = Vec::with_capacity(configs.len());
        let mut names = Vec::with_capacity(configs.len());
        for (place, (name, config)) in configs.iter().enumerate() {
            if config.instrument.id().0 as usize != place {
                return Err(InstrumentError::OutOfRange);
            }
            let silence = Nanos(config.silence.0.saturating_mul(QUIET));
            feeds.push(BinanceFeed::named(name, &BinanceConfig { silence, ..*config }, now)?);
            names.push((name.to_ascii_lowercase().into_bytes().into_boxed_slice(), place));
        }
        names.sort_unstable();
        Ok(Self {
            feeds: feeds.into(),
            names: names.into(),
            turn: 0,
            strange: 0,
            are_live: [false; 2],
            heard: now,
            silence: configs.iter().map(|(_, config)| config.silence).min().unwrap_or(Nanos::MAX),
        })
    }

    /// Whose message it is. Cost: a search among the names.
    fn place_of(&self, source: Source, bytes: &[u8]) -> Option<usize> {
        if source == Source::SNAPSHOT {
            let rest = bytes.strip_prefix(ANSWER)?;
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(9);
            let number = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
            return rest.first()?.is_ascii_digit().then_some(number);
        }
        let rest = bytes.strip_prefix(STREAM)?;
        let end = rest.iter().position(|byte| *byte == b'@')?;
        let name = rest.get(..end)?;
        let found = self.names.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.names.get(found).map(|(_, place)| *place)
    }

    /// A line has brought something.
    fn note_line(&mut self, received: Nanos, source: Source) {
        let Some(is_live) = self.are_live.get_mut(usize::from(source.0)) else { return };
        self.heard = received;
        if !core::mem::replace(is_live, true) {
            self.feeds.iter_mut().for_each(|feed| feed.set_live(source));
        }
    }

    fn of(&self, instrument: InstrumentId) -> Option<&BinanceFeed> {
        self.feeds.get(instrument.0 as usize)
    }
}

impl FeedHandler for BinanceFeeds {
    type Frame<'f> = (usize, BinanceFrame<'f>);

    #[inline]
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<Self::Frame<'f>> {
        let place = self.place_of(source, bytes);
        self.note_line(received, source);
        let Some((place, feed)) = place.and_then(|at| Some((at, self.feeds.get_mut(at)?))) else {
            self.strange += u64::from(!bytes.starts_with(SHUTDOWN));
            return None;
        };
        feed.decode(received, source, bytes).map(|frame| (place, frame))
    }

    #[inline]
    fn apply(&mut self, (place, frame): Self::Frame<'_>, sink: &mut impl MarketSink) {
        if let Some(feed) = self.feeds.get_mut(place) {
            feed.apply(frame, sink);
        }
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.feeds.iter().all(FeedHandler::is_settled)
    }

    fn is_whole(&self) -> bool {
        self.feeds.iter().all(FeedHandler::is_whole)
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        let unsettled = self.feeds.iter_mut().filter(|feed| !feed.is_settled());
        unsettled.for_each(|feed| feed.recover(now, sink));
    }

    fn handle_timeout(&mut self, now: Nanos) {
        if now.since(self.heard) >= self.silence {
            self.feeds.iter_mut().for_each(BinanceFeed::line_is_silent);
        }
        self.feeds.iter_mut().for_each(|feed| feed.handle_timeout(now));
    }

    fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        if let Some(is_live) = self.are_live.get_mut(usize::from(source.0)) {
            *is_live = false;
        }
        self.feeds.iter_mut().for_each(|feed| feed.handle_disconnect(now, source));
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        let of_any = self.feeds.iter().filter_map(FeedHandler::poll_timeout).min()?;
        Some(of_any.min(self.heard + self.silence))
    }

    /// One after the other: each request costs weight at the venue.
    fn poll_request(&mut self) -> Option<FeedRequest> {
        for _ in 0..self.feeds.len() {
            self.turn = (self.turn + 1) % self.feeds.len();
            let request = self.feeds.get_mut(self.turn).and_then(FeedHandler::poll_request);
            if request.is_some() {
                return request;
            }
        }
        None
    }

    #[inline]
    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        let joining = Soundness::Stale(Staleness::Joining);
        self.of(instrument).map_or(joining, |feed| feed.soundness(instrument))
    }

    #[inline]
    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.of(instrument).map(|feed| feed.best(instrument)).unwrap_or_default()
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.of(instrument)?.book(instrument)
    }

    /// Each symbol has numbers of its own: of the one that lacks most.
    fn lost(&self, last: SequenceNumber) -> u64 {
        self.feeds.iter().map(|feed| feed.lost(last)).max().unwrap_or_default()
    }

    /// The sums over all symbols, and the highest number of any.
    fn counters(&self) -> FeedCounters {
        let mut sum = FeedCounters { malformed: self.strange, ..FeedCounters::default() };
        for one in self.feeds.iter().map(FeedHandler::counters) {
            sum.applied += one.applied;
            sum.recovered += one.recovered;
            sum.highest_seen = sum.highest_seen.max(one.highest_seen);
            sum.gaps += one.gaps;
            sum.snapshots += one.snapshots;
            sum.silences += one.silences;
            sum.requests += one.requests;
            sum.malformed += one.malformed;
            sum.crossed += one.crossed;
            sum.levels_refused += one.levels_refused;
            for (line, own) in sum.lines.iter_mut().zip(one.lines) {
                (line.packets, line.first) = (line.packets + own.packets, line.first + own.first);
            }
        }
        sum
    }

    fn events_max(&self) -> usize {
        // The events of a frame of one, and what recovery tells of each.
        let most = self.feeds.iter().map(FeedHandler::events_max).max().unwrap_or_default();
        most + 2 * self.feeds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Event, EventKind};
    use std::borrow::ToOwned;
    use std::format;
    use std::string::String;
    use taut_types::{Instrument, Price, Qty, Symbol};

    fn config(number: u32, symbol: &str) -> BinanceConfig {
        let symbol = Symbol::new(symbol.as_bytes()).expect("short");
        let lot = Qty { mantissa: 1, decimals: 5 };
        let instrument = Instrument::new(InstrumentId(number), symbol, Price(10_000_000), lot);
        let config = BinanceConfig::new(instrument.expect("steps"));
        BinanceConfig { level_capacity: 64, updates_kept_max: 16, ..config }
    }

    fn feeds() -> BinanceFeeds {
        let configs = [("BTCUSDT", config(0, "BTCUSDT")), ("ETHUSDT", config(1, "ETH"))];
        BinanceFeeds::new(&configs, Nanos::ZERO).expect("handlers")
    }

    /// What a message told of the books.
    fn hear(feeds: &mut BinanceFeeds, source: Source, text: &str) -> Vec<(u32, EventKind)> {
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| told.push((event.instrument.0, event.kind));
        if let Some(frame) = feeds.decode(Nanos::ZERO, source, text.as_bytes()) {
            feeds.apply(frame, &mut sink);
        }
        feeds.recover(Nanos::ZERO, &mut sink);
        told
    }

    fn depth(name: &str, symbol: &str, first: u64, last: u64, bid: &str) -> String {
        format!(
            "{{\"stream\":\"{name}@depth@100ms\",\"data\":{{\"e\":\"depthUpdate\",\"E\":1,\
             \"s\":\"{symbol}\",\"U\":{first},\"u\":{last},\"b\":[[\"{bid}\",\"1.00000\"]],\
             \"a\":[]}}}}"
        )
    }

    fn snapshot(id: u32, last: u64) -> String {
        format!(
            "{{\"id\":{id},\"status\":200,\"result\":{{\"lastUpdateId\":{last},\
             \"bids\":[[\"9.00\",\"1.00000\"]],\"asks\":[[\"11.00\",\"2.00000\"]]}},\
             \"rateLimits\":[]}}"
        )
    }

    #[test]
    fn each_message_goes_to_the_book_of_its_symbol() {
        let mut feeds = feeds();
        let eth = depth("ethusdt", "ETHUSDT", 5, 6, "10.00");
        assert_eq!(hear(&mut feeds, Source::LINE_A, &eth), []);
        let asked = feeds.poll_request();
        assert_eq!(asked, Some(FeedRequest::Snapshot(InstrumentId(1))));
        assert_eq!(feeds.poll_request(), None, "of the other nothing has come");
        let told = hear(&mut feeds, Source::SNAPSHOT, &snapshot(1, 5));
        assert!(told.contains(&(1, EventKind::Book(Soundness::Sound))), "{told:?}");
        assert_eq!(feeds.soundness(InstrumentId(1)), Soundness::Sound);
        assert!(!feeds.is_whole() && feeds.soundness(InstrumentId(0)) != Soundness::Sound);
        let best = feeds.best(InstrumentId(1));
        assert_eq!(best.bid.map(|it| it.0), Some(Price(10_000_000_000)));
        let btc = depth("btcusdt", "BTCUSDT", 70, 71, "10.50");
        hear(&mut feeds, Source::LINE_A, &btc);
        hear(&mut feeds, Source::SNAPSHOT, &snapshot(0, 70));
        assert!(feeds.is_whole());
        let told = hear(&mut feeds, Source::LINE_A, &depth("ethusdt", "ETHUSDT", 7, 7, "10.20"));
        assert!(told.iter().all(|(instrument, _)| *instrument == 1), "{told:?}");
        assert_eq!(feeds.counters().malformed, 0);
    }

    #[test]
    fn a_quiet_symbol_is_sound_while_others_move_and_no_symbol_is_on_a_silent_line() {
        let mut feeds = feeds();
        let (btc, eth) = (InstrumentId(0), InstrumentId(1));
        for (name, symbol, number) in [("btcusdt", "BTCUSDT", 0), ("ethusdt", "ETHUSDT", 1)] {
            hear(&mut feeds, Source::LINE_A, &depth(name, symbol, 5, 6, "10.00"));
            hear(&mut feeds, Source::SNAPSHOT, &snapshot(number, 5));
        }
        assert!(feeds.is_whole());
        let silence = BinanceConfig::new(config(0, "BTCUSDT").instrument).silence;
        let mut now = Nanos::ZERO;
        let mut last = 6;
        let mut pass = |feeds: &mut BinanceFeeds, seconds: i64, is_moving: bool| {
            for _ in 0..seconds {
                now = now + Nanos::from_secs(1);
                if is_moving {
                    last += 1;
                    let text = depth("btcusdt", "BTCUSDT", last, last, "10.00");
                    let mut sink = |_: &Context<'_>, _: &Event| {};
                    let frame = feeds.decode(now, Source::LINE_A, text.as_bytes()).expect("depth");
                    feeds.apply(frame, &mut sink);
                }
                if feeds.poll_timeout().is_some_and(|due| due <= now) {
                    feeds.handle_timeout(now);
                }
                feeds.recover(now, &mut |_: &Context<'_>, _: &Event| {});
            }
        };
        let seconds = silence.0 / 1_000_000_000;
        pass(&mut feeds, 20 * seconds, true);
        assert!(feeds.is_whole() && feeds.counters().silences == 0);
        // Long enough, its stream may be dead.
        pass(&mut feeds, 11 * seconds, true);
        assert_eq!(feeds.soundness(eth), Soundness::Stale(Staleness::Silent));
        assert_eq!(feeds.soundness(btc), Soundness::Sound);
        pass(&mut feeds, seconds, false);
        assert_eq!(feeds.soundness(btc), Soundness::Stale(Staleness::Silent));
        assert_eq!(feeds.counters().silences, 2);
    }

    #[test]
    fn what_is_nobodys_is_counted() {
        let mut feeds = feeds();
        for (source, text) in [
            (Source::LINE_A, depth("xyzusdt", "XYZUSDT", 1, 2, "1.00")),
            (Source::LINE_A, "{\"result\":null,\"id\":1}".to_owned()),
            (Source::LINE_A, "{\"stream\":\"btcusdt".to_owned()),
            (Source::SNAPSHOT, snapshot(2, 5)),
            (Source::SNAPSHOT, "{\"id\":null}".to_owned()),
            (Source::SNAPSHOT, "{\"id\":99999999999999999999999}".to_owned()),
        ] {
            assert_eq!(hear(&mut feeds, source, &text), [], "{text}");
        }
        assert_eq!(feeds.counters().malformed, 6);
        let wrong = BinanceFeeds::new(&[("A", config(1, "A"))], Nanos::ZERO);
        assert_eq!(wrong.err(), Some(InstrumentError::OutOfRange));
    }
}
