//! Answers and events of orders, as the venue's documents have them.

use taut_market_data::deribit::{Channel, Message, channel, read_message};
use taut_order_entry::deribit::{
    Change, OrderState, Outcome, read_changes, read_count, read_error, read_order, read_orders,
    read_token,
};
use taut_types::{Price, Qty, Side};

const ORDER: &str = concat!(
    r#"{"web":false,"triggered":false,"time_in_force":"good_til_cancelled","replaced":true,"#,
    r#""reduce_only":false,"price":2.288e-5,"post_only":false,"order_type":"limit","#,
    r#""order_state":"open","order_id":"ETH-584864807","max_show":5.0,"#,
    r#""last_update_timestamp":1590484512188,"label":"0000000000000001","#,
    r#""instrument_name":"ETH-PERPETUAL","filled_amount":1.5,"direction":"buy","#,
    r#""creation_timestamp":1590484512188,"average_price":0.333333333333333,"api":true,"#,
    r#""amount":40.0}"#
);
const TRADE: &str = concat!(
    r#"{"trade_seq":1966056,"trade_id":"ETH-2696083","timestamp":1590483938456,"#,
    r#""tick_direction":0,"state":"filled","self_trade":false,"reduce_only":false,"#,
    r#""profit_loss":null,"price":203.3,"order_type":"limit","order_id":"ETH-584864807","#,
    r#""matching_id":null,"mark_price":203.28,"liquidity":"M","label":"a\"b","#,
    r#""instrument_name":"ETH-PERPETUAL","index_price":203.33,"fee_currency":"ETH","#,
    r#""fee":-1.25e-6,"direction":"sell","amount":5.0}"#
);

/// The body of an answer, and whether it is an error.
fn body(frame: &str) -> (&[u8], bool) {
    match read_message(frame.as_bytes()).unwrap() {
        Message::Answer { id: b"7", body, is_error } => (body, is_error),
        other => panic!("{other:?}"),
    }
}

fn answer(result: &str) -> String {
    let times = r#""usIn":1590484512188000,"usOut":1590484512189000,"usDiff":1000"#;
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result},{times},"testnet":false}}"#)
}

const fn tenths(mantissa: i64) -> Option<Qty> {
    Some(Qty { mantissa: mantissa * 10_000_000, decimals: 8 })
}

#[test]
fn an_order_is_told_with_its_trades_before_it() {
    let frame = answer(&format!(r#"{{"order":{ORDER},"trades":[{TRADE}]}}"#));
    let (body, is_error) = body(&frame);
    let mut told = Vec::new();
    read_changes(body, |change| told.push(change)).unwrap();
    let [Change::Fill(fill), Change::Order(order)] = told[..] else { panic!("{told:?}") };
    assert!(!is_error && order.is_replaced);
    assert_eq!((order.order_id, order.label), (&b"ETH-584864807"[..], &b"0000000000000001"[..]));
    assert_eq!((order.state, order.side), (OrderState::Open, Some(Side::Buy)));
    assert_eq!((order.price, order.amount), (Some(Price(22_880)), tenths(400)));
    assert_eq!((order.filled, order.updated_ms), (tenths(15), Some(1_590_484_512_188)));
    assert_eq!((fill.trade_id, fill.sequence), (&b"ETH-2696083"[..], Some(1_966_056)));
    assert_eq!((fill.is_maker, fill.side), (Some(true), Some(Side::Sell)));
    assert_eq!(fill.fee, Some(Qty { mantissa: -1_250_000, decimals: 12 }));
    assert_eq!((fill.state, fill.label), (OrderState::Filled, &br#"a\"b"#[..]));
}

#[test]
fn user_changes_are_the_same_without_having_been_asked_for() {
    let stop = ORDER
        .replace("2.288e-5", "\"market_price\"")
        .replace("\"filled_amount\":1.5,", "")
        .replace("\"open\"", "\"untriggered\"");
    let orders = format!(r#""orders":[{stop},{ORDER}]"#);
    let data = format!(
        r#"{{"instrument_name":"ETH-PERPETUAL",{orders},"positions":[{{"a":[]}}],"trades":[]}}"#
    );
    let params = format!(r#"{{"channel":"user.changes.any.any.raw","data":{data}}}"#);
    let frame = format!(r#"{{"jsonrpc":"2.0","method":"subscription","params":{params}}}"#);
    let message = read_message(frame.as_bytes()).unwrap();
    let Message::Notification { channel: name, data } = message else { panic!("{message:?}") };
    assert_eq!(channel(name), Channel::Other);
    let mut told = Vec::new();
    read_changes(data, |change| told.push(change)).unwrap();
    let [Change::Order(stop), Change::Order(_)] = told[..] else { panic!("{told:?}") };
    assert_eq!((stop.price, stop.filled), (None, None));
    assert_eq!(stop.state, OrderState::Untriggered);
}

#[test]
fn orders_counts_tokens_and_errors_are_read() {
    let one = answer(ORDER);
    assert_eq!(read_order(body(&one).0).unwrap().order_id, b"ETH-584864807");
    let (many, mut count) = (answer(&format!("[{ORDER}, {ORDER}]")), 0);
    read_orders(body(&many).0, |_| count += 1).unwrap();
    assert_eq!(count, 2);
    assert_eq!(read_count(body(&answer("3")).0), Ok(3));
    let token =
        answer(r#"{"access_token":"a","expires_in":900,"refresh_token":"r","scope":"s","x":null}"#);
    let token = read_token(body(&token).0).unwrap();
    assert_eq!(
        (token.access.0, token.refresh.0, token.expires_in_s),
        (&b"a"[..], &b"r"[..], Some(900))
    );
    let frame = concat!(
        r#"{"jsonrpc":"2.0","id":7,"error":{"message":"Invalid params","#,
        r#""data":{"reason":"x","param":"amount"},"code":-32602},"testnet":true}"#
    );
    let (refused, is_error) = body(frame);
    let error = read_error(refused).unwrap();
    assert_eq!((error.code, error.message, is_error), (-32_602, &b"Invalid params"[..], true));
    assert_eq!(error.outcome(), Outcome::Refused);
}

#[test]
fn what_is_malformed_tells_nothing() {
    let nameless = ORDER.replace("\"order_id\":\"ETH-584864807\",", "");
    for data in [
        format!(r#"{{"orders":[{ORDER},{nameless}]}}"#),
        format!(r#"{{"trades":[{TRADE}],"orders":[{ORDER}"#),
        format!(r#"{{"orders":{ORDER}}}"#),
        "[]".to_owned(),
    ] {
        let mut told = 0;
        assert!(read_changes(data.as_bytes(), |_| told += 1).is_err(), "{data}");
        assert_eq!(told, 0);
    }
    assert!(read_error(br#"{"message":"x"}"#).is_err() && read_count(b"[]").is_err());
    let mut told = 0;
    let orders = format!("[{ORDER},{nameless}]");
    assert!(read_orders(orders.as_bytes(), |_| told += 1).is_err() && told == 0);
}

/// Every answer cut off at every place, and with every byte of it another one.
#[test]
fn nothing_panics_and_nothing_allocates() {
    let frame = answer(&format!(r#"{{"order":{ORDER},"trades":[{TRADE}]}}"#)).into_bytes();
    let mut changed = frame.clone();
    let mut told = 0;
    let info = allocation_counter::measure(|| {
        let mut read = |frame: &[u8]| {
            let Ok(Message::Answer { body, .. }) = read_message(frame) else { return };
            let _ = read_changes(body, |_| told += 1);
            let _ = (read_order(body), read_error(body), read_token(body), read_count(body));
            let _ = read_orders(body, |_| ());
        };
        (0..frame.len()).for_each(|len| read(&frame[..len]));
        for at in 0..frame.len() {
            for byte in *b"\"\\{}[],:0e-x\x00\xff" {
                changed[at] = byte;
                read(&changed);
            }
            changed[at] = frame[at];
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(told > 0);
}
