//! The network of a schedule: a faulty link, and what strikes some datagrams or some time alone.

use std::net::SocketAddr;

use taut_aeron::frame::{FrameKind, frame_kind};
use taut_testkit::{Draw, Faults, Link, Random};
use taut_types::Nanos;

/// What the network does to datagrams while the faults last.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    link: Faults,
    /// Datagrams of this kind alone are lost, of a thousand.
    one_way: Option<(FrameKind, u64)>,
    /// Nothing passes from here to there.
    blackhole: Option<(Nanos, Nanos)>,
    /// When all this stops.
    pub until: Nanos,
}

impl Weather {
    /// A network drawn from the seed: every schedule has some faults, few have all.
    pub fn draw(random: &mut Random) -> Self {
        let micros = |random: &mut Random, most| Nanos::from_micros(random.below(most) as i64);
        let until = micros(random, 400_000) + Nanos::from_millis(20);
        let losing = [FrameKind::Nak, FrameKind::Status, FrameKind::Setup, FrameKind::RoundTrip];
        let begin = micros(random, 200_000);
        let outage = match random.below(20) {
            0 => micros(random, 14_000_000),
            1..=6 => micros(random, 300_000),
            _ => Nanos::ZERO,
        };
        let blackhole = (outage > Nanos::ZERO).then(|| (begin, begin + outage));
        let some = |random: &mut Random, most: u64| match random.below(3) {
            0 => 0,
            _ => random.below(most),
        };
        let one_way = random.per_mille(300).then(|| {
            let chance = random.pick(&[500, 900, 1000]);
            (random.pick(&losing), chance)
        });
        let reorder = some(random, 300_000) as i64;
        let link = Faults {
            loss_per_mille: some(random, 300),
            burst_max: some(random, 40),
            duplicate_per_mille: some(random, 300),
            reorder_per_mille: some(random, 300),
            reorder: Nanos(reorder),
            delay: Nanos(2_000 + (random.below(2_000_000) * random.below(2)) as i64),
            jitter: Nanos(reorder / 20),
            is_cut: false,
        };
        let until = blackhole.map_or(until, |(_, end)| until.max(end));
        Self { link, one_way, blackhole, until }
    }

    /// What is left of the faults when they have stopped.
    fn calm(&self) -> Faults {
        let Faults { delay, jitter, .. } = self.link;
        Faults { delay, jitter, ..Faults::default() }
    }
}

/// From, to, and the bytes.
type Datagram = (SocketAddr, SocketAddr, Vec<u8>);

pub struct Network {
    pub weather: Weather,
    link: Link<Datagram>,
}

impl Network {
    pub fn new(weather: Weather, seed: u64) -> Self {
        Self { weather, link: Link::new(weather.link, seed) }
    }

    pub fn send(&mut self, now: Nanos, random: &mut Random, datagram: Datagram) {
        if now >= self.weather.until {
            self.link.faults = self.weather.calm();
        } else if self.strikes(now, random, &datagram.2) {
            return;
        }
        self.link.send(now, datagram);
    }

    /// The next datagram that has arrived.
    pub fn receive(&mut self, now: Nanos) -> Option<Datagram> {
        self.link.receive(now)
    }

    pub fn next_due(&self) -> Option<Nanos> {
        self.link.next_due()
    }

    fn strikes(&self, now: Nanos, random: &mut Random, bytes: &[u8]) -> bool {
        let Weather { one_way, blackhole, .. } = self.weather;
        let is_dark = blackhole.is_some_and(|(begin, end)| now >= begin && now < end);
        let is_of_kind = |(kind, _): &(FrameKind, u64)| frame_kind(bytes) == Ok(*kind);
        is_dark || one_way.filter(is_of_kind).is_some_and(|(_, chance)| random.per_mille(chance))
    }
}
