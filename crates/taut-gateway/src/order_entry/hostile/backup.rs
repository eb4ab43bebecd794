//! A venue that takes orders at two addresses, on virtual time.

use super::*;

const MINUTE: Nanos = Nanos::from_secs(60);

/// A world with a backup, both its addresses listening; nothing has happened yet.
fn world(segment: &Segment) -> World<'_> {
    World::with_backups(segment, &[BACKUP])
}

/// One venue: what the one address counts, the other one does.
fn hand_numbers_over(from: &ScriptedVenue, to: &mut ScriptedVenue) {
    to.next = from.next;
}

fn until_up(world: &mut World<'_>, what: &str) {
    for _ in 0..600 {
        world.pass(Nanos::from_millis(10));
        if world.ends.orders.is_active() {
            return;
        }
    }
    panic!("no session within six seconds: {what}");
}

#[test]
fn the_backup_is_taken_when_the_primary_cannot_be_reached_and_kept_when_it_is_back() {
    let segment = Segment::create("backup", &Regions::LAYOUT).unwrap();
    let mut world = world(&segment);
    world.ends.venue.close(world.events.io());
    until_up(&mut world, "with the backup");
    assert_eq!(world.ends.orders.order_address().0, 1);
    // No flapping.
    world.ends.venue.open(world.events.io());
    world.pass(MINUTE);
    assert_eq!((world.ends.orders.order_address().0, world.ends.orders.disconnects()), (1, 0));
    assert!(world.ends.orders.is_active());
    // Only when the backup's own connection ends.
    let World { events, ends, .. } = &mut world;
    hand_numbers_over(&ends.backup, &mut ends.venue);
    ends.backup.act(events.io(), "cut", "");
    until_up(&mut world, "with the primary");
    assert_eq!(world.ends.orders.order_address().0, 0);
}

#[test]
fn the_backup_goes_on_with_the_numbers_and_the_orders_of_a_primary_that_died() {
    let segment = Segment::create("backup", &Regions::LAYOUT).unwrap();
    let mut world = world(&segment);
    until_up(&mut world, "with the primary");
    assert_eq!(world.ends.orders.order_address().0, 0);
    world.step("order");
    world.step("er 0 0 E1 0 0");
    let sent = world.ends.venue.last_number();
    world.ends.venue.close(world.events.io());
    let World { events, ends, .. } = &mut world;
    hand_numbers_over(&ends.venue, &mut ends.backup);
    ends.venue.act(events.io(), "cut", "");
    until_up(&mut world, "with the backup");
    assert_eq!(world.ends.orders.order_address().0, 1);
    let logon = world.ends.backup.first_of("A").expect("a Logon");
    assert!(logon.contains(&format!("|34={}|", sent + 1)), "{logon}");
    assert!(!logon.contains("|141=Y|"), "{logon}");
    // It was asked about all orders, and about the one that it did not name.
    let asked = world.ends.backup.first_of("H").expect("an OrderStatusRequest");
    assert!(world.ends.backup.first_of("AF").is_some());
    assert!(asked.contains("|54=1|"), "{asked}");
    // What it says of the order counts.
    world.ends.backup.act(world.events.io(), "er", "F 1 E2 4 4");
    world.pass(Nanos::from_millis(1));
    assert_eq!(world.position(), 4);
}

#[test]
fn a_standby_that_closes_every_connection_costs_the_session_no_number() {
    let segment = Segment::create("backup", &Regions::LAYOUT).unwrap();
    let mut world = world(&segment);
    world.ends.backup.act(world.events.io(), "logon", "close");
    until_up(&mut world, "with the primary");
    world.ends.venue.close(world.events.io());
    world.ends.venue.act(world.events.io(), "cut", "");
    world.pass(Nanos::from_millis(500));
    assert!(!world.ends.orders.is_active());
    // The numbers that its Logons have used are missed by the primary, which asks for them.
    world.ends.venue.open(world.events.io());
    until_up(&mut world, "with the primary again");
    let (priority, _) = world.ends.orders.order_address();
    assert_eq!(priority, 0);
    let logons: Vec<_> = world.ends.venue.all_of("A").collect();
    assert!(logons.len() >= 2 && !logons.last().unwrap().contains("|141=Y|"), "{logons:?}");
}

#[test]
fn a_gateway_that_does_not_wait_for_its_venue_tries_the_backup_too_before_it_gives_up() {
    let segment = Segment::create("backup", &Regions::LAYOUT).unwrap();
    let impatient = |segment| {
        let mut world = World::with(segment, |config| {
            config.session.waits_for_venue = false;
            config.session.backups = vec![BACKUP.parse().unwrap()];
        });
        world.ends.venue.close(world.events.io());
        world
    };
    let mut world = impatient(&segment);
    until_up(&mut world, "with the backup");
    assert_eq!(world.ends.orders.order_address().0, 1);
    let mut world = impatient(&segment);
    world.ends.backup.close(world.events.io());
    world.pass(Nanos::from_secs(1));
    let unreachable = matches!(world.ends.gave_up, Some(GatewayError::Unreachable(_)));
    assert!(unreachable, "{:?}", world.ends.gave_up);
}

/// A single address is tried again after a wait that grows, as ever.
#[test]
fn without_a_backup_the_same_address_is_tried_again() {
    let segment = Segment::create("backup", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |_| {});
    until_up(&mut world, "with the only address");
    world.ends.venue.act(world.events.io(), "cut", "");
    until_up(&mut world, "with the only address again");
    assert_eq!(world.ends.orders.order_address().0, 0);
    assert_eq!(world.ends.orders.disconnects(), 1);
}
