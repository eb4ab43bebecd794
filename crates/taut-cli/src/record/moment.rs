//! A moment of a recording, as people say it.

use taut_fix::parse_timestamp;
use taut_runner::Recording;
use taut_types::Nanos;

/// A moment of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So long behind its beginning.
    Since(Nanos),
    /// UTC.
    Utc(Nanos),
}

impl Moment {
    /// `12.5s` from the beginning, or UTC as `20261127-13:05:12.250` or `2026-11-27T13:05:12.250Z`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(seconds) = text.strip_suffix('s') {
            let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
            let is_sound = seconds.is_finite() && (0.0..1e9).contains(&seconds);
            let since = Self::Since(Nanos((seconds * 1e9) as i64));
            return if is_sound { Ok(since) } else { Err(wrong()) };
        }
        let iso = text.strip_suffix('Z').and_then(|text| text.split_once('T'));
        let stamp = match iso {
            Some((day, time)) => format!("{}-{time}", day.replace('-', "")),
            None => text.to_owned(),
        };
        parse_timestamp(stamp.as_bytes()).map(Self::Utc).ok_or_else(wrong)
    }

    /// The time of entries at this moment of a recording.
    pub fn of(self, recording: &Recording) -> Nanos {
        let (began, began_utc) = recording.began();
        began
            + match self {
                Self::Since(span) => span,
                Self::Utc(utc) => utc.since(began_utc),
            }
    }
}

fn wrong() -> String {
    "12.5s from the beginning, or UTC such as 20261127-13:05:12.250".to_owned()
}

#[cfg(test)]
mod tests {
    use super::Moment;
    use taut_types::Nanos;

    #[test]
    fn a_moment_is_a_span_or_a_time() {
        assert_eq!(Moment::parse("1.5s"), Ok(Moment::Since(Nanos(1_500_000_000))));
        let utc = Moment::parse("20260102-03:04:05.250");
        assert_eq!(utc, Moment::parse("2026-01-02T03:04:05.250Z"));
        assert!(matches!(utc, Ok(Moment::Utc(Nanos(utc))) if utc % 1_000_000_000 == 250_000_000));
        for wrong in ["", "s", "-1s", "infs", "5", "2026-01-02", "T", "20261302-00:00:00"] {
            assert!(Moment::parse(wrong).is_err(), "{wrong}");
        }
    }
}
