//! Who looks in on a gateway: the venue on paper, the bare send of a run, the counts of a check.
//! They are one type: gateways are compiled once, and not for each.

use std::sync::Arc;

use taut_gateway::{GatewayError, Observer};
use taut_io::{Completion, Io, Kernel};
use taut_market_data::{Event, EventKind, FeedHandler};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::Clock;

use crate::market_rows::SharedRows;
use crate::roles::BareSend;
use crate::service::Tap;

/// Any of them, or none: a branch for each on the way of a tick and of an order.
#[derive(Default)]
pub struct Looker<'m> {
    pub tap: Option<Tap>,
    pub bare_send: Option<BareSend<'m>>,
    pub seen: Option<Arc<[Seen]>>,
    /// Where a run is done again: the market in rows.
    pub market: Option<SharedRows>,
}

/// What the market brought of an instrument.
#[derive(Debug, Default)]
pub struct Seen {
    pub events: AtomicU64,
    pub trades: AtomicU64,
}

impl Observer for Looker<'_> {
    fn on_start(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) -> Result<(), GatewayError> {
        self.bare_send.as_mut().map_or(Ok(()), |bare_send| bare_send.on_start(io, clock))
    }

    #[inline]
    fn on_market(&mut self, events: &[Event], feed: &impl FeedHandler) {
        if let Some(tap) = &mut self.tap {
            tap.on_market(events, feed);
        }
        if let Some(seen) = &self.seen {
            count(seen, events);
        }
        if let Some(Ok(mut market)) = self.market.as_ref().map(|market| market.lock()) {
            market.on_market(events, feed);
        }
    }

    #[inline]
    fn on_order_sent(&mut self, bytes: &[u8]) {
        if let Some(bare_send) = &mut self.bare_send {
            bare_send.on_order_sent(bytes);
        }
    }

    fn on_completion(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        let bare_send = self.bare_send.as_mut();
        bare_send.map_or(Ok(()), |bare_send| bare_send.on_completion(io, completion))
    }

    #[inline]
    fn on_idle(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) -> Result<(), GatewayError> {
        self.bare_send.as_mut().map_or(Ok(()), |bare_send| bare_send.on_idle(io, clock))
    }
}

fn count(seen: &[Seen], events: &[Event]) {
    for event in events {
        let Some(seen) = seen.get(event.instrument.0 as usize) else { continue };
        // One thread writes and reads them.
        seen.events.fetch_add(1, Ordering::Relaxed);
        if matches!(event.kind, EventKind::Trade(_)) {
            seen.trades.fetch_add(1, Ordering::Relaxed);
        }
    }
}
