//! Numbers for people.

use jiff::Timestamp;

/// A duration with three significant digits: `412 ns`, `8.24 µs`, `1.05 ms`, `2.50 s`.
#[must_use]
pub fn human_ns(ns: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    let ns = ns as f64;
    // A unit is used until its number would be rounded up to 1000.
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| ns / scale < 999.5).unwrap_or(UNITS[2]);
    let number = ns / scale;
    let decimals = match number {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$} {unit}")
}

/// A count with its thousands apart: `1,234,567`.
#[must_use]
pub fn human_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as a percentage: `12.3%`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A tick of a logarithmic time axis: `500 ns`, `1 µs`.
#[must_use]
pub fn axis_ns(ns: f64) -> String {
    let (unit, scale) = match ns {
        n if n < 1e3 => ("ns", 1.0),
        n if n < 1e6 => ("µs", 1e3),
        n if n < 1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{:.0} {unit}", ns / scale)
}

/// Memory: `7.8 GiB`.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30))
}

/// `2026-11-20 10:55:03 UTC` from nanoseconds since 1970.
#[must_use]
pub fn utc_text(utc_ns: i64) -> String {
    let at = Timestamp::from_nanosecond(utc_ns.into()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A number without a unit, to six decimals: `0.05`, `20000`.
#[must_use]
pub fn plain(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// A tick of an axis: `0.05`, `200`, `20k`, `5M`.
#[must_use]
pub fn axis_plain(value: f64) -> String {
    match value {
        n if n < 1e3 => plain(n),
        n if n < 1e6 => format!("{}k", plain(n / 1e3)),
        n if n < 1e9 => format!("{}M", plain(n / 1e6)),
        n => format!("{}G", plain(n / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_right_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_994, "9.99 µs"),
            (9_995, "10.0 µs"),
            (99_950, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (2_500_000_000, "2.50 s"),
            (68_719_476_735, "68.7 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(human_ns(ns), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        let counts = [0, 999, 1_000, 1_234_567].map(human_count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn ticks_are_short() {
        let ticks = [0.05, 5.0, 500.0, 1e3, 2e4, 5e6, 1e9].map(axis_plain);
        assert_eq!(ticks, ["0.05", "5", "500", "1k", "20k", "5M", "1G"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc_text(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc_text(951_782_399_999_999_999), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc_text(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc_text(1_795_172_103_000_000_000), "2026-11-20 10:55:03 UTC");
        assert_eq!(utc_text(-1), "1969-12-31 23:59:59 UTC");
    }
}
