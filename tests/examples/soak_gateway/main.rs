//! Venue, gateway and strategies, killed one after the other with `kill -9` while they trade:
//! `cargo xtask soak gateway --kills N`.
//!
//! At the end no order is lost, doubled or without an owner, the gateway's positions are what the
//! venue told trade by trade, and nothing is left behind. What the venue told is heard by a
//! [witness](witness) on the wire between the two. A venue that is killed forgets its book: its
//! orders are over then, its trades count.
//!
//! Before the first kill there may be some seconds of steady load (`--steady N`), in which no
//! packet of market data and no event may be lost on the way from the venue to either strategy.
//!
//! Two deaths at once can lose what one of them alone knew: a trade that a venue told and a dead
//! gateway did not hear dies with that venue. So a venue is killed while the gateway is up, and the
//! gateway again when it has heard the end of that venue.
#![forbid(unsafe_code)]

mod processes;
mod witness;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use taut_sys::monotonic;
use taut_testkit::{DEADLINE, Draw, Random, until};
use taut_types::Nanos;

use processes::{Load, Processes, STRATEGIES};

const USAGE: &str = "soak_gateway PROGRAM KILLS SEED RATE INSTRUMENTS FLOW STEADY";
/// Kills from one line of progress to the next.
const PROGRESS: u64 = 50;
/// Seconds of steady load from one line of progress to the next.
const STEADY_PROGRESS: u64 = 10;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Gateway,
    Strategy(usize),
    Venue,
}

impl Victim {
    fn draw(random: &mut Random) -> Self {
        match random.below(10) {
            0..5 => Self::Gateway,
            5..8 => Self::Strategy(random.below(STRATEGIES.len() as u64) as usize),
            _ => Self::Venue,
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, numbers @ ..] = &words[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let numbers: Vec<u64> = numbers.iter().filter_map(|word| word.parse().ok()).collect();
    let [kills, seed, rate, instruments @ (1..), flow, seconds] = numbers[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let load = Load { rate, instruments, flow };
    println!("soak gateway: {kills} kills, seed {seed}, {load:?}");
    let run = AssertUnwindSafe(|| soak(program, kills, seed, load, seconds));
    match catch_unwind(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => {
            eprintln!("soak gateway: failed with seed {seed}");
            ExitCode::from(1)
        }
    }
}

fn soak(program: &str, kills: u64, seed: u64, load: Load, steady_seconds: u64) {
    let mut random = Random::with_seed(seed);
    let mut processes = Processes::start(program, load);
    if steady_seconds > 0 {
        steady(&processes, steady_seconds);
    }
    let begun = monotonic();
    let (mut gateways, mut strategies, mut venues) = (0, 0, 0);
    for kill in 1..=kills {
        // From 20 ms to some seconds, exponential: in the middle of a start, or of steady trade.
        let mean_ms = random.pick(&[50.0, 300.0, 1_500.0]);
        let life = -mean_ms * (1.0 - random.f64()).ln();
        // PACE: how long they live is what is tried.
        taut_sys::sleep(Nanos::from_millis(20 + life as i64));
        match Victim::draw(&mut random) {
            Victim::Gateway => {
                processes.restart_gateway();
                gateways += 1;
            }
            Victim::Strategy(which) => {
                processes.restart_strategy(which);
                strategies += 1;
            }
            Victim::Venue => {
                processes.restart_venue(random.below(2) == 0);
                venues += 1;
            }
        }
        if kill % PROGRESS == 0 || kill == kills {
            let (orders, trades) = processes.witness.counts();
            let seconds = monotonic().since(begun).0 / 1_000_000_000;
            println!(
                "soak gateway: {kill} of {kills} kills (gateway {gateways}, strategies \
                 {strategies}, venue {venues}), {orders} orders, {trades} trades, {seconds} s"
            );
            processes.witness.assert_well();
        }
    }
    let positions = finish(&mut processes);
    let (orders, trades) = processes.witness.counts();
    processes.end();
    println!(
        "soak gateway: {orders} orders and {trades} trades: each counted once; positions of venue \
         and gateway are equal: {positions}"
    );
}

/// Lets all trade for some seconds; nothing may be lost.
fn steady(processes: &Processes, seconds: u64) {
    until("two strategies at a feed without a gap", DEADLINE, || {
        processes.feed().is_some_and(|feed| feed.is_live && feed.attached == STRATEGIES.len())
    });
    let begun = processes.feed().expect("a status");
    let mut waited = 0;
    while waited < seconds {
        let next = STEADY_PROGRESS.min(seconds - waited);
        // PACE: the load is tried for this long.
        taut_sys::sleep(Nanos::from_millis(1_000 * next as i64));
        waited += next;
        let feed = processes.feed().expect("a status");
        println!("soak gateway: steady for {waited} of {seconds} s, {feed:?}");
        assert_eq!((feed.lost_events, feed.refused_requests), (0, 0), "of the strategies");
        assert_eq!(feed.missed_packets, begun.missed_packets, "no snapshot but the first ones");
    }
    until("every packet in its turn", DEADLINE, || {
        let feed = processes.feed().expect("a status");
        feed.highest_packet == feed.applied_packets + feed.missed_packets
    });
    let feed = processes.feed().expect("a status");
    let packets = feed.applied_packets - begun.applied_packets;
    println!(
        "soak gateway: {packets} packets in {seconds} s of steady load, none lost; {} gaps, closed \
         by {} packets that were sent again",
        feed.gaps - begun.gaps,
        feed.packets_again - begun.packets_again,
    );
}

/// Brings everything to rest and compares.
fn finish(processes: &mut Processes) -> String {
    until("a session at the end", DEADLINE, || processes.is_up());
    processes.stop_strategies();
    processes.ask(&["cancel-all"]);
    until("an end of every order", DEADLINE, || processes.open_orders() == Some(0));
    processes.witness.assert_well();
    until("every order over at the venue", DEADLINE, || processes.witness.open().is_empty());
    let told = processes.witness.positions();
    let held = processes.positions();
    assert_eq!(held, told, "the gateway's positions, and what the venue told");
    format!("{held:?}")
}
