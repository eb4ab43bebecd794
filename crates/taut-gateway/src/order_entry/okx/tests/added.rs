//! An instrument that comes while the session stands.

use super::*;

#[test]
fn orders_of_an_added_instrument_and_questions_about_them_have_the_venues_name() {
    let mut line = Line::up();
    let (symbol, tick) = (Symbol::new(b"ETH").unwrap(), Price(10_000_000));
    let lot = Qty { mantissa: 1, decimals: 2 };
    let instrument = Instrument::new(InstrumentId(1), symbol, tick, lot).unwrap();
    // The first one did not come to be: its number is another one's.
    assert!(line.handler.add_instrument(&instrument, "ETH-USD"));
    assert!(line.handler.add_instrument(&instrument, "ETH-USDT-SWAP"));
    let terms = OrderTerms { instrument: InstrumentId(1), ..terms() };
    let message = OrderMessage {
        request: RequestId { order: ORDER, version: 1 },
        instrument: &instrument,
        account: None,
        terms: &terms,
    };
    assert_eq!(line.handler.create(line.now, &message, false), Ok(()));
    let placed = line.next();
    assert!(placed.contains(r#""instId":"ETH-USDT-SWAP""#), "{placed}");
    assert!(placed.contains(r#""sz":"0.03""#), "{placed}");
    assert_eq!(line.handler.ask(line.now, &message), Ok(()));
    let asked = line.asks();
    assert!(asked.contains("instId=ETH-USDT-SWAP"), "{asked}");
}
