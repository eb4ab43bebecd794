//! Responses on their way to us.

use alloc::collections::VecDeque;

use taut_types::Nanos;

use crate::Latency;
use crate::order::{Answer, Order, RequestKind, Response};

/// Responses on their way, in the order of their sending: none overtakes another.
#[derive(Debug)]
pub struct Outbox<L> {
    latency: L,
    responses: VecDeque<Response>,
    last_at: i64,
    limit: i64,
    stops: bool,
}

impl<L: Latency> Outbox<L> {
    pub(crate) fn new(latency: L) -> Self {
        let responses = VecDeque::with_capacity(64);
        Self { latency, responses, last_at: i64::MIN, limit: i64::MAX, stops: false }
    }

    /// The latencies.
    pub const fn latency(&self) -> &L {
        &self.latency
    }

    /// How far the exchange may go on: with `stops` no further than the next response's arrival.
    pub(crate) fn allow(&mut self, until: i64, stops: bool) {
        (self.limit, self.stops) = (until, stops);
    }

    #[inline]
    pub(crate) const fn limit(&self) -> i64 {
        self.limit
    }

    /// When the next one arrives.
    pub(crate) fn next_at(&self) -> Option<i64> {
        self.responses.front().map(|response| response.at.0)
    }

    /// The next one, if it has arrived.
    pub(crate) fn arrived(&mut self, by: i64) -> Option<Response> {
        self.responses.pop_front_if(|response| response.at.0 <= by)
    }

    /// Says something about an order at the time at which the exchange changed it.
    pub(crate) fn say(&mut self, answer: Answer, request: Option<RequestKind>, order: &Order) {
        let sent = order.exchange_at.0;
        let order = Order { pending: None, ..*order };
        self.send(answer, request, order, sent.saturating_add(self.latency.response(sent)));
    }

    /// Has something arrive at a time, or when what was said before it does.
    pub(crate) fn send(
        &mut self,
        answer: Answer,
        request: Option<RequestKind>,
        order: Order,
        at: i64,
    ) {
        self.last_at = self.last_at.max(at);
        if self.stops {
            self.limit = self.limit.min(self.last_at);
        }
        self.responses.push_back(Response { at: Nanos(self.last_at), answer, request, order });
    }
}
