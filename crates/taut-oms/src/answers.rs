//! Every request and every answer, counted once.

use crate::report::RequestKind;

/// What was asked and answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// New orders sent.
    pub orders: u64,
    /// Those that the venue took, said so or showed it.
    pub acks: u64,
    /// Those that it refused, or that never arrived.
    pub order_rejects: u64,
    /// Fills, partial ones too.
    pub fills: u64,
    /// Requests for another price or quantity sent.
    pub modify_requests: u64,
    /// Those that were granted.
    pub replaced: u64,
    /// Those that were refused.
    pub modify_rejects: u64,
    /// Cancel requests sent.
    pub cancel_requests: u64,
    /// Orders cancelled at our request.
    pub cancels: u64,
    /// Cancel requests refused.
    pub cancel_rejects: u64,
    /// Orders that ended unasked (what an immediate-or-cancel left, the end of a day).
    pub expired: u64,
    /// Requests whose outcome is not known: no answer came in time, or the connection broke.
    pub lost: u64,
}

impl Answers {
    /// How many requests of a kind were sent.
    pub(crate) const fn sent(&mut self, kind: RequestKind) -> &mut u64 {
        match kind {
            RequestKind::Create => &mut self.orders,
            RequestKind::Modify => &mut self.modify_requests,
            RequestKind::Cancel => &mut self.cancel_requests,
        }
    }

    /// Requests whose answers are waited for.
    #[must_use]
    pub const fn unanswered(&self) -> u64 {
        let asked = self.orders + self.modify_requests + self.cancel_requests;
        let orders = self.acks + self.order_rejects;
        let modifies = self.replaced + self.modify_rejects;
        asked - (orders + modifies + self.cancels + self.cancel_rejects + self.lost)
    }
}
