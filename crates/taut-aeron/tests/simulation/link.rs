//! The network: datagrams that are lost, duplicated, delayed and overtaken, by a seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

use taut_aeron::frame::{FrameKind, frame_kind};
use taut_types::Nanos;

use crate::random::Random;

/// What the network does to datagrams while the faults last.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub loss_per_mille: u64,
    /// A loss is followed by up to this many more.
    pub burst_max: u64,
    pub duplicate_per_mille: u64,
    pub reorder_per_mille: u64,
    pub delay_ns: u64,
    pub jitter_ns: u64,
    /// Datagrams of this kind alone are lost, of a thousand.
    pub one_way: Option<(FrameKind, u64)>,
    /// Nothing passes from here to there.
    pub blackhole: Option<(Nanos, Nanos)>,
    /// When all this stops.
    pub until: Nanos,
}

impl Faults {
    /// A network drawn from the seed: every schedule has some faults, few have all.
    pub fn draw(random: &mut Random) -> Self {
        let until = Nanos::from_micros(random.below(400_000) as i64 + 20_000);
        let losing = [FrameKind::Nak, FrameKind::Status, FrameKind::Setup, FrameKind::RoundTrip];
        let begin = Nanos::from_micros(random.below(200_000) as i64);
        let outage = match random.below(20) {
            0 => random.below(14_000_000),
            1..=6 => random.below(300_000),
            _ => 0,
        };
        let blackhole = (outage > 0).then(|| (begin, begin + Nanos::from_micros(outage as i64)));
        let some = |random: &mut Random, most: u64| match random.below(3) {
            0 => 0,
            _ => random.below(most),
        };
        let one_way = random.per_mille(300).then(|| {
            let chance = random.pick(&[500, 900, 1000]);
            (random.pick(&losing), chance)
        });
        Self {
            loss_per_mille: some(random, 300),
            burst_max: some(random, 40),
            duplicate_per_mille: some(random, 300),
            reorder_per_mille: some(random, 300),
            delay_ns: 2_000 + random.below(2_000_000) * u64::from(random.per_mille(500)),
            jitter_ns: some(random, 300_000),
            one_way,
            blackhole,
            until: blackhole.map_or(until, |(_, end)| until.max(end)),
        }
    }
}

type Flight = Reverse<(i64, u64, SocketAddr, SocketAddr, Vec<u8>)>;

pub struct Link {
    pub faults: Faults,
    in_flight: BinaryHeap<Flight>,
    sent: u64,
    burst: u64,
}

impl Link {
    pub fn new(faults: Faults) -> Self {
        Self { faults, in_flight: BinaryHeap::new(), sent: 0, burst: 0 }
    }

    pub fn send(
        &mut self,
        now: Nanos,
        random: &mut Random,
        from: SocketAddr,
        to: SocketAddr,
        datagram: &[u8],
    ) {
        let faulty = now < self.faults.until;
        if faulty && self.loses(now, random, datagram) {
            return;
        }
        let faults = self.faults;
        let copies = 1 + u64::from(faulty && random.per_mille(faults.duplicate_per_mille));
        for _ in 0..copies {
            let mut delay = faults.delay_ns + random.below(faults.jitter_ns / 20 + 1);
            if faulty && random.per_mille(faults.reorder_per_mille) {
                delay += random.below(faults.jitter_ns + 1);
            }
            self.sent += 1;
            let due = now.0 + delay as i64;
            self.in_flight.push(Reverse((due, self.sent, from, to, datagram.to_vec())));
        }
    }

    /// The next datagram that has arrived: from, to, bytes.
    pub fn receive(&mut self, now: Nanos) -> Option<(SocketAddr, SocketAddr, Vec<u8>)> {
        if self.next_due()? > now {
            return None;
        }
        self.in_flight.pop().map(|Reverse((_, _, from, to, bytes))| (from, to, bytes))
    }

    pub fn next_due(&self) -> Option<Nanos> {
        self.in_flight.peek().map(|Reverse((due, ..))| Nanos(*due))
    }

    fn loses(&mut self, now: Nanos, random: &mut Random, datagram: &[u8]) -> bool {
        let faults = self.faults;
        if faults.blackhole.is_some_and(|(begin, end)| now >= begin && now < end) {
            return true;
        }
        if let Some((kind, chance)) = faults.one_way
            && frame_kind(datagram) == Ok(kind)
            && random.per_mille(chance)
        {
            return true;
        }
        if self.burst > 0 {
            self.burst -= 1;
            return true;
        }
        let is_lost = random.per_mille(faults.loss_per_mille);
        if is_lost {
            self.burst = random.below(faults.burst_max + 1);
        }
        is_lost
    }
}
