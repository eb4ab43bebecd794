//! When a trading day ends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_types::Nanos;

const MINUTE: i64 = 60_000_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A time of the day, in minutes of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayEnd {
    minutes: u16,
}

impl DayEnd {
    /// The number of the day that a moment is in, counted from 1970; days end at this time.
    pub(super) fn day_of(self, utc: Nanos) -> u32 {
        let since_end = utc.0.saturating_sub(i64::from(self.minutes) * MINUTE);
        u32::try_from(since_end.div_euclid(DAY)).unwrap_or(0)
    }
}

impl FromStr for DayEnd {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "must be a time of the day in UTC, such as \"21:00\"";
        let part = |text: &str, count: u16| {
            let is_two = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number: &u16| is_two && *number < count).ok_or(wrong)
        };
        let (hours, minutes) = text.split_once(':').ok_or(wrong)?;
        Ok(Self { minutes: 60 * part(hours, 24)? + part(minutes, 60)? })
    }
}

impl fmt::Display for DayEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl Serialize for DayEnd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DayEnd {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_its_time_and_what_is_no_time_is_refused() {
        let end: DayEnd = "21:30".parse().expect("a time");
        assert_eq!(end.to_string(), "21:30");
        let at = |day: i64, minutes: i64| Nanos(day * DAY + minutes * MINUTE);
        let before = end.day_of(at(20_000, 21 * 60 + 29));
        assert_eq!(before, 19_999);
        assert_eq!(end.day_of(at(20_000, 21 * 60 + 30)), before + 1);
        assert_eq!(end.day_of(at(20_001, 21 * 60 + 29)), before + 1);
        for wrong in ["", "21", "24:00", "21:60", "9:00", "+1:00", "21:30:00", "-1:10"] {
            assert!(wrong.parse::<DayEnd>().is_err(), "{wrong}");
        }
    }
}
