//! A market as its clients see it: the displayed book, the tape, what they come to.

use std::collections::VecDeque;

use serde_json::{Value, json};
use taut_engine::Phase;
use taut_types::Side;

use crate::book::DisplayedBook;
use crate::decimal::{UNITS, number};
use crate::deribit::instruments::{Kind, MarketSettings, Sizes};

/// Trades that are remembered.
const TAPE_MAX: usize = 1_000;
/// How far from the mark a price may be, in thousandths.
const BAND_PER_MILLE: i128 = 100;

#[derive(Debug)]
pub struct Market {
    pub settings: MarketSettings,
    pub sizes: Sizes,
    /// Prices from which larger steps hold, and these.
    pub steps: Vec<(i128, i128)>,
    pub book: DisplayedBook,
    /// What the engine does with it.
    pub phase: Phase,
    pub is_in_maintenance: bool,
    /// It takes no new order any more.
    pub is_delisted: bool,
    pub change_id: u64,
    pub trade_seq: u64,
    pub tape: VecDeque<Value>,
    /// At 1e-9.
    pub last: Option<i128>,
    tick_direction: u8,
    first: Option<i128>,
    high: i128,
    low: i128,
    /// In the unit of amounts.
    volume: i128,
}

impl Market {
    pub fn new(settings: &MarketSettings, first_change_id: u64) -> Result<Self, String> {
        let sizes = settings.sizes()?;
        Ok(Self {
            book: DisplayedBook::new(sizes.tick, sizes.lot),
            steps: settings.steps(sizes.tick)?,
            sizes,
            settings: settings.clone(),
            phase: Phase::Continuous,
            is_in_maintenance: false,
            is_delisted: false,
            change_id: first_change_id,
            trade_seq: 0,
            tape: VecDeque::new(),
            last: None,
            tick_direction: 1,
            first: None,
            high: 0,
            low: 0,
            volume: 0,
        })
    }

    /// Ids of changes, from this one on, and numbers of trades begin again.
    pub fn renumber(&mut self, change_id: u64) {
        (self.change_id, self.trade_seq) = (change_id, 0);
        self.tape.clear();
    }

    /// The middle of the market, or the last price, or where it began.
    pub fn mark(&self) -> i128 {
        self.book.middle().or(self.last).unwrap_or(self.sizes.start)
    }

    /// Between which prices an order may be.
    pub fn band(&self) -> (i128, i128) {
        let mark = self.mark();
        let width = match self.settings.kind {
            Kind::Option => mark.max(20 * self.sizes.tick),
            _ => mark * BAND_PER_MILLE / 1_000,
        };
        let whole = |price: i128| price / self.sizes.tick * self.sizes.tick;
        (whole(mark - width).max(self.sizes.tick), whole(mark + width) + self.sizes.tick)
    }

    /// What an amount is worth in the settlement currency at a price.
    pub fn value(&self, amount: i128, price: i128) -> i128 {
        if self.settings.is_inverse() {
            crate::decimal::over(amount, price)
        } else {
            crate::decimal::times(amount, price)
        }
    }

    /// The profit of an amount, signed, between two prices, in the settlement currency.
    pub fn profit(&self, signed: i128, from: i128, to: i128) -> i128 {
        if from <= 0 || to <= 0 {
            return 0;
        }
        if self.settings.is_inverse() {
            self.value(signed, from) - self.value(signed, to)
        } else {
            self.value(signed, to) - self.value(signed, from)
        }
    }

    /// Puts a trade on the tape; its entry.
    pub fn print(
        &mut self,
        trade: (i128, i64, Side),
        trade_id: &str,
        ms: i64,
        index: i128,
    ) -> Value {
        let (price, lots, taker) = trade;
        self.trade_seq += 1;
        self.tick_direction = match self.last {
            None => 1,
            Some(last) if price > last => 0,
            Some(last) if price < last => 2,
            Some(_) => match self.tick_direction {
                0 | 1 => 1,
                _ => 3,
            },
        };
        (self.high, self.low) = match self.first {
            None => (price, price),
            Some(_) => (self.high.max(price), self.low.min(price)),
        };
        self.first.get_or_insert(price);
        self.last = Some(price);
        self.volume += self.book.amount(lots);
        let amount = self.book.amount(lots);
        let entry = json!({
            "trade_id": trade_id,
            "trade_seq": self.trade_seq,
            "instrument_name": self.settings.name,
            "timestamp": ms,
            "direction": direction(taker),
            "tick_direction": self.tick_direction,
            "price": number(price),
            "amount": number(amount),
            "contracts": number(amount * UNITS / self.sizes.contract),
            "index_price": number(index),
            "mark_price": number(self.mark()),
        });
        if self.tape.len() >= TAPE_MAX {
            self.tape.pop_front();
        }
        self.tape.push_back(entry.clone());
        entry
    }

    /// The ticker, of a channel and of `public/ticker`.
    pub fn ticker(&self, ms: i64, index: i128) -> Value {
        let best = |side| self.book.best(side).unwrap_or((0, 0));
        let ((bid, bid_amount), (ask, ask_amount)) = (best(Side::Buy), best(Side::Sell));
        let (low, high) = self.band();
        let mark = self.mark();
        let change = self
            .first
            .map_or(0, |first| (self.last.unwrap_or(first) - first) * 100 * UNITS / first.max(1));
        let turnover = if self.settings.is_inverse() {
            self.volume
        } else {
            crate::decimal::times(self.volume, mark)
        };
        let coins = if self.settings.is_inverse() {
            crate::decimal::over(self.volume, mark)
        } else {
            self.volume
        };
        let mut ticker = json!({
            "instrument_name": self.settings.name,
            "timestamp": ms,
            "state": if self.is_open() { "open" } else { "closed" },
            "best_bid_price": number(bid),
            "best_bid_amount": number(bid_amount),
            "best_ask_price": number(ask),
            "best_ask_amount": number(ask_amount),
            "last_price": self.last.map_or(Value::Null, number),
            "mark_price": number(mark),
            "index_price": number(index),
            "settlement_price": number(self.sizes.start),
            "estimated_delivery_price": number(index),
            "min_price": number(low),
            "max_price": number(high),
            "open_interest": 0,
            "stats": {
                "high": self.first.map_or(Value::Null, |_| number(self.high)),
                "low": self.first.map_or(Value::Null, |_| number(self.low)),
                "price_change": self.first.map_or(Value::Null, |_| number(change)),
                "volume": self.first.map_or(Value::Null, |_| number(coins)),
                "volume_usd": number(turnover),
            },
        });
        let Some(map) = ticker.as_object_mut() else { return ticker };
        let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
        match self.settings.kind {
            Kind::Future if self.settings.expiration_ms.is_none() => {
                put("current_funding", json!(0.0));
                put("funding_8h", json!(0.0));
                put("interest_value", json!(0.0));
            }
            Kind::Option => {
                put("bid_iv", json!(0.0));
                put("ask_iv", json!(0.0));
                put("mark_iv", json!(0.0));
                put("interest_rate", json!(0.0));
                put("underlying_price", number(index));
                put("underlying_index", json!("index_price"));
                put(
                    "greeks",
                    json!({"delta": 0.0, "gamma": 0.0, "rho": 0.0, "theta": 0.0, "vega": 0.0}),
                );
            }
            _ => {}
        }
        ticker
    }

    /// `public/get_order_book`.
    pub fn order_book(&self, depth: usize, ms: i64, index: i128) -> Value {
        let levels = |side| -> Value {
            let level = |(price, amount)| json!([number(price), number(amount)]);
            self.book.levels(side).take(depth).map(level).collect()
        };
        let mut book = self.ticker(ms, index);
        if let Some(map) = book.as_object_mut() {
            map.insert("bids".to_owned(), levels(Side::Buy));
            map.insert("asks".to_owned(), levels(Side::Sell));
            map.insert("change_id".to_owned(), json!(self.change_id));
        }
        book
    }
}

pub const fn direction(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}
