//! The exchange's half of a run: its rows, and requests and responses on their way.

use alloc::collections::VecDeque;

use taut_types::Nanos;

use crate::order::{Answer, Order, Request, Response};
use crate::row::Row;
use crate::{BacktestError, Exchange, Latency, Recording};

/// An exchange on its own clockwork of rows, and the ways to it and back.
///
/// A [`Backtest`](crate::Backtest) is this and the half of who trades. Whoever has a half of his
/// own, such as a gateway on virtual time, has it here without the other one: requests are sent at
/// a time, the exchange runs to a time, and what has arrived by a time is polled. At one instant
/// rows come before requests. No request overtakes an earlier one, and no response does.
#[derive(Debug)]
pub struct ExchangeSide<'r, X: Exchange> {
    rows: &'r [Row],
    exchange: X,
    next: usize,
    /// Requests on their way, by arrival.
    requests: VecDeque<(i64, Request)>,
    last_request_at: i64,
}

impl<'r, X: Exchange> ExchangeSide<'r, X> {
    /// An exchange before the first row of its recording.
    pub fn new(recording: &'r Recording, exchange: X) -> Self {
        let rows = recording.exchange_rows();
        Self { rows, exchange, next: 0, requests: VecDeque::new(), last_request_at: i64::MIN }
    }

    /// Sends a request at its order's [`local_at`](Order::local_at), not before an earlier one's.
    /// When it arrives; none when the latency refuses it on its way.
    pub fn send(&mut self, request: Request) -> Option<Nanos> {
        let sent = request.order.local_at.0;
        let entry = self.exchange.outbox().latency().entry(sent);
        if entry < 0 {
            let (tick, lots) = request.known;
            let order = Order { tick, lots, ..request.order };
            let outbox = self.exchange.outbox_mut();
            outbox.send(Answer::Refused, Some(request.kind), order, sent.saturating_sub(entry));
            return None;
        }
        self.last_request_at = self.last_request_at.max(sent.saturating_add(entry));
        self.requests.push_back((self.last_request_at, request));
        Some(Nanos(self.last_request_at))
    }

    /// Runs to a time, with `stops` no further than the arrival of the next response. How far it
    /// came, everything at that instant included.
    ///
    /// # Errors
    /// [`BacktestError::FilledTwice`], as hftbacktest's error 14, and when.
    pub fn run_until(
        &mut self,
        until: Nanos,
        stops: bool,
    ) -> Result<Nanos, (Nanos, BacktestError)> {
        self.exchange.outbox_mut().allow(until.0, stops);
        let rows = self.rows;
        loop {
            let request_at = self.requests.front().map_or(i64::MAX, |(at, _)| *at);
            let taken = self.exchange.take_rows(rows, &mut self.next, request_at);
            taken.map_err(|error| {
                let at = rows.get(self.next).map_or(until.0, Row::exchange_at);
                (Nanos(at), error)
            })?;
            let limit = self.exchange.outbox().limit();
            match self.requests.pop_front_if(|(at, _)| *at <= limit) {
                Some((at, request)) => {
                    let taken = self.exchange.take_request(request, at);
                    taken.map_err(|error| (Nanos(at), error))?;
                }
                None => return Ok(Nanos(limit)),
            }
        }
    }

    /// When the next row or request comes to the exchange.
    pub fn next_at(&mut self) -> Option<Nanos> {
        while self.rows.get(self.next).is_some_and(|row| !row.is_at_exchange()) {
            self.next += 1;
        }
        let row = self.rows.get(self.next).map(Row::exchange_at);
        let request = self.requests.front().map(|(at, _)| *at);
        row.into_iter().chain(request).min().map(Nanos)
    }

    /// When the next response arrives, of those that are on their way.
    pub fn next_response_at(&self) -> Option<Nanos> {
        self.exchange.outbox().next_at().map(Nanos)
    }

    /// The next response, if it has arrived by then.
    pub fn poll_response(&mut self, by: Nanos) -> Option<Response> {
        self.exchange.outbox_mut().arrived(by.0)
    }

    /// Whether rows and requests may bring a response: an own order rests, or a request is on its
    /// way. Else nobody need run it.
    pub fn may_respond(&self) -> bool {
        !self.requests.is_empty() || self.exchange.has_orders()
    }

    /// Whether no request and no response is on its way.
    pub fn is_quiet(&self) -> bool {
        self.requests.is_empty() && self.next_response_at().is_none()
    }

    /// Whether nothing is to come: no row either.
    pub(crate) fn is_over(&self) -> bool {
        self.is_quiet() && self.next >= self.rows.len()
    }

    pub(crate) const fn exchange(&self) -> &X {
        &self.exchange
    }
}
