//! One schedule out of a seed: both members trade while faults happen, with a rest now and then
//! and at the end, at which everybody has the same.

use taut_testkit::{Draw, Random};

use super::*;

/// Faults pause when nobody can trade for so long.
const CALM_AFTER: Nanos = Nanos::from_secs(4);
/// More than a test has.
const SEEDS: u64 = 1_000_000;

/// What schedules have come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    schedules: u64,
    orders: u64,
    fills: u64,
    disconnects: u64,
    injected: u64,
    rests: u64,
    virtual_ms: i64,
}

impl Outcome {
    pub const fn add(&mut self, one: Self) {
        self.schedules += one.schedules;
        self.orders += one.orders;
        self.fills += one.fills;
        self.disconnects += one.disconnects;
        self.injected += one.injected;
        self.rests += one.rests;
        self.virtual_ms += one.virtual_ms;
    }

    /// So little would say nothing.
    pub fn is_something(&self) {
        println!("{self:?}");
        let Self { schedules, orders, fills, injected, .. } = *self;
        let least = schedules * 5;
        assert!(orders > least && fills > least && injected > least, "{self:?}");
    }
}

/// What goes wrong all the while.
fn draw_faults(random: &mut Random) -> Faults {
    Faults {
        seed: random.below(SEEDS),
        disconnect: random.pick(&[0, 5, 30]),
        drop: random.pick(&[0, 0, 10]),
        duplicate: random.pick(&[0, 50, 200]),
        reorder: random.pick(&[0, 0, 50]),
        sequence: random.pick(&[0, 0, 20]),
        delay: random.pick(&[0, 5, 100]),
        reject: random.pick(&[0, 60]),
        rate_limit: random.pick(&[0, 0, 15]),
        unknown: random.pick(&[0, 60]),
        expire: random.pick(&[0, 0, 10]),
        stall: random.pick(&[0, 0, 3]),
        strange: random.pick(&[0, 50]),
        skew: random.pick(&[0, 0, 3_000, 600_000]),
        torn: random.pick(&[0, 0, 10]),
        cross: random.pick(&[0, 0, 20]),
        stale: random.pick(&[0, 0, 300]),
        ..Faults::default()
    }
}

fn draw_network(random: &mut Random) -> SimConfig {
    SimConfig {
        seed: random.u64(..),
        delay_ns_max: random.pick(&[1_000, 300_000, 3_000_000]),
        is_partial: random.bool(),
        window_bytes: 8_000 + random.below(60_000) as usize,
        ..SimConfig::default()
    }
}

/// Plays a seed's schedule.
pub fn under_faults_all_agree_at_every_rest<L: Language>(mut random: Random) -> Outcome {
    let mut outcome = Outcome { schedules: 1, ..Outcome::default() };
    let network = draw_network(&mut random);
    day_on::<L, Virtual>(network, UNREAD_BYTES_MAX, |world| {
        let begin = world.now();
        let mut faults = draw_faults(&mut random);
        world.set_faults(faults);
        for _ in 0..100 + random.below(60) {
            // Now and then somebody asks while there is no session.
            if random.below(8) > 0 {
                world.until_ready(&mut faults);
            }
            world.ask(&mut random);
            if random.per_mille(30) {
                world.break_something(faults, &mut random);
            }
            for _ in 0..random.below(40) {
                world.turn();
            }
            if random.per_mille(15) {
                world.rest();
                outcome.rests += 1;
                faults = draw_faults(&mut random);
                world.set_faults(faults);
            }
        }
        world.rest();
        // A cancel that was asked for before may be lost yet: what is killed is cancelled again.
        for gateway in &mut world.gateways {
            gateway.kill(KillScope::All, KillCause::Command).expect("cancels");
        }
        world.until("nothing is open", |it| it.is_nothing_open() && it.is_at_rest());
        let counters = world.gateways.each_ref().map(|gateway| gateway.counters());
        outcome.orders = counters.map(|it| it.orders).iter().sum();
        outcome.fills = counters.map(|it| it.fills).iter().sum();
        outcome.disconnects = world.disconnects();
        outcome.injected = world.venue.observer().front().injected;
        outcome.rests += 1;
        outcome.virtual_ms = world.now().since(begin).0 / 1_000_000;
    });
    outcome
}

impl<L: Language> World<'_, L> {
    /// Waits until both may trade. A lost answer costs a session its time-outs, and both sessions
    /// of both members have to stand at one moment: when that takes long, the faults pause until
    /// they do.
    fn until_ready(&mut self, faults: &mut Faults) {
        let calm_from = self.now() + CALM_AFTER;
        let may_go_on = |it: &Self| it.are_ready() || it.now() >= calm_from;
        self.until("both are ready, or the faults pause", may_go_on);
        if !self.are_ready() {
            self.set_faults(Faults::default());
            // A FIX session of clocks that are minutes apart does not come about.
            self.utc_off = Default::default();
            self.until("both are ready", Self::are_ready);
            // They go on, and do not begin again.
            faults.seed += SEEDS;
            self.set_faults(*faults);
        }
    }

    /// Something that a strategy may do.
    fn ask(&mut self, random: &mut Random) {
        let member = random.below(2) as usize;
        let mut hands = self.hands[member].borrow_mut();
        let side = if random.bool() { Side::Buy } else { Side::Sell };
        let (ticks, lots) = (random.below(9) as i64 - 4, random.below(5) as i64 + 1);
        let open = &self.orders()[member];
        let other = open.get(random.below(open.len().max(1) as u64) as usize);
        match (random.below(4), other) {
            (0, Some(order)) => hands.cancels.push(order.id),
            (1, Some(order)) => {
                let terms = limit(order.terms.side, ticks, order.terms.lots.0 + lots);
                hands.modifies.push((order.id, terms));
            }
            _ => hands.creates.push(limit(side, ticks, lots)),
        }
    }

    /// A connection, a process or a clock, and the venue's maintenance.
    fn break_something(&mut self, faults: Faults, random: &mut Random) {
        let who = random.below(3) as usize;
        match random.below(10) {
            0..=3 => {
                let network = self.machine.network().expect("a simulated one");
                network.cut(random.u64(..));
            }
            4 | 5 => {
                let span = random.pick(&[20_000_000, 700_000_000, 6_000_000_000, 15_000_000_000]);
                self.asleep_until[who] = self.now() + Nanos(span);
            }
            6 | 7 => {
                let off = random.pick(&[0, -3_600, -31, -2, 1, 31, 90]);
                self.utc_off[who] = Nanos::from_secs(off);
            }
            8 => {
                let restart = random.bool();
                self.set_faults(Faults { maintenance: true, restart, ..faults });
            }
            _ => self.set_faults(faults),
        }
    }

    /// Faults end, nobody asks for anything more, and all comes to rest: then all is equal.
    fn rest(&mut self) {
        self.set_faults(Faults::default());
        (self.asleep_until, self.utc_off) = Default::default();
        self.until("both come to rest", Self::is_at_rest);
        for gateway in &self.gateways {
            assert_eq!(gateway.counters().malformed, 0, "{}", self.told());
            assert_eq!(gateway.killed().count(), 0, "{}", self.told());
        }
    }
}
