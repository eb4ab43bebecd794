//! The curves as a page, and as a table.

use std::fmt::Write;

use super::search::{Found, Step};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 20.0;

/// One line of a drawing: its name, its colour, and what it shows of a step.
type Line = (&'static str, &'static str, fn(&Step) -> f64);

/// A drawing over the rate: its title, and its lines.
const DRAWINGS: [(&str, &[Line]); 5] = [
    ("messages received per second", &[("received", "#1b6ca8", |step| step.msgs_per_s)]),
    (
        "latency from the intended time, microseconds",
        &[
            ("p50", "#1b6ca8", |step| step.p50_us),
            ("p99", "#d98c00", |step| step.p99_us),
            ("p99.9", "#b3261e", |step| step.p999_us),
        ],
    ),
    ("CPUs busy, both ends", &[("CPUs", "#1b6ca8", |step| step.cpus)]),
    ("peak memory of both ends, megabytes", &[("memory", "#1b6ca8", |step| step.memory_mb)]),
    (
        "bytes on all interfaces per message",
        &[("bytes", "#1b6ca8", |step| step.wire_bytes_per_message)],
    ),
];

/// The steps as a Markdown table, and the knee.
pub fn table(found: &Found) -> String {
    let mut text = String::from(
        "| rate | received/s | p50 us | p99 us | p99.9 us | lost | CPUs | MB | wire bytes/msg | |\n\
         |---|---|---|---|---|---|---|---|---|---|",
    );
    for step in found.steps.iter().chain(&found.full_speed) {
        let rate = step.rate.map_or("max".to_owned(), |rate| rate.to_string());
        let _ = write!(
            text,
            "\n| {rate} | {:.0} | {:.1} | {:.1} | {:.1} | {:.4}% | {:.2} | {:.1} | {:.1} | {} |",
            step.msgs_per_s,
            step.p50_us,
            step.p99_us,
            step.p999_us,
            step.lost_share * 100.0,
            step.cpus,
            step.memory_mb,
            step.wire_bytes_per_message,
            step.failed.map_or("held".to_owned(), |why| format!("{why} gave way")),
        );
    }
    let _ = write!(text, "\n{}", knee(found));
    text
}

/// The knee in words.
fn knee(found: &Found) -> String {
    match (found.knee, found.gave_way) {
        (Some(rate), Some(why)) => format!("knee: {rate} messages/s; above it {why} gives way"),
        (Some(rate), None) => format!("no knee up to {rate} messages/s"),
        (None, _) => "no rate held; begin lower with --from".to_owned(),
    }
}

/// The page: one drawing for each quantity, and the table.
pub fn html(uri: &str, found: &Found) -> String {
    let drawings: String = DRAWINGS.iter().map(|(title, lines)| svg(title, lines, found)).collect();
    let rows: String = table(found)
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|--"))
        .map(|line| {
            let cells: String = line
                .trim_matches('|')
                .split('|')
                .map(|cell| format!("<td>{}</td>", escaped(cell.trim())))
                .collect();
            format!("<tr>{cells}</tr>")
        })
        .collect();
    format!(
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>taut saturate</title>\
         <style>body{{font:14px sans-serif;margin:2em}}svg{{margin:1em}}td{{padding:0 .6em;\
         text-align:right}}</style><h1>{}</h1><p>{}</p>{drawings}<table>{rows}</table></html>\n",
        escaped(uri),
        escaped(&knee(found))
    )
}

/// Both axes are logarithmic: rates and latencies span decades.
fn svg(title: &str, lines: &[Line], found: &Found) -> String {
    let log = |value: f64| value.max(1e-3).log10();
    let rates = found.steps.iter().filter_map(|step| step.rate).map(|rate| log(rate as f64));
    let (left, right) = bounds(rates);
    let all = lines.iter().flat_map(|(_, _, of)| found.steps.iter().map(move |step| log(of(step))));
    let (low, high) = bounds(all);
    let x = |rate: f64| LEFT + (log(rate) - left) / (right - left) * (WIDTH - LEFT - 10.0);
    let y =
        |value: f64| HEIGHT - BOTTOM - (log(value) - low) / (high - low) * (HEIGHT - BOTTOM - TOP);
    let mut svg = format!(
        "<svg width='{WIDTH}' height='{HEIGHT}' role='img'><title>{title}</title>\
         <text x='{LEFT}' y='12' font-size='12'>{title}</text>"
    );
    for value in ticks(low, high) {
        let at = y(value);
        let _ = write!(
            svg,
            "<line x1='{LEFT}' x2='{WIDTH}' y1='{at:.1}' y2='{at:.1}' stroke='#ddd'/>\
             <text x='4' y='{:.1}' font-size='11'>{value}</text>",
            at + 4.0
        );
    }
    for rate in [found.steps.first(), found.steps.last()].into_iter().flatten() {
        let rate = rate.rate.unwrap_or(1);
        let at = x(rate as f64).min(WIDTH - 60.0);
        let _ =
            write!(svg, "<text x='{at:.1}' y='{}' font-size='11'>{rate}/s</text>", HEIGHT - 8.0);
    }
    if let Some(knee) = found.knee {
        let at = x(knee as f64);
        let _ = write!(
            svg,
            "<line x1='{at:.1}' x2='{at:.1}' y1='{TOP}' y2='{:.1}' stroke='#888' \
             stroke-dasharray='4'/>",
            HEIGHT - BOTTOM
        );
    }
    for (index, (name, colour, of)) in lines.iter().enumerate() {
        let points: Vec<(f64, f64)> = found
            .steps
            .iter()
            .filter_map(|step| Some((x(step.rate? as f64), y(of(step)))))
            .collect();
        let path: String = points.iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
        let dots: String = points
            .iter()
            .map(|(x, y)| format!("<circle cx='{x:.1}' cy='{y:.1}' r='2.5' fill='{colour}'/>"))
            .collect();
        let _ = write!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>{dots}\
             <text x='{:.1}' y='{:.1}' font-size='11' fill='{colour}'>{name}</text>",
            path.trim_end(),
            LEFT + 60.0 * index as f64,
            HEIGHT - BOTTOM + 18.0
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Round values between two logarithms: as few to a decade as give at least two of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    const FINE: [f64; 12] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let between = |mantissas: &[f64]| -> Vec<f64> {
        let decades = low.floor() as i32..=high.ceil() as i32;
        // Rounded: a tenth is not written with sixteen digits.
        let rounded = |value: f64| (value * 1e6).round() / 1e6;
        let all = decades.flat_map(|decade| {
            mantissas.iter().map(move |mantissa| rounded(mantissa * 10_f64.powi(decade)))
        });
        all.filter(|value| (low..=high).contains(&value.log10())).collect()
    };
    let sets: [&[f64]; 2] = [&[1.0], &[1.0, 2.0, 5.0]];
    let enough = sets.into_iter().map(between).find(|ticks| ticks.len() >= 2);
    enough.unwrap_or_else(|| between(&FINE))
}

/// The bounds of some values, never empty.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    match low <= high {
        true if high - low < 0.1 => (low - 0.5, high + 0.5),
        true => (low, high),
        false => (0.0, 1.0),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(rate: Option<u64>, failed: Option<&'static str>) -> Step {
        Step {
            rate,
            msgs_per_s: rate.unwrap_or(9) as f64,
            p50_us: 1.0,
            p99_us: 2.0,
            p999_us: 0.0,
            lost_share: 0.0,
            cpus: 1.5,
            memory_mb: 4.0,
            wire_bytes_per_message: 0.0,
            failed,
        }
    }

    #[test]
    fn the_page_has_every_drawing_and_escapes_the_channel() {
        let steps = vec![step(Some(100), None), step(Some(200), Some("loss"))];
        let full_speed = Some(step(None, None));
        let found = Found { steps, knee: Some(100), gave_way: Some("loss"), full_speed };
        let page = html("ipc:<x>", &found);
        assert_eq!(page.matches("<svg").count(), DRAWINGS.len());
        assert!(page.contains("ipc:&lt;x&gt;") && !page.contains("NaN") && !page.contains("inf"));
        assert!(page.contains("knee: 100 messages/s; above it loss gives way"));
        assert_eq!(page.matches("<tr>").count(), 4);
    }

    #[test]
    fn an_axis_has_two_round_values_at_least() {
        assert_eq!(ticks(3.0, 5.2), [1e3, 1e4, 1e5]);
        assert_eq!(ticks(0.11_f64.log10(), 0.3_f64.log10()), [0.12, 0.15, 0.2, 0.25, 0.3]);
        assert_eq!(ticks(1.2, 1.8), [20.0, 50.0]);
        for low in -30..60 {
            let low = f64::from(low) / 10.0;
            // Where the highest value is twice the lowest.
            assert!((2..12).contains(&ticks(low, low + 0.3).len()), "{low}");
        }
    }

    #[test]
    fn one_step_or_none_is_drawn_too() {
        for steps in [vec![], vec![step(Some(5), Some("rate"))]] {
            let found = Found { steps, knee: None, gave_way: None, full_speed: None };
            let page = html("ipc:x", &found);
            assert!(page.contains("no rate held") && !page.contains("NaN"));
        }
    }
}
