//! Durations as people write them.

use taut_types::Nanos;

/// The value of a flag: a number and its unit, ns, us, ms, s or m (minutes).
pub fn parse(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = UNITS.into_iter().find(|(name, _)| *name == unit.trim()).map(|(_, scale)| scale);
    let ns = number.parse::<f64>().ok().zip(scale).map(|(number, scale)| number * scale);
    ns.filter(|ns| (0.0..=1e12).contains(ns))
        .map(|ns| Nanos(ns as i64))
        .ok_or_else(|| "a time with its unit is needed, such as 100us, 2ms or 5m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit() {
        let ns = |text| parse(text).map(|time| time.0);
        let times = ["1500ns", "1.5us", "100µs", "2 ms", "0s", "10m"];
        assert_eq!(times.map(ns), [1_500, 1_500, 100_000, 2_000_000, 0, 600_000_000_000].map(Ok));
        for wrong in ["", "5", "ms", "-1s", "1h", "1.2.3s", "9999m"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
