//! Orders are placed, changed and cancelled: what is checked before the exchange sees them.

use std::collections::VecDeque;

use taut_engine::{Command, NewOrder, PostOnly, ReplaceMode, SelfTrade};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};
use taut_venue::{FIRST_DOOR_ORDER, FIRST_DOOR_OWNER};

use crate::decimal::{text, times};
use crate::deribit::instruments::Kind;
use crate::deribit::market::Market;
use crate::deribit::order::{Order, State, parse_order_id};
use crate::deribit::rpc::{Params, Request, RpcError, error};
use crate::deribit::state::{Deribit, Done, Job, Outcome, Wants};

/// The longest label.
const LABEL_CHARS_MAX: usize = 64;
/// Initial margin of futures: a fiftieth of the value.
const MARGIN_PARTS: i128 = 50;

impl Deribit {
    /// `private/buy` and `private/sell`.
    pub(super) fn place(&mut self, request: &Request, account: usize) -> Outcome {
        let params = &request.params;
        let side = if request.method.ends_with("buy") { Side::Buy } else { Side::Sell };
        let place = self.place_named(params)?;
        if let Some(until) = params.integer("valid_until")?
            && until < self.ms()
        {
            return Err(error(13888));
        }
        let market = self.listed(place)?;
        let order = read_order(params, market, side)?;
        let order = Order {
            id: OrderId(FIRST_DOOR_ORDER + self.next_order),
            account,
            place,
            connection: request.connection,
            client_id: request.fix.as_ref().map_or("", |it| it.text(11)).to_owned(),
            created_ms: self.ms(),
            updated_ms: self.ms(),
            ..order
        };
        let order = self.reduced(order)?;
        self.check_funds(&order, order.lots)?;
        let market = self.market(place).ok_or_else(|| error(10020))?;
        let command = Command::New(self.entered(&order, market)?);
        self.next_order += 1;
        let id = order.id;
        self.orders.insert(id, order);
        Ok(job(VecDeque::from([(place, command)]), Wants::OrderAndTrades, Some(id)))
    }

    /// `private/edit` and `private/edit_by_label`: the amount is the new total.
    pub(super) fn edit(&mut self, request: &Request, account: usize) -> Outcome {
        let params = &request.params;
        let id = if request.method.ends_with("by_label") {
            let (label, place) = (params.needed("label")?, self.place_named(params)?);
            let is_it = |it: &&Order| it.label == label && it.place == place;
            let mut found = self.live(account).filter(is_it);
            let first = found.next().map(|it| it.id);
            if found.next().is_some() {
                return Err(RpcError::new(13032, "non_unique_order_label"));
            }
            first.ok_or_else(|| error(10004))?
        } else {
            self.own_order(params, account)?
        };
        let order = self.orders.get(&id).ok_or_else(|| error(10004))?;
        live(order)?;
        let market = self.listed(order.place)?;
        let lots = match amount(params, market)? {
            Some(lots) => lots,
            None => order.lots,
        };
        let price = match params.number("price")? {
            Some(price) => Some(checked_price(market, order.side, price)?),
            None => order.price,
        };
        if order.price.is_none() && params.text("price").is_some() {
            return Err(RpcError::param("price", "a market order has none"));
        }
        let trigger_price = match params.number("trigger_price")? {
            Some(price) if order.trigger_price.is_some() => Some(price),
            _ => order.trigger_price,
        };
        let changed = Order { lots, price, trigger_price, ..order.clone() };
        self.check_funds(&changed, changed.open_lots().max(0))?;
        let entered = self.entered(&changed, market)?;
        let command = Command::Replace { order: entered, mode: ReplaceMode::InFlight };
        let place = changed.place;
        Ok(job(VecDeque::from([(place, command)]), Wants::OrderAndTrades, Some(id)))
    }

    /// `private/cancel`.
    pub(super) fn cancel(&mut self, request: &Request, account: usize) -> Outcome {
        let id = self.own_order(&request.params, account)?;
        let order = self.orders.get(&id).ok_or_else(|| error(10004))?;
        live(order)?;
        let commands = VecDeque::from([(order.place, Command::Cancel { order_id: id })]);
        Ok(job(commands, Wants::Order, Some(id)))
    }

    /// `private/cancel_all*` and `private/cancel_by_label`.
    pub(super) fn cancel_many(&mut self, request: &Request, account: usize) -> Outcome {
        let params = &request.params;
        let method = request.method.as_str();
        let place = match method {
            "private/cancel_all_by_instrument" => Some(self.place_named(params)?),
            _ => None,
        };
        let label = match method {
            "private/cancel_by_label" => Some(params.needed("label")?),
            _ => None,
        };
        let currency = params.text("currency").filter(|it| it != "any");
        let kind = params.text("kind").filter(|it| it != "any");
        let of_type = params.text("type").filter(|it| it != "all");
        let is_wanted = |order: &&Order| {
            let Some(market) = self.market(order.place) else { return false };
            let is_type = |it: &String| match it.as_str() {
                "trigger_all" => order.trigger_price.is_some(),
                "stop" => order.kind.starts_with("stop"),
                "take" => order.kind.starts_with("take"),
                other => order.kind == other,
            };
            place.is_none_or(|it| it == order.place)
                && label.as_ref().is_none_or(|it| *it == order.label)
                && currency.as_ref().is_none_or(|it| *it == market.settings.settlement)
                && kind.as_ref().is_none_or(|it| it == market.settings.kind.name())
                && of_type.as_ref().is_none_or(is_type)
        };
        let orders = self.live(account).filter(is_wanted);
        let commands: VecDeque<_> =
            orders.map(|it| (it.place, Command::Cancel { order_id: it.id })).collect();
        let count = commands.len();
        Ok(job(commands, Wants::Count(count), None))
    }

    /// A market that takes orders.
    fn listed(&self, place: usize) -> Result<&Market, RpcError> {
        self.market(place).filter(|it| !it.is_delisted).ok_or_else(|| error(10020))
    }

    pub(super) fn place_named(&self, params: &Params) -> Result<usize, RpcError> {
        let name = params.needed("instrument_name")?;
        let place = self.markets.iter().position(|it| it.settings.name == name);
        place.ok_or_else(|| RpcError::param("instrument_name", "instrument not found"))
    }

    pub(super) fn live(&self, account: usize) -> impl Iterator<Item = &Order> {
        self.orders.values().filter(move |it| it.account == account && it.state.is_live())
    }

    pub(super) fn own_order(&self, params: &Params, account: usize) -> Result<OrderId, RpcError> {
        let id = parse_order_id(&params.needed("order_id")?).ok_or_else(|| error(10004))?;
        match self.orders.get(&id) {
            None => Err(error(10004)),
            Some(order) if order.account != account => Err(error(10029)),
            Some(_) => Ok(id),
        }
    }

    /// A reduce-only order is at most as large as what it closes.
    fn reduced(&self, mut order: Order) -> Result<Order, RpcError> {
        if !order.reduce_only {
            return Ok(order);
        }
        let account = self.accounts.get(order.account).ok_or_else(|| error(10000))?;
        let market = self.market(order.place).ok_or_else(|| error(10020))?;
        let size = account.positions.get(&order.place).map_or(0, |it| it.size);
        let closes = if order.side == Side::Buy { -size } else { size };
        let lots = market.book.lots(closes.max(0) / market.sizes.lot * market.sizes.lot);
        let lots =
            lots.ok_or_else(|| RpcError::new(11030, "other_reject reduce_only_no_position"))?;
        order.lots = order.lots.min(lots);
        Ok(order)
    }

    /// Whether the account can afford it with everything else that it has.
    fn check_funds(&self, order: &Order, lots: i64) -> Result<(), RpcError> {
        let market = self.market(order.place).ok_or_else(|| error(10020))?;
        let account = self.accounts.get(order.account).ok_or_else(|| error(10000))?;
        let price = order.price.unwrap_or_else(|| market.mark());
        let amount = market.book.amount(lots);
        let settings = &market.settings;
        let others = |wanted: Side| -> i128 {
            let open = self
                .live(order.account)
                .filter(|it| it.place == order.place && it.side == wanted && it.id != order.id);
            open.map(|it| {
                let amount = market.book.amount(it.open_lots());
                if wanted == Side::Buy { times(amount, it.price.unwrap_or(price)) } else { amount }
            })
            .sum()
        };
        let is_enough = match (settings.kind, order.side) {
            (Kind::Pair, Side::Buy) => {
                account.balance(&settings.quote) >= times(amount, price) + others(Side::Buy)
            }
            (Kind::Pair, Side::Sell) => {
                account.balance(&settings.base) >= amount + others(Side::Sell)
            }
            (_, side) => {
                let size = account.positions.get(&order.place).map_or(0, |it| it.size);
                let signed = if side == Side::Buy { size + amount } else { size - amount };
                // What closes a position needs nothing.
                let needs = match settings.kind {
                    Kind::Option if side == Side::Buy => times(amount, price),
                    Kind::Option => times(amount, 150_000_000),
                    _ => market.value(amount, price) / MARGIN_PARTS,
                };
                let funds = self.funds(order.account, &settings.settlement);
                signed.abs() <= size.abs() || funds.equity - funds.initial_margin >= needs
            }
        };
        if is_enough { Ok(()) } else { Err(error(10009)) }
    }

    /// An order in the engine's words.
    fn entered(&self, order: &Order, market: &Market) -> Result<NewOrder, RpcError> {
        let half_ticks =
            |price: i128| market.book.half_ticks(price).map(HalfTicks).ok_or_else(|| error(10043));
        let owner = FIRST_DOOR_OWNER + u32::try_from(order.account).unwrap_or(0);
        let lots = Lots(order.lots);
        let mut entered = match order.price {
            Some(price) => NewOrder::limit(order.id, owner, order.side, half_ticks(price)?, lots),
            None => NewOrder::market(order.id, owner, order.side, lots),
        };
        entered = entered.force(match order.time_in_force {
            "fill_or_kill" => TimeInForce::FillOrKill,
            "immediate_or_cancel" => TimeInForce::ImmediateOrCancel,
            _ => TimeInForce::GoodTillCancel,
        });
        if order.post_only != PostOnly::No {
            entered = entered.post_only(order.post_only);
        }
        if let Some(display) = order.display {
            entered = entered.iceberg(Lots(display));
        }
        if let Some(trigger) = order.trigger_price.filter(|_| !order.is_triggered) {
            let trigger =
                market.book.half_ticks(trigger).map(HalfTicks).ok_or_else(|| error(10035))?;
            let is_stop = order.kind.starts_with("stop");
            entered = if is_stop { entered.stop(trigger) } else { entered.take_profit(trigger) };
        }
        let cancels_maker = self
            .accounts
            .get(order.account)
            .is_some_and(|it| it.settings.self_trading == "cancel_maker");
        let mode = if cancels_maker { SelfTrade::CancelOldest } else { SelfTrade::CancelNewest };
        Ok(entered.self_trade(mode))
    }
}

fn job(commands: VecDeque<(usize, Command)>, wants: Wants, order: Option<OrderId>) -> Done {
    let (trades, error, request) = (Vec::new(), None, Request::default());
    Done::Job(Box::new(Job { request, commands, wants, order, trades, error }))
}

fn live(order: &Order) -> Result<(), RpcError> {
    match order.state {
        State::Open | State::Untriggered => Ok(()),
        State::Filled => Err(error(11008)),
        State::Cancelled | State::Rejected => Err(error(11044)),
    }
}

/// What a request asks for; who asks and where is the caller's.
fn read_order(params: &Params, market: &Market, side: Side) -> Result<Order, RpcError> {
    let kind = match params.text("type").as_deref() {
        None | Some("limit") => "limit",
        Some("market") => "market",
        Some("stop_limit") => "stop_limit",
        Some("stop_market") => "stop_market",
        Some("take_limit") => "take_limit",
        Some("take_market") => "take_market",
        Some(_) => return Err(RpcError::param("type", "not offered by this simulator")),
    };
    let lots =
        amount(params, market)?.ok_or_else(|| RpcError::param("amount", "value required"))?;
    let price = match params.number("price")? {
        _ if kind.ends_with("market") => None,
        Some(price) => Some(checked_price(market, side, price)?),
        None => return Err(RpcError::param("price", "value required")),
    };
    let trigger_price = if kind.contains('_') {
        if params.text("trigger").is_some_and(|it| it != "last_price") {
            return Err(RpcError::param("trigger", "this simulator has last_price"));
        }
        let trigger = params.number("trigger_price")?;
        Some(trigger.ok_or_else(|| RpcError::param("trigger_price", "value required"))?)
    } else {
        None
    };
    let time_in_force = match params.text("time_in_force").as_deref() {
        None | Some("good_til_cancelled") => "good_til_cancelled",
        Some("good_til_day") => "good_til_day",
        Some("fill_or_kill") => "fill_or_kill",
        Some("immediate_or_cancel") => "immediate_or_cancel",
        Some(_) => return Err(RpcError::param("time_in_force", "wrong value")),
    };
    let post_only = match (params.flag("post_only"), params.flag("reject_post_only")) {
        (false, _) => PostOnly::No,
        (true, true) => PostOnly::Reject,
        (true, false) => PostOnly::Slide,
    };
    let label = params.text("label").unwrap_or_default();
    if label.chars().count() > LABEL_CHARS_MAX {
        return Err(RpcError::param("label", "at most 64 characters"));
    }
    let display = match params.number("display_amount")? {
        None => None,
        Some(shown) => {
            Some(market.book.lots(shown).filter(|it| *it <= lots).ok_or_else(|| error(10021))?)
        }
    };
    Ok(Order {
        id: OrderId(0),
        account: 0,
        place: 0,
        connection: 0,
        side,
        kind,
        price,
        lots,
        filled: 0,
        notional: 0,
        label,
        client_id: String::new(),
        time_in_force,
        post_only,
        reduce_only: params.flag("reduce_only"),
        display,
        trigger_price,
        state: State::Open,
        cancel_reason: None,
        replaced: false,
        is_triggered: false,
        created_ms: 0,
        updated_ms: 0,
    })
}

/// The lots of `amount`, of `contracts`, or of both when they agree.
fn amount(params: &Params, market: &Market) -> Result<Option<i64>, RpcError> {
    let contracts = params.number("contracts")?.map(|it| times(it, market.sizes.contract));
    let asked = match (params.number("amount")?, contracts) {
        (Some(amount), Some(contracts)) if amount != contracts => {
            return Err(RpcError::param("contracts", "must agree with amount"));
        }
        (Some(amount), _) | (None, Some(amount)) => amount,
        (None, None) => return Ok(None),
    };
    if asked < market.sizes.lot {
        return Err(error(10002));
    }
    market
        .book
        .lots(asked)
        .map(Some)
        .ok_or_else(|| RpcError::param("amount", "must be a multiple of the minimum order size"))
}

/// A price on a tick and within the band.
fn checked_price(market: &Market, side: Side, price: i128) -> Result<i128, RpcError> {
    let step = market.steps.iter().rev().find(|(from, _)| *from <= price);
    let is_on_step = price % step.map_or(market.sizes.tick, |(_, tick)| *tick) == 0;
    if market.book.half_ticks(price).is_none() || !is_on_step {
        return Err(if price > 0 { error(10043) } else { error(10023) });
    }
    let (low, high) = market.band();
    if side == Side::Buy && price > high {
        return Err(RpcError::new(10007, &format!("price_too_high {}", text(high))));
    }
    if side == Side::Sell && price < low {
        return Err(RpcError::new(10005, &format!("price_too_low {}", text(low))));
    }
    Ok(price)
}
