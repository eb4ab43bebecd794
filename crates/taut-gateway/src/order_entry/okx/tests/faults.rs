//! What bites in production, one by one.

use super::*;

/// What a proxy says in the place of the venue.
const PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n\
                    <body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n";

#[test]
fn no_order_leaves_before_the_venue_grants_the_channel_of_orders() {
    let mut line = Line::new(settings());
    let time = r#"{"code":"0","data":[{"ts":"1554883485000"}],"msg":""}"#;
    let login = r#"{"event":"login","code":"0","msg":"","connId":"a"}"#;
    let granted = r#"{"event":"subscribe","arg":{"channel":"orders","instType":"ANY"}}"#;
    let refused = Err(NotSent::NotUp);
    for word in [time, login, granted] {
        assert_eq!(line.send(RequestKind::Create, 1), refused, "before {word}");
        assert_eq!(line.send(RequestKind::Cancel, 2), refused, "before {word}");
        assert_eq!(line.ask(), refused, "before {word}");
        if line.asks().is_empty() {
            line.next();
            line.hear(word);
        } else {
            line.body(word);
        }
    }
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    // What is over is begun again from its beginning.
    line.handler.disconnected(line.now);
    line.handler.connected(line.now, [8; 32], 0);
    assert_eq!(line.send(RequestKind::Create, 1), refused);
}

#[test]
fn what_is_signed_has_the_venues_time_whatever_this_machine_believes() {
    let mut line = Line::up();
    // The clock of this machine is set back by years.
    line.now.utc = Nanos::from_secs(1);
    line.now.mono = line.now.mono + Nanos::from_secs(3);
    assert_eq!(line.ask(), Ok(()));
    let asked = line.asks();
    assert!(asked.contains("OK-ACCESS-TIMESTAMP: 2019-04-10T08:04:48."), "{asked}");
}

#[test]
fn of_others_only_trades_are_told() {
    let mut line = Line::up();
    let theirs = OPEN.replace("{7}", "");
    assert_eq!(line.push(&theirs), [], "their order");
    // A liquidation, say: it has no name, and trades.
    let traded = theirs.replace(r#""accFillSz":"0""#, r#""accFillSz":"0.1""#).replace(
        r#""tradeId":"","fillSz":"0","fillPx":"""#,
        r#""tradeId":"9","fillSz":"0.1","fillPx":"43000""#,
    );
    let events = line.push(&traded);
    let [VenueEvent::Report(trade)] = events[..] else { panic!("{events:?}") };
    assert_eq!((trade.request, trade.event), (None, Some(OrderEvent::Traded)));
    assert_eq!(trade.last, Qty { mantissa: 1, decimals: 1 });
}

#[test]
fn a_page_for_people_says_nothing_of_an_order() {
    let mut line = Line::up();
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    let message = line.handler.last_message();
    assert_eq!(line.hear(PAGE), [VenueEvent::Unreadable(None)]);
    assert!(line.handler.is_up());
    // Nor in the place of an answer to a question: that is asked again.
    assert_eq!(line.ask(), Ok(()));
    assert!(!line.asks().is_empty());
    assert_eq!(line.body(PAGE), []);
    assert_eq!(line.pass(Nanos::from_secs(1)), None);
    assert!(line.asks().contains("/api/v5/trade/order?"));
    // What becomes of the order is told by its answer, if that comes.
    let answer = format!(
        r#"{{"id":"{message}","op":"order","code":"0","data":[{{"ordId":"312","sCode":"0"}}]}}"#
    );
    let events = line.hear(&answer);
    assert_eq!(
        events.iter().map(happened).collect::<Vec<_>>(),
        [(Some(1), Some(OrderEvent::Accepted))]
    );
}

#[test]
fn a_name_has_letters_and_digits_alone_and_is_short_enough() {
    for order in [0, 7, 1 << 40, u64::MAX] {
        for version in [1, 2, u16::MAX] {
            let name = RequestId { order: ClientOrderId(order), version }.to_text();
            assert!(name.iter().all(u8::is_ascii_alphanumeric), "{name:?}");
            assert!(name.len() <= 32);
        }
    }
}
