//! The exchange's events become books, trades, orders, balances, and what owners are told.

use std::collections::BTreeSet;

use taut_engine::{CancelReason, Event, RejectReason};
use taut_types::{OrderId, Side};

use crate::binance::error::{ApiError, error};
use crate::binance::market::Print;
use crate::binance::order::{Fill, Status};
use crate::binance::state::{Binance, HISTORY_MAX};
use crate::binance::user_data::{Execution, Prevented, Report};
use crate::decimal::times;

/// What one command did.
#[derive(Default)]
struct Step {
    /// Trades, each with its taker.
    trades: Vec<(OrderId, Print)>,
    /// What owners are told, in its order.
    reports: Vec<(usize, Report)>,
    /// Whose money is no longer as it was.
    accounts: BTreeSet<usize>,
}

/// A trade of two orders.
struct Trade {
    maker: OrderId,
    taker: OrderId,
    price: i64,
    lots: i64,
    aggressor: Side,
}

impl Binance {
    pub(super) fn take_events(&mut self, place: usize, events: &[Event]) {
        let Some(market) = self.markets.get(place) else { return };
        let top = [Side::Buy, Side::Sell].map(|side| market.book.best(side));
        let mut step = Step::default();
        for event in events {
            self.take_event(place, event, &mut step);
        }
        let Some(market) = self.markets.get_mut(place) else { return };
        let aggregates = market.aggregate(&step.trades);
        let top_changed = [Side::Buy, Side::Sell].map(|side| market.book.best(side)) != top;
        let prints: Vec<Print> = step.trades.iter().map(|(_, print)| *print).collect();
        self.publish_trades(place, &prints, &aggregates);
        if top_changed {
            self.publish_top(place);
        }
        for (account, report) in step.reports {
            self.tell(account, &report.json);
            self.tell_fix(account, &report.fix);
        }
        for account in step.accounts {
            self.tell_position(account, place);
        }
    }

    fn take_event(&mut self, place: usize, event: &Event, step: &mut Step) {
        match *event {
            Event::Level { side, price, lots, .. } => {
                if let Some(market) = self.markets.get_mut(place)
                    && market.book.set(side, price.0, lots.0) != lots.0
                {
                    market.note(side, price.0);
                }
            }
            Event::Trade { maker, taker, price, lots, aggressor, .. } => {
                let trade = Trade { maker, taker, price: price.0, lots: lots.0, aggressor };
                self.take_trade(place, &trade, step);
            }
            Event::Accepted { order_id, .. } => self.report(order_id, Execution::New, step),
            Event::Rejected { order_id, reason, .. } => {
                self.refuse(refusal(reason));
                self.orders.remove(&order_id);
            }
            Event::CancelRejected { .. } => self.refuse(error(-2011)),
            Event::Reduced { order_id, by, .. } => {
                let ms = self.ms();
                if let Some(order) = self.orders.get_mut(&order_id) {
                    order.lots -= by.0;
                    order.amends += 1;
                    order.updated_ms = ms;
                    self.report(order_id, Execution::Replaced, step);
                }
            }
            Event::Prevented { maker, taker, lots, price, .. } => {
                let price = self.market(place).map_or(0, |it| it.book.price(price.0));
                for (id, counter) in [(taker, maker), (maker, taker)] {
                    self.prevent(id, Prevented { counter, lots: lots.0, price }, step);
                }
            }
            Event::Cancelled { order_id, reason, .. } => self.end(order_id, reason, step),
            _ => {}
        }
    }

    /// Tells the job why it came to nothing.
    fn refuse(&mut self, why: ApiError) {
        if let Some(job) = self.job.as_mut().filter(|_| self.is_executing) {
            job.refused = Some(why);
        }
    }

    fn end(&mut self, id: OrderId, reason: CancelReason, step: &mut Step) {
        let ms = self.ms();
        let Some(order) = self.orders.get_mut(&id) else { return };
        let (status, execution) = match reason {
            CancelReason::Requested | CancelReason::MassCancel => {
                (Status::Canceled, Execution::Cancelled)
            }
            CancelReason::SelfTrade => (Status::ExpiredInMatch, Execution::Prevention(None)),
            _ => (Status::Expired, Execution::Expired),
        };
        order.status = status;
        order.updated_ms = ms;
        self.report(id, execution, step);
        self.note_done(id);
    }

    /// An order has become smaller instead of trading with its own account.
    fn prevent(&mut self, id: OrderId, by: Prevented, step: &mut Step) {
        let (ms, match_id) = (self.ms(), self.next_execution);
        let Some(order) = self.orders.get_mut(&id) else { return };
        order.prevented += by.lots;
        order.prevented_match = Some(match_id);
        order.updated_ms = ms;
        let has_ended = order.open_lots() <= 0;
        if has_ended {
            order.status = Status::ExpiredInMatch;
        }
        self.report(id, Execution::Prevention(Some(by)), step);
        if has_ended {
            self.note_done(id);
        }
    }

    fn note_done(&mut self, id: OrderId) {
        self.done.push_back(id);
        if self.done.len() > HISTORY_MAX
            && let Some(oldest) = self.done.pop_front()
        {
            self.orders.remove(&oldest);
        }
    }

    fn take_trade(&mut self, place: usize, trade: &Trade, step: &mut Step) {
        let ms = self.ms();
        let Some(market) = self.markets.get_mut(place) else { return };
        let print = market.print(trade.price, trade.lots, trade.aggressor, ms);
        step.trades.push((trade.taker, print));
        // The taker first, as it came.
        for (id, is_maker) in [(trade.taker, false), (trade.maker, true)] {
            let Some(fill) = self.fill(id, &print, is_maker) else { continue };
            if let Some(job) = self.job.as_mut().filter(|job| job.order == Some(id)) {
                job.fills.push(fill.clone());
            }
            if self.fills.len() >= HISTORY_MAX {
                self.fills.pop_front();
            }
            self.fills.push_back(fill.clone());
            let has_ended = self.orders.get(&id).is_some_and(|it| !it.status.is_live());
            self.report(id, Execution::Trade(&fill), step);
            if has_ended {
                self.note_done(id);
            }
        }
    }

    /// Fills an account's order, if it is one's: its money moves at once.
    fn fill(&mut self, id: OrderId, print: &Print, is_maker: bool) -> Option<Fill> {
        let ms = self.ms();
        let order = self.orders.get_mut(&id)?;
        let market = self.markets.get(order.place)?;
        let account = self.accounts.get_mut(order.account)?;
        if order.filled == 0 {
            account.counts.filled(ms);
        }
        let amount = market.book.amount(print.lots);
        let value = times(amount, print.price);
        order.filled += print.lots;
        order.notional += value;
        order.updated_ms = ms;
        let is_over = order.open_lots() <= 0;
        order.status = if is_over { Status::Filled } else { Status::PartiallyFilled };
        let (base, quote) = (&market.settings.base, &market.settings.quote);
        let rate = if is_maker { account.maker } else { account.taker };
        let (received, asset) = match order.side {
            Side::Buy => {
                account.pay(quote, -value);
                (amount, base)
            }
            Side::Sell => {
                account.pay(base, -amount);
                (value, quote)
            }
        };
        // To the eighth place, as it is written.
        let commission = times(received, rate) / 10 * 10;
        account.pay(asset, received - commission);
        account.updated_ms = ms;
        Some(Fill {
            account: order.account,
            place: order.place,
            order: id,
            trade_id: print.id,
            price: print.price,
            lots: print.lots,
            ms,
            is_buyer: order.side == Side::Buy,
            is_maker,
            commission,
            commission_asset: asset.clone(),
        })
    }

    /// Notes what an order's owner is told, if it is one's.
    fn report(&mut self, id: OrderId, execution: Execution<'_>, step: &mut Step) {
        let Some(order) = self.orders.get(&id) else { return };
        let account = order.account;
        let Some(report) = self.execution_report(order, &execution) else { return };
        self.next_execution += 1;
        step.reports.push((account, report));
        step.accounts.insert(account);
    }
}

/// Why the exchange refused, in the interface's codes.
fn refusal(reason: RejectReason) -> ApiError {
    match reason {
        RejectReason::WouldTrade => ApiError::new(-2010, "Order would immediately match and take."),
        RejectReason::Halted | RejectReason::Closed => ApiError::new(-2010, "Market is closed."),
        RejectReason::BookFull => error(-1008),
        RejectReason::BadPrice => ApiError::filter("PRICE_FILTER"),
        RejectReason::NonPositiveLots => ApiError::filter("LOT_SIZE"),
        RejectReason::BadDisplay => ApiError::filter("ICEBERG_PARTS"),
        _ => ApiError::new(-2010, "The order was refused by the matching engine."),
    }
}
