//! The venue's copies of what a session says.

use std::sync::Mutex;

use taut_gateway::{CopyReader, CopyReaderSettings};

use super::*;
use crate::machine::Real;

/// What the reader of drop copies said.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tell(words: &str) {
    SAID.lock().expect("nobody panics with it").push(words.to_owned());
}

/// A trades, and hears of it from the venue's drop copies, too, a tenth of a second later. Their
/// reader has a thread and sockets of its own, so that time is not virtual.
pub fn copies_say_what_the_session_said<L: Language>(
    settings: impl FnOnce(Ports, fn(&str)) -> CopyReaderSettings,
) {
    let mut reading = None;
    day_on::<L, Real>(SimConfig::default(), UNREAD_BYTES_MAX, |world| {
        let (copies, reader) = CopyReader::open(settings(world.at, tell)).expect("a reader");
        world.gateways[0].read_drop_copies(copies);
        reading = Some(std::thread::spawn(move || reader.run()));
        let is_up = || {
            let said = SAID.lock().expect("nobody panics with it");
            said.iter().any(|words| words == "drop copies of the venue are read")
        };
        world.until("the venue lets the reader in", |_| is_up());
        world.hands[0].borrow_mut().creates.push(limit(Side::Buy, 0, 5));
        world.until("the book has the order", |it| {
            it.levels(1, Side::Buy)[0] == (AROUND, Lots(5)) && it.books_are_right()
        });
        world.hands[1].borrow_mut().creates.push(limit(Side::Sell, 0, 2));
        world.until("two lots traded", |it| it.positions() == [2, -2] && it.books_are_right());
        world.hands[0].borrow_mut().cancels.push(world.orders()[0][0].id);
        world.until("it is cancelled", |it| it.is_nothing_open());
        // The order, its trade and its end.
        world.until("all of it is copied", |it| it.gateways[0].counters().drop_copies_read == 3);
        let counters = world.gateways[0].counters();
        assert_eq!((counters.drop_copy_corrections, counters.fills), (0, 1));
        assert_eq!((counters.foreign_reports, counters.troubles), (0, 0));
        assert_eq!(world.positions(), [2, -2]);
    });
    // The gateway is gone.
    let reading = reading.expect("a thread").join().expect("it does not panic");
    reading.expect("it ends well");
}
