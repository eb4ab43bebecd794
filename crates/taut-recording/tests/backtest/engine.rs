//! A recorded message file in taut's engine: by itself, and with the referee's requests.

use std::path::Path;

use taut_backtest::{Answer, Backtest, ConstantLatency, EngineExchange, Impact, Response, Stop};
use taut_recording::hft::{self, HftRow};
use taut_types::{Nanos, Price, Qty, Side};

use crate::case::{Case, time};
use crate::replay::send;
use crate::{convert, workload};

/// How far from the best levels are compared.
const NEAR: i64 = 300;

#[test]
fn a_message_file_in_the_engine_is_its_book() {
    let Some(path) = workload(convert::LOBSTER) else { return };
    let rows = convert::lobster(&path);
    // We see all at once, so that our side is what is recorded.
    let rows: Vec<_> =
        rows.into_iter().map(|row| HftRow { local_ts: row.exch_ts, ..row }).collect();
    let recording = hft::recording(&rows, Price(10_000_000), Qty::whole(1)).expect("rows");
    let latency = ConstantLatency { entry: 1, response: 1 };
    let exchange = EngineExchange::new(&recording, latency).expect("orders that do not cross");
    let mut backtest = Backtest::new(&recording, exchange).expect("a run");
    let mut times: Vec<_> = rows.iter().map(|row| row.exch_ts).collect();
    times.dedup();
    for (count, at) in times.iter().enumerate() {
        backtest.run_until(Nanos(*at), Stop::Time).expect("room");
        let (book, exchange) = (backtest.book(), backtest.exchange());
        for side in Side::BOTH {
            let best = book.best(side);
            assert_eq!(exchange.best(side), best, "{side:?} at {at}");
            let Some(best) = best.filter(|_| count % 200 == 0) else { continue };
            for tick in best - NEAR..=best + NEAR {
                let lots = (exchange.lots(side, tick), book.lots(side, tick));
                assert_eq!(lots.0, lots.1, "{side:?} {tick} at {at}");
            }
        }
    }
    let Impact { aggressed, hidden, out_of_turn, .. } = *backtest.exchange().impact();
    let expected = Impact { aggressed, hidden, out_of_turn, ..Impact::default() };
    assert_eq!(*backtest.exchange().impact(), expected);
    println!("{} instants are equal; {expected:?}", times.len());
}

#[test]
fn requests_among_recorded_orders_change_the_market_alike_each_time() {
    let Some(folder) = workload("workloads/backtest") else { return };
    let Some(first) = impact_of(&folder) else { return };
    assert_eq!(Some(&first), impact_of(&folder).as_ref());
    let (heard, impact) = first;
    let lots = heard.iter().filter(|said| said.answer == Answer::Filled);
    let lots: i64 = lots.map(|said| said.order.last_lots).sum();
    println!("{} responses, {lots} lots; {impact:?}", heard.len());
    // What we traded with each other is in ours twice.
    assert!(impact.traded_with_us() <= lots && (lots - impact.traded_with_us()) % 2 == 0);
    for changed in [impact.made, impact.taken, impact.crossed, impact.displaced, impact.gone] {
        assert!(changed > 0, "{impact:?}");
    }
}

/// What comes back, and what becomes of the market, when the referee's requests are sent.
fn impact_of(folder: &Path) -> Option<(Vec<Response>, Impact)> {
    let case = Case::read(folder, "aapl-fuzz-l3");
    let rows = case.events(folder)?;
    let recording = hft::recording(&rows, case.instrument.tick(), case.instrument.lot());
    let recording = recording.expect("rows");
    let (entry, response) = case.latency;
    let latency = ConstantLatency { entry, response };
    let exchange = EngineExchange::new(&recording, latency).expect("orders that do not cross");
    let mut backtest = Backtest::new(&recording, exchange).expect("a run");
    let mut heard = Vec::new();
    for line in &case.commands {
        backtest.run_until(time(line), Stop::Time).expect("room");
        heard.extend(std::iter::from_fn(|| backtest.poll_response()));
        // An order that was filled here and not there cannot be cancelled.
        let _ = send(&case, &mut backtest.trader(), line);
    }
    backtest.run_until(Nanos::MAX, Stop::Time).expect("room");
    heard.extend(std::iter::from_fn(|| backtest.poll_response()));
    Some((heard, *backtest.exchange().impact()))
}
