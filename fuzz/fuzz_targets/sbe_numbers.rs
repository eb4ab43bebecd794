//! Any bytes as messages of the schema `numbers` (every primitive: values, optional, nulls of
//! its own, arrays, constants; no field): decoded, shown, and never a panic.
//!
//! Random bytes seldom are a right header and a block of hundreds of bytes. So seven of eight
//! mutated inputs get the header of one of the messages, and what their block lacks is null.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[allow(clippy::all)]
mod sbe {
    include!(concat!(env!("OUT_DIR"), "/numbers.rs"));
}

fuzz_target!(|input: &[u8]| {
    if let Ok(message) = sbe::Message::decode(input) {
        let _ = (message.to_string(), message.json().to_string());
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    let mut blank = [0; 1024];
    let length = match seed % 8 {
        0 => return size,
        1 => sbe::NothingEncoder::new(&mut blank).map(|message| message.finish()),
        2 => sbe::OnlyFixedEncoder::new(&mut blank).map(|message| message.finish()),
        _ => sbe::AllEncoder::new(&mut blank).map(|message| message.finish()),
    };
    let length = length.expect("room").min(max_size);
    for (at, (byte, blank)) in data.iter_mut().zip(&blank[..length]).enumerate() {
        if at < sbe::HEADER_BYTES || at >= size {
            *byte = *blank;
        }
    }
    size.max(length)
});
