//! A journal in JSON, for programs that watch. Prices are decimals in strings.

use serde_json::{Value, json};
use taut_gateway::Owner;
use taut_journal::{Asked, Entry, Fill, OpenOrder, Recovered, Shown, TailKind, segment_name};
use taut_types::{ClientOrderId, Lots, OrderTerms, OrderType, Price, RequestId, Side, TimeInForce};

/// What it comes to.
pub fn state(found: &Recovered, writer: Option<u32>) -> Value {
    let mut value = check(found, writer);
    let state = &found.state;
    value["orders"] = state.orders.values().map(order).collect();
    value["positions"] = state
        .positions
        .iter()
        .map(|(key, position)| {
            json!({
                "user": key.user.0, "strategy": key.strategy.0, "account": key.account.0,
                "instrument": key.instrument.0, "lots": position.lots().0,
                "cost": position.to_numbers().1[0].to_string(),
                "realised": position.realised().to_string(),
            })
        })
        .collect();
    value["highest"] = state.highest.values().map(|order| id(*order)).collect();
    value["killed"] = state.killed.iter().map(|word| format!("{word:016x}")).collect();
    value["executions"] = json!(state.executions.len());
    value
}

/// Whether it can be believed.
pub fn check(found: &Recovered, writer: Option<u32>) -> Value {
    let tail = |kind| match kind {
        TailKind::Unfinished => "unfinished",
        TailKind::Damaged => "damaged",
        TailKind::Cut => "cut",
    };
    json!({
        "records": found.records, "as_of": found.state.as_of, "unknown": found.unknown,
        "requests_lost_max": found.requests_lost_max(), "process": writer,
        "segments": found.segments.iter().map(|segment| json!({
            "file": segment_name(segment.number),
            "first": segment.records.map(|(first, _)| first),
            "last": segment.records.map(|(_, last)| last),
            "bytes": segment.bytes, "used_bytes": segment.used_bytes,
            "checkpoint_as_of": segment.checkpoint_as_of, "foreign": segment.is_foreign,
        })).collect::<Value>(),
        "tails": found.tails.iter().map(|it| json!({
            "file": segment_name(it.segment), "offset": it.offset, "bytes": it.bytes,
            "kind": tail(it.kind),
        })).collect::<Value>(),
    })
}

/// An entry.
pub fn entry(shown: &Shown) -> Value {
    let mut value = shown.entry.as_ref().map_or_else(|| json!({ "kind": "unknown" }), said);
    value["sequence"] = json!(shown.sequence);
    value["time_ns"] = json!(shown.time.0);
    value
}

fn said(entry: &Entry) -> Value {
    match entry {
        Entry::Create { order, tag, terms } => {
            let terms = self::terms(terms);
            json!({ "kind": "create", "order": id(*order), "tag": tag, "terms": terms })
        }
        Entry::Modify { request, price, lots } => changed("modify", *request, *price, *lots),
        Entry::Replaced { request, price, lots } => changed("replaced", *request, *price, *lots),
        Entry::Cancel { request } => about("cancel", *request),
        Entry::Cancelled { request } => about("cancelled", *request),
        Entry::Acknowledged { request, venue_id } => {
            let mut value = about("acknowledged", *request);
            value["venue_id"] = json!(venue_id.to_string());
            value
        }
        Entry::Rejected { request, reason } => {
            let mut value = about("rejected", *request);
            value["reason"] = json!(reason);
            value
        }
        Entry::Filled(fill) | Entry::Execution(fill) => filled(fill),
        Entry::Expired { order } => json!({ "kind": "expired", "order": id(*order) }),
        Entry::Day(day) => json!({ "kind": "day", "day": day }),
        Entry::Position(key, position) | Entry::Rolled(key, position, _) => json!({
            "kind": "position", "user": key.user.0, "strategy": key.strategy.0,
            "account": key.account.0, "instrument": key.instrument.0, "lots": position.lots().0,
            "realised": position.realised().to_string(),
        }),
        Entry::KillSwitch { word, is_latched } => {
            json!({ "kind": "kill switch", "word": format!("{word:016x}"), "latched": is_latched })
        }
        Entry::HandedOver { order, to } => {
            json!({ "kind": "handed over", "order": id(*order), "to": owner(*to) })
        }
        Entry::HighestNumber(order) => json!({ "kind": "highest number", "order": id(*order) }),
        other => json!({ "kind": "checkpoint", "says": format!("{other:?}") }),
    }
}

fn about(kind: &str, request: RequestId) -> Value {
    json!({ "kind": kind, "order": id(request.order), "version": request.version })
}

fn changed(kind: &str, request: RequestId, price: Price, lots: Lots) -> Value {
    let mut value = about(kind, request);
    value["price"] = json!(price.to_string());
    value["lots"] = json!(lots.0);
    value
}

fn filled(fill: &Fill) -> Value {
    json!({
        "kind": "filled", "order": id(fill.order), "owner": owner(fill.owner),
        "instrument": fill.instrument.0,
        "account": fill.account.0, "side": side(fill.side), "price": fill.price.to_string(),
        "lots": fill.lots.0, "exec_id": fill.exec_id.to_string(),
    })
}

fn order(open: &OpenOrder) -> Value {
    let order = &open.order;
    let asked = |asked| match asked {
        Asked::Modify { price, lots } => {
            json!({ "kind": "modify", "price": Price::to_string(&price), "lots": lots.0 })
        }
        Asked::Cancel => json!({ "kind": "cancel" }),
    };
    let unanswered = open.unanswered.iter().map(|request| {
        let mut value = asked(request.asked);
        value["version"] = json!(request.version);
        value
    });
    json!({
        "order": id(order.order), "owner": owner(open.owner), "tag": order.tag,
        "terms": terms(&order.terms),
        "version_sent": order.version_sent, "version_accepted": order.version_accepted,
        "lots_filled": order.lots_filled.0, "venue_id": order.venue_id.to_string(),
        "unanswered": unanswered.collect::<Value>(),
    })
}

fn terms(terms: &OrderTerms) -> Value {
    let time_in_force = match terms.time_in_force {
        TimeInForce::GoodTillCancel => "good till cancel",
        TimeInForce::ImmediateOrCancel => "immediate or cancel",
        TimeInForce::FillOrKill => "fill or kill",
        TimeInForce::Day => "day",
    };
    let is_limit = terms.order_type == OrderType::Limit;
    json!({
        "instrument": terms.instrument.0, "account": terms.account.0, "side": side(terms.side),
        "type": if is_limit { "limit" } else { "market" }, "time_in_force": time_in_force,
        "flags": terms.flags.bits(), "price": is_limit.then(|| terms.price.to_string()),
        "stop_price": terms.stop_price.map(|price| price.to_string()), "lots": terms.lots.0,
        "lots_shown": terms.lots_shown.0,
    })
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

fn owner(Owner { user, strategy }: Owner) -> Value {
    json!({ "user": user.0, "strategy": strategy.0 })
}

fn id(order: ClientOrderId) -> Value {
    json!({
        "user": order.user().0, "strategy": order.strategy().0, "number": order.number(),
    })
}
