//! A kill of ten thousand open orders: few system calls, a session that stays, budgets that hold.

use taut_oms::{KillCause, KillScope, MessageRates, Rate, RiskLimits, RiskSizes};

use super::*;
use crate::config::{RiskConfig, RiskRules};

const ORDERS: u64 = 10_000;
/// A cancel is some 170 bytes, and 16 KiB leave at once.
const CALLS_MAX: u64 = 128;

fn world(segment: &Segment, cancels: Rate) -> World<'_> {
    let sizes = RiskSizes { instruments: 1, accounts: 1, users: 256, strategies: 256 };
    let mut limits: RiskLimits = GatewayConfig::default_risk().limits(sizes);
    limits.venue = MessageRates { cancels, ..MessageRates::UNLIMITED };
    let mut world = World::with(segment, |config| {
        config.order_capacity = 2 * ORDERS as usize;
        let rules = RiskRules { limits, groups: vec![0] };
        config.risk = RiskConfig::Each { rules, accounts: Accounts::default() };
    });
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(10_000_000_000), Lots(10));
    let now = world.ends.clock.now();
    for number in 1..=ORDERS {
        let table = &mut world.ends.orders.table;
        table.create(ClientOrderId(number), &terms, 0, 0, now).unwrap();
    }
    world
}

impl World<'_> {
    /// Calls into the kernel that it takes.
    fn kill(&mut self) -> u64 {
        let Ends { orders, updates, clock, .. } = &mut self.ends;
        *clock = clock_at(self.events.io().now());
        let before = self.events.io().calls().io;
        orders.kill_switch_mut().kill(KillScope::All, KillCause::Command);
        while let Some(scope) = orders.poll_killed(clock.now()) {
            orders.cancel_all(self.events.io(), clock, &scope.into(), updates);
        }
        self.events.io().calls().io - before
    }

    fn cancelled(&self) -> usize {
        self.ends.venue.all_of("F").count()
    }
}

#[test]
fn ten_thousand_orders_are_cancelled_in_few_system_calls_and_the_session_stays() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = world(&segment, Rate::UNLIMITED);
    let calls = world.kill();
    assert!(calls <= CALLS_MAX, "{calls} system calls for {ORDERS} cancels");
    // More than the kernel takes at once: the rest waits, and leaves as the venue reads.
    assert!(world.ends.orders.waiting_cancels() > 0);
    world.pass(Nanos::from_millis(500));
    assert_eq!(world.cancelled() as u64, ORDERS);
    let orders = &world.ends.orders;
    assert_eq!((orders.waiting_cancels(), orders.disconnects()), (0, 0));
    assert!(orders.is_active());
}

#[test]
fn a_kill_keeps_to_the_budget_of_cancels_and_says_how_many_wait() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = world(&segment, Rate { per_second: 1_000, burst: 100 });
    world.kill();
    assert_eq!(world.ends.orders.waiting_cancels() as u64, ORDERS - 100);
    world.pass(Nanos::from_secs(1));
    let in_a_second = world.cancelled();
    assert!((1_000..=1_101).contains(&in_a_second), "{in_a_second}");
    // Some are on their way.
    let left = ORDERS as usize - world.ends.orders.waiting_cancels();
    assert!((in_a_second..=1_101).contains(&left), "{left}");
    assert_eq!(world.ends.orders.disconnects(), 0);
}
