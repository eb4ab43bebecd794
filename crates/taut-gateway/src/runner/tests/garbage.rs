//! Somebody writes garbage over the rings of a gateway and a strategy: each call returns, and none
//! panics. What they believe then is garbage, too.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;

const ROUNDS: u64 = 20_000;
const DEADLINE: Duration = Duration::from_secs(120);

/// Is told anything.
struct Deaf;

impl Strategy for Deaf {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        let _ = (trading.book(event.instrument), trading.instrument_of(event.instrument));
    }
}

/// Stops the scribbler, whatever happens.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Words that look like something, and others, until it is told to stop.
fn scribble(regions: &[&[AtomicU64]], stop: &AtomicBool) {
    let mut random = Rng::with_seed(17);
    while !stop.load(Ordering::Relaxed) {
        let region = regions[random.usize(..regions.len())];
        let known = region[random.usize(..region.len())].load(Ordering::Relaxed);
        let word = match random.u8(..6) {
            0 => random.u64(..),
            1 => random.u64(..64),
            2 => known.wrapping_add(1),
            3 => known.wrapping_add(random.u64(..8192)),
            4 => known ^ 1 << random.u64(..64),
            _ => u64::MAX - random.u64(..64),
        };
        let most = if random.bool() { region.len().min(256) } else { region.len() };
        region[random.usize(..most)].store(word, Ordering::Relaxed);
    }
}

fn work_under_garbage() {
    let segment = Segment::create("taut-test", &Regions::LAYOUT).expect("segment");
    let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).expect("segment");
    let regions = Regions::of(&segment).expect("regions");
    let own = StrategyRegions::of(&own).expect("regions");
    let mut hub = Hub::new(&regions).expect("a hub");
    let slot = hub.add_slot(&own, None).expect("a slot");
    let mut runner = StrategyRunner::new(&regions, &own, None, Deaf).expect("a runner");
    let (known, clock, stop) = (known(), Clock::vdso(), AtomicBool::new(false));
    let scribbled = [regions.ticks, own.requests, own.replies];
    thread::scope(|scope| {
        scope.spawn(|| scribble(&scribbled, &stop));
        let _stop = Stop(&stop);
        for round in 0..ROUNDS {
            // A place that was lost is taken again.
            hub.attach(slot, Owner::default());
            let place = LevelPlace::Behind(0);
            let (side, price, lots) = (Side::Buy, Price(1_998), Lots(1));
            let level = LevelUpdate { side, price, lots, order_count: 1, place };
            hub.market(&clock, &known, TickStamps::NONE, &[event(EventKind::Level(level))]);
            let _ = (hub.next_request(), hub.idle(&known, &clock));
            let _ = (runner.poll(&clock), runner.poll(&clock));
            if round.is_multiple_of(100) {
                runner.timer(&clock);
            }
        }
    });
}

#[test]
fn garbage_in_the_rings_holds_neither_gateway_nor_strategy_and_is_no_panic() {
    let (done, ended) = channel();
    let worker = thread::spawn(move || {
        work_under_garbage();
        let _ = done.send(());
    });
    let end = ended.recv_timeout(DEADLINE);
    assert_ne!(end, Err(RecvTimeoutError::Timeout), "a call does not return");
    assert!(worker.join().is_ok(), "a call panicked");
}
