//! What can be asked: reference data, books, trades, candles; orders, fills, money.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::binance::candles::{Candle, interval_ms};
use crate::binance::error::{ApiError, error};
use crate::binance::limits::{WEIGHT_PER_MINUTE, limit};
use crate::binance::market::Market;
use crate::binance::order::{Fill, Order, order_number, order_of};
use crate::binance::params::Params;
use crate::binance::publish::day_ticker;
use crate::binance::state::Binance;
use crate::decimal::{fixed8, times};

/// Entries of a list, unless it is said, and at the most.
const COUNT: usize = 500;
const COUNT_MAX: usize = 1_000;
const LEVELS: usize = 100;
const LEVELS_MAX: usize = 5_000;

impl Binance {
    pub(super) fn exchange_info(&self, params: &Params) -> Result<Value, ApiError> {
        let symbols = self.wanted(params)?;
        let limits = self.accounts.first().map(|it| &it.counts);
        let mut rates = vec![
            limit("REQUEST_WEIGHT", "MINUTE", 1, WEIGHT_PER_MINUTE, None),
            limit("RAW_REQUESTS", "MINUTE", 5, 300_000, None),
        ];
        if let Some(counts) = limits {
            rates.push(limit("ORDERS", "SECOND", 10, counts.max_10s, None));
            rates.push(limit("ORDERS", "DAY", 1, counts.max_day, None));
        }
        Ok(json!({
            "timezone": "UTC",
            "serverTime": self.ms(),
            "rateLimits": rates,
            "exchangeFilters": [],
            "symbols": symbols.iter().map(|it| it.description()).collect::<Vec<_>>(),
        }))
    }

    /// There are no futures here, or none of this kind, which clients ask for when they start.
    pub(super) fn no_futures(&self) -> Value {
        json!({
            "timezone": "UTC",
            "serverTime": self.ms(),
            "rateLimits": [],
            "exchangeFilters": [],
            "assets": [],
            "symbols": [],
        })
    }

    /// Those named by `symbol` or `symbols`, or all.
    fn wanted(&self, params: &Params) -> Result<Vec<&Market>, ApiError> {
        if params.get("symbol").is_some() {
            let place = self.place_named(params)?;
            return Ok(self.market(place).into_iter().collect());
        }
        let Some(names) = params.list("symbols")? else {
            return Ok(self.markets.iter().filter(|it| it.is_spot()).collect());
        };
        let named = |name: &String| {
            let found = self.markets.iter().find(|it| it.is_spot() && it.settings.name == *name);
            found.ok_or_else(|| error(-1121))
        };
        names.iter().map(named).collect()
    }

    /// One object for `symbol`, a list for `symbols` or all.
    pub(super) fn for_symbols(
        &self,
        params: &Params,
        of: fn(&Self, &Market) -> Value,
    ) -> Result<Value, ApiError> {
        let is_one = params.get("symbol").is_some();
        let mut all = self.wanted(params)?.into_iter().map(|market| of(self, market));
        if is_one { all.next().ok_or_else(|| error(-1121)) } else { Ok(all.collect()) }
    }

    fn one(&self, params: &Params) -> Result<&Market, ApiError> {
        self.market(self.place_named(params)?).ok_or_else(|| error(-1121))
    }

    pub(super) fn depth(&self, params: &Params) -> Result<Value, ApiError> {
        let count = params.limit(LEVELS, LEVELS_MAX)?;
        let book = self.one(params)?.depth(count);
        Ok(json!({ "lastUpdateId": book.last, "bids": book.bids, "asks": book.asks }))
    }

    pub(super) fn recent_trades(&self, params: &Params) -> Result<Value, ApiError> {
        let (market, count) = (self.one(params)?, params.limit(COUNT, COUNT_MAX)?);
        let from = params.integer("fromId")?;
        let skipped = match from {
            Some(_) => 0,
            None => market.tape.len().saturating_sub(count),
        };
        let trades = market.tape.iter().skip(skipped);
        let trades = trades.filter(|it| from.is_none_or(|from| it.id as i64 >= from)).take(count);
        let entry = |it: &crate::binance::market::Print| {
            let amount = market.book.amount(it.lots);
            json!({
                "id": it.id,
                "price": fixed8(it.price),
                "qty": fixed8(amount),
                "quoteQty": fixed8(times(amount, it.price)),
                "time": it.ms,
                "isBuyerMaker": it.buyer_is_maker,
                "isBestMatch": true,
            })
        };
        Ok(trades.map(entry).collect())
    }

    pub(super) fn aggregate_trades(&self, params: &Params) -> Result<Value, ApiError> {
        let (market, count) = (self.one(params)?, params.limit(COUNT, COUNT_MAX)?);
        let from = params.integer("fromId")?;
        let (start, end) = (params.integer("startTime")?, params.integer("endTime")?);
        let is_wanted = |it: &&crate::binance::market::Aggregate| {
            from.is_none_or(|from| it.id as i64 >= from)
                && start.is_none_or(|start| it.ms >= start)
                && end.is_none_or(|end| it.ms <= end)
        };
        let found: Vec<_> = market.aggregates.iter().filter(is_wanted).collect();
        let is_latest = from.is_none() && start.is_none();
        let skipped = if is_latest { found.len().saturating_sub(count) } else { 0 };
        let entry = |it: &&crate::binance::market::Aggregate| {
            json!({
                "a": it.id,
                "p": fixed8(it.price),
                "q": fixed8(market.book.amount(it.lots)),
                "f": it.first,
                "l": it.last,
                "T": it.ms,
                "m": it.buyer_is_maker,
                "M": true,
            })
        };
        Ok(found.iter().skip(skipped).take(count).map(entry).collect())
    }

    pub(super) fn klines(&self, params: &Params) -> Result<Value, ApiError> {
        let (market, count) = (self.one(params)?, params.limit(COUNT, COUNT_MAX)?);
        let width = interval_ms(params.needed("interval")?).ok_or_else(|| error(-1120))?;
        let Some(first) = market.candles.first_ms() else { return Ok(json!([])) };
        let aligned = |at: i64| at - at.rem_euclid(width);
        let end = params.integer("endTime")?.unwrap_or(i64::MAX).min(self.ms());
        let span = width * count as i64;
        let start = match params.integer("startTime")? {
            Some(start) => aligned(start.clamp(0, self.ms()) + width - 1),
            None => aligned(end.max(0)) + width - span,
        };
        let start = start.max(aligned(first));
        let candles = (0..count as i64).map(|nth| start + nth * width).filter(|at| *at <= end);
        let entry = |at: i64| {
            let it = market.candles.candle(at, width)?;
            Some(candle(&it, at, width))
        };
        Ok(candles.filter_map(entry).collect())
    }

    pub(super) fn average_price(&self, params: &Params) -> Result<Value, ApiError> {
        let market = self.one(params)?;
        let last_ms = market.tape.back().map_or_else(|| self.ms(), |print| print.ms);
        let price = fixed8(market.average_price(self.ms()));
        Ok(json!({ "mins": 5, "price": price, "closeTime": last_ms }))
    }

    pub(super) fn ticker(&self, market: &Market) -> Value {
        let it = day_ticker(market, self.ms());
        json!({
            "symbol": it.s,
            "priceChange": it.change,
            "priceChangePercent": it.change_percent,
            "weightedAvgPrice": it.average,
            "prevClosePrice": it.previous_close,
            "lastPrice": it.last,
            "lastQty": it.last_quantity,
            "bidPrice": it.bid,
            "bidQty": it.bid_quantity,
            "askPrice": it.ask,
            "askQty": it.ask_quantity,
            "openPrice": it.open,
            "highPrice": it.high,
            "lowPrice": it.low,
            "volume": it.volume,
            "quoteVolume": it.quote_volume,
            "openTime": it.from_ms,
            "closeTime": it.to_ms,
            "firstId": it.first_id,
            "lastId": it.last_id,
            "count": it.count,
        })
    }

    pub(super) fn price_ticker(&self, market: &Market) -> Value {
        json!({ "symbol": market.settings.name, "price": fixed8(market.last_price()) })
    }

    pub(super) fn book_ticker(&self, market: &Market) -> Value {
        let it = day_ticker(market, self.ms());
        json!({
            "symbol": it.s,
            "bidPrice": it.bid,
            "bidQty": it.bid_quantity,
            "askPrice": it.ask,
            "askQty": it.ask_quantity,
        })
    }

    /// The assets that are traded here, and those that an account has.
    fn assets(&self, account: usize) -> BTreeSet<String> {
        let traded = self.markets.iter().flat_map(|it| [&it.settings.base, &it.settings.quote]);
        let owned = self.accounts.get(account).into_iter().flat_map(|it| it.balances.keys());
        traded.chain(owned).cloned().collect()
    }

    pub(super) fn account_status(&self, params: &Params, account: usize) -> Value {
        let leaves_out = params.get("omitZeroBalances") == Some("true");
        let entry = |asset: String| {
            let (free, locked) = self.balance(account, &asset);
            let shown = json!({ "asset": asset, "free": fixed8(free), "locked": fixed8(locked) });
            (!leaves_out || free + locked != 0).then_some(shown)
        };
        let balances: Vec<Value> = self.assets(account).into_iter().filter_map(entry).collect();
        let owner = self.accounts.get(account);
        let (maker, taker) = owner.map(|it| (it.maker, it.taker)).unwrap_or_default();
        // In hundredths of a percent.
        let points = |rate: i128| rate / 100_000;
        json!({
            "makerCommission": points(maker),
            "takerCommission": points(taker),
            "buyerCommission": 0,
            "sellerCommission": 0,
            "commissionRates": {
                "maker": fixed8(maker),
                "taker": fixed8(taker),
                "buyer": fixed8(0),
                "seller": fixed8(0),
            },
            "canTrade": true,
            "canWithdraw": false,
            "canDeposit": false,
            "brokered": false,
            "requireSelfTradePrevention": false,
            "preventSor": false,
            "updateTime": owner.map_or(0, |it| it.updated_ms),
            "accountType": "SPOT",
            "balances": balances,
            "permissions": ["SPOT"],
            "uid": 350_000_000 + account,
        })
    }

    pub(super) fn order_limits(&mut self, account: usize) -> Value {
        let ms = self.ms();
        let Some(account) = self.accounts.get_mut(account) else { return json!([]) };
        account.counts.turn(ms);
        json!(account.counts.json())
    }

    pub(super) fn order_status(&self, params: &Params, account: usize) -> Result<Value, ApiError> {
        let id = self.own_order(params, account, ["orderId", "origClientOrderId"], -2013)?;
        self.orders.get(&id).map(|it| self.shown(it)).ok_or_else(|| error(-2013))
    }

    fn shown(&self, order: &Order) -> Value {
        self.market(order.place).map_or(Value::Null, |market| order.queried(market))
    }

    pub(super) fn open_orders(&self, params: &Params, account: usize) -> Result<Value, ApiError> {
        let place = match params.get("symbol") {
            Some(_) => Some(self.place_named(params)?),
            None => None,
        };
        let orders = self.live(account).filter(|it| place.is_none_or(|place| it.place == place));
        Ok(orders.map(|it| self.shown(it)).collect())
    }

    pub(super) fn all_orders(&self, params: &Params, account: usize) -> Result<Value, ApiError> {
        let (place, count) = (self.place_named(params)?, params.limit(COUNT, COUNT_MAX)?);
        let from = params.integer("orderId")?.map(order_of);
        let (start, end) = (params.integer("startTime")?, params.integer("endTime")?);
        let is_wanted = |it: &&Order| {
            it.account == account
                && it.place == place
                && from.is_none_or(|from| from.is_none_or(|from| it.id >= from))
                && start.is_none_or(|start| it.created_ms >= start)
                && end.is_none_or(|end| it.created_ms <= end)
        };
        let found: Vec<&Order> = self.orders.values().filter(is_wanted).collect();
        Ok(latest(&found, count, from.is_some() || start.is_some())
            .map(|it| self.shown(it))
            .collect())
    }

    pub(super) fn my_trades(&self, params: &Params, account: usize) -> Result<Value, ApiError> {
        let (place, count) = (self.place_named(params)?, params.limit(COUNT, COUNT_MAX)?);
        let order = params.integer("orderId")?.map(order_of);
        let from = params.integer("fromId")?;
        let (start, end) = (params.integer("startTime")?, params.integer("endTime")?);
        let is_wanted = |it: &&Fill| {
            it.account == account
                && it.place == place
                && order.is_none_or(|order| order == Some(it.order))
                && from.is_none_or(|from| it.trade_id as i64 >= from)
                && start.is_none_or(|start| it.ms >= start)
                && end.is_none_or(|end| it.ms <= end)
        };
        let found: Vec<&Fill> = self.fills.iter().filter(is_wanted).collect();
        let market = self.market(place).ok_or_else(|| error(-1121))?;
        let entry = |it: &Fill| {
            let amount = market.book.amount(it.lots);
            json!({
                "symbol": market.settings.name,
                "id": it.trade_id,
                "orderId": order_number(it.order),
                "orderListId": -1,
                "price": fixed8(it.price),
                "qty": fixed8(amount),
                "quoteQty": fixed8(times(amount, it.price)),
                "commission": fixed8(it.commission),
                "commissionAsset": it.commission_asset,
                "time": it.ms,
                "isBuyer": it.is_buyer,
                "isMaker": it.is_maker,
                "isBestMatch": true,
            })
        };
        Ok(latest(&found, count, from.is_some() || start.is_some()).map(entry).collect())
    }

    /// The wallet's list of coins, as far as clients look into it when they start.
    pub(super) fn coins(&self, account: usize) -> Value {
        let coin = |asset: String| {
            let (free, locked) = self.balance(account, &asset);
            json!({
                "coin": asset,
                "name": asset,
                "free": fixed8(free),
                "locked": fixed8(locked),
                "freeze": "0",
                "withdrawing": "0",
                "ipoing": "0",
                "ipoable": "0",
                "storage": "0",
                "isLegalMoney": false,
                "trading": true,
                "depositAllEnable": false,
                "withdrawAllEnable": false,
                "networkList": [],
            })
        };
        self.assets(account).into_iter().map(coin).collect()
    }
}

/// The first so many, where a beginning was asked for, or else the last.
fn latest<'a, T>(found: &'a [&'a T], count: usize, is_from: bool) -> impl Iterator<Item = &'a T> {
    let skipped = if is_from { 0 } else { found.len().saturating_sub(count) };
    found.iter().skip(skipped).take(count).copied()
}

fn candle(it: &Candle, start_ms: i64, width: i64) -> Value {
    json!([
        start_ms,
        fixed8(it.open),
        fixed8(it.high),
        fixed8(it.low),
        fixed8(it.close),
        fixed8(it.volume),
        start_ms + width - 1,
        fixed8(it.quote_volume),
        it.count,
        fixed8(it.taker_volume),
        fixed8(it.taker_quote_volume),
        "0",
    ])
}
