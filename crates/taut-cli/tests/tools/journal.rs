//! An order journal from the command line.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use taut_gateway::Owner;
use taut_journal::{Entry, Fill, Journal, Settings, VenueId, segment_name};
use taut_testkit::{Run, odd_json_keys};
use taut_types::{
    ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, RequestId, Side, StrategyId,
    UserId,
};

fn taut(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut")).arg("journal").args(words).arg(folder).run()
}

fn text(words: &[&str], folder: &Path) -> String {
    let output = taut(words, folder);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(!words.contains(&"--json") || odd_json_keys(&text).is_empty(), "{text}");
    text
}

/// Two orders, one of them filled in part and about to be cancelled; the other cancelled.
fn write(folder: &Path) -> Journal {
    let settings = Settings { segment_bytes: 64 << 10, ..Settings::default() };
    let mut journal = Journal::open(folder, settings).expect("the journal");
    let id = |number| ClientOrderId::of(UserId(1), StrategyId(2), number);
    let terms = OrderTerms::limit(InstrumentId(3), Side::Buy, Price(585_330_000_000), Lots(18));
    let (order, request) = (id(1), |version| RequestId { order: id(1), version });
    let fill = Fill {
        order,
        owner: Owner::of(order),
        instrument: InstrumentId(3),
        account: terms.account,
        side: Side::Buy,
        price: terms.price,
        lots: Lots(5),
        exec_id: VenueId::new(b"E1"),
        fee: Default::default(),
        is_inverse: false,
    };
    for entry in [
        Entry::Create { order, tag: 77, terms },
        Entry::Acknowledged { request: request(1), venue_id: VenueId::new(b"V1") },
        Entry::Filled(fill),
        Entry::Cancel { request: request(2) },
        Entry::Create { order: id(2), tag: 78, terms },
        Entry::Cancelled { request: RequestId { order: id(2), version: 0 } },
    ] {
        journal.writer.append(Nanos(1_000), &entry).expect("room");
    }
    journal
}

#[test]
fn wrong_use_ends_with_code_2_and_names_the_folder() {
    let empty = tempfile::tempdir().expect("a folder");
    for (folder, told) in [(Path::new("/nowhere"), "cannot read it"), (empty.path(), "no journal")]
    {
        for words in [&["show"][..], &["check"], &["show", "--entries"]] {
            let output = taut(words, folder);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.contains(told) && said.contains(&*folder.to_string_lossy()), "{said}");
        }
    }
}

#[test]
fn orders_positions_and_entries_are_shown_while_the_writer_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = write(folder.path());
    let shown = text(&["show"], folder.path());
    for part in [
        "6 records up to 6  1 open orders  1 positions",
        &format!("process {} writes it", std::process::id()),
        "open 1/2/1  buy 18 lots at 585.33  instrument 3  account 0  filled 5  tag 77  version 1",
        "cancel 2 unanswered",
        "position user 1 strategy 2 account 0 instrument 3: 5 lots",
        "highest order 1/2/2",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    drop(journal);
    let value: Value = serde_json::from_str(&text(&["show", "--json"], folder.path())).expect("it");
    assert_eq!(value["process"], Value::Null);
    assert_eq!(value["orders"][0]["terms"]["price"], "585.33");
    assert_eq!(value["orders"][0]["order"]["number"], 1);
    assert_eq!(value["positions"][0]["lots"], 5);
    let entries = text(&["show", "--entries"], folder.path());
    assert_eq!(entries.lines().count(), 6);
    assert!(entries.contains("filled 1/2/1  buy 5 lots at 585.33"), "{entries}");
    let lines = text(&["show", "--entries", "--json"], folder.path());
    let kinds: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((kinds.len(), &kinds[0]["kind"]), (6, &Value::from("create")));
}

#[test]
fn a_check_says_what_stands_at_the_end_and_refuses_what_is_damaged_before() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(write(folder.path()));
    let sound = text(&["check"], folder.path());
    assert!(sound.contains("records 1 to 6") && sound.contains("every record"), "{sound}");
    let value: Value =
        serde_json::from_str(&text(&["check", "--json"], folder.path())).expect("JSON");
    let (used, tails) = (&value["segments"][0]["used_bytes"], &value["tails"]);
    assert_eq!(tails, &serde_json::json!([]));
    let used = used.as_u64().expect("a number") as usize;
    let file = folder.path().join(segment_name(1));
    let right = fs::read(&file).expect("the file");
    let flipped = |place: usize| {
        let mut bytes = right.clone();
        bytes[place] ^= 4;
        fs::write(&file, bytes).expect("it");
    };
    flipped(used - 3);
    let told = text(&["check"], folder.path());
    assert!(told.contains("0000000001.journal ends at byte"), "{told}");
    assert!(told.contains("requests may have left"), "{told}");
    flipped(used - 200);
    let output = taut(&["check"], folder.path());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("0000000001.journal at byte") && said.contains("damaged"), "{said}");
}

#[test]
fn round_trips_become_the_latencies_of_a_backtest() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, out) = (folder.path().join("journal"), folder.path().join("latency.npz"));
    let settings = Settings { segment_bytes: 64 << 10, ..Settings::default() };
    let id = |number| ClientOrderId::of(UserId(1), StrategyId(2), number);
    let terms = OrderTerms::limit(InstrumentId(3), Side::Buy, Price(585_330_000_000), Lots(18));
    let create = |number| Entry::Create { order: id(number), tag: 0, terms };
    let request = |number, version| RequestId { order: id(number), version };
    let acknowledged =
        |number| Entry::Acknowledged { request: request(number, 1), venue_id: VenueId::NONE };
    {
        let mut journal = Journal::open(&journal, settings).expect("the journal");
        for (time, entry) in [
            (1_000, create(1)),
            (1_100, create(2)),
            (1_400, acknowledged(1)),
            (1_900, acknowledged(2)),
            (2_000, Entry::Cancel { request: request(1, 2) }),
            (2_010, create(3)),
            (2_020, Entry::Rejected { request: request(3, 1), reason: 1 }),
            (2_500, Entry::Cancelled { request: request(1, 2) }),
            // Unasked, and without an answer.
            (2_600, Entry::Cancelled { request: request(2, 0) }),
            (2_700, create(4)),
        ] {
            journal.writer.append(Nanos(time), &entry).expect("room");
        }
    }
    let words = ["latencies", "--json", "-o", out.to_str().expect("a path")];
    let told: Value = serde_json::from_str(&text(&words, &journal)).expect("JSON");
    assert_eq!((&told["round_trips"], &told["rejected"]), (&3.into(), &1.into()));
    assert_eq!((&told["unanswered"], &told["overtaken"]), (&1.into(), &0.into()));
    let rows = taut_recording::hft::read_latencies(&out).expect("latencies");
    let times: Vec<_> =
        rows.iter().map(|it| (it.request_at, it.exchange_at, it.response_at)).collect();
    assert_eq!(times, [(1_000, 1_200, 1_400), (1_100, 1_500, 1_900), (2_000, 2_250, 2_500)]);
    let again = taut(&words, &journal);
    assert_eq!(again.status.code(), Some(2), "it is there already");
}
