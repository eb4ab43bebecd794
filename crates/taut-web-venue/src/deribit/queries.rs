//! What can be asked: instruments, books, trades; orders, positions, money.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::decimal::{number, over, times};
use crate::deribit::instruments::Kind;
use crate::deribit::market::{Market, direction};
use crate::deribit::order::Order;
use crate::deribit::rpc::{Params, Request, RpcError, error};
use crate::deribit::state::{Deribit, UserTrade};
use taut_types::Side;

/// Initial margin of futures: a fiftieth of the value; maintenance is half of it.
const MARGIN_PARTS: i128 = 50;
/// Answers in a list at the most.
const COUNT_MAX: usize = 1_000;

/// An account's money in a currency, at 1e-9.
#[derive(Clone, Copy, Debug, Default)]
pub struct Funds {
    pub balance: i128,
    pub equity: i128,
    pub initial_margin: i128,
    pub floating: i128,
    pub realized: i128,
    pub options_value: i128,
}

impl Deribit {
    pub(super) fn currencies(&self) -> Value {
        let named: BTreeSet<&String> = self
            .markets
            .iter()
            .flat_map(|it| [&it.settings.base, &it.settings.settlement, &it.settings.quote])
            .filter(|it| *it != "USD")
            .collect();
        let currency = |name: &&String| {
            json!({
                "currency": name,
                "currency_long": name,
                "coin_type": name,
                "min_confirmations": 1,
                "fee_precision": 4,
                "min_withdrawal_fee": 0.0001,
                "withdrawal_fee": 0.0001,
                "withdrawal_priorities": [],
                "in_cross_collateral_pool": false,
            })
        };
        named.iter().map(currency).collect()
    }

    pub(super) fn instruments(&self, request: &Request) -> Result<Value, RpcError> {
        let params = &request.params;
        let currency = params.text("currency").filter(|it| it != "any");
        let kind = params.text("kind").filter(|it| it != "any");
        if params.flag("expired") {
            return Ok(json!([]));
        }
        let is_wanted = |market: &Market| {
            let settings = &market.settings;
            currency.as_ref().is_none_or(|it| *it == settings.settlement || *it == settings.base)
                && kind.as_ref().is_none_or(|it| it == settings.kind.name())
        };
        let all = self.markets.iter().enumerate().filter(|(_, it)| is_wanted(it));
        Ok(all.map(|(place, it)| it.settings.json(place, &it.sizes, it.states().0)).collect())
    }

    pub(super) fn instrument(&self, request: &Request) -> Result<Value, RpcError> {
        let (place, market) = self.named(&request.params)?;
        Ok(market.settings.json(place, &market.sizes, market.states().0))
    }

    pub(super) fn order_book(&self, request: &Request) -> Result<Value, RpcError> {
        let (place, market) = self.named(&request.params)?;
        let depth = request.params.integer("depth")?.unwrap_or(5).clamp(1, 10_000);
        Ok(market.order_book(usize::try_from(depth).unwrap_or(5), self.ms(), self.index(place)))
    }

    pub(super) fn ticker(&self, request: &Request) -> Result<Value, RpcError> {
        let (place, market) = self.named(&request.params)?;
        Ok(market.ticker(self.ms(), self.index(place)))
    }

    pub(super) fn index_price(&self, request: &Request) -> Result<Value, RpcError> {
        let name = request.params.needed("index_name")?;
        let place = self.markets.iter().position(|it| it.settings.price_index() == name);
        let place = place.ok_or_else(|| RpcError::param("index_name", "not found"))?;
        let price = number(self.index(place));
        Ok(json!({ "index_price": price, "estimated_delivery_price": price }))
    }

    pub(super) fn book_summaries(&self, request: &Request) -> Result<Value, RpcError> {
        let params = &request.params;
        let name = params.text("instrument_name");
        let currency = params.text("currency");
        let kind = params.text("kind");
        let ms = self.ms();
        let is_wanted = |market: &&Market| {
            let settings = &market.settings;
            name.as_ref().is_none_or(|it| *it == settings.name)
                && currency
                    .as_ref()
                    .is_none_or(|it| *it == settings.settlement || *it == settings.base)
                && kind.as_ref().is_none_or(|it| it == settings.kind.name())
        };
        let summary = |market: &Market| {
            let ticker = market.ticker(ms, 0);
            let best =
                |side| market.book.best(side).map_or(Value::Null, |(price, _)| number(price));
            json!({
                "instrument_name": market.settings.name,
                "base_currency": market.settings.base,
                "quote_currency": market.settings.quote,
                "creation_timestamp": ms,
                "bid_price": best(Side::Buy),
                "ask_price": best(Side::Sell),
                "mid_price": number(market.mark()),
                "mark_price": number(market.mark()),
                "last": ticker["last_price"],
                "high": ticker["stats"]["high"],
                "low": ticker["stats"]["low"],
                "price_change": ticker["stats"]["price_change"],
                "volume": ticker["stats"]["volume"].as_f64().unwrap_or(0.0),
                "volume_usd": ticker["stats"]["volume_usd"],
                "open_interest": 0,
            })
        };
        Ok(self.markets.iter().filter(is_wanted).map(summary).collect())
    }

    pub(super) fn last_trades(&self, request: &Request) -> Result<Value, RpcError> {
        let params = &request.params;
        let markets: Vec<&Market> = match params.text("instrument_name") {
            Some(_) => vec![self.named(params)?.1],
            None => {
                let currency = params.needed("currency")?;
                self.markets.iter().filter(|it| it.settings.settlement == currency).collect()
            }
        };
        let (start, end) = (params.integer("start_timestamp")?, params.integer("end_timestamp")?);
        let (first, last) = (params.integer("start_seq")?, params.integer("end_seq")?);
        let is_wanted = |it: &&&Value| {
            let (ms, seq) = (it["timestamp"].as_i64(), it["trade_seq"].as_i64());
            start.is_none_or(|from| ms >= Some(from))
                && end.is_none_or(|to| ms <= Some(to))
                && first.is_none_or(|from| seq >= Some(from))
                && last.is_none_or(|to| seq <= Some(to))
        };
        let trades = markets.iter().flat_map(|it| &it.tape).collect::<Vec<_>>();
        let found: Vec<&Value> = trades.iter().filter(is_wanted).copied().collect();
        list(params, found, true)
    }

    /// Private methods that change nothing.
    pub(super) fn query(&self, request: &Request, account: usize) -> Result<Value, RpcError> {
        let params = &request.params;
        match request.method.as_str() {
            "private/get_open_orders"
            | "private/get_open_orders_by_currency"
            | "private/get_open_orders_by_instrument"
            | "private/get_open_orders_by_label" => self.open_orders(params, account),
            "private/get_order_state" => {
                let id = self.own_order(params, account)?;
                self.orders.get(&id).and_then(|it| self.order_json(it)).ok_or_else(|| error(10004))
            }
            "private/get_order_state_by_label" => {
                let label = params.needed("label")?;
                let own =
                    self.orders.values().filter(|it| it.account == account && it.label == label);
                Ok(own.filter_map(|it| self.order_json(it)).collect())
            }
            "private/get_order_history_by_instrument" | "private/get_order_history_by_currency" => {
                let place = self.place_if_named(params)?;
                let own = self
                    .orders
                    .values()
                    .rev()
                    .filter(|it| it.account == account && !it.state.is_live());
                let own = own.filter(|it| place.is_none_or(|at| at == it.place));
                Ok(own.take(count(params)?).filter_map(|it| self.order_json(it)).collect())
            }
            "private/get_user_trades_by_instrument"
            | "private/get_user_trades_by_instrument_and_time"
            | "private/get_user_trades_by_currency"
            | "private/get_user_trades_by_currency_and_time" => self.user_trades(params, account),
            "private/get_user_trades_by_order" => {
                let id = self.own_order(params, account)?;
                Ok(self
                    .trades
                    .iter()
                    .filter(|it| it.order == id)
                    .map(|it| it.json.clone())
                    .collect())
            }
            "private/get_position" => Ok(self.position(account, self.named(params)?.0)),
            "private/get_positions" => self.positions(params, account),
            "private/get_account_summary" => {
                let currency = params.needed("currency")?;
                Ok(self.summary(account, &currency, params.flag("extended")))
            }
            "private/get_account_summaries" => {
                let of = |it: &String| self.summary(account, it, false);
                let summaries: Value = self.currencies_of(account).iter().map(of).collect();
                let name = self.accounts.get(account).map(|it| it.settings.name.as_str());
                Ok(json!({
                    "id": account + 1,
                    "username": name,
                    "type": "main",
                    "summaries": summaries,
                }))
            }
            _ => Err(error(-32601)),
        }
    }

    fn open_orders(&self, params: &Params, account: usize) -> Result<Value, RpcError> {
        let place = self.place_if_named(params)?;
        let (currency, label) = (params.text("currency"), params.text("label"));
        let kind = params.text("kind").filter(|it| it != "any");
        let is_wanted = |order: &&Order| {
            let Some(market) = self.market(order.place) else { return false };
            place.is_none_or(|it| it == order.place)
                && currency.as_ref().is_none_or(|it| *it == market.settings.settlement)
                && label.as_ref().is_none_or(|it| *it == order.label)
                && kind.as_ref().is_none_or(|it| it == market.settings.kind.name())
        };
        Ok(self.live(account).filter(is_wanted).filter_map(|it| self.order_json(it)).collect())
    }

    fn user_trades(&self, params: &Params, account: usize) -> Result<Value, RpcError> {
        let place = self.place_if_named(params)?;
        let currency = params.text("currency");
        let (start, end) = (params.integer("start_timestamp")?, params.integer("end_timestamp")?);
        let first = params.integer("start_seq")?;
        let is_wanted = |it: &&UserTrade| {
            let is_currency = |c: &String| {
                self.market(it.place).is_some_and(|market| market.settings.settlement == *c)
            };
            it.account == account
                && place.is_none_or(|at| at == it.place)
                && currency.as_ref().is_none_or(is_currency)
                && start.is_none_or(|from| it.ms >= from)
                && end.is_none_or(|to| it.ms <= to)
                && first.is_none_or(|from| it.seq >= u64::try_from(from).unwrap_or(0))
        };
        list(params, self.trades.iter().filter(is_wanted).map(|it| &it.json).collect(), true)
    }

    fn positions(&self, params: &Params, account: usize) -> Result<Value, RpcError> {
        let currency = params.text("currency").filter(|it| it != "any");
        let kind = params.text("kind").filter(|it| it != "any");
        let held = self.accounts.get(account).map(|it| &it.positions);
        let is_wanted = |place: &&usize| {
            self.market(**place).is_some_and(|market| {
                currency.as_ref().is_none_or(|it| *it == market.settings.settlement)
                    && kind.as_ref().is_none_or(|it| it == market.settings.kind.name())
            })
        };
        let places = held.into_iter().flat_map(|it| it.keys()).filter(is_wanted);
        Ok(places.map(|place| self.position(account, *place)).collect())
    }

    pub(super) fn position(&self, account: usize, place: usize) -> Value {
        let (Some(market), Some(owner)) = (self.market(place), self.accounts.get(account)) else {
            return Value::Null;
        };
        let it = owner.positions.get(&place).copied().unwrap_or_default();
        let (mark, index) = (market.mark(), self.index(place));
        let floating = market.profit(it.size, it.average, mark);
        let value = market.value(it.size.abs(), mark);
        let margin = if market.settings.kind == Kind::Option { 0 } else { value / MARGIN_PARTS };
        let open: i128 = self
            .live(account)
            .filter(|it| it.place == place && market.settings.kind == Kind::Future)
            .map(|it| {
                market.value(market.book.amount(it.open_lots()), it.price.unwrap_or(mark))
                    / MARGIN_PARTS
            })
            .sum();
        let in_coins = if market.settings.is_inverse() { over(it.size, mark) } else { it.size };
        let side = match it.size {
            0 => "zero",
            size if size > 0 => direction(Side::Buy),
            _ => direction(Side::Sell),
        };
        let mut position = json!({
            "instrument_name": market.settings.name,
            "kind": market.settings.kind.name(),
            "direction": side,
            "size": number(it.size),
            "size_currency": number(in_coins),
            "average_price": number(it.average),
            "mark_price": number(mark),
            "index_price": number(index),
            "settlement_price": number(market.sizes.start),
            "delta": number(in_coins),
            "initial_margin": number(margin),
            "maintenance_margin": number(margin / 2),
            "open_orders_margin": number(open),
            "floating_profit_loss": number(floating),
            "realized_profit_loss": number(it.realized),
            "total_profit_loss": number(floating + it.realized),
            "leverage": MARGIN_PARTS as i64,
        });
        if market.settings.kind == Kind::Option
            && let Some(map) = position.as_object_mut()
        {
            map.remove("size_currency");
            map.remove("leverage");
        }
        position
    }

    /// The currencies that an account has, or that its markets are paid in.
    pub(super) fn currencies_of(&self, account: usize) -> Vec<String> {
        let held = self.accounts.get(account).into_iter().flat_map(|it| it.balances.keys());
        held.cloned().collect()
    }

    /// An account's money, its open orders' margin counted.
    pub(super) fn funds(&self, account: usize, currency: &str) -> Funds {
        let Some(owner) = self.accounts.get(account) else { return Funds::default() };
        let mut funds = Funds { balance: owner.balance(currency), ..Funds::default() };
        for (&place, position) in &owner.positions {
            let Some(market) = self.market(place) else { continue };
            if market.settings.settlement != currency || market.settings.kind == Kind::Pair {
                continue;
            }
            let mark = market.mark();
            funds.realized += position.realized;
            if market.settings.kind == Kind::Option {
                funds.options_value += times(position.size, mark);
                funds.initial_margin += times((-position.size).max(0), 150_000_000);
            } else {
                funds.floating += market.profit(position.size, position.average, mark);
                funds.initial_margin += market.value(position.size.abs(), mark) / MARGIN_PARTS;
            }
        }
        for order in self.live(account) {
            let Some(market) = self.market(order.place) else { continue };
            if market.settings.settlement != currency || market.settings.kind == Kind::Pair {
                continue;
            }
            let amount = market.book.amount(order.open_lots());
            let price = order.price.unwrap_or_else(|| market.mark());
            funds.initial_margin += match (market.settings.kind, order.side) {
                (Kind::Option, Side::Buy) => times(amount, price),
                (Kind::Option, Side::Sell) => times(amount, 150_000_000),
                _ => market.value(amount, price) / MARGIN_PARTS,
            };
        }
        funds.equity = funds.balance + funds.floating + funds.options_value;
        funds
    }

    pub(super) fn portfolio(&self, account: usize, currency: &str) -> Value {
        let funds = self.funds(account, currency);
        let margin_balance = funds.balance + funds.floating;
        let available = margin_balance - funds.initial_margin;
        json!({
            "currency": currency,
            "balance": number(funds.balance),
            "equity": number(funds.equity),
            "margin_balance": number(margin_balance),
            "available_funds": number(available),
            "available_withdrawal_funds": number(available.min(funds.balance).max(0)),
            "initial_margin": number(funds.initial_margin),
            "maintenance_margin": number(funds.initial_margin / 2),
            "projected_initial_margin": number(funds.initial_margin),
            "projected_maintenance_margin": number(funds.initial_margin / 2),
            "additional_reserve": 0.0,
            "spot_reserve": 0.0,
            "session_rpl": number(funds.realized),
            "session_upl": number(funds.floating),
            "total_pl": number(funds.realized + funds.floating),
            "futures_pl": number(funds.realized + funds.floating),
            "futures_session_rpl": number(funds.realized),
            "futures_session_upl": number(funds.floating),
            "options_value": number(funds.options_value),
            "options_pl": 0.0,
            "options_session_rpl": 0.0,
            "options_session_upl": 0.0,
            "options_delta": 0.0,
            "options_gamma": 0.0,
            "options_theta": 0.0,
            "options_vega": 0.0,
            "options_gamma_map": {},
            "options_theta_map": {},
            "options_vega_map": {},
            "delta_total": 0.0,
            "delta_total_map": {},
            "projected_delta_total": 0.0,
            "fee_balance": 0.0,
            "margin_model": "segregated_sm",
            "portfolio_margining_enabled": false,
            "cross_collateral_enabled": false,
        })
    }

    fn summary(&self, account: usize, currency: &str, is_extended: bool) -> Value {
        let mut summary = self.portfolio(account, currency);
        let (Some(map), Some(owner)) = (summary.as_object_mut(), self.accounts.get(account)) else {
            return summary;
        };
        let mut put = |key: &str, value: Value| _ = map.insert(key.to_owned(), value);
        let settings = &owner.settings;
        let matching = json!({ "rate": settings.matching_rate, "burst": settings.matching_burst });
        put("deposit_address", json!(""));
        put(
            "limits",
            json!({
                "limits_per_currency": false,
                "non_matching_engine": { "rate": 20, "burst": 100 },
                "matching_engine": {
                    "trading": { "total": matching },
                    "cancel_all": matching,
                },
            }),
        );
        if is_extended {
            put("id", json!(account + 1));
            put("type", json!("main"));
            put("username", json!(settings.name));
            put("system_name", json!(settings.name));
            put("email", json!(format!("{}@example.com", settings.name)));
            put("creation_timestamp", json!(1_500_000_000_000_i64));
            put("login_enabled", json!(true));
            put("mmp_enabled", json!(false));
            put("security_keys_enabled", json!(false));
            put("interuser_transfers_enabled", json!(false));
            put("self_trading_reject_mode", json!(settings.self_trading));
            put("self_trading_extended_to_subaccounts", json!("false"));
        }
        summary
    }

    fn order_json(&self, order: &Order) -> Option<Value> {
        Some(order.json(self.market(order.place)?))
    }

    fn named(&self, params: &Params) -> Result<(usize, &Market), RpcError> {
        let place = self.place_named(params)?;
        Ok((place, self.market(place).ok_or_else(|| error(10020))?))
    }

    fn place_if_named(&self, params: &Params) -> Result<Option<usize>, RpcError> {
        params.text("instrument_name").map(|_| self.place_named(params)).transpose()
    }
}

fn count(params: &Params) -> Result<usize, RpcError> {
    let count = params.integer("count")?.unwrap_or(10).clamp(1, COUNT_MAX as i64);
    Ok(usize::try_from(count).unwrap_or(10))
}

/// As many of them as are asked for, the newest first unless asked otherwise.
fn list(params: &Params, mut found: Vec<&Value>, newest_first: bool) -> Result<Value, RpcError> {
    let newest_first = match params.text("sorting").as_deref() {
        Some("asc") => false,
        Some("desc") => true,
        _ => newest_first,
    };
    if newest_first {
        found.reverse();
    }
    let count = count(params)?;
    let has_more = found.len() > count;
    found.truncate(count);
    Ok(json!({ "trades": found, "has_more": has_more }))
}
