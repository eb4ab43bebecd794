//! Where others may look in: measurements that a gateway does not need.

use taut_io::{Completion, Io, Kernel};
use taut_sys::Clock;

use crate::error::GatewayError;

/// Sees what a gateway does, and may use its loop. Every method does nothing unless it is written;
/// a gateway without an observer has `()` for one, which costs nothing.
pub trait Observer<K: Kernel> {
    /// The gateway stands, its loop has not run yet: sources may be opened.
    ///
    /// # Errors
    /// What ends the gateway, here and below.
    fn on_start(&mut self, _io: &mut Io<K>, _clock: &Clock) -> Result<(), GatewayError> {
        Ok(())
    }

    /// Something happened to a source that is not the gateway's own.
    ///
    /// # Errors
    /// What ends the gateway.
    fn on_completion(
        &mut self,
        _io: &mut Io<K>,
        _completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        Ok(())
    }

    /// There was nothing to do. `last_order` is the last new order as it was sent; empty before the
    /// first one, and after another message took its place.
    ///
    /// # Errors
    /// What ends the gateway.
    fn on_idle(
        &mut self,
        _io: &mut Io<K>,
        _clock: &Clock,
        _last_order: &[u8],
    ) -> Result<(), GatewayError> {
        Ok(())
    }
}

impl<K: Kernel> Observer<K> for () {}
