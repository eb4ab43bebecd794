//! Frames through a handler, as whoever drives one does it.

use taut_market_data::{
    Batch, Context, Event, EventKind, FeedHandler, NamedInstrument, Soundness, Source,
};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};

/// Instruments with the numbers 0, 1, 2..., ticks of 2e-9 and lots of so many decimals.
pub fn listed(names: &[String], decimals: u8) -> Vec<NamedInstrument<'_>> {
    let instrument = |(id, name)| {
        let symbol = Symbol::new(format!("I{id}").as_bytes()).unwrap();
        let lot = Qty { mantissa: 1, decimals };
        let instrument = Instrument::new(InstrumentId(id), symbol, Price(2), lot).unwrap();
        NamedInstrument { name: str::as_bytes(name), instrument }
    };
    (0..).zip(names.iter().map(String::as_str)).map(instrument).collect()
}

/// What was told of the frames of a replay.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub levels: u64,
    pub tops: u64,
    pub trades: u64,
    pub statuses: u64,
    pub statistics: u64,
    pub sound: u64,
    pub stale: u64,
}

impl Told {
    /// Takes a frame of a line.
    pub fn take(&mut self, feed: &mut impl FeedHandler, now: Nanos, source: Source, frame: &[u8]) {
        let mut sink = |_: &Context<'_>, event: &Event| match event.kind {
            EventKind::Level(_) => self.levels += 1,
            EventKind::Top(_) => self.tops += 1,
            EventKind::Trade(_) => self.trades += 1,
            EventKind::Status(_) => self.statuses += 1,
            EventKind::Statistic(_) => self.statistics += 1,
            EventKind::Book(Soundness::Sound) => self.sound += 1,
            EventKind::Book(_) => self.stale += 1,
            // No recorded frame has some best levels; one that was changed may look as if it had.
            EventKind::Begin(Batch::BestLevels) | EventKind::End { .. } => {}
            other => panic!("a handler told {other:?}"),
        };
        if let Some(frame) = feed.decode(now, source, frame) {
            feed.apply(frame, &mut sink);
        }
        if !feed.is_settled() {
            feed.recover(now, &mut sink);
        }
    }
}
