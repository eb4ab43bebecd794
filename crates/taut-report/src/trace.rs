//! Lines over time that may go below zero: both axes linear.

use maud::Markup;

use crate::chart::{Layout, Line, horizontal_name, horizontal_tick, section_of};
use crate::svg::{Anchor, Area, Scale, Svg};
use crate::units::plain;

/// Points of a line that are drawn; of more every so many is.
const POINTS_MAX: usize = 1_000;

/// Lines over one quantity, both axes linear.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    /// Unlike any other's in the page.
    pub id: &'a str,
    /// What is drawn.
    pub title: &'a str,
    /// What the horizontal axis is.
    pub over: &'a str,
    /// The lines, by rising places on the horizontal axis.
    pub lines: Vec<Line<'a>>,
}

impl Trace<'_> {
    /// As a section of a page.
    #[must_use]
    pub fn section(&self) -> Markup {
        section_of(self.title, &self.lines, |layout| self.draw(layout))
    }

    fn draw(&self, layout: Layout) -> Markup {
        let plot = Area { left: 84.0, ..layout.plot() };
        let points = || self.lines.iter().flat_map(|(_, _, points)| points);
        let x = ticks(points().map(|point| point.0), if layout.is_narrow() { 4 } else { 8 });
        let y = ticks(points().map(|point| point.1), 6);
        let ends = |ticks: &[f64]| (ticks[0], ticks[ticks.len() - 1]);
        let across = Scale::linear(ends(&x).0, ends(&x).1, plot.left, plot.right);
        let up = Scale::linear(ends(&y).0, ends(&y).1, plot.bottom, plot.top);
        let mut svg: Svg = layout.svg(self.id, self.title, self.over);
        for &tick in &y {
            let class = if tick == 0.0 { "axis" } else { "grid" };
            svg.line(class, (plot.left, up.at(tick)), (plot.right, up.at(tick)));
            let place = (plot.left - 8.0, up.at(tick) + 4.0);
            svg.text("tick", place, Anchor::End, &plain(tick));
        }
        for &tick in &x {
            horizontal_tick(&mut svg, plot, across.at(tick), &plain(tick));
        }
        horizontal_name(&mut svg, plot, self.over);
        for (class, _, points) in &self.lines {
            let every = points.len().div_ceil(POINTS_MAX).max(1);
            let is_last = |at: usize| at + 1 == points.len();
            let drawn = points.iter().enumerate();
            let drawn = drawn.filter(|(at, _)| at % every == 0 || is_last(*at));
            let drawn: Vec<_> = drawn.map(|(_, it)| (across.at(it.0), up.at(it.1))).collect();
            svg.path(&format!("line {class}"), &drawn);
        }
        svg.finish()
    }
}

/// Round numbers around all of these values, about so many: two at least.
fn ticks(values: impl Iterator<Item = f64>, about: u32) -> Vec<f64> {
    let finite = values.filter(|value| value.is_finite());
    let bounds = finite.fold(None, |bounds: Option<(f64, f64)>, value| {
        let (low, high) = bounds.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    let (low, high) = bounds.unwrap_or((0.0, 1.0));
    let least = (low.abs().max(high.abs()) * 1e-9).max(1e-9);
    let raw = ((high - low) / f64::from(about)).max(least);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= raw);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).floor();
    let count = ((high / step).ceil() - first).clamp(1.0, 100.0);
    // A zero that is none would be told as -0.
    (0..=count as u32).map(|at| (first + f64::from(at)) * step + 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_around_all_values() {
        let of = |values: &[f64], about| ticks(values.iter().copied(), about);
        assert_eq!(of(&[-3.0, 12.0], 6), [-5.0, 0.0, 5.0, 10.0, 15.0]);
        assert_eq!(of(&[0.0, 120.0], 8), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0]);
        for values in [&[][..], &[5.0], &[0.0, 0.0], &[f64::NAN], &[1e12, 1e12 + 1.0]] {
            let told = of(values, 6);
            assert!((2..=101).contains(&told.len()), "{values:?}: {told:?}");
            assert!(told.is_sorted() && told[0] < told[told.len() - 1], "{told:?}");
        }
    }

    #[test]
    fn nothing_or_one_point_is_drawn_too() {
        for points in [vec![], vec![(5.0, -1.0)], vec![(0.0, -1.0), (9.0, 1e7)]] {
            let lines = vec![("p50", "a<b", points), ("p99", "c", vec![])];
            let text = Trace { id: "t", title: "t", over: "o", lines }.section().into_string();
            assert!(text.contains("a&lt;b") && !text.contains("NaN") && !text.contains("inf"));
            assert_eq!(text.matches("<svg").count(), 2);
        }
    }
}
