//! Orders of a strategy that is gone.

use taut_ipc::Segment;
use taut_oms::OrderState;
use taut_types::{InstrumentId, Lots, OrderTerms, Price, Side, StrategyId, UserId};

use super::*;
use crate::message::OpenOrder;

const OWNER: Owner = Owner { user: UserId(1), strategy: StrategyId(2) };

/// A gateway with one order, or none.
struct Known {
    order: Option<OpenOrder>,
}

impl GatewayState for Known {
    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.order.iter().filter(|order| Owner::of(order.id) == owner).for_each(visit);
    }
}

#[test]
fn whoever_is_leaving_takes_no_other_place() {
    let segment = Segment::create("hub-two", &Regions::LAYOUT).expect("a segment");
    let own =
        [(); 2].map(|()| Segment::create("hub-two", &StrategyRegions::LAYOUT).expect("a segment"));
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let [first, second] = [&own[0], &own[1]].map(|own| {
        hub.add_slot(&StrategyRegions::of(own).expect("regions"), None).expect("a slot")
    });
    assert!(hub.attach(first, OWNER));
    hub.detach(first);
    assert!(!hub.attach(second, OWNER), "its orders are not asked to be cancelled yet");
    assert!(hub.next_request().is_some_and(|it| matches!(it.kind, RequestKind::CancelAll(_))));
    assert!(hub.attach(second, OWNER));
}

#[test]
fn orders_of_a_strategy_that_is_gone_are_cancelled_until_none_is_open() {
    let segment = Segment::create("hub-gone", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("hub-gone", &StrategyRegions::LAYOUT).expect("a segment");
    let mut hub = Hub::new(&Regions::of(&segment).expect("regions")).expect("a hub");
    let slot = hub.add_slot(&StrategyRegions::of(&own).expect("regions"), None).expect("a slot");
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
    let (id, state, lots_open) = (OWNER.order(1), OrderState::Working, Lots(1));
    let order = Some(OpenOrder {
        id,
        terms,
        version: 1,
        price_asked: terms.price,
        lots_asked: terms.lots,
        state,
        lots_open,
        tag: 0,
    });
    let mut known = Known { order };
    let clock = Clock::vdso();
    let cancels = |hub: &mut Hub<'_>, known: &Known, millis| {
        hub.timer(&clock, known, Nanos::from_millis(millis));
        let request = hub.next_request();
        assert!(request.is_none_or(|it| matches!(it.kind, RequestKind::CancelAll(_))));
        request.is_some_and(|it| Owner::of(it.id) == OWNER)
    };
    assert!(hub.attach(slot, OWNER));
    assert!(!cancels(&mut hub, &known, 1), "it is here");
    hub.detach(slot);
    assert!(cancels(&mut hub, &known, 2), "at once, whatever comes of it");
    assert!(!cancels(&mut hub, &known, 1_000), "without a session");
    let up = GatewayEvent::OrderEntry { is_up: true };
    hub.gateway_event(&clock, &known, Nanos::from_millis(1_001), &up);
    assert!(cancels(&mut hub, &known, 1_001));
    assert!(!cancels(&mut hub, &known, 1_002), "again, but not at once");
    assert!(cancels(&mut hub, &known, 1_200));
    // It is back before the next time, and gone again.
    assert!(hub.attach(slot, OWNER));
    assert!(!cancels(&mut hub, &known, 1_400));
    hub.detach(slot);
    assert!(cancels(&mut hub, &known, 1_401));
    known.order = None;
    assert!(!cancels(&mut hub, &known, 2_000), "none is open");
}
