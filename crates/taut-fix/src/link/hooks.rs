//! What a driver adds to a link.

use crate::codec::writer::Writer;
use crate::session::now::Now;
use crate::session::transmit::LogonContext;

/// Called for every message of a link: for credentials and logs. `()` does nothing.
pub trait Hooks {
    /// Adds fields to a Logon (A), behind the session's own.
    fn write_logon(&mut self, _context: &LogonContext, _writer: &mut Writer<'_>) {}

    /// A message was received, or bytes that are none and are ignored.
    fn received(&mut self, _now: Now, _bytes: &[u8]) {}

    /// A message was written.
    fn sent(&mut self, _now: Now, _message: &[u8]) {}
}

impl Hooks for () {}
