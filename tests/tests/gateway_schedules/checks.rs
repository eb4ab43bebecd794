//! What must hold: after every event, and when everything has come to rest.

use taut_book::{Level, LevelBook};
use taut_gateway::Owner;
use taut_oms::{KillScope, OrderState, Trouble};
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId, Lots, SequenceNumber, Side};

use crate::gateway_ledger::Told;
use crate::queues::Queued;
use crate::world::{World, first_number};

const ACCOUNT: AccountId = AccountId(0);

impl World<'_> {
    /// After every event of the gateway: its own sums agree, nothing left that must not, and each
    /// order has an owner.
    pub fn check(&mut self) {
        if !std::mem::take(&mut self.gateway.client_mut().has_happened) {
            return;
        }
        self.check_exposure();
        self.check_sent();
        for order in self.gateway.order_table().open_orders() {
            let owner = Owner::of(order.id);
            assert!(self.places.iter().any(|place| place.owner == owner), "whose is {order:?}");
            let told = self.gateway.client().orders.get(&order.id);
            let told = told.unwrap_or_else(|| panic!("nobody asked for {order:?}"));
            assert_eq!(told.filled, order.traded.lots, "{order:?}");
        }
    }

    /// Risk counts what open orders may still trade and what has traded; positions too.
    fn check_exposure(&self) {
        let gateway = &self.gateway;
        for instrument in self.instruments.iter().map(Instrument::id) {
            let mut working = [0; 2];
            let table = gateway.order_table();
            for order in table.open_orders().filter(|it| it.terms.instrument == instrument) {
                working[order.terms.side.index()] += order.lots_open_max().0;
            }
            let counted =
                Side::BOTH.map(|side| gateway.risk().open_lots(instrument, ACCOUNT, side).0);
            assert_eq!(counted, working, "what may still trade of {instrument:?}");
            let held = gateway.positions().filter(|it| it.key.instrument == instrument);
            let held: i64 = held.map(|it| it.lots.0).sum();
            assert_eq!(gateway.position(instrument), Lots(held), "{instrument:?}");
        }
    }

    /// Nothing arrives at the venue that was not sent once, and nothing leaves after a kill.
    fn check_sent(&mut self) {
        let sent = self.gateway.counters();
        let arrived = self.scribe.ledger().arrived;
        assert!(arrived <= self.sent_before + sent.orders, "an order was sent twice");
        let now = [sent.orders, sent.modify_requests];
        let is_killed = self.is_killed();
        let before = std::mem::replace(&mut self.sent_at_kill, is_killed.then_some(now));
        if let Some(before) = before.filter(|_| is_killed) {
            assert_eq!(now, before, "sent after the kill");
        }
    }

    /// Whether nothing is under way any more.
    pub fn is_at_rest(&self) -> bool {
        let published = SequenceNumber(self.venue.counters().published);
        self.gateway.is_ready()
            && self.gateway.counters().unanswered == 0
            && self.gateway.has_caught_up_with(published)
            && self.network.are_streams_quiet()
            && !self.is_killed_and_open()
            && self.instruments.iter().all(|it| self.has_same_levels(it))
            && self.places.iter().all(|place| {
                place.shown().is_some_and(|shown| {
                    let are_known = shown.queues.iter().all(Option::is_some);
                    shown.books.iter().all(Option::is_some)
                        && (are_known || !self.parts.market_by_order)
                })
            })
    }

    /// What keeps it from being at rest.
    pub fn unrest(&self) -> String {
        let published = SequenceNumber(self.venue.counters().published);
        let shown = self.places.iter().map(|place| {
            place.shown().map(|shown| shown.books.iter().map(Option::is_some).collect::<Vec<_>>())
        });
        format!(
            "ready {}, caught up {}, quiet {}, killed {}, books {:?}, strategies {:?}, open {:?}, \
             {:?}, {:?}",
            self.gateway.is_ready(),
            self.gateway.has_caught_up_with(published),
            self.network.are_streams_quiet(),
            self.is_killed(),
            self.instruments.iter().map(|it| self.has_same_levels(it)).collect::<Vec<_>>(),
            shown.collect::<Vec<_>>(),
            self.gateway.order_table().open_orders().collect::<Vec<_>>(),
            self.gateway.counters(),
            self.venue.counters(),
        )
    }

    /// When all is at rest both sides have the same orders, positions and books.
    pub fn check_at_rest(&self) {
        self.check_orders();
        self.check_positions();
        self.check_strategies();
        self.check_recovery();
    }

    /// Nothing is missing in the journal; and as long as the venue remembers all, what it holds is
    /// what a gateway holds that remembers all, too.
    fn check_recovery(&self) {
        let counters = self.gateway.counters();
        assert_eq!(counters.unjournalled, 0);
        let remembers = self.parts.has_journal || self.process == 0;
        let told = &self.gateway.client().orders;
        let is_missed = |told: &Told| told.troubles.contains(&Trouble::Vanished);
        if remembers && self.venue_life == 1 && !told.values().any(is_missed) {
            assert_eq!(counters.position_differences, 0, "{counters:?}");
        }
    }

    /// Whether everything is killed.
    fn is_killed(&self) -> bool {
        self.gateway.kill_switch().latched().any(|it| it.scope == KillScope::All)
    }

    /// Whether an order is open that the kill switch means: its cancel is still to come.
    fn is_killed_and_open(&self) -> bool {
        let kill_switch = self.gateway.kill_switch();
        let mut open = self.gateway.order_table().open_orders();
        open.any(|order| kill_switch.killed(order.id, &order.terms).is_some())
    }

    /// Whether gateway and venue have the same book of an instrument.
    fn has_same_levels(&self, instrument: &Instrument) -> bool {
        let venue = self.venue.book_of(instrument.id()).expect("a book");
        let gateway = self.gateway.book(instrument.id()).expect("a book");
        Side::BOTH.into_iter().all(|side| {
            let theirs = venue.levels(side).map(|level| {
                let price = instrument.price(level.price).expect("a price in range");
                Level { price, lots: level.lots, order_count: level.order_count }
            });
            gateway.iter(side).eq(theirs)
        })
    }

    /// The venue's orders of an instrument, best price first.
    fn queues_of(&self, instrument: &Instrument) -> Vec<Queued> {
        let venue = self.venue.book_of(instrument.id()).expect("a book");
        let orders = Side::BOTH.into_iter().flat_map(|side| venue.orders(side));
        let price = |order: &taut_book::Order| instrument.price(order.price).expect("in range");
        orders.map(|order| (order.side, price(&order), order.id, order.lots)).collect()
    }

    /// With a journal a process has the orders of those before it.
    fn is_of_this_process(&self, id: ClientOrderId) -> bool {
        if self.parts.has_journal {
            return true;
        }
        let first = first_number(self.process);
        id.number() >= first && id.number() < first_number(self.process + 1)
    }

    fn check_orders(&self) {
        let ledger = self.scribe.ledger();
        let table = self.gateway.order_table();
        for order in table.open_orders() {
            let at_venue = ledger.orders.get(&order.id);
            let at_venue = at_venue.unwrap_or_else(|| panic!("the venue has no {order:?}"));
            assert!(at_venue.is_open, "{order:?} is over at the venue: {at_venue:?}");
            let ours = (order.terms.lots, order.traded.lots, order.terms.side);
            assert_eq!(ours, (at_venue.lots, at_venue.traded, at_venue.side), "{order:?}");
            let has_price = order.terms.order_type == taut_types::OrderType::Limit;
            if let Some(price) = at_venue.price.filter(|_| has_price) {
                assert_eq!(order.terms.price, price, "{order:?}");
            }
            assert_ne!(order.state, OrderState::Unknown, "{order:?}");
        }
        for (id, at_venue) in ledger.orders.iter().filter(|(_, order)| order.is_open) {
            assert!(self.is_of_this_process(*id), "nobody's order is open: {id:?} {at_venue:?}");
            let ours = table.get(*id).filter(|order| !order.state.is_done());
            assert!(ours.is_some(), "{id:?} is open at the venue alone: {at_venue:?}");
        }
        for (id, told) in &self.gateway.client().orders {
            let is_open = table.get(*id).is_some_and(|order| !order.state.is_done());
            assert_eq!(is_open, !told.state.is_done(), "{id:?} was told as {told:?}");
            let count = u32::from(!is_open);
            assert!(told.ends == count || !told.troubles.is_empty(), "{id:?}: {told:?}");
        }
    }

    /// Exactly what the venue says has traded is held, order by order; but for orders that the
    /// venue has forgotten, of which the owner was told so.
    fn check_positions(&self) {
        let ledger = self.scribe.ledger();
        let told = &self.gateway.client().orders;
        for (id, told) in told {
            let at_venue = ledger.orders.get(id);
            let traded = at_venue.map_or(Lots::ZERO, |order| order.traded);
            if told.filled == traded {
                continue;
            }
            let is_told = told.troubles.contains(&Trouble::Vanished);
            // Nothing was heard of it before the venue said that there is no such order.
            let is_unknown = told.state == OrderState::Rejected && !told.is_known;
            assert!(
                told.filled < traded && (is_told || is_unknown),
                "{id:?}: {told:?}, at the venue {at_venue:?}"
            );
        }
        for (id, order) in ledger.orders.iter().filter(|(id, _)| self.is_of_this_process(**id)) {
            assert!(told.contains_key(id), "{id:?} was never asked for: {order:?}");
        }
        for place in &self.places {
            for instrument in self.instruments.iter().map(Instrument::id) {
                let held = self.held_by(place.owner, instrument);
                let sum = told.iter().filter(|(id, told)| {
                    Owner::of(**id) == place.owner && told.terms.instrument == instrument
                });
                let sum: i64 = sum.map(|(_, it)| it.filled.0 * it.terms.side.sign()).sum();
                assert_eq!(held, Lots(sum), "{:?} in {instrument:?}", place.owner);
            }
        }
    }

    fn held_by(&self, owner: Owner, instrument: InstrumentId) -> Lots {
        let is_it = |key: &taut_oms::PositionKey| {
            (key.user, key.strategy, key.instrument) == (owner.user, owner.strategy, instrument)
        };
        let mut held = self.gateway.positions().filter(|it| is_it(&it.key));
        held.next().map_or(Lots::ZERO, |it| it.lots)
    }

    /// Strategies know what the gateway knows, and no order is open without one.
    fn check_strategies(&self) {
        for place in &self.places {
            let owner = place.owner;
            let shown = place.shown().unwrap_or_else(|| panic!("{owner:?} has shown nothing"));
            let mut orders = Vec::new();
            self.gateway.visit_orders(|order| {
                if Owner::of(order.id) == owner {
                    orders.push(*order);
                }
            });
            orders.sort_unstable_by_key(|order| order.id);
            let ids = |orders: &[taut_gateway::OpenOrder]| -> Vec<_> {
                orders.iter().map(|it| (it.id, it.state, it.lots_open, it.tag)).collect()
            };
            assert_eq!(ids(&shown.orders), ids(&orders), "open orders of {owner:?}");
            for (at, instrument) in self.instruments.iter().enumerate() {
                let id = instrument.id();
                assert_eq!(shown.positions[at], self.held_by(owner, id), "{owner:?} in {id:?}");
                let gateway = self.gateway.book(id).map(LevelBook::state_hash);
                assert_eq!(shown.books[at], gateway, "the book of {id:?} at {owner:?}");
                let queues = self.parts.market_by_order.then(|| self.queues_of(instrument));
                assert_eq!(shown.queues[at], queues, "the orders of {id:?} at {owner:?}");
            }
        }
    }
}
