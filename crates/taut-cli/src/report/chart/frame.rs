//! What the charts with two axes share.

use super::super::svg::{Anchor, Area, LogAxis, Svg};
use super::super::units::axis_ns;

/// The size of a drawing and its use.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The class that the style sheet shows or hides.
    pub class: &'static str,
    pub width: f64,
    pub height: f64,
}

/// For screens of more than 680 pixels.
pub const WIDE: Layout = Layout { class: "wide", width: 920.0, height: 370.0 };
/// For phones.
pub const NARROW: Layout = Layout { class: "narrow", width: 420.0, height: 340.0 };

impl Layout {
    /// Whether there is little room.
    pub fn is_narrow(&self) -> bool {
        self.width < 600.0
    }

    /// The part of the drawing between the axes.
    pub fn plot(&self) -> Area {
        Area { left: 62.0, top: 14.0, right: self.width - 16.0, bottom: self.height - 46.0 }
    }

    /// An identifier for this drawing of `chart`.
    pub fn id(&self, chart: &str) -> String {
        format!("{chart}-{}", self.class)
    }
}

/// The horizontal grid with its labels.
pub fn vertical_axis(svg: &mut Svg, plot: Area, axis: &LogAxis) {
    for (index, &tick) in axis.ticks().iter().enumerate() {
        let y = axis.at(tick);
        let class = if index == 0 { "axis" } else { "grid" };
        svg.line(class, (plot.left, y), (plot.right, y));
        svg.text("tick", (plot.left - 8.0, y + 4.0), Anchor::End, &axis_ns(tick));
    }
}

/// A tick of the horizontal axis.
pub fn horizontal_tick(svg: &mut Svg, plot: Area, x: f64, label: &str) {
    svg.line("grid", (x, plot.top), (x, plot.bottom));
    svg.text("tick", (x, plot.bottom + 18.0), Anchor::Middle, label);
}

/// The horizontal axis's name.
pub fn horizontal_name(svg: &mut Svg, plot: Area, name: &str) {
    let middle = f64::midpoint(plot.left, plot.right);
    svg.text("axis-name", (middle, plot.bottom + 38.0), Anchor::Middle, name);
}
