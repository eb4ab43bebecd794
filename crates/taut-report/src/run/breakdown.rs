//! The stages as parts of a bar.

use maud::Markup;

use crate::chart::Layout;
use crate::svg::{Anchor, Area, Scale, Svg};
use crate::units::human_ns;

/// One bar: its name, the number at its end, and the stages with their class, label and length.
#[derive(Clone, Debug)]
pub struct Bar {
    pub name: &'static str,
    pub total_ns: u64,
    pub parts: Vec<(&'static str, &'static str, u64)>,
}

const NAME_HEIGHT: f64 = 22.0;
const BAR_HEIGHT: f64 = 34.0;
const GAP: f64 = 20.0;

/// The chart; each bar fills the width, so its parts compare with each other.
pub fn breakdown(bars: &[Bar], layout: Layout) -> Markup {
    let row = NAME_HEIGHT + BAR_HEIGHT + GAP;
    let height = row * bars.len() as f64 - GAP + 4.0;
    let layout = Layout { height, ..layout };
    let mut svg = layout.svg("breakdown", "Stages of tick to trade", &description(bars));
    let mut top = 0.0;
    for bar in bars {
        svg.text("bar-name", (0.0, top + 14.0), Anchor::Start, bar.name);
        svg.text("bar-total", (layout.width, top + 14.0), Anchor::End, &human_ns(bar.total_ns));
        draw(&mut svg, bar, top + NAME_HEIGHT, layout.width);
        top += row;
    }
    svg.finish()
}

fn draw(svg: &mut Svg, bar: &Bar, top: f64, width: f64) {
    let length: u64 = bar.parts.iter().map(|(_, _, ns)| ns).sum();
    let scale = Scale::linear(0.0, length as f64, 0.0, width);
    let mut start = 0;
    for (class, label, ns) in bar.parts.iter().filter(|(_, _, ns)| *ns > 0) {
        let (left, right) = (scale.at(start as f64), scale.at((start + ns) as f64));
        let hint = format!("{label}: {}", human_ns(*ns));
        let area = Area { left, top, right, bottom: top + BAR_HEIGHT };
        svg.rect(&format!("part {class}"), area, &hint);
        // About 7 pixels a letter; a label that does not fit is left to the legend.
        if right - left > 7.0 * label.len() as f64 + 10.0 {
            let middle = (f64::midpoint(left, right), top + BAR_HEIGHT / 2.0 + 4.5);
            svg.text(&format!("part-label on-{class}"), middle, Anchor::Middle, label);
        }
        start += ns;
    }
}

fn description(bars: &[Bar]) -> String {
    let sentences: Vec<String> = bars
        .iter()
        .map(|bar| {
            let parts: Vec<String> = bar
                .parts
                .iter()
                .map(|(_, label, ns)| format!("{label} {}", human_ns(*ns)))
                .collect();
            format!("{}: {}.", bar.name, parts.join(", "))
        })
        .collect();
    sentences.join(" ")
}
