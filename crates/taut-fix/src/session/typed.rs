//! Typed messages over a session: sending them, and refusing what cannot be read as one.

use core::ops::Range;

use crate::codec::text::ShortText;
use crate::error::{FixError, Misuse, Violation};
use crate::messages::order_flow::TypedMessage;
use crate::messages::reject::BusinessRejectReason;
use crate::session::machine::Session;
use crate::session::now::Now;
use crate::session::route::Route;
use crate::session::send_queue::{QueuedMessage, Refusal};
use crate::session::transmit::Extras;
use crate::store::Store;

impl<S: Store> Session<S> {
    /// Writes a typed message under the next number, and keeps it.
    ///
    /// # Errors
    /// As [`Session::send`]; [`crate::Misuse::DelimiterInText`] for such a text.
    #[inline]
    pub fn send_message<M: TypedMessage>(
        &mut self,
        now: Now,
        message: &M,
        out: &mut [u8],
    ) -> Result<Range<usize>, FixError> {
        self.send_or_rehearse(now, message, out, false)
    }

    /// As [`Session::send_message`]; a rehearsal does all of it but the end: the message is not
    /// kept, and its number stays the next one. Returns where the message stands, nowhere after a
    /// rehearsal.
    ///
    /// # Errors
    /// As [`Session::send_message`].
    #[inline]
    pub fn send_or_rehearse<M: TypedMessage>(
        &mut self,
        now: Now,
        message: &M,
        out: &mut [u8],
        is_rehearsal: bool,
    ) -> Result<Range<usize>, FixError> {
        self.must_be_up()?;
        let body = |writer: &mut crate::Writer<'_>| message.encode_body(writer);
        let range = self.compose(now, M::MSG_TYPE, Extras::default(), out, body)?;
        if is_rehearsal {
            return Ok(0..0);
        }
        self.keep(now, out.get(range.clone()).unwrap_or(&[]))?;
        Ok(range)
    }

    /// Keeps a typed message under the next number while nobody is logged on: a peer that comes
    /// back finds it missing, and asks for it. `scratch` is room for its bytes.
    ///
    /// # Errors
    /// [`FixError::Misuse`] when the session is up: then it can be sent. Else as
    /// [`Session::send_message`].
    #[cold]
    pub fn keep_message<M: TypedMessage>(
        &mut self,
        now: Now,
        message: &M,
        scratch: &mut [u8],
    ) -> Result<(), FixError> {
        if self.is_active() || self.logon_queued {
            return Err(FixError::Misuse(Misuse::LoggedOn));
        }
        let body = |writer: &mut crate::Writer<'_>| message.encode_body(writer);
        self.write(now, M::MSG_TYPE, Extras::default(), scratch, body).map(drop)
    }

    /// Tells the peer what is wrong with its application message, the last that was reported: a
    /// Reject (3), or a BusinessMessageReject (j) when a field is missing that only this use of
    /// the message needs. Errors that are not the peer's say nothing.
    #[cold]
    pub fn refuse_content(&mut self, sequence: u64, msg_type: &[u8], error: FixError) {
        let FixError::PeerViolation(violation) = error else { return };
        self.counters.rejected += 1;
        let (ref_sequence, ref_msg_type) = (sequence, ShortText::new(msg_type));
        match (violation, ref_msg_type) {
            (Violation::Field { reason, tag, .. }, _) => {
                let (ref_tag, route) = (i32::try_from(tag).ok(), Route::default());
                let refusal = Refusal { ref_sequence, ref_tag, ref_msg_type, reason, route };
                self.send_queue.push(QueuedMessage::Reject(refusal));
            }
            (Violation::ConditionallyRequired { .. }, Some(ref_msg_type)) => {
                let reason = BusinessRejectReason::ConditionallyRequiredFieldMissing;
                self.send_queue.push(QueuedMessage::BusinessReject {
                    ref_sequence,
                    ref_msg_type,
                    reason,
                });
            }
            (Violation::ConditionallyRequired { .. }, None) => {}
        }
    }
}
