//! A small writer of SVG, and the scales of its charts.
//!
//! Coordinates have one decimal and everything is written in the order of the calls: the same calls
//! give the same bytes. Colours and fonts are classes of the page's style sheet, so that a drawing
//! follows the reader's light or dark theme.

use std::fmt::{self, Display, Write};

use taut_lat::VALUE_MAX;

/// The first power of ten that is above every duration: 100 seconds.
const POWER_MAX: i32 = 11;

/// Text as HTML and SVG want it, in content and in quoted attributes.
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            other => f.write_char(other),
        })
    }
}

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
    pub fn new(class: &str, id: &str, width: f64, height: f64, title: &str, desc: &str) -> Self {
        let mut svg = Self { text: String::new() };
        svg.write(format_args!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{}</title>\n\
             <desc id=\"{id}-desc\">{}</desc>\n",
            Escaped(title),
            Escaped(desc),
        ));
        svg
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.write(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n",
            from.0, from.1, to.0, to.1,
        ));
    }

    /// A line through `points`; nothing for fewer than two.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let [first, rest @ ..] = points else { return };
        if rest.is_empty() {
            return;
        }
        self.write(format_args!("<path class=\"{class}\" d=\"M{:.1} {:.1}", first.0, first.1));
        for (x, y) in rest {
            self.write(format_args!("L{x:.1} {y:.1}"));
        }
        self.text.push_str("\"/>\n");
    }

    /// A rectangle; `hint` is shown when the pointer rests on it.
    pub fn rect(&mut self, class: &str, area: Area, hint: &str) {
        let Area { left, top, right, bottom } = area;
        self.write(format_args!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\">",
            right - left,
            bottom - top,
        ));
        self.hint_and_end(hint, "rect");
    }

    /// A dot; `hint` is shown when the pointer rests on it.
    pub fn dot(&mut self, class: &str, (x, y): (f64, f64), hint: &str) {
        self.write(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\">"
        ));
        self.hint_and_end(hint, "circle");
    }

    /// A line of text.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.write(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             text-anchor=\"{anchor}\">{}</text>\n",
            Escaped(text),
        ));
    }

    /// The drawing.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn hint_and_end(&mut self, hint: &str, element: &str) {
        if !hint.is_empty() {
            self.write(format_args!("<title>{}</title>", Escaped(hint)));
        }
        self.write(format_args!("</{element}>\n"));
    }

    fn write(&mut self, args: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(args); // a String takes everything
    }
}

/// Maps values to pixels, linearly or by their logarithm.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// Maps `low..=high` to `start..=end`.
    pub fn linear(low: f64, high: f64, start: f64, end: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, start, end }
    }

    /// The pixel of `value`; values outside go to the edge.
    pub fn at(&self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.start + part * (self.end - self.start)
    }
}

/// A logarithmic axis of durations whose ends are ticks.
#[derive(Clone, Debug)]
pub struct LogAxis {
    scale: Scale,
    ticks: Vec<f64>,
}

impl LogAxis {
    /// An axis for `low..=high` ns from pixel `start` to pixel `end`.
    ///
    /// Ticks are at 1, 2 and 5 times the powers of ten, or at the powers alone when there are more
    /// than four.
    pub fn new(low: u64, high: u64, start: f64, end: f64) -> Self {
        let (low, high) = (low.clamp(1, VALUE_MAX) as f64, high.clamp(2, VALUE_MAX) as f64);
        let steps: &[f64] = if (high / low).log10() > 3.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = (0..=POWER_MAX).map(|power| 10f64.powi(power));
        let all: Vec<f64> =
            powers.flat_map(|power| steps.iter().map(move |step| step * power)).collect();
        let first = all.iter().rposition(|&tick| tick <= low).unwrap_or(0);
        let last = all.iter().position(|&tick| tick >= high).unwrap_or(all.len() - 1);
        let ticks = all[first..=last.max(first + 1)].to_vec();
        let (low, high) = (ticks[0].log10(), ticks[ticks.len() - 1].log10());
        Self { scale: Scale::linear(low, high, start, end), ticks }
    }

    /// The pixel of `ns`.
    pub fn at(&self, ns: f64) -> f64 {
        self.scale.at(ns.max(1.0).log10())
    }

    /// The ticks, ns.
    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let text = Escaped("<a href=\"x\">&'").to_string();
        assert_eq!(text, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn a_logarithmic_axis_begins_and_ends_at_ticks() {
        let axis = LogAxis::new(700, 45_000, 0.0, 100.0);
        assert_eq!(axis.ticks(), [500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4]);
        assert!((axis.at(500.0), axis.at(5e4)) == (0.0, 100.0));
        let wide = LogAxis::new(90, 3_000_000, 0.0, 100.0);
        assert_eq!(wide.ticks(), [10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7]);
    }

    #[test]
    fn an_axis_of_nothing_has_two_ticks() {
        assert_eq!(LogAxis::new(0, 0, 0.0, 1.0).ticks(), [1.0, 2.0]);
        assert_eq!(LogAxis::new(5, 5, 0.0, 1.0).ticks(), [5.0, 10.0]);
        assert!(LogAxis::new(u64::MAX, u64::MAX, 0.0, 1.0).ticks().len() >= 2);
    }
}
