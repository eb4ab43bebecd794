//! The text that Prometheus reads.
//!
//! Source: Prometheus, "Exposition formats", the text format 0.0.4. All samples of a family stand
//! together, behind its HELP and its TYPE; durations are in seconds.

use std::fmt::Write;

use taut_lat::Snapshot;

/// What kind of number a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until the process is another one.
    Counter,
    /// It is what it is now.
    Gauge,
    /// Counts by upper bounds.
    Histogram,
}

/// The bounds of histograms: four in each octave, from 20 ns to 16.8 ms. They are bounds of
/// [`Snapshot`]'s buckets, too: each count is exact.
const OCTAVES: std::ops::Range<u32> = 4..24;
const STEPS: u64 = 4;

/// Labels of a sample: names and values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A text that grows, family by family.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    family: String,
}

impl Exposition {
    /// The samples of this family follow. A help text has no line breaks.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        name.clone_into(&mut self.family);
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of the family.
    pub fn sample(&mut self, labels: Labels<'_>, value: impl std::fmt::Display) {
        self.line("", labels, None, value);
    }

    /// A histogram of the family: of durations in ns, as a recorder has counted them.
    pub fn histogram(&mut self, labels: Labels<'_>, durations: &Snapshot) {
        let mut buckets = durations.buckets().peekable();
        let mut count = 0;
        for bound in bounds() {
            while let Some(bucket) = buckets.next_if(|bucket| bucket.highest < bound) {
                count += bucket.count;
            }
            self.line("_bucket", labels, Some(&seconds(bound)), count);
        }
        // What is being recorded meanwhile is in both or in neither.
        let count = count + buckets.map(|bucket| bucket.count).sum::<u64>();
        self.line("_bucket", labels, Some("+Inf"), count);
        self.line("_sum", labels, None, seconds(durations.sum()));
        self.line("_count", labels, None, count);
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }

    fn line(
        &mut self,
        part: &str,
        labels: Labels<'_>,
        bound: Option<&str>,
        value: impl std::fmt::Display,
    ) {
        let Self { text, family } = self;
        let _ = write!(text, "{family}{part}");
        let bound = bound.map(|bound| ("le", bound));
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(bound) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{before}{name}=\"{value}\"");
            before = ',';
        }
        let _ = writeln!(text, "{} {value}", if before == ',' { "}" } else { "" });
    }
}

/// The bounds, ns.
fn bounds() -> impl Iterator<Item = u64> {
    OCTAVES.flat_map(|octave| (1..=STEPS).map(move |step| (1 << octave) * (STEPS + step) / STEPS))
}

/// Nanoseconds as seconds, exactly.
pub fn seconds(ns: u64) -> String {
    const NS: u64 = 1_000_000_000;
    let text = format!("{}.{:09}", ns / NS, ns % NS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use taut_lat::{Recorder, View, new_words};

    use super::*;

    #[test]
    fn a_sample_has_its_labels_and_what_is_special_in_them_is_escaped() {
        let mut text = Exposition::default();
        text.family("taut_x_total", Kind::Counter, "What is\ncounted.");
        text.sample(&[], 1);
        text.sample(&[("gateway", "a\"b\\c\nd"), ("of", "e")], 2);
        let expected = "# HELP taut_x_total What is\\ncounted.\n# TYPE taut_x_total counter\n\
                        taut_x_total 1\ntaut_x_total{gateway=\"a\\\"b\\\\c\\nd\",of=\"e\"} 2\n";
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn durations_are_counted_below_each_bound_and_no_count_is_lost() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).expect("words");
        // Below the first bound, at a bound, between two, above all.
        for ns in [1, 319, 320, 1_000, 20_000_000] {
            recorder.record(ns);
        }
        let snapshot = Snapshot::of(&View::new(&words).expect("words"));
        let mut text = Exposition::default();
        text.family("taut_x_seconds", Kind::Histogram, "x");
        text.histogram(&[("stage", "book")], &snapshot);
        let text = text.finish();
        let count = |bound: &str| {
            let line = format!("taut_x_seconds_bucket{{stage=\"book\",le=\"{bound}\"}} ");
            let (_, rest) = text.split_once(&line).unwrap_or_else(|| panic!("{bound}: {text}"));
            rest.split('\n').next().expect("a line").to_owned()
        };
        let bounds = ["0.00000002", "0.00000032", "0.000000384", "0.000001024", "0.016777216"];
        assert_eq!(bounds.map(count), ["1", "2", "3", "4", "4"]);
        assert_eq!(count("+Inf"), "5");
        assert!(text.contains("taut_x_seconds_sum{stage=\"book\"} 0.02000164\n"), "{text}");
        assert!(text.ends_with("taut_x_seconds_count{stage=\"book\"} 5\n"));
        assert_eq!(text.matches("_bucket").count(), 81);
    }

    #[test]
    fn nanoseconds_are_seconds_to_the_last_digit() {
        let told = [0, 1, 1_500_000_000, 60_000_000_000].map(seconds);
        assert_eq!(told, ["0", "0.000000001", "1.5", "60"]);
    }
}
