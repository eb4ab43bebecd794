//! The venue's drop copies beside the order session, and in its place.

use std::sync::mpsc::SyncSender;

use taut_fix::{FieldIndex, Framed, MESSAGE_BYTES_MAX, OrderFlow, frame};

use super::*;
use crate::drop_copy::VenueCopies;
use crate::order_entry::fix44::reading::Reading;
use crate::order_entry::handler::VenueEvent;

/// Reads the venue's copies, as a [`crate::CopyReader`] would.
pub struct Reader {
    to: SyncSender<(Nanos, VenueEvent)>,
    reading: Reading,
}

impl<H: OrderHandler> World<'_, H> {
    /// Copies of what the venue says from now on count after this time.
    pub fn read_copies(&mut self, grace: Nanos) {
        let (to, copies) = VenueCopies::of(grace);
        self.ends.orders.read_copies(copies);
        self.ends.venue.copies.clear();
        self.copies = Some(Reader { to, reading: Reading::default() });
    }

    /// What the venue has said reaches whoever reads its copies.
    pub fn pass_on_copies(&mut self) {
        let now = self.events.io().now() + Nanos::from_secs(1);
        let Some(Reader { to, reading }) = &mut self.copies else { return };
        let mut index = FieldIndex::with_capacity(128);
        for message in self.ends.venue.copies.drain(..) {
            let Ok(Framed::Message(whole)) = frame(&message, MESSAGE_BYTES_MAX) else { panic!() };
            index.fill(&whole).unwrap();
            if let Ok(OrderFlow::ExecutionReport(report)) = OrderFlow::decode(&message, &index) {
                let copy = reading.execution(&report, true);
                if !copy.is_answer {
                    to.try_send((now, VenueEvent::Report(copy))).unwrap();
                }
            }
        }
    }

    fn corrections(&self) -> (u64, u64) {
        (self.ends.orders.copies().read, self.ends.orders.copies().corrections)
    }
}

/// Whatever a venue does: that it says so twice changes no order and no position.
#[test]
fn copies_of_what_was_heard_change_nothing() {
    let failed: Vec<_> = behaviours()
        .iter()
        .filter(|behaviour| {
            let prepare = |world: &mut World<'_>| world.read_copies(Nanos::ZERO);
            let run = || run_with(behaviour, prepare);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
        })
        .map(|behaviour| behaviour.name)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn what_the_order_session_does_not_say_is_taken_from_the_copies() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(&segment, folder.path());
    world.pass(Nanos::from_millis(50));
    world.read_copies(Nanos::from_millis(500));
    for step in ["order", "deaf on", "er 0 0 E1 0 0", "er F 1 E2 4 4", "pass 400"] {
        world.step(step);
    }
    assert_eq!((world.position(), world.corrections()), (0, (0, 0)), "it has time to say so");
    world.step("pass 200");
    assert_eq!((world.position(), world.corrections()), (4, (2, 2)));
    assert_eq!(world.told(), ["Accepted", "Filled"]);
    restart::assert_is_recovered(&world, folder.path(), "copied");
    // It says so after all, and goes on.
    for step in ["deaf off", "er 0 0 E1 0 0", "er F 1 E2 4 4", "er F 2 E3 6 10", "pass 1000"] {
        world.step(step);
    }
    assert_eq!((world.position(), world.corrections()), (10, (5, 2)));
    assert_eq!(world.told(), ["Accepted", "Filled", "Filled"]);
    assert_eq!(world.ends.orders.table().get(ORDER).unwrap().state, OrderState::Filled);
}

#[test]
fn a_copy_of_somebody_elses_order_is_kept_in_the_quarantine() {
    let segment = Segment::create("hostile", &Regions::LAYOUT).unwrap();
    let mut world = World::with(&segment, |_| {});
    world.pass(Nanos::from_millis(50));
    world.read_copies(Nanos::ZERO);
    ["deaf on", "er F 1 E2 4 4 11=web", "pass 10"].into_iter().for_each(|step| world.step(step));
    assert_eq!(world.corrections(), (1, 0));
    let orders = &world.ends.orders;
    assert_eq!((orders.reports().foreign(), world.position()), (1, 0));
    assert!(orders.quarantine().iter().any(|it| it.trouble == Trouble::NotOurs));
}
