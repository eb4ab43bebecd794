//! An inverse contract through a session that is killed: lots of ten dollars, at prices at which a
//! lot is a whole number of hundredths of a coin.

use taut_oms::Amount;
use taut_types::{ContractKind, FeeRates};

use super::*;

fn start<'m>(segment: &'m Segment, folder: &Path) -> World<'m> {
    let inverse = |config: &mut GatewayConfig| {
        let (symbol, tick) = (Symbol::new(b"AAPL").unwrap(), Price(10_000_000));
        let instrument = Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(10)).unwrap();
        config.instruments = vec![instrument.with_kind(ContractKind::Inverse)];
    };
    let mut world = World::with_journal(segment, inverse, folder);
    // A hundredth of the worth of who rested, two hundredths of who arrived.
    let rates = FeeRates { maker: 10_000_000, taker: 20_000_000 };
    world.ends.orders.reports_mut().set_fees(&[rates]);
    world.pass(Nanos::from_millis(50));
    world
}

/// Lots, bought, sold, average price, realised and fees.
type Held = (i64, i64, i64, Option<Price>, Amount, Amount);

fn held(world: &World<'_>) -> Held {
    let held = world.ends.orders.positions().next().unwrap();
    (held.lots.0, held.bought.0, held.sold.0, held.average, held.realised, held.fees)
}

/// So many ten thousandths of a coin.
fn coins(amount: i128) -> Amount {
    Amount(amount * Amount::SCALE / 10_000)
}

#[test]
fn an_inverse_position_is_counted_in_the_coin_and_comes_back_from_the_journal() {
    let segment = Segment::create("inverse", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = start(&segment, folder.path());
    // Four lots at 10, of a coin each, by who rested: a hundredth of four coins.
    world.step("order");
    world.step("er 0 0 E1 0 0 38=100|151=100");
    world.step("er F 1 E2 40 40 31=10|38=100|151=60|851=1");
    let bought = (4, 4, 0, Some(Price(10_000_000_000)), Amount::ZERO, coins(400));
    assert_eq!(held(&world), bought);
    // Six are sold at 12.5, of 0.8 coins each, by who arrived: four earn 0.2 each, two are short.
    let id = ClientOrderId(2);
    let price = Price(10_000_000_000);
    let terms = OrderTerms::limit(InstrumentId(0), Side::Sell, price, Lots(10));
    world.request(id, RequestKind::Create(terms));
    let name = String::from_utf8(RequestId::create(id).to_text().to_vec()).unwrap();
    let of_second = format!("11={name}|37=V2|54=2|38=100");
    world.step(&format!("er 0 0 S1 0 0 {of_second}|151=100"));
    world.step(&format!("er F 1 S2 60 60 {of_second}|31=12.5|151=40"));
    let turned = (-2, 4, 6, Some(Price(12_500_000_000)), coins(8_000), coins(400 + 960));
    assert_eq!(held(&world), turned);
    drop(world);
    for when in ["killed", "killed again"] {
        let world = start(&segment, folder.path());
        assert_eq!(held(&world), turned, "{when}");
        // Before there is a market, what is open is worth what it cost.
        let profit = world.ends.orders.risk().profit(AccountId(0));
        assert_eq!(profit, coins(8_000 - 1_360), "{when}");
    }
}

#[test]
fn what_a_report_says_that_an_inverse_trade_costs_is_a_part_of_its_worth_in_the_coin() {
    for (says, fee) in [
        ("|12=0.07|13=3", 700),
        // A part of four coins; for each of forty dollars.
        ("|12=0.02|13=2", 800),
        ("|12=0.001|13=1", 400),
    ] {
        let segment = Segment::create("inverse", &Regions::LAYOUT).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut world = start(&segment, folder.path());
        world.step("order");
        world.step(&format!("er F 1 E2 40 40 31=10|38=100|151=60{says}"));
        assert_eq!(held(&world).5, coins(fee), "{says}");
    }
}
