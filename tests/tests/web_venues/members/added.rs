//! An instrument that both members take while they trade another one.

use taut_gateway::{Accounts, GatewayConfig, NewInstrument, RiskConfig, RiskRules, UpdateKind};
use taut_oms::RiskSizes;
use taut_types::FeeRates;

use super::*;

/// Limits with room for so many instruments.
pub fn risk_for(instruments: usize) -> RiskConfig {
    let sizes = RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 };
    let limits = GatewayConfig::default_risk().limits(sizes);
    let rules = RiskRules { limits, groups: Vec::new() };
    RiskConfig::Each { rules, accounts: Accounts::default() }
}

/// The venue lists a second instrument from its start. It is added by both: each asks the venue
/// what it is, follows its book and trades it, and the first is as it was all the while.
pub fn an_instrument_that_is_added_is_followed_and_traded<L: Language>() {
    day::<L>(|world| {
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        let is_as_it_was = |it: &World<'_, L>| it.levels(1, Side::Buy)[0] == (AROUND, Lots(5));
        world.until("the book has the order", is_as_it_was);
        let [_, instrument] = L::instruments()[..] else { panic!("a second one is listed") };
        let new = NewInstrument {
            instrument,
            venue_number: instrument.id(),
            name: instrument.symbol().to_string(),
            group: 0,
            fees: FeeRates::FREE,
            settlement: None,
        };
        let (id, disconnects) = (instrument.id(), world.disconnects());
        for gateway in &mut world.gateways {
            assert_eq!(gateway.add_instrument(&new), Ok(()));
            assert_eq!(gateway.uncompared(), [id]);
            assert!(!gateway.is_ready(), "its book is not sound yet");
        }
        let order = |side, lots| OrderTerms::limit(id, side, AROUND, Lots(lots));
        world.hands[0].borrow_mut().creates.push(order(Side::Buy, 1));
        // The venue is asleep meanwhile.
        world.asleep_until[0] = Nanos::MAX;
        world.until("an order that comes too early is refused", |it| {
            let hands = it.hands[0].borrow();
            let mut heard = hands.heard.iter().filter(|update| update.instrument == id);
            heard.any(|update| matches!(update.kind, UpdateKind::Refused(_)))
        });
        world.asleep_until[0] = Nanos::ZERO;
        world.until("both follow it, and know it", |it| {
            it.are_ready() && it.gateways.iter().all(|gateway| gateway.uncompared().is_empty())
        });
        world.hands[0].borrow_mut().creates.push(order(Side::Buy, 3));
        world.until("its book has the order", |it| {
            let book = it.gateways[1].book(id).expect("a book");
            book.level(Side::Buy, 0).is_some_and(|it| (it.price, it.lots) == (AROUND, Lots(3)))
        });
        world.hands[1].borrow_mut().creates.push(order(Side::Sell, 2));
        world.until("two lots traded", |it| {
            it.gateways.each_ref().map(|gateway| gateway.position(id).0) == [2, -2]
        });
        assert!(is_as_it_was(world) && world.positions() == [0, 0]);
        assert_eq!(world.disconnects(), disconnects);
        for gateway in &world.gateways {
            assert_eq!(gateway.counters().malformed, 0);
            assert_eq!(gateway.killed().count(), 0);
        }
    });
}
