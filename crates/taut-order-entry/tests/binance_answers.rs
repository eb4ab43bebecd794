//! Requests as they are written, and the answers and events that were recorded.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use taut_order_entry::binance::{
    Event, ExecutionKind, Filter, Filters, Frame, NewOrder, Order, OrderStatus, RateLimit,
    RateLimitKind, Request, SelfTrade, Stamp, Step, Which, read_amended, read_event, read_frame,
    read_order, read_orders, read_rate_limits, read_replaced, read_symbols,
};
use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

const RECORDED: &str = "/../../../shared/data/venues/binance-net/";

/// The last frame of a recording; nothing where there are no recordings.
fn recorded(name: &str) -> Option<String> {
    let path = format!("{}{RECORDED}{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(Path::new(&path)) else {
        println!("skipped: {name} is not there");
        return None;
    };
    let (_, frame) = text.rsplit_once("\n= ").expect("a frame");
    Some(frame.replace("\"|1|\"", "7"))
}

fn answer(frame: &str) -> &[u8] {
    match read_frame(frame.as_bytes()).expect("a frame") {
        Frame::Answer(answer) => {
            assert_eq!((answer.id, answer.status, answer.is_error), (&b"7"[..], 200, false));
            answer.body
        }
        other => panic!("{other:?}"),
    }
}

fn is_as_recorded(order: &Order<'_>, value: &Value) {
    let text = |name: &str| value[name].as_str().unwrap_or_default().as_bytes();
    let qty = |name: &str| Qty::parse(text(name)).ok().and_then(|qty| qty.with_decimals(8));
    assert_eq!(Some(order.id), value["orderId"].as_u64());
    assert_eq!((order.symbol, order.name), (text("symbol"), text("clientOrderId")));
    assert_eq!(order.price, Price::parse(text("price")).ok());
    assert_eq!((order.quantity, order.executed), (qty("origQty"), qty("executedQty")));
    assert_eq!(order.worth, qty("cummulativeQuoteQty"));
    assert_eq!(order.status, OrderStatus::named(text("status")));
    assert_eq!(order.side == Some(Side::Buy), text("side") == b"BUY");
}

#[test]
fn orders_in_answers_are_as_they_were_recorded() {
    for name in ["PlaceOrder", "CancelOrder", "GetOrder"] {
        let Some(frame) = recorded(&format!("Socket/Spot/Trading/{name}")) else { return };
        let value: Value = serde_json::from_str(&frame).unwrap();
        is_as_recorded(&read_order(answer(&frame)).unwrap(), &value["result"]);
    }
    let frame = recorded("Socket/Spot/Trading/AmendOrder").unwrap();
    let value: Value = serde_json::from_str(&frame).unwrap();
    is_as_recorded(&read_amended(answer(&frame)).unwrap(), &value["result"]["amendedOrder"]);
    let frame = recorded("Socket/Spot/Trading/ReplaceOrder").unwrap();
    let value: Value = serde_json::from_str(&frame).unwrap();
    let replaced = read_replaced(answer(&frame)).unwrap();
    let (Step::Done(cancelled), Step::Done(placed)) = (replaced.cancel, replaced.place) else {
        panic!("{replaced:?}")
    };
    is_as_recorded(&cancelled, &value["result"]["cancelResponse"]);
    is_as_recorded(&placed, &value["result"]["newOrderResponse"]);
    assert_eq!(cancelled.original_name, b"4d96324ff9d44481926157");
    let frame = recorded("Socket/Spot/Trading/GetOpenOrders").unwrap();
    let value: Value = serde_json::from_str(&frame).unwrap();
    let mut read = 0;
    read_orders(answer(&frame), |order| {
        is_as_recorded(&order, &value["result"][read]);
        read += 1;
    })
    .unwrap();
    assert_eq!(Some(read), value["result"].as_array().map(Vec::len));
}

#[test]
fn an_answer_says_what_the_venue_has_counted() {
    let read = |limits: &str| {
        let frame = format!(r#"{{"id":7,"status":200,"rateLimits":{limits},"result":{{}}}}"#);
        let Frame::Answer(answer) = read_frame(frame.as_bytes()).expect("a frame") else {
            panic!("no answer: {frame}")
        };
        let mut all = Vec::new();
        read_rate_limits(answer.limits, |limit| all.push(limit)).map(|()| all)
    };
    let (weight, orders) = (RateLimitKind::Weight, RateLimitKind::Orders);
    let all = concat!(
        r#"[{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"limit":50,"#,
        r#""count":12},{"rateLimitType":"ORDERS","interval":"DAY","intervalNum":1,"#,
        r#""limit":160000,"count":4043},"#,
        r#"{"count":321,"limit":6000,"new":[1],"intervalNum":1,"interval":"MINUTE","#,
        r#""rateLimitType":"REQUEST_WEIGHT"}]"#
    );
    let expected = [
        RateLimit { kind: orders, window_ms: 10_000, limit: 50, count: 12 },
        RateLimit { kind: orders, window_ms: 86_400_000, limit: 160_000, count: 4_043 },
        RateLimit { kind: weight, window_ms: 60_000, limit: 6_000, count: 321 },
    ];
    assert_eq!(read(all).as_deref(), Ok(&expected[..]));
    // What is absent, null or new says nothing.
    for (from, to) in [
        (r#""count":321"#, r#""count":null"#),
        (r#""interval":"MINUTE""#, r#""interval":"FORTNIGHT""#),
        (r#""intervalNum":1,"interval":"MINUTE""#, r#""intervalNum":0,"interval":"MINUTE""#),
        (r#""limit":6000,"#, ""),
    ] {
        assert_eq!(read(&all.replace(from, to)).as_deref(), Ok(&expected[..2]), "{to}");
    }
    let novel = read(&all.replace("REQUEST_WEIGHT", "CONNECTIONS")).expect("limits");
    assert_eq!(novel.last().map(|limit| limit.kind), Some(RateLimitKind::Other));
    assert_eq!(read("[]").as_deref(), Ok(&[][..]));
    assert!(read("null").is_err() && read("[7]").is_err());
    let Ok(Frame::Answer(without)) = read_frame(br#"{"id":7,"status":200,"result":{}}"#) else {
        panic!("an answer")
    };
    assert_eq!(without.limits, b"");
}

#[test]
fn an_event_is_as_it_was_recorded() {
    let Some(frame) = recorded("Subscriptions/Spot/Account/Order") else { return };
    let Ok(Frame::Event(event)) = read_frame(frame.as_bytes()) else { panic!() };
    let Ok(Event::Execution(it)) = read_event(event) else { panic!() };
    assert_eq!((it.kind, it.status), (ExecutionKind::New, OrderStatus::New));
    assert_eq!((it.symbol, it.id), (&b"ETHBTC"[..], 4_293_153));
    assert_eq!((it.name, it.original_name), (&b"mUvoqJxFIILMdfAW5iGSOW"[..], &b""[..]));
    assert_eq!((it.side, it.price), (Some(Side::Buy), Some(Price(102_644_100))));
    assert_eq!(it.quantity, Some(Qty { mantissa: 100_000_000, decimals: 8 }));
    assert_eq!((it.trade_id, it.commission_asset, it.is_maker), (None, &b""[..], false));
    assert_eq!((it.reason, it.time_ms), (&b"NONE"[..], Some(1_499_405_658_657)));
    for name in ["AccountPosition", "Balance"] {
        let frame = recorded(&format!("Subscriptions/Spot/Account/{name}")).unwrap();
        let Ok(Frame::Event(event)) = read_frame(frame.as_bytes()) else { panic!("{name}") };
        assert_eq!(read_event(event), Ok(Event::Other), "{name}");
    }
}

#[test]
fn filters_are_as_they_were_recorded() {
    let Some(frame) = recorded("Socket/Spot/ExchangeData/GetExchangeInfo") else { return };
    let mut symbols = 0;
    read_symbols(answer(&frame), |symbol| {
        symbols += 1;
        assert_eq!((symbol.name, symbol.status), (&b"BNBBTC"[..], &b"TRADING"[..]));
        assert_eq!(
            (symbol.base, symbol.quote, symbol.can_amend),
            (&b"BNB"[..], &b"BTC"[..], false)
        );
        let filters = symbol.filters;
        assert_eq!((filters.tick, filters.step), (Price(1_000), 100_000));
        assert_eq!(
            (filters.price_min, filters.price_max),
            (Price(1_000), Price(100_000_000_000_000))
        );
        assert_eq!((filters.quantity_min, filters.quantity_max), (100_000, 10_000_000_000_000));
    })
    .unwrap();
    assert_eq!(symbols, 1);
}

#[test]
fn a_bound_of_zero_is_none_and_the_others_hold() {
    let none = Filters::default();
    let unit = Qty { mantissa: 1, decimals: 0 };
    assert_eq!(none.check(OrderType::Limit, Price(1), unit), Ok(()));
    let filters = Filters { worth_min: 500_000_000, ..none };
    let price = |units: i64| Price(units * 1_000_000_000);
    assert_eq!(filters.check(OrderType::Limit, price(5), unit), Ok(()));
    assert_eq!(filters.check(OrderType::Limit, Price(4_999_999_999), unit), Err(Filter::Notional));
    assert_eq!(filters.check(OrderType::Market, Price(0), unit), Ok(()));
    let fine = Qty { mantissa: 1, decimals: 9 };
    assert_eq!(none.check(OrderType::Limit, Price(1), fine), Err(Filter::LotSize));
}

fn order(name: &[u8]) -> NewOrder<'_> {
    NewOrder {
        symbol: b"BTCUSDT",
        side: Side::Sell,
        quantity: Qty { mantissa: 1_500, decimals: 5 },
        order_type: OrderType::Limit,
        price: Price(100),
        stop: None,
        time_in_force: TimeInForce::FillOrKill,
        flags: OrderFlags::NONE,
        shown: None,
        name,
        self_trade: SelfTrade::Decrement,
    }
}

#[test]
fn an_order_is_written_exactly() {
    let stamp = Stamp { timestamp_ms: 1_645_423_376_532, window_ms: 5_000 };
    let mut room = [0; 1_024];
    let place = Request::Place { order: order(b"one"), stamp };
    let written = place.write(3, &mut room).unwrap();
    let expected = concat!(
        r#"{"id":3,"method":"order.place","params":{"symbol":"BTCUSDT","side":"SELL","#,
        r#""type":"LIMIT","timeInForce":"FOK","quantity":"0.015","price":"0.0000001","#,
        r#""newClientOrderId":"one","newOrderRespType":"ACK","#,
        r#""selfTradePreventionMode":"DECREMENT","recvWindow":5000,"#,
        r#""timestamp":1645423376532}}"#
    );
    assert_eq!(std::str::from_utf8(written), Ok(expected));
    let transfer = NewOrder { self_trade: SelfTrade::Transfer, ..order(b"one") };
    let written = Request::Place { order: transfer, stamp }.write(3, &mut room).unwrap();
    let expected = expected.replace("DECREMENT", "TRANSFER");
    assert_eq!(std::str::from_utf8(written), Ok(expected.as_str()));
    let stop = NewOrder { stop: Some(Price(90)), ..order(b"one") };
    let place = Request::Place { order: stop, stamp };
    let written = place.write(3, &mut room).unwrap();
    let text = std::str::from_utf8(written).unwrap();
    assert!(
        text.contains(r#""type":"STOP_LOSS_LIMIT""#)
            && text.contains(r#""stopPrice":"0.00000009""#)
    );
    let replace =
        Request::Replace { which: Which::Id(9), name: b"end", order: order(b"two"), stamp };
    assert!(replace.write(3, &mut [0; 64]).is_none(), "there is no room");
}

#[test]
fn writing_and_reading_allocate_nothing() {
    let stamp = Stamp { timestamp_ms: 1_645_423_376_532, window_ms: 5_000 };
    let mut room = [0; 1_024];
    let frame = concat!(
        r#"{"subscriptionId":0,"event":{"e":"executionReport","s":"ETHBTC","c":"a","i":7,"#,
        r#""x":"TRADE","X":"FILLED","l":"1.00000000","L":"0.5","z":"1.0","t":3,"T":1}}"#
    );
    let allocated = allocation_counter::measure(|| {
        let place = Request::Place { order: order(b"one"), stamp };
        assert!(place.write(3, &mut room).is_some());
        let Ok(Frame::Event(event)) = read_frame(frame.as_bytes()) else { panic!() };
        assert!(read_event(event).is_ok());
    });
    assert_eq!(allocated.count_total, 0);
}

proptest! {
    /// Whatever a frame is, all readers end.
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..200,
    ) {
        let frame = recorded("Subscriptions/Spot/Account/Order");
        let mut frame = frame.unwrap_or_default().into_bytes();
        let len = frame.len();
        for (place, byte) in (at..).zip(&bytes) {
            if let Some(room) = frame.get_mut(place % len.max(1)) {
                *room = *byte;
            }
        }
        for frame in [&frame, &bytes] {
            let _ = read_order(frame);
            let _ = read_orders(frame, |_| ());
            let _ = read_amended(frame);
            let _ = read_replaced(frame);
            let _ = read_rate_limits(frame, |_| ());
            let _ = read_symbols(frame, |_| ());
            let _ = read_event(frame);
            let _ = taut_order_entry::binance::read_error(400, frame);
            if let Ok(Frame::Event(event)) = read_frame(frame) {
                let _ = read_event(event);
            }
        }
    }
}
