//! Many instruments on one feed: each has its book, whatever the network does.

use std::collections::HashMap;
use std::vec::Vec;

use taut_book::LevelBook;
use taut_testkit::{Draw, Faults, Link, Random, for_each_seed};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty, SequenceNumber, Side, Symbol};

use crate::event::{
    BestPrices, Context, Event, EventKind, LevelPlace, LevelUpdate, Soundness, Staleness,
    TradingStatus,
};
use crate::feed::{RetransmitConfig, RetransmitServer};
use crate::handler::{FeedHandler, FeedRequest, Source};
use crate::native::*;

const STEP: Nanos = Nanos::from_micros(50);
pub(super) const STREAM: u32 = 7;

pub(super) fn instrument(number: u32) -> Instrument {
    let symbol = Symbol::new(std::format!("I{number}").as_bytes()).unwrap();
    let lot = Qty { mantissa: 1, decimals: (number % 5) as u8 };
    Instrument::new(InstrumentId(number), symbol, Price(10_000_000), lot).unwrap()
}

/// The sending side: books, the feed's packets, and a snapshot cycle that goes round the books.
pub(super) struct Publisher {
    instruments: Vec<Instrument>,
    pub(super) books: Vec<LevelBook>,
    statuses: Vec<TradingStatus>,
    /// The books' hashes after each transaction, by its last packet.
    history: HashMap<u64, Vec<u64>>,
    writer: TransactionWriter,
    server: RetransmitServer,
    snapshot: SnapshotWriter,
    snapshot_of: usize,
    snapshot_next: Option<usize>,
    random: Random,
    level_max: i64,
}

impl Publisher {
    pub(super) fn new(instruments: &[Instrument], stream: u32, seed: u64) -> Self {
        let books = instruments.iter().map(|_| LevelBook::with_capacity(256)).collect();
        let server = RetransmitConfig { packet_count: 512, ..RetransmitConfig::default() };
        let mut new = Self {
            instruments: instruments.to_vec(),
            books,
            statuses: std::vec![TradingStatus::Trading; instruments.len()],
            history: HashMap::new(),
            writer: TransactionWriter::new(stream),
            server: RetransmitServer::new(server, stream),
            snapshot: SnapshotWriter::with_capacity(stream, 512, 0),
            snapshot_of: 0,
            snapshot_next: None,
            random: Random::with_seed(seed),
            level_max: 60,
        };
        new.remember();
        new
    }

    fn sequence(&self) -> SequenceNumber {
        self.writer.sequence()
    }

    fn remember(&mut self) {
        let hashes = self.books.iter().map(LevelBook::state_hash).collect();
        self.history.insert(self.sequence().0, hashes);
    }

    fn level(&mut self, at: usize) -> LevelUpdate {
        let side = self.random.pick(&Side::BOTH);
        let depth = self.random.below(self.level_max.unsigned_abs()).cast_signed();
        let price = Price((1_000 - side.sign() * (depth + 1)) * 10_000_000);
        let is_there = self.books[at].level_at(side, price).is_some();
        let lots = if is_there && self.random.per_mille(300) { 0 } else { self.random.i64(1..99) };
        let order_count = u32::from(lots > 0);
        LevelUpdate { side, price, lots: Lots(lots), order_count, place: LevelPlace::ByPrice }
    }

    /// Changes a few books, or one much, as one transaction.
    pub(super) fn transact(&mut self) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let utc = Nanos(1);
        let changes = if self.random.per_mille(50) { 80 } else { 1 + self.random.below(4) };
        for _ in 0..changes {
            let at = self.random.below(self.books.len() as u64) as usize;
            let level = self.level(at);
            let LevelUpdate { side, price, lots, order_count, .. } = level;
            self.books[at].apply(side, price, lots, order_count).unwrap();
            let Self { writer, server, instruments, .. } = self;
            let send = &mut |sequence, packet: &[u8]| {
                server.store(sequence, packet);
                packets.push(packet.to_vec());
                Ok::<(), ()>(())
            };
            let kind = EventKind::Level(level);
            writer.push_event(utc, instruments[at].id(), &kind, send).unwrap();
        }
        let Self { writer, server, .. } = self;
        let ended = writer.end(utc, &mut |sequence, packet| {
            server.store(sequence, packet);
            packets.push(packet.to_vec());
            Ok::<(), ()>(())
        });
        assert_eq!(ended, Ok(true));
        self.remember();
        packets
    }

    /// The packet that says that the instrument in this place has another status.
    fn status(&mut self, at: usize, status: TradingStatus) -> Vec<u8> {
        self.statuses[at] = status;
        let mut packet = Vec::new();
        let instrument = self.instruments[at].id();
        let told = self.writer.status(Nanos(5), instrument, status, &mut |sequence, bytes| {
            self.server.store(sequence, bytes);
            packet = bytes.to_vec();
            Ok::<(), ()>(())
        });
        assert_eq!(told, Ok(()));
        self.remember();
        packet
    }

    /// The next packet of the cycle.
    pub(super) fn snapshot(&mut self) -> Vec<u8> {
        let at = self.snapshot_of;
        let index = self.snapshot_next.unwrap_or(0);
        if index == 0 {
            let book = &self.books[at];
            let levels = Side::BOTH.into_iter().flat_map(|side| {
                book.iter(side).map(move |level| LevelUpdate {
                    side,
                    price: level.price,
                    lots: level.lots,
                    order_count: level.order_count,
                    place: LevelPlace::ByPrice,
                })
            });
            self.snapshot.capture(self.writer.sequence(), levels, core::iter::empty());
        }
        let instrument = &self.instruments[at];
        let definition = InstrumentDefinition {
            tick: instrument.tick(),
            lot_mantissa: instrument.lot().mantissa,
            instrument: instrument.id(),
            lot_decimals: instrument.lot().decimals,
            symbol: instrument.symbol(),
        };
        let packet = self.snapshot.packet(index, Nanos(1), &definition, self.statuses[at]).to_vec();
        if index + 1 == self.snapshot.packet_count() {
            self.snapshot_next = None;
            self.snapshot_of = (at + 1) % self.books.len();
        } else {
            self.snapshot_next = Some(index + 1);
        }
        packet
    }
}

#[test]
fn a_venue_may_have_other_numbers_for_instruments() {
    let listed = [instrument(0), instrument(1), instrument(2), instrument(3)];
    let mut publisher = Publisher::new(&listed, STREAM, 1);
    // The venue's 3 and 1 are told as 0 and 1.
    let renumbered = |own, listed: &Instrument| {
        Instrument::new(InstrumentId(own), listed.symbol(), listed.tick(), listed.lot()).unwrap()
    };
    let instruments = [renumbered(0, &listed[3]), renumbered(1, &listed[1])];
    let config = NativeConfig {
        instruments: &instruments,
        stream_id: None,
        level_capacity: 256,
        has_retransmission: false,
    };
    let mut feed = NativeFeed::new(&config, Nanos(1)).unwrap();
    let numbers = [InstrumentId(3), InstrumentId(1)];
    assert_eq!(
        feed.set_numbers(&[InstrumentId(3); 2]),
        Err(NativeConfigError::SameNumber(InstrumentId(3)))
    );
    assert_eq!(feed.set_numbers(&numbers[..1]), Err(NativeConfigError::NoInstrument));
    feed.set_numbers(&numbers).unwrap();
    let mut told = Vec::new();
    // Snapshots lag, so that books are brought up to date with packets that were kept.
    for _ in 0..200 {
        let snapshot = (Source::SNAPSHOT, publisher.snapshot());
        let packets = publisher.transact().into_iter().map(|it| (Source::LINE_A, it));
        for (source, packet) in packets.chain([snapshot]) {
            let mut sink = |_: &Context<'_>, event: &Event| told.push(event.instrument.0);
            if let Some(frame) = feed.decode(Nanos(3), source, &packet) {
                feed.apply(frame, &mut sink);
            }
            feed.recover(Nanos(3), &mut sink);
        }
    }
    assert!(feed.is_whole());
    told.sort_unstable();
    told.dedup();
    assert_eq!(told, [0, 1]);
    for (own, number) in [(0, 3), (1, 1)] {
        let book = feed.book(InstrumentId(own)).expect("a book");
        assert_eq!(book.state_hash(), publisher.books[number].state_hash(), "{own}");
    }
    assert!(feed.book(InstrumentId(3)).is_none());
}

/// What was told, per instrument.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    soundness: Option<Soundness>,
    top: BestPrices,
    levels: u64,
    status: Option<TradingStatus>,
}

struct Follower {
    feed: NativeFeed,
    told: HashMap<InstrumentId, Told>,
    events_most: usize,
}

impl Follower {
    fn new(instruments: &[Instrument], level_capacity: usize, has_retransmission: bool) -> Self {
        let config =
            NativeConfig { instruments, stream_id: None, level_capacity, has_retransmission };
        let feed = NativeFeed::new(&config, Nanos::ZERO).unwrap();
        let told = instruments.iter().map(|it| (it.id(), Told::default())).collect();
        Self { feed, told, events_most: 0 }
    }

    fn with(&mut self, work: impl FnOnce(&mut NativeFeed, &mut dyn FnMut(&Event))) {
        let (mut events, told) = (0, &mut self.told);
        let mut take = |event: &Event| {
            events += 1;
            let told = told.get_mut(&event.instrument).expect("an instrument that is followed");
            match event.kind {
                EventKind::Book(soundness) => told.soundness = Some(soundness),
                EventKind::Top(top) => {
                    assert_ne!(told.soundness, None, "a top before a book");
                    told.top = top;
                }
                EventKind::Level(_) => {
                    assert_eq!(told.soundness, Some(Soundness::Sound));
                    told.levels += 1;
                }
                EventKind::Status(status) => {
                    assert_ne!(told.status.replace(status), Some(status), "told twice");
                }
                other => panic!("{other:?}"),
            }
        };
        work(&mut self.feed, &mut take);
        self.events_most = self.events_most.max(events);
        assert!(events <= self.feed.events_max(), "{events} events");
    }

    fn frame(&mut self, now: Nanos, source: Source, bytes: &[u8]) {
        self.with(|feed, take| {
            let mut sink = |_: &Context<'_>, event: &Event| take(event);
            if let Some(frame) = feed.decode(now, source, bytes) {
                feed.apply(frame, &mut sink);
            }
        });
        self.settle(now);
    }

    fn settle(&mut self, now: Nanos) {
        if !self.feed.is_settled() {
            self.with(|feed, take| {
                feed.recover(now, &mut |_: &Context<'_>, event: &Event| take(event));
            });
        }
    }

    fn time(&mut self, now: Nanos) {
        if self.feed.poll_timeout().is_some_and(|due| due <= now) {
            self.feed.handle_timeout(now);
            self.settle(now);
        }
    }

    /// What is said to be sound is what the publisher had; how many books that was.
    fn check(&self, publisher: &Publisher) -> usize {
        let last = self.feed.arbiter().sequencer().last();
        let Some(hashes) = publisher.history.get(&last.0) else { return 0 };
        let (mut sound, mut followed) = (0, 0);
        for (instrument, hash) in publisher.instruments.iter().zip(hashes) {
            let id = instrument.id();
            let Some(book) = self.feed.book(id) else { continue };
            let told = self.told[&id];
            followed += 1;
            let is_sound = self.feed.soundness(id) == Soundness::Sound;
            assert_eq!(is_sound, told.soundness == Some(Soundness::Sound), "{id:?}");
            if is_sound {
                sound += 1;
                assert_eq!(book.state_hash(), *hash, "{id:?} at {last:?}");
                let top = BestPrices::of(book);
                assert_eq!((told.top, self.feed.best(id)), (top, top));
                assert_ne!(told.status, None, "a book before the status");
            }
        }
        assert_eq!(self.feed.stale_count(), followed - sound);
        sound
    }
}

/// A publisher and a follower with a network between them.
struct World {
    now: Nanos,
    publisher: Publisher,
    follower: Follower,
    /// Lines A and B, answers, snapshots.
    links: [Link<Vec<u8>>; 4],
    snapshots_per_step: usize,
    answers: bool,
}

impl World {
    fn new(count: u32, faults: Faults, answers: bool, seed: u64) -> Self {
        let instruments: Vec<_> = (0..count).map(instrument).collect();
        let publisher = Publisher::new(&instruments, STREAM, seed);
        let follower = Follower::new(&instruments, 64, answers);
        let links = core::array::from_fn(|at| Link::new(faults, seed ^ at as u64));
        let snapshots_per_step = 2;
        Self { now: Nanos(1), publisher, follower, links, snapshots_per_step, answers }
    }

    fn step(&mut self, is_trading: bool) -> usize {
        self.now = self.now + STEP;
        let now = self.now;
        let mut packets = Vec::new();
        if is_trading {
            packets = self.publisher.transact();
            let Publisher { random, books, .. } = &mut self.publisher;
            if random.per_mille(20) {
                let at = random.below(books.len() as u64) as usize;
                let status = random.pick(&[TradingStatus::Trading, TradingStatus::Halted]);
                packets.push(self.publisher.status(at, status));
            }
        }
        if self.publisher.random.per_mille(50) {
            packets.push(self.publisher.writer.heartbeat(Nanos(1)).to_vec());
        }
        for packet in packets {
            self.links[0].send(now, packet.clone());
            self.links[1].send(now, packet);
        }
        for _ in 0..self.snapshots_per_step {
            let packet = self.publisher.snapshot();
            self.links[3].send(now, packet);
        }
        for (at, link) in self.links.iter_mut().enumerate() {
            while let Some(bytes) = link.receive(now) {
                self.follower.frame(now, Source(at as u8), &bytes);
            }
        }
        self.follower.time(now);
        while let Some(request) = self.follower.feed.poll_request() {
            assert!(self.answers, "nobody is there to be asked");
            let FeedRequest::Packets(request) = request else { panic!("{request:?}") };
            let mut bytes = [0; PACKET_BYTES_MAX];
            assert!(request.write(&mut bytes));
            let Self { publisher, links, .. } = self;
            publisher.server.handle_request(now, 1, &bytes, &mut |packet| {
                links[2].send(now, packet.to_vec());
            });
        }
        self.follower.check(&self.publisher)
    }

    /// Everything arrives from now on, and then every book is sound; after how many steps.
    fn heal(&mut self) -> u32 {
        self.links.iter_mut().for_each(|link| link.faults = Faults::default());
        let count = self.publisher.books.len();
        for step in 0..20_000 {
            self.step(step < 50);
            let last = self.follower.feed.arbiter().sequencer().last();
            if last == self.publisher.sequence() && self.follower.check(&self.publisher) == count {
                let feed = &self.follower.feed;
                let counters = feed.counters();
                assert_eq!(counters.applied + counters.recovered, last.0, "{counters:?}");
                assert_eq!((feed.lost(last), counters.malformed), (0, 0), "{counters:?}");
                let Publisher { instruments, statuses, .. } = &self.publisher;
                for (instrument, status) in instruments.iter().zip(statuses) {
                    let told = self.follower.told.get(&instrument.id());
                    assert!(told.is_none_or(|told| told.status == Some(*status)), "{told:?}");
                }
                return step;
            }
        }
        panic!("{:?}", self.follower.feed.counters());
    }
}

fn faults(loss: u64) -> Faults {
    Faults {
        loss_per_mille: loss,
        burst_max: 4,
        duplicate_per_mille: 20,
        reorder_per_mille: 30,
        reorder: Nanos::from_micros(200),
        delay: Nanos::from_micros(20),
        jitter: Nanos::from_micros(40),
        is_cut: false,
    }
}

#[test]
fn every_book_is_what_was_sent_or_said_to_be_stale_over_loss_with_and_without_answers() {
    for_each_seed(0..16, |seed, mut random| {
        let count = random.pick(&[1, 2, 3, 10]);
        let (loss, answers) = (random.pick(&[0, 20, 100, 200]), random.per_mille(500));
        let mut world = World::new(count, faults(loss), answers, seed);
        let mut sound = 0;
        for _ in 0..1_000 {
            sound += world.step(true);
        }
        assert!(sound > 0, "{:?}", world.follower.feed.counters());
        world.heal();
    });
}

#[test]
fn two_thousand_books_come_one_after_the_other_and_all_are_there_after_a_cycle() {
    let mut world = World::new(2_000, Faults::default(), true, 1);
    world.snapshots_per_step = 40;
    world.links[0].faults.is_cut = true;
    // Half of a cycle: some are sound, and live with the feed while others wait.
    // A step that ends within a transaction has nothing to compare with.
    let halfway = (0..100).map(|_| world.step(true)).filter(|&sound| sound > 0);
    let halfway: Vec<usize> = halfway.collect();
    assert!(
        halfway.is_sorted() && halfway.last().is_some_and(|last| (200..1_999).contains(last)),
        "{halfway:?}"
    );
    let steps = world.heal();
    assert!(steps < 200, "{steps} steps");
    let counters = world.follower.feed.counters();
    assert_eq!((counters.snapshots, counters.gaps), (2_000, 0));
    let recovered = counters.recovered;
    // A gap that is closed by an answer makes all stale, and is not jumped over.
    world.links[0].faults.is_cut = true;
    world.links[1].faults.is_cut = true;
    world.step(true);
    world.heal();
    let counters = world.follower.feed.counters();
    assert_eq!((counters.recovered, counters.gaps), (recovered, 1));
    assert!(world.follower.events_most >= 4_000);
}

#[test]
fn a_book_that_has_no_room_is_said_to_be_full_and_the_others_live_on() {
    let instruments: Vec<_> = (0..3).map(instrument).collect();
    let mut world = World::new(3, Faults::default(), false, 5);
    world.follower = Follower::new(&instruments, 20, false);
    let is = |world: &World, number, soundness| {
        let id = InstrumentId(number);
        world.follower.feed.soundness(id) == soundness
            && world.follower.told[&id].soundness == Some(soundness)
    };
    let full = Soundness::Stale(Staleness::BookFull);
    for _ in 0..3 {
        world.publisher.level_max = 10;
        (0..400).for_each(|_| _ = world.step(true));
        assert!((0..3).all(|number| is(&world, number, Soundness::Sound)));
        // One book becomes wider than there is room for.
        for depth in 0..40 {
            let price = Price((900 - depth) * 10_000_000);
            let level = LevelUpdate {
                side: Side::Buy,
                price,
                lots: Lots(1),
                order_count: 1,
                place: LevelPlace::ByPrice,
            };
            world.change(1, level);
        }
        (0..400).for_each(|_| _ = world.step(true));
        assert!(is(&world, 1, full));
        assert!(is(&world, 0, Soundness::Sound) && is(&world, 2, Soundness::Sound));
        let feed = &world.follower.feed;
        assert_eq!((feed.lost(world.publisher.sequence()), feed.stale_count()), (0, 1));
        for depth in 0..40 {
            let price = Price((900 - depth) * 10_000_000);
            let level = LevelUpdate {
                side: Side::Buy,
                price,
                lots: Lots(0),
                order_count: 0,
                place: LevelPlace::ByPrice,
            };
            world.change(1, level);
        }
    }
    world.heal();
}

impl World {
    /// A transaction of one change.
    fn change(&mut self, at: usize, level: LevelUpdate) {
        let Publisher { writer, books, instruments, .. } = &mut self.publisher;
        let LevelUpdate { side, price, lots, order_count, .. } = level;
        books[at].apply(side, price, lots, order_count).unwrap();
        let mut send = |_, _: &[u8]| Ok::<(), ()>(());
        let kind = EventKind::Level(level);
        writer.push_event(Nanos(1), instruments[at].id(), &kind, &mut send).unwrap();
        let mut sent = Vec::new();
        let ended = writer.end(Nanos(1), &mut |_, packet| {
            sent.extend_from_slice(packet);
            Ok::<(), ()>(())
        });
        assert_eq!(ended, Ok(true));
        self.publisher.remember();
        self.links[0].send(self.now, sent);
        self.step(false);
    }
}

#[test]
fn a_venue_that_restarts_is_followed_and_what_nobody_follows_is_passed_over() {
    for_each_seed(0..10, |seed, _| {
        let mut world = World::new(3, faults(50), true, seed);
        // The publisher has an instrument more, and one fewer than is followed by number.
        world.follower = Follower::new(&[instrument(0), instrument(2)], 64, true);
        (0..500).for_each(|_| _ = world.step(true));
        let before = world.publisher.sequence();
        let stream = STREAM + 1 + (seed % 2) as u32;
        world.publisher = Publisher::new(&world.publisher.instruments.clone(), stream, !seed);
        world.links.iter_mut().for_each(|link| link.faults = Faults::default());
        for _ in 0..2_000 {
            world.step(true);
        }
        assert!(world.publisher.sequence() > before);
        for number in [0, 2] {
            let id = InstrumentId(number);
            assert_eq!(world.follower.feed.soundness(id), Soundness::Sound);
        }
        assert_eq!(world.follower.feed.stale_count(), 0);
        let stranger = InstrumentId(1);
        assert!(world.follower.feed.book(stranger).is_none());
        assert_eq!(world.follower.feed.best(stranger), BestPrices::default());
    });
}

#[test]
fn instruments_that_cannot_be_told_apart_are_refused() {
    let feed = |instruments: &[Instrument]| {
        let config = NativeConfig {
            instruments,
            stream_id: None,
            level_capacity: 8,
            has_retransmission: false,
        };
        NativeFeed::new(&config, Nanos::ZERO).map(drop)
    };
    assert_eq!(feed(&[]), Err(NativeConfigError::NoInstrument));
    let twice = feed(&[instrument(4), instrument(3), instrument(4)]);
    assert_eq!(twice, Err(NativeConfigError::SameNumber(InstrumentId(4))));
    let high = feed(&[instrument(1 << 21)]);
    assert_eq!(high, Err(NativeConfigError::NumberTooHigh(InstrumentId(1 << 21))));
    assert_eq!(feed(&[instrument(1 << 20), instrument(0)]), Ok(()));
}

#[test]
fn an_instrument_that_the_feed_defines_otherwise_is_named() {
    let own = [1, 2, 3, 4, 5].map(instrument);
    let of =
        |at: usize, tick, lot| Instrument::new(own[at].id(), own[at].symbol(), tick, lot).unwrap();
    let (tick, lot) = (own[0].tick(), |mantissa, decimals| Qty { mantissa, decimals });
    let renamed = Instrument::new(own[4].id(), own[0].symbol(), tick, own[4].lot()).unwrap();
    // As it is, the same written otherwise, another tick, another lot, another symbol.
    let told = [
        own[0],
        of(1, tick, lot(10, 3)),
        of(2, Price(2), own[2].lot()),
        of(3, tick, lot(2, 4)),
        renamed,
    ];
    let mut publisher = Publisher::new(&told, STREAM, 1);
    let config = NativeConfig {
        instruments: &own,
        stream_id: None,
        level_capacity: 256,
        has_retransmission: false,
    };
    let mut feed = NativeFeed::new(&config, Nanos(1)).unwrap();
    let mut cycle = |feed: &mut NativeFeed| {
        for _ in 0..16 {
            let snapshot = publisher.snapshot();
            assert!(feed.decode(Nanos(2), Source::SNAPSHOT, &snapshot).is_none());
        }
        let mut named: Vec<_> = std::iter::from_fn(|| feed.poll_contradiction()).collect();
        named.sort_unstable();
        named
    };
    let others = [3, 4, 5].map(InstrumentId);
    assert_eq!(cycle(&mut feed), others);
    assert_eq!(cycle(&mut feed), others, "as long as it says so");
}

/// A feed of two instruments, of which one is followed, and what it tells of statuses and books.
struct StatusWorld {
    publisher: Publisher,
    feed: NativeFeed,
    told: Vec<EventKind>,
}

impl StatusWorld {
    fn new() -> Self {
        let instruments = [instrument(3), instrument(9)];
        let config = NativeConfig {
            instruments: &instruments[..1],
            stream_id: None,
            level_capacity: 256,
            has_retransmission: false,
        };
        let feed = NativeFeed::new(&config, Nanos(1)).unwrap();
        assert!(feed.tells_status());
        Self { publisher: Publisher::new(&instruments, STREAM, 1), feed, told: Vec::new() }
    }

    fn hear(&mut self, source: Source, packet: &[u8]) {
        let Self { feed, told, .. } = self;
        let mut sink = |_: &Context<'_>, event: &Event| {
            if matches!(event.kind, EventKind::Status(_) | EventKind::Book(_)) {
                assert_eq!(event.instrument, InstrumentId(3));
                told.push(event.kind);
            }
        };
        if let Some(frame) = feed.decode(Nanos(2), source, packet) {
            feed.apply(frame, &mut sink);
        }
        if !feed.is_settled() {
            feed.recover(Nanos(2), &mut sink);
        }
    }

    fn trade(&mut self) {
        for packet in self.publisher.transact() {
            self.hear(Source::LINE_A, &packet);
        }
    }

    fn hear_snapshots(&mut self) {
        for _ in 0..16 {
            let snapshot = self.publisher.snapshot();
            self.hear(Source::SNAPSHOT, &snapshot);
        }
    }

    fn told(&mut self) -> Vec<EventKind> {
        std::mem::take(&mut self.told)
    }
}

const SOUND: EventKind = EventKind::Book(Soundness::Sound);
const HALTED: EventKind = EventKind::Status(TradingStatus::Halted);
const TRADING: EventKind = EventKind::Status(TradingStatus::Trading);

#[test]
fn who_joins_is_told_the_status_before_the_book_and_each_change_once() {
    let mut world = StatusWorld::new();
    let _ = world.publisher.status(0, TradingStatus::Halted);
    world.trade();
    world.hear_snapshots();
    assert_eq!(world.told(), [HALTED, SOUND]);
    world.hear_snapshots();
    assert_eq!(world.told(), []);
    let resumed = world.publisher.status(0, TradingStatus::Trading);
    world.hear(Source::LINE_A, &resumed);
    world.hear(Source::LINE_B, &resumed);
    assert_eq!(world.told(), [TRADING]);
    // Nobody follows the other one.
    let other = world.publisher.status(1, TradingStatus::Halted);
    world.hear(Source::LINE_A, &other);
    world.trade();
    world.hear_snapshots();
    assert_eq!(world.told(), []);
}

#[test]
fn a_status_that_is_lost_comes_with_the_snapshot_and_an_old_snapshot_undoes_none() {
    let mut world = StatusWorld::new();
    world.trade();
    world.hear_snapshots();
    assert_eq!(world.told(), [TRADING, SOUND]);
    let before = world.publisher.snapshot();
    let halted = world.publisher.status(0, TradingStatus::Halted);
    world.hear(Source::LINE_A, &halted);
    assert_eq!(world.told(), [HALTED]);
    world.hear(Source::SNAPSHOT, &before);
    assert_eq!(world.told(), [], "the snapshot is older");

    let _lost = world.publisher.status(0, TradingStatus::Trading);
    world.trade();
    assert!(matches!(world.told()[..], [EventKind::Book(Soundness::Stale(_))]));
    for _ in 0..4 {
        world.hear_snapshots();
        world.trade();
    }
    assert_eq!(world.told(), [TRADING, SOUND]);
}

#[test]
fn a_status_packet_that_is_malformed_makes_every_book_wait() {
    let mut world = StatusWorld::new();
    world.trade();
    world.hear_snapshots();
    world.told();
    let mut halted = world.publisher.status(0, TradingStatus::Halted);
    // Its block is shorter than it can be.
    halted[PACKET_HEADER_BYTES + 4] = 4;
    world.hear(Source::LINE_A, &halted);
    assert!(matches!(world.told()[..], [EventKind::Book(Soundness::Stale(_))]));
    assert_eq!(world.feed.counters().malformed, 1);
}
