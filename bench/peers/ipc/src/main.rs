//! Other ways between two cores, on the terms of `taut-bench ipc`: as fast as it goes without a
//! loss, every message checked, one writer and one reader pinned to a CPU each.
//!
//! usage: ipc-peers PEER throughput|rtt SECONDS [SIZE [BATCH [CAPACITY [CPU,CPU]]]]

#[cfg(feature = "aeron")]
mod aeron;
mod bytes;
mod inside;
mod run;
mod slots;

use std::process::exit;

use run::{Mode, Plan};

const PEERS: &[(&str, fn(&Plan) -> run::Outcome)] = &[
    ("rtrb", inside::rtrb),
    ("crossbeam", inside::crossbeam),
    ("disruptor", inside::disruptor),
    ("ringfire", slots::ringfire),
    ("iceoryx2", slots::iceoryx2),
    ("zeromq", bytes::zeromq),
];

/// Aeron with terms from the least to the default, which no cache holds.
#[cfg(feature = "aeron")]
const AERON: &[(&str, fn(&Plan) -> run::Outcome)] = &[
    ("aeron", aeron::offer::<65_536>),
    ("aeron-16m", aeron::offer::<16_384>),
    ("aeron-4m", aeron::offer::<4_096>),
    ("aeron-1m", aeron::offer::<1_024>),
    ("aeron-256k", aeron::offer::<256>),
    ("aeron-64k", aeron::offer::<64>),
    ("aeron-claim", aeron::claim::<65_536>),
    ("aeron-claim-16m", aeron::claim::<16_384>),
    ("aeron-claim-4m", aeron::claim::<4_096>),
    ("aeron-claim-1m", aeron::claim::<1_024>),
    ("aeron-claim-256k", aeron::claim::<256>),
    ("aeron-claim-64k", aeron::claim::<64>),
];
#[cfg(not(feature = "aeron"))]
const AERON: &[(&str, fn(&Plan) -> run::Outcome)] = &[];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["list"] {
        PEERS.iter().chain(AERON).for_each(|(name, _)| println!("{name}"));
        return;
    }
    let number = |at: usize, or: usize| words.get(at).map_or(Some(or), |word| word.parse().ok());
    let plan = || {
        let mode = match words.get(1)?.as_str() {
            "throughput" => Mode::Throughput,
            "rtt" => Mode::RoundTrip,
            _ => return None,
        };
        let mut cpus = words.get(6).map_or("0,1", String::as_str).split(',').map(str::parse);
        Some(Plan {
            mode,
            seconds: words.get(2)?.parse().ok()?,
            size: number(3, 56)?,
            batch: number(4, 1)?,
            capacity: number(5, 1024)?,
            cpus: [cpus.next()?.ok()?, cpus.next()?.ok()?],
        })
    };
    let mut peers = PEERS.iter().chain(AERON);
    let peer = peers.find(|(name, _)| words.first().is_some_and(|word| word == name));
    let (Some((name, peer)), Some(plan)) = (peer, plan()) else {
        eprintln!(
            "usage: ipc-peers PEER throughput|rtt SECONDS [SIZE [BATCH [CAPACITY [CPU,CPU]]]]"
        );
        exit(2);
    };
    let outcome = peer(&plan);
    println!("{}", outcome.json(name, &plan));
    exit(i32::from(outcome.wrong > 0));
}
