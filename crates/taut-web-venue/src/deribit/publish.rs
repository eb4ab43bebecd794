//! What has happened goes to who listens.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taut_types::Side;

use crate::book::LevelChange;
use crate::decimal::number;
use crate::deribit::channels::{Channel, Interval};
use crate::deribit::market::Market;
use crate::deribit::rpc;
use crate::deribit::session::{Session, Subscription};
use crate::deribit::state::Deribit;
use crate::front::Output;

/// What one command did in a market.
pub struct Happened<'a> {
    pub place: usize,
    pub changes: &'a [LevelChange],
    pub trades: &'a [Value],
    /// The change id before.
    pub before: u64,
    /// The best prices and amounts are others.
    pub top_changed: bool,
}

/// What one command did to an account.
pub struct OwnChanges {
    pub account: usize,
    pub orders: Vec<Value>,
    pub trades: Vec<Value>,
    pub position: Value,
}

impl Deribit {
    pub(super) fn publish_market(&mut self, it: &Happened<'_>) {
        let Some(market) = self.markets.get(it.place) else { return };
        let (ms, index) = (self.ms(), self.index(it.place));
        // What is the same for everybody is made once.
        let raw_book = (!it.changes.is_empty()).then(|| changed(market, it.before, it.changes, ms));
        let (mut ticker, mut top) = (None, None);
        for (&connection, session) in &mut self.sessions {
            for sub in &mut session.subscriptions {
                let raw = sub.channel.interval() == Interval::Raw;
                let data = match &sub.channel {
                    Channel::Book(at, _) if *at == it.place && raw => {
                        sub.last_id = market.change_id;
                        self.book_changes += u64::from(raw_book.is_some());
                        raw_book.clone()
                    }
                    Channel::Book(at, _) | Channel::Grouped(at, ..) if *at == it.place => {
                        for &(side, price, before, _) in it.changes {
                            sub.note(side, price, before);
                        }
                        None
                    }
                    Channel::Ticker(at, _)
                        if *at == it.place && (it.top_changed || !it.trades.is_empty()) =>
                    {
                        sub.is_dirty = !raw;
                        raw.then(|| ticker.get_or_insert_with(|| market.ticker(ms, index)).clone())
                    }
                    // Which market an index follows is found out when it is told.
                    Channel::PriceIndex(_) => {
                        sub.is_dirty |= it.top_changed;
                        None
                    }
                    Channel::Quote(at) if *at == it.place && it.top_changed => {
                        Some(top.get_or_insert_with(|| quote(market, ms)).clone())
                    }
                    Channel::Trades(scope, _)
                        if !it.trades.is_empty() && scope.has(it.place, market) =>
                    {
                        if raw {
                            Some(json!(it.trades))
                        } else {
                            sub.waiting.extend_from_slice(it.trades);
                            None
                        }
                    }
                    _ => None,
                };
                if let Some(data) = data {
                    let text = rpc::notification(&sub.name, &data);
                    self.out.push_back(Output::Text { connection, text });
                }
            }
        }
    }

    pub(super) fn publish_own(&mut self, place: usize, own: &OwnChanges) {
        let portfolios: BTreeMap<String, Value> = self
            .currencies_of(own.account)
            .into_iter()
            .map(|currency| (currency.clone(), self.portfolio(own.account, &currency)))
            .collect();
        let Some(market) = self.markets.get(place) else { return };
        let settlement = &market.settings.settlement;
        for (&connection, session) in &mut self.sessions {
            let Session { account, subscriptions, .. } = session;
            if *account != Some(own.account) {
                continue;
            }
            for sub in subscriptions {
                let raw = sub.channel.interval() == Interval::Raw;
                let mut send = |name: &str, data: &Value| {
                    let text = rpc::notification(name, data);
                    self.out.push_back(Output::Text { connection, text });
                };
                match &sub.channel {
                    Channel::UserOrders(scope, _) if scope.has(place, market) => {
                        if raw {
                            own.orders.iter().for_each(|order| send(&sub.name, order));
                        } else {
                            sub.waiting.extend_from_slice(&own.orders);
                        }
                    }
                    Channel::UserTrades(scope, _)
                        if scope.has(place, market) && !own.trades.is_empty() =>
                    {
                        if raw {
                            send(&sub.name, &json!(own.trades));
                        } else {
                            sub.waiting.extend_from_slice(&own.trades);
                        }
                    }
                    // A step is told whole; at 100 ms too, one behind the other.
                    Channel::UserChanges(scope, _) if scope.has(place, market) => {
                        let positions: Vec<&Value> = [&own.position]
                            .into_iter()
                            .filter(|_| !own.trades.is_empty())
                            .collect();
                        let data = json!({
                            "instrument_name": market.settings.name,
                            "orders": own.orders,
                            "trades": own.trades,
                            "positions": positions,
                        });
                        send(&sub.name, &data);
                    }
                    Channel::Portfolio(currency) => {
                        let wanted = currency.as_ref().unwrap_or(settlement);
                        if let Some(data) = portfolios.get(wanted) {
                            send(&sub.name, data);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Sends what was folded for intervals that are over.
    pub(super) fn flush_intervals(&mut self) {
        let now = self.now.mono;
        let ms = self.ms();
        let indexes = self.indexes();
        let Self { sessions, markets, out, .. } = self;
        for (&connection, session) in sessions {
            for sub in &mut session.subscriptions {
                let has_more = sub.is_dirty || !sub.dirty.is_empty() || !sub.waiting.is_empty();
                if !has_more || sub.due > now {
                    continue;
                }
                sub.next_due(now);
                if let Some(data) = fold(sub, markets, &indexes, ms) {
                    out.push_back(Output::Text {
                        connection,
                        text: rpc::notification(&sub.name, &data),
                    });
                }
            }
        }
    }
}

/// What has come together for a subscription.
fn fold(sub: &mut Subscription, markets: &[Market], indexes: &[i128], ms: i64) -> Option<Value> {
    if !sub.waiting.is_empty() {
        return Some(Value::Array(std::mem::take(&mut sub.waiting)));
    }
    let dirty = std::mem::take(&mut sub.dirty);
    sub.is_dirty = false;
    match &sub.channel {
        Channel::Book(place, _) => {
            let market = markets.get(*place)?;
            let before = std::mem::replace(&mut sub.last_id, market.change_id);
            let changes: Vec<LevelChange> = dirty
                .into_iter()
                .map(|((is_buy, price), was)| {
                    let side = if is_buy { Side::Buy } else { Side::Sell };
                    (side, price, was, market.book.side(side).get(&price).copied().unwrap_or(0))
                })
                .filter(|(_, _, was, is)| was != is)
                .collect();
            Some(changed(market, before, &changes, ms))
        }
        Channel::Grouped(place, group, depth, _) => {
            Some(grouped(markets.get(*place)?, *group, *depth, ms))
        }
        Channel::Ticker(place, _) => {
            Some(markets.get(*place)?.ticker(ms, indexes.get(*place).copied().unwrap_or(0)))
        }
        Channel::PriceIndex(name) => price_index(name, markets, indexes, ms),
        _ => None,
    }
}

/// What an index stands at; nothing of one that no market follows.
pub fn price_index(name: &str, markets: &[Market], indexes: &[i128], ms: i64) -> Option<Value> {
    let place = markets.iter().position(|market| market.settings.price_index() == name)?;
    let price = number(*indexes.get(place)?);
    Some(json!({ "index_name": name, "price": price, "timestamp": ms }))
}

/// A change of a book.
fn changed(market: &Market, before: u64, changes: &[LevelChange], ms: i64) -> Value {
    let of = |wanted: Side| -> Value {
        let one = |&(_, price, was, is): &LevelChange| {
            let action = match (was, is) {
                (0, _) => "new",
                (_, 0) => "delete",
                _ => "change",
            };
            json!([action, number(market.book.price(price)), number(market.book.amount(is))])
        };
        changes.iter().filter(|(side, ..)| *side == wanted).map(one).collect()
    };
    json!({
        "type": "change",
        "timestamp": ms,
        "instrument_name": market.settings.name,
        "change_id": market.change_id,
        "prev_change_id": before,
        "bids": of(Side::Buy),
        "asks": of(Side::Sell),
    })
}

/// A book by price steps of so many half ticks: bids rounded down, offers up.
pub fn grouped(market: &Market, group: i64, depth: usize, ms: i64) -> Value {
    let side = |side: Side| -> Value {
        let mut levels: Vec<(i64, i64)> = Vec::new();
        let ordered: Box<dyn Iterator<Item = (&i64, &i64)>> = match side {
            Side::Buy => Box::new(market.book.bids.iter().rev()),
            Side::Sell => Box::new(market.book.asks.iter()),
        };
        for (&price, &lots) in ordered {
            let step = match (group, side) {
                (0, _) => price,
                (_, Side::Buy) => price.div_euclid(group) * group,
                (_, Side::Sell) => -((-price).div_euclid(group)) * group,
            };
            let is_full = levels.len() == depth;
            match levels.last_mut() {
                Some((last, sum)) if *last == step => *sum += lots,
                _ if is_full => break,
                _ => levels.push((step, lots)),
            }
        }
        let level = |(price, lots): &(i64, i64)| {
            json!([number(market.book.price(*price)), number(market.book.amount(*lots))])
        };
        levels.iter().map(level).collect()
    };
    json!({
        "timestamp": ms,
        "instrument_name": market.settings.name,
        "change_id": market.change_id,
        "bids": side(Side::Buy),
        "asks": side(Side::Sell),
    })
}

/// The best prices.
pub fn quote(market: &Market, ms: i64) -> Value {
    let best = |side| market.book.best(side).unwrap_or((0, 0));
    let ((bid, bid_amount), (ask, ask_amount)) = (best(Side::Buy), best(Side::Sell));
    json!({
        "timestamp": ms,
        "instrument_name": market.settings.name,
        "best_bid_price": number(bid),
        "best_bid_amount": number(bid_amount),
        "best_ask_price": number(ask),
        "best_ask_amount": number(ask_amount),
    })
}
