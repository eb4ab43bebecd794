//! Two FIX sessions over a bad link, against a model: no order is lost, no number goes back.
#![no_main]

#[path = "../../crates/taut-fix/tests/millions/session.rs"]
mod session;

libfuzzer_sys::fuzz_target!(|input: &[u8]| session::run(input));
