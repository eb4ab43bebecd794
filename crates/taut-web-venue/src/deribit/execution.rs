//! The exchange's events become books, trades, orders, positions and balances.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taut_engine::{CancelReason, Event, RejectReason};
use taut_types::{HalfTicks, Lots, OrderId, Side};

use crate::book::LevelChange;
use crate::decimal::{number, times};
use crate::deribit::instruments::Kind;
use crate::deribit::order::{Order, State, order_id, trade_id};
use crate::deribit::publish::{Happened, OwnChanges};
use crate::deribit::rpc::{RpcError, error};
use crate::deribit::state::{Deribit, HISTORY_MAX, UserTrade};

/// What one command did.
#[derive(Default)]
struct Step {
    changes: Vec<LevelChange>,
    trades: Vec<Value>,
    /// Orders that are no longer as they were, in the order in which that happened.
    touched: Vec<OrderId>,
    own_trades: Vec<(usize, OrderId, Value)>,
}

/// A trade of two orders.
struct Trade {
    maker: OrderId,
    taker: OrderId,
    price: i64,
    lots: i64,
    aggressor: Side,
}

impl Deribit {
    pub(super) fn take_events(&mut self, place: usize, events: &[Event]) {
        let Some(market) = self.markets.get(place) else { return };
        let top = [Side::Buy, Side::Sell].map(|side| market.book.best(side));
        let before = market.change_id;
        let mut step = Step::default();
        for event in events {
            self.take_event(place, event, &mut step);
        }
        step.changes.retain(|(_, _, was, is)| was != is);
        let is_new = !step.changes.is_empty();
        let Some(market) = self.markets.get_mut(place) else { return };
        let top_changed = [Side::Buy, Side::Sell].map(|side| market.book.best(side)) != top;
        if is_new {
            // One sequence for all instruments: an instrument's own ids jump.
            self.change_id += 1;
            market.change_id = self.change_id;
        }
        let happened =
            Happened { place, changes: &step.changes, trades: &step.trades, before, top_changed };
        self.publish_market(&happened);
        self.publish_fix(&happened);
        self.tell_owners(place, step);
    }

    fn take_event(&mut self, place: usize, event: &Event, step: &mut Step) {
        match *event {
            Event::Level { side, price, lots, .. } => {
                if let Some(market) = self.markets.get_mut(place) {
                    let before = market.book.set(side, price.0, lots.0);
                    step.changes.push((side, price.0, before, lots.0));
                }
            }
            Event::Trade { maker, taker, price, lots, aggressor, .. } => {
                let trade = Trade { maker, taker, price: price.0, lots: lots.0, aggressor };
                self.take_trade(place, &trade, step);
            }
            Event::Phase { phase } => self.set_phase(place, phase),
            Event::Accepted { order_id, .. } => self.touch(order_id, step, |_| {}),
            Event::Rejected { order_id, reason, .. } => {
                self.refuse(reason);
                self.end(order_id, State::Rejected, None, step);
            }
            Event::CancelRejected { reason, .. } | Event::ReplaceRejected { reason, .. } => {
                self.refuse(reason);
            }
            Event::Rested { order_id, price, .. } | Event::Repriced { order_id, price, .. } => {
                self.rested(order_id, price, step);
            }
            Event::Held { order_id, .. } => {
                self.touch(order_id, step, |order| order.state = State::Untriggered);
            }
            Event::Triggered { order_id } => {
                self.touch(order_id, step, |order| {
                    order.state = State::Open;
                    order.is_triggered = true;
                });
            }
            Event::Replaced { order_id, price, lots, .. } => {
                self.replaced(order_id, price, lots, step)
            }
            Event::Cancelled { order_id, reason, .. } => {
                // The others have no name in the interface's list.
                let is_asked = matches!(reason, CancelReason::Requested | CancelReason::MassCancel);
                self.end(order_id, State::Cancelled, is_asked.then_some("user_request"), step);
            }
            _ => {}
        }
    }

    fn touch(&mut self, id: OrderId, step: &mut Step, change: impl FnOnce(&mut Order)) {
        let ms = self.ms();
        if let Some(order) = self.orders.get_mut(&id) {
            order.updated_ms = ms;
            change(order);
            if !step.touched.contains(&id) {
                step.touched.push(id);
            }
        }
    }

    /// Tells the job why it came to nothing.
    fn refuse(&mut self, reason: RejectReason) {
        if let Some(job) = self.job.as_mut().filter(|_| self.is_executing) {
            job.error = Some(refusal(reason));
        }
    }

    /// A post-only order may have slid to another price.
    fn rested(&mut self, id: OrderId, price: HalfTicks, step: &mut Step) {
        let price = self
            .orders
            .get(&id)
            .and_then(|it| Some(self.markets.get(it.place)?.book.price(price.0)));
        self.touch(id, step, |order| order.price = order.price.and(price));
    }

    fn replaced(&mut self, id: OrderId, price: HalfTicks, open: Lots, step: &mut Step) {
        let price = self
            .orders
            .get(&id)
            .and_then(|it| Some(self.markets.get(it.place)?.book.price(price.0)));
        self.touch(id, step, |order| {
            order.price = order.price.and(price);
            order.lots = order.filled.saturating_add(open.0);
            order.replaced = true;
        });
    }

    fn end(&mut self, id: OrderId, state: State, reason: Option<&'static str>, step: &mut Step) {
        self.touch(id, step, |order| {
            order.state = state;
            // A disconnect has said so before.
            order.cancel_reason = order.cancel_reason.or(reason);
        });
        self.note_done(id);
    }

    fn note_done(&mut self, id: OrderId) {
        if !self.orders.contains_key(&id) {
            return;
        }
        self.done.push_back(id);
        if self.done.len() > HISTORY_MAX
            && let Some(oldest) = self.done.pop_front()
        {
            self.orders.remove(&oldest);
        }
    }

    fn take_trade(&mut self, place: usize, trade: &Trade, step: &mut Step) {
        let (ms, index) = (self.ms(), self.index(place));
        self.next_trade += 1;
        let Some(market) = self.markets.get_mut(place) else { return };
        let number = trade_id(self.next_trade, market);
        let price = market.book.price(trade.price);
        let print = market.print((price, trade.lots, trade.aggressor), &number, ms, index);
        let seq = market.trade_seq;
        step.trades.push(print.clone());
        // The taker first, as it came.
        for (id, is_taker) in [(trade.taker, true), (trade.maker, false)] {
            let Some(own) = self.fill(id, trade, price, is_taker, &print) else { continue };
            let Some(order) = self.orders.get(&id) else { continue };
            let (account, state) = (order.account, order.state);
            if !step.touched.contains(&id) {
                step.touched.push(id);
            }
            if self.trades.len() >= HISTORY_MAX {
                self.trades.pop_front();
            }
            self.trades.push_back(UserTrade {
                account,
                place,
                order: id,
                ms,
                seq,
                json: own.clone(),
            });
            if let Some(job) = self.job.as_mut().filter(|job| job.order == Some(id)) {
                job.trades.push(own.clone());
            }
            step.own_trades.push((account, id, own));
            if state == State::Filled {
                self.note_done(id);
            }
        }
    }

    /// Fills an account's order: what its owner is told, if it is one's.
    fn fill(
        &mut self,
        id: OrderId,
        trade: &Trade,
        price: i128,
        is_taker: bool,
        print: &Value,
    ) -> Option<Value> {
        let ms = self.ms();
        let order = self.orders.get_mut(&id)?;
        let market = self.markets.get(order.place)?;
        let account = self.accounts.get_mut(order.account)?;
        order.filled = order.filled.saturating_add(trade.lots);
        order.notional += price * i128::from(trade.lots);
        order.updated_ms = ms;
        if order.open_lots() <= 0 {
            order.state = State::Filled;
        }
        let (settings, sizes) = (&market.settings, &market.sizes);
        let amount = market.book.amount(trade.lots);
        let signed = if order.side == Side::Buy { amount } else { -amount };
        let value = market.value(amount, price);
        let rate = if is_taker { sizes.taker } else { sizes.maker };
        let (fee, fee_currency) = match settings.kind {
            // Of the coin, but at most an eighth of the premium.
            Kind::Option => (times(amount, rate).min(value / 8), &settings.settlement),
            Kind::Pair => (times(value, rate), &settings.quote),
            Kind::Future => (times(value, rate), &settings.settlement),
        };
        let mut profit = 0;
        match settings.kind {
            Kind::Pair => {
                account.pay(&settings.base, signed);
                account.pay(&settings.quote, if signed > 0 { -value } else { value });
            }
            kind => {
                let position = account.positions.entry(order.place).or_default();
                let entered = position.average;
                let closed = position.trade(signed, price, settings.is_inverse());
                profit = market.profit(closed, entered, price);
                position.realized += profit;
                let paid = match kind {
                    // A premium is paid, and comes back.
                    Kind::Option if signed > 0 => -value,
                    Kind::Option => value,
                    _ => profit,
                };
                account.pay(&settings.settlement, paid);
            }
        }
        account.pay(fee_currency, -fee);
        let mut own = print.clone();
        let map = own.as_object_mut()?;
        let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
        put("direction", json!(crate::deribit::market::direction(order.side)));
        put("order_id", json!(order_id(id, market)));
        put("order_type", json!(if order.kind == "market" { "market" } else { "limit" }));
        put("state", json!(order.state.name()));
        put("fee", number(fee));
        put("fee_currency", json!(fee_currency));
        put("liquidity", json!(if is_taker { "T" } else { "M" }));
        put("label", json!(order.label));
        put("profit_loss", number(profit));
        put("post_only", json!(order.post_only != taut_engine::PostOnly::No));
        put("reduce_only", json!(order.reduce_only));
        put("risk_reducing", json!(false));
        put("mmp", json!(false));
        put("api", json!(true));
        Some(own)
    }

    fn tell_over_fix(&mut self, step: &Step) {
        if self.fix_sessions.is_empty() {
            return;
        }
        for id in &step.touched {
            let is_refused = self.orders.get(id).is_none_or(|it| it.state == State::Rejected);
            if !is_refused {
                let own = step.own_trades.iter().filter(|(_, of, _)| of == id);
                let trades: Vec<Value> = own.map(|(_, _, trade)| trade.clone()).collect();
                self.tell_fix(*id, &trades);
            }
        }
    }

    fn tell_owners(&mut self, place: usize, step: Step) {
        if step.touched.is_empty() {
            return;
        }
        self.tell_over_fix(&step);
        let mut by_account: BTreeMap<usize, OwnChanges> = BTreeMap::new();
        for id in &step.touched {
            let Some(order) = self.orders.get(id) else { continue };
            let Some(market) = self.markets.get(order.place) else { continue };
            let account = order.account;
            let own = by_account.entry(account).or_insert_with(|| OwnChanges {
                account,
                orders: Vec::new(),
                trades: Vec::new(),
                position: Value::Null,
            });
            // One that was refused is in the answer alone.
            if order.state != State::Rejected {
                own.orders.push(order.json(market));
            }
        }
        for (account, _, trade) in step.own_trades {
            if let Some(own) = by_account.get_mut(&account) {
                own.trades.push(trade);
            }
        }
        for (account, mut own) in by_account {
            if own.orders.is_empty() {
                continue;
            }
            own.position = self.position(account, place);
            self.publish_own(place, &own);
        }
    }
}

/// Why the exchange refused, in the interface's codes.
fn refusal(reason: RejectReason) -> RpcError {
    match reason {
        RejectReason::NonPositiveLots => error(10002),
        RejectReason::BadPrice => error(10043),
        RejectReason::WouldTrade => error(11054),
        RejectReason::UnknownOrderId => error(11044),
        RejectReason::BadTrigger | RejectReason::BadDistance => error(10035),
        RejectReason::BookFull => RpcError::new(10047, "matching_engine_queue_full"),
        RejectReason::Halted | RejectReason::Closed => RpcError::new(10012, "book_closed"),
        _ => error(11030),
    }
}
