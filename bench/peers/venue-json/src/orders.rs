//! Orders to bytes, as Deribit's JSON-RPC has them.
//!
//! Both sides have what a strategy and an order table have: integers at their scales, a label, the
//! venue's name of the instrument. taut writes into a room of fixed size, the peers serialise a
//! typed struct into a buffer that is used again.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use taut_order_entry::deribit::{Amount, NewOrder, Request};
use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::turns::{Runner, print};

const ORDERS: u64 = 1_024;
const ROOM: usize = 4_096;

/// What is asked for; texts are made before the clock runs.
struct Order {
    id: u64,
    side: Side,
    price: Price,
    amount: Qty,
    label: String,
    order_id: String,
    flags: OrderFlags,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Place,
    Edit,
    Cancel,
}

const INSTRUMENT: &str = "BTC-PERPETUAL";
const KINDS: [(&str, Kind); 3] = [
    ("Deribit, buy and sell", Kind::Place),
    ("Deribit, edit", Kind::Edit),
    ("Deribit, cancel", Kind::Cancel),
];

pub fn all() {
    let orders: Vec<Order> = (0..ORDERS).map(order).collect();
    for (what, kind) in KINDS {
        let bytes = check(&orders, kind);
        let runners: &mut [Runner<'_>] = &mut [
            runner("taut", &orders, move |order, room, _| taut(kind, order, room)),
            runner("serde_json", &orders, move |order, _, out| serde_json(kind, order, out)),
            runner("sonic-rs", &orders, move |order, _, out| sonic(kind, order, out)),
            runner("simd-json", &orders, move |order, _, out| simd(kind, order, out)),
        ];
        print(what, bytes, orders.len(), runners);
    }
}

fn order(number: u64) -> Order {
    let cents = 43_000_50 + 50 * (number % 97) as i64;
    let is_maker = number.is_multiple_of(2);
    Order {
        id: 1_000 + number,
        side: if number.is_multiple_of(3) { Side::Sell } else { Side::Buy },
        price: Price(cents * 10_000_000),
        amount: Qty { mantissa: 10 * (1 + number % 50) as i64, decimals: 0 },
        label: format!("{:016x}", 0x7a5e_0000_0000_0000 + number),
        order_id: format!("{}", 86_543_210_000 + number),
        flags: if is_maker { OrderFlags::POST_ONLY } else { OrderFlags::NONE },
    }
}

fn runner<'a>(
    name: &'static str,
    orders: &'a [Order],
    mut write: impl FnMut(&Order, &mut [u8; ROOM], &mut Vec<u8>) -> usize + 'a,
) -> Runner<'a> {
    let (mut room, mut out) = (Box::new([0; ROOM]), Vec::with_capacity(ROOM));
    let pass = move || {
        let start = Instant::now();
        for order in orders {
            black_box(write(black_box(order), &mut room, &mut out));
        }
        start.elapsed().as_nanos() as f64
    };
    Runner { name, pass: Box::new(pass) }
}

#[inline]
fn taut(kind: Kind, order: &Order, room: &mut [u8; ROOM]) -> usize {
    let (price, flags, valid_until_ms) = (order.price, order.flags, None);
    let (amount, order_id) = (Amount::Units(order.amount), order.order_id.as_bytes());
    let request = match kind {
        Kind::Place => Request::Place(NewOrder {
            instrument: INSTRUMENT.as_bytes(),
            side: order.side,
            amount,
            order_type: OrderType::Limit,
            price,
            stop: None,
            time_in_force: TimeInForce::GoodTillCancel,
            flags,
            shown: None,
            label: order.label.as_bytes(),
            valid_until_ms,
        }),
        Kind::Edit => Request::Edit { order_id, amount, price, flags, valid_until_ms },
        Kind::Cancel => Request::Cancel { order_id },
    };
    request.write(order.id, room).expect("room").len()
}

/// The request as a struct.
#[derive(Serialize)]
struct Rpc<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Place<'a> {
    instrument_name: &'a str,
    amount: f64,
    #[serde(rename = "type")]
    kind: &'static str,
    price: f64,
    time_in_force: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_post_only: Option<bool>,
    label: &'a str,
}

#[derive(Serialize)]
struct Edit<'a> {
    order_id: &'a str,
    amount: f64,
    price: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_post_only: Option<bool>,
}

#[derive(Serialize)]
struct Cancel<'a> {
    order_id: &'a str,
}

/// Hands the struct of an order to a serialiser.
macro_rules! with_struct {
    ($kind:expr, $order:expr, $out:expr, $write:expr) => {{
        let order = $order;
        $out.clear();
        let is_maker = order.flags.contains(OrderFlags::POST_ONLY).then_some(true);
        // The nearest double, whose shortest text is the decimal again.
        let price = order.price.0 as f64 / 1e9;
        let amount = order.amount.mantissa as f64 / 10f64.powi(order.amount.decimals.into());
        let (id, jsonrpc) = (order.id, "2.0");
        match $kind {
            Kind::Place => {
                let method = if order.side == Side::Buy { "private/buy" } else { "private/sell" };
                let params = Place {
                    instrument_name: INSTRUMENT,
                    amount,
                    kind: "limit",
                    price,
                    time_in_force: "good_til_cancelled",
                    post_only: is_maker,
                    reject_post_only: is_maker,
                    label: &order.label,
                };
                $write(&mut *$out, &Rpc { jsonrpc, id, method, params }).expect("a request");
            }
            Kind::Edit => {
                let params = Edit {
                    order_id: &order.order_id,
                    amount,
                    price,
                    post_only: is_maker,
                    reject_post_only: is_maker,
                };
                let method = "private/edit";
                $write(&mut *$out, &Rpc { jsonrpc, id, method, params }).expect("a request");
            }
            Kind::Cancel => {
                let (method, params) = ("private/cancel", Cancel { order_id: &order.order_id });
                $write(&mut *$out, &Rpc { jsonrpc, id, method, params }).expect("a request");
            }
        }
        $out.len()
    }};
}

#[inline]
fn serde_json(kind: Kind, order: &Order, out: &mut Vec<u8>) -> usize {
    with_struct!(kind, order, out, serde_json::to_writer)
}

#[inline]
fn sonic(kind: Kind, order: &Order, out: &mut Vec<u8>) -> usize {
    with_struct!(kind, order, out, sonic_rs::to_writer)
}

#[inline]
fn simd(kind: Kind, order: &Order, out: &mut Vec<u8>) -> usize {
    with_struct!(kind, order, out, |out, value| simd_json::serde::to_writer(out, value))
}

/// All write the same values under the same keys; how many bytes taut writes in the mean.
fn check(orders: &[Order], kind: Kind) -> usize {
    let mut bytes = 0;
    for order in orders {
        let (mut room, mut out) = ([0; ROOM], Vec::new());
        let length = taut(kind, order, &mut room);
        bytes += length;
        let ours = values(&room[..length]);
        for write in [serde_json, sonic, simd] {
            write(kind, order, &mut out);
            let theirs = values(&out);
            assert_eq!(ours, theirs, "{}", String::from_utf8_lossy(&out));
        }
    }
    bytes / orders.len()
}

/// What is written, with every number as a double: `30` and `30.0` are one.
fn values(text: &[u8]) -> Value {
    fn plain(value: &mut Value) {
        match value {
            Value::Number(number) => *value = Value::from(number.as_f64().expect("a double")),
            Value::Object(fields) => fields.values_mut().for_each(plain),
            Value::Array(items) => items.iter_mut().for_each(plain),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(text).expect("JSON");
    plain(&mut value);
    value
}
