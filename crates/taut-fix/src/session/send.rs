//! Sending: administrative messages that wait, and the application's.

use core::ops::Range;

use crate::codec::writer::Writer;
use crate::error::{FixError, Misuse};
use crate::messages::admin::{BusinessMessageReject, Reject};
use crate::messages::execution::{ExecutionReport, OrderCancelReject};
use crate::messages::msg_type::MsgType;
use crate::messages::order::{NewOrderSingle, OrderCancelRequest};
use crate::session::config::Now;
use crate::session::machine::Session;
use crate::session::queue::Admin;

/// Every administrative message fits a buffer of this size.
pub const ADMIN_BYTES_MAX: usize = 512;

impl Session {
    /// Writes the next queued message and says where in `out` it stands; `None` when there is none.
    ///
    /// `out` holds at least [`ADMIN_BYTES_MAX`] bytes; in a smaller one the message stays queued.
    pub fn poll_transmit(&mut self, now: Now, out: &mut [u8]) -> Option<Range<usize>> {
        let admin = *self.queue.front()?;
        let range = self.outbound.encode_admin(now, &admin, out).ok()?;
        self.queue.pop();
        self.counters.sent += 1;
        if matches!(admin, Admin::Logon { .. }) {
            self.logon_queued = false;
        }
        Some(range)
    }

    /// Writes a NewOrderSingle under the next sequence number.
    ///
    /// # Errors
    /// [`FixError::Misuse`] when the session is not up, [`FixError::Limit`] when `out` is too
    /// small; no number is used up then. The same holds for the other `encode_` methods.
    pub fn encode_new_order(
        &mut self,
        now: Now,
        order: &NewOrderSingle,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::NewOrderSingle, out, |writer| order.encode_body(writer))
    }

    /// Writes an OrderCancelRequest under the next sequence number.
    ///
    /// # Errors
    /// As [`Session::encode_new_order`].
    pub fn encode_cancel(
        &mut self,
        now: Now,
        cancel: &OrderCancelRequest,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::OrderCancelRequest, out, |writer| cancel.encode_body(writer))
    }

    /// Writes an ExecutionReport under the next sequence number.
    ///
    /// # Errors
    /// As [`Session::encode_new_order`]; [`Misuse::DelimiterInText`] for such a text.
    pub fn encode_execution_report(
        &mut self,
        now: Now,
        report: &ExecutionReport<'_>,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::ExecutionReport, out, |writer| report.encode_body(writer))
    }

    /// Writes an OrderCancelReject under the next sequence number.
    ///
    /// # Errors
    /// As [`Session::encode_execution_report`].
    pub fn encode_cancel_reject(
        &mut self,
        now: Now,
        reject: &OrderCancelReject<'_>,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::OrderCancelReject, out, |writer| reject.encode_body(writer))
    }

    /// Writes a BusinessMessageReject under the next sequence number.
    ///
    /// # Errors
    /// As [`Session::encode_execution_report`].
    pub fn encode_business_reject(
        &mut self,
        now: Now,
        reject: &BusinessMessageReject<'_>,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::BusinessMessageReject, out, |writer| reject.encode_body(writer))
    }

    /// Writes a Reject under the next sequence number. The session sends its own; this one is for
    /// what only the application can see.
    ///
    /// # Errors
    /// As [`Session::encode_execution_report`].
    pub fn encode_reject(
        &mut self,
        now: Now,
        reject: &Reject<'_>,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.encode(now, MsgType::Reject, out, |writer| reject.encode_body(writer))
    }

    #[inline]
    fn encode(
        &mut self,
        now: Now,
        msg_type: MsgType,
        out: &mut [u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Range<usize>, FixError> {
        if !self.state.is_active() {
            return Err(FixError::Misuse(Misuse::NotLoggedOn));
        }
        if self.logon_queued {
            return Err(FixError::Misuse(Misuse::LogonNotSent));
        }
        let range = self.outbound.encode(now, msg_type, out, body)?;
        self.counters.sent += 1;
        Ok(range)
    }
}
