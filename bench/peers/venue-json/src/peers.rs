//! The peers: a typed struct from a frame, and its numbers as integers.

use serde::Deserialize;
use serde_json::value::RawValue;
use sonic_rs::LazyValue;
use taut_types::parse_decimal;

/// Fills a struct from a frame.
pub trait Reader {
    fn read<'a, T: Deserialize<'a>>(&mut self, frame: &'a mut [u8]) -> T;
}

#[derive(Default)]
pub struct SerdeJson;

#[derive(Default)]
pub struct Sonic;

/// With the buffers that it uses again and again.
#[derive(Default)]
pub struct SimdJson(simd_json::Buffers);

impl Reader for SerdeJson {
    fn read<'a, T: Deserialize<'a>>(&mut self, frame: &'a mut [u8]) -> T {
        serde_json::from_slice(frame).expect("a recorded frame")
    }
}

impl Reader for Sonic {
    fn read<'a, T: Deserialize<'a>>(&mut self, frame: &'a mut [u8]) -> T {
        sonic_rs::from_slice(frame).expect("a recorded frame")
    }
}

impl Reader for SimdJson {
    fn read<'a, T: Deserialize<'a>>(&mut self, frame: &'a mut [u8]) -> T {
        simd_json::serde::from_slice_with_buffers(frame, &mut self.0).expect("a recorded frame")
    }
}

/// What the numbers of a frame are read into.
pub trait Numbers {
    type Of<'a>: Number + Deserialize<'a>;
}

/// The nearest double.
pub struct Float;

/// The text, of serde_json.
pub struct Raw;

/// The text, of sonic-rs.
pub struct Lazy;

impl Numbers for Float {
    type Of<'a> = f64;
}

impl Numbers for Raw {
    type Of<'a> = &'a RawValue;
}

impl Numbers for Lazy {
    type Of<'a> = LazyValue<'a>;
}

/// A number of a frame as an integer at so many decimals: the same one that taut reads.
pub trait Number {
    fn fixed(&self, decimals: u8) -> i64;
}

const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// The nearest integer: the right one as long as the value has no more than fifteen digits.
impl Number for f64 {
    #[inline]
    fn fixed(&self, decimals: u8) -> i64 {
        (self * POWERS[usize::from(decimals)]).round() as i64
    }
}

/// A decimal in a string, by taut's own reader.
impl Number for &str {
    #[inline]
    fn fixed(&self, decimals: u8) -> i64 {
        parse_decimal(self.as_bytes(), decimals).expect("a decimal")
    }
}

/// What stands there, by taut's own reader; by a float where it has an exponent.
impl Number for &RawValue {
    #[inline]
    fn fixed(&self, decimals: u8) -> i64 {
        exact(self.get(), decimals)
    }
}

impl Number for LazyValue<'_> {
    #[inline]
    fn fixed(&self, decimals: u8) -> i64 {
        exact(self.as_raw_str(), decimals)
    }
}

#[inline]
fn exact(text: &str, decimals: u8) -> i64 {
    parse_decimal(text.as_bytes(), decimals)
        .unwrap_or_else(|_| text.parse::<f64>().expect("a number").fixed(decimals))
}
