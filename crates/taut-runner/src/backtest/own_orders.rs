//! Our orders at a simulated exchange: what the gateway asks becomes requests, what the exchange
//! answers becomes messages.

use std::collections::{BTreeMap, VecDeque};

use taut_backtest::{
    Answer, BacktestError, Exchange, ExchangeSide, Order, Request, RequestKind, Response, Status,
};
use taut_types::{Instrument, Nanos, RequestId};

use super::wire::{Message, Say};

/// An exchange over a recording, whichever it is: an [`ExchangeSide`].
pub trait SimulatedExchange {
    /// As [`ExchangeSide::send`].
    fn send(&mut self, request: Request) -> Option<Nanos>;
    /// As [`ExchangeSide::run_until`], no further than the next response.
    ///
    /// # Errors
    /// As there.
    fn run_until(&mut self, until: Nanos) -> Result<Nanos, (Nanos, BacktestError)>;
    /// As [`ExchangeSide::next_at`].
    fn next_at(&mut self) -> Option<Nanos>;
    /// As [`ExchangeSide::next_response_at`].
    fn next_response_at(&self) -> Option<Nanos>;
    /// As [`ExchangeSide::poll_response`].
    fn poll_response(&mut self, by: Nanos) -> Option<Response>;
    /// As [`ExchangeSide::may_respond`].
    fn may_respond(&self) -> bool;
    /// As [`ExchangeSide::is_quiet`].
    fn is_quiet(&self) -> bool;
}

impl<X: Exchange> SimulatedExchange for ExchangeSide<'_, X> {
    fn send(&mut self, request: Request) -> Option<Nanos> {
        ExchangeSide::send(self, request)
    }

    fn run_until(&mut self, until: Nanos) -> Result<Nanos, (Nanos, BacktestError)> {
        ExchangeSide::run_until(self, until, true)
    }

    fn next_at(&mut self) -> Option<Nanos> {
        ExchangeSide::next_at(self)
    }

    fn next_response_at(&self) -> Option<Nanos> {
        ExchangeSide::next_response_at(self)
    }

    fn poll_response(&mut self, by: Nanos) -> Option<Response> {
        ExchangeSide::poll_response(self, by)
    }

    fn may_respond(&self) -> bool {
        ExchangeSide::may_respond(self)
    }

    fn is_quiet(&self) -> bool {
        ExchangeSide::is_quiet(self)
    }
}

/// Our orders in an instrument, and the exchange that has them.
pub struct OwnOrders<'r> {
    instrument: Instrument,
    pub exchange: Box<dyn SimulatedExchange + 'r>,
    orders: BTreeMap<u64, Own>,
}

/// An order of ours as it was heard of last.
struct Own {
    known: Order,
    /// How large it is, with what has traded, by the last request that was answered.
    size: i64,
    /// How much of it the gateway was told to have traded.
    told: i64,
    is_accepted: bool,
    /// Requests without an answer, oldest first.
    pending: VecDeque<Pending>,
}

#[derive(Clone, Copy)]
struct Pending {
    version: u16,
    kind: RequestKind,
    /// How large the order is to be.
    size: i64,
    /// What it brought was told; that it rests is to come.
    has_begun: bool,
}

/// A trade of ours as it is heard of.
#[derive(Clone, Copy, Debug)]
pub struct Traded {
    pub order: u64,
    pub is_maker: bool,
    pub tick: i64,
    pub lots: i64,
    pub exchange_at: Nanos,
    /// Lots of others that were still before the order.
    pub ahead: Option<i64>,
}

impl Own {
    /// The oldest request of a kind.
    fn oldest(&mut self, kind: RequestKind) -> Option<&mut Pending> {
        self.pending.iter_mut().find(|pending| pending.kind == kind)
    }

    /// The oldest request of a kind has its answer.
    fn answered(&mut self, kind: RequestKind) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.kind == kind)?;
        self.pending.remove(at)
    }
}

impl<'r> OwnOrders<'r> {
    pub fn new(instrument: Instrument, exchange: Box<dyn SimulatedExchange + 'r>) -> Self {
        Self { instrument, exchange, orders: BTreeMap::new() }
    }

    /// Sends what the gateway asks for; when it arrives at the exchange. None where the latency
    /// refuses it on its way, or there is no such order any more.
    pub fn ask(&mut self, now: Nanos, message: &Message) -> Option<Nanos> {
        let id = message.request.order.0;
        let pending = |kind| Pending {
            version: message.request.version,
            kind,
            size: message.lots,
            has_begun: false,
        };
        let request = match message.say {
            Say::New => {
                let mut order = Order::limit(id, message.side, message.tick, message.lots);
                order.order_type = message.order_type;
                order.time_in_force = message.time_in_force;
                order.post_only = message.post_only;
                let own = Own {
                    known: order,
                    size: message.lots,
                    told: 0,
                    is_accepted: false,
                    pending: VecDeque::from([pending(RequestKind::New)]),
                };
                self.orders.insert(id, own);
                let known = (message.tick, message.lots);
                Request { kind: RequestKind::New, order, known, total: None }
            }
            Say::Modify => {
                let own = self.orders.get_mut(&id)?;
                own.pending.push_back(pending(RequestKind::Modify));
                let mut order = own.known;
                let known = (order.tick, order.lots);
                // What is to be open is known when it arrives; so it looks from here.
                order.lots = message.lots.saturating_sub(own.told).max(1);
                order.tick = message.tick;
                Request { kind: RequestKind::Modify, order, known, total: Some(message.lots) }
            }
            _ => {
                let own = self.orders.get_mut(&id)?;
                own.pending.push_back(pending(RequestKind::Cancel));
                let known = (own.known.tick, own.known.lots);
                Request { kind: RequestKind::Cancel, order: own.known, known, total: None }
            }
        };
        let mut request = request;
        request.order.local_at = now;
        self.exchange.send(request)
    }

    /// Hears a response: `say` tells the gateway, `traded` is told of a trade.
    pub fn hear(
        &mut self,
        response: &Response,
        say: &mut impl FnMut(Message),
        traded: &mut impl FnMut(&Traded) -> u64,
    ) {
        let heard = response.order;
        let Some(own) = self.orders.get_mut(&heard.id) else { return };
        let order = taut_types::ClientOrderId(heard.id);
        let message = |what, version| Message {
            request: RequestId { order, version },
            instrument: self.instrument.id(),
            side: heard.side,
            exchange_at: heard.exchange_at,
            ..Message::of_session(what)
        };
        let mut is_over = heard.status.is_done();
        match (response.answer, response.request) {
            (Answer::Refused, kind) => {
                let kind = kind.unwrap_or(RequestKind::Cancel);
                let version = own.answered(kind).map_or(0, |pending| pending.version);
                let what = match kind {
                    RequestKind::New => Say::Rejected,
                    RequestKind::Modify => Say::ModifyRefused,
                    RequestKind::Cancel => Say::CancelRefused,
                };
                is_over = kind == RequestKind::New;
                // Nobody at the exchange has changed it.
                say(Message { exchange_at: Nanos::ZERO, ..message(what, version) });
            }
            (Answer::Entered, _) => {
                own.answered(RequestKind::New);
                if !std::mem::replace(&mut own.is_accepted, true) {
                    say(message(Say::Accepted, 1));
                }
            }
            (Answer::Modified, _) => {
                if let Some(pending) = own.answered(RequestKind::Modify) {
                    own.size = pending.size;
                    if !pending.has_begun {
                        say(message(Say::Replaced, pending.version));
                    }
                }
            }
            (Answer::Filled, kind) => {
                if !std::mem::replace(&mut own.is_accepted, true) {
                    say(message(Say::Accepted, 1));
                }
                if let Some(RequestKind::Modify) = kind
                    && let Some(pending) = own.oldest(RequestKind::Modify)
                    && !std::mem::replace(&mut pending.has_begun, true)
                {
                    let (version, size) = (pending.version, pending.size);
                    own.size = size;
                    say(message(Say::Replaced, version));
                }
                // As hftbacktest has it, what several levels gave comes in one response.
                let lots = heard.filled.saturating_sub(own.told);
                own.told = heard.filled;
                let fill = Traded {
                    order: heard.id,
                    is_maker: heard.maker,
                    tick: heard.last_tick,
                    lots,
                    exchange_at: heard.exchange_at,
                    ahead: heard.ahead.filter(|_| heard.maker),
                };
                let execution = traded(&fill);
                say(Message {
                    is_maker: heard.maker,
                    tick: heard.last_tick,
                    lots,
                    total: heard.filled,
                    execution,
                    ..message(Say::Traded, 0)
                });
                // As hftbacktest has it, an order may be over that is smaller than was asked for.
                if heard.status == Status::Filled && own.told < own.size {
                    say(message(Say::Expired, 0));
                }
            }
            (Answer::Canceled, kind) => {
                let pending = own.answered(kind.unwrap_or(RequestKind::Cancel));
                say(message(Say::Cancelled, pending.map_or(0, |pending| pending.version)));
            }
            (Answer::Expired, _) => {
                let is_refused = heard.post_only && heard.filled == 0 && !own.is_accepted;
                say(message(if is_refused { Say::WouldTrade } else { Say::Expired }, 0));
            }
        }
        if response.answer != Answer::Refused {
            own.known = heard;
        }
        if is_over {
            // A request that made it trade has no other answer.
            own.pending.retain(|it| it.kind != RequestKind::New && !it.has_begun);
            if !own.known.status.is_done() {
                own.known.status = Status::Expired;
            }
        }
        if own.known.status.is_done() && own.pending.is_empty() {
            self.orders.remove(&heard.id);
        }
    }

    /// How many orders are not over, as far as we have heard.
    pub fn open(&self) -> usize {
        self.orders.values().filter(|own| !own.known.status.is_done()).count()
    }
}
