//! Any bytes as messages of the schema `sizes` (all pairs of dimensions, every length of data, in
//! one message): decoded, shown, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(clippy::all)]
mod sbe {
    include!(concat!(env!("OUT_DIR"), "/sizes.rs"));
}

fuzz_target!(|input: &[u8]| {
    if let Ok(message) = sbe::Message::decode(input) {
        let _ = (message.to_string(), message.json().to_string());
    }
});
