//! Latency over the time of the run.

use maud::Markup;

use super::model::{Interval, RunReport};
use crate::chart::{Layout, horizontal_name, horizontal_tick, vertical_axis};
use crate::svg::{Area, LogAxis, Scale, Svg};
use crate::units::{axis_ns, human_count, human_ns};

/// A percentile's name, its class, and where it stands.
type Series = (&'static str, &'static str, fn(&Interval) -> u64);

const SERIES: [Series; 3] = [
    ("max", "max", |interval| interval.max),
    ("p99", "p99", |interval| interval.p99),
    ("p50", "p50", |interval| interval.p50),
];
/// With more intervals than this the bands that show their figures would be too thin to hit.
const BANDS_MAX: usize = 300;

/// The chart, or `None` when no interval has an order.
pub fn timeline(report: &RunReport, layout: Layout) -> Option<Markup> {
    let measured = || report.intervals.iter().filter(|interval| interval.count > 0);
    let low = measured().map(|interval| interval.p50).min()?;
    let high = measured().map(|interval| interval.max).max()?;
    let end = report.intervals.last()?.t_seconds;

    let plot = layout.plot();
    let latency = LogAxis::of_ns(low, high, plot.bottom, plot.top);
    let time = Scale::linear(0.0, end, plot.left, plot.right);
    let desc = format!(
        "Median, 99th percentile and maximum of {} intervals; medians from {} to {}.",
        report.intervals.len(),
        human_ns(low),
        human_ns(measured().map(|interval| interval.p50).max()?),
    );
    let mut svg = layout.svg("timeline", "Tick to trade over time", &desc);
    vertical_axis(&mut svg, plot, &latency, axis_ns);
    let tick_count = if layout.is_narrow() { 5.0 } else { 10.0 };
    let step = round_step(end / tick_count);
    for tick in (0..=(end / step + 1e-9) as u32).map(|index| f64::from(index) * step) {
        horizontal_tick(&mut svg, plot, time.at(tick), &seconds_text(tick, step));
    }
    horizontal_name(&mut svg, plot, "seconds since the start");
    for (_, class, value) in SERIES {
        for run in report.intervals.split(|interval| interval.count == 0) {
            let point = |at: &Interval| (time.at(at.t_seconds), latency.at(value(at) as f64));
            svg.path(&format!("line {class}"), &run.iter().map(point).collect::<Vec<_>>());
        }
        if report.intervals.len() <= BANDS_MAX {
            for interval in measured() {
                let at = (time.at(interval.t_seconds), latency.at(value(interval) as f64));
                svg.dot(&format!("dot small {class}"), at, "");
            }
        }
    }
    if report.intervals.len() <= BANDS_MAX {
        bands(&mut svg, &report.intervals, plot, time);
    }
    Some(svg.finish())
}

/// What shows the figures of an interval under the pointer.
fn bands(svg: &mut Svg, intervals: &[Interval], plot: Area, time: Scale) {
    let mut left = plot.left;
    for (index, interval) in intervals.iter().enumerate() {
        let x = time.at(interval.t_seconds);
        let next = intervals.get(index + 1).map_or(x, |next| time.at(next.t_seconds));
        let right = f64::midpoint(x, next);
        let hint = format!(
            "until {:.1} s: p50 {}, p99 {}, max {}, {} orders",
            interval.t_seconds,
            human_ns(interval.p50),
            human_ns(interval.p99),
            human_ns(interval.max),
            human_count(interval.count),
        );
        svg.rect("band", Area { left, right, ..plot }, &hint);
        left = right;
    }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-3).log10().floor());
    [1.0, 2.0, 5.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|&s| s >= step * 0.999)
        .unwrap_or(10.0 * power)
}

fn seconds_text(seconds: f64, step: f64) -> String {
    let decimals = if step >= 1.0 { 0 } else { (-step.log10()).ceil() as usize };
    format!("{seconds:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{empty_report, sample_report};
    use super::*;
    use crate::chart::WIDE;

    #[test]
    fn steps_are_round() {
        let steps = [0.03, 0.5, 0.6, 7.0, 61.0].map(round_step);
        let expected = [0.05, 0.5, 1.0, 10.0, 100.0];
        assert!(steps.iter().zip(expected).all(|(step, round)| (step - round).abs() < 1e-9));
        assert_eq!(seconds_text(0.25, 0.05), "0.25");
        assert_eq!(seconds_text(20.0, 10.0), "20");
    }

    #[test]
    fn an_interval_without_orders_interrupts_the_lines() {
        let mut report = sample_report();
        let whole = timeline(&report, WIDE).unwrap().into_string();
        report.intervals[4].count = 0;
        let parted = timeline(&report, WIDE).unwrap().into_string();
        assert_eq!(whole.matches("<path").count() * 2, parted.matches("<path").count());
    }

    #[test]
    fn there_is_no_chart_without_orders() {
        assert!(timeline(&empty_report(), WIDE).is_none());
    }
}
