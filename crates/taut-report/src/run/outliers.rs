//! The worst orders, in the page and in the text.

use maud::{Markup, html};
use taut_doctor::outliers::{Other, Outlier, Outliers};
use taut_lat::Stage;

use crate::units::{human_count, human_ns};

/// Orders that the text has.
const TOLD: usize = 3;

/// What there is to say of them, a paragraph each: the causes, what else had the CPUs, and the very
/// worst. Nothing where no order was kept.
#[must_use]
pub fn outlier_lines(outliers: &Outliers) -> Vec<String> {
    let Some(sentence) = outliers.sentence() else { return Vec::new() };
    let mut lines = vec![sentence];
    lines.extend(others(&outliers.others));
    if outliers.unread > 0 {
        let unread = human_count(outliers.unread);
        lines.push(format!("{unread} orders were overwritten before they were looked at"));
    }
    lines.extend(outliers.worst.iter().take(TOLD).map(|it| {
        let Outlier { order, symbol, held_by, why, .. } = it;
        let (total, excess) = (human_ns(it.total_ns), human_ns(it.excess_ns));
        format!("{total} {order} {symbol}: {held_by} {excess} beyond the usual; {why}")
    }));
    lines
}

fn others(others: &[Other]) -> Option<String> {
    let one = |it: &Other| {
        let Other { cpu, name, process, ran_ns } = it;
        format!("{name} ({process}) {} on CPU {cpu}", human_ns(*ran_ns))
    };
    let told: Vec<_> = others.iter().map(one).collect();
    (!told.is_empty()).then(|| format!("other tasks there: {}", told.join(", ")))
}

/// The section of the page; nothing where no order was kept.
pub fn section(outliers: &Outliers) -> Option<Markup> {
    let sentence = outliers.sentence()?;
    Some(html! {
        p { (capitalised(&sentence)) "." }
        @if let Some(others) = others(&outliers.others) { p { (capitalised(&others)) "." } }
        div.scroll role="region" aria-label="the worst orders" tabindex="0" {
            table.numbers {
                caption { "The worst orders, stage by stage" }
                thead {
                    tr {
                        th scope="col" { "order" }
                        th scope="col" { "total" }
                        @for stage in Stage::ALL { th scope="col" { (stage.name()) } }
                        th.words scope="col" { "cause" }
                        th.words scope="col" { "shown by" }
                    }
                }
                tbody { @for it in &outliers.worst { (row(it)) } }
            }
        }
        p.note {
            "Threads are looked at every few milliseconds, from outside: a cause is named where \
             what happened around an order is long enough for the half of what its slowest stage \
             took beyond the median. What is in the window of an order need not have hit it."
        }
    })
}

fn row(it: &Outlier) -> Markup {
    html! {
        tr {
            th scope="row" { (it.order) " " (it.symbol) }
            td { (human_ns(it.total_ns)) }
            @for (stage, ns) in Stage::ALL.into_iter().zip(it.stages_ns) {
                td {
                    @if stage.name() == it.held_by { b { (human_ns(ns)) } }
                    @else { (human_ns(ns)) }
                }
            }
            td.words { (it.words()) }
            td.words { (it.why) }
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
