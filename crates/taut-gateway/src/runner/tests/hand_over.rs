//! A strategy that is handed the orders of another one.

use taut_types::{StrategyId, UserId};

use super::*;

const FIRST: Owner = Owner { user: UserId(1), strategy: StrategyId(1) };
const SECOND: Owner = Owner { user: UserId(2), strategy: StrategyId(2) };

/// Notes of which orders it was told, and what they became.
#[derive(Debug, Default)]
struct Heir {
    orders: Vec<ClientOrderId>,
    ends: Vec<ClientOrderId>,
}

impl Strategy for Heir {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        if update.state.is_done() {
            assert!(trading.order(update.id).is_none(), "it is over");
            self.ends.push(update.id);
        }
    }

    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        let GatewayEvent::OpenOrder(order) = event else { return };
        assert_eq!(trading.order(order.id), Some(*order));
        self.orders.push(order.id);
        // The one with an odd number it cancels, of another one it changes the price.
        let is_sent = match order.id.number() % 2 {
            1 => trading.cancel(order.id),
            _ => trading.modify(order.id, Price(4), Lots(1)),
        };
        assert!(is_sent);
        let asked = trading.order(order.id).expect("it is open");
        assert_eq!(asked.is_being_cancelled(), order.id.number() % 2 == 1);
    }
}

/// An order that rests.
fn open(known: &mut Known, id: ClientOrderId) {
    let terms = OrderTerms::limit(InstrumentId(0), Side::Buy, Price(2), Lots(1));
    known.orders.push(crate::message::OpenOrder {
        id,
        version: 1,
        terms,
        price_asked: terms.price,
        lots_asked: terms.lots,
        state: OrderState::Working,
        lots_open: terms.lots,
        tag: 0,
    });
}

#[test]
fn an_heir_is_told_of_each_order_when_it_attaches_or_later_and_asks_about_it_as_its_own() {
    let segment = Segment::create("heir", &Regions::LAYOUT).expect("a segment");
    let own = Segment::create("heir", &StrategyRegions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let own = StrategyRegions::of(&own).expect("regions");
    let (clock, mut known) = (Clock::vdso(), Known::new(1));
    let mut hub = Hub::new(&regions).expect("a hub");
    let slot = hub.add_slot(&own, None).expect("a slot");
    let mut runner = StrategyRunner::new(&regions, &own, None, Heir::default()).expect("a runner");

    let before: Vec<_> = (1..=3).map(|number| FIRST.order(number)).collect();
    // More than are told in one go.
    let later: Vec<_> = (4..=100).map(|number| FIRST.order(number)).collect();
    before.iter().chain(&later).for_each(|id| open(&mut known, *id));
    known.handed_over.extend(before.iter().map(|id| (*id, SECOND)));
    hub.inherited(SECOND, &before);
    assert!(hub.attach(slot, SECOND));
    let mut asked = Vec::new();
    let mut settle = |hub: &mut Hub<'_>, runner: &mut StrategyRunner<'_, Heir>, known: &Known| {
        loop {
            let request = hub.next_request();
            let mut worked = request.is_some();
            asked.extend(request);
            worked |= hub.idle(known, &clock);
            worked |= runner.poll(&clock);
            if !worked {
                return;
            }
        }
    };
    settle(&mut hub, &mut runner, &known);
    assert_eq!(runner.strategy().orders, before, "each once");
    known.handed_over.extend(later.iter().map(|id| (*id, SECOND)));
    hub.inherited(SECOND, &later);
    // One of them is over before it is told.
    let over = later[10];
    known.orders.retain(|order| order.id != over);
    settle(&mut hub, &mut runner, &known);
    let told: Vec<_> = before.into_iter().chain(later).filter(|id| *id != over).collect();
    assert_eq!(runner.strategy().orders, told);

    // What becomes of them it hears, and the one who sent them does not.
    let update = OrderUpdate { state: OrderState::Cancelled, ..accepted(told[0]) };
    hub.order_update(&clock, &known, clock.now(), &update);
    settle(&mut hub, &mut runner, &known);
    assert_eq!(runner.strategy().ends, [told[0]]);
    assert!(runner.replicas.order(SECOND, told[0]).is_none());
    assert!(asked.iter().all(|request| request.owner == SECOND));
    assert_eq!(asked.iter().map(|request| request.id).collect::<Vec<_>>(), told);
}
