//! The books that follow the feed, each found by its instrument's number at once.

mod more;
mod orders;

use alloc::vec;
use alloc::vec::Vec;

use taut_book::{BookError, LevelBook};
use taut_types::{Instrument, InstrumentId, Nanos, SequenceNumber};

use crate::event::{
    BestPrices, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink, Origin,
    SequenceRange, Soundness, Staleness, TradingStatus,
};
use crate::native::error::NativeConfigError;
use crate::native::message::Message;
use crate::native::packet::PacketFlags;
use crate::native::places::Places;
use crate::native::queues::{OrderQueues, WAITING};
use crate::native::reader::PacketReader;

/// The table from numbers to books is as long as the highest number.
const NUMBER_MAX: u32 = 1 << 20;
/// In the table: nobody follows this number.
const NOT_FOLLOWED: u32 = u32::MAX;

/// A book, and how far it is.
#[derive(Debug)]
pub(crate) struct FollowedBook {
    pub(crate) book: LevelBook,
    /// What the packets up to this one changed is in the book, or is not to be.
    as_of: u64,
    pub(crate) instrument: InstrumentId,
    lot_decimals: u8,
    /// The feed has more levels than there is room for.
    is_full: bool,
    /// The transaction that is not complete has changed it.
    is_touched: bool,
    /// As they were told last.
    pub(crate) top: BestPrices,
    pub(crate) soundness: Soundness,
}

impl FollowedBook {
    fn new(instrument: &Instrument, book: LevelBook) -> Self {
        Self {
            book,
            as_of: WAITING,
            instrument: instrument.id(),
            lot_decimals: instrument.lot().decimals,
            is_full: false,
            is_touched: false,
            top: BestPrices::default(),
            soundness: Soundness::Stale(Staleness::Joining),
        }
    }

    /// Whether it can only become sound by a snapshot.
    #[inline]
    pub(crate) const fn is_waiting(&self) -> bool {
        self.as_of == WAITING
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether a snapshot with the packets up to this one says something new.
    pub(crate) const fn is_behind(&self, last: SequenceNumber) -> bool {
        self.is_waiting() || self.as_of < last.0
    }

    /// Whether its next change is the feed's next packet, or else one behind it.
    pub(crate) const fn is_in_step(&self, next: SequenceNumber) -> bool {
        self.as_of < next.0
    }

    /// The packet up to which it is good, if that is one from `next` on.
    pub(crate) fn ahead_of(&self, next: SequenceNumber) -> Option<SequenceNumber> {
        (!self.is_waiting() && self.as_of >= next.0).then_some(SequenceNumber(self.as_of))
    }

    /// A snapshot replaces it.
    pub(crate) const fn replace(&mut self, book: &mut LevelBook, last: SequenceNumber) {
        core::mem::swap(&mut self.book, book);
        self.as_of = last.0;
        self.is_full = false;
    }

    /// Its packets are missing: a snapshot has to come.
    pub(crate) const fn wait(&mut self) {
        self.as_of = WAITING;
    }

    /// As [`wait`](Self::wait), because it has no room.
    pub(crate) const fn overflow(&mut self) {
        (self.as_of, self.is_full) = (WAITING, true);
    }

    /// Whether its changes are told.
    #[inline]
    fn is_told(&self) -> bool {
        self.soundness == Soundness::Sound
    }

    /// How far it can be trusted when the feed as a whole can be so far, and this is its next
    /// packet: not yet where its snapshot has overtaken that.
    pub(crate) const fn current_soundness(
        &self,
        feed: Soundness,
        next: SequenceNumber,
    ) -> Soundness {
        match feed {
            _ if self.is_full => Soundness::Stale(Staleness::BookFull),
            Soundness::Sound if !self.is_in_step(next) => Soundness::Stale(Staleness::Joining),
            feed => feed,
        }
    }

    /// Takes a change of a packet; an error makes it wait, and says what was wrong.
    #[inline(always)]
    fn take(&mut self, level: LevelUpdate) -> Result<LevelUpdate, BookError> {
        let LevelUpdate { side, price, lots, order_count, .. } = level;
        match self.book.apply(side, price, lots, order_count) {
            Ok(change) => {
                let place = LevelPlace::Behind(u32::try_from(change.depth).unwrap_or(u32::MAX));
                Ok(LevelUpdate { place, ..level })
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// As [`take`](Self::take), of a packet that was kept: not in line.
    #[cold]
    fn take_kept(&mut self, level: LevelUpdate) -> Result<(), BookError> {
        self.take(level).map(drop)
    }

    #[cold]
    fn fail(&mut self, error: BookError) -> BookError {
        match error {
            BookError::Limit(_) => self.overflow(),
            _ => self.wait(),
        }
        error
    }

    #[inline]
    fn origin(
        &self,
        received: Nanos,
        exchange_time: Nanos,
        sequence: SequenceNumber,
    ) -> Origin<'static> {
        let context = Context {
            instrument: InstrumentKey::Id(self.instrument.0),
            sequence: SequenceRange::one(sequence.0),
            lot_decimals: self.lot_decimals,
        };
        Origin { context, instrument: self.instrument, exchange_time, receive_time: received }
    }

    /// Tells how far it can be trusted now, and its top.
    pub(crate) fn tell(
        &mut self,
        now: Nanos,
        sequence: SequenceNumber,
        soundness: Soundness,
        sink: &mut impl MarketSink,
    ) {
        self.top = BestPrices::of(&self.book);
        let origin = self.origin(now, Nanos::ZERO, sequence);
        origin.hand(EventKind::Book(soundness), sink);
        origin.hand(EventKind::Top(self.top), sink);
    }
}

/// What a packet did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    /// Books that have no room.
    pub(crate) full: u64,
    /// Books for which it was not what was to come.
    pub(crate) malformed: u64,
}

impl Failures {
    #[cold]
    const fn count(&mut self, error: BookError) {
        match error {
            BookError::Limit(_) => self.full += 1,
            _ => self.malformed += 1,
        }
    }

    #[inline]
    pub(crate) const fn is_none(self) -> bool {
        self.full + self.malformed == 0
    }
}

/// Whether an instrument trades, as far as the feed has said.
#[derive(Clone, Copy, Debug, Default)]
struct FollowedStatus {
    now: Option<TradingStatus>,
    /// The packet that said so, or the last one in the snapshot that did.
    as_of: u64,
    /// As it was told last.
    told: Option<TradingStatus>,
}

/// All books.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) books: Vec<FollowedBook>,
    /// In the books' places.
    statuses: Vec<FollowedStatus>,
    /// By the venue's number of an instrument, the place of its book.
    places: Vec<u32>,
    /// The same by its own number, under which it is told.
    own_places: Vec<u32>,
    /// The books that the transaction has changed.
    touched: Vec<u32>,
    /// Books of instruments that may be added.
    spare: Vec<LevelBook>,
    pub(crate) orders: OrderQueues,
}

impl Followed {
    pub(crate) fn new(
        instruments: &[Instrument],
        level_capacity: usize,
    ) -> Result<Self, NativeConfigError> {
        let own_places = places_of(instruments.iter().map(Instrument::id))?;
        let places = own_places.clone();
        let book = || LevelBook::with_capacity(level_capacity);
        let books = instruments.iter().map(|instrument| FollowedBook::new(instrument, book()));
        Ok(Self {
            books: books.collect(),
            statuses: vec![FollowedStatus::default(); instruments.len()],
            places,
            own_places,
            touched: Vec::with_capacity(instruments.len()),
            spare: Vec::new(),
            orders: OrderQueues::default(),
        })
    }

    /// The venue has other numbers for the instruments, each at its place.
    pub(crate) fn set_numbers(
        &mut self,
        numbers: &[InstrumentId],
    ) -> Result<(), NativeConfigError> {
        if numbers.len() != self.books.len() {
            return Err(NativeConfigError::NoInstrument);
        }
        self.places = places_of(numbers.iter().copied())?;
        Ok(())
    }

    /// The feed begins anew: what it says from here on is newer.
    pub(crate) fn forget_status_numbers(&mut self) {
        self.statuses.iter_mut().for_each(|status| status.as_of = 0);
    }

    /// Takes what a packet, or a snapshot up to it, says of an instrument's status, unless
    /// something newer was said; whether that is to be told.
    #[cold]
    pub(crate) fn take_status(
        &mut self,
        instrument: InstrumentId,
        sequence: SequenceNumber,
        status: TradingStatus,
    ) -> bool {
        let at = self.place(instrument);
        let Some(known) = self.statuses.get_mut(at).filter(|it| sequence.0 >= it.as_of) else {
            return false;
        };
        (known.now, known.as_of) = (Some(status), sequence.0);
        known.now != known.told
    }

    /// Takes the statuses of a packet of the incremental channel; whether some are to be told.
    /// Nothing when it is malformed: nobody knows what trades.
    #[cold]
    pub(crate) fn take_statuses(&mut self, packet: &PacketReader<'_>) -> Option<bool> {
        let header = packet.header();
        let mut has_news = false;
        if header.flags.contains(PacketFlags::STATUS) {
            for message in packet.messages() {
                if let Message::Event(instrument, EventKind::Status(status)) = message.ok()? {
                    has_news |= self.take_status(instrument, header.sequence, status);
                }
            }
        }
        Some(has_news)
    }

    /// Tells which instruments trade now and did not, or the other way.
    #[cold]
    pub(crate) fn tell_statuses(
        &mut self,
        received: Nanos,
        (exchange_time, sequence): (Nanos, SequenceNumber),
        sink: &mut impl MarketSink,
    ) {
        for (book, status) in self.books.iter().zip(&mut self.statuses) {
            if let Some(now) = status.now.filter(|now| status.told != Some(*now)) {
                status.told = Some(now);
                book.origin(received, exchange_time, sequence).hand(EventKind::Status(now), sink);
            }
        }
    }

    /// The place of the book of an instrument with this number at the venue; one beyond all of them
    /// when it is not followed.
    #[inline]
    pub(crate) fn place(&self, instrument: InstrumentId) -> usize {
        self.places.get(instrument.0 as usize).copied().unwrap_or(NOT_FOLLOWED) as usize
    }

    #[inline]
    fn get(&self, instrument: InstrumentId) -> Option<&FollowedBook> {
        self.books.get(self.place(instrument))
    }

    /// The book of the instrument that is told under this number.
    #[inline]
    pub(crate) fn own(&self, instrument: InstrumentId) -> Option<&FollowedBook> {
        let place = self.own_places.get(instrument.0 as usize).copied();
        self.books.get(place.unwrap_or(NOT_FOLLOWED) as usize)
    }

    /// Asks the processor for the levels that a change of this instrument most likely meets.
    #[inline]
    pub(crate) fn prefetch(&self, instrument: InstrumentId) {
        if let Some(followed) = self.get(instrument) {
            followed.book.prefetch_best();
        }
    }

    /// The place of an instrument's book, which the transaction changes.
    #[inline]
    fn touch(&mut self, instrument: InstrumentId) -> usize {
        let at = self.place(instrument);
        if let Some(book) = self.books.get_mut(at)
            && !book.is_touched
        {
            book.is_touched = true;
            // One book is in it once: it has room.
            self.touched.push(at as u32);
        }
        at
    }

    /// Applies a packet and tells of it; the tops follow by [`end_transaction`].
    ///
    /// [`end_transaction`]: Self::end_transaction
    #[inline]
    pub(crate) fn apply(
        &mut self,
        received: Nanos,
        packet: &PacketReader<'_>,
        places: &Places,
        sink: &mut impl MarketSink,
    ) -> Failures {
        let header = packet.header();
        let (sequence, time) = (header.sequence, header.sending_time);
        let mut failures = Failures::default();
        // Changes of an instrument come together: it is looked up once.
        let (mut last, mut at) = (InstrumentId::UNKNOWN, usize::MAX);
        places.visit(packet, |instrument, kind| {
            if instrument != last {
                (last, at) = (instrument, self.touch(instrument));
            }
            let Some(book) = self.books.get_mut(at) else { return true };
            if sequence.0 <= book.as_of {
                return true;
            }
            match kind {
                EventKind::Level(level) => match book.take(level) {
                    Ok(level) if book.is_told() => {
                        let origin = book.origin(received, time, sequence);
                        origin.hand(EventKind::Level(level), sink);
                    }
                    Ok(_) => {}
                    Err(error) => failures.count(error),
                },
                EventKind::Trade(trade) if book.is_told() => {
                    let origin = book.origin(received, time, sequence);
                    origin.hand(EventKind::Trade(trade), sink);
                }
                _ => {}
            }
            true
        });
        failures
    }

    /// The transaction is complete: tells the tops that it has changed.
    #[inline]
    pub(crate) fn end_transaction(
        &mut self,
        received: Nanos,
        packet: &PacketReader<'_>,
        sink: &mut impl MarketSink,
    ) {
        let header = packet.header();
        for &at in &self.touched {
            let Some(book) = self.books.get_mut(at as usize) else { continue };
            book.is_touched = false;
            if book.is_told() && !book.is_waiting() {
                let top = BestPrices::of(&book.book);
                if top != book.top {
                    book.top = top;
                    let origin = book.origin(received, header.sending_time, header.sequence);
                    origin.hand(EventKind::Top(top), sink);
                }
            }
        }
        self.touched.clear();
    }

    /// Applies a packet that was kept to all books that it is for, and takes its statuses. Nothing
    /// when it is malformed.
    pub(crate) fn apply_kept(
        &mut self,
        sequence: SequenceNumber,
        bytes: &[u8],
        places: &mut Places,
    ) -> Option<Failures> {
        let packet = PacketReader::new(bytes).ok()?;
        places.check(&packet).ok()?;
        self.take_statuses(&packet)?;
        let mut failures = Failures::default();
        places.visit(&packet, |instrument, kind| {
            let at = self.place(instrument);
            if let EventKind::Level(level) = kind
                && let Some(book) = self.books.get_mut(at)
                && sequence.0 > book.as_of
                && let Err(error) = book.take_kept(level)
            {
                failures.count(error);
            }
            true
        });
        self.apply_kept_orders(sequence, &packet);
        Some(failures)
    }

    /// Applies a packet that was kept to one book; whether that could be.
    pub(crate) fn catch_up(&mut self, at: usize, bytes: &[u8], places: &mut Places) -> bool {
        let Self { books, places: numbers, .. } = self;
        let Some(book) = books.get_mut(at) else { return false };
        let Ok(packet) = PacketReader::new(bytes) else { return false };
        if places.check(&packet).is_err() {
            return false;
        }
        let mut is_well = true;
        places.visit(&packet, |instrument, kind| {
            if let EventKind::Level(level) = kind
                && numbers.get(instrument.0 as usize).is_some_and(|place| *place as usize == at)
            {
                is_well = book.take_kept(level).is_ok();
            }
            is_well
        });
        is_well
    }
}

/// By number, the place of an instrument; each number once.
fn places_of(
    numbers: impl Iterator<Item = InstrumentId> + Clone,
) -> Result<Vec<u32>, NativeConfigError> {
    let highest = numbers.clone().map(|number| number.0).max();
    let Some(highest) = highest else { return Err(NativeConfigError::NoInstrument) };
    if highest > NUMBER_MAX {
        return Err(NativeConfigError::NumberTooHigh(InstrumentId(highest)));
    }
    let mut places = vec![NOT_FOLLOWED; highest as usize + 1];
    for (at, number) in (0..).zip(numbers) {
        match places.get_mut(number.0 as usize) {
            Some(place) if *place == NOT_FOLLOWED => *place = at,
            _ => return Err(NativeConfigError::SameNumber(number)),
        }
    }
    Ok(places)
}
