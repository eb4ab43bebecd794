//! A gateway that is killed between any two records of its journal, and started again.

use std::fs;

use taut_journal::{Asked, Durability, Settings, State, read, segment_name};
use taut_oms::Pending;
use tempfile::TempDir;

use super::*;
use taut_oms::{KillCause, KillScope, RequestKind as Kind};

/// The smallest segments; what a power cut does is none of these tests' business.
pub const SETTINGS: Settings = Settings {
    segment_bytes: 64 << 10,
    segments_kept: 4,
    durability: Durability::None,
    on_failure: taut_journal::OnFailure::StopOrders,
    executions_max: 64,
    marks: false,
};

fn recover(folder: &Path) -> State {
    read(folder, SETTINGS.executions_max, &mut |_| ()).unwrap().state
}

/// What is recovered from the journal is what the session has.
pub fn assert_is_recovered(world: &World<'_>, folder: &Path, when: &str) {
    let (state, orders) = (recover(folder), &world.ends.orders);
    let recovered: Vec<_> = state.orders.keys().copied().collect();
    let mut open: Vec<_> = orders.table().open_orders().map(|order| order.id).collect();
    open.sort_unstable();
    assert_eq!(recovered, open, "{when}: open orders");
    for order in orders.table().open_orders() {
        let open = &state.orders[&order.id];
        let it = &open.order;
        let of_journal = (it.terms, it.lots_filled, it.worth, it.version_accepted, it.tag);
        let own =
            (order.terms, order.traded.lots, order.worth(), order.version_accepted, order.tag);
        assert_eq!(of_journal, own, "{when}");
        assert_eq!((it.version_sent, open.owner), (order.version_sent, order.owner), "{when}");
        // One that was lost may have made room in the table for another.
        for request in order.pending().filter(|it| it.kind != Kind::Create) {
            let Pending { version, price, lots, .. } = *request;
            let asked = match request.kind {
                Kind::Modify => Asked::Modify { price, lots },
                _ => Asked::Cancel,
            };
            let is_it = |it: &taut_journal::Unanswered| it.version == version && it.asked == asked;
            assert!(open.unanswered.iter().any(is_it), "{when}: {request:?} of {open:?}");
        }
    }
    for held in orders.positions() {
        let position = state.positions[&held.key];
        let of_journal = (position.lots(), position.bought(), position.sold());
        assert_eq!(of_journal, (held.lots, held.bought, held.sold), "{when}");
        assert_eq!((position.realised(), position.fees()), (held.realised, held.fees), "{when}");
    }
    let killed: Vec<_> = orders.kill_switch().latched().map(|it| it.to_word()).collect();
    assert_eq!(state.killed.into_iter().collect::<Vec<_>>(), killed, "{when}");
}

/// The bytes of the journal in a folder, and where its records end, the first one's beginning too.
pub fn records(folder: &Path) -> (Vec<u8>, Vec<usize>) {
    let mut ends = Vec::new();
    read(folder, SETTINGS.executions_max, &mut |shown| {
        assert_eq!(shown.segment, 1, "one segment is enough");
        ends.push(shown.offset as usize);
    })
    .unwrap();
    let bytes = fs::read(folder.join(segment_name(1))).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    ends.push(used.next_multiple_of(8));
    (bytes, ends)
}

/// A journal that ends there.
pub fn cut(bytes: &[u8], end: usize) -> TempDir {
    let (folder, mut bytes) = (tempfile::tempdir().unwrap(), bytes.to_vec());
    bytes[end..].fill(0);
    fs::write(folder.path().join(segment_name(1)), bytes).unwrap();
    folder
}

impl World<'_> {
    fn run(&mut self, script: &str) {
        for step in script.split(';').map(str::trim).filter(|step| !step.is_empty()) {
            self.step(step);
        }
    }

    fn until_up(&mut self, when: &str) {
        for _ in 0..60 {
            if self.ends.orders.is_active() {
                return;
            }
            self.pass(Nanos::from_secs(1));
        }
        panic!("{when}: the session is not up again");
    }
}

#[test]
fn a_gateway_that_is_killed_at_any_record_counts_what_the_venue_says_once() {
    let segment = Segment::create("restart", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.until_up("at first");
    world.run("order; er 0 0 E1 0 0; er F 1 E2 4 4; modify 12");
    world.run("er 5 1 E3 0 4 11={2}|41={1}|38=12|151=8; cancel");
    assert_is_recovered(&world, folder.path(), "before");
    drop(world);
    let (bytes, ends) = records(folder.path());
    assert!(ends.len() > 6, "{}", ends.len());
    // Meanwhile 3 more have traded: the venue sends those reports again, or says so in its answer.
    let again = "er F 1 E2 4 4 97=Y; er F 1 E4 3 7 97=Y|11={2}|38=12|151=5";
    for (at, end) in ends.into_iter().enumerate().skip(1) {
        for (first, then) in [("", ""), (again, ""), ("", again), (again, again)] {
            let when = format!("record {at}, first '{first}', then '{then}'");
            let folder = cut(&bytes, end);
            let mut world = World::new(&segment, folder.path());
            world.ends.venue.act(world.events.io(), "status", "er I 1 0 0 7 11={2}|44=10|38=12");
            let refusal = "35=j|45={seq}|372=AF|380=3";
            let mass =
                if first.is_empty() { refusal.to_owned() } else { format!("{first}; {refusal}") };
            world.ends.venue.act(world.events.io(), "mass", &mass.replace("; ", " + "));
            world.until_up(&when);
            world.run(then);
            assert_eq!(world.position(), 7, "{when}: {:?}", world.told());
            let order = *world.ends.orders.table().get(ORDER).unwrap();
            assert_eq!((order.state, order.terms.lots), (OrderState::Working, Lots(12)), "{when}");
            assert_eq!(world.ends.venue.orders_of(ORDER), 0, "{when}: it was sent again");
            assert_eq!(world.ends.orders.table().answers().unanswered(), 0, "{when}");
            assert_is_recovered(&world, folder.path(), &when);
            // It can be cancelled, and the next one goes out.
            world.run("cancel; er 4 4 E9 0 7 11={4}|41={2}|38=12|151=0");
            let next = ClientOrderId(99);
            world.create(next, 1);
            world.pass(Nanos::from_millis(5));
            assert_eq!(world.ends.venue.orders_of(next), 1, "{when}");
            // And killed once more it is as it was.
            drop(world);
            let world = World::new(&segment, folder.path());
            assert_eq!(world.position(), 7, "{when}");
            assert_is_recovered(&world, folder.path(), &when);
            assert_eq!(world.ends.orders.table().open_count(), 1, "{when}");
            assert!(world.ends.orders.order(next).is_some(), "{when}");
        }
    }
}

#[test]
fn a_kill_outlives_the_gateway_until_it_is_revived() {
    let segment = Segment::create("killed", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut world = World::new(&segment, folder.path());
        world.until_up("killed");
        world
    };
    let utc = Nanos::from_secs(1);
    let mut world = start();
    world.ends.orders.kill_switch_mut().kill(KillScope::All, KillCause::Command);
    assert_eq!(world.ends.orders.poll_killed(utc), Some(KillScope::All));
    drop(world);
    let mut world = start();
    world.create(ORDER, 1);
    assert_eq!(world.told(), ["RefusedRisk(Killed { scope: All })"], "nothing new leaves");
    assert!(world.ends.orders.revive(utc, KillScope::All));
    drop(world);
    let mut world = start();
    world.create(ORDER, 1);
    world.pass(Nanos::from_millis(5));
    assert_eq!(world.ends.venue.orders_of(ORDER), 1);
}

#[test]
fn a_kill_without_open_orders_is_safe_from_a_power_cut_at_once() {
    let segment = Segment::create("killed", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::with(&segment, |_| {});
    let settings = Settings { durability: Durability::Sync, ..SETTINGS };
    let Journal { writer, recovered, housekeeper: _housekeeper } =
        Journal::open(folder.path(), settings).unwrap();
    let (orders, utc) = (&mut world.ends.orders, Nanos::from_secs(1));
    orders.resume(writer, &recovered.state, utc).unwrap();
    orders.kill_switch_mut().kill(KillScope::All, KillCause::Command);
    assert_eq!(orders.poll_killed(utc), Some(KillScope::All));
    assert!(orders.journal.is_committed(), "the kill waits for the next request");
    assert!(orders.revive(utc, KillScope::All));
    assert!(orders.journal.is_committed(), "that it is over waits for the next request");
}

#[test]
fn what_the_journal_cannot_take_does_not_leave() {
    let segment = Segment::create("full", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.until_up("at first");
    world.run("order; er 0 0 E1 0 0");
    // Nobody makes segments any more: both that there are become full.
    let mut number = 100;
    let is_refused = |world: &World<'_>| {
        let refused = UpdateKind::Refused(Refusal::Journal);
        world.ends.updates.iter().any(|update| update.kind == refused)
    };
    while !is_refused(&world) {
        let id = ClientOrderId(number);
        world.create(id, 1);
        number += 1;
        assert!(number < 10_000, "the journal is never full");
        let text = String::from_utf8(RequestId::create(id).to_text().to_vec()).unwrap();
        world.step(&format!("er 8 8 X{number} 0 0 11={text}|38=1|151=0"));
    }
    let last = ClientOrderId(number - 1);
    assert_eq!(world.ends.venue.orders_of(last), 0, "it has left");
    assert_eq!(world.ends.orders.table().open_count(), 1, "nor is it counted");
    // A cancel leaves all the same, and what the venue says counts.
    world.run("cancel; er F 1 E5 4 4");
    assert!(world.ends.orders.table().get(ORDER).unwrap().is_being_cancelled());
    assert_eq!((world.position(), recover(folder.path()).positions.len()), (4, 0));
    assert!(world.ends.orders.journal_missed() > 0);
    // When there is room again it is written down, and orders leave.
    world.housekeeper.turn().unwrap();
    world.pass(Nanos::from_millis(5));
    assert_is_recovered(&world, folder.path(), "with room again");
    world.create(ClientOrderId(number), 1);
    world.pass(Nanos::from_millis(5));
    assert_eq!(world.ends.venue.orders_of(ClientOrderId(number)), 1);
}
