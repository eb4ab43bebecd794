//! Any bytes through FIX framing, index, values and dictionary.
#![no_main]

#[path = "../../crates/taut-fix/tests/millions/codec.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|input: &[u8]| codec::run(input));
