//! The engine against its slow twin, and against itself.

use std::vec::Vec;

use proptest::prelude::*;
use taut_types::{HalfTicks, Lots, OrderId, OrderType, Side, TimeInForce};

use super::Desk;
use crate::oracle::NaiveEngine;
use crate::{Command, EngineConfig, Event, NewOrder};

fn command() -> impl Strategy<Value = Command> {
    // Few ids and prices, so that commands meet; now and then a value from outside the domain.
    let id = || (0u64..60).prop_map(OrderId);
    let new = (id(), 0u8..20, 0u8..10, 0i64..16, 0i64..40, 0u32..4).prop_map(
        |(order_id, kind, force, ticks, lots, owner)| {
            let side = if kind % 2 == 0 { Side::Buy } else { Side::Sell };
            // Bids mostly in the lower half and offers in the upper, with an overlap.
            let ticks = 20 + ticks + if side == Side::Sell { 9 } else { 0 };
            let price = if kind == 19 { HalfTicks(ticks) } else { HalfTicks(2 * ticks) };
            let order_type = if kind < 2 { OrderType::Market } else { OrderType::Limit };
            let time_in_force = match force {
                0..=4 => TimeInForce::GoodTillCancel,
                5 => TimeInForce::Day,
                6 | 7 => TimeInForce::ImmediateOrCancel,
                _ => TimeInForce::FillOrKill,
            };
            let lots = Lots(lots);
            Command::New(NewOrder { order_id, owner, side, order_type, time_in_force, price, lots })
        },
    );
    prop_oneof![
        8 => new,
        1 => id().prop_map(|order_id| Command::Cancel { order_id }),
        1 => (id(), -1i64..30).prop_map(|(order_id, by)| Command::Reduce { order_id, by: Lots(by) }),
    ]
}

/// What went in is what is there or has come out.
fn lots_in_minus_out(events: &[Event]) -> i128 {
    let lots = |event: &Event| match *event {
        Event::Accepted { lots, .. } => i128::from(lots.0),
        Event::Cancelled { lots, .. } | Event::Reduced { by: lots, .. } => -i128::from(lots.0),
        Event::Trade { lots, .. } => -2 * i128::from(lots.0),
        _ => 0,
    };
    events.iter().map(lots).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn agrees_with_its_twin_over_a_hundred_thousand_commands(
        order_capacity in 8usize..30,
        level_capacity in 3usize..10,
        commands in proptest::collection::vec(command(), 180..350),
    ) {
        let config = EngineConfig { order_capacity, level_capacity };
        let mut desk = Desk::with_capacity(order_capacity, level_capacity);
        let mut replica = desk.0.clone();
        let mut twin = NaiveEngine::new(config);
        let mut in_the_book = 0;
        for (n, command) in commands.into_iter().enumerate() {
            let events = desk.run(command);
            prop_assert_eq!(&events, &twin.execute(command), "command {}: {:?}", n, command);
            let mut again = Vec::new();
            replica.execute(command, &mut |event| again.push(event));
            prop_assert_eq!(&events, &again, "the same commands yield the same events");
            in_the_book += lots_in_minus_out(&events);
            if n % 8 == 0 {
                prop_assert_eq!(desk.0.book().state_hash(), twin.book().state_hash());
            }
        }
        prop_assert_eq!(desk.0.book().state_hash(), twin.book().state_hash());
        let resting = Side::BOTH.into_iter().flat_map(|side| desk.0.book().orders(side));
        prop_assert_eq!(resting.map(|order| i128::from(order.lots.0)).sum::<i128>(), in_the_book);
    }
}
