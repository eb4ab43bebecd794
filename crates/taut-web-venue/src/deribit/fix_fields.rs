//! What FIX messages are in the words of JSON-RPC, and orders as ExecutionReports.

use serde_json::Value;
use taut_engine::PostOnly;
use taut_fix::Precision;
use taut_types::Side;

use crate::decimal::{self, over, times};
use crate::deribit::market::Market;
use crate::deribit::order::{Order, State, order_id};
use crate::deribit::rpc::{Params, RpcError};
use crate::fix::{FixMessage, timestamp};

/// A request by JSON-RPC.
#[derive(Debug)]
pub struct Asked {
    pub method: &'static str,
    pub params: Params,
}

fn asked(method: &'static str, pairs: Vec<(&str, String)>) -> Asked {
    Asked { method, params: Params::of_texts(pairs) }
}

/// A quantity of a message in the instrument's unit: QtyType (854) 0 is that, else contracts.
fn amount(message: &FixMessage, tag: i32, market: &Market) -> Result<Option<String>, RpcError> {
    let Some(text) = message.get(tag) else { return Ok(None) };
    let wrong = || RpcError::param("amount", "must be a number");
    let quantity = decimal::parse(text).ok_or_else(wrong)?;
    let is_in_units = message.text(854) == "0";
    let units = if is_in_units { quantity } else { times(quantity, market.sizes.contract) };
    Ok(Some(decimal::text(units)))
}

/// Prices and quantities that an order and its change have alike.
fn terms(message: &FixMessage, market: &Market) -> Result<Vec<(&'static str, String)>, RpcError> {
    let mut pairs = Vec::new();
    pairs.extend(amount(message, 38, market)?.map(|it| ("amount", it)));
    pairs.extend(message.get(44).map(|it| ("price", it.to_owned())));
    pairs.extend(message.get(99).map(|it| ("trigger_price", it.to_owned())));
    Ok(pairs)
}

/// NewOrderSingle (D).
pub fn new_order(message: &FixMessage, market: &Market) -> Result<Asked, RpcError> {
    let method = match message.text(54) {
        "1" => "private/buy",
        "2" => "private/sell",
        _ => return Err(RpcError::param("Side (54)", "1 or 2")),
    };
    let kind = match message.get(40) {
        Some("1") => "market",
        None | Some("2") => "limit",
        Some("4") => "stop_limit",
        Some("S") => "stop_market",
        Some("J") => "take_market",
        Some(_) => return Err(RpcError::param("OrdType (40)", "not offered by this simulator")),
    };
    let force = match message.get(59) {
        // 6 is a day's order in the client deribit-fix; the documents do not say.
        Some("0" | "6") => "good_til_day",
        None | Some("1") => "good_til_cancelled",
        Some("3") => "immediate_or_cancel",
        Some("4") => "fill_or_kill",
        Some(_) => return Err(RpcError::param("TimeInForce (59)", "wrong value")),
    };
    let mut pairs = terms(message, market)?;
    pairs.extend(amount(message, 1138, market)?.map(|it| ("display_amount", it)));
    let name = market.settings.name.clone();
    pairs.extend([("instrument_name", name), ("type", kind.to_owned())]);
    pairs.push(("time_in_force", force.to_owned()));
    pairs.extend(message.get(100_010).map(|it| ("label", it.to_owned())));
    let instructions = message.text(18);
    for (letter, flag) in [('6', "post_only"), ('A', "reject_post_only"), ('E', "reduce_only")] {
        if instructions.contains(letter) {
            pairs.push((flag, "true".to_owned()));
        }
    }
    Ok(asked(method, pairs))
}

/// OrderCancelRequest (F) and OrderCancelReplaceRequest (G).
pub fn change(message: &FixMessage, order: &Order, market: &Market) -> Result<Asked, RpcError> {
    let id = ("order_id", order_id(order.id, market));
    if message.kind == "F" {
        return Ok(asked("private/cancel", vec![id]));
    }
    let mut pairs = terms(message, market)?;
    pairs.push(id);
    Ok(asked("private/edit", pairs))
}

/// OrderMassCancelRequest (q), by MassCancelRequestType (530).
pub fn mass_cancel(message: &FixMessage) -> Result<Asked, RpcError> {
    let text = |tag| message.text(tag).to_owned();
    Ok(match message.text(530) {
        "7" => asked("private/cancel_all", Vec::new()),
        "1" => asked("private/cancel_all_by_instrument", vec![("instrument_name", text(55))]),
        "5" => {
            let kind = match message.text(167) {
                "FUT" => "future",
                "OPT" => "option",
                "FXSPOT" => "spot",
                _ => return Err(RpcError::param("SecurityType (167)", "FUT, OPT or FXSPOT")),
            };
            asked("private/cancel_all_by_kind_or_type", vec![("kind", kind.to_owned())])
        }
        "10" => asked("private/cancel_by_label", vec![("label", text(100_010))]),
        _ => return Err(RpcError::param("MassCancelRequestType (530)", "1, 5, 7 or 10")),
    })
}

/// An amount in contracts.
pub fn contracts(units: i128, market: &Market) -> String {
    decimal::text(over(units, market.sizes.contract))
}

fn stamp(ms: i64) -> String {
    timestamp(ms, Precision::Millis)
}

/// The fields of an ExecutionReport (8) of an order as it stands.
pub fn report(order: &Order, market: &Market, exec_type: u8) -> Vec<(i32, String)> {
    let text = |text: &str| text.to_owned();
    let id = order_id(order.id, market);
    let quantity = |lots: i64| contracts(market.book.amount(lots), market);
    let leaves = if order.state.is_live() { order.open_lots() } else { 0 };
    let mut fields = vec![
        (37, id.clone()),
        (11, id),
        (39, text(status(order))),
        (54, text(if order.side == Side::Buy { "1" } else { "2" })),
        (60, stamp(order.updated_ms)),
        (12, text("0")),
        (151, quantity(leaves)),
        (14, quantity(order.filled)),
        (38, quantity(order.lots)),
        (40, text(kind(order))),
        (150, char::from(exec_type).to_string()),
        (103, text("0")),
        (55, market.settings.name.clone()),
        (854, text("1")),
        (231, decimal::text(market.sizes.contract)),
        (6, decimal::text(order.average())),
        (59, text(force(order))),
    ];
    let mut add = |is_there: bool, tag, value: String| {
        if is_there {
            fields.push((tag, value));
        }
    };
    add(!order.client_id.is_empty(), 41, order.client_id.clone());
    add(!order.label.is_empty(), 100_010, order.label.clone());
    add(order.price.is_some(), 44, decimal::text(order.price.unwrap_or(0)));
    add(order.trigger_price.is_some(), 99, decimal::text(order.trigger_price.unwrap_or(0)));
    add(order.display.is_some(), 1138, quantity(order.display.unwrap_or(0)));
    let post_only = match order.post_only {
        PostOnly::No => "",
        PostOnly::Reject => "6A",
        PostOnly::Slide => "6",
    };
    let reduce_only = if order.reduce_only { "E" } else { "" };
    let instructions = [post_only, reduce_only].join(" ").trim().to_owned();
    add(!instructions.is_empty(), 18, instructions);
    fields
}

/// OrdStatus (39).
fn status(order: &Order) -> &'static str {
    match order.state {
        State::Open | State::Untriggered if order.filled > 0 => "1",
        State::Open | State::Untriggered => "0",
        State::Filled => "2",
        State::Cancelled => "4",
        State::Rejected => "8",
    }
}

/// OrdType (40).
fn kind(order: &Order) -> &'static str {
    match order.kind {
        "market" => "1",
        "stop_limit" => "4",
        "stop_market" => "S",
        "take_market" => "J",
        _ => "2",
    }
}

/// TimeInForce (59).
fn force(order: &Order) -> &'static str {
    match order.time_in_force {
        "good_til_day" => "0",
        "immediate_or_cancel" => "3",
        "fill_or_kill" => "4",
        _ => "1",
    }
}

/// What a trade adds to the report that it is: LastQty (32), LastPx (31), LastLiquidityInd (851),
/// TrdMatchID (880).
pub fn trade(trade: &Value, fields: &mut Vec<(i32, String)>) {
    let Some([id, price, quantity, liquidity]) = fill(trade) else { return };
    fields.extend([(32, quantity), (31, price), (851, liquidity), (880, id)]);
}

/// The group of fills (1362) of a report that tells several trades.
pub fn fills(trades: &[Value], fields: &mut Vec<(i32, String)>) {
    if trades.is_empty() {
        return;
    }
    fields.push((1362, trades.len().to_string()));
    for [id, price, quantity, liquidity] in trades.iter().filter_map(fill) {
        fields.extend([(1363, id), (1364, price), (1365, quantity), (1443, liquidity)]);
    }
}

/// Its id, price, contracts and whether it made (1) or took (2).
fn fill(trade: &Value) -> Option<[String; 4]> {
    let number = |name: &str| Some(decimal::text(decimal::parse(&trade[name].to_string())?));
    let liquidity = if trade["liquidity"] == "M" { "1" } else { "2" };
    let id = trade["trade_id"].as_str()?.to_owned();
    Some([id, number("price")?, number("contracts")?, liquidity.to_owned()])
}

/// What a refused NewOrderSingle (D) is told.
pub fn rejected(message: &FixMessage, ms: i64, why: &str) -> Vec<(i32, String)> {
    let mut fields = message.same(&[54, 38, 40, 44, 55, 854, 100_010]);
    fields.extend(message.get(11).map(|name| (41, name.to_owned())));
    for (tag, value) in [(39, "8"), (150, "8"), (103, "99"), (14, "0"), (151, "0"), (12, "0")] {
        fields.push((tag, value.to_owned()));
    }
    fields.extend([(60, stamp(ms)), (58, why.to_owned())]);
    fields
}

/// OrderCancelReject (9). CxlRejReason (102): too late (0), unknown (1), another (99).
pub fn change_rejected(
    message: &FixMessage,
    order: Option<&Order>,
    why: &RpcError,
) -> Vec<(i32, String)> {
    let mut fields = message.same(&[11, 41, 100_010]);
    fields.extend(order.map(|order| (39, status(order).to_owned())));
    let reason = match why.code {
        10_010 | 11_008 | 11_044 => "0",
        10_004 => "1",
        _ => "99",
    };
    let answers = if message.kind == "F" { "1" } else { "2" };
    fields.extend([(102, reason.to_owned()), (434, answers.to_owned())]);
    fields.push((58, why.words()));
    fields
}

/// OrdRejReason (103) of a question whose order is unknown, and MassStatusReqID (584).
pub fn nothing_found(message: &FixMessage, ms: i64) -> Vec<(i32, String)> {
    let mut fields = message.same(&[584, 585]);
    // The one that was asked about.
    let name = message.text(584).to_owned();
    match (message.text(585), message.text(9014)) {
        (_, "1") => fields.push((41, name)),
        ("1", _) => fields.push((11, name)),
        _ => {}
    }
    for (tag, value) in [(39, "8"), (150, "8"), (103, "5"), (911, "0"), (912, "Y")] {
        fields.push((tag, value.to_owned()));
    }
    fields.extend([(60, stamp(ms)), (58, "no orders".to_owned())]);
    fields
}

/// Of a market's description: what a SecurityList (y) says of it.
pub fn security(market: &Market) -> Vec<(i32, String)> {
    let settings = &market.settings;
    let text = |text: &str| text.to_owned();
    let kind = match settings.kind {
        crate::deribit::instruments::Kind::Future => "FUT",
        crate::deribit::instruments::Kind::Option => "OPT",
        crate::deribit::instruments::Kind::Pair => "FXSPOT",
    };
    let mut fields = vec![
        (55, settings.name.clone()),
        (107, text(settings.kind.name())),
        (167, text(kind)),
        (15, settings.quote.clone()),
        (120, settings.settlement.clone()),
        (231, decimal::text(market.sizes.contract)),
        (969, decimal::text(market.sizes.tick)),
        (562, decimal::text(over(market.sizes.lot, market.sizes.contract).max(1))),
        (965, text(if market.is_open() { "1" } else { "2" })),
    ];
    fields.extend(settings.strike.clone().map(|strike| (202, strike)));
    let option = settings.option_type.as_deref();
    fields.extend(option.map(|it| (201, text(if it == "put" { "0" } else { "1" }))));
    let end = settings.expiration_ms.map(stamp);
    fields.extend(end.and_then(|end| Some((541, end.get(..8)?.to_owned()))));
    fields
}
