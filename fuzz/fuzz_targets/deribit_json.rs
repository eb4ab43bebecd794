//! Frames of Deribit, JSON and FIX, and of OKX, one a line, into decoders and books.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::deribit::{BookChannel, DeribitFeed, DeribitFixFeed};
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, Context, Event, FeedHandler, NamedInstrument, Source};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

const NAME: &[u8] = b"BTC-PERPETUAL";

fn take(feed: &mut impl FeedHandler, now: Nanos, source: Source, frame: &[u8]) {
    let mut sink = |_: &Context<'_>, _: &Event| {};
    if let Some(frame) = feed.decode(now, source, frame) {
        feed.apply(frame, &mut sink);
    }
    feed.handle_timeout(now);
    feed.recover(now, &mut sink);
    while feed.poll_request().is_some() {}
}

fuzz_target!(|input: &[u8]| {
    let (symbol, lot) = (Symbol::new(NAME).expect("a symbol"), Qty::whole(10));
    let instrument = Instrument::new(InstrumentId(0), symbol, Price(2), lot).expect("a lot");
    let listed = [NamedInstrument { name: NAME, instrument }];
    let config = ChainConfig { level_capacity: 16, ..ChainConfig::new(&listed) };
    let channels = [BookChannel::Changes, BookChannel::Grouped, BookChannel::Quote];
    let mut deribit = channels
        .map(|channel| DeribitFeed::following(channel, &config, Nanos(0)).expect("an instrument"));
    let mut fix = DeribitFixFeed::new(&config, Nanos(0)).expect("an instrument");
    let mut okx = OkxFeed::new(&config, Nanos(0)).expect("an instrument");
    for (turn, frame) in (0..).zip(input.split(|&byte| byte == b'\n')) {
        let now = Nanos::from_millis(100 * turn);
        let source = if turn % 3 == 0 { Source::LINE_B } else { Source::LINE_A };
        deribit.iter_mut().for_each(|feed| take(feed, now, source, frame));
        take(&mut fix, now, source, frame);
        take(&mut okx, now, source, frame);
    }
});
