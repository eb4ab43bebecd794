//! Two venues on two machines, clients that trade, and everything that can go wrong, on virtual
//! time: a seed is a schedule.
//!
//! What runs is the venue, its journal, both ends of the copying and the standby as they are; the
//! network, the clocks, the processes and the operator are simulated. The network between the two
//! machines is cut, delayed, and breaks at any byte; processes are paused and killed, and start
//! again with what their disks have; clocks jump. Behind each schedule everything is mended, all
//! clients have their answers, and it must hold: no venue told a client anything once a later one
//! had; what clients saw can be explained by one book ([`taut_testkit::history`]), so that nothing
//! acknowledged was lost and nothing was done twice; and a copy that its venue waits for has the
//! venue's journal.
//!
//! `cargo xtask soak fail-over 100000` runs as many seeds.

mod clients;
mod node;
mod wire;
mod world;

use taut_testkit::for_each_seed;

/// Schedules in a run of all tests.
const SCHEDULES: u64 = 60;

#[test]
fn a_venue_and_its_standby_acknowledge_as_one_whatever_happens() {
    let mut all = world::Seen::default();
    for_each_seed(0..SCHEDULES, |_, random| all.add(&world::run(random)));
    println!("{all:?}");
    if taut_testkit::seeds(0..SCHEDULES).count() as u64 >= SCHEDULES {
        assert!(all.trades > 0 && all.promotions > 0 && all.kills > 0, "{all:?}");
    }
}
