//! The keys that a program prints in JSON.

/// The keys in a text of JSON that a reader would not expect: other than small letters, digits and
/// `_`; a time in microseconds or milliseconds, where all are in nanoseconds (`_ns`) or seconds;
/// and a percentile that is not a key of its own, `p50`, `p99`, `p999` and so on.
#[must_use]
pub fn odd_json_keys(text: &str) -> Vec<&str> {
    let (mut odd, mut rest) = (Vec::new(), text);
    while let Some((_, inner)) = rest.split_once('"') {
        let Some((string, behind)) = inner.split_at_checked(string_len(inner)) else { break };
        rest = behind.strip_prefix('"').unwrap_or(behind);
        if rest.trim_start().starts_with(':') && is_odd(string) {
            odd.push(string);
        }
    }
    odd
}

/// Up to the quotation mark that no backslash is for.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

fn is_odd(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_percentile = |word: &str| {
        word.strip_prefix('p').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let usual = ["p50", "p99", "p999", "p9999", "p999999"];
    key.is_empty()
        || !key.bytes().all(is_plain)
        || key.split('_').any(|word| matches!(word, "us" | "ms"))
        || (key.split('_').any(is_percentile) && !usual.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::odd_json_keys;

    #[test]
    fn odd_keys_are_found_at_every_depth_and_values_are_none() {
        let good = r#"{"a_ns": {"p50": 1, "p9999": 2}, "b2": ["p50_us", "C D\": ", {"c": "x:"}]}"#;
        assert_eq!(odd_json_keys(good), [""; 0]);
        let odd = r#"{"p50_ns":1,"wait ms":{"Lag":2,"lag_us" : [{"ms_max":3,"p95":4,"":5}]}}"#;
        assert_eq!(odd_json_keys(odd), ["p50_ns", "wait ms", "Lag", "lag_us", "ms_max", "p95", ""]);
        assert_eq!(odd_json_keys(r#"{"a\"B":1,"unfinished"#), [r#"a\"B"#]);
    }
}
