//! A small writer of SVG, and the scales of its charts.
//!
//! Coordinates have one decimal and everything is written in the order of the calls: the same calls
//! give the same bytes. Colours and fonts are classes of the page's style sheet, so that a drawing
//! follows the reader's light or dark theme.

use maud::{Markup, PreEscaped, html};
use taut_lat::VALUE_MAX;

/// The powers of ten that an axis can reach: a thousandth, and above every duration in nanoseconds.
const POWERS: std::ops::RangeInclusive<i32> = -3..=11;

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// An upright rectangle.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// A drawing under construction.
#[derive(Debug)]
pub struct Svg {
    text: String,
}

impl Svg {
    /// A drawing of `width` by `height` with a title and a description for those who cannot see
    /// it. `id` is unique in the page.
    #[must_use]
    pub fn new(class: &str, id: &str, size: (f64, f64), title: &str, desc: &str) -> Self {
        let (title_id, desc_id) = (format!("{id}-title"), format!("{id}-desc"));
        let whole = html! {
            svg class=(class) viewBox={ "0 0 " (size.0.round()) " " (size.1.round()) } role="img"
                aria-labelledby={ (title_id) " " (desc_id) } {
                title id=(title_id) { (title) }
                desc id=(desc_id) { (desc) }
            }
        };
        let mut text = whole.into_string();
        text.truncate(text.len() - "</svg>".len());
        Self { text }
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        self.add(html! { line class=(class) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} });
    }

    /// A line through `points`; nothing for fewer than two.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() < 2 {
            return;
        }
        let steps: Vec<_> = points.iter().map(|&(x, y)| format!("{} {}", px(x), px(y))).collect();
        self.add(html! { path class=(class) d={ "M" (steps.join("L")) } {} });
    }

    /// A rectangle; `hint` is shown when the pointer rests on it.
    pub fn rect(&mut self, class: &str, area: Area, hint: &str) {
        let Area { left, top, right, bottom } = area;
        let [x, y, width, height] = [left, top, right - left, bottom - top].map(px);
        self.add(html! {
            rect class=(class) x=(x) y=(y) width=(width) height=(height) { (titled(hint)) }
        });
    }

    /// A dot; `hint` is shown when the pointer rests on it.
    pub fn dot(&mut self, class: &str, (x, y): (f64, f64), hint: &str) {
        let (cx, cy) = (px(x), px(y));
        self.add(html! { circle class=(class) cx=(cx) cy=(cy) r="3.5" { (titled(hint)) } });
    }

    /// A line of text.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (px(x), px(y));
        self.add(html! { text class=(class) x=(x) y=(y) text-anchor=(anchor) { (text) } });
    }

    /// The drawing.
    #[must_use]
    pub fn finish(self) -> Markup {
        PreEscaped(self.text + "</svg>\n")
    }

    fn add(&mut self, element: Markup) {
        self.text.push_str(&element.0);
        self.text.push('\n');
    }
}

fn px(at: f64) -> String {
    format!("{at:.1}")
}

fn titled(hint: &str) -> Markup {
    html! { @if !hint.is_empty() { title { (hint) } } }
}

/// Maps values to pixels, linearly.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// Maps `low..=high` to `start..=end`.
    #[must_use]
    pub fn linear(low: f64, high: f64, start: f64, end: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, start, end }
    }

    /// The pixel of `value`; values outside go to the edge.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.start + part * (self.end - self.start)
    }
}

/// A logarithmic axis whose ends are ticks.
#[derive(Clone, Debug)]
pub struct LogAxis {
    scale: Scale,
    ticks: Vec<f64>,
}

impl LogAxis {
    /// An axis for `low..=high` from pixel `start` to pixel `end`.
    ///
    /// Ticks are at 1, 2 and 5 times the powers of ten, or at the powers alone when there are more
    /// than four.
    #[must_use]
    pub fn new(low: f64, high: f64, start: f64, end: f64) -> Self {
        let steps: &[f64] = if (high / low).log10() > 3.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = POWERS.map(|power| 10f64.powi(power));
        let all: Vec<f64> =
            powers.flat_map(|power| steps.iter().map(move |step| step * power)).collect();
        let first = all.iter().rposition(|&tick| tick <= low).unwrap_or(0).min(all.len() - 2);
        let last = all.iter().position(|&tick| tick >= high).unwrap_or(all.len() - 1);
        let ticks = all[first..=last.max(first + 1)].to_vec();
        let (low, high) = (ticks[0].log10(), ticks[ticks.len() - 1].log10());
        Self { scale: Scale::linear(low, high, start, end), ticks }
    }

    /// An axis of durations in nanoseconds.
    #[must_use]
    pub fn of_ns(low: u64, high: u64, start: f64, end: f64) -> Self {
        let (low, high) = (low.clamp(1, VALUE_MAX), high.clamp(2, VALUE_MAX));
        Self::new(low as f64, high as f64, start, end)
    }

    /// An axis for all of these values.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let bounds = values.filter(|value| *value > 0.0).fold(None, |bounds, value| {
            let (low, high) = bounds.unwrap_or((value, value));
            Some((value.min(low), value.max(high)))
        });
        let (low, high) = bounds.unwrap_or((1.0, 1.0));
        Self::new(low, high, start, end)
    }

    /// The pixel of a value.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        self.scale.at(value.max(f64::MIN_POSITIVE).log10())
    }

    /// The ticks.
    #[must_use]
    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_wherever_it_stands() {
        let mut svg = Svg::new("a", "b", (1.0, 2.0), "<t>", "\"d\"");
        svg.text("c", (0.0, 0.0), Anchor::Start, "x<y");
        svg.dot("\"", (0.0, 0.0), "<hint>");
        let text = svg.finish().into_string();
        for escaped in ["&lt;t&gt;", "&quot;d&quot;", "x&lt;y", "class=\"&quot;\"", "&lt;hint&gt;"]
        {
            assert!(text.contains(escaped), "{escaped} in {text}");
        }
    }

    #[test]
    fn a_logarithmic_axis_begins_and_ends_at_ticks() {
        let axis = LogAxis::of_ns(700, 45_000, 0.0, 100.0);
        assert_eq!(axis.ticks(), [500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4]);
        assert!((axis.at(500.0), axis.at(5e4)) == (0.0, 100.0));
        let wide = LogAxis::of_ns(90, 3_000_000, 0.0, 100.0);
        assert_eq!(wide.ticks(), [10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7]);
    }

    #[test]
    fn an_axis_of_nothing_has_two_ticks() {
        assert_eq!(LogAxis::of_ns(0, 0, 0.0, 1.0).ticks(), [1.0, 2.0]);
        assert_eq!(LogAxis::of_ns(5, 5, 0.0, 1.0).ticks(), [5.0, 10.0]);
        assert!(LogAxis::of_ns(u64::MAX, u64::MAX, 0.0, 1.0).ticks().len() >= 2);
        assert_eq!(LogAxis::of([].into_iter(), 0.0, 1.0).ticks(), [1.0, 2.0]);
        for low in -60..130 {
            let low = 10_f64.powf(f64::from(low) / 10.0);
            // Where the highest value is twice the lowest.
            let axis = LogAxis::of([low, 0.0, 2.0 * low].into_iter(), 0.0, 1.0);
            assert!((2..5).contains(&axis.ticks().len()), "{low}");
            assert!(axis.at(low) <= axis.at(2.0 * low) && axis.at(0.0) >= 0.0, "{low}");
        }
    }
}
