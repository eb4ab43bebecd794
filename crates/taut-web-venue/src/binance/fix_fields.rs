//! What FIX messages are in the words of the other interfaces, and the other way round.

use taut_fix::{Precision, parse_timestamp};

use crate::binance::frames::ExecutionReport;
use crate::binance::params::Params;
use crate::decimal::{fixed8, parse};
use crate::fix::FixMessage;

/// SelfTradePreventionMode (25001).
const STP: [(&str, &str); 5] = [
    ("1", "NONE"),
    ("2", "EXPIRE_TAKER"),
    ("3", "EXPIRE_MAKER"),
    ("4", "EXPIRE_BOTH"),
    ("5", "DECREMENT"),
];

/// What is asked for: the name of the request, and its parameters.
pub fn request_of(it: &FixMessage) -> Option<(&'static str, Params)> {
    let has = |tag| it.has(tag);
    let name = match it.kind.as_str() {
        "D" => "order.place",
        "F" => "order.cancel",
        "XCN" => "order.cancelReplace",
        "XAK" => "order.amend.keepPriority",
        "q" => "openOrders.cancelAll",
        _ => return None,
    };
    let is_replacement = it.kind == "XCN";
    let is_order = is_replacement || it.kind == "D";
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for (tag, value) in &it.fields {
        let value = value.as_str();
        let pair = match tag {
            11 => ("newClientOrderId", value),
            18 | 40 | 1109 => continue,
            37 if is_replacement => ("cancelOrderId", value),
            37 => ("orderId", value),
            38 if it.kind == "XAK" => ("newQty", value),
            38 => ("quantity", value),
            41 if is_replacement => ("cancelOrigClientOrderId", value),
            41 => ("origClientOrderId", value),
            44 => ("price", value),
            54 => ("side", word(value, &[("1", "BUY"), ("2", "SELL")])),
            55 => ("symbol", value),
            // It goes without saying that a post-only order stays.
            59 if has(18) => continue,
            59 => ("timeInForce", word(value, &[("1", "GTC"), ("3", "IOC"), ("4", "FOK")])),
            111 => ("icebergQty", value),
            152 => ("quoteOrderQty", value),
            1102 => ("stopPrice", value),
            25_000 => ("recvWindow", value),
            25_001 => ("selfTradePreventionMode", word(value, &STP)),
            25_002 => {
                let words = [("1", "ONLY_NEW"), ("2", "ONLY_PARTIALLY_FILLED")];
                ("cancelRestrictions", word(value, &words))
            }
            25_009 => ("trailingDelta", value),
            25_033 => {
                let words = [("1", "STOP_ON_FAILURE"), ("2", "ALLOW_FAILURE")];
                ("cancelReplaceMode", word(value, &words))
            }
            25_034 => ("cancelNewClientOrderId", value),
            _ => continue,
        };
        pairs.push((pair.0, pair.1.to_owned()));
    }
    if is_order {
        let kind = match (it.text(40), has(18), it.get(1109)) {
            ("1", ..) => "MARKET",
            ("2", true, _) => "LIMIT_MAKER",
            ("2", false, _) => "LIMIT",
            ("3", ..) => "STOP_LOSS",
            ("4", ..) => "STOP_LOSS_LIMIT",
            _ => "",
        };
        pairs.push(("type", kind.to_owned()));
    }
    // The window is from SendingTime (52) on.
    let sent = it.get(52).and_then(|text| parse_timestamp(text.as_bytes()));
    if let Some(sent) = sent.filter(|_| has(25_000)) {
        pairs.push(("timestamp", (sent.0 / 1_000_000).to_string()));
    }
    Some((name, Params::of(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)))))
}

/// A character in words; what is none of these is left as it came, for the other side to refuse.
fn word<'a>(value: &'a str, words: &[(&str, &'a str)]) -> &'a str {
    words.iter().find(|(it, _)| *it == value).map_or(value, |(_, word)| word)
}

/// The fields of an ExecutionReport (8).
pub fn execution_report(it: &ExecutionReport<'_>) -> Vec<(i32, String)> {
    let text = |text: &str| text.to_owned();
    let status = status(it.status);
    let leaves = match (parse(&it.quantity), parse(&it.filled)) {
        (Some(quantity), Some(filled)) if matches!(status, "0" | "1") => fixed8(quantity - filled),
        _ => fixed8(0),
    };
    let (kind, is_post_only) = match it.kind {
        "MARKET" => ("1", false),
        kind => ("2", kind == "LIMIT_MAKER"),
    };
    let side = if it.side == "BUY" { "1" } else { "2" };
    let force = match it.force {
        "IOC" => "3",
        "FOK" => "4",
        _ => "1",
    };
    let mut fields = vec![
        (17, it.execution_id.to_string()),
        (11, text(it.client_id)),
        (37, it.order_id.to_string()),
        (38, it.quantity.clone()),
        (40, text(kind)),
        (54, text(side)),
        (55, text(it.s)),
        (59, text(force)),
        (60, timestamp(it.transaction_ms)),
        (25_018, timestamp(it.created_ms)),
        (150, text(execution_type(it.execution))),
        (14, it.filled.clone()),
        (151, leaves),
        (25_017, it.notional.clone()),
        (32, it.last_quantity.clone()),
        (39, text(status)),
        (636, flag(it.is_on_book)),
        (25_023, timestamp(it.working_ms)),
    ];
    let stp = STP.iter().find(|(_, mode)| *mode == it.stp_mode);
    fields.extend(stp.map(|(code, _)| (25_001, text(code))));
    let mut add = |is_there: bool, tag, value: &str| {
        if is_there {
            fields.push((tag, value.to_owned()));
        }
    };
    add(!it.original_id.is_empty(), 41, it.original_id);
    add(is_post_only, 18, "6");
    add(kind == "2", 44, &it.price);
    add(parse(&it.iceberg).is_some_and(|shown| shown > 0), 111, &it.iceberg);
    add(parse(&it.quote_quantity).is_some_and(|it| it > 0), 152, &it.quote_quantity);
    let is_trade = it.trade_id >= 0;
    add(is_trade, 31, &it.last_price);
    add(is_trade, 1003, &it.trade_id.to_string());
    add(is_trade, 1057, &flag(!it.is_maker));
    if let Some(asset) = it.commission_asset {
        for (tag, value) in [(136, "1"), (137, &it.commission), (138, asset), (139, "4")] {
            add(true, tag, value);
        }
    }
    let prevented = it.prevented_match.map(|id| id.to_string());
    prevented.into_iter().for_each(|id| add(true, 25_024, &id));
    fields
}

/// What a refused NewOrderSingle (D) is told, and the second half of a replacement.
pub fn rejected(it: &FixMessage, ms: i64, code: i64, why: &str) -> Vec<(i32, String)> {
    let zero = || fixed8(0);
    let mut fields = it.same(&[11, 38, 40, 54, 55, 18, 44, 59, 152, 25_001]);
    fields.extend([(60, timestamp(ms)), (150, "8".to_owned()), (39, "8".to_owned())]);
    fields.extend([(14, zero()), (32, zero()), (151, zero())]);
    fields.extend([(25_016, code.to_string()), (58, why.to_owned())]);
    fields
}

fn flag(is_so: bool) -> String {
    if is_so { "Y" } else { "N" }.to_owned()
}

/// Microseconds are always there.
fn timestamp(ms: i64) -> String {
    crate::fix::timestamp(ms, Precision::Micros)
}

/// ExecType (150). One that met an order of its own account has expired, or a part of it has.
fn execution_type(name: &str) -> &'static str {
    match name {
        "NEW" => "0",
        "TRADE" => "F",
        "CANCELED" => "4",
        "REPLACED" => "5",
        _ => "C",
    }
}

/// OrdStatus (39).
fn status(name: &str) -> &'static str {
    match name {
        "NEW" => "0",
        "PARTIALLY_FILLED" => "1",
        "FILLED" => "2",
        "CANCELED" => "4",
        _ => "C",
    }
}
