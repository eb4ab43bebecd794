//! Instruments of one run at several venues, and how files of settings name them.

use super::cases::read;
use super::*;

const TWO: &str = "[[instruments]]\nsymbol = \"A\"\ntick = \"0.01\"\n\
                   [[instruments]]\nsymbol = \"B\"\ntick = \"0.01\"\nmaker_fee = \"-0.001\"\n";

#[test]
fn each_venue_has_its_own_latency_and_rules() {
    let text = format!(
        "{TWO}[latency]\nentry_ns = 10\nresponse_ns = 20\n[[venues]]\nname = \"far\"\n\
         symbols = [\"B\"]\nexchange = {{ fills = \"whole\" }}\n\
         latency = {{ entry_ns = 4000, response_ns = 6000 }}\n"
    );
    let file = read(&text).expect("right");
    // Both books are known when the second row is seen.
    let rows = [
        level(400, Side::Sell, 10_009, 1),
        trade(20_000, Side::Sell, 9_999, 12),
        level(90_000, Side::Buy, 9_000, 1),
    ];
    let recordings = [recording(&rows), recording(&rows)];
    let markets = file.markets(&recordings).expect("right");
    let bid = |of| OrderTerms { instrument: InstrumentId(of), ..limit(Side::Buy, 9_999, 5) };
    let (script, _) = Script::new(vec![(700, Ask::New(bid(0))), (700, Ask::New(bid(1)))]);
    let outcome = run_all(markets, script);
    let times: Vec<_> = outcome
        .orders
        .iter()
        .map(|it| (it.arrived_at.expect("it came").0, it.answered_at.expect("an answer").0))
        .collect();
    assert_eq!(times, [(710, 730), (4_700, 10_700)]);
    // Two lots are left for each: that is a part of one, and all of the other or nothing.
    let fills: Vec<_> = outcome.fills.iter().map(|it| (it.instrument.0, it.lots)).collect();
    assert_eq!(fills, [(0, 2), (1, 5)]);
    assert_eq!(outcome.instruments[0].money.fee, 0.0);
    assert!(outcome.instruments[1].money.fee < 0.0);
}

#[test]
fn what_is_wrong_with_a_venue_is_named() {
    let venue = |text: &str| read(&format!("{TWO}[[venues]]\n{text}")).expect_err("wrong");
    for (text, what) in [
        ("name = \"\"\nsymbols = []", "venues[0].name = \"\": each venue has a name"),
        ("name = \"x\"\nsymbols = [\"C\"]", "venues[0].symbols: no instrument has the symbol C"),
        (
            "name = \"x\"\nsymbols = [\"A\"]\n[[venues]]\nname = \"y\"\nsymbols = [\"A\"]",
            "venues[1].symbols: A is traded at x already",
        ),
        (
            "name = \"x\"\nsymbols = [\"A\"]\nexchange = { exponent = 0.0 }",
            "venues[0].exchange.exponent = 0",
        ),
        (
            "name = \"x\"\nsymbols = [\"A\"]\nlatency = { histogram = \"h\", entry_ns = 1 }",
            "venues[0].latency.entry_ns = 1: must be left out beside venues[0].latency.histogram",
        ),
    ] {
        let told = venue(text);
        assert!(told.contains(what), "{told}");
    }
}
