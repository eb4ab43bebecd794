//! The handler of a venue's books.

use core::fmt;

use taut_book::LevelBook;
use taut_types::{Instrument, InstrumentError, InstrumentId, Nanos, SequenceNumber};

use super::books::{ChainCounters, ChainedBooks, Mark};
use super::instruments::{ChainConfig, NamedInstrument};
use crate::error::MarketDataError;
use crate::event::{BestPrices, MarketSink, Soundness, Staleness};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, FollowError, Source};

/// What differs from venue to venue: how frames are read, and what they do to the books.
pub trait ChainedDecoder {
    /// A frame that was taken apart.
    type Body<'f>;

    /// Takes a frame apart; nothing when it says nothing of the market: heartbeats and answers do
    /// not make a connection alive.
    ///
    /// # Errors
    /// [`MarketDataError`] when it is malformed.
    fn read<'f>(&mut self, frame: &'f [u8]) -> Result<Option<Self::Body<'f>>, MarketDataError>;

    /// Moves the books, and tells the rest; whether a book changed. Nothing else has been read
    /// since.
    ///
    /// # Errors
    /// [`MarketDataError`] when it is malformed; nothing has been handed to `sink` then.
    fn apply(
        &self,
        received: Nanos,
        source: Source,
        body: Self::Body<'_>,
        books: &mut ChainedBooks,
        sink: &mut impl MarketSink,
    ) -> Result<bool, MarketDataError>;

    /// Makes a frame that was read last, a change of a book, one that follows the book and changes
    /// nothing; the book's place. Nothing of what is no such change, or of a venue whose frames are
    /// not rehearsed.
    fn stand_in(&mut self, _body: &mut Self::Body<'_>, _books: &ChainedBooks) -> Option<usize> {
        None
    }

    /// The most events of a frame.
    fn events_max(&self) -> usize;

    /// Knows one more instrument behind the others.
    ///
    /// # Errors
    /// When it cannot; then nothing has changed.
    fn add(&mut self, _instrument: &NamedInstrument<'_>) -> Result<(), FollowError> {
        Err(FollowError::Fixed)
    }
}

/// The books of some instruments that follow their subscriptions.
///
/// [`Source::LINE_A`] brings the frames of a connection, and [`Source::LINE_B`] those of a second
/// one with the same subscriptions, if there is one. [`FeedRequest::Snapshot`] asks to unsubscribe
/// and subscribe a book's channel anew, on every connection. The top that is told is the book's;
/// tickers run ahead of it. Trades are told once each, by their numbers.
#[derive(Debug)]
pub struct ChainedFeed<D> {
    decoder: D,
    books: ChainedBooks,
    /// See [`FeedHandler::set_rehearsing`].
    rehearses: bool,
}

/// A frame that was checked.
pub struct ChainedFrame<B> {
    received: Nanos,
    source: Source,
    body: B,
}

impl<B> fmt::Debug for ChainedFrame<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, source, .. } = self;
        f.debug_struct("ChainedFrame")
            .field("received", received)
            .field("source", source)
            .finish_non_exhaustive()
    }
}

impl<D: ChainedDecoder> ChainedFeed<D> {
    /// A handler that has heard nothing, whose decoder knows these instruments in this order.
    /// Allocates all its memory.
    pub(crate) fn with_decoder(
        decoder: D,
        config: &ChainConfig<'_>,
        now: Nanos,
    ) -> Result<Self, InstrumentError> {
        Ok(Self { decoder, books: ChainedBooks::new(config, now)?, rehearses: false })
    }

    /// Takes the room for so many instruments that may come ([`FeedHandler::follow`]): a book for
    /// each. Call it before anything is heard.
    pub fn reserve_instruments(&mut self, more: usize) {
        self.books.reserve(more);
    }

    /// Makes a frame one that changes nothing; where its book stood before.
    #[cold]
    fn stand_in(&mut self, body: &mut D::Body<'_>) -> Option<Mark> {
        let place = self.decoder.stand_in(body, &self.books)?;
        self.books.mark(place)
    }

    /// What frames said that is not the rule.
    #[must_use]
    pub const fn counted(&self) -> &ChainCounters {
        self.books.counted()
    }

    /// How many books are not sound, as was told last.
    #[must_use]
    pub const fn stale_count(&self) -> usize {
        self.books.stale_count()
    }
}

impl<D: ChainedDecoder> FeedHandler for ChainedFeed<D> {
    type Frame<'f> = ChainedFrame<D::Body<'f>>;

    #[inline]
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<Self::Frame<'f>> {
        match self.decoder.read(bytes) {
            Ok(body) => body.map(|body| ChainedFrame { received, source, body }),
            Err(_) => {
                self.books.counters.malformed += 1;
                None
            }
        }
    }

    #[inline]
    fn apply(&mut self, frame: Self::Frame<'_>, sink: &mut impl MarketSink) {
        let ChainedFrame { received, source, mut body } = frame;
        let before = match self.rehearses.then(|| self.stand_in(&mut body)) {
            Some(None) => return,
            stands_in => stands_in.flatten(),
        };
        let applied = self.decoder.apply(received, source, body, &mut self.books, sink);
        if let Some(mark) = before {
            self.books.back_to(&mark);
            return;
        }
        self.books.counters.malformed += u64::from(applied.is_err());
        self.books.note_line(received, source, applied == Ok(true));
    }

    fn set_rehearsing(&mut self, is_rehearsal: bool) -> bool {
        self.rehearses = is_rehearsal && self.is_settled();
        self.rehearses
    }

    /// Takes the memory for its name.
    fn follow(
        &mut self,
        instrument: &Instrument,
        _number: InstrumentId,
        name: &[u8],
    ) -> Result<(), FollowError> {
        self.books.check(instrument.id())?;
        self.decoder.add(&NamedInstrument { name, instrument: *instrument })?;
        self.books.follow(instrument)
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.books.is_settled()
    }

    #[inline]
    fn is_whole(&self) -> bool {
        self.books.stale_count() == 0 && self.books.is_settled()
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        self.books.recover(now, sink);
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.books.handle_timeout(now);
    }

    fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        self.books.handle_disconnect(now, source);
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.books.poll_timeout()
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        self.books.poll_wanted().map(FeedRequest::Snapshot)
    }

    #[inline]
    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        let book = self.books.get(instrument);
        book.map_or(Soundness::Stale(Staleness::Joining), |book| book.soundness)
    }

    #[inline]
    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.books.get(instrument).map_or(BestPrices::default(), |book| book.top)
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.books.get(instrument).map(|book| &book.book)
    }

    /// None: the ids jump, so that nobody knows how many there were.
    fn lost(&self, _last: SequenceNumber) -> u64 {
        0
    }

    fn counters(&self) -> FeedCounters {
        let counted = self.books.counted();
        FeedCounters {
            unknown: counted.unknown + counted.unknown_actions,
            crossed: counted.crossed,
            checksums_failed: counted.checksums_failed,
            levels_refused: counted.levels_refused,
            trades_missed: counted.trades_missed,
            ..self.books.counters
        }
    }

    fn events_max(&self) -> usize {
        // What a frame says, of each instrument that it is halted at the most. Behind it: whether
        // each book can be trusted, in the worst case for each of them anew.
        self.decoder.events_max().max(self.books.room()) + 3 * self.books.room()
    }
}
