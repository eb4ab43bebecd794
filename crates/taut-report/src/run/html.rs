//! `report.html`: one file without any reference to another.

use maud::{Markup, html};
use taut_lat::{Snapshot, Summary};

use super::breakdown::{Bar, breakdown};
use super::model::RunReport;
use super::outliers;
use super::percentiles::percentiles;
use super::tables;
use super::timeline::timeline;
use crate::chart::{figure, legend};
use crate::page::page;
use crate::units::{human_count, human_ns, utc_text};

/// The page.
pub fn html(report: &RunReport) -> String {
    let seconds = format!("{:.1}", report.seconds);
    let body = html! {
        header {
            p.kicker { "taut · tick to trade" }
            h1 { (capitalised(&report.mode)) " mode, " (seconds) " seconds" }
            p.meta { time { (utc_text(report.started_utc_ns)) } " · " (report.machine.cpu) }
            pre.command { code { (report.command_line) } }
        }
        (key_figures(report))
        section { h2 { "Latency by percentile" } (percentile_curve(report)) }
        section { h2 { "Where the time goes" } (stage_breakdown(report)) }
        section { h2 { "Tick to trade over time" } (over_time(report)) }
        @if let Some(worst) = outliers::section(&report.outliers) {
            section { h2 { "The worst orders" } (worst) }
        }
        section { h2 { "Counts" } (tables::counts(report)) }
        @if !report.positions.is_empty() {
            section { h2 { "Positions and profit" } (tables::positions(report)) }
        }
        section { h2 { "How it was measured" } (conditions(report)) }
    };
    page(&format!("taut: {} run, {seconds} s", report.mode), &body)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// What a reader wants to know first.
fn key_figures(report: &RunReport) -> Markup {
    let trade = report.path.tick_to_trade.summary();
    let send = report.path.tick_to_send.summary();
    let lost = report.counts.lost + report.counts.unanswered;
    let tiles = [
        ("tick to trade, p50", figure_of(trade, trade.p50), "tile"),
        ("tick to trade, p99", figure_of(trade, trade.p99), "tile"),
        ("less send, p50", figure_of(send, send.p50), "tile"),
        ("orders", human_count(report.counts.orders), "tile"),
        ("fills", human_count(report.counts.fills), "tile"),
        ("lost + unanswered", human_count(lost), bad_if(lost > 0)),
        ("machine", report.conditions.verdict().to_owned(), bad_if(!report.conditions.is_quiet())),
    ];
    html! {
        dl.tiles {
            @for (name, value, class) in tiles {
                div class=(class) { dt { (name) } dd { (value) } }
            }
        }
    }
}

const fn bad_if(is_bad: bool) -> &'static str {
    if is_bad { "tile bad" } else { "tile" }
}

const NO_ORDER: &str = "No order was measured.";

/// Tick-to-trade, less send, and the round trip by percentile.
fn percentile_curve(report: &RunReport) -> Markup {
    let named = [report.tick_to_trade(), report.tick_to_send(), report.order_round_trip()];
    html! {
        @if let Some(figure) = figure(|layout| percentiles(report, layout)) {
            ul.legend {
                @for named in named {
                    li {
                        i class={ "key " (named.tag) } {}
                        @if named.tag == "tick_to_send" { "tick to trade " }
                        (named.label)
                        span.figures { (figures(named.histogram)) }
                    }
                }
            }
            (figure)
        } @else {
            p.empty { (NO_ORDER) }
        }
        p.note {
            "Tick to trade runs from the return of the gateway's receive call to the return of its \
             send call; the order round trip from the send call to the execution report. Every \
             further nine has the same width."
        }
    }
}

/// Where the time goes: bars and the table of the stages.
fn stage_breakdown(report: &RunReport) -> Markup {
    let bars = breakdown_bars(report);
    html! {
        @if report.path.tick_to_trade.count() > 0 {
            ul.legend.stages {
                @for stage in report.stages() {
                    li { i class={ "key " (stage.tag) } {} (stage.label) }
                }
            }
            @if let Some(figure) = figure(|layout| Some(breakdown(&bars, layout))) { (figure) }
        }
        (tables::stages(report))
        p.note {
            "The stages of every order add up to its tick-to-trade time exactly, so their sums, \
             means and shares do too; percentiles do not add up. A stage that this mode does not \
             have is 0. " em { "Bare send" } " is the same send call without taut around it, in \
             the same run."
        }
    }
}

/// The run's intervals.
fn over_time(report: &RunReport) -> Markup {
    html! {
        @if let Some(figure) = figure(|layout| timeline(report, layout)) {
            (legend(&[("p50", "p50"), ("p99", "p99"), ("max", "max")]))
            (figure)
        } @else {
            p.empty { (NO_ORDER) }
        }
    }
}

/// Clock, placement, machine, notes.
fn conditions(report: &RunReport) -> Markup {
    html! {
        @if !report.clock.is_empty() { p { (report.clock) } }
        p { "The machine was " (report.conditions) "." }
        div.columns { (tables::placement(report)) (tables::machine(report)) }
        @if !report.notes.is_empty() {
            h3 { "Notes" }
            ul.notes { @for note in &report.notes { li { (note) } } }
        }
    }
}

/// Medians, medians without the stage that dwarfs the others, and means.
fn breakdown_bars(report: &RunReport) -> [Bar; 3] {
    let parts = |value: fn(Summary) -> u64| -> Vec<(&'static str, &'static str, u64)> {
        let stages = report.stages();
        stages.map(|stage| (stage.tag, stage.label, value(stage.histogram.summary()))).collect()
    };
    let sum = |parts: &[(&str, &str, u64)]| parts.iter().map(|(_, _, ns)| ns).sum();
    let medians = parts(|summary| summary.p50);
    let mut inside = medians.clone();
    inside.retain(|(tag, _, _)| *tag != "send");
    let means = parts(|summary| summary.mean());
    // The mean of the whole, not the sum of means that were each rounded down.
    let mean = report.path.tick_to_trade.summary().mean();
    [
        Bar { name: "median of each stage", total_ns: sum(&medians), parts: medians },
        Bar { name: "the same without send", total_ns: sum(&inside), parts: inside },
        Bar { name: "mean of each stage (adds up)", total_ns: mean, parts: means },
    ]
}

fn figures(histogram: &Snapshot) -> String {
    let all = histogram.summary();
    let [p50, p99, p999, max] = [all.p50, all.p99, all.p999, all.max].map(|ns| figure_of(all, ns));
    format!("p50 {p50} · p99 {p99} · p99.9 {p999} · max {max}")
}

/// A figure of a histogram, which may be empty.
pub fn figure_of(summary: Summary, ns: u64) -> String {
    if summary.count == 0 { "–".to_owned() } else { human_ns(ns) }
}
