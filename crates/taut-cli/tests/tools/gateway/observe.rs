//! A program that only looks: `ControlClient::observe`.

use taut_gateway::{MarketRead, MarketReader, Regions, Views};
use taut_market_data::EventKind;
use taut_runner::service::ControlClient;
use taut_testkit::{DEADLINE, until};

use super::{World, run, text};

#[test]
fn who_only_looks_sees_the_market_and_is_in_no_list() {
    let world = World::new();
    let _venue = world.start_venue();
    let _gateway = world.start_gateway();
    let mut client = ControlClient::connect(&world.control()).expect("a gateway");
    let (segment, instruments) = client.observe().expect("its memory");
    let symbols: Vec<_> = instruments.iter().map(|it| (it.number, it.symbol.as_str())).collect();
    assert_eq!(symbols, [(0, "ONE"), (1, "TWO")]);
    assert_eq!((&*instruments[0].tick, &*instruments[0].lot), ("0.01", "1"));
    let regions = Regions::of(&segment).expect("its regions");
    let mut reader = MarketReader::new(&regions).expect("its ring");
    let (mut tops, mut trades) = (0, 0);
    until("tops and trades of the market", DEADLINE, || {
        while let Some(read) = Some(reader.poll()).filter(|read| *read != MarketRead::Nothing) {
            if let MarketRead::Event(event) = read {
                assert!(event.instrument.0 < 2, "{event:?}");
                tops += usize::from(matches!(event.kind, EventKind::Top(_)));
                trades += usize::from(matches!(event.kind, EventKind::Trade(_)));
            }
        }
        tops > 0 && trades > 0
    });
    let book = client.book("TWO").expect("its book");
    assert!(book.is_sound && book.bids[0].0 < book.asks[0].0 && book.position > 0, "{book:?}");
    assert!(client.book("THREE").is_err());
    let views = Views::new(&regions).expect("its histograms");
    assert_eq!(views.round_trip.count(), 0, "nobody has sent an order");
    let status = world.status();
    let attached = |line: &serde_json::Value| line["attached"] == true;
    assert!(!status["strategies"].as_array().expect("strategies").iter().any(attached));
    // Who attaches beside it is not in its way, nor the other way round.
    let strategy = world.start_strategy("first");
    world.until_orders("first", 20);
    assert!(!client.is_gone());
    until("their times", DEADLINE, || views.round_trip.count() > 0);
    until("a worst order", DEADLINE, || {
        let (outliers, trace) = client.outliers(None).expect("the worst orders");
        assert_eq!(trace.threads.len(), 1, "{trace:?}");
        // Beside it orders come, that are not looked at yet.
        !outliers.worst.is_empty() && outliers.worst.iter().all(|it| !it.why.is_empty())
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.json");
    let name = file.to_str().expect("a path");
    let control = world.control();
    let write = ["gateway", "outliers", "--gateway", &control, "--perfetto", name];
    let said = run(&write);
    assert!(text(&said.stdout).contains("worst order"), "{}", text(&said.stderr));
    let trace = std::fs::read_to_string(&file).expect("a trace");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    assert!(events.iter().any(|it| it["ph"] == "X" && it["name"] == "send"), "{events:?}");
    let refused = run(&write);
    assert_eq!(refused.status.code(), Some(2), "nothing is replaced unasked");
    assert!(text(&refused.stderr).contains("replace it with -f"), "{}", text(&refused.stderr));
    assert!(run(&[&write[..], &["-f"]].concat()).status.success());
    super::interrupt(&strategy);
}
