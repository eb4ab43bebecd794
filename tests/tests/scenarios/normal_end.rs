//! A gateway that is about to end cancels what is open and says so; nobody is told of a kill.

use taut_gateway::{
    FusedClient, GatewayEvent, GatewayStatus, OrderUpdate, Regions, SessionPhase, Strategy,
    Trading, UpdateKind,
};
use taut_ipc::Segment;
use taut_market_data::{Event, EventKind};
use taut_oms::{KillCause, KillScope, ScopeKind};
use taut_tests::lockstep::{Conditions, Lockstep};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{Lots, Nanos, OrderTerms, Price, Side};

/// Sends one order that rests, and notes what it is told.
#[derive(Default)]
struct Resting {
    has_sent: bool,
    told: Vec<UpdateKind>,
    status: GatewayStatus,
}

impl Strategy for Resting {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(top) = event.kind else { return };
        let Some((bid, _)) = top.bid.filter(|_| !self.has_sent) else { return };
        let tick = venue_config().instruments[0].tick().0;
        let price = Price(bid.0 - 20 * tick);
        let terms = OrderTerms::limit(event.instrument, Side::Buy, price, Lots(1));
        self.has_sent = trading.create(&terms).is_some();
    }

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
        self.told.push(update.kind);
    }

    fn on_gateway(&mut self, _: Nanos, event: &GatewayEvent, _: &mut impl Trading) {
        if let GatewayEvent::Status(status) = event {
            self.status = *status;
        }
    }
}

#[test]
fn at_a_normal_end_orders_are_cancelled_and_strategies_are_told_of_no_kill() {
    let segment = Segment::create("normal-end", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let client = FusedClient::new(Resting::default());
    let flow = synthetic_flow(7, 20_000);
    let mut pair = Lockstep::open(&venue_config(), flow, Conditions::default(), &regions, client);
    let told = |pair: &Lockstep<'_, FusedClient<Resting>>, kind| {
        pair.gateway.client().strategy().told.contains(&kind)
    };
    let status = |pair: &Lockstep<'_, FusedClient<Resting>>| {
        let GatewayStatus { session, killed, .. } = pair.gateway.client().strategy().status;
        (session, killed.contain(ScopeKind::All))
    };
    pair.step_until("an order that rests", |pair| told(pair, UpdateKind::Accepted));
    pair.gateway.begin_end().expect("a cancel");
    pair.step_until("its cancel", |pair| told(pair, UpdateKind::Cancelled));
    pair.step_until("the news", |pair| status(pair).0 == SessionPhase::Ending);
    assert_eq!(status(&pair), (SessionPhase::Ending, false));
    // Asked for twice, it is one end.
    pair.gateway.begin_end().expect("nothing to cancel");

    // Whoever kills everything meanwhile means the next gateway, too.
    pair.gateway.kill(KillScope::All, KillCause::Command).expect("nothing to cancel");
    pair.step_until("the kill", |pair| status(pair) == (SessionPhase::Up, true));
    pair.gateway.complete_end();
    assert!(pair.gateway.kill_switch().has_latched());
    pair.gateway.revive(KillScope::All);
    pair.gateway.begin_end().expect("nothing to cancel");
    pair.gateway.complete_end();
    assert!(!pair.gateway.kill_switch().has_latched());
}
