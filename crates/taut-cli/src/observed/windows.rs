//! What was counted and timed in the last second and the last minute: differences of readings.

use std::collections::VecDeque;

use taut_gateway::GatewayCounters;
use taut_lat::{Bucket, PathSnapshot, Snapshot, Stage};
use taut_types::Nanos;

use super::model::{Counter, StageTimes, Times};

/// Readings are kept this far apart, those of the last two seconds closer.
const STEP: Nanos = Nanos::from_secs(5);
const FINE_STEP: Nanos = Nanos::from_millis(250);
const SECOND: Nanos = Nanos::from_secs(1);
const MINUTE: Nanos = Nanos::from_secs(60);

/// Histograms: the stages, then the wholes.
const WHOLES: [&str; 3] = ["tick to trade", "less send", "order round trip"];

/// What was read at one moment: counters, and the buckets of histograms that hold something.
#[derive(Clone, Debug, Default)]
struct Reading {
    at: Nanos,
    counters: GatewayCounters,
    histograms: Vec<Vec<Bucket>>,
}

/// The readings of the last minute.
#[derive(Debug, Default)]
pub struct Windows {
    /// The oldest first.
    readings: VecDeque<Reading>,
}

impl Windows {
    /// Takes a reading, and says what the counters and the stages come to.
    pub fn take(
        &mut self,
        at: Nanos,
        counters: GatewayCounters,
        path: &PathSnapshot,
        round_trip: &Snapshot,
    ) -> (Vec<Counter>, Vec<StageTimes>) {
        let wholes = [&path.tick_to_trade, &path.tick_to_send, round_trip];
        let all: Vec<&Snapshot> = path.stages.iter().chain(wholes).collect();
        let histograms = all.iter().map(|it| it.buckets().collect()).collect();
        let now = Reading { at, counters, histograms };
        let second = self.since(at, SECOND);
        let minute = self.since(at, MINUTE);
        let told = (rates(&now, second), stages(&now, &all, second, minute));
        self.keep(now);
        told
    }

    /// The latest reading that is at least so old, or else the oldest.
    fn since(&self, at: Nanos, span: Nanos) -> Option<&Reading> {
        let is_older = |reading: &&Reading| at.since(reading.at) >= span;
        self.readings.iter().rev().find(is_older).or_else(|| self.readings.front())
    }

    fn keep(&mut self, now: Reading) {
        let at = now.at;
        let newest = self.readings.back().map(|it| it.at);
        if newest.is_none_or(|newest| at.since(newest) >= FINE_STEP) {
            self.readings.push_back(now);
        }
        // Of those that are older than two seconds, one in each step stays.
        let mut last = None;
        self.readings.retain(|reading| {
            let is_recent = at.since(reading.at) <= SECOND + SECOND;
            let stays = is_recent || last.is_none_or(|last| reading.at.since(last) >= STEP);
            if stays {
                last = Some(reading.at);
            }
            stays
        });
        // One that is older than a minute is needed, of several the latest.
        while self.readings.get(1).is_some_and(|second| at.since(second.at) >= MINUTE) {
            self.readings.pop_front();
        }
    }
}

fn rates(now: &Reading, earlier: Option<&Reading>) -> Vec<Counter> {
    let seconds = earlier.map_or(0.0, |it| now.at.since(it.at).0 as f64 / 1e9);
    let before = earlier.map_or_else(GatewayCounters::default, |it| it.counters).named();
    let counter = |((name, value), (_, before)): ((&str, u64), (_, u64))| {
        let grown = value.saturating_sub(before) as f64;
        let per_second = if seconds > 0.0 { grown / seconds } else { 0.0 };
        Counter { name: name.to_owned(), value, per_second }
    };
    now.counters.named().into_iter().zip(before).map(counter).collect()
}

fn stages(
    now: &Reading,
    all: &[&Snapshot],
    second: Option<&Reading>,
    minute: Option<&Reading>,
) -> Vec<StageTimes> {
    let names = Stage::ALL.iter().map(|stage| stage.name()).chain(WHOLES);
    let mut told = Vec::new();
    for (at, (name, whole)) in names.zip(all).enumerate() {
        let buckets = now.histograms.get(at).map_or(&[][..], Vec::as_slice);
        let times = |earlier: Option<&Reading>| {
            let earlier = earlier.and_then(|it| it.histograms.get(at));
            earlier.map_or_else(Times::default, |earlier| difference(buckets, earlier))
        };
        told.push(StageTimes {
            stage: name.to_owned(),
            second: times(second),
            minute: times(minute),
            start: whole.summary().into(),
        });
    }
    told
}

/// The percentiles of what was counted since `earlier`, as HdrHistogram has them: the largest value
/// of a bucket.
fn difference(now: &[Bucket], earlier: &[Bucket]) -> Times {
    let mut earlier = earlier.iter().peekable();
    let mut counts = Vec::with_capacity(now.len());
    for bucket in now {
        while earlier.next_if(|it| it.lowest < bucket.lowest).is_some() {}
        let before = earlier.next_if(|it| it.lowest == bucket.lowest).map_or(0, |it| it.count);
        let count = bucket.count.saturating_sub(before);
        if count > 0 {
            counts.push((bucket.highest, count));
        }
    }
    let count: u64 = counts.iter().map(|(_, count)| count).sum();
    let at = |share: u64| {
        let rank = (u128::from(count) * u128::from(share)).div_ceil(1_000);
        let mut seen = 0;
        let found = counts.iter().find(|(_, count)| {
            seen += u128::from(*count);
            seen >= rank
        });
        found.map_or(0, |(highest, _)| *highest)
    };
    let max_ns = counts.last().map_or(0, |(highest, _)| *highest);
    Times { count, p50_ns: at(500), p99_ns: at(990), p999_ns: at(999), max_ns }
}

#[cfg(test)]
mod tests {
    use taut_lat::{Recorder, View, new_words};

    use super::*;

    fn path() -> PathSnapshot {
        PathSnapshot {
            stages: std::array::from_fn(|_| Snapshot::new()),
            tick_to_send: Snapshot::new(),
            tick_to_trade: Snapshot::new(),
        }
    }

    #[test]
    fn a_window_has_what_came_in_it_and_nothing_else() {
        let words = new_words();
        let mut recorder = Recorder::new(&words).expect("words");
        let mut windows = Windows::default();
        let mut told = (Vec::new(), Vec::new());
        // 75 seconds, four looks a second: one order each, which takes 0.1 us longer than the last.
        for quarter in 0..=300_u32 {
            recorder.record(1_000 + u64::from(quarter) * 100);
            let round_trip = Snapshot::of(&View::new(&words).expect("words"));
            let counters = GatewayCounters { orders: u64::from(quarter) + 1, ..<_>::default() };
            let at = Nanos(i64::from(quarter) * 250_000_000);
            told = windows.take(at, counters, &path(), &round_trip);
        }
        let (counters, stages) = told;
        let orders = counters.iter().find(|it| it.name == "orders").expect("it");
        assert_eq!(orders.value, 301);
        assert!((orders.per_second - 4.0).abs() < 0.1, "{orders:?}");
        let round_trip = stages.iter().find(|it| it.stage == "order round trip").expect("it");
        assert_eq!(round_trip.second.count, 4);
        assert!((240..=264).contains(&round_trip.minute.count), "{round_trip:?}");
        assert_eq!(round_trip.start.count, 301);
        // Within a bucket's width, and a step, of what they were.
        let near = |ns: u64, wanted: u64| ns.abs_diff(wanted) <= wanted / 25;
        assert!(near(round_trip.second.p50_ns, 30_800), "{round_trip:?}");
        assert!(near(round_trip.minute.p50_ns, 18_500), "{round_trip:?}");
        assert!(near(round_trip.minute.max_ns, 31_000), "{round_trip:?}");
        assert!(windows.readings.len() < 30, "{}", windows.readings.len());
    }

    #[test]
    fn a_first_look_has_no_rate_and_no_window() {
        let counters = GatewayCounters { orders: 5, ..<_>::default() };
        let (counters, stages) =
            Windows::default().take(Nanos(1), counters, &path(), &Snapshot::new());
        let orders = counters.iter().find(|it| it.name == "orders").expect("it");
        assert_eq!((orders.value, orders.per_second), (5, 0.0));
        assert!(stages.iter().all(|it| it.second == Times::default()));
        assert_eq!(stages.len(), Stage::ALL.len() + WHOLES.len());
    }
}
