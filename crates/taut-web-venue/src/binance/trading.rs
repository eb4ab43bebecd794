//! Orders are placed, changed and cancelled: what is checked before the exchange sees them.

use serde_json::{Value, json};
use taut_engine::{Command, NewOrder, PostOnly};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};
use taut_venue::{FIRST_DOOR_ORDER, FIRST_DOOR_OWNER};

use crate::binance::error::{ApiError, error};
use crate::binance::filters::AMENDS_MAX;
use crate::binance::market::Market;
use crate::binance::methods::Call;
use crate::binance::order::{Detail, Kind, Order, STP_MODES, Status, order_of};
use crate::binance::params::Params;
use crate::binance::serve::{Done, Outcome};
use crate::binance::state::{Binance, Job, Replacement, Wants};

/// Letters of a client's id for an order.
const CLIENT_ID_MAX: usize = 36;
/// Letters of an id that the venue gives.
const OWN_ID: usize = 22;

impl Binance {
    /// `order.place`.
    pub(super) fn place(&mut self, call: &Call, account: usize) -> Outcome {
        let (order, detail) = self.read_order(&call.params, account)?;
        self.check_place(&order, None)?;
        self.count_order(account)?;
        let command = self.enter(order)?;
        let mut job = Job::new(call, vec![command], Wants::Placed(detail));
        job.order = command.1.order_id();
        Ok(Done::Job(Box::new(job)))
    }

    /// `order.test`: everything but the order.
    pub(super) fn test(&mut self, call: &Call, account: usize) -> Result<Value, ApiError> {
        let (order, _) = self.read_order(&call.params, account)?;
        self.check_place(&order, None)?;
        if call.params.get("computeCommissionRates") != Some("true") {
            return Ok(json!({}));
        }
        let rates = self.accounts.get(account).map(|it| (it.maker, it.taker)).unwrap_or_default();
        let fixed = crate::decimal::fixed8;
        Ok(json!({
            "standardCommissionForOrder": { "maker": fixed(rates.0), "taker": fixed(rates.1) },
            "specialCommissionForOrder": { "maker": fixed(0), "taker": fixed(0) },
            "taxCommissionForOrder": { "maker": fixed(0), "taker": fixed(0) },
            "discount": {
                "enabledForAccount": false,
                "enabledForSymbol": false,
                "discountAsset": "BNB",
                "discount": fixed(0),
            },
        }))
    }

    /// `order.cancel`.
    pub(super) fn cancel(&mut self, call: &Call, account: usize) -> Outcome {
        let params = &call.params;
        let id = self.own_order(params, account, ["orderId", "origClientOrderId"], -2011)?;
        let cancel_id = self.client_id(params, "newClientOrderId")?;
        let command = self.cancel_one(id, cancel_id, params)?;
        Ok(Done::Job(Box::new(Job::new(call, vec![command], Wants::Cancelled(id)))))
    }

    /// `openOrders.cancelAll`.
    pub(super) fn cancel_all(&mut self, call: &Call, account: usize) -> Outcome {
        let place = self.place_named(&call.params)?;
        let ids: Vec<OrderId> =
            self.live(account).filter(|it| it.place == place).map(|it| it.id).collect();
        if ids.is_empty() {
            return Err(error(-2011));
        }
        let cancel_id = self.unique_name(OWN_ID);
        for id in &ids {
            if let Some(order) = self.orders.get_mut(id) {
                order.cancel_id = Some(cancel_id.clone());
            }
        }
        let commands = ids.iter().map(|id| (place, Command::Cancel { order_id: *id })).collect();
        Ok(Done::Job(Box::new(Job::new(call, commands, Wants::AllCancelled(ids)))))
    }

    /// `order.cancelReplace`: both halves are tried one after the other, and nothing comes between.
    pub(super) fn cancel_replace(&mut self, call: &Call, account: usize) -> Outcome {
        let params = &call.params;
        let stops = match params.needed("cancelReplaceMode")? {
            "STOP_ON_FAILURE" => true,
            "ALLOW_FAILURE" => false,
            _ => return Err(ApiError::mandatory("cancelReplaceMode")),
        };
        // Filters and counts come before the cancel.
        let (order, detail) = self.read_order(params, account)?;
        self.count_order(account)?;
        let names = ["cancelOrderId", "cancelOrigClientOrderId"];
        let cancel_id = self.client_id(params, "cancelNewClientOrderId")?;
        let cancel = self
            .own_order(params, account, names, -2011)
            .and_then(|id| Ok((id, self.cancel_one(id, cancel_id, params)?)));
        let mut commands: Vec<_> = cancel.iter().map(|(_, command)| *command).collect();
        let cancel = cancel.map(|(id, _)| id);
        let mut placed = None;
        let place = if cancel.is_err() && stops {
            Replacement::NotAttempted
        } else {
            let checked = self.check_place(&order, cancel.as_ref().ok().copied());
            match checked.and_then(|()| self.enter(order)) {
                Ok(command) => {
                    placed = command.1.order_id();
                    commands.push(command);
                    Replacement::Sent(detail)
                }
                Err(problem) => Replacement::Refused(problem),
            }
        };
        let mut job = Job::new(call, commands, Wants::Replaced { cancel, place });
        job.order = placed;
        Ok(Done::Job(Box::new(job)))
    }

    /// `order.amend.keepPriority`: the quantity becomes smaller.
    pub(super) fn amend(&mut self, call: &Call, account: usize) -> Outcome {
        let params = &call.params;
        let id = self.own_order(params, account, ["orderId", "origClientOrderId"], -2013)?;
        let quantity = params.decimal("newQty")?.ok_or_else(|| ApiError::mandatory("newQty"))?;
        // Another id unless the old one is sent again.
        let new_id = self.client_id(params, "newClientOrderId")?;
        let order = self.orders.get(&id).filter(|it| it.status.is_live());
        let order = order.ok_or_else(|| error(-2013))?;
        let market = self.market(order.place).ok_or_else(|| error(-1121))?;
        let lots = market.check_quantity(quantity)?;
        let refused = |why: &str| Err(ApiError::new(-2038, why));
        if lots == order.lots {
            return refused("The requested action would change no state; rejecting.");
        }
        if lots > order.lots || lots <= order.filled + order.prevented {
            return refused("The new quantity must be above what was executed and below the old.");
        }
        if order.amends >= AMENDS_MAX {
            return Err(ApiError::filter("MAX_NUM_ORDER_AMENDS"));
        }
        market.check_notional(lots, order.price.unwrap_or_else(|| market.last_price()))?;
        let by = Lots(order.lots - lots);
        let command = (order.place, Command::Reduce { order_id: id, by });
        if let Some(order) = self.orders.get_mut(&id) {
            order.amended_from = Some(std::mem::replace(&mut order.client_id, new_id));
        }
        Ok(Done::Job(Box::new(Job::new(call, vec![command], Wants::Amended(id)))))
    }

    pub(super) fn place_named(&self, params: &Params) -> Result<usize, ApiError> {
        let name = params.needed("symbol")?;
        let place = self.markets.iter().position(|it| it.is_spot() && it.settings.name == name);
        place.ok_or_else(|| error(-1121))
    }

    pub(super) fn live(&self, account: usize) -> impl Iterator<Item = &Order> {
        self.orders.values().filter(move |it| it.account == account && it.status.is_live())
    }

    /// An account's order by its number or its client's id: the last one that had it. Both, when
    /// both are given.
    pub(super) fn own_order(
        &self,
        params: &Params,
        account: usize,
        [number_name, client_name]: [&str; 2],
        unknown: i64,
    ) -> Result<OrderId, ApiError> {
        let place = self.place_named(params)?;
        let number = params.integer(number_name)?;
        let client_id = params.get(client_name);
        if number.is_none() && client_id.is_none() {
            let text = format!(
                "Param '{client_name}' or '{number_name}' must be sent, but both were empty/null!"
            );
            return Err(ApiError::new(-1128, &text));
        }
        let is_it = |it: &&Order| {
            it.account == account
                && it.place == place
                && number.is_none_or(|number| order_of(number) == Some(it.id))
                && client_id.is_none_or(|id| it.client_id == id)
        };
        let found =
            self.orders.values().filter(is_it).max_by_key(|it| (it.status.is_live(), it.id));
        found.map(|it| it.id).ok_or_else(|| error(unknown))
    }

    fn cancel_one(
        &mut self,
        id: OrderId,
        cancel_id: String,
        params: &Params,
    ) -> Result<(usize, Command), ApiError> {
        let order = self.orders.get_mut(&id).filter(|it| it.status.is_live());
        let order = order.ok_or_else(|| error(-2011))?;
        let is_allowed = match params.get("cancelRestrictions") {
            Some("ONLY_NEW") => order.status == Status::New,
            Some("ONLY_PARTIALLY_FILLED") => order.status == Status::PartiallyFilled,
            _ => true,
        };
        if !is_allowed {
            let why = "Order was not canceled due to cancel restrictions.";
            return Err(ApiError::new(-2011, why));
        }
        order.cancel_id = Some(cancel_id);
        Ok((order.place, Command::Cancel { order_id: id }))
    }

    /// A client's id for something, or else one of the venue's.
    fn client_id(&mut self, params: &Params, name: &str) -> Result<String, ApiError> {
        let Some(id) = params.get(name) else { return Ok(self.unique_name(OWN_ID)) };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if id.len() > CLIENT_ID_MAX || !id.bytes().all(is_letter) {
            return Err(ApiError::illegal(name, "^[a-zA-Z0-9-_]{1,36}$"));
        }
        Ok(id.to_owned())
    }

    fn count_order(&mut self, account: usize) -> Result<(), ApiError> {
        let ms = self.ms();
        let Some(account) = self.accounts.get_mut(account) else { return Ok(()) };
        account.counts.add(ms).map_err(|limit| {
            ApiError::new(-1015, &format!("Too many new orders; current limit is {limit}."))
        })
    }

    /// Everything that can be wrong with an order by itself.
    fn read_order(&mut self, params: &Params, account: usize) -> Result<(Order, Detail), ApiError> {
        let place = self.place_named(params)?;
        let client_id = self.client_id(params, "newClientOrderId")?;
        let ms = self.ms();
        let market = self.market(place).ok_or_else(|| error(-1121))?;
        let side = match params.needed("side")? {
            "BUY" => Side::Buy,
            "SELL" => Side::Sell,
            _ => return Err(error(-1117)),
        };
        let kind = kind(params.needed("type")?)?;
        for name in ["stopPrice", "trailingDelta", "pegPriceType"] {
            params.forbid(name)?;
        }
        let force = force(params, kind)?;
        let price = match kind {
            Kind::Market => {
                params.forbid("price")?;
                None
            }
            _ => Some(params.decimal("price")?.ok_or_else(|| ApiError::mandatory("price"))?),
        };
        if let Some(price) = price {
            market.check_price(price)?;
        }
        let quote = params.decimal("quoteOrderQty")?.filter(|_| kind == Kind::Market);
        let lots = match (params.decimal("quantity")?, quote) {
            (Some(_), Some(_)) => {
                let why = "Parameter 'quoteOrderQty' sent when not required.";
                return Err(ApiError::new(-1106, why));
            }
            (Some(quantity), None) => market.check_quantity(quantity)?,
            (None, Some(quote)) => market.lots_for(side, quote),
            (None, None) => return Err(ApiError::mandatory("quantity")),
        };
        if lots <= 0 {
            return Err(ApiError::filter(if quote.is_some() { "NOTIONAL" } else { "LOT_SIZE" }));
        }
        market.check_notional(lots, price.unwrap_or_else(|| market.last_price()))?;
        let shown = params.decimal("icebergQty")?.unwrap_or(0);
        let iceberg = market.check_iceberg(shown, lots)?;
        if iceberg.is_some() && force != TimeInForce::GoodTillCancel {
            return Err(ApiError::new(-1106, "Parameter 'icebergQty' sent when not required."));
        }
        let order = Order {
            id: OrderId(0),
            account,
            place,
            client_id,
            cancel_id: None,
            amended_from: None,
            side,
            kind,
            force,
            price,
            lots,
            quote_quantity: quote.unwrap_or(0),
            iceberg,
            filled: 0,
            prevented: 0,
            prevented_match: None,
            notional: 0,
            stp: stp_mode(params)?,
            status: Status::New,
            amends: 0,
            created_ms: ms,
            updated_ms: ms,
        };
        Ok((order, detail(params, kind)?))
    }

    /// Everything that can be wrong with it beside the account's other orders, one of which may be
    /// about to go.
    fn check_place(&self, order: &Order, without: Option<OrderId>) -> Result<(), ApiError> {
        let refused = |why: &str| Err(ApiError::new(-2010, why));
        let market = self.market(order.place).ok_or_else(|| error(-1121))?;
        if market.is_delisted {
            return refused("Market is closed.");
        }
        let others = || self.live(order.account).filter(|it| Some(it.id) != without);
        if others().any(|it| it.place == order.place && it.client_id == order.client_id) {
            return refused("Duplicate order sent.");
        }
        let count = others().filter(|it| it.place == order.place).count();
        if count >= market.settings.max_orders as usize {
            return Err(ApiError::filter("MAX_NUM_ORDERS"));
        }
        let (asset, needs) =
            (paid_asset(market, order.side), market.needs(order.side, order.price, order.lots));
        let free = self.free(order.account, asset, without);
        if needs > free {
            return refused("Account has insufficient balance for requested action.");
        }
        Ok(())
    }

    /// What an account may spend of an asset, at 1e-9.
    pub(super) fn free(&self, account: usize, asset: &str, without: Option<OrderId>) -> i128 {
        let balance = self.accounts.get(account).and_then(|it| it.balances.get(asset));
        let orders = self.live(account).filter(|it| Some(it.id) != without);
        let locked: i128 = orders.map(|order| self.locked(order, asset)).sum();
        balance.copied().unwrap_or(0) - locked
    }

    /// What is set aside of an asset for an order, at 1e-9.
    pub(super) fn locked(&self, order: &Order, asset: &str) -> i128 {
        let market = self.market(order.place);
        let market = market.filter(|it| paid_asset(it, order.side) == asset);
        market.map_or(0, |it| order.locked(it))
    }

    /// Takes an order in, and says it in the engine's words.
    fn enter(&mut self, order: Order) -> Result<(usize, Command), ApiError> {
        let id = OrderId(FIRST_DOOR_ORDER + self.next_order);
        let order = Order { id, ..order };
        let market = self.market(order.place).ok_or_else(|| error(-1121))?;
        let owner = FIRST_DOOR_OWNER + u32::try_from(order.account).unwrap_or(0);
        let lots = Lots(order.lots);
        let mut entered = match order.price {
            Some(price) => {
                let price = HalfTicks(market.check_price(price)?);
                NewOrder::limit(id, owner, order.side, price, lots)
            }
            None => NewOrder::market(id, owner, order.side, lots),
        };
        entered = entered.force(order.force).self_trade(order.stp.1);
        if order.kind == Kind::LimitMaker {
            entered = entered.post_only(PostOnly::Reject);
        }
        if let Some(shown) = order.iceberg {
            entered = entered.iceberg(Lots(shown));
        }
        let place = order.place;
        self.next_order += 1;
        self.orders.insert(id, order);
        Ok((place, Command::New(entered)))
    }
}

/// What an order of this side is paid with.
pub fn paid_asset(market: &Market, side: Side) -> &str {
    match side {
        Side::Buy => &market.settings.quote,
        Side::Sell => &market.settings.base,
    }
}

fn kind(name: &str) -> Result<Kind, ApiError> {
    let what = match name {
        "LIMIT" => return Ok(Kind::Limit),
        "LIMIT_MAKER" => return Ok(Kind::LimitMaker),
        "MARKET" => return Ok(Kind::Market),
        "STOP_LOSS" => "Stop loss",
        "STOP_LOSS_LIMIT" => "Stop loss limit",
        "TAKE_PROFIT" => "Take profit",
        "TAKE_PROFIT_LIMIT" => "Take profit limit",
        _ => return Err(error(-1116)),
    };
    Err(ApiError::new(-2010, &format!("{what} orders are not supported for this symbol.")))
}

fn force(params: &Params, kind: Kind) -> Result<TimeInForce, ApiError> {
    if kind != Kind::Limit {
        params.forbid("timeInForce")?;
        return Ok(TimeInForce::GoodTillCancel);
    }
    match params.needed("timeInForce")? {
        "GTC" => Ok(TimeInForce::GoodTillCancel),
        "IOC" => Ok(TimeInForce::ImmediateOrCancel),
        "FOK" => Ok(TimeInForce::FillOrKill),
        _ => Err(error(-1115)),
    }
}

fn detail(params: &Params, kind: Kind) -> Result<Detail, ApiError> {
    match params.get("newOrderRespType") {
        None if kind == Kind::LimitMaker => Ok(Detail::Ack),
        None | Some("FULL") => Ok(Detail::Full),
        Some("ACK") => Ok(Detail::Ack),
        Some("RESULT") => Ok(Detail::Result),
        Some(_) => Err(ApiError::illegal("newOrderRespType", "ACK, RESULT, FULL")),
    }
}

fn stp_mode(params: &Params) -> Result<(&'static str, taut_engine::SelfTrade), ApiError> {
    let name = params.get("selfTradePreventionMode").unwrap_or("EXPIRE_MAKER");
    let known = STP_MODES.iter().find(|(it, _)| *it == name);
    known.copied().ok_or_else(|| {
        let why = "This symbol does not allow the specified self-trade prevention mode.";
        ApiError::new(-1013, why)
    })
}
