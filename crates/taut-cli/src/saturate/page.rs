//! The curves as a page, and as a table.

use maud::html;
use taut_report::Conditions;
use taut_report::chart::Curves;
use taut_report::page::{Table, page};

use super::search::{Found, Step};

/// One line of a drawing: its class, its name, and what it shows of a step.
type Line = (&'static str, &'static str, fn(&Step) -> f64);

/// A drawing over the rate: its name in the page, its title, and its lines.
const DRAWINGS: [(&str, &str, &[Line]); 5] = [
    ("received", "messages received per second", &[("p50", "received", |step| step.msgs_per_s)]),
    (
        "latency",
        "latency from the intended time, microseconds",
        &[
            ("p50", "p50", |step| us(step.intended_ns.p50)),
            ("p99", "p99", |step| us(step.intended_ns.p99)),
            ("max", "p99.9", |step| us(step.intended_ns.p999)),
        ],
    ),
    ("cpus", "CPUs busy, both ends", &[("p50", "CPUs", |step| step.cpus)]),
    ("memory", "peak memory of both ends, megabytes", &[("p50", "memory", megabytes)]),
    (
        "wire",
        "bytes on all interfaces per message",
        &[("p50", "bytes", |step| step.wire_bytes_per_message)],
    ),
];

const HEADS: [&str; 10] = [
    "rate",
    "received/s",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "lost",
    "CPUs",
    "MB",
    "wire bytes/msg",
    "",
];

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn megabytes(step: &Step) -> f64 {
    step.memory_bytes as f64 / 1e6
}

/// The steps as a table.
fn table(found: &Found) -> Table<'static> {
    let row = |step: &Step| {
        vec![
            step.rate.map_or("max".to_owned(), |rate| rate.to_string()),
            format!("{:.0}", step.msgs_per_s),
            format!("{:.1}", us(step.intended_ns.p50)),
            format!("{:.1}", us(step.intended_ns.p99)),
            format!("{:.1}", us(step.intended_ns.p999)),
            format!("{:.4}%", step.lost_share * 100.0),
            format!("{:.2}", step.cpus),
            format!("{:.1}", megabytes(step)),
            format!("{:.1}", step.wire_bytes_per_message),
            step.failed.map_or("held".to_owned(), |why| format!("{why} gave way")),
        ]
    };
    Table { heads: &HEADS, rows: found.steps.iter().chain(&found.full_speed).map(row).collect() }
}

/// The steps as a Markdown table, the knee, and how far the machine is to be trusted.
pub fn text(found: &Found, conditions: &Conditions) -> String {
    format!("{}\n{}\nconditions: {conditions}", table(found).markdown(), knee(found))
}

/// The knee in words, and why more than that may have arrived.
fn knee(found: &Found) -> String {
    let knee = match (found.knee, found.gave_way) {
        (Some(rate), Some(why)) => format!("knee: {rate} messages/s; above it {why} gives way"),
        (Some(rate), None) => format!("no knee up to {rate} messages/s"),
        (None, _) => "no rate held; begin lower with --from".to_owned(),
    };
    let Some(full_speed) = &found.full_speed else { return knee };
    let arrived = full_speed.msgs_per_s;
    format!(
        "{knee}. As fast as it goes {arrived:.0} messages/s arrived: in bursts, each message \
         whenever there was room, so that no rate and no latency was held"
    )
}

/// The page: one drawing for each quantity, and the table.
pub fn html(uri: &str, found: &Found, conditions: &Conditions) -> String {
    let drawing = |&(id, title, lines): &(&'static str, &'static str, &[Line])| {
        let lines = lines.iter().map(|&(class, name, of)| {
            let point = |step: &Step| Some((step.rate? as f64, of(step)));
            (class, name, found.steps.iter().filter_map(point).collect())
        });
        let mark = found.knee.map(|rate| rate as f64);
        Curves { id, title, over: "messages per second", lines: lines.collect(), mark }.section()
    };
    let body = html! {
        header { p.kicker { "taut saturate" } h1 { (uri) } p.meta { (knee(found)) } }
        p.note { "The machine was " (conditions) "." }
        @for drawn in &DRAWINGS { (drawing(drawn)) }
        section { (table(found).html()) }
    };
    page(&format!("taut saturate: {uri}"), &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saturate::search::Percentiles;

    fn quiet() -> Conditions {
        Conditions::judge(Some(0.0), Some(0.0), Default::default())
    }

    fn step(rate: Option<u64>, failed: Option<&'static str>) -> Step {
        Step {
            rate,
            msgs_per_s: rate.unwrap_or(9) as f64,
            intended_ns: Percentiles { p50: 1_000, p99: 2_000, p999: 0 },
            lost_share: 0.0,
            cpus: 1.5,
            memory_bytes: 4_000_000,
            wire_bytes_per_message: 0.0,
            failed,
        }
    }

    #[test]
    fn the_page_has_every_drawing_and_escapes_the_channel() {
        let steps = vec![step(Some(100), None), step(Some(200), Some("loss"))];
        let full_speed = Some(step(None, None));
        let found = Found { steps, knee: Some(100), gave_way: Some("loss"), full_speed };
        let page = html("ipc:<x>", &found, &quiet());
        // Each for wide and for narrow screens.
        assert_eq!(page.matches("<svg").count(), 2 * DRAWINGS.len());
        assert!(page.contains("ipc:&lt;x&gt;") && !page.contains("NaN") && !page.contains("inf"));
        assert!(page.contains("knee: 100 messages/s; above it loss gives way"));
        assert!(page.contains("As fast as it goes 9 messages/s arrived"), "above the knee or not");
        assert!(page.contains("The machine was quiet ("));
        // The style sheet has colours for the dark, too.
        assert!(page.contains("prefers-color-scheme: dark"));
        assert_eq!(page.matches("<tr>").count(), 4);
    }

    #[test]
    fn one_step_or_none_is_drawn_too() {
        for steps in [vec![], vec![step(Some(5), Some("rate"))]] {
            let found = Found { steps, knee: None, gave_way: None, full_speed: None };
            let page = html("ipc:x", &found, &quiet());
            assert!(page.contains("no rate held") && !page.contains("NaN"));
        }
    }
}
