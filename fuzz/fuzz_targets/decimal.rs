//! Decimals: what is read prints as the same value, and a prefix is what its text alone would be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_types::{DECIMAL_BYTES_MAX, format_decimal, parse_decimal, parse_decimal_prefix};

fuzz_target!(|input: &[u8]| {
    let Some((&decimals, text)) = input.split_first() else { return };
    let decimals = decimals % 20;
    if let Ok(value) = parse_decimal(text, decimals) {
        let mut out = [0; DECIMAL_BYTES_MAX];
        let len = format_decimal(value, decimals, &mut out);
        assert_eq!(parse_decimal(&out[..len], decimals), Ok(value));
    }
    if let Ok((value, len)) = parse_decimal_prefix(text, decimals) {
        assert_eq!(parse_decimal(&text[..len], decimals), Ok(value));
    }
});
