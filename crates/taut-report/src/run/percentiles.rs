//! Latency by percentile, on HdrHistogram's scale: every further nine has the same width.

use maud::Markup;
use taut_lat::Snapshot;

use super::model::{Named, RunReport};
use crate::chart::{Layout, horizontal_name, horizontal_tick, vertical_axis};
use crate::svg::{LogAxis, Scale};
use crate::units::{axis_ns, human_ns};

/// Percentiles of the axis with their parts per million.
const TICKS: [(&str, u32); 8] = [
    ("0%", 0),
    ("50%", 500_000),
    ("90%", 900_000),
    ("99%", 990_000),
    ("99.9%", 999_000),
    ("99.99%", 999_900),
    ("99.999%", 999_990),
    ("99.9999%", 999_999),
];
/// Points closer than this, in pixels, add nothing that can be seen.
const RESOLUTION: f64 = 0.4;

/// The chart, or `None` when no order was measured.
pub fn percentiles(report: &RunReport, layout: Layout) -> Option<Markup> {
    let series: Vec<Named<'_>> =
        [report.tick_to_trade(), report.tick_to_send(), report.order_round_trip()]
            .into_iter()
            .filter(|named| named.histogram.count() > 0)
            .collect();
    let low = series.iter().map(|named| named.histogram.min()).min()?;
    let high = series.iter().map(|named| named.histogram.max()).max()?;
    let count = series.iter().map(|named| named.histogram.count()).max()?;

    let plot = layout.plot();
    let latency = LogAxis::of_ns(low, high, plot.bottom, plot.top);
    let nines = (count as f64).log10().max(1.0);
    let rank = Scale::linear(0.0, nines, plot.left, plot.right);

    let mut svg = layout.svg("percentiles", "Latency by percentile", &description(&series));
    vertical_axis(&mut svg, plot, &latency, axis_ns);
    let ticks = TICKS.iter().filter(|(_, ppm)| nines_of(*ppm) <= nines);
    for (label, ppm) in ticks.clone().filter(|(_, ppm)| !layout.is_narrow() || *ppm != 500_000) {
        horizontal_tick(&mut svg, plot, rank.at(nines_of(*ppm)), label);
    }
    horizontal_name(&mut svg, plot, "percentile of orders");
    for named in series.iter().rev() {
        let points = curve(named.histogram, rank, &latency);
        svg.path(&format!("line {}", named.tag), &points);
        let end = (named.histogram.count() as f64).log10();
        let reached = ticks.clone().filter(|(_, ppm)| *ppm > 0 && nines_of(*ppm) <= end);
        for (label, ppm) in reached {
            let value = named.histogram.value_at_ppm(*ppm);
            let hint = format!("{} at {label}: {}", named.label, human_ns(value));
            let point = (rank.at(nines_of(*ppm)), latency.at(value as f64));
            svg.dot(&format!("dot {}", named.tag), point, &hint);
        }
        let max = named.histogram.max();
        let hint = format!("{}, maximum: {}", named.label, human_ns(max));
        svg.dot(&format!("dot {}", named.tag), (rank.at(end), latency.at(max as f64)), &hint);
    }
    Some(svg.finish())
}

/// The curve as steps: a value stands for all ranks up to its last.
fn curve(histogram: &Snapshot, rank: Scale, latency: &LogAxis) -> Vec<(f64, f64)> {
    let count = histogram.count() as f64;
    let last_x = rank.at(count.log10());
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut x = rank.at(0.0);
    let mut above = histogram.count();
    for bucket in histogram.buckets() {
        above -= bucket.count;
        let y = latency.at(bucket.highest.min(histogram.max()) as f64);
        let end = if above == 0 { last_x } else { rank.at((count / above as f64).log10()) };
        let is_close = |last: &(f64, f64)| end - last.0 < RESOLUTION && last.1 - y < RESOLUTION;
        if above == 0 || !points.last().is_some_and(is_close) {
            points.push((x, y));
            points.push((end, y));
        }
        x = end;
    }
    points
}

/// How many nines: 1 at 90%, 2 at 99%.
fn nines_of(ppm: u32) -> f64 {
    (1e6 / f64::from(1_000_000 - ppm)).log10()
}

fn description(series: &[Named<'_>]) -> String {
    let sentences: Vec<String> = series
        .iter()
        .map(|named| {
            let figures = named.histogram.summary();
            format!(
                "{}: p50 {}, p99 {}, p99.9 {}, maximum {}.",
                named.label,
                human_ns(figures.p50),
                human_ns(figures.p99),
                human_ns(figures.p999),
                human_ns(figures.max),
            )
        })
        .collect();
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{empty_report, histogram_of};
    use super::*;

    #[test]
    fn every_nine_has_the_same_width() {
        let widths = [900_000, 990_000, 999_000].map(nines_of);
        assert!((widths[1] - 2.0 * widths[0]).abs() < 1e-9);
        assert!((widths[2] - 3.0 * widths[0]).abs() < 1e-9);
    }

    #[test]
    fn a_curve_never_goes_back_or_down() {
        let values: Vec<u64> =
            (0..5_000u64).map(|n| 900 + n * n % 7_919 + n * n * n % 31).collect();
        let rank = Scale::linear(0.0, 4.0, 0.0, 1_000.0);
        let latency = LogAxis::of_ns(1, 100_000, 300.0, 0.0);
        let points = curve(&histogram_of(&values), rank, &latency);
        assert!(points.len() > 100);
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1));
    }

    #[test]
    fn there_is_no_chart_without_orders() {
        assert!(percentiles(&empty_report(), crate::chart::WIDE).is_none());
    }
}
