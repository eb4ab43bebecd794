//! What limits do at the session: accounts, own orders, cancels that wait, other rules.

use taut_fix::ShortText;
use taut_fix_engine::Credentials;
use taut_oms::{
    Amount, Balance, Balances, InstrumentStatus, MessageRates, Rate, RiskLimits, RiskReject,
    RiskSizes, SelfMatch, Settlement,
};
use taut_types::FeeRates;

use super::*;
use crate::config::{RiskConfig, RiskRules};

const SIZES: RiskSizes = RiskSizes { instruments: 1, accounts: 4, users: 256, strategies: 256 };
const MM1: AccountId = AccountId(3);

fn rules(change: impl FnOnce(&mut RiskLimits)) -> RiskRules {
    let mut limits = GatewayConfig::default_risk().limits(SIZES);
    change(&mut limits);
    RiskRules { limits, groups: vec![0] }
}

/// A session that is up, with these limits.
fn up(segment: &Segment, change: impl FnOnce(&mut RiskLimits)) -> World<'_> {
    let rules = rules(change);
    let mut world = World::with(segment, |config| {
        let name = ShortText::new(b"MM1").unwrap();
        config.risk = RiskConfig::Each { rules, accounts: Accounts::new(&[(MM1, name)]) };
    });
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    world
}

fn segment() -> Segment {
    Segment::create("limits", &Regions::LAYOUT).unwrap()
}

impl World<'_> {
    /// Sends a limit order at 10 and has it acknowledged.
    fn work(&mut self, number: u64, side: Side) {
        self.send(number, side, AccountId(0));
        let text = RequestId::create(ClientOrderId(number)).to_text();
        let text = String::from_utf8(text.to_vec()).unwrap();
        self.step(&format!("er 0 0 X{number} 0 0 11={text}|38=10|151=10"));
    }

    fn send(&mut self, number: u64, side: Side, account: AccountId) {
        let price = Price(10_000_000_000);
        let terms = OrderTerms::limit(InstrumentId(0), side, price, Lots(10));
        let terms = OrderTerms { account, ..terms };
        self.request(ClientOrderId(number), RequestKind::Create(terms));
        self.pass(Nanos::from_millis(1));
    }

    fn refusal(&self, number: u64) -> Option<Refusal> {
        self.ends.updates.iter().rev().find_map(|update| match update.kind {
            UpdateKind::Refused(refusal) if update.id == ClientOrderId(number) => Some(refusal),
            _ => None,
        })
    }

    fn requests(&self) -> Vec<String> {
        self.ends.venue.requests()
    }
}

#[test]
fn an_order_names_its_account_and_a_report_that_names_another_is_told() {
    let segment = segment();
    let mut world = up(&segment, |_| {});
    world.send(1, Side::Buy, MM1);
    assert!(world.ends.venue.last().contains("|1=MM1|"), "{}", world.ends.venue.last());
    world.step("er 0 0 X1 0 0 1=MM1");
    assert!(!world.told().contains(&"Contradiction".to_owned()), "{:?}", world.told());
    world.step("er F 1 X2 4 4 1=OTHER");
    assert!(world.told().contains(&"Contradiction".to_owned()), "{:?}", world.told());
    // The trade counts for whose order it is.
    assert_eq!(world.ends.orders.risk().position(InstrumentId(0), MM1), Lots(4));
    world.send(2, Side::Buy, AccountId(0));
    assert!(!world.ends.venue.last().contains("|1="), "{}", world.ends.venue.last());
    world.send(4, Side::Buy, AccountId(9));
    assert_eq!(world.refusal(4), Some(Refusal::Risk(RiskReject::Unknown)));
}

#[test]
fn own_orders_that_could_meet_are_kept_apart_as_the_limits_say() {
    let segment = segment();
    let mut newest = up(&segment, |limits| limits.self_match = SelfMatch::CancelNewest);
    newest.work(1, Side::Buy);
    newest.send(2, Side::Sell, AccountId(0));
    assert_eq!(newest.refusal(2), Some(Refusal::Risk(RiskReject::SelfMatch)));
    assert_eq!(newest.requests(), ["D 1"]);

    let mut oldest = up(&segment, |limits| limits.self_match = SelfMatch::CancelOldest);
    oldest.work(1, Side::Buy);
    oldest.send(2, Side::Sell, AccountId(0));
    assert_eq!(oldest.refusal(2), None);
    assert_eq!(oldest.requests(), ["D 1", "F 1", "D 2"]);

    let mut both = up(&segment, |limits| limits.self_match = SelfMatch::CancelBoth);
    both.work(1, Side::Buy);
    both.send(2, Side::Sell, AccountId(0));
    assert_eq!(both.refusal(2), Some(Refusal::Risk(RiskReject::SelfMatchBoth)));
    assert_eq!(both.requests(), ["D 1", "F 1"]);
}

#[test]
fn an_order_does_not_leave_before_the_cancel_of_the_one_that_it_could_meet() {
    let segment = segment();
    let none = Rate { per_second: 0, burst: 0 };
    let mut world = up(&segment, |limits| {
        limits.self_match = SelfMatch::CancelOldest;
        limits.venue = MessageRates { cancels: none, ..MessageRates::UNLIMITED };
    });
    world.work(1, Side::Buy);
    world.send(2, Side::Sell, AccountId(0));
    assert_eq!(world.refusal(2), Some(Refusal::Risk(RiskReject::SelfMatch)));
    assert_eq!(world.requests(), ["D 1"]);
    let open = |side| world.ends.orders.risk().open_lots(InstrumentId(0), AccountId(0), side);
    assert_eq!(Side::BOTH.map(open), [Lots(10), Lots(0)]);
}

#[test]
fn cancels_beyond_their_budget_wait_and_leave_one_by_one() {
    let segment = segment();
    let cancels = Rate { per_second: 2, burst: 1 };
    let mut world = up(&segment, |limits| limits.venue.cancels = cancels);
    for number in 1..=3 {
        world.work(number, Side::Buy);
    }
    let cancelled = |world: &World<'_>| {
        world.requests().iter().filter(|request| request.starts_with('F')).count()
    };
    world.step("all");
    // Asked for again, it is the same cancel.
    world.step("all");
    assert_eq!((cancelled(&world), world.refusal(2)), (1, None));
    world.pass(Nanos::from_millis(600));
    assert_eq!(cancelled(&world), 2);
    // One that ended in the meantime needs no cancel.
    let asked = world.requests();
    let last = (1..=3).find(|number| !asked.contains(&format!("F {number}"))).unwrap();
    let text = RequestId::create(ClientOrderId(last)).to_text();
    let text = String::from_utf8(text.to_vec()).unwrap();
    world.step(&format!("er F 2 X9 10 10 11={text}|38=10|151=0"));
    world.pass(Nanos::from_millis(600));
    assert_eq!(cancelled(&world), 2);
}

#[test]
fn other_rules_hold_from_the_next_order_on_or_not_at_all() {
    let segment = segment();
    let mut world = up(&segment, |_| {});
    world.work(1, Side::Buy);
    let orders = &mut world.ends.orders;
    let small = rules(|limits| {
        let own = *limits.orders_of(InstrumentId(0), AccountId(0)).unwrap();
        limits.set_orders_default(taut_oms::OrderLimits { lots_max: Lots(9), ..own });
    });
    assert!(orders.set_rules(small).is_ok());
    world.send(2, Side::Buy, AccountId(0));
    assert_eq!(world.refusal(2), Some(Refusal::Risk(RiskReject::Quantity)));
    let limits = RiskLimits::closed(RiskSizes { accounts: 1, ..SIZES });
    let other = RiskRules { limits, groups: Vec::new() };
    assert!(world.ends.orders.set_rules(other).is_err());
    assert!(world.ends.orders.set_rules(rules(|_| {})).is_ok());
    world.send(3, Side::Buy, AccountId(0));
    assert_eq!((world.refusal(3), world.requests().len()), (None, 2));
    // An instrument that its feed says is halted is not traded, and is again when it says so.
    world.ends.orders.set_status(InstrumentId(0), InstrumentStatus::Halted);
    world.send(4, Side::Buy, AccountId(0));
    assert_eq!(world.refusal(4), Some(Refusal::Risk(RiskReject::Halted)));
    world.ends.orders.set_status(InstrumentId(0), InstrumentStatus::Trading);
    world.send(5, Side::Buy, AccountId(0));
    assert_eq!(world.refusal(5), None);
}

#[test]
fn a_logon_carries_its_credentials() {
    let segment = segment();
    let (username, password) = ("me".to_owned(), "hunter2".to_owned());
    let mut world = World::with(&segment, |config| {
        config.session.credentials = Some(Credentials::Password { username, password });
    });
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    let logon = world.ends.venue.logon();
    assert!(logon.contains("|553=me|554=hunter2|"), "{logon}");
    assert!(!format!("{:?}", world.ends.orders).contains("hunter2"));
}

#[test]
fn a_trade_moves_the_balance_of_its_account_and_a_warning_comes_before_a_rate_is_spent() {
    let segment = segment();
    let mut world = up(&segment, |limits| {
        let orders = Rate { per_second: 1, burst: 5 };
        limits.venue = MessageRates { orders, ..MessageRates::UNLIMITED };
    });
    let usd = Symbol::new(b"USD").unwrap();
    let balance = |amount| Balance { account: MM1, currency: usd, amount: Amount::whole(amount) };
    let settlement = Settlement { quote: usd, base: None };
    let orders = &mut world.ends.orders;
    orders.follow_balances(Balances::new(&[balance(100)], &[Some(settlement)]));
    world.send(1, Side::Buy, MM1);
    world.step("er F 1 X1 4 4 31=10");
    assert_eq!(world.ends.orders.poll_balance(), None, "nothing is realised");
    world.send(2, Side::Sell, MM1);
    let text = RequestId::create(ClientOrderId(2)).to_text();
    let text = String::from_utf8(text.to_vec()).unwrap();
    world.step(&format!("er F 1 X2 4 4 11={text}|54=2|31=12"));
    assert_eq!(world.ends.orders.poll_balance(), Some(balance(108)));
    assert_eq!(world.ends.orders.balances().get(MM1, usd), Some(Amount::whole(108)));

    let warning = |world: &mut World<'_>| {
        let now = world.ends.clock.now();
        world.ends.orders.poll_rate_warning(now).map(|it| (it.is_high, it.left))
    };
    world.send(3, Side::Buy, MM1);
    assert_eq!(warning(&mut world), None);
    world.send(4, Side::Buy, MM1);
    assert_eq!((warning(&mut world), warning(&mut world)), (Some((true, 1)), None));
}

/// An account that trades for 10 a lot, and what a report of 4 lots says of their cost.
fn charged(says: &str) -> (Amount, Amount, u64) {
    let segment = segment();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::with_journal(
        &segment,
        |config| {
            let name = ShortText::new(b"MM1").unwrap();
            let rules = rules(|_| {});
            config.risk = RiskConfig::Each { rules, accounts: Accounts::new(&[(MM1, name)]) };
        },
        folder.path(),
    );
    world.pass(Nanos::from_millis(50));
    let usd = Symbol::new(b"USD").unwrap();
    let start = Balance { account: MM1, currency: usd, amount: Amount::whole(100) };
    let orders = &mut world.ends.orders;
    let settlement = Settlement { quote: usd, base: None };
    orders.follow_balances(Balances::new(&[start], &[Some(settlement)]));
    // A fifth of a percent of who rested comes back, half a percent of who arrived is paid.
    let rates = FeeRates { maker: -2_000_000, taker: 5_000_000 };
    orders.reports_mut().set_fees(&[rates]);
    world.send(1, Side::Buy, MM1);
    world.step(&format!("er F 1 X1 4 4 31=10{says}"));
    // Told again, it counts once.
    world.step(&format!("er F 1 X1 4 4 97=Y|31=10{says}"));
    restart::assert_is_recovered(&world, folder.path(), says);
    let orders = &world.ends.orders;
    let fees = orders.positions().next().unwrap().fees;
    let paid = Amount::whole(100) - orders.balances().get(MM1, usd).unwrap();
    assert_eq!(paid, fees, "{says}");
    // The market has been at 10.01 since.
    let open = Amount(Amount::SCALE / 25);
    assert_eq!(orders.risk().profit(MM1), open - fees, "{says}");
    (fees, paid, orders.reports().uncounted_charges())
}

#[test]
fn what_a_trade_costs_moves_position_balance_and_loss_exactly() {
    let cents = |cents: i128| Amount(cents * Amount::SCALE / 100);
    for (says, fee) in [
        // What the venue says: in all, for each unit, a part of the worth, and other fees.
        ("|12=0.07", 7),
        ("|12=0.07|13=3|479=USD", 7),
        ("|12=0.02|13=1", 8),
        ("|12=0.001|13=2", 4),
        ("|12=-0.01|13=3|851=1", -1),
        ("|136=2|137=0.03|138=USD|139=4|137=0.02|138=USD|139=7", 5),
        ("|12=0.01|13=3|136=1|137=0.03|138=USD|139=4", 4),
        ("|12=0", 0),
        // What the rates say, where it says nothing.
        ("", 20),
        ("|851=2", 20),
        ("|851=1", -8),
    ] {
        let seen = charged(says);
        assert_eq!((seen.0, seen.2), (cents(fee), 0), "{says}");
    }
    // In another currency it is in no position, and counted.
    for says in ["|12=0.07|13=3|479=BNB", "|136=2|137=1|138=USD|137=1|138=BNB", "|12=1|13=9"] {
        let seen = charged(says);
        assert_eq!((seen.0, seen.2), (Amount::ZERO, 1), "{says}");
    }
}

#[test]
fn a_trade_that_is_taken_back_gives_back_what_the_rates_charged() {
    let segment = segment();
    let mut world = up(&segment, |_| {});
    let rates = FeeRates { maker: 0, taker: 5_000_000 };
    world.ends.orders.reports_mut().set_fees(&[rates]);
    world.send(1, Side::Buy, AccountId(0));
    world.step("er F 1 X1 4 4 31=10");
    assert_eq!(world.ends.orders.positions().next().unwrap().fees, Amount(Amount::SCALE / 5));
    world.step("er H 0 X2 4 0 31=10|19=X1");
    let held = world.ends.orders.positions().next().unwrap();
    assert_eq!((held.lots, held.fees), (Lots(0), Amount::ZERO));
    assert_eq!(world.ends.orders.risk().profit(AccountId(0)), Amount::ZERO);
}
