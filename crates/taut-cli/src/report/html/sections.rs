//! The sections of the page, in their order.

use std::fmt::Write;

use taut_lat::{Snapshot, Summary};

use super::super::chart::{self, Bar, Layout, NARROW, WIDE};
use super::super::model::RunReport;
use super::super::svg::Escaped;
use super::super::units::{human_count, human_ns};
use super::tables;

/// What a reader wants to know first.
pub fn key_figures(page: &mut String, report: &RunReport) {
    let trade = report.path.tick_to_trade.summary();
    let send = report.path.tick_to_send.summary();
    let lost = report.counts.lost + report.counts.unanswered;
    let tiles = [
        ("tick to trade, p50", figure(trade, trade.p50), ""),
        ("tick to trade, p99", figure(trade, trade.p99), ""),
        ("less send, p50", figure(send, send.p50), ""),
        ("orders", human_count(report.counts.orders), ""),
        ("fills", human_count(report.counts.fills), ""),
        ("lost + unanswered", human_count(lost), if lost > 0 { " bad" } else { "" }),
    ];
    page.push_str("<dl class=\"tiles\">\n");
    for (name, value, class) in tiles {
        let _ = writeln!(page, "<div class=\"tile{class}\"><dt>{name}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>\n");
}

/// Tick-to-trade, less send, and the round trip by percentile.
pub fn percentile_curve(page: &mut String, report: &RunReport) {
    open(page, "Latency by percentile");
    let charts = both(|layout| chart::percentiles(report, layout));
    if let Some(charts) = charts {
        page.push_str("<ul class=\"legend\">\n");
        for named in [report.tick_to_trade(), report.tick_to_send(), report.order_round_trip()] {
            let label = match named.tag {
                "tick_to_send" => "tick to trade less send",
                _ => named.label,
            };
            legend_line(page, named.tag, label, named.histogram);
        }
        let _ = write!(page, "</ul>\n<figure>\n{charts}</figure>\n");
    } else {
        page.push_str("<p class=\"empty\">No order was measured.</p>\n");
    }
    page.push_str(
        "<p class=\"note\">Tick to trade runs from the return of the gateway's receive call to the \
         return of its send call; the order round trip from the send call to the execution report. \
         Every further nine has the same width.</p>\n",
    );
    close(page);
}

/// Where the time goes: bars and the table of the stages.
pub fn stage_breakdown(page: &mut String, report: &RunReport) {
    open(page, "Where the time goes");
    let bars = breakdown_bars(report);
    if report.path.tick_to_trade.count() > 0 {
        page.push_str("<ul class=\"legend stages\">\n");
        for stage in report.stages() {
            let _ = writeln!(page, "<li><i class=\"key {}\"></i>{}</li>", stage.tag, stage.label);
        }
        page.push_str("</ul>\n");
        if let Some(charts) = both(|layout| Some(chart::breakdown(&bars, layout))) {
            let _ = write!(page, "<figure>\n{charts}</figure>\n");
        }
    }
    tables::stages(page, report);
    page.push_str(
        "<p class=\"note\">The stages of every order add up to its tick-to-trade time exactly, so \
         their sums, means and shares do too; percentiles do not add up. A stage that this mode \
         does not have is 0. <em>Bare send</em> is the same send call without taut around it, in \
         the same run.</p>\n",
    );
    close(page);
}

/// The run's intervals.
pub fn over_time(page: &mut String, report: &RunReport) {
    open(page, "Tick to trade over time");
    if let Some(charts) = both(|layout| chart::timeline(report, layout)) {
        let _ = write!(
            page,
            "<ul class=\"legend\">\n<li><i class=\"key p50\"></i>p50</li>\n\
             <li><i class=\"key p99\"></i>p99</li>\n<li><i class=\"key max\"></i>max</li>\n</ul>\n\
             <figure>\n{charts}</figure>\n",
        );
    } else {
        page.push_str("<p class=\"empty\">No order was measured.</p>\n");
    }
    close(page);
}

/// What happened how often, and whether it adds up.
pub fn counts(page: &mut String, report: &RunReport) {
    open(page, "Counts");
    tables::counts(page, report);
    close(page);
}

/// Clock, placement, machine, notes.
pub fn conditions(page: &mut String, report: &RunReport) {
    open(page, "How it was measured");
    if !report.clock.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", Escaped(&report.clock));
    }
    page.push_str("<div class=\"columns\">\n");
    tables::placement(page, report);
    tables::machine(page, report);
    page.push_str("</div>\n");
    if !report.notes.is_empty() {
        page.push_str("<h3>Notes</h3>\n<ul class=\"notes\">\n");
        for note in &report.notes {
            let _ = writeln!(page, "<li>{}</li>", Escaped(note));
        }
        page.push_str("</ul>\n");
    }
    close(page);
}

/// The same drawing for wide and for narrow screens.
fn both(draw: impl Fn(Layout) -> Option<String>) -> Option<String> {
    Some(draw(WIDE)? + &draw(NARROW)?)
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

fn legend_line(page: &mut String, class: &str, label: &str, histogram: &Snapshot) {
    let figures = histogram.summary();
    let _ = writeln!(
        page,
        "<li><i class=\"key {class}\"></i>{label}<span class=\"figures\">p50 {} · p99 {} · \
         p99.9 {} · max {}</span></li>",
        figure(figures, figures.p50),
        figure(figures, figures.p99),
        figure(figures, figures.p999),
        figure(figures, figures.max),
    );
}

fn figure(summary: Summary, ns: u64) -> String {
    if summary.count == 0 { "–".to_owned() } else { human_ns(ns) }
}

fn open(page: &mut String, heading: &str) {
    let _ = write!(page, "<section>\n<h2>{heading}</h2>\n");
}

fn close(page: &mut String) {
    page.push_str("</section>\n");
}
