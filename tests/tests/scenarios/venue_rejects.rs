//! What the venue refuses has its reason, at the strategy and in the gateway's counters.

use taut_gateway::{FusedClient, OrderUpdate, Regions, Strategy, Trading, UpdateKind};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, Event, EventKind};
use taut_oms::VenueReject;
use taut_tests::lockstep::{Conditions, Lockstep};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{ClientOrderId, Lots, Nanos, OrderFlags, OrderTerms, Price, Side};

/// Sends a post-only order that rests, moves it to where it would trade, and sends another one
/// that would trade at once.
#[derive(Default)]
struct Crossing {
    top: BestPrices,
    resting: Option<ClientOrderId>,
    told: Vec<UpdateKind>,
}

impl Crossing {
    /// So many ticks below the best bid, or above the best ask.
    fn terms(&self, ticks_behind: i64) -> Option<OrderTerms> {
        let (bid, ask) = (self.top.bid?.0, self.top.ask?.0);
        let tick = venue_config().instruments[0].tick().0;
        let price = if ticks_behind > 0 { bid.0 - ticks_behind * tick } else { ask.0 };
        let instrument = venue_config().instruments[0].id();
        let limit = OrderTerms::limit(instrument, Side::Buy, Price(price), Lots(1));
        Some(OrderTerms { flags: OrderFlags::POST_ONLY, ..limit })
    }
}

impl Strategy for Crossing {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        let EventKind::Top(top) = event.kind else { return };
        self.top = top;
        if self.resting.is_none()
            && let Some(terms) = self.terms(3)
        {
            self.resting = trading.create(&terms);
        }
    }

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        self.told.push(update.kind);
        let Some(terms) = self.terms(0) else { return };
        match update.kind {
            UpdateKind::Accepted => assert!(trading.modify(update.id, terms.price, terms.lots)),
            UpdateKind::ModifyRejected(_) => assert!(trading.create(&terms).is_some()),
            _ => {}
        }
    }
}

#[test]
fn a_post_only_order_that_would_trade_is_refused_with_this_reason_and_counted() {
    let segment = Segment::create("venue-rejects", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let client = FusedClient::new(Crossing::default());
    let flow = synthetic_flow(5, 20_000);
    let mut pair = Lockstep::open(&venue_config(), flow, Conditions::default(), &regions, client);
    let told = |pair: &Lockstep<'_, FusedClient<Crossing>>| {
        let is_refused = |kind: &&UpdateKind| kind.reject().is_some();
        let told = &pair.gateway.client().strategy().told;
        told.iter().filter(is_refused).copied().collect::<Vec<_>>()
    };
    pair.step_until("both refusals", |pair| told(pair).len() > 1);
    let reason = VenueReject::WouldTrade;
    assert_eq!(
        told(&pair)[..2],
        [UpdateKind::ModifyRejected(reason), UpdateKind::Rejected(reason)]
    );
    let counters = pair.gateway.counters();
    assert_eq!(
        counters.rejected_would_trade,
        counters.order_rejects + counters.modify_rejects,
        "{counters:?}"
    );
}
