//! What the account holds: when it is asked for, and how it is told.

use super::*;
use crate::order_entry::handler::VenuePosition;

const BODY: &str = concat!(
    r#"{"code":"0","msg":"","data":[{"instId":"BTC-USD-270326","posSide":"net","pos":"-3","#,
    r#""markPx":"43000.5"},{"instId":"ETH-USDT-SWAP","posSide":"net","pos":"7"}]}"#
);

/// A session that trades a future, whose symbol is shorter than its name.
fn at_a_future() -> Line {
    let (symbol, tick) = (Symbol::new(b"BTCMAR").unwrap(), Price(100_000_000));
    let mut config = config();
    config.instruments =
        vec![Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(1)).unwrap()];
    let settings = OkxOrderSettings { names: vec!["BTC-USD-270326".to_owned()], ..settings() };
    let mut line = Line::with(&config, settings);
    line.log_on();
    line
}

#[test]
fn what_the_account_holds_is_asked_over_http_and_told_by_our_symbols() {
    let mut line = at_a_future();
    assert_eq!(line.handler.ask_positions(line.now, None), Ok(()));
    let asked = line.asks();
    let path = "GET /api/v5/account/positions HTTP/1.1\r\n";
    assert!(asked.starts_with(path) && asked.contains("OK-ACCESS-SIGN: "), "{asked}");
    let held = VenuePosition {
        account: None,
        symbol: LongText::new(b"BTCMAR").unwrap(),
        long: Qty::ZERO,
        short: Qty::whole(3),
        price: Price(43_000_500_000_000),
    };
    assert_eq!(line.body(BODY), [VenueEvent::Position(held), VenueEvent::AllPositionsTold]);
    // Nothing at all is an answer, too.
    assert_eq!(line.handler.ask_positions(line.now, None), Ok(()));
    line.asks();
    let nothing = r#"{"code":"0","msg":"","data":[]}"#;
    assert_eq!(line.body(nothing), [VenueEvent::AllPositionsTold]);
}

#[test]
fn positions_that_are_not_told_are_refused_and_a_page_for_people_is_asked_again() {
    let mut line = at_a_future();
    assert_eq!(line.handler.ask_positions(line.now, None), Ok(()));
    line.asks();
    let wrong = BODY.replace(r#""pos":"7""#, r#""pos":"many""#);
    assert_eq!(line.body(&wrong), [VenueEvent::PositionsRefused]);
    assert_eq!(line.handler.ask_positions(line.now, None), Ok(()));
    line.asks();
    let (message, reject) = (line.handler.last_message(), VenueReject::Other);
    let refused = VenueEvent::Refused { message, named: None, reject };
    assert_eq!(line.body(r#"{"code":"50030","msg":"no permission","data":[]}"#), [refused]);
    assert_eq!(line.handler.ask_positions(line.now, None), Ok(()));
    line.asks();
    assert_eq!(line.body("<html>502</html>"), []);
    assert_eq!(line.pass(Nanos::from_secs(1)), None);
    assert!(line.asks().contains("/account/positions"));
    assert_eq!(line.body(BODY).len(), 2);
}

#[test]
fn where_coins_are_traded_nothing_is_compared() {
    let mut line = Line::up();
    assert_eq!(line.handler.ask_positions(line.now, None), Err(NotSent::Unsupported));
    assert_eq!(line.asks(), "");
}
