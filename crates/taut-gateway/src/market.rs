//! Market data in: frames to a book, each step of the way timed.

use taut_market_data::{Event, EventKind, FeedHandler, Soundness, Source, TradingStatus};
use taut_oms::{InstrumentStatus, Reference};
use taut_sys::Clock;
use taut_types::{InstrumentId, Nanos, Price};

use crate::changes::Changes;
use crate::message::TickStamps;

/// A venue's market data and what it changed last.
#[derive(Debug)]
pub(crate) struct Market<F> {
    feed: F,
    changes: Changes,
    /// The last trade of each instrument.
    last: Box<[Option<Price>]>,
}

impl<F: FeedHandler> Market<F> {
    /// Instruments have the numbers below `instrument_count`.
    pub(crate) fn new(feed: F, instrument_count: usize) -> Self {
        let changes = Changes::new(feed.events_max());
        Self { feed, changes, last: vec![None; instrument_count].into_boxed_slice() }
    }

    /// Takes a frame; [`Market::events`] holds what it changed. The tick began at `received`: when
    /// the call returned that received it.
    #[inline]
    pub(crate) fn handle_frame(
        &mut self,
        clock: &Clock,
        received: Nanos,
        source: Source,
        bytes: &[u8],
    ) -> TickStamps {
        self.changes.clear();
        let mut stamps = TickStamps::NONE;
        if let Some(frame) = self.feed.decode(received, source, bytes) {
            let decoded = clock.ticks();
            self.feed.apply(frame, &mut self.changes);
            let booked = clock.ticks();
            let end = |at: u64| u32::try_from(clock.at(at).since(received).0).unwrap_or(u32::MAX);
            stamps = TickStamps { origin: received, ends: [end(decoded), end(booked), 0] };
        }
        if self.feed.is_settled() {
            return stamps;
        }
        self.recover(received);
        TickStamps::NONE
    }

    /// Notices silence and gaps that last; [`Market::events`] holds what that changes.
    pub(crate) fn handle_timeout(&mut self, now: Nanos) {
        self.changes.clear();
        self.feed.handle_timeout(now);
        if !self.feed.is_settled() {
            self.recover(now);
        }
    }

    /// A connection of the feed broke; [`Market::events`] holds what that changes.
    pub(crate) fn handle_disconnect(&mut self, now: Nanos, source: Source) {
        self.changes.clear();
        self.feed.handle_disconnect(now, source);
        if !self.feed.is_settled() {
            self.recover(now);
        }
    }

    #[cold]
    fn recover(&mut self, now: Nanos) {
        self.changes.clear_in_order();
        self.feed.recover(now, &mut self.changes);
    }

    /// What the last frame changed, the top of the book first.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        self.changes.events()
    }

    /// Notes the last trades of what [`Market::events`] holds, and tells which instruments trade,
    /// or do not any more.
    #[inline]
    pub(crate) fn note(&mut self, mut tell: impl FnMut(InstrumentId, InstrumentStatus)) {
        for event in self.changes.events() {
            match event.kind {
                EventKind::Trade(trade) => {
                    if let Some(last) = self.last.get_mut(event.instrument.0 as usize) {
                        *last = Some(trade.price);
                    }
                }
                EventKind::Status(status) => tell(event.instrument, status_of(status)),
                _ => {}
            }
        }
    }

    /// The market that prices are checked against; nothing while the book cannot be trusted.
    #[inline]
    pub(crate) fn reference(&self, instrument: InstrumentId) -> Reference {
        if self.feed.soundness(instrument) != Soundness::Sound {
            return Reference::default();
        }
        let best = self.feed.best(instrument);
        let [bid, ask] = [best.bid, best.ask].map(|level| level.map(|(price, _)| price));
        let last = self.last.get(instrument.0 as usize).copied().flatten();
        Reference { bid, ask, last }
    }

    /// Whether every book can be trusted.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        self.feed.is_whole()
    }

    pub(crate) const fn feed(&self) -> &F {
        &self.feed
    }

    pub(crate) const fn feed_mut(&mut self) -> &mut F {
        &mut self.feed
    }
}

/// Whether an instrument can be traded: what is not continuous trading is not.
const fn status_of(status: TradingStatus) -> InstrumentStatus {
    match status {
        TradingStatus::Trading => InstrumentStatus::Trading,
        _ => InstrumentStatus::Halted,
    }
}
