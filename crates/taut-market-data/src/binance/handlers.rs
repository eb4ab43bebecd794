//! Books of several symbols on one connection: combined streams.

mod more;

use alloc::boxed::Box;
use alloc::vec::Vec;

use taut_book::LevelBook;
use taut_types::{Instrument, InstrumentError, InstrumentId, Nanos, SequenceNumber};

use super::handler::{BinanceConfig, BinanceFeed, BinanceFrame, Encoding, is_text};
use super::stream::{read, symbol};
use crate::event::{BestPrices, MarketSink, Soundness, Staleness};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, FollowError, Source};
use crate::scan::Scanner;

/// What a message of combined streams begins with; its stream's name follows: `btcusdt@depth`.
const STREAM: &[u8] = b"{\"stream\":\"";
/// What an answer of the WebSocket API begins with; its request's id follows.
const ANSWER: &[u8] = b"{\"id\":";
/// A connection is about to end; whoever has it takes care of that.
const SHUTDOWNS: [&[u8]; 2] = [b"{\"stream\":\"!serverShutdown\"", b"{\"e\":\"serverShutdown\""];
/// A symbol may be quiet for so many times as long as the connection: in many markets nothing
/// changes for minutes, and a stream that dies alone is rare.
const QUIET: i64 = 30;

/// Books that follow Binance's combined streams, one for each symbol, all in the encoding of the
/// first. A snapshot is the answer to a request whose id is the number of its instrument.
#[derive(Debug)]
pub struct BinanceFeeds {
    /// Each at the number of its instrument.
    feeds: Vec<BinanceFeed>,
    /// Names in small letters, sorted, with the numbers of their instruments.
    names: Vec<(Box<[u8]>, usize)>,
    /// How the stream is written.
    encoding: Encoding,
    /// How one that may come is followed, if there are any to take after.
    usual: Option<BinanceConfig>,
    /// For so many that may come there is room.
    room: usize,
    /// Who may ask for a snapshot next.
    turn: usize,
    /// Messages of streams and answers to requests that nobody here knows.
    strange: u64,
    /// The lines that have brought something since they were connected: each has all symbols.
    are_live: [bool; 2],
    /// When a line brought something of any symbol, and how long none may bring anything.
    heard: Nanos,
    silence: Nanos,
    /// See [`FeedHandler::set_rehearsing`].
    rehearses: bool,
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
            encoding: configs.first().map_or(Encoding::Json, |(_, config)| config.encoding),
            usual: configs.first().map(|(_, config)| *config),
            feeds,
            names,
            room: 0,
            turn: 0,
            strange: 0,
            are_live: [false; 2],
            heard: now,
            silence: configs.iter().map(|(_, config)| config.silence).min().unwrap_or(Nanos::MAX),
            rehearses: false,
        })
    }

    /// Whose message it is. Cost: a search among the names.
    fn place_of(&self, source: Source, bytes: &[u8]) -> Option<usize> {
        if source == Source::SNAPSHOT {
            let rest = bytes.strip_prefix(ANSWER).or_else(|| value_of(b"id", bytes))?;
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(9);
            let number = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
            return rest.first()?.is_ascii_digit().then_some(number);
        }
        let elsewhere = || value_of(b"stream", bytes)?.strip_prefix(b"\"");
        let rest = bytes.strip_prefix(STREAM).or_else(elsewhere)?;
        let end = rest.iter().position(|byte| *byte == b'@')?;
        let name = rest.get(..end)?;
        let found = self.names.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.names.get(found).map(|(_, place)| *place)
    }

    /// The same of a symbol in capital letters.
    fn place_of_symbol(&self, symbol: &[u8]) -> Option<usize> {
        let small = || symbol.iter().map(u8::to_ascii_lowercase);
        let found = self.names.binary_search_by(|(own, _)| own.iter().copied().cmp(small()));
        self.names.get(found.ok()?).map(|(_, place)| *place)
    }

    /// [`FeedHandler::decode`] of a message of the SBE streams, which has its symbol at its end.
    #[inline]
    fn decode_sbe<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<(usize, BinanceFrame<'f>)> {
        self.note_line(received, source);
        // What has another template is nothing that was asked for, and no mistake.
        let message = read(bytes).transpose()?.ok();
        let found = message.and_then(|it| Some((self.place_of_symbol(symbol(&it))?, it)));
        self.strange += u64::from(found.is_none());
        found.map(|(place, message)| (place, BinanceFrame::sbe(received, source, message)))
    }

    /// A line has brought something.
    fn note_line(&mut self, received: Nanos, source: Source) {
        if self.rehearses {
            return;
        }
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

/// What stands behind this key, in whatever order a message has its fields.
#[cold]
fn value_of<'a>(key: &[u8], message: &'a [u8]) -> Option<&'a [u8]> {
    let mut found = None;
    let mut scanner = Scanner::new(message);
    scanner.object(|scanner, it| {
        let value = scanner.value()?;
        if it == key {
            found = Some(value);
        }
        Some(())
    })?;
    found
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
        let is_sbe = self.encoding == Encoding::Sbe && source != Source::SNAPSHOT;
        if is_sbe && !is_text(bytes) {
            return self.decode_sbe(received, source, bytes);
        }
        let place = if is_sbe { None } else { self.place_of(source, bytes) };
        self.note_line(received, source);
        let Some((place, feed)) = place.and_then(|at| Some((at, self.feeds.get_mut(at)?))) else {
            self.strange += u64::from(!SHUTDOWNS.iter().any(|it| bytes.starts_with(it)));
            return None;
        };
        feed.decode(received, source, bytes).map(|frame| (place, frame))
    }

    #[inline]
    fn apply(&mut self, (place, frame): Self::Frame<'_>, sink: &mut impl MarketSink) {
        let Some(feed) = self.feeds.get_mut(place) else { return };
        if self.rehearses && !feed.set_rehearsing(true) {
            return;
        }
        feed.apply(frame, sink);
        if self.rehearses {
            feed.set_rehearsing(false);
        }
    }

    fn set_rehearsing(&mut self, is_rehearsal: bool) -> bool {
        self.rehearses = is_rehearsal;
        true
    }

    /// Takes the memory for its book.
    fn follow(
        &mut self,
        instrument: &Instrument,
        _number: InstrumentId,
        name: &[u8],
    ) -> Result<(), FollowError> {
        self.add(instrument, name)
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
        for feed in &mut self.feeds {
            feed.handle_timeout(now);
            feed.notice_quiet_channel(now, self.heard);
        }
    }

    fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        if let Some(is_live) = self.are_live.get_mut(usize::from(source.0)) {
            *is_live = false;
        }
        self.feeds.iter_mut().for_each(|feed| feed.handle_disconnect(now, source));
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        let of_any = self.feeds.iter().filter_map(FeedHandler::poll_timeout).min()?;
        let quiet = self.feeds.iter().filter_map(|feed| feed.quiet_at(self.heard)).min();
        Some(of_any.min(quiet.unwrap_or(of_any)).min(self.heard + self.silence))
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
            sum.channels_silent += one.channels_silent;
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
        most + 2 * (self.feeds.len() + self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Event, EventKind, Statistic};
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

    const SAID_COMBINED: &str =
        "{\"stream\":\"!serverShutdown\",\"data\":{\"e\":\"serverShutdown\",\"E\":1}}";

    /// What a message told of the books.
    fn hear(feeds: &mut BinanceFeeds, source: Source, text: &str) -> Vec<(u32, EventKind)> {
        hear_bytes(feeds, source, text.as_bytes())
    }

    fn hear_bytes(feeds: &mut BinanceFeeds, source: Source, frame: &[u8]) -> Vec<(u32, EventKind)> {
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| told.push((event.instrument.0, event.kind));
        if let Some(frame) = feeds.decode(Nanos::ZERO, source, frame) {
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
        let mark = "{\"stream\":\"ethusdt@markPrice@1s\",\"data\":{\"e\":\"markPriceUpdate\",\
                    \"E\":1,\"s\":\"ETHUSDT\",\"p\":\"10.5\",\"i\":\"\",\"r\":\"\",\"T\":0}}";
        let told = hear(&mut feeds, Source::FIGURES, mark);
        let mark = EventKind::Statistic(Statistic::Mark(Price(10_500_000_000)));
        assert_eq!(told, [(1, mark)]);
        feeds.handle_disconnect(Nanos::ZERO, Source::FIGURES);
        assert!(feeds.is_whole(), "books do not wait for figures");
        assert_eq!(feeds.counters().malformed, 0);
    }

    /// A message of the SBE streams: a change of one bid, of two places as its lots have five.
    fn sbe_depth(symbol: &str, first: i64, last: i64, cents: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        [26_u16, 10_003, 1, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        [1_000_000, first, last].iter().for_each(|it: &i64| bytes.extend(it.to_le_bytes()));
        bytes.extend([-2_i8, -5].map(i8::cast_unsigned));
        for levels in [&[(cents, 100_000_i64)][..], &[]] {
            bytes.extend(16_u16.to_le_bytes());
            bytes.extend((levels.len() as u16).to_le_bytes());
            levels.iter().flat_map(|it| [it.0, it.1]).for_each(|it| bytes.extend(it.to_le_bytes()));
        }
        bytes.push(symbol.len() as u8);
        bytes.extend(symbol.bytes());
        bytes
    }

    #[test]
    fn of_the_sbe_streams_each_message_goes_to_the_book_of_its_symbol() {
        let sbe =
            |number, symbol| BinanceConfig { encoding: Encoding::Sbe, ..config(number, symbol) };
        let configs = [("BTCUSDT", sbe(0, "BTCUSDT")), ("ETHUSDT", sbe(1, "ETH"))];
        let mut feeds = BinanceFeeds::new(&configs, Nanos::ZERO).expect("handlers");
        let eth = sbe_depth("ETHUSDT", 5, 6, 1_000);
        assert_eq!(hear_bytes(&mut feeds, Source::LINE_A, &eth), []);
        assert_eq!(feeds.poll_request(), Some(FeedRequest::Snapshot(InstrumentId(1))));
        let told = hear(&mut feeds, Source::SNAPSHOT, &snapshot(1, 5));
        assert!(told.contains(&(1, EventKind::Book(Soundness::Sound))), "{told:?}");
        let best = feeds.best(InstrumentId(1)).bid;
        assert_eq!(
            best.map(|(price, lots)| (price, lots.0)),
            Some((Price(10_000_000_000), 100_000))
        );
        // The other line has the same, and JSON is what is said beside the data.
        assert_eq!(hear_bytes(&mut feeds, Source::LINE_B, &eth), []);
        for said in ["{\"e\":\"serverShutdown\",\"E\":1}", SAID_COMBINED] {
            assert_eq!(hear(&mut feeds, Source::LINE_A, said), []);
        }
        let [a, b] = feeds.counters().lines;
        assert_eq!((a.packets, a.first, b.packets, b.first), (1, 0, 1, 0));
        assert_eq!(feeds.counters().malformed, 0);
        // Another template is no mistake; another symbol, a cut message, an answer and data
        // in JSON are.
        let mut other = eth.clone();
        other[2..4].copy_from_slice(&20_000_u16.to_le_bytes());
        assert_eq!(hear_bytes(&mut feeds, Source::LINE_A, &other), []);
        assert_eq!(feeds.counters().malformed, 0);
        let json = depth("ethusdt", "ETHUSDT", 7, 7, "10.20");
        let wrong = [
            &sbe_depth("XYZUSDT", 1, 2, 1)[..],
            &eth[..eth.len() - 1],
            b"",
            b"{\"id\":1}",
            json.as_bytes(),
        ];
        for frame in wrong {
            assert_eq!(hear_bytes(&mut feeds, Source::LINE_A, frame), []);
        }
        assert_eq!(feeds.counters().malformed, 5);
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
    fn a_symbol_that_is_added_gets_its_book_while_the_others_stay_sound() {
        let mut feeds = feeds();
        feeds.reserve_instruments(1);
        let events_max = feeds.events_max();
        for (name, symbol, number) in [("btcusdt", "BTCUSDT", 0), ("ethusdt", "ETHUSDT", 1)] {
            hear(&mut feeds, Source::LINE_A, &depth(name, symbol, 5, 6, "10.00"));
            hear(&mut feeds, Source::SNAPSHOT, &snapshot(number, 5));
        }
        while feeds.poll_request().is_some() {}
        assert!(feeds.is_whole());
        let [new, far] = [(2, "SOL"), (3, "X")].map(|(id, symbol)| config(id, symbol).instrument);
        assert_eq!(feeds.follow(&far, far.id(), b"X"), Err(FollowError::Full));
        assert_eq!(feeds.follow(&new, new.id(), b"ethUSDT"), Err(FollowError::Name));
        assert_eq!(feeds.follow(&new, new.id(), &[b'A'; 100]), Err(FollowError::Name));
        let odd = new.with_id(InstrumentId(1));
        assert_eq!(feeds.follow(&odd, odd.id(), b"Y"), Err(FollowError::SameNumber(odd.id())));
        assert_eq!(feeds.follow(&new, new.id(), b"SOLUSDT"), Ok(()));
        assert_eq!(feeds.follow(&far, far.id(), b"X"), Err(FollowError::Full));
        assert!(!feeds.is_whole() && feeds.poll_request().is_none());
        hear(&mut feeds, Source::LINE_A, &depth("solusdt", "SOLUSDT", 70, 71, "10.50"));
        assert_eq!(feeds.poll_request(), Some(FeedRequest::Snapshot(new.id())));
        let told = hear(&mut feeds, Source::SNAPSHOT, &snapshot(2, 70));
        assert!(told.iter().all(|(instrument, _)| *instrument == 2), "{told:?}");
        assert!(feeds.is_whole() && feeds.counters().malformed == 0);
        assert_eq!(feeds.events_max(), events_max, "there was room from the beginning");
        // The line that it came by is gone, and with it all books.
        feeds.handle_disconnect(Nanos::ZERO, Source::LINE_A);
        feeds.recover(Nanos::ZERO, &mut |_: &Context<'_>, _: &Event| {});
        assert_eq!(feeds.soundness(new.id()), Soundness::Stale(Staleness::Silent));
    }

    #[test]
    fn a_message_is_its_symbols_in_whatever_order_it_has_its_fields() {
        let mut feeds = feeds();
        let strange = |text: &str| text.replacen('{', "{\"new\":{\"id\":7,\"a\":[\"}\"]},", 1);
        let frame = depth("ethusdt", "ETHUSDT", 5, 6, "10.00");
        assert_eq!(hear(&mut feeds, Source::LINE_A, &strange(&frame)), []);
        assert_eq!(feeds.poll_request(), Some(FeedRequest::Snapshot(InstrumentId(1))));
        let told = hear(&mut feeds, Source::SNAPSHOT, &strange(&snapshot(1, 5)));
        assert!(told.contains(&(1, EventKind::Book(Soundness::Sound))), "{told:?}");
        assert_eq!(feeds.counters().malformed, 0);
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
