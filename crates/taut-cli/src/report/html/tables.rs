//! The tables of the page.

use std::fmt::Write;

use super::super::model::{Named, RunReport};
use super::super::svg::Escaped;
use super::super::units::{human_bytes, human_count, human_ns, percent};

/// Every stage and every whole with all percentiles, mean and share.
pub fn stages(page: &mut String, report: &RunReport) {
    page.push_str(
        "<div class=\"scroll\" role=\"region\" aria-label=\"stages\" tabindex=\"0\">\
         <table class=\"numbers\">\n\
         <caption>All stages and the whole path</caption>\n<thead><tr><th scope=\"col\">stage</th>",
    );
    for head in ["min", "p50", "p99", "p99.9", "p99.99", "max", "mean", "share", "orders"] {
        let _ = write!(page, "<th scope=\"col\">{head}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for stage in report.stages() {
        let share = report.share(stage.histogram);
        row(page, &stage, Some(share));
    }
    page.push_str("</tbody>\n<tbody class=\"wholes\">\n");
    for whole in report.wholes() {
        let is_part = matches!(whole.tag, "tick_to_trade" | "tick_to_send");
        row(page, &whole, is_part.then(|| report.share(whole.histogram)));
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn row(page: &mut String, named: &Named<'_>, share: Option<f64>) {
    let figures = named.histogram.summary();
    let _ = write!(
        page,
        "<tr><th scope=\"row\"><i class=\"key {}\"></i>{}</th>",
        named.tag, named.label,
    );
    let values = [
        figures.min,
        figures.p50,
        figures.p99,
        figures.p999,
        figures.p9999,
        figures.max,
        figures.mean(),
    ];
    for ns in values {
        let value = if figures.count == 0 { "–".to_owned() } else { human_ns(ns) };
        let _ = write!(page, "<td>{value}</td>");
    }
    match share {
        Some(share) if figures.count > 0 => {
            let _ = write!(
                page,
                "<td class=\"share\"><span class=\"meter\"><span class=\"{}\" \
                 style=\"width:{:.1}%\"></span></span><span class=\"value\">{}</span></td>",
                named.tag,
                (share * 100.0).clamp(0.0, 100.0),
                percent(share),
            );
        }
        _ => page.push_str("<td></td>"),
    }
    let _ = writeln!(page, "<td>{}</td></tr>", human_count(figures.count));
}

/// The equations, then the counters that stand alone.
pub fn counts(page: &mut String, report: &RunReport) {
    page.push_str("<ul class=\"balances\">\n");
    for balance in report.counts.balances() {
        let (name, whole) = balance.whole;
        let (sign, class) = if balance.holds() { ("=", "") } else { ("≠", " class=\"bad\"") };
        let parts: Vec<_> = balance
            .parts()
            .map(|(name, value)| format!("<span>{name} <b>{}</b></span>", human_count(value)))
            .collect();
        let _ = writeln!(
            page,
            "<li{class}><span>{name} <b>{}</b></span> {sign} {}</li>",
            human_count(whole),
            parts.join(" + "),
        );
    }
    page.push_str("</ul>\n<ul class=\"balances singles\">\n");
    for (name, value) in report.counts.singles() {
        let _ =
            writeln!(page, "<li><span>{} <b>{}</b></span></li>", Escaped(name), human_count(value));
    }
    page.push_str("</ul>\n");
}

/// Which process ran where.
pub fn placement(page: &mut String, report: &RunReport) {
    if report.placement.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table>\n<caption>Placement</caption>\n<thead><tr>\
         <th scope=\"col\">process</th><th scope=\"col\">CPU</th><th scope=\"col\">wait</th>\
         <th scope=\"col\">scheduler</th></tr></thead>\n<tbody>\n",
    );
    for placed in &report.placement {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            Escaped(&placed.process),
            Escaped(&placed.cpu),
            Escaped(&placed.wait),
            Escaped(&placed.scheduler),
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// The machine.
pub fn machine(page: &mut String, report: &RunReport) {
    let machine = &report.machine;
    let virtualised = if machine.virtualised { "yes" } else { "no" };
    let rows = [
        ("processor", machine.cpu.clone()),
        ("CPUs", machine.cores.to_string()),
        ("memory", human_bytes(machine.memory_bytes)),
        ("kernel", format!("Linux {}", machine.kernel)),
        ("clock source", machine.clock_source.clone()),
        ("virtual machine", virtualised.to_owned()),
    ];
    page.push_str("<div class=\"scroll\"><table>\n<caption>Machine</caption>\n<tbody>\n");
    for (name, value) in rows {
        let _ =
            writeln!(page, "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>", Escaped(&value));
    }
    page.push_str("</tbody>\n</table></div>\n");
}
