//! Instruments that come while the gateway trades.

use taut_market_data::FollowError;
use taut_oms::RiskSizes;
use taut_types::FeeRates;

use super::*;
use crate::accounts::Accounts;
use crate::config::{RiskConfig, RiskRules};
use crate::new_instrument::{AddError, NewInstrument};

/// With room for so many instruments.
fn config_with_room(instruments: usize) -> GatewayConfig {
    let sizes = RiskSizes { instruments, accounts: 1, users: 256, strategies: 256 };
    let rules =
        RiskRules { limits: GatewayConfig::default_risk().limits(sizes), groups: Vec::new() };
    GatewayConfig { risk: RiskConfig::Each { rules, accounts: Accounts::default() }, ..config() }
}

fn new_instrument(id: u32, symbol: &[u8]) -> NewInstrument {
    let symbol = Symbol::new(symbol).unwrap();
    let (id, tick) = (InstrumentId(id), Price(10_000_000));
    NewInstrument {
        instrument: Instrument::new(id, symbol, tick, Qty::whole(1)).unwrap(),
        venue_number: id,
        name: String::new(),
        group: 0,
        fees: FeeRates::FREE,
        settlement: None,
    }
}

#[test]
fn a_strategy_that_is_attached_is_told_a_new_instrument_and_trades_it() {
    with_world_of(&config_with_room(2), |world| {
        assert_eq!(
            (world.gateway.instrument_capacity(), world.gateway.instruments().len()),
            (2, 1)
        );
        // It sends when it is told something: an order for what it does not know is refused.
        let strategy = world.runner.strategy_mut();
        (strategy.sent, strategy.instrument) = (None, InstrumentId(1));
        strategy.waits_for_word = true;
        let sent = world.venue().count("|35=D|");
        world.pass(Nanos::from_millis(20));
        assert_eq!(world.venue().count("|35=D|"), sent);
        let new = new_instrument(1, b"MSFT");
        assert_eq!(
            world.gateway.add_instrument(&new_instrument(2, b"MSFT")),
            Err(AddError::NotNext(InstrumentId(1)))
        );
        assert_eq!(world.gateway.add_instrument(&new), Ok(()));
        assert_eq!(world.gateway.instruments()[1], new.instrument);
        world.pass(Nanos::from_millis(20));
        assert_eq!(world.venue().count("|35=D|"), sent + 1);
        assert_eq!(world.venue().count("|55=MSFT|"), 1);
        // The order that rested before is as it was.
        assert_eq!(world.gateway.order_table().open_orders().count(), 2);
        assert_eq!(
            world.gateway.add_instrument(&new_instrument(2, b"IBM")),
            Err(AddError::Full(2))
        );
    });
}

#[test]
fn a_gateway_with_the_same_limits_for_everything_has_room_for_its_instruments_alone() {
    with_world(|world| {
        assert_eq!(world.gateway.add_instrument(&new_instrument(1, b"X")), Err(AddError::Full(1)));
    });
}

#[test]
fn a_rules_change_behind_an_addition_is_for_all_instruments() {
    with_world_of(&config_with_room(2), |world| {
        world.gateway.add_instrument(&new_instrument(1, b"MSFT")).unwrap();
        let sizes = world.gateway.risk().limits().sizes();
        let limits = GatewayConfig::default_risk().limits(sizes);
        // The new one is in a group that nobody may trade.
        let mut closed = limits.clone();
        closed.permit(Default::default(), Default::default(), 1, false).unwrap();
        let rules = RiskRules { limits: closed, groups: vec![0, 1] };
        assert_eq!(world.gateway.set_rules(rules), Ok(()));
        let strategy = world.runner.strategy_mut();
        (strategy.sent, strategy.instrument) = (None, InstrumentId(1));
        let sent = world.venue().count("|35=D|");
        world.act("cut", "");
        world.pass(Nanos::from_secs(3));
        assert!(world.runner.strategy().sent.is_some(), "it has asked for an order");
        assert_eq!(world.venue().count("|55=MSFT|"), 0);
        assert!(world.venue().count("|35=D|") >= sent);
    });
}

#[test]
fn why_an_instrument_is_not_taken_is_said_in_words() {
    for (error, words) in [
        (AddError::Full(7), "there is room for 7 instruments"),
        (AddError::NotNext(InstrumentId(4)), "the next instrument is number 4"),
        (AddError::Feed(FollowError::Full), "no room is left"),
        (AddError::Feed(FollowError::Fixed), "takes no instrument while it runs"),
        (AddError::OrderEntry, "takes no instrument while it runs"),
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
}
