//! An upgrade keeps state: a journal of the first format is taken up, whatever this version would
//! write. `first-format.journal` is a segment that was written when the format was new, without the
//! zeros behind its last record.
//!
//! A version that changes the format keeps this file and reads it, and adds one of its own.

use std::fs;

use taut_journal::{Entry, Fill, Journal, VenueId, read, segment_name};
use taut_oms::{Amount, Owner};
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, RequestId, Side,
    StrategyId, UserId,
};

use crate::flow::{self, small};

const FIRST_FORMAT: &[u8] = include_bytes!("first-format.journal");

/// An order that trades and stays open, one that is over, one handed over, a kill and a day.
fn entries() -> Vec<Entry> {
    let order = |number| ClientOrderId::of(UserId(1), StrategyId(2), number);
    let terms = |price, lots| OrderTerms {
        account: AccountId(3),
        ..OrderTerms::limit(InstrumentId(4), Side::Buy, Price(price), Lots(lots))
    };
    let owner = Owner { user: UserId(1), strategy: StrategyId(2) };
    let heir = Owner { user: UserId(1), strategy: StrategyId(5) };
    let [first, second, third] = [7, 8, 9].map(order);
    vec![
        Entry::Create { order: first, tag: 70, terms: terms(1_000, 10) },
        Entry::Acknowledged {
            request: RequestId::create(first),
            venue_id: VenueId::new(b"venue-order-7"),
        },
        Entry::Filled(Fill {
            order: first,
            owner,
            instrument: InstrumentId(4),
            account: AccountId(3),
            side: Side::Buy,
            price: Price(999),
            lots: Lots(4),
            exec_id: VenueId::new(b"execution-1"),
            fee: Amount(5),
            is_inverse: false,
        }),
        Entry::Create { order: second, tag: 80, terms: terms(1_001, 6) },
        Entry::Cancelled { request: RequestId::create(second) },
        Entry::Create { order: third, tag: 90, terms: terms(1_002, 3) },
        Entry::HandedOver { order: third, to: heir },
        Entry::KillSwitch { word: 3, is_latched: true },
        Entry::Day(20_419),
    ]
}

#[test]
fn a_journal_of_the_first_format_is_taken_up_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut segment = FIRST_FORMAT.to_vec();
    segment.resize(small().segment_bytes, 0);
    fs::write(folder.path().join(segment_name(1)), &segment).expect("a segment");
    let mut seen = Vec::new();
    let mut visit = |shown: &taut_journal::Shown| seen.push(shown.entry.expect("known"));
    read(folder.path(), usize::MAX, &mut visit).expect("a whole journal");
    let mut written = entries();
    assert_eq!(seen, written);
    let Journal { mut writer, recovered, .. } =
        Journal::open(folder.path(), small()).expect("the journal");
    flow::assert_same(&recovered.state, &written);
    assert!(recovered.tails.is_empty());
    let more = Entry::Day(20_420);
    writer.append(Nanos(99), &more).expect("room");
    written.push(more);
    drop(writer);
    let Journal { recovered, .. } = Journal::open(folder.path(), small()).expect("the journal");
    flow::assert_same(&recovered.state, &written);
}

/// Writes the file anew: `cargo test -p taut-journal --test journal -- --ignored first_format`, for
/// a format that nobody has yet.
#[test]
#[ignore = "it writes the file that the other test reads"]
fn write_the_first_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let Journal { mut writer, housekeeper, .. } =
        Journal::open(folder.path(), small()).expect("the journal");
    for (at, entry) in (0..).zip(&entries()) {
        writer.append(Nanos(at), entry).expect("room");
    }
    drop((writer, housekeeper));
    let path = folder.path().join(segment_name(1));
    let mut bytes = fs::read(&path).expect("the first segment");
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journal/first-format.journal");
    fs::write(place, &bytes).expect("the file");
}
