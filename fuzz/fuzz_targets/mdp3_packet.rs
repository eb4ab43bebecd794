//! Packets of MDP 3.0, and the book by places that they make.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::mdp3::{PlacedBook, decode_packet};
use taut_market_data::{Context, Event};
use taut_types::Nanos;

fuzz_target!(|input: &[u8]| {
    let mut book = PlacedBook::new(5);
    let mut told = 0_usize;
    let mut sink = |_: &Context<'_>, event: &Event| {
        told += 1;
        book.on_event(&event.kind);
    };
    let read = decode_packet(Nanos(0), input, &mut sink);
    assert!(read.is_ok() || told == 0, "a malformed packet was told");
});
