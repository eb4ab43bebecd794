//! Single orders: whoever follows the events has the venue's queues, order by order.

mod malformed;
mod room;
mod venue;

use std::collections::{BTreeMap, HashMap};
use std::vec::Vec;

use taut_book::Fnv1a;
use taut_testkit::{Draw, Faults, Link, for_each_seed};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, OrderId, Price, Side};

use super::many::instrument;
use crate::event::{Batch, BookOrder, Context, Event, EventKind, Soundness};
use crate::handler::{FeedHandler, FeedRequest, Source};
use crate::native::*;
use venue::Venue;

const STEP: Nanos = Nanos::from_micros(50);

/// The queues of an instrument, by side and price.
#[derive(Clone, Debug, Default)]
struct Queues {
    queues: BTreeMap<(u8, Price), Vec<(OrderId, Lots)>>,
    places: HashMap<OrderId, (u8, Price)>,
}

impl Queues {
    fn add(&mut self, order: &BookOrder) {
        let BookOrder { order_id, side, price, lots, priority } = *order;
        assert_eq!(priority, 0);
        let place = (side as u8, price);
        assert_eq!(self.places.insert(order_id, place), None, "{order:?} is there");
        self.queues.entry(place).or_default().push((order_id, lots));
    }

    /// The order becomes smaller; nothing is left where it leaves.
    fn reduce(&mut self, side: Side, order_id: OrderId, left: Lots) {
        let place = self.places[&order_id];
        assert_eq!(place.0, side as u8);
        let queue = self.queues.get_mut(&place).expect("its queue");
        let at = queue.iter().position(|(id, _)| *id == order_id).expect("the order");
        if left == Lots::ZERO {
            queue.remove(at);
            self.places.remove(&order_id);
        } else {
            assert!(left < queue[at].1);
            queue[at].1 = left;
        }
    }

    fn hash(&self) -> u64 {
        let orders = self.queues.iter().flat_map(|((side, price), queue)| {
            queue.iter().map(|(id, lots)| (*side, *price, *id, *lots))
        });
        hash(orders)
    }
}

/// Of orders by side, price (lowest first) and priority.
fn hash(orders: impl Iterator<Item = (u8, Price, OrderId, Lots)>) -> u64 {
    let mut hash = Fnv1a::new();
    for (side, price, id, lots) in orders {
        hash.write_u64(u64::from(side));
        hash.write_i64(price.0);
        hash.write_u64(id.0);
        hash.write_i64(lots.0);
    }
    hash.finish()
}

/// What was told of an instrument.
#[derive(Debug, Default)]
struct Told {
    is_sound: bool,
    /// A list that has begun.
    listing: Option<Queues>,
    /// None while they are not known.
    queues: Option<Queues>,
    /// Lists that said so.
    unknown: u64,
    lists: u64,
}

impl Told {
    fn take(&mut self, kind: &EventKind) {
        let of_sound = |told: &Self| assert!(told.is_sound, "{kind:?} of a book that is stale");
        match kind {
            EventKind::Book(soundness) => {
                self.is_sound = *soundness == Soundness::Sound;
                self.queues = None;
                assert!(self.listing.is_none());
            }
            EventKind::Begin(Batch::Orders) => {
                of_sound(self);
                self.queues = None;
                assert!(self.listing.replace(Queues::default()).is_none());
            }
            EventKind::End { is_final } => {
                let list = self.listing.take().expect("a list");
                self.lists += u64::from(*is_final);
                self.unknown += u64::from(!is_final);
                assert!(*is_final || list.places.is_empty());
                self.queues = is_final.then_some(list);
            }
            EventKind::OrderAdd(order) => {
                of_sound(self);
                let queues = self.listing.as_mut().or(self.queues.as_mut());
                queues.expect("a list before it").add(order);
            }
            EventKind::OrderReduce { order_id, side, remaining, .. } => {
                of_sound(self);
                let queues = self.queues.as_mut().expect("a list before it");
                queues.reduce(*side, *order_id, *remaining);
            }
            EventKind::OrderDelete { order_id, side } => {
                of_sound(self);
                let queues = self.queues.as_mut().expect("a list before it");
                queues.reduce(*side, *order_id, Lots::ZERO);
            }
            EventKind::Level(_) | EventKind::Top(_) | EventKind::Status(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A feed, and what it told.
struct Follower {
    feed: NativeFeed,
    told: HashMap<InstrumentId, Told>,
}

impl Follower {
    fn new(instruments: &[Instrument], order_capacity: usize, has_retransmission: bool) -> Self {
        let level_capacity = 256;
        let config =
            NativeConfig { instruments, stream_id: None, level_capacity, has_retransmission };
        let mut feed = NativeFeed::new(&config, Nanos::ZERO).unwrap();
        feed.tell_orders(order_capacity);
        assert!(feed.tells_orders());
        let told = instruments.iter().map(|it| (it.id(), Told::default())).collect();
        Self { feed, told }
    }

    fn hear(&mut self, now: Nanos, source: Source, bytes: &[u8]) {
        let Self { feed, told } = self;
        let mut sink = |_: &Context<'_>, event: &Event| {
            told.get_mut(&event.instrument).expect("followed").take(&event.kind);
        };
        if let Some(frame) = feed.decode(now, source, bytes) {
            feed.apply(frame, &mut sink);
        }
        self.settle(now);
    }

    fn settle(&mut self, now: Nanos) {
        let Self { feed, told } = self;
        if !feed.is_settled() {
            let mut events = 0;
            feed.recover(now, &mut |_: &Context<'_>, event: &Event| {
                events += u64::from(!matches!(event.kind, EventKind::OrderAdd(_)));
                told.get_mut(&event.instrument).expect("followed").take(&event.kind);
            });
            assert!(events <= feed.events_max() as u64);
        }
    }

    fn time(&mut self, now: Nanos) {
        if self.feed.poll_timeout().is_some_and(|due| due <= now) {
            self.feed.handle_timeout(now);
            self.settle(now);
        }
    }

    /// What is told is what the venue had; of how many books the orders are known.
    fn check(&self, venue: &Venue) -> usize {
        let last = self.feed.arbiter().sequencer().last();
        let Some(hashes) = venue.history.get(&last.0) else { return 0 };
        let mut known = 0;
        for (instrument, (levels, orders)) in venue.instruments.iter().zip(hashes) {
            let id = instrument.id();
            let Some(told) = self.told.get(&id) else { continue };
            assert_eq!(told.is_sound, self.feed.soundness(id) == Soundness::Sound);
            if told.is_sound {
                let book = self.feed.book(id).expect("a book");
                assert_eq!(book.state_hash(), *levels, "{id:?} at {last:?}");
            }
            assert_eq!(self.feed.orders(id).is_some(), told.queues.is_some(), "{id:?}");
            if let Some(queues) = &told.queues {
                known += 1;
                assert_eq!(queues.hash(), *orders, "{id:?} at {last:?}");
            }
        }
        known
    }
}

/// A venue and a follower with a network between them.
struct World {
    now: Nanos,
    venue: Venue,
    follower: Follower,
    /// Lines A and B, answers, snapshots.
    links: [Link<Vec<u8>>; 4],
    answers: bool,
}

impl World {
    fn new(count: u32, faults: Faults, answers: bool, seed: u64) -> Self {
        let instruments: Vec<_> = (0..count).map(instrument).collect();
        let venue = Venue::new(&instruments, seed);
        let follower = Follower::new(&instruments, 1_024, answers);
        let links = core::array::from_fn(|at| Link::new(faults, seed ^ at as u64));
        Self { now: Nanos(1), venue, follower, links, answers }
    }

    fn step(&mut self, is_trading: bool) -> usize {
        self.now = self.now + STEP;
        let now = self.now;
        let mut packets = Vec::new();
        if is_trading {
            packets = self.venue.transact();
        }
        if self.venue.random.per_mille(50) {
            packets.push(self.venue.heartbeat());
        }
        for packet in packets {
            self.links[0].send(now, packet.clone());
            self.links[1].send(now, packet);
        }
        for _ in 0..3 {
            let packet = self.venue.snapshot();
            self.links[3].send(now, packet);
        }
        // Now and then a snapshot is read before the packets that it overtakes.
        let mut sources = [0, 1, 2, 3];
        if self.venue.random.per_mille(300) {
            sources.reverse();
        }
        for at in sources {
            while let Some(bytes) = self.links[usize::from(at)].receive(now) {
                self.follower.hear(now, Source(at), &bytes);
            }
        }
        self.follower.time(now);
        while let Some(request) = self.follower.feed.poll_request() {
            assert!(self.answers, "nobody is there to be asked");
            let FeedRequest::Packets(request) = request else { panic!("{request:?}") };
            let mut bytes = [0; PACKET_BYTES_MAX];
            assert!(request.write(&mut bytes));
            let Self { venue, links, .. } = self;
            venue.server.handle_request(now, 1, &bytes, &mut |packet| {
                links[2].send(now, packet.to_vec());
            });
        }
        self.follower.check(&self.venue)
    }

    /// Everything arrives from now on: the orders of all books are known then.
    fn heal(&mut self) {
        self.links.iter_mut().for_each(|link| link.faults = Faults::default());
        let count = self.venue.instruments.len();
        for step in 0..5_000 {
            let known = self.step(step < 50);
            if step >= 50 && known == count {
                let feed = &self.follower.feed;
                assert!(feed.is_whole() && !feed.needs_snapshots());
                let counters = feed.counters();
                assert_eq!((counters.malformed, counters.order_overflows), (0, 0));
                return;
            }
        }
        panic!("{:?}", self.follower.feed.counters());
    }
}

#[test]
fn the_queues_of_every_sound_book_are_the_venues_whatever_the_network_does() {
    for_each_seed(0..24, |seed, mut random| {
        let count = random.pick(&[1, 2, 3, 6]);
        let (loss, answers) = (random.pick(&[0, 10, 50, 150]), random.per_mille(500));
        let faults = Faults {
            loss_per_mille: loss,
            burst_max: 4,
            duplicate_per_mille: 20,
            reorder_per_mille: 30,
            reorder: Nanos::from_micros(200),
            delay: Nanos::from_micros(20),
            jitter: Nanos::from_micros(40),
            is_cut: false,
        };
        let mut world = World::new(count, faults, answers, seed);
        let known: usize = (0..1_000).map(|_| world.step(true)).sum();
        assert!(known > 0, "{:?}", world.follower.feed.counters());
        world.heal();
        let lists: u64 = world.follower.told.values().map(|told| told.lists).sum();
        assert!(lists >= u64::from(count), "{lists} lists");
    });
}

#[test]
fn orders_are_listed_again_after_a_gap_and_after_a_silence() {
    let mut world = World::new(2, Faults::default(), true, 3);
    world.heal();
    let lists = |world: &World| world.follower.told[&InstrumentId(0)].lists;
    assert_eq!(lists(&world), 1);
    // A gap that an answer closes.
    (world.links[0].faults.is_cut, world.links[1].faults.is_cut) = (true, true);
    world.step(true);
    world.heal();
    assert_eq!((lists(&world), world.follower.feed.counters().gaps), (2, 1));
    world.now = world.now + Nanos::from_secs(3);
    world.follower.time(world.now);
    assert!(!world.follower.told[&InstrumentId(0)].is_sound);
    world.heal();
    assert_eq!(lists(&world), 3);
}

#[test]
fn nothing_is_told_of_single_orders_to_whom_nobody_has_asked_for_them() {
    let instruments = [instrument(0)];
    let mut venue = Venue::new(&instruments, 1);
    let mut follower = Follower::new(&instruments, 16, false);
    let config = NativeConfig {
        instruments: &instruments,
        stream_id: None,
        level_capacity: 256,
        has_retransmission: false,
    };
    follower.feed = NativeFeed::new(&config, Nanos::ZERO).unwrap();
    for _ in 0..200 {
        let packets = venue.transact().into_iter().map(|it| (Source::LINE_A, it));
        let packets: Vec<_> = packets.chain([(Source::SNAPSHOT, venue.snapshot())]).collect();
        for (source, packet) in packets {
            follower.hear(Nanos(3), source, &packet);
        }
    }
    let told = &follower.told[&InstrumentId(0)];
    assert!(told.is_sound && (told.lists, told.unknown) == (0, 0));
    let feed = &follower.feed;
    assert!(!feed.tells_orders() && feed.orders(InstrumentId(0)).is_none());
    assert!(feed.is_whole() && !feed.needs_snapshots());
}
