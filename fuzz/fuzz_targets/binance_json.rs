//! Frames of Binance's JSON streams, one a line, into a decoder and a book.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::binance::{BinanceJson, DepthBook};
use taut_market_data::{Context, Event, EventKind};
use taut_types::Nanos;

fuzz_target!(|input: &[u8]| {
    let mut decoder = BinanceJson::new(64, 8);
    let mut book = DepthBook::new(16, 8);
    for (time, frame) in (0..).zip(input.split(|&byte| byte == b'\n')) {
        let mut open = false;
        let mut sink = |context: &Context<'_>, event: &Event| {
            match event.kind {
                EventKind::Begin(_) => assert!(!std::mem::replace(&mut open, true)),
                EventKind::End { .. } => assert!(std::mem::replace(&mut open, false)),
                _ => {}
            }
            book.on_event(context, event, &mut |_| {});
        };
        let _ = decoder.decode(Nanos(time), frame, &mut sink);
        assert!(!open, "a message was told by halves");
    }
});
