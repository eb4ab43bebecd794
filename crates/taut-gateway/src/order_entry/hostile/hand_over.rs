//! Orders that become another strategy's, and a gateway that is killed behind that.

use std::cell::Cell;

use taut_oms::{KillCause, KillScope, PositionKey};
use taut_types::{StrategyId, UserId};

use super::restart::{assert_is_recovered, cut, records};
use super::*;

/// Who sends the order of the scripts.
const FIRST: Owner = Owner::of(ORDER);
const SECOND: Owner = Owner { user: UserId(7), strategy: StrategyId(9) };

impl<H: OrderHandler> World<'_, H> {
    fn hand_over(&mut self, from: Owner, to: Owner) -> Vec<ClientOrderId> {
        let Ends { orders, clock, .. } = &mut self.ends;
        orders.hand_over(clock.now(), from, to)
    }

    fn held(&self, owner: Owner) -> i64 {
        let Owner { user, strategy } = owner;
        let key =
            PositionKey { account: AccountId(0), user, strategy, instrument: InstrumentId(0) };
        self.ends.orders.positions.get(key).map_or(0, |held| held.lots().0)
    }

    /// Open orders of the owner that risk counts: of its user, and of its strategy.
    fn counted(&self, owner: Owner) -> (u32, u32) {
        let risk = self.ends.orders.risk();
        (risk.user_open_orders(owner.user), risk.strategy_open_orders(owner.strategy))
    }

    /// All orders become another one's, where they change hands.
    pub(super) fn change_hands(&mut self) {
        if let Some([from, to]) = self.heirs {
            self.hand_over(from, to);
            self.heirs = Some([to, from]);
        }
    }

    fn last(&self) -> UpdateKind {
        self.ends.updates.last().expect("an update").kind
    }
}

#[test]
fn an_order_that_was_handed_over_is_the_heirs_with_all_that_comes_of_it_after_a_kill_too() {
    let segment = Segment::create("heir", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.pass(Nanos::from_millis(50));
    world.step("order");
    world.step("er 0 0 E1 0 0");
    world.step("er F 1 E2 4 4");
    // A change is under way when its strategy dies.
    world.step("modify 12");
    assert_eq!((world.counted(FIRST), world.counted(SECOND)), ((1, 1), (0, 0)));
    assert_eq!(world.hand_over(FIRST, SECOND), [ORDER]);
    assert_eq!((world.counted(FIRST), world.counted(SECOND)), ((0, 0), (1, 1)));
    assert!(world.hand_over(FIRST, SECOND).is_empty(), "it has none any more");
    assert_eq!(world.ends.orders.owner_of(ORDER), SECOND);
    let of = |world: &World<'_>, owner| {
        let mut orders = Vec::new();
        world.ends.orders.visit_orders(owner, &mut |order| orders.push(order.id));
        orders
    };
    assert_eq!((of(&world, FIRST), of(&world, SECOND)), (vec![], vec![ORDER]));
    assert_is_recovered(&world, folder.path(), "handed over");
    // The answer to what the other one asked is the heir's, and so is what trades.
    world.step("er 5 1 E3 0 4 11={2}|41={1}|38=12|151=8");
    world.step("er F 1 E4 2 6 11={2}|38=12|151=6");
    assert_eq!((world.held(FIRST), world.held(SECOND), world.position()), (4, 2, 6));
    assert_is_recovered(&world, folder.path(), "traded");

    // Killed and started again it is as it was.
    drop(world);
    let world = World::new(&segment, folder.path());
    assert_is_recovered(&world, folder.path(), "started again");
    assert_eq!(world.ends.orders.owner_of(ORDER), SECOND);
    assert_eq!((world.held(FIRST), world.held(SECOND)), (4, 2));
    assert_eq!((world.counted(FIRST), world.counted(SECOND)), ((0, 0), (1, 1)));
}

#[test]
fn a_gateway_that_is_killed_at_any_record_knows_whose_the_order_was_then() {
    let segment = Segment::create("heir", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.pass(Nanos::from_millis(50));
    ["order", "er 0 0 E1 0 0", "er F 1 E2 4 4"].into_iter().for_each(|step| world.step(step));
    assert_eq!(world.hand_over(FIRST, SECOND), [ORDER]);
    world.step("er F 1 E3 2 6");
    assert_eq!(world.hand_over(SECOND, FIRST), [ORDER]);
    world.step("er F 1 E4 1 7");
    drop(world);
    let (bytes, ends) = records(folder.path());
    let mut seen = Vec::new();
    // Behind the record of the order itself.
    for end in ends.into_iter().skip(2) {
        let folder = cut(&bytes, end);
        let world = World::new(&segment, folder.path());
        assert_is_recovered(&world, folder.path(), "cut");
        let owner = world.ends.orders.owner_of(ORDER);
        seen.push((owner, world.held(FIRST), world.held(SECOND)));
    }
    seen.dedup();
    let expected = [
        (FIRST, 0, 0),
        (FIRST, 4, 0),
        (SECOND, 4, 0),
        (SECOND, 4, 2),
        (FIRST, 4, 2),
        (FIRST, 5, 2),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn an_order_that_was_handed_over_is_the_heirs_to_change_and_to_cancel_and_nobody_elses() {
    let segment = Segment::create("heir", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.pass(Nanos::from_millis(50));
    world.step("order");
    world.step("er 0 0 E1 0 0");
    world.step("er F 1 E2 4 4");
    // While all that it does is stopped, its orders stay its own, and are cancelled.
    world.ends.orders.kill_switch_mut().kill(KillScope::All, KillCause::Command);
    assert!(world.hand_over(FIRST, SECOND).is_empty());
    assert!(world.ends.orders.revive(Nanos::ZERO, KillScope::All));
    assert_eq!(world.hand_over(FIRST, SECOND), [ORDER]);
    // Who sent it may not touch it, even back again; who has it may.
    let refused = world.ends.orders.refused();
    let (told, sent) = (world.ends.updates.len(), world.ends.venue.all_of("F").count());
    world.request_by(FIRST, ORDER, RequestKind::Cancel);
    world.request_by(FIRST, ORDER, RequestKind::CancelAll(Default::default()));
    world.pass(Nanos::from_millis(1));
    assert_eq!(world.ends.orders.refused(), refused + 1);
    assert_eq!((world.ends.updates.len(), world.ends.venue.all_of("F").count()), (told, sent));
    // Stopped, the heir changes nothing; the one who had it before may be stopped or not.
    let kill = |world: &mut World<'_>, owner: Owner| {
        let switch = world.ends.orders.kill_switch_mut();
        switch.kill(KillScope::User(owner.user), KillCause::Command);
        assert!(world.ends.orders.poll_killed(Nanos::ZERO).is_some());
    };
    let price = Price(10_000_000_000);
    kill(&mut world, FIRST);
    world.request_by(SECOND, ORDER, RequestKind::Modify { price, lots: Lots(13) });
    world.step("er 5 1 E5 0 4 11={2}|41={1}|38=13|151=9");
    assert_eq!(world.last(), UpdateKind::Replaced);
    assert!(world.ends.orders.revive(Nanos::ZERO, KillScope::User(FIRST.user)));
    kill(&mut world, SECOND);
    world.request_by(SECOND, ORDER, RequestKind::Modify { price, lots: Lots(14) });
    assert!(matches!(world.last(), UpdateKind::Refused(Refusal::Risk(_))), "{:?}", world.last());
    world.request_by(SECOND, ORDER, RequestKind::CancelAll(Default::default()));
    world.step("er 4 4 E6 0 4 11={3}|41={2}|38=13|151=0");
    assert_eq!(world.last(), UpdateKind::Cancelled);
    assert_eq!((world.counted(FIRST), world.counted(SECOND)), ((0, 0), (0, 0)));
    assert_is_recovered(&world, folder.path(), "over");
    // A trade of it that is told late is the heir's, too, and is so after the next start.
    world.step("er F 1 E7 1 5 11={2}|38=13|151=0");
    assert_eq!((world.held(FIRST), world.held(SECOND)), (4, 1));
    assert_is_recovered(&world, folder.path(), "late");
}

/// Risk counts every open order once, for one of the two.
fn assert_counts_each_once(world: &World<'_>, when: &str) {
    let open = world.ends.orders.table().open_count() as u32;
    let [first, second] = [FIRST, SECOND].map(|owner| world.counted(owner));
    assert_eq!((first.0 + second.0, first.1 + second.1), (open, open), "{when}");
    assert_eq!(world.held(FIRST) + world.held(SECOND), world.position(), "{when}");
}

#[test]
fn a_venue_may_do_what_it_likes_with_orders_that_change_hands_at_every_step() {
    let (mut failed, traded) = (Vec::new(), Cell::new(0));
    for behaviour in &behaviours() {
        let end = |world: &World<'_>| {
            assert_counts_each_once(world, behaviour.name);
            traded.set(traded.get() + u32::from(world.held(SECOND) != 0));
        };
        let run = || run_between(behaviour, |world| world.heirs = Some([FIRST, SECOND]), end);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            failed.push(behaviour.name);
        }
    }
    assert!(failed.is_empty(), "{}: {failed:#?}", failed.len());
    assert!(traded.get() > 10, "{} times something traded in the other hands", traded.get());
}
