//! Frames as events.

use taut_types::{InstrumentError, Nanos, Side};

use super::checksum::checksum;
use super::fields::Fields;
use super::levels::{BookHead, read_book};
use crate::chained::{
    BookFrame, ChainedBooks, ChainedDecoder, FrameLevels, InstrumentTable, Link, NamedInstrument,
};
use crate::error::{Expected, MarketDataError};
use crate::event::{Batch, EventKind, LevelPlace, LevelUpdate, MarketSink, Origin, SequenceRange};
use crate::handler::{FollowError, Source};
use crate::scan::Scanner;

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OkxFrameKind {
    /// A snapshot or a change of a book.
    Book,
    /// The best levels of `books5` or `bbo-tbt`.
    BestLevels,
    /// A ticker.
    Ticker,
    /// Trades.
    Trades,
    /// What the venue values positions at, or what longs pay shorts.
    Figures,
    /// What instruments are, and whether they trade.
    Instruments,
    /// An answer to a request, or a notice.
    Answer,
    /// The answer to `ping`.
    Pong,
    /// Something that is not read.
    Unknown,
}

/// Reads frames into events.
///
/// The order of the fields does not matter, fields that are not known are skipped by their
/// structure, and a frame that is malformed gives no event at all. It allocates when it is built
/// and never again.
#[derive(Debug)]
pub struct OkxJson {
    instruments: InstrumentTable,
    levels: FrameLevels,
}

/// A frame that was taken apart; the levels of a book stand in the decoder.
#[derive(Clone, Debug)]
pub struct Body<'a>(Parts<'a>);

#[derive(Clone, Debug)]
enum Parts<'a> {
    /// Of this instrument; nothing links what is whole each time.
    Book(&'a [u8], BookHead, Option<Link>),
    /// The place where the objects of a channel begin.
    Objects(OkxFrameKind, Scanner<'a>),
    Nothing(OkxFrameKind),
}

/// What a frame says of itself.
#[derive(Clone, Debug, Default)]
struct Head<'a> {
    channel: &'a [u8],
    instrument: &'a [u8],
    action: &'a [u8],
    is_answer: bool,
}

impl OkxJson {
    /// The most levels of a frame: more than any book of the venue has.
    pub const LEVELS_MAX: usize = 1 << 13;

    /// A decoder with room for so many levels in a frame, that knows these instruments.
    ///
    /// # Errors
    /// [`InstrumentError::BadIncrement`] when amounts cannot be counted in an instrument's lot.
    pub fn new(
        levels_max: usize,
        instruments: &[NamedInstrument<'_>],
    ) -> Result<Self, InstrumentError> {
        let instruments = InstrumentTable::new(instruments)?;
        Ok(Self { instruments, levels: FrameLevels::new(levels_max) })
    }

    /// Reads a frame. Cost: one pass over a book in the usual order, two over all else.
    ///
    /// # Errors
    /// [`MarketDataError`] when the frame is malformed or has too many levels: nothing has been
    /// handed to `sink` then.
    pub fn decode(
        &mut self,
        receive_time: Nanos,
        frame: &[u8],
        sink: &mut impl MarketSink,
    ) -> Result<OkxFrameKind, MarketDataError> {
        match self.take_apart(frame)? {
            Parts::Book(name, head, link) => {
                let (sequence, batch) = match link {
                    Some(link @ Link::Snapshot(_)) => (link.sequence(), Batch::Snapshot),
                    Some(link) => (link.sequence(), Batch::Update),
                    None => (SequenceRange::default(), Batch::BestLevels),
                };
                let time = utc(head.time_ms);
                let origin = self.instruments.origin(name, time, receive_time, sequence);
                origin.hand(EventKind::Begin(batch), sink);
                for (side, levels) in Side::BOTH.into_iter().zip(self.levels.sides()) {
                    for level in levels {
                        let (price, lots, place) = (level.price, level.lots, LevelPlace::ByPrice);
                        let level = LevelUpdate { side, price, lots, order_count: 0, place };
                        origin.hand(EventKind::Level(level), sink);
                    }
                }
                origin.hand(EventKind::End { is_final: true }, sink);
                let is_best = batch == Batch::BestLevels;
                Ok(if is_best { OkxFrameKind::BestLevels } else { OkxFrameKind::Book })
            }
            Parts::Objects(kind, objects) => {
                self.objects(kind, objects.clone(), receive_time, |_, _, _| ())?;
                self.objects(kind, objects, receive_time, |origin, _, event| {
                    origin.hand(event, sink);
                })?;
                Ok(kind)
            }
            Parts::Nothing(kind) => Ok(kind),
        }
    }

    fn take_apart<'f>(&mut self, frame: &'f [u8]) -> Result<Parts<'f>, MarketDataError> {
        if frame == b"pong" {
            return Ok(Parts::Nothing(OkxFrameKind::Pong));
        }
        let mut scanner = Scanner::new(frame);
        let mut head = Head::default();
        let mut data = None;
        let mut read = None;
        let mut error = None;
        let is_read = scanner.object(|scanner, key| {
            match key {
                b"arg" if scanner.peek()? == b'{' => {
                    return scanner.object(|scanner, key| match key {
                        b"channel" => scanner.text().map(|text| head.channel = text),
                        b"instId" => scanner.text().map(|text| head.instrument = text),
                        _ => scanner.skip_value(),
                    });
                }
                b"action" => head.action = scanner.text()?,
                b"event" | b"op" => {
                    head.is_answer = true;
                    scanner.skip_value()?;
                }
                b"data" if !head.channel.is_empty() && read.is_none() => {
                    // What says what the data are comes before them, mostly.
                    match self.read_data(&head, scanner) {
                        Ok(parts) => read = Some(parts),
                        Err(wrong) => {
                            error = Some(wrong);
                            return None;
                        }
                    }
                }
                b"data" => {
                    scanner.peek()?;
                    data = Some(scanner.clone());
                    scanner.skip_value()?;
                }
                _ => scanner.skip_value()?,
            }
            Some(())
        });
        if is_read.is_none() || !scanner.is_at_end() {
            return Err(error.unwrap_or_else(|| scanner.error()));
        }
        let parts = match (read, data) {
            (Some(parts), _) => parts,
            (None, Some(mut data)) if !head.channel.is_empty() => {
                self.read_data(&head, &mut data)?
            }
            _ if head.is_answer => Parts::Nothing(OkxFrameKind::Answer),
            _ => Parts::Nothing(OkxFrameKind::Unknown),
        };
        Ok(match parts {
            // The action may stand behind the data.
            Parts::Book(name, book, Some(_)) => {
                let link = book.link(is_snapshot(head.action)?)?;
                Parts::Book(name, book, Some(link))
            }
            parts => parts,
        })
    }

    /// Reads the data of a channel, and takes them; how a book is linked is said elsewhere.
    fn read_data<'f>(
        &mut self,
        head: &Head<'f>,
        scanner: &mut Scanner<'f>,
    ) -> Result<Parts<'f>, MarketDataError> {
        use OkxFrameKind::{Figures, Instruments, Ticker, Trades, Unknown};
        let is_chained = match head.channel {
            b"books" | b"books-l2-tbt" | b"books50-l2-tbt" => true,
            b"books5" | b"bbo-tbt" => false,
            channel => {
                let objects = scanner.clone();
                if scanner.skip_value().is_none() {
                    return Err(scanner.error());
                }
                return Ok(match channel {
                    b"tickers" => Parts::Objects(Ticker, objects),
                    b"trades" | b"trades-all" => Parts::Objects(Trades, objects),
                    b"mark-price" | b"funding-rate" => Parts::Objects(Figures, objects),
                    b"instruments" => Parts::Objects(Instruments, objects),
                    _ => Parts::Nothing(Unknown),
                });
            }
        };
        let (.., scale) = self.instruments.find(head.instrument);
        let book = read_book(scanner, &mut self.levels, scale)?;
        Ok(Parts::Book(head.instrument, book, is_chained.then_some(Link::Next)))
    }

    /// Reads the objects of a channel one by one: what each is of, the place of its instrument if
    /// it is followed, and what it says.
    fn objects(
        &self,
        kind: OkxFrameKind,
        mut scanner: Scanner<'_>,
        receive_time: Nanos,
        mut visit: impl FnMut(&Origin<'_>, Option<usize>, EventKind),
    ) -> Result<(), MarketDataError> {
        let mut error = None;
        let read = scanner.array(|scanner| {
            let fields = Fields::read(scanner)?;
            let (place, _, scale) = self.instruments.find(fields.instrument);
            let told = match kind {
                OkxFrameKind::Trades => fields
                    .trade(scale)
                    .map(|(number, trade)| (SequenceRange::one(number), EventKind::Trade(trade))),
                OkxFrameKind::Ticker => {
                    fields.top(scale).map(|top| (SequenceRange::default(), EventKind::Top(top)))
                }
                OkxFrameKind::Figures => {
                    let told = |figure| (SequenceRange::default(), EventKind::Statistic(figure));
                    fields.figure().map(told)
                }
                _ => Ok((SequenceRange::default(), EventKind::Status(fields.status()))),
            };
            match told.and_then(|told| Ok((told, fields.time()?))) {
                Ok(((sequence, event), time)) => {
                    let name = fields.instrument;
                    let origin = self.instruments.origin(name, time, receive_time, sequence);
                    visit(&origin, place, event);
                    Some(())
                }
                Err(wrong) => {
                    error = Some(wrong);
                    None
                }
            }
        });
        match (read, error) {
            (_, Some(error)) => Err(error),
            (None, None) => Err(scanner.error()),
            (Some(()), None) => Ok(()),
        }
    }
}

impl Default for OkxJson {
    /// A decoder that knows no instrument by its number.
    fn default() -> Self {
        let instruments = InstrumentTable::default();
        Self { instruments, levels: FrameLevels::new(Self::LEVELS_MAX) }
    }
}

impl ChainedDecoder for OkxJson {
    type Body<'f> = Body<'f>;

    fn read<'f>(&mut self, frame: &'f [u8]) -> Result<Option<Body<'f>>, MarketDataError> {
        Ok(match self.take_apart(frame)? {
            Parts::Nothing(OkxFrameKind::Answer | OkxFrameKind::Pong) => None,
            parts => Some(Body(parts)),
        })
    }

    fn apply(
        &self,
        received: Nanos,
        source: Source,
        Body(parts): Body<'_>,
        books: &mut ChainedBooks,
        sink: &mut impl MarketSink,
    ) -> Result<bool, MarketDataError> {
        match parts {
            Parts::Book(name, head, Some(link)) => {
                let (Some(place), _, scale) = self.instruments.find(name) else {
                    return Ok(false);
                };
                let exchange_time = utc(head.time_ms);
                let frame = BookFrame { received, source, exchange_time, link };
                let sides = self.levels.sides();
                let is_well = |book: &_| {
                    head.checksum.is_none_or(|expected| checksum(book, scale) == expected)
                };
                return Ok(books.apply(place, &frame, sides, is_well, sink));
            }
            Parts::Objects(OkxFrameKind::Ticker, _) | Parts::Book(_, _, None) => {}
            Parts::Objects(kind, objects) => {
                self.objects(kind, objects.clone(), received, |_, _, _| ())?;
                self.objects(kind, objects, received, |origin, place, event| {
                    let times = [received, origin.exchange_time];
                    match (place, event) {
                        (Some(place), EventKind::Trade(trade)) => {
                            let number = (trade.trade_id, false);
                            books.apply_trade(times, place, number, trade, sink);
                        }
                        (Some(place), EventKind::Statistic(figure)) => {
                            books.apply_statistic(times, place, figure, sink);
                        }
                        (Some(place), EventKind::Status(status)) => {
                            books.apply_status(times, place, status, sink);
                        }
                        _ => {}
                    }
                })?;
            }
            Parts::Nothing(_) => books.note_unknown(),
        }
        Ok(false)
    }

    fn stand_in(&mut self, Body(parts): &mut Body<'_>, books: &ChainedBooks) -> Option<usize> {
        let Parts::Book(name, head, link @ Some(Link::Change(..))) = parts else { return None };
        let (Some(place), _, scale) = self.instruments.find(name) else { return None };
        let (book, last) = books.sound(place)?;
        *link = Some(Link::Change(last, last.checked_add(1)?));
        // Where the venue proves its books, this one is to be proved, too.
        head.checksum = head.checksum.map(|_| checksum(book, scale));
        self.levels.stand_in(book);
        Some(place)
    }

    fn events_max(&self) -> usize {
        // Every level of a frame, and the top.
        Self::LEVELS_MAX + 1
    }

    fn add(&mut self, instrument: &NamedInstrument<'_>) -> Result<(), FollowError> {
        self.instruments.add(instrument)
    }
}

/// Whether the action says that the book is whole.
fn is_snapshot(action: &[u8]) -> Result<bool, MarketDataError> {
    match action {
        b"snapshot" => Ok(true),
        b"update" => Ok(false),
        _ => Err(MarketDataError::Malformed { offset: 0, expected: Expected::Value }),
    }
}

/// A time in milliseconds.
fn utc(ms: u64) -> Nanos {
    Nanos::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}
