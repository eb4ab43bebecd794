//! Values of parameters: sizes, spans, numbers, switches.

use taut_types::Nanos;

pub(crate) const SIZE: &str = "a size such as 8192, 256k, 4m or 1g";
pub(crate) const SPAN: &str = "a span such as 0, 100us, 20ms or 5s";
pub(crate) const SWITCH: &str = "true or false";
pub(crate) const NUMBER: &str = "a whole number";

/// Bytes, with an optional `k`, `m` or `g` (1024 each), as Aeron writes them.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.to_ascii_lowercase().chars().next_back()? {
        'k' => (text.get(..text.len() - 1)?, 1 << 10),
        'm' => (text.get(..text.len() - 1)?, 1 << 20),
        'g' => (text.get(..text.len() - 1)?, 1 << 30),
        _ => (text, 1),
    };
    whole(digits)?.checked_mul(unit)
}

/// A span with its unit: `ns`, `us`, `ms` or `s`; only 0 needs none.
pub(crate) fn span(text: &str) -> Option<Nanos> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" if digits == "0" => 1,
        _ => return None,
    };
    let value = i64::try_from(whole(digits)?).ok()?;
    value.checked_mul(unit).map(Nanos)
}

/// `true` or `false`.
pub(crate) fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

/// A number without a sign; `+7` is none.
pub(crate) fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Bytes behind percent signs: `%2F` is a slash. Nothing when an escape is broken.
pub(crate) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_and_spans_and_refuses_what_is_neither() {
        assert_eq!(
            ["0", "17", "64k", "4M", "1g"].map(size),
            [Some(0), Some(17), Some(65_536), Some(4 << 20), Some(1 << 30)]
        );
        assert!(["", "k", "-1", "4kb", "1.5m", "99999999999g", "+4"].map(size) == [None; 7]);
        let spans = ["0", "5ns", "7us", "20ms", "5s"].map(|text| span(text).map(|span| span.0));
        assert_eq!(spans, [0, 5, 7_000, 20_000_000, 5_000_000_000].map(Some));
        assert!(["", "5", "s", "-1s", "1.5s", "5h", "9999999999s"].map(span) == [None; 7]);
    }

    #[test]
    fn unescapes_bytes_and_refuses_broken_escapes() {
        assert_eq!(unescaped("a%00%fFb"), Some(vec![b'a', 0, 255, b'b']));
        assert_eq!(["%", "%1", "%zz", "a%+1"].map(unescaped), [None, None, None, None]);
    }
}
