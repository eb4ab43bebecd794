//! Positions beside the venue's: asked after each logon, told, repaired or a reason to stop.

use taut_oms::{KillCause, KillScope};

use super::*;
use crate::config::PositionRule;
use crate::order_entry::comparison::{PositionDifference, PositionOutcome};

/// The venue has nine, the gateway four.
const NINE: &str = "positions ap {id} 1 728=0|55=AAPL|702=1|703=TQ|704=9|730=10.5";

fn world<'m>(segment: &'m Segment, rule: PositionRule, folder: &Path) -> World<'m> {
    World::with_journal(segment, |config| config.session.positions = rule, folder)
}

/// A session with a position of four that begins anew.
fn after_a_cut<'m>(
    segment: &'m Segment,
    rule: PositionRule,
    folder: &Path,
    habit: &str,
) -> World<'m> {
    let mut world = world(segment, rule, folder);
    world.pass(Nanos::from_millis(50));
    let steps = ["order", "er F 1 E1 4 4", "status er I 1 0 0 4", habit, "cut", "pass 3000"];
    steps.into_iter().for_each(|step| world.step(step));
    world
}

const fn difference(outcome: PositionOutcome) -> PositionDifference {
    let (account, instrument) = (AccountId(0), InstrumentId(0));
    PositionDifference { account, instrument, own: Lots(4), venue: Lots(9), outcome }
}

#[test]
fn a_position_that_differs_twice_is_counted_and_told() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let world = after_a_cut(&segment, PositionRule::Report, folder.path(), NINE);
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.made, compared.differences, compared.repaired), (1, 1, 0));
    assert_eq!(compared.last, [difference(PositionOutcome::Reported)]);
    // The first session's venue did not say what it has.
    assert_eq!(compared.unanswered, 1);
    assert_eq!(world.ends.venue.all_of("AN").count(), 3);
    assert!(world.ends.orders.is_active());
    assert_eq!(world.position(), 4);
}

#[test]
fn a_trade_between_the_answer_and_the_comparison_is_no_difference() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let habit = "positions ap {id} 1 728=0|55=AAPL|702=1|703=TQ|704=4 + er F 1 E2 2 6";
    let world = after_a_cut(&segment, PositionRule::Halt, folder.path(), habit);
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.made, compared.differences), (1, 0));
    assert_eq!(world.position(), 6);
    assert!(world.ends.orders.kill_switch().latched().next().is_none());
}

#[test]
fn a_position_is_made_the_venues_and_stays_so_over_a_restart() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = after_a_cut(&segment, PositionRule::Repair, folder.path(), NINE);
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.differences, compared.repaired), (1, 1));
    assert_eq!(compared.last, [difference(PositionOutcome::Repaired)]);
    assert_eq!(world.position(), 9);
    let house = world.ends.orders.position(Owner::HOUSE, InstrumentId(0), AccountId(0));
    assert_eq!((house.lots, house.average_price), (Lots(5), Price(10_500_000_000)));
    restart::assert_is_recovered(&world, folder.path(), "repaired");
    // They agree now.
    ["cut", "pass 3000"].into_iter().for_each(|step| world.step(step));
    assert_eq!(world.ends.orders.position_comparisons().differences, 1);
    drop(world);
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = self::world(&segment, PositionRule::Repair, folder.path());
    world.step(NINE);
    world.step("pass 3000");
    assert_eq!(world.position(), 9);
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.made, compared.differences), (1, 0));
}

/// The trade comes with the answer that makes the difference certain.
#[test]
fn what_was_traded_since_the_answer_stays_when_a_position_is_made_the_venues() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let silent = "positions silent";
    let mut world = after_a_cut(&segment, PositionRule::Repair, folder.path(), silent);
    // Asked in vain, it begins anew.
    world.step("cut");
    world.pass(Nanos::from_millis(500));
    let question = world.ends.venue.all_of("AN").last().unwrap();
    let id = question.split("|710=").nth(1).and_then(|it| it.split('|').next()).unwrap();
    let answer = format!("ap {id} 1 728=0|55=AAPL|702=1|703=TQ|704=9|730=10.5");
    world.step(&format!("{NINE} + er F 1 E2 2 6"));
    world.step(&answer);
    world.pass(Nanos::from_millis(100));
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.differences, compared.repaired), (1, 1));
    assert_eq!(compared.last, [difference(PositionOutcome::Repaired)]);
    assert_eq!(world.position(), 11);
    restart::assert_is_recovered(&world, folder.path(), "repaired");
}

#[test]
fn a_position_without_a_price_is_not_repaired() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(&segment, PositionRule::Repair, folder.path());
    world.step("positions ap {id} 1 728=0|55=AAPL|702=1|703=TQ|704=9");
    world.step("pass 3000");
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.differences, compared.repaired), (1, 0));
    assert_eq!(compared.last[0].outcome, PositionOutcome::Unrepaired);
    assert_eq!(world.position(), 0);
}

#[test]
fn a_position_that_differs_stops_its_account() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = after_a_cut(&segment, PositionRule::Halt, folder.path(), NINE);
    let latched: Vec<_> = world.ends.orders.kill_switch().latched().collect();
    assert_eq!(latched.len(), 1);
    let (scope, cause) = (KillScope::Account(AccountId(0)), KillCause::Positions);
    assert_eq!((latched[0].scope, latched[0].cause), (scope, cause));
    let next = ClientOrderId(2);
    world.create(next, 1);
    assert!(
        world
            .ends
            .updates
            .iter()
            .any(|it| it.id == next && matches!(it.kind, UpdateKind::Refused(Refusal::Risk(_))))
    );
    assert!(world.ends.orders.revive(Nanos::ZERO, scope));
    world.create(ClientOrderId(3), 1);
    world.pass(Nanos::from_millis(1));
    assert_eq!(world.ends.venue.orders_of(ClientOrderId(3)), 1);
}

/// The first of two reports is not taken for both.
#[test]
fn positions_whose_number_nobody_says_are_not_compared() {
    let of = |symbol: &str, lots: u32| {
        let report = "raw 35=AP|721=1|710={id}|715=20120621|728=0";
        format!("{report}|55={symbol}|702=1|703=TQ|704={lots}")
    };
    let both = format!("{} + {}", of("MSFT", 3), of("AAPL", 4));
    let counted = "raw 35=AO|721=1|710={id}|727=2|728=0|729=0";
    for (habit, comparisons) in
        [(format!("positions {both}"), (0, 2)), (format!("positions {counted} + {both}"), (1, 1))]
    {
        let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let world = after_a_cut(&segment, PositionRule::Halt, folder.path(), &habit);
        let compared = world.ends.orders.position_comparisons();
        assert_eq!((compared.made, compared.unanswered), comparisons, "{habit}");
        assert_eq!(compared.differences, 0, "{habit}");
        assert!(world.ends.orders.kill_switch().latched().next().is_none(), "{habit}");
    }
}

#[test]
fn orders_wait_for_positions_until_the_time_out() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(&segment, PositionRule::Report, folder.path());
    world.step("positions silent");
    world.pass(Nanos::from_millis(1_900));
    assert_eq!(world.ends.venue.all_of("AN").count(), 1);
    assert!(!world.ends.orders.is_active());
    world.pass(Nanos::from_millis(200));
    assert!(world.ends.orders.is_active());
    let compared = world.ends.orders.position_comparisons();
    assert_eq!((compared.made, compared.unanswered), (0, 1));
}

#[test]
fn a_venue_that_is_not_to_be_asked_for_positions_is_not() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(&segment, PositionRule::Off, folder.path());
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    assert_eq!(world.ends.venue.all_of("AN").count(), 0);
}

/// Each account is asked about by its name, and has what the venue says of it.
#[test]
fn accounts_are_compared_one_by_one() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |config| {
        let name = |name: &[u8]| taut_fix::ShortText::new(name).unwrap();
        let accounts =
            Accounts::new(&[(AccountId(1), name(b"MM")), (AccountId(2), name(b"HEDGE"))]);
        let sizes =
            taut_oms::RiskSizes { instruments: 1, accounts: 3, users: 256, strategies: 256 };
        let limits = GatewayConfig::default_risk().limits(sizes);
        let rules = crate::config::RiskRules { limits, groups: vec![0] };
        config.risk = crate::config::RiskConfig::Each { rules, accounts };
    });
    world.step("positions ap {id} 1 728=0|1=HEDGE|55=AAPL|702=1|703=TQ|704=9");
    world.step("pass 100");
    let asked: Vec<_> = world.ends.venue.all_of("AN").map(|it| it.contains("|1=MM|")).collect();
    assert_eq!(asked, [true, false, true, false]);
    let last = &world.ends.orders.position_comparisons().last;
    // The answer to the question about one account is about the other: that counts for neither.
    assert_eq!((last[0].account, last[0].venue, last.len()), (AccountId(2), Lots(9), 1));
}
