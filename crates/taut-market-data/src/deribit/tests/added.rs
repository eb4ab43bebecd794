//! An instrument that is added while the others are followed.

use super::*;
use crate::handler::FollowError;

const NEW: &str = "ETH-PERPETUAL";

/// The new instrument, with this number and lot.
fn new(id: u32, lot: Qty) -> Instrument {
    let symbol = Symbol::new(b"ETH-P").unwrap();
    Instrument::new(InstrumentId(id), symbol, Price(Price::SCALE / 100), lot).unwrap()
}

/// Both books are sound, and there is room for one more.
fn both_sound() -> Rig {
    let mut rig = Rig::new();
    rig.feed.reserve_instruments(1);
    rig.take(Source::LINE_A, &book(NAMES[0], None, 10, r#"["new",10.0,30.0]"#, ""));
    rig.take(Source::LINE_A, &book(NAMES[1], None, 3, "", r#"["new",0.0015,2.5]"#));
    assert!(rig.feed.is_whole());
    rig
}

#[test]
fn an_instrument_that_is_added_gets_its_book_and_the_others_go_on_in_between() {
    let mut rig = both_sound();
    let (added, events_max) = (new(6, Qty::whole(1)), rig.feed.events_max());
    // Nobody follows it yet: its frames are another one's.
    assert_eq!(rig.take(Source::LINE_A, &book(NEW, None, 7, r#"["new",9.0,5.0]"#, "")), []);
    assert_eq!(rig.feed.follow(&added, added.id(), NEW.as_bytes()), Ok(()));
    assert_eq!((rig.feed.stale_count(), rig.feed.is_whole()), (1, false));
    assert_eq!(rig.feed.events_max(), events_max, "there was room from the beginning");
    assert!(rig.feed.book(added.id()).is_some());
    let told = rig.book(Some(10), 17, r#"["change",10.0,50.0]"#, "");
    assert_eq!(told[0], level(Side::Buy, quote(1_000, 5).unwrap(), 0));
    assert_eq!(rig.feed.soundness(OPTION), Soundness::Sound);
    let told = rig.take(Source::LINE_A, &book(NEW, None, 7, r#"["new",9.0,5.0]"#, ""));
    let top = BestPrices { bid: quote(900, 5), ask: None };
    assert_eq!(told, [BOOK(Soundness::Sound), EventKind::Top(top)]);
    assert_eq!(rig.told[0].instrument, added.id());
    assert!(rig.feed.is_whole() && rig.requests().is_empty());
    let told = rig.take(Source::LINE_A, &trades(NEW, 1, "3.0"));
    assert!(matches!(told[..], [EventKind::Trade(_), ..]), "{told:?}");
    // It is one of them: what ends all of them ends it.
    rig.disconnect(Source::LINE_A);
    assert_eq!(rig.feed.soundness(added.id()), SILENT);
    assert_eq!(rig.feed.counters().malformed, 0);
}

#[test]
fn the_snapshot_of_an_added_instrument_that_does_not_come_is_asked_for() {
    let mut rig = both_sound();
    let added = new(2, Qty::whole(1));
    assert_eq!(rig.feed.follow(&added, added.id(), NEW.as_bytes()), Ok(()));
    rig.wait(Nanos::from_secs(4));
    assert!(rig.requests().is_empty());
    rig.wait(Nanos::from_secs(2));
    assert_eq!(rig.requests(), [added.id()]);
}

#[test]
fn an_instrument_that_cannot_be_followed_changes_nothing() {
    let mut rig = Rig::new();
    let one = new(2, Qty::whole(1));
    let follow = |rig: &mut Rig, new: &Instrument, name: &str| {
        rig.feed.follow(new, new.id(), name.as_bytes())
    };
    assert_eq!(follow(&mut rig, &one, NEW), Err(FollowError::Full));
    rig.feed.reserve_instruments(1);
    let taken = new(0, Qty::whole(1));
    assert_eq!(follow(&mut rig, &taken, NEW), Err(FollowError::SameNumber(PERPETUAL)));
    let high = InstrumentId(1 << 20);
    assert_eq!(follow(&mut rig, &one.with_id(high), NEW), Err(FollowError::NumberTooHigh(high)));
    assert_eq!(follow(&mut rig, &one, NAMES[1]), Err(FollowError::Name));
    assert_eq!(rig.feed.stale_count(), 2);
    assert_eq!(follow(&mut rig, &one, NEW), Ok(()));
    assert_eq!(rig.feed.stale_count(), 3);
}
