//! What was before a page came: percentiles of the last minutes, once a second.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use crate::observed::model::{GatewaySeen, Snapshot, StageTimes, State};

/// Ten minutes.
const POINTS_MAX: usize = 600;

/// One second of a gateway.
#[derive(Clone, Debug)]
struct Point {
    at_ns: i64,
    /// p50, p99 and max of the last second of each stage.
    stages: Vec<[u64; 3]>,
}

/// The last minutes of each gateway.
#[derive(Debug, Default)]
pub struct History {
    gateways: HashMap<String, VecDeque<Point>>,
}

impl History {
    /// Keeps a look. Of gateways that are not seen any more nothing is kept.
    pub fn add(&mut self, seen: &Snapshot) {
        self.gateways.retain(|name, _| seen.gateways.iter().any(|it| it.name == *name));
        for gateway in seen.gateways.iter().filter(|it| it.state == State::Up) {
            let points = self.gateways.entry(gateway.name.clone()).or_default();
            if points.back().is_some_and(|it| it.at_ns == gateway.as_of_ns) {
                continue;
            }
            if points.len() == POINTS_MAX {
                points.pop_front();
            }
            points.push_back(Point::of(gateway));
        }
    }

    /// All of it by gateway, the latest last: when (ms of UTC), and three times (ns) of each stage.
    pub fn told(&self) -> Value {
        let of = |points: &VecDeque<Point>| {
            points.iter().map(|it| json!([it.at_ns / 1_000_000, it.stages])).collect::<Value>()
        };
        self.gateways.iter().map(|(name, points)| (name.clone(), of(points))).collect()
    }
}

impl Point {
    fn of(gateway: &GatewaySeen) -> Self {
        let times = |it: &StageTimes| [it.second.p50_ns, it.second.p99_ns, it.second.max_ns];
        let stages = gateway.stages.iter().map(times).collect();
        Self { at_ns: gateway.as_of_ns, stages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_are_kept_and_what_is_gone_is_forgotten() {
        let mut history = History::default();
        let mut seen = Snapshot::default();
        for second in 0..POINTS_MAX as i64 + 50 {
            let gateway = GatewaySeen {
                name: "a".to_owned(),
                state: State::Up,
                as_of_ns: second * 1_000_000_000,
                ..GatewaySeen::default()
            };
            seen.gateways = vec![gateway];
            history.add(&seen);
            // One that has said nothing new since has no second point.
            history.add(&seen);
        }
        let told = history.told();
        let points = told["a"].as_array().expect("points");
        assert_eq!((points.len(), &points[0][0]), (POINTS_MAX, &json!(50_000)));
        seen.gateways.clear();
        history.add(&seen);
        assert_eq!(history.told(), json!({}));
    }
}
