//! Messages of Binance's SBE streams.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::binance::decode_stream;
use taut_market_data::{Context, Event, Instruments};
use taut_types::Nanos;

fuzz_target!(|input: &[u8]| {
    let mut told = 0_usize;
    let mut sink = |_: &Context<'_>, _: &Event| told += 1;
    let read = decode_stream(Nanos(0), input, 8, &Instruments::default(), &mut sink);
    assert!(read.is_ok() || told == 0, "a malformed message was told");
});
