//! Time, which only a command can tell.

use taut_types::{Nanos, Side};

use super::state::Engine;
use crate::event::{CancelReason, Event, EventSink};

impl Engine {
    /// Cancels what has expired, the earliest first.
    pub(super) fn clock(&mut self, now: Nanos, sink: &mut impl EventSink) {
        self.now = self.now.max(now);
        sink.on_event(Event::Clock { now: self.now });
        while let Some(entry) = self.expiries.best_order(Side::Sell) {
            if entry.price.0 > self.now.0 {
                break;
            }
            match self.locate(entry.id) {
                Some(standing) => self.cancel_standing(&standing, CancelReason::Expired, sink),
                None => {
                    let _ = self.expiries.remove(entry.id);
                }
            }
        }
        self.finish(Side::Buy, sink);
    }
}
