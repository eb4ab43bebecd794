//! How what is asked for gets to the venue.

use taut_fix::Now;
use taut_order_entry::binance::Request;

use super::asked::Asked;
use super::budget::Budget;
use crate::order_entry::handler::NotSent;
use crate::order_entry::sent::Sent;

/// The longest request of ours but the question about symbols, which is as long as their names.
const OUTBOX_BYTES: usize = 4_096;
/// Of the longest name of a symbol, with its quotes and comma.
const SYMBOL_BYTES: usize = 64;

/// A connection that takes orders.
pub(super) trait Way {
    /// Pays for a request of this weight, if so much is left behind it.
    fn pay(&mut self, budget: &mut Budget, now: Now, weight: u32, kept: u32)
    -> Result<(), NotSent>;

    /// Leaves a request in the outbox, and remembers what it asked for.
    fn leave(&mut self, now: Now, request: &Request<'_>, asked: Asked) -> Result<(), NotSent>;

    /// Does all of that but the end.
    fn rehearse(&mut self, now: Now, request: &Request<'_>) -> Result<(), NotSent>;
}

/// The WebSocket API: one request in the outbox at a time.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) sent: Sent<Asked>,
    pub(super) outbox: Box<[u8]>,
    pub(super) unsent: usize,
}

impl Web {
    /// For the question about so many symbols, with ids from this one on.
    pub(super) fn new(symbols: usize, ids_from: u64) -> Self {
        let outbox = vec![0; OUTBOX_BYTES + symbols * SYMBOL_BYTES].into_boxed_slice();
        Self { sent: Sent::from(ids_from), outbox, unsent: 0 }
    }

    /// There is one more symbol.
    pub(super) fn add_symbol(&mut self) {
        let mut outbox = std::mem::take(&mut self.outbox).into_vec();
        outbox.resize(outbox.len() + SYMBOL_BYTES, 0);
        self.outbox = outbox.into_boxed_slice();
    }

    /// The connection is gone, and what waited in it.
    pub(super) fn forget(&mut self) {
        self.sent.forget();
        self.unsent = 0;
    }

    #[inline]
    pub(super) fn unsent(&self) -> &[u8] {
        self.outbox.get(..self.unsent).unwrap_or_default()
    }
}

impl Way for Web {
    #[inline]
    fn pay(
        &mut self,
        budget: &mut Budget,
        now: Now,
        weight: u32,
        kept: u32,
    ) -> Result<(), NotSent> {
        budget.take(now, weight, kept)
    }

    #[inline]
    fn leave(&mut self, _now: Now, request: &Request<'_>, asked: Asked) -> Result<(), NotSent> {
        let written = request.write(self.sent.next(), &mut self.outbox);
        self.unsent = written.ok_or(NotSent::Unsupported)?.len();
        self.sent.push(asked);
        Ok(())
    }

    #[inline]
    fn rehearse(&mut self, _now: Now, request: &Request<'_>) -> Result<(), NotSent> {
        let written = request.write(self.sent.next(), &mut self.outbox);
        written.map(drop).ok_or(NotSent::Unsupported)
    }
}
