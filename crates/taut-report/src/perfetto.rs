//! The worst orders as a trace that Perfetto and `chrome://tracing` open: Chrome's trace event
//! format in JSON.
//!
//! Process 1 is the run: a track for each thread with its CPU, with the stages that the thread had
//! as slices, of the worst orders and of the last ones; the way of each of the worst is a flow from
//! slice to slice, and what the looks at the threads found are counters. Process 2 has a track for
//! each of the worst orders: the order is a slice, its nine stages are within it, and why it took
//! long is among its arguments. Times are microseconds since the first of all, to the nanosecond.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taut_doctor::outliers::{Outlier, OutlierTrace, Outliers};
use taut_lat::{STAGE_COUNT, Stage};

use crate::units::human_ns;

const THREADS: u32 = 1;
const ORDERS: u32 = 2;
/// The track of strategies whose threads nobody looked at.
const STRATEGIES: u32 = 100;

/// The trace as one JSON object.
#[must_use]
pub fn perfetto(outliers: &Outliers, trace: &OutlierTrace) -> String {
    let drawing = Drawing::new(outliers, trace);
    let mut events = drawing.names();
    events.extend(drawing.threads());
    events.extend(drawing.counters());
    events.extend(drawing.orders());
    json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string() + "\n"
}

/// An order's way, wherever it comes from.
#[derive(Clone, Copy)]
struct Way<'a> {
    order: &'a str,
    at_ns: i64,
    stages_ns: &'a [u64; STAGE_COUNT],
}

/// A part of a thread's time.
struct Slice<'a> {
    track: u32,
    from: i64,
    to: i64,
    stage: Stage,
    /// What it belongs to: a tick's stages belong to all orders that it caused.
    order: &'a str,
    at_ns: i64,
}

struct Drawing<'a> {
    outliers: &'a Outliers,
    trace: &'a OutlierTrace,
    slices: Vec<Slice<'a>>,
    /// The strategy's track.
    strategy: u32,
    base: i64,
}

impl<'a> Drawing<'a> {
    fn new(outliers: &'a Outliers, trace: &'a OutlierTrace) -> Self {
        let place = trace.threads.iter().position(|thread| thread.name == "strategy");
        let strategy = match place {
            _ if trace.is_fused => track_of(0),
            Some(place) => track_of(place),
            None => STRATEGIES,
        };
        let ways = ways(outliers, trace);
        let slices = slices(&ways, strategy);
        let looks = trace.looks.iter().map(|look| look.from_ns);
        let base = ways.iter().map(|way| way.at_ns).chain(looks).min().unwrap_or_default();
        Self { outliers, trace, slices, strategy, base }
    }

    /// Times of the trace, µs.
    fn us(&self, ns: i64) -> f64 {
        ns.saturating_sub(self.base) as f64 / 1e3
    }

    /// What processes and tracks are called.
    fn names(&self) -> Vec<Value> {
        let name = |what: &str, process: u32, track: u32, name: String| {
            json!({ "ph": "M", "name": what, "pid": process, "tid": track,
                "args": { "name": name } })
        };
        let mut events = vec![
            name("process_name", THREADS, 0, "threads".to_owned()),
            name("process_name", ORDERS, 0, "the worst orders".to_owned()),
        ];
        for (place, thread) in self.trace.threads.iter().enumerate() {
            let text = format!("{}, CPU {}", thread.name, thread.cpu);
            events.push(name("thread_name", THREADS, track_of(place), text));
        }
        if self.strategy == STRATEGIES {
            events.push(name("thread_name", THREADS, STRATEGIES, "strategies".to_owned()));
        }
        for (number, it) in (1..).zip(&self.outliers.worst) {
            let text = format!("#{number} {} {}", human_ns(it.total_ns), it.order);
            events.push(name("thread_name", ORDERS, number, text));
        }
        events
    }

    /// Stages on the threads that had them, and the ways of the worst orders from one to the next.
    fn threads(&self) -> Vec<Value> {
        let slice = |slice: &Slice<'_>| {
            json!({ "ph": "X", "name": slice.stage.name(), "cat": "stage", "pid": THREADS,
                "tid": slice.track, "ts": self.us(slice.from),
                "dur": (slice.to - slice.from) as f64 / 1e3, "args": { "order": slice.order } })
        };
        let mut events: Vec<_> = self.slices.iter().map(slice).collect();
        for (number, outlier) in (1_u32..).zip(&self.outliers.worst) {
            let mut steps: Vec<_> = self.steps(outlier);
            steps.sort_by_key(|step| step.from);
            let last = steps.len().saturating_sub(1);
            for (at, step) in steps.iter().enumerate().filter(|_| last > 0) {
                let phase = match at {
                    0 => "s",
                    at if at == last => "f",
                    _ => "t",
                };
                events.push(json!({ "ph": phase, "bp": "e", "id": number, "name": outlier.order,
                    "cat": "order", "pid": THREADS, "tid": step.track,
                    "ts": self.us(step.from) }));
            }
        }
        events
    }

    /// The first slice of an order on each thread that it came to: the tick's, the strategy's, and
    /// the way out.
    fn steps(&self, outlier: &Outlier) -> Vec<&Slice<'a>> {
        let of_tick = |slice: &&Slice<'_>| slice.at_ns == outlier.at_ns && is_tick(slice.stage);
        let of_order = |slice: &&Slice<'_>| {
            slice.order == outlier.order && slice.at_ns == outlier.at_ns && !is_tick(slice.stage)
        };
        let is_decision = |slice: &&Slice<'_>| slice.stage == Stage::Strategy;
        let all = || self.slices.iter();
        let tick = all().find(of_tick);
        let decision = all().filter(of_order).find(is_decision);
        let out = all().filter(of_order).find(|slice| !is_decision(slice));
        tick.into_iter().chain(decision).chain(out).collect()
    }

    /// What the looks found, as counters: from one look to the next.
    fn counters(&self) -> Vec<Value> {
        let mut events = Vec::new();
        for look in &self.trace.looks {
            let Some(thread) = self.trace.threads.get(look.thread) else { continue };
            let name = &thread.name;
            for (what, value) in [
                ("waited for its CPU, µs", look.waited_ns as f64 / 1e3),
                ("lost its CPU", look.involuntary_switches as f64),
                ("page faults", look.page_faults as f64),
            ] {
                if value <= 0.0 {
                    continue;
                }
                for (at, value) in [(look.from_ns, value), (look.to_ns, 0.0)] {
                    events.push(json!({ "ph": "C", "name": format!("{name} {what}"),
                        "pid": THREADS, "ts": self.us(at), "args": { "value": value } }));
                }
            }
        }
        events
    }

    /// Each of the worst orders on a track of its own.
    fn orders(&self) -> Vec<Value> {
        let mut events = Vec::new();
        for (number, it) in (1_u32..).zip(&self.outliers.worst) {
            let slice = |name: &str, from: i64, ns: u64, arguments: Value| {
                json!({ "ph": "X", "name": name, "cat": "order", "pid": ORDERS, "tid": number,
                    "ts": self.us(from), "dur": ns as f64 / 1e3, "args": arguments })
            };
            let arguments = json!({ "order": it.order, "symbol": it.symbol, "held_by": it.held_by,
                "cause": it.cause, "why": it.why, "queued_behind": it.queued_behind });
            events.push(slice(&it.words(), it.at_ns, it.total_ns, arguments));
            let mut from = it.at_ns;
            for (stage, ns) in Stage::ALL.into_iter().zip(it.stages_ns) {
                if ns > 0 {
                    events.push(slice(stage.name(), from, ns, json!({})));
                }
                from = from.saturating_add_unsigned(ns);
            }
        }
        events
    }
}

const fn track_of(place: usize) -> u32 {
    place as u32 + 1
}

const fn is_tick(stage: Stage) -> bool {
    matches!(stage, Stage::Decode | Stage::Book | Stage::Publish)
}

/// The worst orders and the last ones, each once.
fn ways<'a>(outliers: &'a Outliers, trace: &'a OutlierTrace) -> Vec<Way<'a>> {
    let worst = outliers.worst.iter();
    let worst = worst.map(|it| Way { order: &it.order, at_ns: it.at_ns, stages_ns: &it.stages_ns });
    let last = trace.orders.iter();
    let last = last.map(|it| Way { order: &it.order, at_ns: it.at_ns, stages_ns: &it.stages_ns });
    let mut seen = BTreeSet::new();
    worst.chain(last).filter(|way| seen.insert((way.at_ns, way.order))).collect()
}

/// What the threads did, by track and time: no two of a track overlap. All packets of a receive
/// call begin with its return, so that the stage of a later one begins where the one before ends.
fn slices<'a>(ways: &[Way<'a>], strategy: u32) -> Vec<Slice<'a>> {
    let mut all = Vec::new();
    let mut ticks = BTreeSet::new();
    for way in ways {
        let mut from = way.at_ns;
        let tick = way.stages_ns.first_chunk::<3>();
        // The orders of one tick share its stages.
        let is_new_tick = ticks.insert((way.at_ns, tick));
        for (stage, ns) in Stage::ALL.into_iter().zip(way.stages_ns) {
            let to = from.saturating_add_unsigned(*ns);
            let track = match stage {
                // On the way between two threads nobody works on it.
                Stage::ToStrategy | Stage::ToGateway => None,
                Stage::Strategy => Some(strategy),
                _ => Some(track_of(0)),
            };
            let is_told = is_new_tick || !is_tick(stage);
            if let Some(track) = track.filter(|_| is_told && to > from) {
                let Way { order, at_ns, .. } = *way;
                all.push(Slice { track, from, to, stage, order, at_ns });
            }
            from = to;
        }
    }
    all.sort_by_key(|slice| (slice.track, slice.to, slice.from));
    let mut end = (0, i64::MIN);
    all.retain_mut(|slice| {
        if end.0 == slice.track {
            slice.from = slice.from.max(end.1);
        }
        let is_left = slice.to > slice.from;
        if is_left {
            end = (slice.track, slice.to);
        }
        is_left
    });
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use taut_doctor::outliers::{Cause, LookPoint, TracedOrder, TracedThread};

    use super::*;

    fn traced(order: &str, at_ns: i64, stages_ns: [u64; STAGE_COUNT]) -> TracedOrder {
        TracedOrder { order: order.to_owned(), at_ns, stages_ns }
    }

    /// Three orders of one receive call, two of them of one packet, and one later.
    fn sample() -> (Outliers, OutlierTrace) {
        let orders = vec![
            traced("A", 1_000_000, [300, 100, 50, 200, 400, 150, 100, 200, 6_000]),
            traced("B", 1_000_000, [300, 100, 50, 200, 400, 6_450, 100, 200, 6_001]),
            traced("C", 1_000_000, [900, 80, 0, 200, 400, 20_000, 100, 200, 6_000]),
            traced("D", 2_000_000, [300, 100, 50, 200, 400, 150, 100, 200, 900_000]),
        ];
        let worst = orders.iter().rev().take(2).map(|it| Outlier {
            order: it.order.clone(),
            at_ns: it.at_ns,
            stages_ns: it.stages_ns,
            total_ns: it.stages_ns.iter().sum(),
            cause: Cause::Descheduled,
            why: "it \"waited\"".to_owned(),
            ..Outlier::default()
        });
        let outliers = Outliers { worst: worst.collect(), ..Outliers::default() };
        let thread = |name: &str, cpu| TracedThread { name: name.to_owned(), cpu };
        let look = LookPoint {
            from_ns: 1_900_000,
            to_ns: 6_900_000,
            waited_ns: 800_000,
            involuntary_switches: 2,
            ..LookPoint::default()
        };
        let threads = vec![thread("gateway", 0), thread("strategy", 1)];
        let trace = OutlierTrace { threads, orders, looks: vec![look], is_fused: false };
        (outliers, trace)
    }

    fn events(outliers: &Outliers, trace: &OutlierTrace) -> Vec<Value> {
        let mut trace: Value = serde_json::from_str(&perfetto(outliers, trace)).expect("JSON");
        let Value::Array(events) = trace["traceEvents"].take() else { panic!("{trace}") };
        events
    }

    /// To the nanosecond.
    fn ns(value: &Value) -> i64 {
        (value.as_f64().expect("a number") * 1e3).round() as i64
    }

    #[test]
    fn slices_of_a_track_follow_each_other_or_nest() {
        let (outliers, trace) = sample();
        let mut tracks: BTreeMap<(u64, u64), Vec<(i64, i64)>> = BTreeMap::new();
        for event in events(&outliers, &trace).iter().filter(|event| event["ph"] == "X") {
            let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let (from, length) = (ns(&event["ts"]), ns(&event["dur"]));
            assert!(from >= 0 && length > 0, "{event}");
            tracks.entry(track).or_default().push((from, from + length));
        }
        assert_eq!(tracks.len(), 4, "gateway, strategy, and two orders");
        for (track, slices) in &mut tracks {
            slices.sort_by_key(|(from, to)| (*from, -to));
            let mut open: Vec<i64> = Vec::new();
            for (from, to) in slices.iter() {
                open.retain(|end| end > from);
                assert!(open.iter().all(|end| end >= to), "{track:?}: {slices:?}");
                open.push(*to);
            }
            if track.0 == u64::from(THREADS) {
                assert!(slices.windows(2).all(|two| two[0].1 <= two[1].0), "{slices:?}");
            } else {
                // The order around its stages, which fill it.
                let (whole, stages) = slices.split_first().expect("slices");
                let sum: i64 = stages.iter().map(|(from, to)| to - from).sum();
                assert_eq!(sum, whole.1 - whole.0);
            }
        }
    }

    #[test]
    fn orders_are_flows_and_every_step_is_within_a_slice() {
        let (outliers, trace) = sample();
        let events = events(&outliers, &trace);
        let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        for number in [1, 2] {
            let is_step = |event: &&Value| {
                event["id"] == number && ["s", "t", "f"].iter().any(|it| event["ph"] == *it)
            };
            let steps: Vec<_> = events.iter().filter(is_step).collect();
            let phases: Vec<_> = steps.iter().filter_map(|step| step["ph"].as_str()).collect();
            assert_eq!(phases, ["s", "t", "f"], "{steps:?}");
            assert!(steps.is_sorted_by_key(|step| ns(&step["ts"])), "{steps:?}");
            for step in steps {
                let holds = |slice: &&&Value| {
                    let (from, length) = (ns(&slice["ts"]), ns(&slice["dur"]));
                    slice["tid"] == step["tid"]
                        && slice["pid"] == step["pid"]
                        && (from..from + length).contains(&ns(&step["ts"]))
                };
                assert!(slices.iter().any(|slice| holds(&slice)), "{step}");
            }
        }
    }

    #[test]
    fn looks_are_counters_and_what_is_not_known_is_left_out() {
        let (outliers, trace) = sample();
        let events = events(&outliers, &trace);
        let counters: Vec<_> = events.iter().filter(|event| event["ph"] == "C").collect();
        assert_eq!(counters.len(), 4, "two counters, each up and down again");
        assert_eq!(counters[0]["name"], "gateway waited for its CPU, µs");
        assert_eq!((ns(&counters[0]["ts"]), &counters[1]["args"]["value"]), (900_000, &json!(0.0)));
        let names = events.iter().filter(|event| event["name"] == "thread_name");
        let names: Vec<_> = names.filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names, ["gateway, CPU 0", "strategy, CPU 1", "#1 902 µs D", "#2 27.9 µs C"]);
        let empty = perfetto(&Outliers::default(), &OutlierTrace::default());
        assert!(serde_json::from_str::<Value>(&empty).is_ok(), "{empty}");
    }
}
