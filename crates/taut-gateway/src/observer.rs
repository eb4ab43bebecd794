//! Where others may look in: measurements that a gateway does not need.

use taut_io::{Completion, Io, Kernel};
use taut_market_data::{Event, FeedHandler};
use taut_sys::Clock;

use crate::error::GatewayError;

/// Sees what a gateway does, and may use its loop. Every method does nothing unless it is written;
/// a gateway without an observer has `()` for one, which costs nothing.
pub trait Observer {
    /// The gateway stands, its loop has not run yet: sources may be opened.
    ///
    /// # Errors
    /// What ends the gateway, here and below.
    fn on_start(&mut self, _io: &mut Io<impl Kernel>, _clock: &Clock) -> Result<(), GatewayError> {
        Ok(())
    }

    /// The market changed so, as the client is told next: the events of one frame. `feed` has the
    /// books as they are behind all of them, and the orders of a list that begins and ends among
    /// them.
    #[inline]
    fn on_market(&mut self, _events: &[Event], _feed: &impl FeedHandler) {}

    /// A new order has left, as these bytes.
    fn on_order_sent(&mut self, _bytes: &[u8]) {}

    /// Something happened to a source that is not the gateway's own.
    ///
    /// # Errors
    /// What ends the gateway.
    fn on_completion(
        &mut self,
        _io: &mut Io<impl Kernel>,
        _completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        Ok(())
    }

    /// There was nothing to do.
    ///
    /// # Errors
    /// What ends the gateway.
    fn on_idle(&mut self, _io: &mut Io<impl Kernel>, _clock: &Clock) -> Result<(), GatewayError> {
        Ok(())
    }
}

impl Observer for () {}
