//! How long a venue is left alone when a WebSocket with it has ended.

use taut_types::Nanos;
use taut_ws::{CloseCode, Closed};

/// Of one that says "later".
const LATER: Nanos = Nanos::from_secs(10);
/// Of one whose limit was reached: it counts by the minute.
const LIMITED: Nanos = Nanos::from_secs(60);
/// Of one that bans this address: the shortest ban that there is.
const BANNED: Nanos = Nanos::from_secs(120);
/// A venue that asks for more than the longest ban is called again all the same.
const LONGEST: Nanos = Nanos::from_secs(3 * 24 * 3_600);

/// How long to wait at the least before the next attempt, after a connection has ended so.
///
/// | end | wait |
/// |---|---|
/// | a refused handshake: 429, 418, 503 | as `Retry-After` says; else 60, 120, 10 s |
/// | try again later (1013) | 10 s |
/// | a restart (1012), going away (1001, 1006), any other end | none of its own |
pub(crate) fn wait_after(closed: &Closed<'_>) -> Nanos {
    let refused = match closed {
        Closed::Agreed(frame) if frame.code == Some(CloseCode::TRY_LATER) => return LATER,
        Closed::Refused(refused) => refused,
        _ => return Nanos::ZERO,
    };
    let usual = match refused.status {
        418 => BANNED,
        429 => LIMITED,
        503 => LATER,
        _ => return Nanos::ZERO,
    };
    let asked = refused.retry_after.map(|seconds| Nanos::from_secs(i64::from(seconds)));
    asked.unwrap_or(usual).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_ws::{CloseFrame, Refused};

    #[test]
    fn the_next_attempt_waits_as_the_end_of_the_connection_says() {
        let frame = |code| Closed::Agreed(CloseFrame { code, reason: "" });
        let refused = |status, retry_after| {
            Closed::Refused(Refused { status, reason: "", body: b"", location: None, retry_after })
        };
        for (closed, seconds) in [
            (frame(None), 0),
            (frame(Some(CloseCode::GOING_AWAY)), 0),
            (frame(Some(CloseCode::RESTART)), 0),
            (frame(Some(CloseCode::TRY_LATER)), 10),
            (Closed::Cut, 0),
            (refused(403, None), 0),
            (refused(502, None), 0),
            (refused(403, Some(30)), 0),
            (refused(503, None), 10),
            (refused(429, None), 60),
            (refused(418, None), 120),
            (refused(503, Some(300)), 300),
            (refused(429, Some(30)), 30),
            (refused(429, Some(0)), 0),
            (refused(418, Some(u32::MAX)), 3 * 24 * 3_600),
        ] {
            assert_eq!(wait_after(&closed), Nanos::from_secs(seconds), "{closed:?}");
        }
    }
}
