//! The pages of one gateway.

use taut_lat::Stage;
use taut_report::human_ns;
use taut_runner::service::{OrderLine, PositionLine, StrategyLine};

use super::app::{App, Page, Tab};
use super::overview::{ns, rate, shown};
use super::sheet::{Row, Sheet, Tone, cut, number, words, wrapped};
use super::sort::over;
use crate::observed::model::{
    Connection, Counter, GatewaySeen, InstrumentSeen, Level, OrderTimes, StageTimes, Times,
};

/// The page that is shown.
pub fn page(app: &App, width: u16) -> Sheet {
    let Some(gateway) = app.selected() else {
        return Sheet { empty: "no gateway is selected", ..Sheet::default() };
    };
    match &app.page {
        Page::Order(id) => order(gateway, id),
        Page::Gateway(Tab::Books) => books(gateway, app.line),
        Page::Gateway(Tab::Orders) => orders(gateway),
        Page::Gateway(Tab::Positions) => positions(gateway),
        Page::Gateway(Tab::Strategies) => strategies(gateway),
        Page::Gateway(Tab::Connections) => connections(gateway),
        Page::Gateway(Tab::Counters) => counters(gateway),
        Page::Gateway(Tab::Warnings) => warnings(gateway, width),
        _ => stages(gateway),
    }
}

fn stages(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![
        words("stage", 16),
        number("n 1s", 6),
        number("p50 1s", 8),
        number("p99 1s", 8),
        number("max", 8).from(120),
        number("n 1m", 7).from(120),
        number("p50 1m", 8).from(110),
        number("p99 1m", 8),
        number("n all", 9).from(120),
        number("p50 all", 8).from(110),
        number("p99 all", 8),
        number("p99.9", 8),
        number("max", 8).from(120),
    ];
    let of = |times: &Times, value: u64| ns(times.count, value);
    let row = |stage: &StageTimes| {
        let (second, minute, start) = (&stage.second, &stage.minute, &stage.start);
        Row::of([
            stage.stage.clone(),
            second.count.to_string(),
            of(second, second.p50_ns),
            of(second, second.p99_ns),
            of(second, second.max_ns),
            minute.count.to_string(),
            of(minute, minute.p50_ns),
            of(minute, minute.p99_ns),
            start.count.to_string(),
            of(start, start.p50_ns),
            of(start, start.p99_ns),
            of(start, start.p999_ns),
            of(start, start.max_ns),
        ])
    };
    let above = vec![
        "  an order's time in the last second (1s), minute (1m), since the start (all)".to_owned(),
    ];
    let rows = gateway.stages.iter().map(row).collect();
    Sheet { above, columns, rows, empty: "nothing was seen yet", below: Vec::new() }
}

/// Levels of a book below the list of instruments.
const DEPTH: usize = 8;

fn books(gateway: &GatewaySeen, selected: usize) -> Sheet {
    let columns = vec![
        words("instrument", 15),
        number("bid qty", 8),
        number("bid", 10),
        number("ask", 10),
        number("ask qty", 8),
        number("events/s", 8),
        number("last", 10).from(120),
        number("trades", 8).from(120),
        words("", 0),
    ];
    let parts = |best: &Option<Level>| match best {
        Some(level) => [level.price.clone(), level.quantity.clone()],
        None => ["-".to_owned(), "-".to_owned()],
    };
    let row = |it: &InstrumentSeen| {
        let ([bid, bid_quantity], [ask, ask_quantity]) = (parts(&it.bid), parts(&it.ask));
        let state = match it.is_sound {
            true => String::new(),
            false => format!("STALE {}", it.stale_reason),
        };
        Row::of([
            it.symbol.clone(),
            bid_quantity,
            bid,
            ask,
            ask_quantity,
            rate(it.events_per_second),
            it.last.clone().unwrap_or_else(|| "-".to_owned()),
            it.trades.to_string(),
            state,
        ])
        .tone(if it.is_sound { Tone::Plain } else { Tone::Bad })
    };
    let rows: Vec<_> = gateway.instruments.iter().map(row).collect();
    let below = gateway.instruments.get(selected).map(depth).unwrap_or_default();
    let lost = gateway.ring_lost;
    let above = match lost {
        0 => Vec::new(),
        lost => vec![format!("  this screen was too slow for {lost} events, and asked anew")],
    };
    Sheet { above, columns, rows, empty: "no instruments", below }
}

fn depth(instrument: &InstrumentSeen) -> Vec<String> {
    let mut lines =
        vec![format!("  {}: tick {}, lot {}", instrument.symbol, instrument.tick, instrument.lot)];
    let (bids, asks) = (&instrument.bids, &instrument.asks);
    if bids.is_empty() && asks.is_empty() {
        lines.push("  no levels were told yet".to_owned());
    }
    for place in 0..bids.len().max(asks.len()).min(DEPTH) {
        let nothing = Level::default();
        let [bid, ask] = [bids, asks].map(|side| side.get(place).unwrap_or(&nothing));
        lines.push(format!(
            "  {:>14} {:>13} | {:<13} {:<14}",
            bid.quantity, bid.price, ask.price, ask.quantity
        ));
    }
    lines
}

/// What of an order's times stands in the list: decision, risk and encoding, the send call.
fn brief(times: Option<&OrderTimes>) -> [String; 2] {
    let Some(times) = times else { return ["-".to_owned(), String::new()] };
    let longest = times.stages_ns.iter().zip(Stage::ALL).max_by_key(|(ns, _)| **ns);
    let longest = longest.map(|(ns, stage)| format!("{} {}", stage.name(), human_ns(*ns)));
    [human_ns(times.tick_to_trade_ns), longest.unwrap_or_default()]
}

fn orders(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![
        words("id", 16),
        words("strategy", 10),
        words("symbol", 10),
        words("side", 4),
        number("price", 11),
        number("open", 8),
        number("of", 8).from(100),
        words("state", 10).from(100),
        number("t2t", 8),
        words("longest", 0).from(100),
    ];
    let times = |id: &str| gateway.recent.iter().find(|it| it.id == id);
    let open = |it: &OrderLine| {
        let [whole, longest] = brief(times(&it.id));
        Row::of([
            it.id.clone(),
            it.strategy.clone(),
            it.symbol.clone(),
            it.side.clone(),
            it.price.clone(),
            it.open.clone(),
            it.quantity.clone(),
            it.state.clone(),
            whole,
            longest,
        ])
    };
    let sent = |it: &OrderTimes| {
        let [whole, longest] = brief(Some(it));
        let cells = ["over", "", "", "", "", "", ""].map(str::to_owned);
        Row::of([it.id.clone()].into_iter().chain(cells).chain([whole, longest])).tone(Tone::Dim)
    };
    let mut rows: Vec<_> = gateway.orders.iter().map(open).collect();
    let open = rows.len();
    rows.extend(over(gateway).map(sent));
    let above = vec![format!(
        "  {open} open, then the last that are over; t2t: tick to trade, Enter shows its stages"
    )];
    Sheet { above, columns, rows, empty: "no orders", below: Vec::new() }
}

fn order(gateway: &GatewaySeen, id: &str) -> Sheet {
    let mut above = vec![format!("  order {id}")];
    if let Some(open) = gateway.orders.iter().find(|it| it.id == id) {
        above.push(format!(
            "  {} {} {} at {}, {} of it open, {}; strategy {}",
            open.side, open.quantity, open.symbol, open.price, open.open, open.state, open.strategy
        ));
    } else {
        above.push("  not open any more".to_owned());
    }
    let Some(times) = gateway.recent.iter().find(|it| it.id == id) else {
        let empty = "its times are not among those of the last orders, or it answers no packet";
        return Sheet { above, empty, ..Sheet::default() };
    };
    let columns = vec![
        words("stage", 16),
        number("took", 9),
        number("until", 9),
        number("share", 6),
        words("", 0),
    ];
    let whole = times.tick_to_trade_ns.max(1);
    let mut end = 0;
    let mut rows = Vec::new();
    for (took, stage) in times.stages_ns.iter().zip(Stage::ALL) {
        end += took;
        let share = *took as f64 / whole as f64;
        let bar = "#".repeat((share * 30.0).round() as usize);
        let share = format!("{:.0}%", share * 100.0);
        rows.push(Row::of([stage.name().to_owned(), human_ns(*took), human_ns(end), share, bar]));
    }
    above.push(format!("  tick to trade {}", human_ns(times.tick_to_trade_ns)));
    Sheet { above, columns, rows, empty: "", below: Vec::new() }
}

fn positions(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![
        words("strategy", 11),
        words("symbol", 13),
        number("account", 7),
        number("quantity", 10),
        number("average", 10),
        number("realised", 10),
        number("unrealised", 10),
        number("fees", 10).from(100),
    ];
    let row = |it: &PositionLine| {
        Row::of([
            it.strategy.clone(),
            it.symbol.clone(),
            it.account.to_string(),
            it.quantity.clone(),
            cut(&it.average_price, 10),
            shown(&it.realised),
            shown(&it.unrealised),
            shown(&it.fees),
        ])
    };
    let profit = &gateway.profit;
    let above = vec![format!(
        "  profit since the day began: realised {}, unrealised {}, fees {}: {}",
        shown(&profit.realised),
        shown(&profit.unrealised),
        shown(&profit.fees),
        shown(&profit.total)
    )];
    let rows = gateway.positions.iter().map(row).collect();
    let empty = match gateway.knows_orders {
        true => "nothing is held",
        false => "not known here: a run tells its positions at its end",
    };
    Sheet { above, columns, rows, empty, below: Vec::new() }
}

fn strategies(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![
        words("strategy", 20),
        words("attached", 8),
        number("lag", 9),
        number("lost", 9),
        number("no room", 9),
        number("dropped", 9),
    ];
    let row = |it: &StrategyLine| {
        let is_bad = it.lapped > 0 || it.full > 0 || it.dropped > 0;
        let tone = if is_bad { Tone::Bad } else { Tone::Plain };
        Row::of([
            it.name.clone(),
            if it.attached { "yes" } else { "no" }.to_owned(),
            it.lag.to_string(),
            it.lapped.to_string(),
            it.full.to_string(),
            it.dropped.to_string(),
        ])
        .tone(tone)
    };
    let above = vec![
        "  lag, lost: market events not read yet, and lost because it read too slowly".to_owned(),
    ];
    let rows = gateway.strategies.iter().map(row).collect();
    Sheet { above, columns, rows, empty: "the settings name no strategy", below: Vec::new() }
}

fn connections(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![
        words("connection", 12),
        words("state", 6),
        words("address", 22),
        number("ended", 6),
        words("the venue said", 0),
    ];
    let row = |it: &Connection| {
        Row::of([
            it.name.clone(),
            if it.is_up { "up" } else { "DOWN" }.to_owned(),
            it.address.clone(),
            it.ended.to_string(),
            it.refusal.clone(),
        ])
        .tone(if it.is_up { Tone::Plain } else { Tone::Bad })
    };
    let mut below = Vec::new();
    if let Some(clock) = gateway.venue_clock {
        let [ahead, round_trip] = [clock.ahead_us, clock.round_trip_us].map(|us| us as f64 / 1e3);
        let jumps = clock.jumps;
        below.push(format!(
            "  venue's clock: {ahead:.1} ms ahead, round trip {round_trip:.1} ms, {jumps} jumps"
        ));
    }
    let rows = gateway.connections.iter().map(row).collect();
    Sheet { above: Vec::new(), columns, rows, empty: "nothing was seen yet", below }
}

fn counters(gateway: &GatewaySeen) -> Sheet {
    let columns = vec![words("counter", 28), number("since start", 16), number("a second", 12)];
    let counted = gateway.counters.iter().filter(|it| it.value > 0);
    let rows = counted.map(|it: &Counter| {
        let value = taut_report::human_count(it.value);
        Row::of([it.name.clone(), value, rate(it.per_second)])
    });
    let above =
        vec!["  those that have counted something; docs/gateway.md explains them".to_owned()];
    let rows = rows.collect();
    Sheet { above, columns, rows, empty: "nothing was counted yet", below: Vec::new() }
}

fn warnings(gateway: &GatewaySeen, width: u16) -> Sheet {
    let columns = vec![words("code", 18), words("what is wrong", 0)];
    let mut rows = Vec::new();
    for warning in &gateway.warnings {
        let mut code = warning.code.clone();
        for line in wrapped(&warning.text, usize::from(width).saturating_sub(21)) {
            rows.push(Row::of([std::mem::take(&mut code), line]).tone(Tone::Bad));
        }
    }
    Sheet { above: Vec::new(), columns, rows, empty: "nothing is wrong", below: Vec::new() }
}
