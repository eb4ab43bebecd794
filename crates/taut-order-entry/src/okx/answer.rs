//! What the venue says of requests and orders, over WebSocket and HTTP alike.
//!
//! Every value is a text. Fields come and go: what is absent, empty or cannot be held exactly is
//! nothing, and only what names an order must be there.

use taut_market_data::scan::Scanner;
use taut_market_data::{Expected, MarketDataError};
use taut_types::{Price, Qty, parse_decimal};

/// A frame, or the body of an HTTP answer, taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// `login`, `subscribe`, `error`, `notice`: not of an answer to a request about an order.
    pub event: &'a [u8],
    /// The id of the request that it answers.
    pub id: Option<u64>,
    /// The channel of what is pushed.
    pub channel: &'a [u8],
    /// 0 when all is well; nothing where none is said.
    pub code: Option<u64>,
    /// What the code means, in words.
    pub words: &'a [u8],
    /// An array, or nothing: empty.
    pub data: &'a [u8],
}

/// What became of a request about an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The venue's name of the order.
    pub order_id: &'a [u8],
    /// 0 when the request was taken.
    pub code: Option<u64>,
    /// What the code means, in words.
    pub words: &'a [u8],
}

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderState {
    /// It rests, or some of it traded.
    Open,
    /// All of it traded.
    Filled,
    /// It was cancelled, by whomever.
    Cancelled,
    /// Something that nobody documented.
    #[default]
    Other,
}

/// An order as it is now, and what just happened to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order<'a> {
    /// The venue's name of it.
    pub order_id: &'a [u8],
    /// The client's name of it; empty when it has none.
    pub name: &'a [u8],
    /// Where it is in its life.
    pub state: OrderState,
    /// Its price.
    pub price: Option<Price>,
    /// All of it.
    pub qty: Option<Qty>,
    /// What has traded of it.
    pub filled: Option<Qty>,
    /// The average price of that.
    pub average: Option<Price>,
    /// The request to amend it that was decided last.
    pub amend_request: &'a [u8],
    /// `0` done, `-1` refused, `1` refused, and the order ended; empty where none was decided.
    pub amend_result: &'a [u8],
    /// Why it or its amendment was refused; nothing or 0 where neither was.
    pub code: Option<u64>,
    /// The venue's name of the trade; empty where none happened.
    pub trade_id: &'a [u8],
    /// How much of it just traded.
    pub fill_qty: Option<Qty>,
    /// At which price.
    pub fill_price: Option<Price>,
    /// What that cost, less than nothing; more when it was rewarded.
    pub fee: Option<Qty>,
    /// In what.
    pub fee_currency: &'a [u8],
    /// Whether it rested; nothing when it is not said.
    pub is_maker: Option<bool>,
    /// When it changed last, milliseconds of UTC.
    pub updated_ms: Option<u64>,
    /// When it traded last.
    pub traded_ms: Option<u64>,
}

const FEE_DECIMALS: u8 = 12;

/// Takes a frame or a body apart. Cost: one pass.
///
/// # Errors
/// [`MarketDataError::Malformed`] when it is no object.
pub fn read_message(text: &[u8]) -> Result<Message<'_>, MarketDataError> {
    let mut message = Message::default();
    let mut scanner = Scanner::new(text);
    let read = scanner.object(|scanner, key| {
        match key {
            b"event" => message.event = scanner.text()?,
            b"id" => message.id = number(scanner.text()?),
            b"code" => message.code = number(scanner.text()?),
            b"msg" => message.words = scanner.text()?,
            b"arg" if scanner.peek()? == b'{' => {
                return scanner.object(|scanner, key| match key {
                    b"channel" => scanner.text().map(|text| message.channel = text),
                    _ => scanner.skip_value(),
                });
            }
            b"data" => message.data = scanner.value()?,
            _ => scanner.skip_value()?,
        }
        Some(())
    });
    if read.is_none() || !scanner.is_at_end() {
        return Err(scanner.error());
    }
    Ok(message)
}

/// The one object in the data of an answer to a request about an order; its time is of no use.
///
/// # Errors
/// [`MarketDataError::Malformed`] when there is none.
pub fn read_answer(data: &[u8]) -> Result<Answer<'_>, MarketDataError> {
    let mut answer = None;
    let mut scanner = Scanner::new(data);
    let read = scanner.array(|scanner| {
        let mut one = Answer::default();
        scanner.object(|scanner, key| {
            match key {
                b"ordId" => one.order_id = scanner.text()?,
                b"sCode" => one.code = number(scanner.text()?),
                b"sMsg" => one.words = scanner.text()?,
                _ => scanner.skip_value()?,
            }
            Some(())
        })?;
        answer = Some(one);
        Some(())
    });
    let missing = MarketDataError::Malformed { offset: 0, expected: Expected::Field("sCode") };
    read.ok_or_else(|| scanner.error())?;
    answer.ok_or(missing)
}

/// The venue's time, milliseconds of UTC: the data of `public/time`.
///
/// # Errors
/// [`MarketDataError::Malformed`] when there is none.
pub fn read_time(data: &[u8]) -> Result<u64, MarketDataError> {
    let mut time = None;
    let mut scanner = Scanner::new(data);
    let read = scanner.array(|scanner| {
        scanner.object(|scanner, key| {
            match key {
                b"ts" => time = number(scanner.text()?),
                _ => scanner.skip_value()?,
            }
            Some(())
        })
    });
    let missing = MarketDataError::Malformed { offset: 0, expected: Expected::Field("ts") };
    read.ok_or_else(|| scanner.error())?;
    time.ok_or(missing)
}

/// The orders in the data of a push or of an HTTP answer. Nothing is told of data that are
/// malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none, or an order has no name.
pub fn read_orders<'a>(
    data: &'a [u8],
    mut visit: impl FnMut(Order<'a>),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(Order<'a>)| {
        let mut scanner = Scanner::new(data);
        let read = scanner.array(|scanner| order(scanner).map(&mut *visit));
        read.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

/// An instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstrumentTerms<'a> {
    /// The venue's name of it.
    pub name: &'a [u8],
    /// Its price step.
    pub tick: Option<Price>,
    /// Its step of quantities.
    pub lot: Option<Qty>,
    /// Whether it trades.
    pub is_live: bool,
}

/// The instruments in the data of the channel of that name. Nothing is told of data that are
/// malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none.
pub fn read_instruments<'a>(
    data: &'a [u8],
    mut visit: impl FnMut(InstrumentTerms<'a>),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(InstrumentTerms<'a>)| {
        let mut scanner = Scanner::new(data);
        let read = scanner.array(|scanner| {
            let mut terms = InstrumentTerms::default();
            scanner.object(|scanner, key| {
                match key {
                    b"instId" => terms.name = scanner.text()?,
                    b"tickSz" => terms.tick = Price::parse(scanner.text()?).ok(),
                    b"lotSz" => terms.lot = Qty::parse(scanner.text()?).ok(),
                    b"state" => terms.is_live = scanner.text()? == b"live",
                    _ => scanner.skip_value()?,
                }
                Some(())
            })?;
            visit(terms);
            Some(())
        });
        read.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

fn order<'a>(scanner: &mut Scanner<'a>) -> Option<Order<'a>> {
    let mut order = Order::default();
    scanner.object(|scanner, key| {
        let text = match key {
            b"ordId" | b"clOrdId" | b"state" | b"px" | b"sz" | b"accFillSz" | b"avgPx"
            | b"reqId" | b"amendResult" | b"tradeId" | b"fillSz" | b"fillPx" | b"fillFee"
            | b"fillFeeCcy" | b"execType" | b"uTime" | b"fillTime" | b"code" => scanner.text()?,
            _ => return scanner.skip_value(),
        };
        match key {
            b"ordId" => order.order_id = text,
            b"clOrdId" => order.name = text,
            b"state" => order.state = state(text),
            b"px" => order.price = Price::parse(text).ok(),
            b"sz" => order.qty = Qty::parse(text).ok(),
            b"accFillSz" => order.filled = Qty::parse(text).ok(),
            b"avgPx" => order.average = Price::parse(text).ok().filter(|price| price.0 != 0),
            b"reqId" => order.amend_request = text,
            b"amendResult" => order.amend_result = text,
            b"code" => order.code = number(text),
            b"tradeId" => order.trade_id = text,
            b"fillSz" => order.fill_qty = Qty::parse(text).ok().filter(|qty| !qty.is_zero()),
            b"fillPx" => order.fill_price = Price::parse(text).ok(),
            b"fillFee" => {
                let fee = parse_decimal(text, FEE_DECIMALS).ok();
                order.fee = fee.map(|mantissa| Qty { mantissa, decimals: FEE_DECIMALS });
            }
            b"fillFeeCcy" => order.fee_currency = text,
            b"execType" => {
                order.is_maker = match text {
                    b"M" => Some(true),
                    b"T" => Some(false),
                    _ => None,
                }
            }
            b"uTime" => order.updated_ms = number(text),
            b"fillTime" => order.traded_ms = number(text),
            _ => {}
        }
        Some(())
    })?;
    if order.order_id.is_empty() {
        return scanner.refuse(Expected::Field("ordId"));
    }
    Some(order)
}

fn state(text: &[u8]) -> OrderState {
    match text {
        b"live" | b"partially_filled" => OrderState::Open,
        b"filled" => OrderState::Filled,
        b"canceled" | b"mmp_canceled" => OrderState::Cancelled,
        _ => OrderState::Other,
    }
}

fn number(text: &[u8]) -> Option<u64> {
    Scanner::new(text).number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_a_push_and_a_body_are_taken_apart() {
        let answer = concat!(
            r#"{"id":"12","op":"order","data":[{"clOrdId":"a","ordId":"31","tag":"","#,
            r#""ts":"1","sCode":"51008","sMsg":"no funds"}],"code":"1","msg":""}"#
        );
        let message = read_message(answer.as_bytes()).unwrap();
        assert_eq!((message.id, message.code), (Some(12), Some(1)));
        let one = read_answer(message.data).unwrap();
        assert_eq!(
            (one.order_id, one.code, one.words),
            (&b"31"[..], Some(51_008), &b"no funds"[..])
        );
        assert!(read_answer(b"[]").is_err());
        let push = concat!(
            r#"{"arg":{"channel":"orders","instType":"ANY","uid":"7"},"data":[{"ordId":"31","#,
            r#""clOrdId":"a","state":"partially_filled","px":"43000.5","sz":"3","accFillSz":"1","#,
            r#""avgPx":"43000.5","tradeId":"9","fillSz":"1","fillPx":"43000.5","#,
            r#""fillFee":"-0.0000001","fillFeeCcy":"BTC","execType":"T","uTime":"1700000000123","#,
            r#""fillTime":"1700000000120","reqId":"","amendResult":"","linkedAlgoOrd":{"x":"1"},"#,
            r#""new":[1,{}]}]}"#
        );
        let message = read_message(push.as_bytes()).unwrap();
        assert_eq!((message.channel, message.code), (&b"orders"[..], None));
        let mut count = 0;
        read_orders(message.data, |order| {
            count += 1;
            assert_eq!((order.order_id, order.state), (&b"31"[..], OrderState::Open));
            assert_eq!(order.fee, Some(Qty { mantissa: -100_000, decimals: 12 }));
            assert_eq!((order.is_maker, order.trade_id), (Some(false), &b"9"[..]));
            assert_eq!(order.filled, Some(Qty::whole(1)));
        })
        .unwrap();
        assert_eq!(count, 1);
        assert!(read_orders(br#"[{"clOrdId":"a"}]"#, |_| ()).is_err());
        let time = read_message(br#"{"code":"0","data":[{"ts":"17"}],"msg":""}"#).unwrap();
        assert_eq!(read_time(time.data), Ok(17));
        assert!(read_message(b"<html>").is_err() && read_message(b"{}x").is_err());
    }
}
