//! One schedule out of a seed: trading, faults, a rest now and then and at the end.

use taut_oms::{KillCause, KillScope};
use taut_testkit::{Draw, Random};
use taut_types::OrderTerms;

use super::*;

/// What schedules have come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    schedules: u64,
    orders: u64,
    fills: u64,
    disconnects: u64,
    stream_disconnects: u64,
    injected: u64,
    too_slow: u64,
    rests: u64,
}

impl Outcome {
    pub const fn add(&mut self, one: Self) {
        self.schedules += one.schedules;
        self.orders += one.orders;
        self.fills += one.fills;
        self.disconnects += one.disconnects;
        self.stream_disconnects += one.stream_disconnects;
        self.injected += one.injected;
        self.too_slow += one.too_slow;
        self.rests += one.rests;
    }
}

/// What goes wrong all the while.
fn draw_faults(random: &mut Random) -> Faults {
    Faults {
        seed: random.u64(..),
        disconnect: random.pick(&[0, 3, 15]),
        drop: random.pick(&[0, 3, 15]),
        duplicate: random.pick(&[0, 50, 200]),
        reorder: random.pick(&[0, 0, 50]),
        sequence: random.pick(&[0, 0, 20]),
        delay: random.pick(&[0, 5, 200]),
        reject: random.pick(&[0, 60]),
        rate_limit: random.pick(&[0, 15]),
        unknown: random.pick(&[0, 60]),
        expire: random.pick(&[0, 0, 15]),
        stall: random.pick(&[0, 0, 2]),
        strange: random.pick(&[0, 50]),
        skew: random.pick(&[0, 0, 3_000, 600_000]),
        torn: random.pick(&[0, 0, 10]),
        ..Faults::default()
    }
}

/// Plays a seed's schedule.
pub fn run(mut random: Random) -> Outcome {
    let habits = Habits {
        seed: random.u64(..),
        listing: random.pick(&LISTINGS),
        has_checksums: random.bool(),
    };
    let network = SimConfig {
        seed: random.u64(..),
        delay_ns_max: random.pick(&[1_000, 300_000, 3_000_000]),
        is_partial: random.bool(),
        window_bytes: 2_000 + random.below(60_000) as usize,
        look_ns: 100,
        ..SimConfig::default()
    };
    let mut outcome = Outcome { schedules: 1, ..Outcome::default() };
    day(habits, network, |world| {
        let mut faults = draw_faults(&mut random);
        let mut loses = faults.drop > 0;
        world.set_faults(faults);
        for _ in 0..100 + random.below(200) {
            world.act(&mut random);
            if random.per_mille(40) {
                world.break_something(faults, &mut random);
            }
            let (turns, step) = (random.below(40), random.pick(&[50_000, 1_000_000, 20_000_000]));
            for _ in 0..turns {
                world.turn(Nanos(random.below(step).cast_signed()));
            }
            if random.per_mille(15) {
                world.rest();
                faults = draw_faults(&mut random);
                loses |= faults.drop > 0;
                world.set_faults(faults);
                outcome.rests += 1;
            }
        }
        world.rest();
        world.kill();
        // A trade that the venue never told is missing until the position is compared.
        let differences = world.gateway.position_comparisons().differences;
        assert!(loses || differences == 0, "{}", world.told());
        let counters = world.gateway.counters();
        (outcome.orders, outcome.fills) = (counters.orders, counters.fills);
        outcome.disconnects = counters.disconnects;
        outcome.stream_disconnects = counters.stream_disconnects;
        outcome.injected = world.venue.observer().front().injected;
        outcome.too_slow = world.venue.observer().too_slow();
        outcome.rests += 1;
    });
    outcome
}

impl World<'_> {
    /// The strategy or a stranger does something.
    fn act(&mut self, random: &mut Random) {
        let side = if random.bool() { Side::Buy } else { Side::Sell };
        let (ticks, lots) = (random.below(9) as i64 - 4, random.below(5) as i64 + 1);
        let mut open = Vec::new();
        self.gateway.visit_orders(|order| open.push(*order));
        let mut hands = self.hands.borrow_mut();
        let mut street = self.street.borrow_mut();
        let other = open.get(random.below(open.len().max(1) as u64) as usize);
        let terms =
            |side, lots| OrderTerms::limit(IT, side, Price(off(ticks).0 * TICK.0 / 2), Lots(lots));
        match (random.below(9), other) {
            (0, Some(order)) => hands.cancels.push(order.id),
            (1, Some(order)) => {
                hands.modifies.push((order.id, terms(order.terms.side, order.terms.lots.0 + lots)));
            }
            (2, Some(order)) => {
                let lots = (order.terms.lots.0 - lots).max(1);
                hands.modifies.push((order.id, terms(order.terms.side, lots)));
            }
            (0..=4, _) => hands.creates.push(terms(side, lots)),
            (5 | 6, _) => street.push_back(Deed::Rest(side, off(ticks), Lots(lots))),
            (7, _) => street.push_back(Deed::Take(side, off(ticks), Lots(lots))),
            _ => street.push_back(Deed::Leave),
        }
    }

    fn break_something(&mut self, faults: Faults, random: &mut Random) {
        let host = random.below(2) as usize;
        match random.below(10) {
            0..=3 => self.network.cut(random.u64(..)),
            4 | 5 => {
                let span = random.pick(&[20_000_000, 700_000_000, 6_000_000_000, 40_000_000_000]);
                self.asleep_until[host] = self.now() + Nanos(span);
            }
            6 | 7 => {
                let off = random.pick(&[0, -3_600, -31, -2, 1, 31, 90]);
                self.utc_off[host] = Nanos::from_secs(off);
            }
            8 => self.set_faults(Faults { maintenance: true, ..faults }),
            _ => self.set_faults(faults),
        }
    }

    /// Faults end, nobody asks for anything more, and all comes to rest: then all is equal.
    fn rest(&mut self) {
        self.set_faults(Faults::default());
        (self.asleep_until, self.utc_off) = Default::default();
        self.until("both come to rest", World::is_at_rest);
        let counters = self.gateway.counters();
        assert_eq!(self.okx().twice(), 0, "an order was sent again");
        assert_eq!(counters.malformed, 0, "{}", self.told());
        assert_eq!(self.gateway.killed().count(), 0, "{}", self.told());
    }

    /// All that is open is cancelled.
    fn kill(&mut self) {
        self.gateway.kill(KillScope::All, KillCause::Command).expect("cancels");
        self.until("nothing is open", |it| {
            let mut count = 0;
            it.gateway.visit_orders(|_| count += 1);
            count == 0 && it.is_at_rest()
        });
    }
}
