//! One schedule: a run of faults out of a seed, with a rest now and then and at the end.

use taut_gateway::GatewayCounters;
use taut_oms::{KillCause, KillScope};
use taut_testkit::{Draw, Random};
use taut_types::{InstrumentId, Nanos};

use crate::log::Log;
use crate::world::{Memory, Parts, World};

/// Of virtual time: a session that was broken in every way has found its way back long before.
const REST: Nanos = Nanos::from_secs(180);

/// What a schedule has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub now: Nanos,
    pub orders: u64,
    pub fills: u64,
    pub disconnects: u64,
    pub books: u64,
    /// Gateways that were started behind another one, with its journal.
    pub recoveries: u64,
    /// Instruments that a gateway took while it ran.
    pub added: u64,
}

/// Runs the schedule of a seed.
pub fn run(mut random: Random, log: Log, may_have_journal: bool) -> Outcome {
    let parts = Parts::draw(&mut random, may_have_journal);
    log.note(|| format!("{parts:?}"));
    let memory = Memory::new(parts.processes, parts.strategies);
    let mut world = World::open(&memory, parts, random, log);
    let mut outcome = Outcome::default();
    let turns = 50 + world.random.below(250);
    let step = world.random.pick(&[5_000, 50_000, 500_000, 2_000_000]);
    let faults_per_mille = world.random.pick(&[0, 10, 30, 100]);
    for _ in 0..turns {
        let span = Nanos(world.random.below(step).cast_signed());
        world.turn(span);
        outcome.added += u64::from(world.add_instrument());
        if world.random.per_mille(faults_per_mille) {
            world.break_something();
        }
        if world.random.per_mille(4) {
            world.rest();
        }
    }
    world.rest();
    if world.random.per_mille(300) {
        world.stop_everything();
    }
    let counters = world.gateway.counters();
    outcome.now = world.now();
    (outcome.orders, outcome.fills) = (counters.orders, counters.fills);
    outcome.disconnects = counters.disconnects;
    outcome.recoveries = if parts.has_journal { world.process as u64 } else { 0 };
    for instrument in &world.instruments {
        let book = world.gateway.book(instrument.id()).expect("a book");
        outcome.books = outcome.books.rotate_left(7) ^ book.state_hash();
    }
    outcome
}

impl World<'_> {
    /// A fault of any kind.
    fn break_something(&mut self) {
        let dice = self.random.below(100);
        let host = self.random.below(2) as usize;
        let spans = [1_000_000, 20_000_000, 300_000_000, 4_000_000_000];
        let span = Nanos(self.random.pick(&spans));
        match dice {
            0..30 => {
                self.log.note(|| "a cut".to_owned());
                self.network.cut(self.random.u64(..));
            }
            30..45 => {
                self.log.note(|| format!("host {host} does not run for {span:?}"));
                self.asleep_until[host] = self.now() + span;
            }
            45..55 => {
                let off = self.random.pick(&[0, -3_600, -2, -1, 1, 2, 90, 3_600]);
                self.log.note(|| format!("UTC of host {host} is off by {off} s"));
                self.utc_off[host] = Nanos::from_secs(off);
            }
            55..70 => {
                let at = self.random.below(self.places.len() as u64) as usize;
                self.come_or_go(at);
            }
            70..82 => {
                let lost_per_mille = self.random.pick(&[0, 100, 500, 1_000]);
                let delay_ns_max = self.random.pick(&[1_000, 300_000, 20_000_000]);
                let network = self.parts.network;
                let network = taut_io::SimConfig { lost_per_mille, delay_ns_max, ..network };
                self.log.note(|| format!("{network:?}"));
                self.network.configure(network);
            }
            82..88 => {
                let scope = match self.random.below(3) {
                    0 => KillScope::All,
                    1 => KillScope::Strategy(self.places[0].owner.strategy),
                    _ => KillScope::Instrument(InstrumentId(0)),
                };
                if !self.gateway.revive(scope) {
                    self.log.note(|| format!("{scope:?} is killed"));
                    self.kill(scope);
                }
            }
            88..92 => self.restart_venue(),
            92..96 => self.restart_gateway(),
            // One that remembers is killed more often.
            96.. if self.parts.has_journal => self.restart_gateway(),
            _ => {}
        }
    }

    /// Faults end, nobody asks for anything more, and all come to rest: then everything is equal.
    fn rest(&mut self) {
        self.log.note(|| "a rest".to_owned());
        self.orders.quiet.set(true);
        self.venue.stop_flow();
        self.network.configure(self.parts.calm());
        (self.asleep_until, self.utc_off) = Default::default();
        for at in 0..self.places.len() {
            if self.places[at].runner.is_none() {
                // Its orders are cancelled before another one may come.
                self.turn(Nanos::from_millis(1));
                self.come_or_go(at);
            }
        }
        // What was shown before the last thing happened is of before.
        let mut before = None;
        loop {
            self.rounds += 1;
            self.orders.round.set(self.rounds);
            self.until("everything to come to rest", World::is_at_rest);
            if before.replace(self.happened()) == Some(self.happened()) {
                break;
            }
        }
        self.check_at_rest();
        self.orders.round.set(0);
        self.orders.quiet.set(false);
        self.network.configure(self.parts.network);
        let now = self.now();
        self.venue.start_flow(now);
    }

    /// Changes whenever strategies are told something that they show.
    fn happened(&self) -> [u64; 10] {
        let told = self.gateway.counters();
        let GatewayCounters { ticks, recovered, snapshots, acks, fills, cancels, .. } = told;
        let GatewayCounters { expired, order_rejects, replaced, status_reports, .. } = told;
        [
            ticks,
            recovered,
            snapshots,
            acks,
            fills,
            cancels,
            expired,
            order_rejects,
            replaced,
            status_reports,
        ]
    }

    /// The kill switch at last: nothing is open at the next rest.
    fn stop_everything(&mut self) {
        self.log.note(|| "everything is killed".to_owned());
        self.kill(KillScope::All);
        for _ in 0..20 {
            self.turn(Nanos::from_micros(500));
        }
        self.rest();
    }

    fn kill(&mut self, scope: KillScope) {
        self.gateway.kill(scope, KillCause::Command).expect("the gateway goes on");
        self.gateway.client_mut().has_happened = true;
        self.check();
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = self.now() + REST;
        let mut step = Nanos::from_micros(200);
        while !holds(self) {
            assert!(self.now() < deadline, "waited {REST:?} for {what}: {}", self.unrest());
            self.turn(step);
            // What was sent in this turn arrives, and is answered.
            (0..3).for_each(|_| self.turn(Nanos::from_micros(20)));
            step = Nanos((step.0 + step.0 / 16).min(20_000_000));
        }
    }
}
