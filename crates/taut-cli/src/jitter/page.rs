//! The report of a run as text, and as a page.

use maud::{Markup, html};
use taut_doctor::jitter::{Cause, CpuJitter, Gap};
use taut_report::chart::Curves;
use taut_report::page::{Table, page};
use taut_report::{human_count, human_ns, utc_text};
use taut_types::Nanos;

use super::report::Report;

const HEADS: [&str; 14] = [
    "CPU",
    "hiccups",
    "min",
    "p50",
    "p99",
    "p99.9",
    "max",
    "≥ 1 µs",
    "≥ 10 µs",
    "≥ 100 µs",
    "≥ 1 ms",
    "≥ 10 ms",
    "lost",
    "share",
];
const CAUSE_HEADS: [&str; 8] = [
    "CPU",
    "another task ran",
    "page fault",
    "interrupt, hypervisor or firmware",
    "below 10 µs",
    "switches",
    "stolen",
    "interrupts",
];
/// The longest hiccups that are told.
const LONGEST: usize = 5;
/// Interrupt lines that are named.
const LINES: usize = 5;
/// The classes of the style sheet that lines have colours by: so many CPUs are drawn.
const CLASSES: [&str; 6] =
    ["p50", "p99", "tick_to_send", "order_round_trip", "tick_to_trade", "max"];
/// Where the curves have their points, in microseconds.
const POINTS: [u64; 16] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

fn span(span: Nanos) -> String {
    human_ns(span.0.max(0).unsigned_abs())
}

/// A row for each CPU: the hiccups' lengths.
fn lengths(report: &Report<'_>) -> Table<'static> {
    let row = |one: &CpuJitter| {
        let all = one.gaps.histogram().summary();
        let figure = |ns: u64| if all.count == 0 { "–".to_owned() } else { human_ns(ns) };
        let mut cells = vec![one.cpu.to_string(), human_count(all.count)];
        cells.extend([all.min, all.p50, all.p99, all.p999, all.max].map(figure));
        cells.extend(one.gaps.above().map(human_count));
        let share = 100.0 * all.sum as f64 / 1e9 / report.seconds().max(1e-9);
        cells.extend([human_ns(all.sum), format!("{share:.3}%")]);
        cells
    };
    Table { heads: &HEADS, rows: report.cpus().map(row).collect() }
}

/// A row for each CPU: what the kernel told of the causes.
fn causes(report: &Report<'_>) -> Table<'static> {
    let row = |one: &CpuJitter| {
        let cause = |cause| match one.gaps.by_cause(cause) {
            (0, _) => "–".to_owned(),
            (count, sum) => format!("{} ({})", human_count(count), span(sum)),
        };
        let mut cells = vec![one.cpu.to_string()];
        cells.extend(Cause::ALL.map(cause));
        let (slept, taken) = one.switches;
        cells.push(human_count(slept + taken));
        cells.push(one.stolen.map_or("?".to_owned(), span));
        let lines = one.interrupts.iter().take(LINES);
        let lines: Vec<String> =
            lines.map(|it| format!("{} {}", it.label(), human_count(it.count))).collect();
        cells.push(if lines.is_empty() { "–".to_owned() } else { lines.join(", ") });
        cells
    };
    Table { heads: &CAUSE_HEADS, rows: report.cpus().map(row).collect() }
}

/// The longest ones of all CPUs, a line each.
fn longest(report: &Report<'_>) -> Vec<String> {
    let all = report.cpus().flat_map(|one| one.gaps.worst().iter().map(|gap| (one.cpu, *gap)));
    let mut all: Vec<(usize, Gap)> = all.collect();
    all.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.length));
    let line = |(cpu, gap): &(usize, Gap)| {
        let at = gap.at.0 as f64 / 1e9;
        format!("CPU {cpu}: {} at {at:.3} s, {}", span(gap.length), gap.cause.words())
    };
    all.iter().take(LONGEST).map(line).collect()
}

/// What most of the lost time of a CPU is due to, in a line for each CPU that lost some.
fn verdicts(report: &Report<'_>) -> Vec<String> {
    let line = |one: &CpuJitter| {
        let lost = one.gaps.histogram().sum();
        let cause = |cause: &Cause| one.gaps.by_cause(*cause).1;
        let most = Cause::ALL.into_iter().max_by_key(cause).filter(|_| lost > 0)?;
        let percent = 100.0 * cause(&most).0 as f64 / lost as f64;
        let words = match most {
            Cause::Descheduled => "another task ran: `taut doctor` names busy neighbours",
            Cause::PageFault => "pages were missing: lock the memory of what trades",
            Cause::Short => "short interrupts, most likely the timer's",
            Cause::Unknown if one.stolen.is_some_and(|stolen| stolen > Nanos::ZERO) => {
                "interrupts or the hypervisor, which took time of this CPU meanwhile"
            }
            Cause::Unknown => "interrupts, or what the kernel does not see",
        };
        Some(format!("CPU {}: {percent:.0}% of the lost time: {words}", one.cpu))
    };
    report.cpus().filter_map(line).collect()
}

/// How long it was measured.
fn title(report: &Report<'_>) -> String {
    let early = if report.interrupted() { ", interrupted" } else { "" };
    format!("hiccups of 1 µs or more in {:.1} s{early}", report.seconds())
}

/// The tables, the longest hiccups, and how far the machine is to be trusted.
pub fn text(report: &Report<'_>) -> String {
    let mut blocks = vec![title(report), lengths(report).markdown(), causes(report).markdown()];
    for (head, lines) in [("longest", longest(report)), ("causes", verdicts(report))] {
        if !lines.is_empty() {
            blocks.push(format!("{head}:\n  {}", lines.join("\n  ")));
        }
    }
    blocks.push(format!("conditions: {}", report.conditions()));
    blocks.join("\n\n")
}

/// How many hiccups of a CPU are as long as each point, or longer; those that are none are left
/// out, which a logarithmic axis has no place for.
fn points(one: &CpuJitter) -> Vec<(f64, f64)> {
    let count = |us: u64| -> u64 {
        let buckets = one.gaps.histogram().buckets();
        buckets.filter(|bucket| bucket.highest >= us * 1_000).map(|bucket| bucket.count).sum()
    };
    let points = POINTS.map(|us| (us as f64, count(us) as f64));
    points.into_iter().filter(|(_, count)| *count > 0.0).collect()
}

/// The page: a curve for each CPU, and the tables.
pub fn html(report: &Report<'_>) -> String {
    let mut drawn: Vec<&CpuJitter> = report.cpus().collect();
    drawn.sort_by_key(|one| std::cmp::Reverse(one.gaps.histogram().sum()));
    let left_out = drawn.len().saturating_sub(CLASSES.len());
    let names: Vec<String> = drawn.iter().map(|one| format!("CPU {}", one.cpu)).collect();
    let lines = CLASSES.iter().zip(&names).zip(&drawn);
    let lines = lines.map(|((class, name), one)| (*class, name.as_str(), points(one))).collect();
    let curves = Curves {
        id: "hiccups",
        title: "How many hiccups are so long, or longer",
        over: "microseconds",
        lines,
        mark: None,
    };
    let list = |lines: Vec<String>| -> Markup {
        html! { ul.notes { @for line in lines { li { (line) } } } }
    };
    let body = html! {
        header {
            p.kicker { "taut jitter" }
            h1 { (title(report)) }
            p.meta { time { (utc_text(report.started_utc().0)) } " · " (report.machine().text()) }
        }
        p.note { "The machine was " (report.conditions()) "." }
        (curves.section())
        @if left_out > 0 {
            p.note { "Those with the most lost time; " (left_out) " more below." }
        }
        section { h2 { "Lengths" } (lengths(report).html()) }
        section { h2 { "Causes" } (causes(report).html()) (list(verdicts(report))) }
        section { h2 { "The longest" } (list(longest(report))) }
    };
    page("taut jitter", &body)
}
