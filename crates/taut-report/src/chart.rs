//! What charts share: their sizes, their axes, and the kinds that need no more than numbers.
//!
//! A chart is drawn twice, for wide and for narrow screens (text in a drawing shrinks with it); the
//! style sheet shows one of the two.

use maud::{Markup, html};

use crate::svg::{Anchor, Area, LogAxis, Svg};
use crate::units::{axis_plain, plain};

/// The size of a drawing and its use.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The class that the style sheet shows or hides.
    pub class: &'static str,
    /// In pixels.
    pub width: f64,
    /// In pixels.
    pub height: f64,
}

/// For screens of more than 680 pixels.
pub const WIDE: Layout = Layout { class: "wide", width: 920.0, height: 370.0 };
/// For phones.
pub const NARROW: Layout = Layout { class: "narrow", width: 420.0, height: 340.0 };

impl Layout {
    /// Whether there is little room.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.width < 600.0
    }

    /// The part of the drawing between the axes.
    #[must_use]
    pub fn plot(&self) -> Area {
        Area { left: 62.0, top: 14.0, right: self.width - 16.0, bottom: self.height - 46.0 }
    }

    /// A drawing of this size; `chart` names it in the page.
    #[must_use]
    pub fn svg(&self, chart: &str, title: &str, desc: &str) -> Svg {
        let id = format!("{chart}-{}", self.class);
        Svg::new(self.class, &id, (self.width, self.height), title, desc)
    }
}

/// The same drawing for wide and for narrow screens.
pub fn figure(draw: impl Fn(Layout) -> Option<Markup>) -> Option<Markup> {
    let (wide, narrow) = (draw(WIDE)?, draw(NARROW)?);
    Some(html! { figure { (wide) (narrow) } })
}

/// The names of the lines, each beside its colour.
#[must_use]
pub fn legend(names: &[(&str, &str)]) -> Markup {
    html! {
        ul.legend {
            @for (class, name) in names { li { i class={ "key " (class) } {} (name) } }
        }
    }
}

/// The horizontal grid with its labels.
pub fn vertical_axis(svg: &mut Svg, plot: Area, axis: &LogAxis, label: fn(f64) -> String) {
    for (index, &tick) in axis.ticks().iter().enumerate() {
        let y = axis.at(tick);
        let class = if index == 0 { "axis" } else { "grid" };
        svg.line(class, (plot.left, y), (plot.right, y));
        svg.text("tick", (plot.left - 8.0, y + 4.0), Anchor::End, &label(tick));
    }
}

/// A tick of the horizontal axis.
pub fn horizontal_tick(svg: &mut Svg, plot: Area, x: f64, label: &str) {
    svg.line("grid", (x, plot.top), (x, plot.bottom));
    if !label.is_empty() {
        svg.text("tick", (x, plot.bottom + 18.0), Anchor::Middle, label);
    }
}

/// The horizontal axis's name.
pub fn horizontal_name(svg: &mut Svg, plot: Area, name: &str) {
    let middle = f64::midpoint(plot.left, plot.right);
    svg.text("axis-name", (middle, plot.bottom + 38.0), Anchor::Middle, name);
}

/// What a letter of a label takes at the most, in pixels.
const LETTER_WIDTH: f64 = 7.5;

/// A line of [`Curves`]: its class, its name, and its points.
pub type Line<'a> = (&'a str, &'a str, Vec<(f64, f64)>);

/// Lines over one quantity, both axes logarithmic.
#[derive(Clone, Debug)]
pub struct Curves<'a> {
    /// Unlike any other's in the page.
    pub id: &'a str,
    /// What is drawn.
    pub title: &'a str,
    /// What the horizontal axis is.
    pub over: &'a str,
    /// The lines.
    pub lines: Vec<Line<'a>>,
    /// A place on the horizontal axis that is marked.
    pub mark: Option<f64>,
}

/// Lines as a section of a page, with what they are where there are several.
pub fn section_of(title: &str, lines: &[Line<'_>], draw: impl Fn(Layout) -> Markup) -> Markup {
    let names: Vec<_> = lines.iter().map(|(class, name, _)| (*class, *name)).collect();
    html! {
        section {
            h2 { (title) }
            @if names.len() > 1 { (legend(&names)) }
            @if let Some(figure) = figure(|layout| Some(draw(layout))) { (figure) }
        }
    }
}

impl Curves<'_> {
    /// As a section of a page.
    #[must_use]
    pub fn section(&self) -> Markup {
        section_of(self.title, &self.lines, |layout| self.draw(layout))
    }

    fn draw(&self, layout: Layout) -> Markup {
        let plot = layout.plot();
        let points = || self.lines.iter().flat_map(|(_, _, points)| points);
        let x = LogAxis::of(points().map(|point| point.0), plot.left, plot.right);
        let y = LogAxis::of(points().map(|point| point.1), plot.bottom, plot.top);
        let mut svg = layout.svg(self.id, self.title, self.over);
        vertical_axis(&mut svg, plot, &y, axis_plain);
        // A label that would lie over the one before is left out; its line stays.
        let mut free_from = f64::MIN;
        for &tick in x.ticks() {
            let (at, label) = (x.at(tick), axis_plain(tick));
            let half = LETTER_WIDTH * label.len() as f64 / 2.0;
            let has_room = at - half >= free_from;
            horizontal_tick(&mut svg, plot, at, if has_room { &label } else { "" });
            if has_room {
                free_from = at + half + LETTER_WIDTH;
            }
        }
        horizontal_name(&mut svg, plot, self.over);
        if let Some(mark) = self.mark {
            svg.line("axis", (x.at(mark), plot.top), (x.at(mark), plot.bottom));
        }
        for (class, name, points) in &self.lines {
            let at = |&(over, value): &(f64, f64)| (x.at(over), y.at(value));
            svg.path(&format!("line {class}"), &points.iter().map(at).collect::<Vec<_>>());
            for point in points {
                let hint = format!("{name} at {}: {}", plain(point.0), plain(point.1));
                svg.dot(&format!("dot {class}"), at(point), &hint);
            }
        }
        svg.finish()
    }
}

/// A bar of [`ranges`]: its class, its name, its begin, which has a dot, and its end.
pub type Range<'a> = (&'a str, String, f64, f64);

/// The height of a bar with the gap to the next one.
const BAR: f64 = 18.0;

/// Bars on one logarithmic axis, one below the other.
#[must_use]
pub fn ranges(id: &str, title: &str, bars: &[Range<'_>], label: fn(f64) -> String) -> Markup {
    let plot =
        Area { left: 260.0, top: 14.0, right: 944.0, bottom: 14.0 + BAR * bars.len() as f64 };
    let ends = bars.iter().flat_map(|&(_, _, from, to)| [from, to]);
    let axis = LogAxis::of(ends, plot.left, plot.right);
    let mut svg = Svg::new("", id, (960.0, plot.bottom + 30.0), title, title);
    for &tick in axis.ticks() {
        horizontal_tick(&mut svg, plot, axis.at(tick), &label(tick));
    }
    for (row, (class, name, from, to)) in (0..).zip(bars) {
        let top = plot.top + BAR * f64::from(row) + 4.0;
        let (left, right) = (axis.at(*from), axis.at(*to));
        svg.text("tick", (plot.left - 8.0, top + 8.0), Anchor::End, name);
        svg.rect(class, Area { left, top, right: right.max(left + 1.0), bottom: top + 8.0 }, name);
        svg.dot(&format!("dot {class}"), (left, top + 4.0), "");
    }
    html! { figure { (svg.finish()) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_or_none_is_drawn_too() {
        for points in [vec![], vec![(5.0, 0.0)], vec![(5.0, 1.0), (9.0, 1e7)]] {
            let lines = vec![("p50", "a<b", points), ("p99", "c", vec![])];
            let curves = Curves { id: "c", title: "t", over: "o", lines, mark: Some(7.0) };
            let text = curves.section().into_string();
            assert!(text.contains("a&lt;b") && !text.contains("NaN") && !text.contains("inf"));
            assert_eq!(text.matches("<svg").count(), 2);
        }
        // Eleven ticks on a phone: what is written does not lie over each other.
        let lines = vec![("p50", "x", vec![(1_000.0, 1.0), (3_000_000.0, 1.0)])];
        let curves = Curves { id: "c", title: "t", over: "o", lines, mark: None };
        let text = curves.draw(NARROW).into_string();
        let ticks = text.split("class=\"tick\"").filter(|tick| tick.contains("middle"));
        let labels: Vec<(f64, f64)> = ticks
            .filter_map(|tick| {
                let at: f64 = tick.split_once("x=\"")?.1.split_once('"')?.0.parse().ok()?;
                let label = tick.split_once('>')?.1.split_once('<')?.0;
                let half = LETTER_WIDTH * label.len() as f64 / 2.0;
                Some((at - half, at + half))
            })
            .collect();
        assert!(labels.len() > 3, "{text}");
        assert!(labels.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{labels:?}");
        let bars = [("p50", "x".to_owned(), 5.0, 20.0), ("p99", "y".to_owned(), f64::NAN, 0.0)];
        let text = ranges("r", "t", &bars, plain).into_string();
        assert_eq!(text.matches("<rect").count(), 2);
    }
}
