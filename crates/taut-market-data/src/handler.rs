//! What a venue's market data is to who trades on it: frames in, events and books out.

use core::fmt;

use taut_book::{LevelBook, OrderBook};
use taut_types::{Instrument, InstrumentId, Nanos, SequenceNumber};

use crate::event::{BestPrices, MarketSink, Soundness};
use crate::feed::RetransmitRequest;

/// Where a frame came from. Frames are datagrams, or the messages of a stream: which sockets and
/// connections bring them is the business of whoever drives the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub u8);

impl Source {
    /// How many there are: numbers are below this.
    pub const COUNT: usize = 5;
    /// Increments: the first of two lines that carry the same, or the only one.
    pub const LINE_A: Self = Self(0);
    /// Increments: the other line.
    pub const LINE_B: Self = Self(1);
    /// Answers to [`FeedRequest::Packets`].
    pub const RETRANSMISSION: Self = Self(2);
    /// Snapshots: a cycle that is always sent, or answers to [`FeedRequest::Snapshot`].
    pub const SNAPSHOT: Self = Self(3);
    /// Figures of instruments, where they come apart from their books: no book is stale for want of
    /// them.
    pub const FIGURES: Self = Self(4);
}

/// What a handler needs from its venue to make a book sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedRequest {
    /// Packets, sent again.
    Packets(RetransmitRequest),
    /// The whole book of an instrument.
    Snapshot(InstrumentId),
    /// The stream of an instrument's book, which brings nothing while others do: it is to be
    /// subscribed to anew. Where a subscription begins with the book,
    /// [`Snapshot`](Self::Snapshot) asks for that.
    Channel(InstrumentId),
}

/// What became of a feed's packets, or of its updates where they are what the venue numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedCounters {
    /// Applied, one after the other.
    pub applied: u64,
    /// Covered by a snapshot.
    pub recovered: u64,
    /// The highest number that is known to have been sent.
    pub highest_seen: u64,
    /// How often something was missing.
    pub gaps: u64,
    /// Snapshots that became a book.
    pub snapshots: u64,
    /// What lines A and B brought, and what was brought by that line first.
    pub lines: [LineCount; 2],
    /// What was sent again and was missing until then.
    pub retransmitted: u64,
    /// How often a line fell silent.
    pub silences: u64,
    /// Books whose channel brought nothing for too long while others did.
    pub channels_silent: u64,
    /// Requests for packets or snapshots.
    pub requests: u64,
    /// Frames that were malformed.
    pub malformed: u64,
    /// How often more single orders rested in a book than there is room for.
    pub order_overflows: u64,
    /// Frames that the venue does not document, and changes of an unknown kind.
    pub unknown: u64,
    /// Books that were made stale because the best bid was not below the best offer.
    pub crossed: u64,
    /// Books that were made stale because they had not the venue's checksum.
    pub checksums_failed: u64,
    /// Levels for which a book had no room.
    pub levels_refused: u64,
    /// Numbers of trades that were jumped over, where a venue numbers them one by one.
    pub trades_missed: u64,
}

/// What one of two lines brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCount {
    /// All of it.
    pub packets: u64,
    /// What the other one had not brought yet.
    pub first: u64,
}

/// A venue's market data: takes frames, keeps books by the venue's rules, and says what changed.
/// Pure: no I/O, no clock, no allocation once it is built.
///
/// A frame goes through two steps, so that their times can be told apart: [`decode`](Self::decode)
/// checks it and finds where its messages stand, [`apply`](Self::apply) moves the books. Contract:
/// what `decode` gives is applied before anything else is called; while
/// [`is_settled`](Self::is_settled) says no, [`recover`](Self::recover) is called after each frame
/// and each time-out; what [`poll_request`](Self::poll_request) says is asked for.
///
/// The events of one frame come in the frame's order. The top of a book comes behind them, when
/// the venue says that its transaction is complete: in between a book may show what never was.
/// While a book is not sound, nothing is told of it: [`EventKind::Book`](crate::EventKind::Book)
/// and the top come first when it is again.
pub trait FeedHandler {
    /// A frame that was checked, and whose turn it is.
    type Frame<'f>;

    /// Checks a frame. Nothing when nothing of it is to be applied now: it is a copy, ahead of its
    /// turn, about nothing that is followed, or malformed.
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<Self::Frame<'f>>;

    /// Moves the books.
    fn apply(&mut self, frame: Self::Frame<'_>, sink: &mut impl MarketSink);

    /// Begins rehearsals, or ends them; whether the next frame can be one.
    ///
    /// While frames are rehearsed, [`decode`](Self::decode) and [`apply`](Self::apply) take one
    /// that came before as if it came now: by the same code, over the same memory, so that the next
    /// one finds both in the caches. The levels of its book are set to what they are, and what
    /// `apply` hands on is told to nobody: nothing changes.
    fn set_rehearsing(&mut self, _is_rehearsal: bool) -> bool {
        false
    }

    /// Follows one more instrument, in room that was taken when the handler was built. `number` is
    /// the venue's number of the instrument, where its frames number them, and `name` the venue's
    /// name, where they name them. The new book is not sound until its snapshot is in; the other
    /// books are as they were.
    ///
    /// # Errors
    /// When the instrument cannot be followed; then nothing has changed.
    fn follow(
        &mut self,
        _instrument: &Instrument,
        _number: InstrumentId,
        _name: &[u8],
    ) -> Result<(), FollowError> {
        Err(FollowError::Fixed)
    }

    /// Whether what is known of the books was told, and [`recover`](Self::recover) has nothing to
    /// do. A book may be waiting for its snapshot.
    fn is_settled(&self) -> bool;

    /// Whether every book is sound, and no snapshot is waited for.
    fn is_whole(&self) -> bool;

    /// Whether snapshots are needed: of a book that is not sound, or of one whose single orders are
    /// to be told and are not known.
    #[inline]
    fn needs_snapshots(&self) -> bool {
        !self.is_whole()
    }

    /// Brings the books up to date with what was kept for it, and tells of those that became sound
    /// or stale.
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink);

    /// Notices what lasts: silence, gaps.
    fn handle_timeout(&mut self, now: Nanos);

    /// The connection behind a source broke: what it would have brought may be missing.
    fn handle_disconnect(&mut self, _now: Nanos, _source: Source) {}

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// What to ask the venue for.
    fn poll_request(&mut self) -> Option<FeedRequest>;

    /// An instrument of which the feed says another symbol, price step or quantity step than the
    /// handler was built with: orders for it could be refused, or mean something else. Said as
    /// often as the feed says so.
    fn poll_contradiction(&mut self) -> Option<InstrumentId> {
        None
    }

    /// Whether the book of an instrument can be trusted, as it was told last.
    fn soundness(&self, instrument: InstrumentId) -> Soundness;

    /// The top of a book as it was told last.
    fn best(&self, instrument: InstrumentId) -> BestPrices;

    /// The book of an instrument; nothing of one that is not followed.
    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook>;

    /// Whether single orders are told, where they are known.
    fn tells_orders(&self) -> bool {
        false
    }

    /// The single orders of an instrument that rest, as they were told last; nothing where they are
    /// not told, or not known. The owner of each is its number among those that came: of two in a
    /// queue the higher one is behind. Prices are in the instrument's half ticks.
    fn orders(&self, _instrument: InstrumentId) -> Option<&OrderBook> {
        None
    }

    /// How many of the numbers up to this one were neither applied nor recovered.
    fn lost(&self, last: SequenceNumber) -> u64;

    /// The account so far.
    fn counters(&self) -> FeedCounters;

    /// Whether the feed says of each instrument that it trades: until it does, it does not.
    fn tells_status(&self) -> bool {
        false
    }

    /// The most events of a frame, with what [`recover`](Self::recover) tells behind them, but for
    /// the orders of lists.
    fn events_max(&self) -> usize;
}

/// Why a handler does not follow one more instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowError {
    /// The handler follows the instruments that it was built with, and no others.
    Fixed,
    /// The room that was taken for more instruments is used up.
    Full,
    /// An instrument that is followed has this number.
    SameNumber(InstrumentId),
    /// The number is above 2^20.
    NumberTooHigh(InstrumentId),
    /// An instrument that is followed has this name, or the venue has no such names.
    Name,
    /// The venue's amounts cannot be counted in its lot.
    Lot,
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => {
                f.write_str("this venue's feed handler takes no instrument while it runs")
            }
            Self::Full => f.write_str("no room is left for another instrument"),
            Self::SameNumber(InstrumentId(number)) => {
                write!(f, "another instrument has the number {number}")
            }
            Self::NumberTooHigh(InstrumentId(number)) => {
                write!(f, "the instrument number {number} is above 2^20")
            }
            Self::Name => {
                f.write_str("another instrument has this name, or it is none of the venue's")
            }
            Self::Lot => f.write_str("the venue's amounts cannot be counted in this lot"),
        }
    }
}

impl core::error::Error for FollowError {}
