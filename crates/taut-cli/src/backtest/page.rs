//! The report of a backtest as text, and as a page.

use maud::{Markup, html};
use taut_report::page::{Table, page};
use taut_report::trace::Trace;
use taut_report::{human_count, human_ns, plain, utc_text};
use taut_runner::backtest::BacktestOutcome;

use super::report::Report;

/// The classes of the style sheet that lines have colours by: so many positions are drawn.
const CLASSES: [&str; 6] =
    ["p50", "p99", "tick_to_send", "order_round_trip", "tick_to_trade", "max"];

fn signed(value: Option<f64>, unit: &str) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:+.3}{unit}"))
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

fn time(ns: Option<f64>) -> String {
    ns.map_or("–".to_owned(), |ns| human_ns(ns.max(0.0) as u64))
}

fn count(count: usize) -> String {
    human_count(count as u64)
}

fn title(report: &Report) -> String {
    let early = match report.end {
        "stopped" => ", ended early",
        "exchange" => ", ended early by the exchange",
        _ => "",
    };
    format!("{} over {:.0} s of market data{early}", report.strategy, report.seconds)
}

/// Profit, and what it was made of.
fn money(report: &Report) -> Table<'static> {
    let in_currency = |value: f64| format!("{} {}", plain(value), report.currency());
    let row = |name: &str, value: String| vec![name.to_owned(), value.trim_end().to_owned()];
    let per_trade = report.return_over_trade.map(|it| it * 10_000.0);
    let rows = vec![
        row("profit after fees", in_currency(report.profit)),
        row("fees", in_currency(report.fees)),
        row("turnover", in_currency(report.turnover)),
        row("profit by turnover", signed(per_trade, " bp")),
        row("largest drawdown", in_currency(report.drawdown_max)),
        row("Sharpe ratio, of a year", ratio(report.sharpe)),
        row("Sortino ratio, of a year", ratio(report.sortino)),
        row("valued every", format!("{} s", plain(report.sample_seconds))),
    ];
    Table { heads: &["money", ""], rows }
}

fn orders(report: &Report) -> Table<'static> {
    let it = &report.orders;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = vec![
        row("orders sent", count(it.sent)),
        row("traded, wholly filled", format!("{}, {}", count(it.traded), count(it.filled))),
        row("cancelled", count(it.cancelled)),
        row("expired", count(it.expired)),
        row("rejected", count(it.rejected)),
        row("open at the end", count(it.open)),
        row("modifications", human_count(it.modifications)),
        row("traded of what was ordered", format!("{:.1}%", 100.0 * it.fill_rate)),
        row("refused by the gateway's risk", human_count(it.risk_rejects)),
        row("refused by the gateway otherwise", human_count(it.refused)),
    ];
    Table { heads: &["orders", ""], rows }
}

fn trades(report: &Report) -> Table<'static> {
    let it = &report.fills;
    let slippage = &report.slippage_basis_points;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let ahead = it.queue_ahead_lots_mean;
    let mut rows = vec![
        row("trades", count(it.count)),
        row("of orders that rested", count(it.maker)),
        row("of these, as the price passed them", count(it.maker_through)),
        row("of orders that took", count(it.taker)),
        row(
            "mean lots before them when they came to rest",
            ahead.map_or("–".to_owned(), |it| plain(it.round())),
        ),
        row("mean latency to the exchange", time(report.latency.entry_ns_mean)),
        row("mean latency back", time(report.latency.response_ns_mean)),
        row("slippage against the middle at the order", signed(slippage.all, " bp")),
        row("of orders that rested", signed(slippage.maker, " bp")),
        row("of orders that took", signed(slippage.taker, " bp")),
    ];
    for mark in &report.mark_outs {
        let after = human_ns(mark.after_ns.unsigned_abs());
        let value = signed(mark.basis_points, " bp");
        rows.push(row(&format!("the market {after} after"), format!("{value} of {}", mark.fills)));
    }
    Table { heads: &["trades", ""], rows }
}

fn instruments(report: &Report) -> Table<'static> {
    let row = |it: &super::report::OneInstrument| {
        vec![
            it.symbol.clone(),
            it.position.clone(),
            plain(it.profit),
            plain(it.fees),
            plain(it.turnover),
            human_count(it.fills),
        ]
    };
    let heads = &["instrument", "position", "profit", "fees", "turnover", "trades"];
    Table { heads, rows: report.instruments.iter().map(row).collect() }
}

/// The tables.
pub fn text(report: &Report) -> String {
    let rows = human_count(report.rows);
    let head = format!("{}: {rows} rows from {}", title(report), utc_text(report.start_utc_ns));
    let tables = [money(report), orders(report), trades(report), instruments(report)];
    let blocks = std::iter::once(head).chain(tables.iter().map(Table::markdown));
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// The page: value and position over time, and the tables.
pub fn html(report: &Report, outcome: &BacktestOutcome) -> String {
    let seconds = |at: taut_types::Nanos| at.since(outcome.start).0 as f64 / 1e9;
    let samples = || outcome.samples.iter();
    let value = samples().map(|it| (seconds(it.at), it.equity)).collect();
    let before_fees = samples().map(|it| (seconds(it.at), it.equity + it.fee)).collect();
    let mut highest = f64::NEG_INFINITY;
    let fall = samples().map(|it| {
        highest = highest.max(it.equity);
        (seconds(it.at), it.equity - highest)
    });
    let fall = fall.collect();
    let over = "seconds since the start";
    let equity = Trace {
        id: "equity",
        title: "Profit",
        over,
        lines: vec![("p50", "after fees", value), ("p99", "before fees", before_fees)],
    };
    let drawdown = Trace {
        id: "drawdown",
        title: "Below the highest profit",
        over,
        lines: vec![("p50", "", fall)],
    };
    let names: Vec<String> = report.instruments.iter().map(|it| it.symbol.clone()).collect();
    let lines = CLASSES.iter().zip(&names).enumerate().map(|(at, (class, name))| {
        let lot = outcome.steps(at).1;
        let held = |it: &taut_runner::backtest::Sample| {
            (seconds(it.at), it.positions.get(at).map_or(0.0, |lots| *lots as f64 * lot))
        };
        (*class, name.as_str(), samples().map(held).collect())
    });
    let position = Trace { id: "position", title: "Position", over, lines: lines.collect() };
    let rows = human_count(report.rows);
    let body: Markup = html! {
        header {
            p.kicker { "taut backtest" }
            h1 { (title(report)) }
            p.meta {
                time { (utc_text(report.start_utc_ns)) }
                " to " time { (utc_text(report.end_utc_ns)) } " · " (rows) " rows"
            }
        }
        (equity.section())
        (drawdown.section())
        (position.section())
        section { h2 { "Money" } (money(report).html()) }
        section { h2 { "Orders" } (orders(report).html()) }
        section {
            h2 { "Trades" }
            (trades(report).html())
            p.note {
                "Slippage above 0 is a loss; of what the market did after trades, below 0 is. Both \
                 are means by worth, in hundredths of a percent."
            }
        }
        section { h2 { "Instruments" } (instruments(report).html()) }
        p.note {
            "Ratios are those of steps of " (plain(report.sample_seconds)) " s, in a year of 252 \
             days: they depend on the steps. Own orders do not move the recorded market."
        }
    };
    page("taut backtest", &body)
}
