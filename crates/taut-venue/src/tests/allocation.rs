//! Once it runs, a venue takes no memory. The synthetic flow's own book, which grows a queue now
//! and then, is left out.

use allocation_counter::measure;
use taut_types::{Nanos, Side};

use crate::tests::client::{cancel, limit, market};
use crate::tests::rig::{Rig, drain};

#[test]
fn orders_reports_packets_and_snapshots_allocate_nothing() {
    let mut rig = Rig::empty();
    let mut client = rig.log_on("ALPHA");
    let mut allocations = 0;
    for round in 0..60u64 {
        client.order(rig.now, &limit(4 * round + 1, Side::Sell, 10, "580.00"));
        client.order(rig.now, &limit(4 * round + 2, Side::Buy, 10, "579.00"));
        client.order(rig.now, &market(4 * round + 3, Side::Buy, 15));
        client.cancel(rig.now, &cancel(4 * round + 4, 4 * round + 2, Side::Buy));
        for _ in 0..10 {
            rig.advance(Nanos::from_millis(1));
            let spent = measure(|| {
                rig.poll();
            });
            allocations += spent.count_total;
            client.pump(rig.now);
            drain(&rig.incremental, |_| {});
            drain(&rig.snapshot, |_| {});
        }
    }
    let counters = rig.venue.counters();
    assert_eq!((counters.fills, counters.cancels), (120, 60));
    assert!(counters.snapshots >= 2 && counters.reports == 60 * 7);
    assert_eq!(allocations, 0);
}
