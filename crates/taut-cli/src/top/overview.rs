//! All gateways in a table, and all channels in another.

use taut_report::human_ns;

use super::app::{App, phrase};
use super::sheet::{Row, Sheet, Tone, number, words, wrapped};
use super::sort::SORTS;
use crate::observed::channels::{ChannelReader, ChannelStream};
use crate::observed::model::{GatewaySeen, State, Warning};
use crate::observed::processes::ProcessSeen;

/// The table of all gateways.
pub fn gateways(app: &App, width: u16) -> Sheet {
    let columns = vec![
        words("gateway", 14),
        words("venue", 8).from(90),
        words("state", 6),
        number("up", 6).from(100),
        number("ticks/s", 7),
        number("orders/s", 8),
        number("fills/s", 7).from(110),
        number("open", 5),
        number("p50 1s", 7),
        number("p99 1s", 7),
        number("p99 1m", 7).from(120),
        number("p99 all", 7).from(130),
        number("profit", 10),
        words("warned", 0),
    ];
    let rows = app.sorted().into_iter().map(row).collect();
    let by = SORTS.get(app.sort).copied().unwrap_or_default();
    let order = if app.is_reversed { ", reversed" } else { "" };
    let above =
        vec![format!("  p50, p99: tick to trade of the last second; sorted by {by}{order}")];
    let empty = "no gateway of this user runs yet; `taut gateway --config FILE` starts one";
    Sheet { above, columns, rows, empty, below: below(app, width) }
}

/// Lines below the table for the warnings of the gateway that is selected.
const WARNING_LINES: usize = 6;

/// What is wrong with the gateway that is selected, and what channels and processes there are.
fn below(app: &App, width: u16) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(gateway) = app.selected() {
        let name = phrase(&gateway.name);
        let line = |it: &Warning| format!("{name}: {}: {}", it.code, it.text);
        let width = usize::from(width).saturating_sub(4);
        let wrapped = gateway.warnings.iter().flat_map(|it| wrapped(&line(it), width));
        lines.extend(wrapped.map(|line| format!("  {line}")));
        if lines.len() > WARNING_LINES {
            lines.truncate(WARNING_LINES - 1);
            lines.push("  more on its page of warnings".to_owned());
        }
    }
    lines.extend(channels_line(app));
    match app.snapshot.processes.len() {
        0 => {}
        1 => lines.push("  1 process of taut: p shows it".to_owned()),
        count => lines.push(format!("  {count} processes of taut: p shows them")),
    }
    lines
}

/// In one line, what channels there are.
fn channels_line(app: &App) -> Option<String> {
    let channels = &app.snapshot.channels;
    if channels.is_empty() {
        return None;
    }
    let streams: Vec<_> = channels.iter().flat_map(|it| &it.streams).collect();
    let readers: Vec<_> = streams.iter().flat_map(|it| &it.readers).collect();
    let lost: u64 = readers.iter().map(|it| it.lost).sum();
    let [channels, streams, readers] =
        [(channels.len(), "channel"), (streams.len(), "stream"), (readers.len(), "reader")].map(
            |(count, what)| match count {
                1 => format!("1 {what}"),
                count => format!("{count} {what}s"),
            },
        );
    Some(format!("  {channels}, {streams}, {readers}, {lost} messages lost: c shows them"))
}

fn row(gateway: &GatewaySeen) -> Row {
    let per_second = |name: &str| rate(gateway.counter(name).1);
    let times = gateway.stage("tick to trade").cloned().unwrap_or_default();
    let paper = if gateway.paper { "*" } else { "" };
    let tone = match (gateway.state, gateway.warnings.is_empty()) {
        (State::Ended, _) => Tone::Dim,
        (State::Up, true) => Tone::Plain,
        _ => Tone::Bad,
    };
    Row::of([
        phrase(&gateway.name).to_owned(),
        format!("{}{paper}", gateway.venue),
        state(gateway).to_owned(),
        span(gateway.up_seconds),
        per_second("ticks"),
        per_second("orders"),
        per_second("fills"),
        match gateway.knows_orders {
            true => gateway.open_orders.to_string(),
            false => "?".to_owned(),
        },
        ns(times.second.count, times.second.p50_ns),
        ns(times.second.count, times.second.p99_ns),
        ns(times.minute.count, times.minute.p99_ns),
        ns(times.start.count, times.start.p99_ns),
        shown(&gateway.profit.total),
        warned(gateway),
    ])
    .tone(tone)
}

/// How a gateway is, in a word.
pub fn state(gateway: &GatewaySeen) -> &'static str {
    match gateway.state {
        State::Up if !gateway.latches.is_empty() => "KILLED",
        state => state.name(),
    }
}

/// The number of warnings, and the codes of the first ones.
fn warned(gateway: &GatewaySeen) -> String {
    let mut codes: Vec<&str> = Vec::new();
    for warning in &gateway.warnings {
        if !codes.contains(&warning.code.as_str()) {
            codes.push(&warning.code);
        }
    }
    match gateway.warnings.len() {
        0 => String::new(),
        count => format!("{count} {}", codes.join(",")),
    }
}

/// The table of all streams of all channels.
pub fn channels(app: &App) -> Sheet {
    let columns = vec![
        words("channel", 14),
        words("stream", 10),
        words("writer", 12),
        number("position", 10),
        number("a second", 8),
        number("dropped", 9).from(100),
        words("readers", 0),
    ];
    let mut rows = Vec::new();
    for channel in &app.snapshot.channels {
        if let Some(error) = &channel.error {
            let nothing = String::new;
            let (name, error) = (channel.name.clone(), error.clone());
            let cells = [name, nothing(), nothing(), nothing(), nothing(), nothing(), error];
            rows.push(Row::of(cells).tone(Tone::Bad));
        }
        rows.extend(channel.streams.iter().map(|it| stream(&channel.name, it)));
    }
    let above = vec!["  channels in shared memory".to_owned()];
    Sheet { above, columns, rows, empty: "no channels", below: Vec::new() }
}

fn stream(channel: &str, stream: &ChannelStream) -> Row {
    let writer = match stream.process {
        Some(process) => format!("{} {process}", stream.writer),
        None => stream.writer.clone(),
    };
    let reader = |it: &ChannelReader| {
        let process = it.process.map_or_else(|| "dead".to_owned(), |process| process.to_string());
        let lost = if it.lost > 0 { format!(" LOST {}", it.lost) } else { String::new() };
        let evicted = if it.is_evicted { " EVICTED" } else { "" };
        format!("{process} lag {}{lost}{evicted}", it.lag)
    };
    let readers: Vec<_> = stream.readers.iter().map(reader).collect();
    let has_lost = stream.readers.iter().any(|it| it.lost > 0 || it.is_evicted);
    let is_bad = has_lost || stream.writer == "stalled";
    Row::of([
        channel.to_owned(),
        stream.name.clone(),
        writer,
        stream.position.to_string(),
        rate(stream.per_second),
        stream.dropped.to_string(),
        readers.join("; "),
    ])
    .tone(if is_bad { Tone::Bad } else { Tone::Plain })
}

/// The table of all processes of `taut`.
pub fn processes(app: &App) -> Sheet {
    let columns =
        vec![number("process", 8), number("CPU", 6), number("memory", 9), words("taut", 0)];
    let row = |it: &ProcessSeen| {
        Row::of([
            it.process.to_string(),
            format!("{:.0}%", it.cpus * 100.0),
            format!("{} MiB", it.resident_bytes >> 20),
            it.command.clone(),
        ])
    };
    let above = vec!["  this user's processes of taut; CPU: of one CPU".to_owned()];
    let rows = app.snapshot.processes.iter().map(row).collect();
    Sheet { above, columns, rows, empty: "no other process of taut", below: Vec::new() }
}

/// A rate: `0`, `0.3`, `12`, `1,234`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        some if some < 9.95 => format!("{some:.1}"),
        many => taut_report::human_count(many.round() as u64),
    }
}

/// A duration; a dash where nothing was timed.
pub fn ns(count: u64, ns: u64) -> String {
    if count == 0 { "-".to_owned() } else { human_ns(ns) }
}

/// How long something has run: `59 s`, `12 min`, `3.5 h`, `2.1 d`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{:.1} h", seconds as f64 / 3_600.0),
        _ => format!("{:.1} d", seconds as f64 / 86_400.0),
    }
}

/// A decimal to its second place: exact digits are on other pages.
pub fn shown(decimal: &str) -> String {
    match decimal.split_once('.') {
        Some((whole, places)) => {
            let places: String = places.chars().chain("00".chars()).take(2).collect();
            format!("{whole}.{places}")
        }
        None => decimal.to_owned(),
    }
}
