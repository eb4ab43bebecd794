//! The feed as a handler: two lines, retransmission, snapshots, and the books that they make.
//!
//! The venue numbers the packets of all instruments together. So a gap that nothing closes makes
//! every book wait for its snapshot, and each is sound again when that is in: the venue's cycle
//! goes round all instruments. While a book waits, packets are kept, so that a snapshot that is a
//! little behind can be brought up to date.

use alloc::vec::Vec;

use taut_book::{LevelBook, OrderBook};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, SequenceNumber, Symbol};

use crate::event::{BestPrices, EventKind, MarketSink, Soundness, Staleness};
use crate::feed::{Arbiter, ArbiterConfig, FeedConfig, Line, Recovery, Replay, Verdict};
use crate::handler::{FeedCounters, FeedHandler, FeedRequest, FollowError, LineCount, Source};
use crate::native::block::{InstrumentDefinition, SnapshotBegin};
use crate::native::error::NativeConfigError;
use crate::native::followed::{Failures, Followed};
use crate::native::loading::{Loaded, Loading, OrderList};
use crate::native::message::Message;
use crate::native::packet::{PACKET_BYTES_MAX, PacketFlags};
use crate::native::places::Places;
use crate::native::queues::OrderQueues;
use crate::native::reader::PacketReader;

/// The most events of a packet but the tops: what it holds of the smallest.
const EVENTS_MAX: usize = 64;
/// A gap that both lines have is asked for after this: what is late comes until then.
const GAP_TIMEOUT: Nanos = Nanos::from_micros(500);
/// Packets that are asked for again, and for how long: 2, 4, 8 and 16 ms, then a snapshot comes.
const RETRANSMISSION: Recovery =
    Recovery::Retransmission { interval: Nanos::from_millis(2), attempts_max: 4, packets_max: 64 };
/// So many packets may wait in their sockets while a snapshot that has them is read.
const OVERTAKEN_MAX: u64 = 1_024;
/// Both lines bring a heartbeat at least so often, or the books are stale.
const SILENCE: Nanos = Nanos::from_secs(2);

/// How taut's own feed is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeConfig<'a> {
    /// The instruments whose books are kept. Their numbers are the venue's, at most 2^20, unless
    /// [`NativeFeed::set_numbers`] says others: what comes of others costs one comparison.
    pub instruments: &'a [Instrument],
    /// The stream to follow; packets of others on the same group are not taken. When nothing is
    /// said, the first one heard is.
    pub stream_id: Option<u32>,
    /// Price levels of a side of a book that fit: 48 bytes of addresses for each, and of memory
    /// for those that were ever in use. A book of more levels is stale, and the others are not.
    pub level_capacity: usize,
    /// Whether there is somebody to ask for packets.
    pub has_retransmission: bool,
}

/// The books of some instruments that follow the feed.
#[derive(Debug)]
pub struct NativeFeed {
    arbiter: Arbiter,
    places: Places,
    /// See [`NativeFeed::tell_orders`].
    tells_orders: bool,
    followed: Followed,
    /// Symbol, price step and quantity step of each, in the books' places.
    terms: Vec<(Symbol, Price, Qty)>,
    /// Places of those that the feed defines otherwise, until it is asked.
    contradicted: Vec<usize>,
    loading: Loading,
    level_capacity: usize,
    /// How far the feed as a whole could be trusted when the books were looked at last.
    told: Soundness,
    /// Whether every book was told to be sound.
    are_all_sound: bool,
    /// The same, and single orders are known where they are to be told.
    is_complete: bool,
    /// A book changed between waiting and not since then, or has overtaken packets.
    has_news: bool,
    /// Some book was good since the feed began.
    has_base: bool,
    /// Packets that were jumped over while books still wait for what they changed.
    jumped: u64,
    snapshots: u64,
    malformed: u64,
}

/// A packet whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct NativeFrame<'f> {
    packet: PacketReader<'f>,
    received: Nanos,
}

impl NativeFeed {
    /// A handler that has heard nothing. Allocates all its memory.
    ///
    /// # Errors
    /// When these instruments cannot be followed.
    pub fn new(config: &NativeConfig<'_>, now: Nanos) -> Result<Self, NativeConfigError> {
        let recovery = if config.has_retransmission { RETRANSMISSION } else { Recovery::Snapshot };
        // Snapshots are put together here.
        let feed = FeedConfig {
            stream_id: config.stream_id,
            snapshot_packet_count: 1,
            ..FeedConfig::default()
        };
        let arbitration = ArbiterConfig {
            feed,
            silence: SILENCE,
            gap_timeout: GAP_TIMEOUT,
            recovery,
            ..ArbiterConfig::default()
        };
        let mut arbiter = Arbiter::new(arbitration, now);
        arbiter.keep_applied(true);
        Ok(Self {
            arbiter,
            places: Places::default(),
            tells_orders: false,
            followed: Followed::new(config.instruments, config.level_capacity)?,
            terms: config.instruments.iter().map(|it| (it.symbol(), it.tick(), it.lot())).collect(),
            contradicted: Vec::with_capacity(config.instruments.len()),
            loading: Loading::new(config.level_capacity),
            level_capacity: config.level_capacity,
            told: Soundness::Stale(Staleness::Joining),
            are_all_sound: false,
            is_complete: false,
            has_news: false,
            has_base: false,
            jumped: 0,
            snapshots: 0,
            malformed: 0,
        })
    }

    /// The venue has other numbers for the instruments than those under which they are told: that
    /// of each, at its place in [`NativeConfig::instruments`]. Before anything is heard.
    ///
    /// # Errors
    /// When a number is there twice or too high, or there are not as many as instruments.
    pub fn set_numbers(&mut self, numbers: &[InstrumentId]) -> Result<(), NativeConfigError> {
        self.followed.set_numbers(numbers)
    }

    /// Takes the room for so many more instruments, which [`FeedHandler::follow`] adds. Before
    /// anything is heard. Cost for each: the addresses of a book
    /// ([`NativeConfig::level_capacity`]) and some 400 bytes; for the first one those of two tables
    /// of 4 MiB, too.
    pub fn reserve_instruments(&mut self, more: usize) {
        self.followed.reserve(more, self.level_capacity);
        self.terms.reserve_exact(more);
        self.contradicted.reserve_exact(self.terms.len() + more);
    }

    /// Has single orders followed and told, too, with room for so many in each book. Before
    /// anything is heard, and behind [`reserve_instruments`](Self::reserve_instruments). Takes all
    /// memory for it: 64 bytes for each order and 72 for each level of each book, and of one more.
    ///
    /// Whenever a book becomes sound, the orders that rest are listed, those of a price in the
    /// order of their priority ([`Batch::Orders`](crate::Batch::Orders)); from then on those are
    /// told that come, become smaller and leave, behind the levels and trades of their packet.
    /// Where more rest than there is room for, or the feed contradicts itself, a list that is not
    /// final says that they are not known: the book by price stays sound, and a snapshot of orders
    /// that fit lists them again. Cost, where they are: another reading of each packet; the last
    /// part of a snapshot puts its orders into queues at once.
    pub fn tell_orders(&mut self, order_capacity: usize) {
        self.tells_orders = true;
        let books = self.followed.books.iter().zip(&self.terms);
        // Its terms were an instrument's.
        let instruments = books.filter_map(|(book, (symbol, tick, lot))| {
            Instrument::new(book.instrument, *symbol, *tick, *lot).ok()
        });
        let sizes = (order_capacity, self.level_capacity);
        self.followed.orders = OrderQueues::new(instruments, self.followed.room(), sizes);
        self.loading.load_orders(order_capacity);
    }

    /// The arbiter, to look at.
    #[must_use]
    pub const fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    /// How many books are not sound, as was told last.
    #[must_use]
    pub fn stale_count(&self) -> usize {
        self.followed.books.iter().filter(|book| book.soundness != Soundness::Sound).count()
    }

    /// Tells what a packet says beside levels and trades.
    #[cold]
    fn tell_further(
        &mut self,
        received: Nanos,
        packet: &PacketReader<'_>,
        sink: &mut impl MarketSink,
    ) {
        if self.tells_orders {
            self.followed.tell_orders(received, packet, sink);
            self.note_orders();
        }
        match self.followed.take_statuses(packet) {
            Some(false) => {}
            Some(true) => {
                let header = packet.header();
                let place = (header.sending_time, header.sequence);
                self.followed.tell_statuses(received, place, sink);
            }
            None => self.invalidate(received),
        }
    }

    /// A packet is not what was sent: nobody knows what it changed.
    #[cold]
    fn invalidate(&mut self, now: Nanos) {
        self.malformed += 1;
        self.arbiter.invalidate(now);
        self.check_base();
    }

    /// Books have failed: a snapshot has to come for them.
    #[cold]
    fn note(&mut self, failures: Failures) {
        self.malformed += failures.malformed;
        self.recount();
    }

    /// Single orders became unknown, or some changed and were not told.
    #[cold]
    fn note_orders(&mut self) {
        if self.followed.orders.take_news() {
            self.recount();
        }
    }

    /// The feed began anew, or was invalidated: no book is good any more.
    #[cold]
    fn check_base(&mut self) {
        if self.has_base && !self.arbiter.sequencer().has_base() {
            self.has_base = false;
            self.followed.books.iter_mut().for_each(|book| book.wait());
            self.followed.forget_status_numbers();
            self.loading.clear();
            self.jumped = 0;
            self.recount();
        }
    }

    /// Some books wait now that did not, or the other way.
    #[cold]
    fn recount(&mut self) {
        self.has_news = true;
        self.followed.orders_wait_with_books();
        let waiting = || self.followed.books.iter().filter(|book| book.is_waiting());
        let are_orders_known = self.followed.orders.are_known();
        self.arbiter.keep_applied(waiting().next().is_some() || !are_orders_known);
        // For a book without room nothing is missing that a packet could bring.
        if waiting().all(|book| book.is_full()) {
            self.jumped = 0;
        }
    }

    /// Takes a datagram of the snapshot channel.
    #[cold]
    fn take_snapshot(&mut self, now: Nanos, datagram: &[u8]) {
        let Some(packet) = read(datagram) else {
            self.malformed += 1;
            return;
        };
        let stream = packet.header().stream_id;
        let mut as_of = None;
        for message in packet.messages() {
            let loaded = match message {
                Ok(Message::SnapshotBegin(begin)) => {
                    as_of = Some(begin.last_sequence);
                    self.begin_snapshot(now, stream, &begin)
                }
                Ok(Message::Event(instrument, EventKind::Status(status)))
                    if self.arbiter.sequencer().stream_id() == Some(stream) =>
                {
                    self.has_news |= as_of
                        .is_some_and(|as_of| self.followed.take_status(instrument, as_of, status));
                    Loaded::Nothing
                }
                Ok(Message::SnapshotLevels(part))
                    if self.arbiter.sequencer().stream_id() == Some(stream) =>
                {
                    let at = self.followed.place(part.part.instrument);
                    match self.wants_part(at) {
                        true => self.loading.part(at, stream, &part),
                        false => Loaded::Nothing,
                    }
                }
                Ok(Message::SnapshotOrders(part))
                    if self.tells_orders
                        && self.arbiter.sequencer().stream_id() == Some(stream) =>
                {
                    let at = self.followed.place(part.part.instrument);
                    match self.wants_part(at) {
                        true => self.loading.order_part(at, stream, &part),
                        false => Loaded::Nothing,
                    }
                }
                Ok(Message::InstrumentDefinition(definition))
                    if self.arbiter.sequencer().stream_id() == Some(stream) =>
                {
                    self.compare(&definition);
                    Loaded::Nothing
                }
                Ok(_) => Loaded::Nothing,
                Err(_) => {
                    self.malformed += 1;
                    break;
                }
            };
            match loaded {
                Loaded::Nothing => {}
                Loaded::Complete(place) => self.complete(now, place),
                Loaded::Malformed => self.malformed += 1,
                Loaded::Full(at) => {
                    if let Some(book) = self.followed.books.get_mut(at)
                        && book.is_waiting()
                    {
                        book.overflow();
                        self.recount();
                    }
                }
            }
        }
    }

    /// Whether the book in this place may need a part of a snapshot: its beginning may come later.
    fn wants_part(&self, at: usize) -> bool {
        let Some(book) = self.followed.books.get(at) else { return false };
        let is_live = self.arbiter.sequencer().is_live();
        book.is_waiting() || !is_live || self.followed.orders.is_waiting(at)
    }

    /// Holds what the feed says of an instrument against what is known of it.
    fn compare(&mut self, definition: &InstrumentDefinition) {
        let at = self.followed.place(definition.instrument);
        let Some((symbol, tick, lot)) = self.terms.get(at) else { return };
        let told = Qty { mantissa: definition.lot_mantissa, decimals: definition.lot_decimals };
        let decimals = lot.decimals.max(told.decimals);
        let [lot, told] = [*lot, told].map(|lot| lot.with_decimals(decimals));
        let is_same = definition.symbol == *symbol
            && definition.tick == *tick
            && lot.is_some()
            && lot == told;
        if !is_same && !self.contradicted.contains(&at) {
            self.contradicted.push(at);
        }
    }

    /// Whether a snapshot has only overtaken packets: as long as each has come in its turn, that is
    /// no gap, and the books that wait for nothing stay sound. What is missing the lines tell.
    fn has_overtaken(&self, stream: u32, last: SequenceNumber) -> bool {
        let feed = self.arbiter.sequencer();
        let ahead = last.0.saturating_sub(feed.last().0);
        feed.is_live() && feed.stream_id() == Some(stream) && (1..=OVERTAKEN_MAX).contains(&ahead)
    }

    fn begin_snapshot(&mut self, now: Nanos, stream: u32, begin: &SnapshotBegin) -> Loaded {
        if !self.has_overtaken(stream, begin.last_sequence)
            && !self.arbiter.handle_snapshot_sequence(now, stream, begin.last_sequence)
        {
            return Loaded::Nothing;
        }
        self.check_base();
        let feed = self.arbiter.sequencer();
        let at = self.followed.place(begin.instrument);
        let Some(book) = self.followed.books.get(at) else { return Loaded::Nothing };
        let is_missed = !feed.is_live() && begin.last_sequence > feed.last();
        let needs_orders = self.followed.orders.is_waiting(at);
        let is_ahead = is_missed && book.is_behind(begin.last_sequence);
        if book.is_waiting() || is_ahead || needs_orders {
            self.loading.begin(at, stream, begin)
        } else {
            Loaded::Nothing
        }
    }

    /// A snapshot is whole: it becomes the book, or its orders alone become the book's.
    fn complete(&mut self, now: Nanos, place: usize) {
        let Some(snapshot) = self.loading.take(place) else { return };
        let (at, last) = (snapshot.at, snapshot.last);
        let Followed { books, orders, .. } = &mut self.followed;
        let Some(book) = books.get_mut(at) else { return };
        let applied = self.arbiter.sequencer().last();
        // Late packets may have closed the gap meanwhile, and another snapshot been newer.
        let needs_levels = book.is_waiting() || (last > applied && book.is_behind(last));
        if !needs_levels && !orders.is_waiting(at) {
            return;
        }
        let has_orders = match snapshot.orders {
            OrderList::All(parts) => {
                if !orders.build(at, parts.in_order(), snapshot.book) {
                    self.malformed += 1;
                    return;
                }
                orders.replace(at, last);
                true
            }
            OrderList::TooMany => {
                orders.overflow(at);
                false
            }
            OrderList::Nothing => {
                orders.wait(at);
                false
            }
        };
        if needs_levels {
            book.replace(snapshot.book, last);
            self.snapshots += 1;
            self.catch_up(at, last, applied);
        }
        if has_orders {
            let feed = self.arbiter.sequencer();
            let kept = (last.0 + 1..=applied.0).map(|number| feed.stored(SequenceNumber(number)));
            self.followed.catch_up_orders(at, kept);
        }
        self.jump(now);
        self.recount();
    }

    /// Brings the book in this place up to date with the packets from `last` on.
    fn catch_up(&mut self, at: usize, last: SequenceNumber, applied: SequenceNumber) {
        for sequence in last.0 + 1..=applied.0 {
            let kept = self.arbiter.sequencer().stored(SequenceNumber(sequence));
            let is_well =
                kept.is_some_and(|bytes| self.followed.catch_up(at, bytes, &mut self.places));
            if !is_well {
                self.followed.books.get_mut(at).into_iter().for_each(|book| {
                    if !book.is_full() {
                        book.wait();
                    }
                });
                break;
            }
        }
    }

    /// Gives a gap up that no book needs closed, or that nothing will close: the books with a
    /// snapshot from behind it go on there, and all others wait.
    fn jump(&mut self, now: Nanos) {
        let feed = self.arbiter.sequencer();
        if feed.is_live() {
            return;
        }
        let (next, has_base) = (SequenceNumber(feed.last().0 + 1), feed.has_base());
        let ahead = self.followed.books.iter().filter_map(|book| book.ahead_of(next)).min();
        let is_in_step = self.followed.books.iter().any(|book| book.is_in_step(next));
        if has_base && is_in_step && !self.arbiter.is_gap_hopeless(now) {
            return;
        }
        // Without a base, a book that stands where the account does is one.
        let target = if has_base || !is_in_step { ahead } else { Some(feed.last()) };
        let Some(target) = target else { return };
        if has_base {
            let books = self.followed.books.iter_mut();
            books.filter(|book| book.is_in_step(next)).for_each(|book| book.wait());
        }
        self.jumped += target.0 + 1 - next.0;
        self.has_base = true;
        self.arbiter.rebase(now, target);
    }
}

impl FeedHandler for NativeFeed {
    type Frame<'f> = NativeFrame<'f>;

    #[inline]
    fn decode<'f>(
        &mut self,
        received: Nanos,
        source: Source,
        bytes: &'f [u8],
    ) -> Option<NativeFrame<'f>> {
        let line = match source {
            Source::LINE_A => Line::A,
            Source::LINE_B => Line::B,
            Source::RETRANSMISSION => Line::Retransmission,
            _ => {
                self.take_snapshot(received, bytes);
                return None;
            }
        };
        let Some(packet) = read(bytes) else {
            self.malformed += 1;
            return None;
        };
        let header = packet.header();
        let (stream, sequence) = (header.stream_id, header.sequence);
        if header.flags.contains(PacketFlags::HEARTBEAT) {
            self.arbiter.handle_heartbeat(received, line, stream, sequence);
            self.check_base();
            return None;
        }
        let verdict = self.arbiter.handle_packet(received, line, stream, sequence, bytes);
        if verdict != Verdict::Apply {
            self.check_base();
            return None;
        }
        if self.places.check(&packet).is_err() {
            self.invalidate(received);
            return None;
        }
        if let Some(instrument) = self.places.first_instrument(&packet) {
            self.followed.prefetch(instrument);
        }
        Some(NativeFrame { packet, received })
    }

    #[inline]
    fn apply(&mut self, frame: NativeFrame<'_>, sink: &mut impl MarketSink) {
        let NativeFrame { packet, received } = frame;
        let failures = self.followed.apply(received, &packet, &self.places, sink);
        if !failures.is_none() {
            self.note(failures);
        }
        let flags = packet.header().flags;
        if self.tells_orders | flags.contains(PacketFlags::STATUS) {
            self.tell_further(received, &packet, sink);
        }
        if flags.contains(PacketFlags::LAST) {
            self.followed.end_transaction(received, &packet, sink);
        }
    }

    fn follow(
        &mut self,
        instrument: &Instrument,
        number: InstrumentId,
        _name: &[u8],
    ) -> Result<(), FollowError> {
        self.followed.follow(instrument, number)?;
        self.terms.push((instrument.symbol(), instrument.tick(), instrument.lot()));
        (self.are_all_sound, self.is_complete) = (false, false);
        self.recount();
        Ok(())
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.told == Soundness::Sound
            && !self.has_news
            && self.arbiter.soundness() == Soundness::Sound
    }

    #[inline]
    fn is_whole(&self) -> bool {
        self.are_all_sound && self.is_settled()
    }

    #[inline]
    fn needs_snapshots(&self) -> bool {
        !self.is_complete || !self.is_settled()
    }

    #[cold]
    fn recover(&mut self, now: Nanos, sink: &mut impl MarketSink) {
        let Self { arbiter, followed, places, .. } = self;
        let (mut failures, mut is_well) = (Failures::default(), true);
        while let Some(replay) = arbiter.poll_replay() {
            // Snapshots are put together elsewhere.
            let Replay::Packet { sequence, bytes } = replay else { continue };
            match followed.apply_kept(sequence, bytes, places) {
                Some(failed) => {
                    failures.full += failed.full;
                    failures.malformed += failed.malformed;
                }
                None => is_well = false,
            }
        }
        if !is_well {
            self.invalidate(now);
        }
        if !failures.is_none() {
            self.note(failures);
        }
        self.note_orders();
        let current = self.arbiter.soundness();
        if current == self.told && !self.has_news {
            return;
        }
        self.told = current;
        let last = self.arbiter.sequencer().last();
        let next = SequenceNumber(last.0 + 1);
        // A book that has overtaken packets is told when they are in.
        let mut overtaking = self.followed.books.iter().filter_map(|book| book.ahead_of(next));
        self.has_news = current == Soundness::Sound && overtaking.next().is_some();
        self.followed.tell_statuses(now, (Nanos::ZERO, last), sink);
        for book in &mut self.followed.books {
            let current = book.current_soundness(current, next);
            let is_full = |soundness| soundness == Soundness::Stale(Staleness::BookFull);
            if (current == Soundness::Sound) != (book.soundness == Soundness::Sound)
                || is_full(current) != is_full(book.soundness)
            {
                book.tell(now, last, current, sink);
            }
            book.soundness = current;
        }
        self.has_news |= self.followed.tell_lists(now, last, sink);
        let Followed { books, orders, .. } = &self.followed;
        self.are_all_sound = books.iter().all(|book| book.soundness == Soundness::Sound);
        self.is_complete = self.are_all_sound && orders.are_known();
    }

    fn handle_timeout(&mut self, now: Nanos) {
        self.arbiter.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.arbiter.poll_timeout()
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        self.arbiter.poll_request().map(FeedRequest::Packets)
    }

    fn poll_contradiction(&mut self) -> Option<InstrumentId> {
        let at = self.contradicted.pop()?;
        self.followed.books.get(at).map(|book| book.instrument)
    }

    #[inline]
    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        let book = self.followed.own(instrument);
        book.map_or(Soundness::Stale(Staleness::Joining), |book| book.soundness)
    }

    #[inline]
    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.followed.own(instrument).map_or(BestPrices::default(), |book| book.top)
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.followed.own(instrument).map(|book| &book.book)
    }

    fn tells_orders(&self) -> bool {
        self.tells_orders
    }

    fn orders(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        self.followed.own_orders(instrument)
    }

    fn lost(&self, last: SequenceNumber) -> u64 {
        let recovered = self.arbiter.sequencer().counters().recovered;
        self.arbiter.sequencer().lost(last) + self.jumped.min(recovered)
    }

    fn counters(&self) -> FeedCounters {
        let feed = self.arbiter.sequencer().counters();
        let [a, b, again] =
            [Line::A, Line::B, Line::Retransmission].map(|line| self.arbiter.line(line));
        FeedCounters {
            applied: feed.applied,
            recovered: feed.recovered - self.jumped.min(feed.recovered),
            highest_seen: feed.highest_seen,
            gaps: feed.gaps,
            snapshots: self.snapshots,
            lines: [a, b].map(|line| LineCount { packets: line.packets, first: line.first }),
            retransmitted: again.first,
            silences: a.silences + b.silences,
            requests: self.arbiter.restarts_and_requests().1,
            malformed: self.malformed + self.followed.orders.malformed,
            order_overflows: self.followed.orders.overflows,
            ..FeedCounters::default()
        }
    }

    fn tells_status(&self) -> bool {
        true
    }

    fn events_max(&self) -> usize {
        // A status, soundness and top of each, beginning and end of a list.
        let of_each = if self.tells_orders { 5 } else { 3 };
        EVENTS_MAX + of_each * (self.followed.books.len() + self.followed.room())
    }
}

/// The packet in a datagram; one that is longer than any of the feed is none.
#[inline]
fn read(datagram: &[u8]) -> Option<PacketReader<'_>> {
    let packet = PacketReader::new(datagram).ok()?;
    (datagram.len() <= PACKET_BYTES_MAX).then_some(packet)
}
