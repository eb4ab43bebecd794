//! The tables of the page.

use maud::{Markup, html};
use taut_lat::Summary;

use super::model::{Named, RunReport};
use crate::units::{human_bytes, human_count, human_ns, percent};

/// Every stage and every whole with all percentiles, mean and share.
pub fn stages(report: &RunReport) -> Markup {
    let names = ["stage", "min", "p50", "p99", "p99.9", "p99.99", "max", "mean", "share", "orders"];
    html! {
        div.scroll role="region" aria-label="stages" tabindex="0" {
            table.numbers {
                caption { "All stages and the whole path" }
                (heads(&names))
                tbody {
                    @for stage in report.stages() {
                        (row(&stage, Some(report.share(stage.histogram))))
                    }
                }
                tbody.wholes {
                    @for whole in report.wholes() { (row(&whole, report.share_of_whole(&whole))) }
                }
            }
        }
    }
}

fn row(named: &Named<'_>, share: Option<f64>) -> Markup {
    let figures = named.histogram.summary();
    let Summary { min, p50, p99, p999, p9999, max, .. } = figures;
    let width = |share: f64| format!("width:{:.1}%", (share * 100.0).clamp(0.0, 100.0));
    html! {
        tr {
            th scope="row" { i class={ "key " (named.tag) } {} (named.label) }
            @for ns in [min, p50, p99, p999, p9999, max, figures.mean()] {
                td { @if figures.count == 0 { "–" } @else { (human_ns(ns)) } }
            }
            @if let Some(share) = share.filter(|_| figures.count > 0) {
                td.share {
                    span.meter { span class=(named.tag) style=(width(share)) {} }
                    span.value { (percent(share)) }
                }
            } @else {
                td {}
            }
            td { (human_count(figures.count)) }
        }
    }
}

/// The equations, then the counters that stand alone.
pub fn counts(report: &RunReport) -> Markup {
    let named = |name: &str, value| html! { span { (name) " " b { (human_count(value)) } } };
    html! {
        ul.balances {
            @for balance in report.counts.balances() {
                li class=[(!balance.holds()).then_some("bad")] {
                    (named(balance.whole.0, balance.whole.1))
                    @for (at, (name, value)) in balance.parts().enumerate() {
                        (if at > 0 { " + " } else if balance.holds() { " = " } else { " ≠ " })
                        (named(name, value))
                    }
                }
            }
        }
        ul.balances.singles {
            @for (name, value) in report.counts.singles() { li { (named(name, value)) } }
        }
    }
}

/// The names of a table's columns.
fn heads(names: &[&str]) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

/// What was held at the end.
pub fn positions(report: &RunReport) -> Markup {
    html! {
        div.scroll {
            table {
                (heads(&["instrument", "position", "average price", "realised", "open"]))
                tbody {
                    @for held in &report.positions {
                        tr {
                            th scope="row" { (held.symbol) }
                            td { (held.quantity) }
                            td { (held.average_price) }
                            td { (held.realised) }
                            td { (held.unrealised) }
                        }
                    }
                }
            }
        }
        p { "Profit in all, less fees: " b { (report.profit) } }
    }
}

/// Which process ran where.
pub fn placement(report: &RunReport) -> Markup {
    html! {
        @if !report.placement.is_empty() {
            div.scroll {
                table {
                    caption { "Placement" }
                    (heads(&["process", "CPU", "wait", "nice", "CPU taken by others"]))
                    tbody {
                        @for placed in &report.placement {
                            tr {
                                th scope="row" { (placed.process) }
                                @for cell in [&placed.cpu, &placed.wait, &placed.nice] {
                                    td { (cell) }
                                }
                                td {
                                    @if let Some(waited) = placed.waited_percent {
                                        (format!("{waited:.1}%"))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The machine.
pub fn machine(report: &RunReport) -> Markup {
    let machine = &report.machine;
    let rows = [
        ("processor", machine.cpu.clone()),
        ("CPUs", machine.cores.to_string()),
        ("memory", human_bytes(machine.memory_bytes)),
        ("kernel", format!("Linux {}", machine.kernel)),
        ("clock source", machine.clock_source.clone()),
        ("virtual machine", if machine.virtualised { "yes" } else { "no" }.to_owned()),
    ];
    html! {
        div.scroll {
            table {
                caption { "Machine" }
                tbody {
                    @for (name, value) in rows { tr { th scope="row" { (name) } td { (value) } } }
                }
            }
        }
    }
}
