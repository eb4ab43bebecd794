//! A publisher, a link that loses, duplicates and reorders, and a consumer, on virtual time.

use std::vec::Vec;
use std::{println, vec};

use proptest::prelude::*;
use taut_testkit::{Draw, Faults, Link, Random};
use taut_types::Nanos;

use super::*;

const CELLS: usize = 12;
const CELLS_PER_PART: usize = 4;

/// What the packets change: every change depends on what was there, so that a packet that is left
/// out, applied twice or out of order shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Book([u64; CELLS]);

impl Book {
    fn apply(&mut self, sequence: u64) {
        let at = usize::try_from(sequence % CELLS as u64).unwrap();
        self.0[at] = self.0[at].wrapping_mul(31).wrapping_add(sequence);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Datagram {
    Increment { stream: u32, sequence: u64 },
    Heartbeat { last: u64 },
    Begin { id: u32, last: u64 },
    Part { id: u32, index: u32, cells: Vec<u64> },
}

/// How bad a run is.
#[derive(Clone, Copy, Debug)]
struct Weather {
    link: Faults,
    /// Between snapshots, in increments.
    snapshot_every: u64,
    packet_count: usize,
}

struct Run {
    random: Random,
    weather: Weather,
    /// A step is a nanosecond.
    now: Nanos,
    link: Link<Datagram>,
    // The publisher, with its book as of every sequence.
    history: Vec<Book>,
    snapshot_id: u32,
    // The consumer.
    feed: Sequencer,
    book: Book,
    collecting: Vec<u64>,
    /// Per sequence: 0 open, 1 applied, 2 recovered.
    fate: Vec<u8>,
    accounted: u64,
}

impl Run {
    fn new(seed: u64, weather: Weather) -> Self {
        let config = FeedConfig {
            stream_id: Some(STREAM),
            packet_count: weather.packet_count,
            snapshot_packet_count: 8,
            packet_bytes: 8 * CELLS_PER_PART,
        };
        Self {
            random: Random::with_seed(seed),
            weather,
            now: Nanos::ZERO,
            link: Link::new(weather.link, !seed),
            history: vec![Book([1; CELLS])],
            snapshot_id: 0,
            feed: Sequencer::new(config),
            // Nothing that the publisher ever had.
            book: Book([u64::MAX; CELLS]),
            collecting: Vec::new(),
            fate: vec![2],
            accounted: 0,
        }
    }

    fn last_sequence(&self) -> u64 {
        self.history.len() as u64 - 1
    }

    fn send(&mut self, datagram: Datagram) {
        self.link.send(self.now, datagram);
    }

    fn publish_increment(&mut self) {
        let sequence = self.last_sequence() + 1;
        let mut book = self.history.last().unwrap().clone();
        book.apply(sequence);
        self.history.push(book);
        self.fate.push(0);
        self.send(Datagram::Increment { stream: STREAM, sequence });
    }

    fn publish_snapshot(&mut self) {
        self.snapshot_id += 1;
        let (id, last) = (self.snapshot_id, self.last_sequence());
        self.send(Datagram::Begin { id, last });
        let cells = self.history.last().unwrap().0;
        for (index, cells) in (1..).zip(cells.chunks(CELLS_PER_PART)) {
            self.send(Datagram::Part { id, index, cells: cells.to_vec() });
        }
        // A part that the consumer does not need.
        self.send(Datagram::Part { id, index: 7, cells: Vec::new() });
    }

    /// Delivers what is due and checks the consumer after every datagram.
    fn deliver(&mut self, until: Nanos) {
        while let Some(at) = self.link.next_due().filter(|at| *at <= until) {
            self.now = at;
            let datagram = self.link.receive(at).expect("it is due");
            self.receive(datagram);
            self.replay();
            self.check();
        }
        self.now = until;
    }

    fn receive(&mut self, datagram: Datagram) {
        match datagram {
            Datagram::Increment { stream, sequence } => {
                let bytes = sequence.to_le_bytes();
                let verdict = self.feed.handle_packet(stream, SequenceNumber(sequence), &bytes);
                assert_eq!(verdict == Verdict::OtherStream, stream != STREAM);
                if verdict == Verdict::Apply {
                    self.apply(sequence);
                }
            }
            Datagram::Heartbeat { last } => {
                self.feed.handle_heartbeat(STREAM, SequenceNumber(last));
            }
            Datagram::Begin { id, last } => {
                let last_sequence = SequenceNumber(last);
                let head = SnapshotHead { id, last_sequence, units: CELLS as u64 };
                self.feed.handle_snapshot_begin(STREAM, head, b"");
            }
            Datagram::Part { cells, .. } if cells.is_empty() => {}
            Datagram::Part { id, index, cells } => {
                let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
                let units = cells.len() as u64;
                self.feed.handle_snapshot_part(STREAM, id, index, units, &bytes);
            }
        }
    }

    fn replay(&mut self) {
        let mut recovered = None;
        let mut replayed = Vec::new();
        while let Some(replay) = self.feed.poll_replay() {
            match replay {
                Replay::Reset { last_sequence } => {
                    recovered = Some(last_sequence.0);
                    self.collecting.clear();
                }
                Replay::SnapshotPart(bytes) => {
                    let cells = bytes.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
                    self.collecting.extend(cells);
                }
                Replay::Packet { sequence, bytes } => {
                    assert_eq!(bytes, sequence.0.to_le_bytes());
                    replayed.push(sequence.0);
                }
            }
        }
        if let Some(last) = recovered {
            self.book = Book(self.collecting[..].try_into().expect("the parts in order, once"));
            for fate in &mut self.fate[..=usize::try_from(last).unwrap()] {
                if *fate == 0 {
                    *fate = 2;
                }
            }
            assert!(last >= self.accounted);
            self.accounted = last;
        }
        for sequence in replayed {
            self.apply(sequence);
        }
    }

    fn apply(&mut self, sequence: u64) {
        assert_eq!(sequence, self.accounted + 1, "applied out of order");
        let fate = &mut self.fate[usize::try_from(sequence).unwrap()];
        assert_eq!(*fate, 0, "{sequence} accounted for twice");
        *fate = 1;
        self.accounted = sequence;
        self.book.apply(sequence);
    }

    fn check(&self) {
        let last = self.last_sequence();
        assert!(is_exact(&self.feed, last));
        assert_eq!(self.feed.lost(SequenceNumber(last)), last - self.accounted);
        if !matches!(self.feed.state(), FeedState::Recovering { has_base: false, .. }) {
            assert_eq!(self.book, self.history[usize::try_from(self.accounted).unwrap()]);
        }
    }

    /// Publishes for this many steps, then lets the link heal, and checks the whole account.
    fn run(mut self, steps: u64) -> Counters {
        for step in 0..steps {
            match self.random.below(100) {
                0..80 => self.publish_increment(),
                80..84 => {
                    let last = self.last_sequence();
                    self.send(Datagram::Heartbeat { last });
                }
                84 => {
                    let sequence = self.random.below(self.last_sequence() + 9);
                    self.send(Datagram::Increment { stream: STREAM + 1, sequence });
                }
                85 if step % 16 == 0 => {
                    self.feed.invalidate();
                    self.book = Book([u64::MAX; CELLS]);
                }
                _ => {}
            }
            if step % self.weather.snapshot_every == 0 {
                self.publish_snapshot();
            }
            self.deliver(self.now + Nanos(1));
        }
        self.deliver(Nanos(i64::MAX / 2));
        self.link.faults = Faults::default();
        let last = self.last_sequence();
        self.send(Datagram::Heartbeat { last });
        self.publish_snapshot();
        self.deliver(Nanos::MAX);

        assert_eq!(self.feed.state(), FeedState::Live { next: SequenceNumber(last + 1) });
        assert_eq!(Some(&self.book), self.history.last());
        let counters = *self.feed.counters();
        let count = |kind| self.fate[1..].iter().filter(|&&fate| fate == kind).count() as u64;
        assert_eq!((counters.applied, counters.recovered), (count(1), count(2)));
        assert_eq!((counters.lost(last), counters.highest_seen), (0, last));
        counters
    }
}

const SEEDS: [u64; 4] = [1, 2, 3, 0xfeed];

fn run(steps: u64, weather: Weather) -> Vec<Counters> {
    let run = |seed| {
        println!("seed {seed}, {steps} steps, {weather:?}");
        let counters = Run::new(seed, weather).run(steps);
        println!("  {counters:?}");
        counters
    };
    SEEDS.into_iter().map(run).collect()
}

/// Doubles some, and delays each by up to four steps.
const DOUBLING: Faults = Faults {
    loss_per_mille: 0,
    burst_max: 0,
    duplicate_per_mille: 50,
    reorder_per_mille: 0,
    reorder: Nanos::ZERO,
    delay: Nanos::ZERO,
    jitter: Nanos(4),
    is_cut: false,
};

const BAD: Weather = Weather {
    link: Faults { loss_per_mille: 5, ..DOUBLING },
    snapshot_every: 50,
    packet_count: 256,
};

#[test]
fn every_sequence_is_accounted_for_once_over_a_bad_link() {
    for counters in run(30_000, BAD) {
        assert!(counters.gaps > 100 && counters.snapshots_used > 50, "{counters:?}");
        assert!(counters.applied > counters.recovered && counters.recovered > 0);
        assert!(counters.duplicates > 0 && counters.foreign > 0);
    }
}

#[test]
fn a_store_that_is_too_small_only_costs_more_recovered_sequences() {
    for counters in run(20_000, Weather { packet_count: 8, ..BAD }) {
        assert!(counters.dropped > 1_000 && counters.recovered > 1_000, "{counters:?}");
    }
}

#[test]
fn reordered_packets_heal_nearly_all_gaps_themselves() {
    for counters in run(20_000, Weather { link: DOUBLING, ..BAD }) {
        assert!(counters.gaps > 1_000 && counters.applied > 9 * counters.recovered, "{counters:?}");
    }
}

#[test]
fn a_link_that_loses_most_still_ends_right() {
    run(
        10_000,
        Weather { link: Faults { loss_per_mille: 700, ..DOUBLING }, snapshot_every: 9, ..BAD },
    );
}

proptest! {
    #[test]
    fn no_input_panics_and_the_account_stays_exact(
        calls in prop::collection::vec((0..6u8, any::<[u64; 2]>(), 0..9u64, any::<bool>()), 0..200),
    ) {
        let mut feed = small();
        for (call, [wide, index], narrow, use_wide) in calls {
            // Near numbers meet often; wide ones go to the ends of the range.
            let end = if wide % 2 == 0 { 0 } else { u64::MAX << 8 };
            let number = if use_wide { wide | end } else { narrow };
            let index = u32::try_from(index % 6).unwrap();
            match call {
                0 => drop(packet(&mut feed, number)),
                1 => feed.handle_heartbeat(STREAM, SequenceNumber(number)),
                2 => drop(begin(&mut feed, index, number, narrow % 3)),
                3 => drop(part(&mut feed, index, index, number % 3)),
                4 => feed.invalidate(),
                _ => drop(feed.poll_replay().is_some()),
            }
            let settled = feed.counters().applied + feed.counters().recovered;
            prop_assert!(is_exact(&feed, settled) && is_exact(&feed, u64::MAX));
        }
    }
}
