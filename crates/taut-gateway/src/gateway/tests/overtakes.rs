//! Requests come before market data.

use super::*;

#[test]
fn a_client_s_order_overtakes_the_market_data_that_waits() {
    with_world(|world| {
        const PACKETS: usize = 3;
        // The order that it has rests at the venue; there is room for another one.
        world.runner.strategy_mut().sent = None;
        world.log.borrow_mut().clear();
        let Gateway { events, core, .. } = &mut world.gateway;
        let feed = core.observer.feed.unwrap();
        for _ in 0..PACKETS {
            events.io().send_to(feed, b"packet", None).unwrap();
        }
        let now = events.io().now();
        core.with_client(|client, clock, state| client.timer(clock, state, now));
        while world.runner.poll(&clock_at(now)) {}
        assert_eq!(*world.log.borrow(), [], "neither was looked at yet");
        world.gateway.poll().unwrap();
        let mut expected = vec![Seen::Order];
        expected.extend([Seen::Packet; PACKETS]);
        assert_eq!(*world.log.borrow(), expected);
    });
}
