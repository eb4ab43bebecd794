//! What is noted of a run: requests, trades with the market around them, and what it is worth from
//! time to time.

use std::collections::{BTreeMap, VecDeque};

use taut_backtest::{Account, Answer, Money, Order, RequestKind, Response, Terms};
use taut_types::{Instrument, InstrumentId, Nanos, OrderType, Side, TimeInForce};

use super::own_orders::Traded;
use super::wire::{Message, Say};

/// How long after a trade the market is looked at.
pub const MARK_OUTS: [Nanos; 5] = [
    Nanos::from_millis(1),
    Nanos::from_millis(10),
    Nanos::from_millis(100),
    Nanos::from_secs(1),
    Nanos::from_secs(10),
];

/// The best bid and the best offer, in ticks.
pub type Top = (i64, i64);

/// An order that left. Prices are ticks, quantities lots of its instrument; times those of the
/// recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    /// Its number, unlike any other's.
    pub id: u64,
    /// Which instrument, by its number.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// How long it was to live.
    pub time_in_force: TimeInForce,
    /// Whether it was not to trade when it came.
    pub post_only: bool,
    /// Its limit, by the last modification that was taken.
    pub tick: i64,
    /// Its size, by the last modification that was taken.
    pub lots: i64,
    /// How often it was asked to be modified.
    pub modifications: u64,
    /// When it left.
    pub sent_at: Nanos,
    /// When it came to the exchange; none where it was refused on its way.
    pub arrived_at: Option<Nanos>,
    /// When it was first heard of.
    pub answered_at: Option<Nanos>,
    /// Lots of others that stood before it when it came to rest or was modified; none where nobody
    /// knows.
    pub ahead: Option<i64>,
    /// What has traded of it.
    pub filled: i64,
    /// When it was heard to be over, and how.
    pub ended: Option<(Nanos, OrderEnd)>,
    /// The market when it left.
    pub top: Option<Top>,
}

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderEnd {
    /// All of it traded.
    Filled,
    /// It was cancelled on request.
    Cancelled,
    /// What was left could not trade or rest as it was to.
    Expired,
    /// It was refused.
    Rejected,
}

impl OrderEnd {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filled => "filled",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }
}

/// A trade of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillRecord {
    /// The place of its order among [`OrderRecord`]s.
    pub order: usize,
    /// Which instrument, by its number.
    pub instrument: InstrumentId,
    /// Bought or sold.
    pub side: Side,
    /// When we heard of it.
    pub at: Nanos,
    /// When it happened.
    pub exchange_at: Nanos,
    /// Its price.
    pub tick: i64,
    /// How much.
    pub lots: i64,
    /// Whether the order rested.
    pub is_maker: bool,
    /// Lots of others that were still before the order: 0 when its turn had come, more when the
    /// price passed it. None of one that did not rest, or where nobody knows.
    pub ahead: Option<i64>,
    /// The market when the order left.
    pub top_at_order: Option<Top>,
    /// The market when we heard of it.
    pub top: Option<Top>,
    /// The market [so long](MARK_OUTS) after that; none where the recording ends before.
    pub marks: [Option<Top>; MARK_OUTS.len()],
}

/// What the run is worth at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// Balance and position at the middle of the market, less fees.
    pub equity: f64,
    /// Fees so far.
    pub fee: f64,
    /// Lots of each instrument.
    pub positions: Vec<i64>,
}

/// Sums of times on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Of how many.
    pub count: u64,
    /// In nanoseconds.
    pub sum: i128,
}

impl Latencies {
    fn add(&mut self, span: Nanos) {
        self.count += 1;
        self.sum += i128::from(span.0);
    }

    /// The mean, in nanoseconds; none of nothing.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// What a run comes to, while it goes on.
pub struct History {
    pub terms: Vec<Terms>,
    pub accounts: Vec<Account>,
    /// Where the market is now, and where it was when both sides were known last.
    tops: Vec<(Option<Top>, Option<Top>)>,
    pub orders: Vec<OrderRecord>,
    pub fills: Vec<FillRecord>,
    pub samples: Vec<Sample>,
    pub entry: Latencies,
    pub response: Latencies,
    /// Where an order that is not over stands among [`orders`](Self::orders).
    places: BTreeMap<u64, usize>,
    /// Trades that wait for the market after a while, by that while.
    waiting: [VecDeque<usize>; MARK_OUTS.len()],
    every: Nanos,
    next_sample: Nanos,
}

impl History {
    /// A run that begins then; it is valued every so often.
    pub fn new(terms: Vec<Terms>, start: Nanos, every: Nanos) -> Self {
        Self {
            accounts: vec![Account::default(); terms.len()],
            tops: vec![(None, None); terms.len()],
            terms,
            orders: Vec::new(),
            fills: Vec::new(),
            samples: Vec::new(),
            entry: Latencies::default(),
            response: Latencies::default(),
            places: BTreeMap::new(),
            waiting: Default::default(),
            every,
            next_sample: start,
        }
    }

    /// Time goes on to a moment at which something happens: what is to be looked at before that is
    /// looked at now.
    #[inline]
    pub fn pass(&mut self, until: Nanos) {
        while self.next_sample < until {
            let at = self.next_sample;
            self.sample(at);
            self.next_sample = at + self.every;
        }
        let Self { waiting, fills, tops, .. } = self;
        for (which, (span, waiting)) in MARK_OUTS.iter().zip(waiting).enumerate() {
            while let Some(fill) = waiting.front().and_then(|at| fills.get_mut(*at))
                && fill.at + *span < until
            {
                waiting.pop_front();
                fill.marks[which] = tops.get(fill.instrument.0 as usize).and_then(|top| top.0);
            }
        }
    }

    /// The last value of all.
    pub fn end(&mut self, at: Nanos) {
        self.pass(at);
        self.sample(at);
    }

    fn sample(&mut self, at: Nanos) {
        let (mut equity, mut fee) = (0.0, 0.0);
        for money in self.money() {
            (equity, fee) = (equity + money.1, fee + money.0.fee);
        }
        let positions = self.accounts.iter().map(Account::position).collect();
        self.samples.push(Sample { at, equity, fee, positions });
    }

    /// The money of each instrument, and what it is worth.
    pub fn money(&self) -> impl Iterator<Item = (Money, f64)> {
        self.accounts.iter().zip(&self.terms).zip(&self.tops).map(|((account, terms), top)| {
            let money = account.money(terms);
            let equity = match top.1 {
                Some((bid, ask)) => money.equity_between(terms, bid, ask),
                None => 0.0,
            };
            (money, equity)
        })
    }

    /// The market of an instrument is this now.
    pub fn market(&mut self, instrument: usize, top: Option<Top>) {
        if let Some(place) = self.tops.get_mut(instrument) {
            *place = (top, top.or(place.1));
        }
    }

    /// The market of an instrument as it is.
    pub fn top(&self, instrument: InstrumentId) -> Option<Top> {
        self.tops.get(instrument.0 as usize).and_then(|top| top.0)
    }

    /// A request left, and comes to the exchange then.
    pub fn asked(&mut self, now: Nanos, message: &Message, arrives: Option<Nanos>) {
        if let Some(arrives) = arrives {
            self.entry.add(arrives.since(now));
        }
        let id = message.request.order.0;
        match message.say {
            Say::New => {
                self.places.insert(id, self.orders.len());
                self.orders.push(OrderRecord {
                    id,
                    instrument: message.instrument,
                    side: message.side,
                    order_type: message.order_type,
                    time_in_force: message.time_in_force,
                    post_only: message.post_only,
                    tick: message.tick,
                    lots: message.lots,
                    modifications: 0,
                    sent_at: now,
                    arrived_at: arrives,
                    answered_at: None,
                    ahead: None,
                    filled: 0,
                    ended: None,
                    top: self.top(message.instrument),
                });
            }
            Say::Modify => {
                if let Some(order) = self.order(id) {
                    order.modifications += 1;
                }
            }
            _ => {}
        }
    }

    fn order(&mut self, id: u64) -> Option<&mut OrderRecord> {
        self.orders.get_mut(*self.places.get(&id)?)
    }

    /// A response arrived.
    pub fn heard(&mut self, response: &Response) {
        // What was refused on its way has never been there.
        if response.answer != Answer::Refused {
            self.response.add(response.at.since(response.order.exchange_at));
        }
        let heard = response.order;
        let Some(order) = self.order(heard.id) else { return };
        order.answered_at.get_or_insert(response.at);
        if matches!(response.answer, Answer::Entered | Answer::Modified) {
            order.ahead = heard.ahead;
        }
        let is_of_modification = response.request == Some(RequestKind::Modify);
        if is_of_modification && matches!(response.answer, Answer::Modified | Answer::Filled) {
            (order.tick, order.lots) = (heard.tick, heard.filled.saturating_add(heard.leaves));
        }
    }

    /// An order is over.
    pub fn ended(&mut self, id: u64, at: Nanos, end: OrderEnd) {
        if let Some(order) = self.order(id) {
            order.ended = Some((at, end));
        }
        self.places.remove(&id);
    }

    /// A trade is heard of; its number, from 1.
    pub fn traded(&mut self, now: Nanos, instrument: InstrumentId, fill: &Traded) -> u64 {
        let top = self.top(instrument);
        let Some(place) = self.places.get(&fill.order).copied() else {
            return self.fills.len() as u64;
        };
        let Some(order) = self.orders.get_mut(place) else { return self.fills.len() as u64 };
        order.filled += fill.lots;
        let mut booked = Order::limit(fill.order, order.side, fill.tick, fill.lots);
        (booked.last_tick, booked.last_lots) = (fill.tick, fill.lots);
        booked.maker = fill.is_maker;
        if let Some(account) = self.accounts.get_mut(instrument.0 as usize) {
            account.book(&booked);
        }
        self.waiting.iter_mut().for_each(|waiting| waiting.push_back(self.fills.len()));
        self.fills.push(FillRecord {
            order: place,
            instrument,
            side: order.side,
            at: now,
            exchange_at: fill.exchange_at,
            tick: fill.tick,
            lots: fill.lots,
            is_maker: fill.is_maker,
            ahead: fill.ahead,
            top_at_order: order.top,
            top,
            marks: [None; MARK_OUTS.len()],
        });
        self.fills.len() as u64
    }
}

/// The steps of an instrument as floats: what a tick and a lot come to.
pub fn steps(instrument: &Instrument) -> (f64, f64) {
    let lot = instrument.lot();
    let tick = instrument.tick().0 as f64 / taut_types::Price::SCALE as f64;
    (tick, lot.mantissa as f64 / 10f64.powi(i32::from(lot.decimals)))
}
