//! What an operator asks of a running gateway.

use std::path::Path;

use serde_json::json;
use taut_runner::service::{
    ControlClient, ControlReply, ControlRequest, LatchLine, StageLine, StaleBook, StrategyLine,
    VenueClockLine,
};
use taut_sys::utc;
use taut_types::Nanos;

use crate::config_file::failure;
use crate::exit::Failure;
use crate::gateway::which::Which;
use crate::report::human_ns;
use crate::terminal;

/// Books that cannot be trusted, of which the status says why.
const STALE_BOOKS_SHOWN: usize = 8;

fn connect(which: &Which) -> Result<ControlClient, Failure> {
    ControlClient::connect(&which.gateway).map_err(failure)
}

/// Has it do something.
pub fn act(which: &Which, request: &ControlRequest) -> Result<(), Failure> {
    match connect(which)?.ask(request).map_err(failure)? {
        ControlReply::Done if which.json => terminal::print_json(&json!({ "done": true })),
        ControlReply::Done => terminal::print("done"),
        other => Err(Failure::Run(format!("{other:?} is no answer to this"))),
    }
}

/// How it is.
pub fn status(which: &Which) -> Result<(), Failure> {
    let reply = connect(which)?.ask(&ControlRequest::Status).map_err(failure)?;
    let ControlReply::Status(status) = reply else {
        return Err(Failure::Run(format!("{reply:?} is no status")));
    };
    if which.json {
        let counters: serde_json::Map<_, _> =
            status.counters.iter().map(|(name, count)| (name.clone(), (*count).into())).collect();
        let mut told = json!(&status);
        told["counters"] = counters.into();
        return terminal::print_json(&told);
    }
    let yes = |is: bool| if is { "yes" } else { "no" };
    terminal::print(format_args!(
        "gateway '{}', process {}, up {} s",
        status.name, status.process, status.up_seconds
    ))?;
    let priority = match status.order_priority {
        0 => "primary".to_owned(),
        backup => format!("backup {backup}"),
    };
    terminal::print(format_args!(
        "  order entry  {}, {} ({priority})",
        if status.order_entry { "up" } else { "down" },
        status.order_address
    ))?;
    if status.paper {
        terminal::print("               on paper: no order leaves")?;
    }
    // What is over by now is only of interest to whoever reads JSON.
    let is_of_interest = !status.order_entry || !status.uncompared.is_empty();
    if is_of_interest && !status.order_refusal.is_empty() {
        let words = format!("               the venue said: {}", status.order_refusal);
        terminal::print(words)?;
    }
    if let Some(VenueClockLine { ahead_us, round_trip_us, jumps }) = status.venue_clock {
        let [ahead, round_trip] = [ahead_us, round_trip_us].map(|us| us as f64 / 1e3);
        terminal::print(format_args!(
            "  venue clock  {ahead:.1} ms ahead, round trip {round_trip:.1} ms, {jumps} jumps"
        ))?;
    }
    terminal::print(format_args!(
        "  books sound  {}, {} instruments",
        yes(status.books_sound),
        status.instruments
    ))?;
    for StaleBook { symbol, reason } in status.stale_books.iter().take(STALE_BOOKS_SHOWN) {
        terminal::print(format_args!("               {symbol}: {reason}"))?;
    }
    if let Some(more @ 1..) = status.stale_books.len().checked_sub(STALE_BOOKS_SHOWN) {
        terminal::print(format_args!("               {more} more; `--json` names all"))?;
    }
    for symbol in &status.uncompared {
        let words = "halted until the venue says that it has its tick and lot";
        terminal::print(format_args!("               {symbol}: {words}"))?;
    }
    if !status.books_sound && !status.market_data_refusal.is_empty() {
        let words = format!("               the venue said: {}", status.market_data_refusal);
        terminal::print(words)?;
    }
    if status.latches.is_empty() {
        terminal::print("  killed       no")?;
    }
    for LatchLine { scope, cause, since_ns } in &status.latches {
        let since = since_ns.map_or_else(
            || "before the gateway was started".to_owned(),
            |since| format!("{} s ago", utc().since(Nanos(since)).0 / 1_000_000_000),
        );
        terminal::print(format_args!("  killed       {scope}: {cause}, {since}"))?;
    }
    terminal::print(format_args!("  open orders  {}", status.open_orders))?;
    for strategy in &status.strategies {
        let StrategyLine { name, attached, lag, lapped, full, dropped, .. } = strategy;
        let state = match attached {
            true => format!("attached, lag {lag}, lapped {lapped}, full {full}"),
            false => "not attached".to_owned(),
        };
        terminal::print(format_args!("  strategy     {name}: {state}, dropped {dropped}"))?;
    }
    for difference in &status.position_differences {
        terminal::print(format_args!("  position     when they were compared last, {difference}"))?;
    }
    let counted = status.counters.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    terminal::print(format_args!("  counted      {}", counted.join(", ")))?;
    Ok(())
}

/// Where the time of a tick goes.
pub fn stages(which: &Which) -> Result<(), Failure> {
    let reply = connect(which)?.ask(&ControlRequest::Stages).map_err(failure)?;
    let ControlReply::Stages(stages) = reply else {
        return Err(Failure::Run(format!("{reply:?} are no stages")));
    };
    if which.json {
        let of = |line: &StageLine| {
            let &StageLine { count, p50_ns: p50, p99_ns: p99, p999_ns: p999, max_ns: max, .. } =
                line;
            let figures = json!({
                "count": count, "p50": p50, "p99": p99, "p999": p999, "max": max,
            });
            (line.stage.replace([' ', '-'], "_"), figures)
        };
        let stages: serde_json::Map<_, _> = stages.iter().map(of).collect();
        return terminal::print_json(&json!({ "stages_ns": stages }));
    }
    terminal::print(format_args!(
        "{:<17} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "stage", "count", "p50", "p99", "p99.9", "max"
    ))?;
    for StageLine { stage, count, p50_ns, p99_ns, p999_ns, max_ns } in &stages {
        let [p50, p99, p999, max] = [p50_ns, p99_ns, p999_ns, max_ns].map(|ns| human_ns(*ns));
        terminal::print(format_args!(
            "{stage:<17} {count:>10} {p50:>10} {p99:>10} {p999:>10} {max:>10}"
        ))?;
    }
    Ok(())
}

/// The open orders.
pub fn orders(which: &Which) -> Result<(), Failure> {
    let orders = connect(which)?.orders().map_err(failure)?;
    if which.json {
        return terminal::print_json(&orders);
    }
    if orders.is_empty() {
        terminal::tell("no open orders");
    }
    terminal::print(format_args!(
        "{:<16} {:<12} {:<15} {:<4} {:>14} {:>12} {:>12} state",
        "id", "strategy", "symbol", "side", "price", "quantity", "open"
    ))?;
    for order in &orders {
        terminal::print(format_args!(
            "{:<16} {:<12} {:<15} {:<4} {:>14} {:>12} {:>12} {}",
            order.id,
            order.strategy,
            order.symbol,
            order.side,
            order.price,
            order.quantity,
            order.open,
            order.state
        ))?;
    }
    Ok(())
}

/// What is held, and its profit.
pub fn positions(which: &Which) -> Result<(), Failure> {
    let positions = connect(which)?.positions().map_err(failure)?;
    if which.json {
        return terminal::print_json(&positions);
    }
    if positions.is_empty() {
        terminal::tell("no positions");
    }
    terminal::print(format_args!(
        "{:<12} {:<15} {:>7} {:>12} {:>14} {:>16} {:>16} {:>12}",
        "strategy",
        "symbol",
        "account",
        "quantity",
        "average price",
        "realised",
        "unrealised",
        "fees"
    ))?;
    for held in &positions {
        terminal::print(format_args!(
            "{:<12} {:<15} {:>7} {:>12} {:>14} {:>16} {:>16} {:>12}",
            held.strategy,
            held.symbol,
            held.account,
            held.quantity,
            shown(&held.average_price),
            shown(&held.realised),
            shown(&held.unrealised),
            shown(&held.fees)
        ))?;
    }
    Ok(())
}

/// A decimal without what lies beyond its eighth place; `--json` has all of it.
fn shown(decimal: &str) -> &str {
    match decimal.split_once('.') {
        Some((whole, places)) if places.len() > 8 => {
            let cut = decimal.get(..whole.len() + 9).unwrap_or(decimal);
            let cut = cut.trim_end_matches('0').trim_end_matches('.');
            if cut == "-0" { "0" } else { cut }
        }
        _ => decimal,
    }
}

/// All that it has, printed or written into a file.
pub fn snapshot(which: &Which, file: Option<&Path>) -> Result<(), Failure> {
    let reply = connect(which)?.ask(&ControlRequest::Snapshot).map_err(failure)?;
    let ControlReply::Snapshot(snapshot) = reply else {
        return Err(Failure::Run(format!("{reply:?} is no snapshot")));
    };
    let Some(file) = file else { return terminal::print_json(&snapshot) };
    let written = snapshot.write(file);
    written.map_err(|error| Failure::Run(format!("{}: {error}", file.display())))
}

/// The limits that hold, and how much of them is used.
pub fn limits(which: &Which) -> Result<(), Failure> {
    let limits = connect(which)?.limits().map_err(failure)?;
    if which.json {
        return terminal::print_json(&limits);
    }
    if limits.is_empty() {
        terminal::tell("no limits");
    }
    terminal::print(format_args!(
        "{:<10} {:<20} {:<15} {:>20} of",
        "scope", "name", "limit", "used"
    ))?;
    for line in &limits {
        let max = line.max.as_deref().unwrap_or("unlimited");
        terminal::print(format_args!(
            "{:<10} {:<20} {:<15} {:>20} {max}",
            line.scope, line.name, line.limit, line.used
        ))?;
    }
    Ok(())
}

/// Has it read its settings again.
pub fn reload(which: &Which) -> Result<(), Failure> {
    let reply = connect(which)?.ask(&ControlRequest::Reload).map_err(failure)?;
    let ControlReply::Reloaded { changes } = reply else {
        return Err(Failure::Run(format!("{reply:?} is no answer to this")));
    };
    if which.json {
        return terminal::print_json(&json!({ "changes": changes }));
    }
    if changes.is_empty() {
        return terminal::print("nothing differs");
    }
    changes.iter().try_for_each(terminal::print)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_decimal_is_shown_to_its_eighth_place() {
        for (decimal, text) in [
            ("-0.173333333333333334", "-0.17333333"),
            ("-0.000000000026666666", "0"),
            ("12.500000000000000001", "12.5"),
            ("585.123456789", "585.12345678"),
            ("7.00000001", "7.00000001"),
            ("-3", "-3"),
        ] {
            assert_eq!(shown(decimal), text);
        }
    }
}
