//! When a tick began: at the receive call that brought it, whatever was sent since.

use taut_gateway::{FusedClient, OrderUpdate, Regions, Strategy, Trading};
use taut_ipc::Segment;
use taut_market_data::{Event, EventKind};
use taut_tests::lockstep::{Conditions, Lockstep, standing_at};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{Lots, Nanos, OrderTerms, Side, TimeInForce};
use taut_venue::Now;

/// Sends an order for each change of the top, and notes when the tick began.
#[derive(Debug, Default)]
struct Hasty {
    began: Vec<Nanos>,
    sent: usize,
}

impl Strategy for Hasty {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(top) = event.kind else { return };
        self.began.push(now);
        let Some((price, _)) = top.ask else { return };
        let limit = OrderTerms::limit(event.instrument, Side::Buy, price, Lots(1));
        let time_in_force = TimeInForce::ImmediateOrCancel;
        let sent = trading.create(&OrderTerms { time_in_force, ..limit });
        self.sent += usize::from(sent.is_some());
    }

    fn on_order(&mut self, _: Nanos, _: &OrderUpdate, _: &mut impl Trading) {}

    fn on_timer(&mut self, _: Nanos, _: &mut impl Trading) {}

    fn on_stop(&mut self, _: Nanos, _: &mut impl Trading) {}

    fn is_idle(&self) -> bool {
        true
    }
}

#[test]
fn datagrams_of_one_receive_call_begin_at_one_time_though_orders_leave_between_them() {
    let segment = Segment::create("receive-time", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let client = FusedClient::new(Hasty::default());
    let flow = synthetic_flow(7, 20_000);
    let mut pair = Lockstep::open(&venue_config(), flow, Conditions::default(), &regions, client);
    let orders_before = pair.gateway.counters().orders;
    let mut now = pair.now();
    for _ in 0..50 {
        // Some twenty packets wait; then a tick passes with each look at the clock.
        now = now + Nanos::from_millis(1);
        let utc = pair.gateway.clock_mut().utc_at(now);
        pair.venue.poll(Now { mono: now, utc }).expect("the venue goes on");
        let counters = pair.venue.counters();
        pair.incremental.pass_on(counters.published + counters.heartbeats);
        loop {
            now = now + Nanos::from_micros(1);
            pair.gateway.clock_mut().set_mapping(standing_at(now));
            if !pair.gateway.poll_one().expect("the gateway goes on") {
                break;
            }
        }
    }
    let orders = pair.gateway.counters().orders - orders_before;
    let began = &pair.gateway.client_mut().strategy().began;
    let times = began.iter().collect::<std::collections::BTreeSet<_>>().len();
    println!("{} ticks, {orders} orders, {times} receive calls", began.len());
    assert!(orders > 100, "{orders}");
    assert!(times * 2 < began.len(), "{times} times for {} ticks", began.len());
}
