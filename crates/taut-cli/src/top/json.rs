//! What was seen, as JSON for programs: times in nanoseconds, percentiles by their usual keys.

use serde_json::{Map, Value};

use crate::observed::model::Snapshot;

/// All of it.
pub fn told(snapshot: &Snapshot) -> Result<Value, serde_json::Error> {
    let mut told = serde_json::to_value(snapshot)?;
    let gateways = told.get_mut("gateways").and_then(Value::as_array_mut);
    for gateway in gateways.into_iter().flatten() {
        let stages = gateway.get_mut("stages").and_then(Value::as_array_mut);
        for stage in stages.into_iter().flatten().filter_map(Value::as_object_mut) {
            for window in ["second", "minute", "start"] {
                let Some(Value::Object(times)) = stage.remove(window) else { continue };
                // The unit stands at the window: `second_ns.p50`.
                let plain = |key: String| key.trim_end_matches("_ns").to_owned();
                let times: Map<_, _> =
                    times.into_iter().map(|(key, value)| (plain(key), value)).collect();
                stage.insert(format!("{window}_ns"), Value::Object(times));
            }
        }
        let clock = gateway.get_mut("venue_clock").and_then(Value::as_object_mut);
        if let Some(clock) = clock {
            for what in ["ahead", "round_trip"] {
                let us = clock.remove(&format!("{what}_us")).and_then(|us| us.as_i64());
                clock.insert(format!("{what}_ns"), us.unwrap_or(0).saturating_mul(1_000).into());
            }
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use taut_runner::service::VenueClockLine;

    use super::*;
    use crate::observed::model::{GatewaySeen, StageTimes, Times};

    #[test]
    fn times_are_in_ns_and_percentiles_have_their_usual_keys() {
        let second = Times { count: 3, p50_ns: 700, ..Times::default() };
        let stage = StageTimes { stage: "book".to_owned(), second, ..StageTimes::default() };
        let clock = VenueClockLine { ahead_us: -2, round_trip_us: 30, jumps: 1 };
        let gateway =
            GatewaySeen { stages: vec![stage], venue_clock: Some(clock), ..<_>::default() };
        let snapshot = Snapshot { gateways: vec![gateway], ..Snapshot::default() };
        let told = told(&snapshot).expect("JSON");
        let gateway = &told["gateways"][0];
        assert_eq!(gateway["stages"][0]["second_ns"]["p50"], 700);
        assert_eq!(gateway["venue_clock"]["ahead_ns"], -2_000);
        assert_eq!(taut_testkit::odd_json_keys(&told.to_string()), [""; 0]);
    }
}
