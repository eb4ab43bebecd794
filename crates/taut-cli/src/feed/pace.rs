//! When the next frame is due.

use taut_sys::{monotonic, sleep, stop_requests, yield_cpu};
use taut_types::Nanos;

/// How fast a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    Max,
    /// Times the speed at which it was received.
    Times(f64),
}

/// Reads a speed.
///
/// # Errors
/// What it can be.
pub fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    match text.parse::<f64>() {
        Ok(times) if times.is_finite() && times > 0.0 => Ok(Speed::Times(times)),
        _ => Err(format!("{text} is neither max nor a number above zero, such as 1 or 0.5")),
    }
}

/// The recording's clock, mapped to this machine's.
#[derive(Debug)]
pub struct Pace {
    speed: Speed,
    /// The first frame's receive time, and when it was played.
    began: Option<(Nanos, Nanos)>,
}

impl Pace {
    pub const fn new(speed: Speed) -> Self {
        Self { speed, began: None }
    }

    /// Waits until the frame that was received then is due; false when the user wants to stop.
    pub fn wait_for(&mut self, received: Nanos) -> bool {
        let Speed::Times(times) = self.speed else { return true };
        let (first, start) = *self.began.get_or_insert_with(|| (received, monotonic()));
        let due = start + Nanos((received.since(first).0 as f64 / times) as i64);
        loop {
            if stop_requests() > 0 {
                return false;
            }
            let left = due.since(monotonic());
            if left == Nanos::ZERO {
                return true;
            }
            if left > Nanos::from_millis(1) {
                // PACE: packets leave when they were recorded; a signal ends the wait.
                sleep(left - Nanos::from_micros(500));
            } else {
                yield_cpu();
            }
        }
    }
}
