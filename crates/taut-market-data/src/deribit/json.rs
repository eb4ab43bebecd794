//! Frames as events.

use taut_types::{InstrumentError, Nanos, Side};

use super::channel::{BookChannel, Channel, channel};
use super::fields::{StateFields, TickerFields, TradeFields};
use super::levels::{BookHead, Columns, Reading};
use super::message::{Message, any, finish, usual};
use super::usual::read_book;
use crate::chained::{
    Action, BookFrame, ChainedBooks, ChainedDecoder, FrameLevel, FrameLevels, InstrumentTable,
    Link, NamedInstrument,
};
use crate::error::{Expected, MarketDataError};
use crate::event::{
    Batch, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink, Origin,
    SequenceRange, Trade, TradingStatus,
};
use crate::handler::{FollowError, Source};
use crate::scan::Scanner;

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A snapshot or a change of a book.
    Book,
    /// The best levels of a grouped book.
    BestLevels,
    /// A ticker, whole or in parts.
    Ticker,
    /// The best prices.
    Quote,
    /// Trades.
    Trades,
    /// What an instrument's trading does.
    InstrumentState,
    /// What the platform does.
    PlatformState,
    /// An answer to a request.
    Answer,
    /// The venue is there.
    Heartbeat,
    /// The venue wants to hear `public/test`.
    TestRequest,
    /// Something documented that has no events.
    Other,
    /// Something that is not documented.
    Unknown,
}

/// Reads frames into events.
///
/// The order of the fields does not matter, fields that are not known are skipped by their
/// structure, and a frame that is malformed gives no event at all: nor does a book whose levels
/// have an action that is not documented. It allocates when it is built and never again.
///
/// Of a ticker its best prices, its state, and its figures ([`Statistic`](crate::Statistic)) have
/// events: mark, index, settlement, funding, open interest, the highest and lowest price of 24
/// hours; of an option its volatilities, greeks, interest rate and the price of the underlying.
#[derive(Debug)]
pub struct DeribitJson {
    instruments: InstrumentTable,
    /// What the books of a feed are made of.
    books: BookChannel,
    levels: FrameLevels,
    columns: Columns,
}

/// A frame that was taken apart; the levels of a book stand in the decoder.
#[derive(Clone, Debug)]
pub struct Body<'a>(Parts<'a>);

#[derive(Clone, Debug)]
enum Parts<'a> {
    /// With the instrument's place, if it is followed.
    Book(&'a [u8], Option<usize>, BookHead),
    BestLevels(&'a [u8], Option<usize>, BookHead),
    /// The place where the ticker or the quote of an instrument begins.
    Top(FrameKind, &'a [u8], Scanner<'a>),
    /// The place where the trades begin.
    Trades(Scanner<'a>),
    InstrumentState(StateFields<'a>),
    PlatformState(StateFields<'a>),
    Nothing(FrameKind),
}

impl DeribitJson {
    /// The most levels of a frame: more than any book of the venue has.
    pub const LEVELS_MAX: usize = 1 << 15;
    /// The most levels of a side of a grouped book: more than the venue has them.
    const GROUPED_LEVELS_MAX: usize = 64;
    /// Decimal places of the lots of an instrument that is not followed.
    pub const AMOUNT_DECIMALS: u8 = InstrumentTable::DECIMALS;

    /// A decoder with room for so many levels in a frame, that knows these instruments.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when amounts cannot be counted in an instrument's lot.
    pub fn new(
        levels_max: usize,
        instruments: &[NamedInstrument<'_>],
    ) -> Result<Self, InstrumentError> {
        let instruments = InstrumentTable::new(instruments)?;
        let levels = FrameLevels::new(levels_max);
        Ok(Self { instruments, books: BookChannel::Changes, levels, columns: Columns::default() })
    }

    /// The same for a feed whose books are made of this channel.
    #[must_use]
    pub(super) fn following(self, books: BookChannel) -> Self {
        Self { books, ..self }
    }

    /// Reads a frame. Cost: one pass over it; two over tickers, trades, and what does not come in
    /// the usual order.
    ///
    /// # Errors
    /// [`MarketDataError`] when the frame is malformed or has too many levels: nothing has been
    /// handed to `sink` then.
    #[inline]
    pub fn decode(
        &mut self,
        receive_time: Nanos,
        frame: &[u8],
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let parts = self.take_apart(frame)?;
        self.tell(receive_time, &parts, sink)
    }

    #[inline]
    fn take_apart<'f>(&mut self, frame: &'f [u8]) -> Result<Parts<'f>, MarketDataError> {
        if let Some((name, mut scanner)) = usual(frame) {
            let parts = self.read_data(channel(name), &mut scanner)?;
            return match finish(&mut scanner) {
                Some(()) => Ok(parts),
                None => Err(scanner.error()),
            };
        }
        self.take_any_apart(frame)
    }

    #[cold]
    fn take_any_apart<'f>(&mut self, frame: &'f [u8]) -> Result<Parts<'f>, MarketDataError> {
        Ok(Parts::Nothing(match any(frame)? {
            Message::Notification { channel: name, data } => {
                let mut scanner = Scanner::new(frame);
                scanner.back_to(data);
                return self.read_data(channel(name), &mut scanner);
            }
            Message::Answer { .. } => FrameKind::Answer,
            Message::Heartbeat => FrameKind::Heartbeat,
            Message::TestRequest => FrameKind::TestRequest,
            Message::Unknown => FrameKind::Unknown,
        }))
    }

    /// Reads the data of a channel, and takes them.
    #[inline]
    fn read_data<'f>(
        &mut self,
        channel: Channel<'f>,
        scanner: &mut Scanner<'f>,
    ) -> Result<Parts<'f>, MarketDataError> {
        let data = scanner.clone();
        let parts = match channel {
            Channel::Book(name) => {
                let (place, head) = self.read_levels(name, scanner)?;
                return Ok(Parts::Book(name, place, head));
            }
            Channel::GroupedBook(name) => {
                let (place, head) = self.read_levels(name, scanner)?;
                return Ok(Parts::BestLevels(name, place, head));
            }
            Channel::Ticker(name) => {
                scanner.skip_value().map(|()| Parts::Top(FrameKind::Ticker, name, data))
            }
            Channel::Quote(name) => {
                scanner.skip_value().map(|()| Parts::Top(FrameKind::Quote, name, data))
            }
            Channel::Trades => scanner.skip_value().map(|()| Parts::Trades(data)),
            Channel::InstrumentState => StateFields::read(scanner).map(Parts::InstrumentState),
            Channel::PlatformState => StateFields::read(scanner).map(Parts::PlatformState),
            Channel::Other => scanner.skip_value().map(|()| Parts::Nothing(FrameKind::Other)),
            Channel::Unknown => scanner.skip_value().map(|()| Parts::Nothing(FrameKind::Unknown)),
        };
        parts.ok_or_else(|| scanner.error())
    }

    /// Reads the levels of an instrument with this name, and finds its place.
    #[inline]
    fn read_levels(
        &mut self,
        name: &[u8],
        scanner: &mut Scanner<'_>,
    ) -> Result<(Option<usize>, BookHead), MarketDataError> {
        let (place, _, scale) = self.instruments.find(name);
        let reading = Reading::begin(&mut self.levels, &mut self.columns, scale);
        Ok((place, read_book(scanner, name, reading)?))
    }

    #[inline]
    fn tell(
        &self,
        receive_time: Nanos,
        parts: &Parts<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let origin = |name, time_ms| {
            let none = SequenceRange::default();
            self.instruments.origin(name, utc(time_ms), receive_time, none)
        };
        match parts {
            Parts::Book(name, _, head) => {
                let is_whole = matches!(head.link, Link::Snapshot(_));
                let batch = if is_whole { Batch::Snapshot } else { Batch::Update };
                self.tell_levels(origin(name, head.time_ms), head, batch, sink)?;
                Ok(FrameKind::Book)
            }
            Parts::BestLevels(name, _, head) => {
                self.tell_levels(origin(name, head.time_ms), head, Batch::BestLevels, sink)?;
                Ok(FrameKind::BestLevels)
            }
            Parts::Top(kind, name, data) => {
                let fields = TickerFields::of(data.clone())?;
                let (.., scale) = self.instruments.find(name);
                let (top, status, time_ms) =
                    (fields.top(scale)?, fields.status()?, fields.time_ms()?);
                let origin = origin(name, time_ms);
                top.into_iter().for_each(|top| origin.hand(EventKind::Top(top), sink));
                let status = status.map(EventKind::Status);
                status.into_iter().for_each(|status| origin.hand(status, sink));
                fields
                    .statistics(scale)
                    .for_each(|figure| origin.hand(EventKind::Statistic(figure), sink));
                Ok(*kind)
            }
            Parts::Trades(data) => {
                self.trades(data.clone(), receive_time, |_, _, _| ())?;
                self.trades(data.clone(), receive_time, |origin, _, trade| {
                    origin.hand(EventKind::Trade(trade), sink);
                })?;
                Ok(FrameKind::Trades)
            }
            Parts::InstrumentState(fields) => {
                let (name, status) = (fields.instrument()?, fields.status()?);
                origin(name, fields.time_ms()?).hand(EventKind::Status(status), sink);
                Ok(FrameKind::InstrumentState)
            }
            Parts::PlatformState(fields) => {
                if fields.maintenance() == Some(true) {
                    let origin = origin(b"", 0);
                    let context = Context { instrument: InstrumentKey::Channel, ..origin.context };
                    let halted = EventKind::Status(TradingStatus::Halted);
                    Origin { context, ..origin }.hand(halted, sink);
                }
                Ok(FrameKind::PlatformState)
            }
            Parts::Nothing(kind) => Ok(*kind),
        }
    }

    fn tell_levels(
        &self,
        origin: Origin<'_>,
        head: &BookHead,
        batch: Batch,
        sink: &mut impl MarketSink,
    ) -> Result<(), MarketDataError> {
        if head.has_unknown_action {
            return Err(MarketDataError::Malformed { offset: 0, expected: Expected::Value });
        }
        let origin = origin.numbered(head.link.sequence());
        origin.hand(EventKind::Begin(batch), sink);
        for (side, levels) in Side::BOTH.into_iter().zip(self.levels.sides()) {
            for level in levels {
                let (price, lots, place) = (level.price, level.lots, LevelPlace::ByPrice);
                let level = LevelUpdate { side, price, lots, order_count: 0, place };
                origin.hand(EventKind::Level(level), sink);
            }
        }
        origin.hand(EventKind::End { is_final: true }, sink);
        Ok(())
    }

    /// Reads the trades of a frame one by one: what each is of, its place if it is followed, and
    /// itself.
    fn trades(
        &self,
        mut scanner: Scanner<'_>,
        receive_time: Nanos,
        mut visit: impl FnMut(&Origin<'_>, Option<usize>, Trade),
    ) -> Result<(), MarketDataError> {
        let mut error = None;
        let read = scanner.array(|scanner| {
            let fields = TradeFields::read(scanner)?;
            let told = fields.instrument().and_then(|name| {
                let (place, _, scale) = self.instruments.find(name);
                let sequence = SequenceRange::one(fields.sequence()?);
                let (trade, time) = (fields.trade(scale)?, utc(fields.time_ms()?));
                let origin = self.instruments.origin(name, time, receive_time, sequence);
                visit(&origin, place, trade);
                Ok(())
            });
            told.map_err(|wrong| error = Some(wrong)).ok()
        });
        match (read, error) {
            (_, Some(error)) => Err(error),
            (None, None) => Err(scanner.error()),
            (Some(()), None) => Ok(()),
        }
    }
}

impl Default for DeribitJson {
    /// A decoder that knows no instrument by its number.
    fn default() -> Self {
        let instruments = InstrumentTable::default();
        Self {
            instruments,
            books: BookChannel::Changes,
            levels: FrameLevels::new(Self::LEVELS_MAX),
            columns: Columns::default(),
        }
    }
}

impl ChainedDecoder for DeribitJson {
    type Body<'f> = Body<'f>;

    #[inline]
    fn read<'f>(&mut self, frame: &'f [u8]) -> Result<Option<Body<'f>>, MarketDataError> {
        use FrameKind::{Answer, Heartbeat, TestRequest};
        Ok(match self.take_apart(frame)? {
            Parts::Nothing(Answer | Heartbeat | TestRequest) => None,
            parts => Some(Body(parts)),
        })
    }

    #[inline]
    fn apply(
        &self,
        received: Nanos,
        source: Source,
        Body(parts): Body<'_>,
        books: &mut ChainedBooks,
        sink: &mut impl MarketSink,
    ) -> Result<bool, MarketDataError> {
        match parts {
            Parts::Book(_, Some(place), head) if self.books == BookChannel::Changes => {
                if head.has_unknown_action {
                    books.note_unknown_action(received, place);
                    return Ok(false);
                }
                let (exchange_time, link) = (utc(head.time_ms), head.link);
                let frame = BookFrame { received, source, exchange_time, link };
                return Ok(books.apply(place, &frame, self.levels.sides(), |_| true, sink));
            }
            Parts::BestLevels(_, Some(place), head) if self.books == BookChannel::Grouped => {
                if head.has_unknown_action {
                    books.note_unknown_action(received, place);
                    return Ok(false);
                }
                let (sides, levels_max) = (self.levels.sides(), Self::GROUPED_LEVELS_MAX);
                if sides.iter().any(|levels| levels.len() > levels_max) {
                    return Err(MarketDataError::TooManyLevels { levels_max });
                }
                let link = Link::Whole(head.link.sequence().last);
                let exchange_time = utc(head.time_ms);
                let frame = BookFrame { received, source, exchange_time, link };
                return Ok(books.apply(place, &frame, sides, |_| true, sink));
            }
            Parts::Top(FrameKind::Quote, name, data) if self.books == BookChannel::Quote => {
                let fields = TickerFields::of(data)?;
                let (Some(place), _, scale) = self.instruments.find(name) else { return Ok(false) };
                let (top, time_ms) = (fields.quote(scale)?, fields.time_ms()?);
                let level = |(price, lots)| FrameLevel::of(Action::Unsaid, price, lots);
                let sides = [top.bid.map(level), top.ask.map(level)];
                // Quotes have no numbers: they come in the order of their times.
                let (exchange_time, link) = (utc(time_ms), Link::Whole(time_ms));
                let frame = BookFrame { received, source, exchange_time, link };
                let sides = sides.each_ref().map(Option::as_slice);
                return Ok(books.apply(place, &frame, sides, |_| true, sink));
            }
            Parts::Top(_, name, data) => {
                let fields = TickerFields::of(data)?;
                let (status, times) = (fields.status()?, [received, utc(fields.time_ms()?)]);
                if let (Some(place), _, scale) = self.instruments.find(name) {
                    if let Some(status) = status {
                        books.apply_status(times, place, status, sink);
                    }
                    for figure in fields.statistics(scale) {
                        books.apply_statistic(times, place, figure, sink);
                    }
                }
            }
            Parts::Trades(data) => {
                self.trades(data.clone(), received, |_, _, _| ())?;
                self.trades(data, received, |origin, place, trade| {
                    let number = (origin.context.sequence.last, true);
                    let times = [received, origin.exchange_time];
                    if let Some(place) = place {
                        books.apply_trade(times, place, number, trade, sink);
                    }
                })?;
            }
            Parts::InstrumentState(fields) => {
                let (name, status) = (fields.instrument()?, fields.status()?);
                let times = [received, utc(fields.time_ms()?)];
                if let (Some(place), ..) = self.instruments.find(name) {
                    books.apply_status(times, place, status, sink);
                }
            }
            Parts::PlatformState(fields) if fields.maintenance() == Some(true) => {
                books.apply_maintenance(received, sink);
            }
            Parts::Nothing(FrameKind::Unknown) => books.note_unknown(),
            Parts::Book(..) | Parts::BestLevels(..) | Parts::PlatformState(_) => {}
            Parts::Nothing(_) => {}
        }
        Ok(false)
    }

    fn stand_in(&mut self, Body(parts): &mut Body<'_>, books: &ChainedBooks) -> Option<usize> {
        let Parts::Book(_, Some(place), head) = parts else { return None };
        let (book, last) = books.sound(*place)?;
        if self.books != BookChannel::Changes || head.has_unknown_action {
            return None;
        }
        head.link = Link::Change(last, last.checked_add(1)?);
        self.levels.stand_in(book);
        Some(*place)
    }

    fn events_max(&self) -> usize {
        // Every level of a frame, and the top.
        Self::LEVELS_MAX + 1
    }

    fn add(&mut self, instrument: &NamedInstrument<'_>) -> Result<(), FollowError> {
        self.instruments.add(instrument)
    }
}

/// A time in milliseconds.
#[inline]
fn utc(ms: u64) -> Nanos {
    Nanos::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}
