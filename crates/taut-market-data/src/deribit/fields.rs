//! The data of the other channels: objects whose fields come and go, in any order.
//!
//! A field is remembered by where its value stands and read when the whole object is known: how an
//! amount is read depends on the instrument, which may be named behind it.

use taut_types::{Lots, OrderId, Price, Side};

use crate::amount::AmountScale;
use crate::error::{Expected, MarketDataError};
use crate::event::{BestPrices, Statistic, Trade, TradingStatus};
use crate::scan::Scanner;

/// Where a value stands; nothing when the object does not have it.
type Field<'a> = Option<Value<'a>>;

/// A value: how far into the frame it is, and the frame from there on.
#[derive(Clone, Copy, Debug)]
struct Value<'a> {
    offset: usize,
    tail: &'a [u8],
}

/// A ticker, or a quote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TickerFields<'a> {
    time: Field<'a>,
    state: Field<'a>,
    bid: [Field<'a>; 2],
    ask: [Field<'a>; 2],
    mark: Field<'a>,
    index: Field<'a>,
    settlement: Field<'a>,
    open_interest: Field<'a>,
    funding: Field<'a>,
    /// Of the last 24 hours.
    high: Field<'a>,
    low: Field<'a>,
    option: OptionFields<'a>,
}

/// What the ticker of an option says beside.
#[derive(Clone, Copy, Debug, Default)]
struct OptionFields<'a> {
    /// Volatilities of the mark price, the best bid and the best offer, in percent.
    volatilities: [Field<'a>; 3],
    underlying: Field<'a>,
    interest_rate: Field<'a>,
    delta: Field<'a>,
    gamma: Field<'a>,
    theta: Field<'a>,
    vega: Field<'a>,
    rho: Field<'a>,
}

/// What longs pay shorts is told in billionths, and so are rates and greeks.
const RATE_DECIMALS: u8 = 9;
/// Volatilities are told in billionths, too, and the venue has them in percent.
const PERCENT_DECIMALS: u8 = RATE_DECIMALS - 2;

impl<'a> TickerFields<'a> {
    /// Of the ticker or the quote that begins there.
    pub(super) fn of(mut data: Scanner<'a>) -> Result<Self, MarketDataError> {
        Self::read(&mut data).ok_or_else(|| data.error())
    }

    fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut fields = Self::default();
        scanner.object(|scanner, key| {
            let field = match key {
                b"timestamp" => &mut fields.time,
                b"state" => &mut fields.state,
                b"best_bid_price" => &mut fields.bid[0],
                b"best_bid_amount" => &mut fields.bid[1],
                b"best_ask_price" => &mut fields.ask[0],
                b"best_ask_amount" => &mut fields.ask[1],
                b"mark_price" => &mut fields.mark,
                b"index_price" => &mut fields.index,
                b"settlement_price" => &mut fields.settlement,
                b"open_interest" => &mut fields.open_interest,
                b"current_funding" => &mut fields.funding,
                b"mark_iv" => &mut fields.option.volatilities[0],
                b"bid_iv" => &mut fields.option.volatilities[1],
                b"ask_iv" => &mut fields.option.volatilities[2],
                b"underlying_price" => &mut fields.option.underlying,
                b"interest_rate" => &mut fields.option.interest_rate,
                b"greeks" if scanner.peek()? == b'{' => {
                    let of = &mut fields.option;
                    return scanner.object(|scanner, key| match key {
                        b"delta" => note(scanner, &mut of.delta),
                        b"gamma" => note(scanner, &mut of.gamma),
                        b"theta" => note(scanner, &mut of.theta),
                        b"vega" => note(scanner, &mut of.vega),
                        b"rho" => note(scanner, &mut of.rho),
                        _ => scanner.skip_value(),
                    });
                }
                b"stats" if scanner.peek()? == b'{' => {
                    return scanner.object(|scanner, key| match key {
                        b"high" => note(scanner, &mut fields.high),
                        b"low" => note(scanner, &mut fields.low),
                        _ => scanner.skip_value(),
                    });
                }
                _ => return scanner.skip_value(),
            };
            note(scanner, field)
        })?;
        Some(fields)
    }

    pub(super) fn time_ms(&self) -> Result<u64, MarketDataError> {
        time(self.time)
    }

    /// The best prices; nothing when not all of them are said, as in an incremental ticker.
    pub(super) fn top(&self, scale: AmountScale) -> Result<Option<BestPrices>, MarketDataError> {
        Ok(match (best(self.bid, scale)?, best(self.ask, scale)?) {
            (Some(bid), Some(ask)) => Some(BestPrices::quoted(bid, ask)),
            _ => None,
        })
    }

    /// The best prices of a quote, which says both: without a price nobody is there.
    pub(super) fn quote(&self, scale: AmountScale) -> Result<BestPrices, MarketDataError> {
        must(self.bid[1], "best_bid_amount")?;
        must(self.ask[1], "best_ask_amount")?;
        let nobody = (Price(0), Lots::ZERO);
        let side = |fields| Ok(best(fields, scale)?.unwrap_or(nobody));
        Ok(BestPrices::quoted(side(self.bid)?, side(self.ask)?))
    }

    /// The figures that it says. One that has no place in our units is left out: nothing else
    /// depends on it.
    pub(super) fn statistics(&self, scale: AmountScale) -> impl Iterator<Item = Statistic> {
        let decimal = |field: Field<'_>, decimals| {
            read(field?, |scanner: &mut Scanner<'_>| scanner.decimal(decimals)).ok()
        };
        let price = |field| decimal(field, Price::DECIMALS).map(Price);
        let rate = |field| decimal(field, RATE_DECIMALS);
        let volatility = |field| decimal(field, PERCENT_DECIMALS);
        let option = &self.option;
        let [mark, bid, ask] = option.volatilities;
        let lots = |field: Field<'_>| read(field?, |scanner| scale.read(scanner)).ok();
        // An instrument that was never settled says 0.
        let settlement = price(self.settlement).filter(|price| price.0 != 0);
        let figures = [
            price(self.high).map(Statistic::High),
            price(self.low).map(Statistic::Low),
            settlement.map(Statistic::Settlement),
            price(self.mark).map(Statistic::Mark),
            price(self.index).map(Statistic::Index),
            lots(self.open_interest).map(Statistic::OpenInterest),
            rate(self.funding).map(Statistic::Funding),
            volatility(mark).map(Statistic::MarkVolatility),
            volatility(bid).map(Statistic::BidVolatility),
            volatility(ask).map(Statistic::AskVolatility),
            price(option.underlying).map(Statistic::Underlying),
            rate(option.interest_rate).map(Statistic::InterestRate),
            rate(option.delta).map(Statistic::Delta),
            rate(option.gamma).map(Statistic::Gamma),
            rate(option.theta).map(Statistic::Theta),
            rate(option.vega).map(Statistic::Vega),
            rate(option.rho).map(Statistic::Rho),
        ];
        figures.into_iter().flatten()
    }

    pub(super) fn status(&self) -> Result<Option<TradingStatus>, MarketDataError> {
        self.state.map(|state| read(state, Scanner::text).map(trading_status)).transpose()
    }
}

/// A trade.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TradeFields<'a> {
    time: Field<'a>,
    instrument: Field<'a>,
    sequence: Field<'a>,
    id: Field<'a>,
    price: Field<'a>,
    amount: Field<'a>,
    direction: Field<'a>,
}

impl<'a> TradeFields<'a> {
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut fields = Self::default();
        scanner.object(|scanner, key| {
            let field = match key {
                b"timestamp" => &mut fields.time,
                b"instrument_name" => &mut fields.instrument,
                b"trade_seq" => &mut fields.sequence,
                b"trade_id" => &mut fields.id,
                b"price" => &mut fields.price,
                b"amount" => &mut fields.amount,
                b"direction" => &mut fields.direction,
                _ => return scanner.skip_value(),
            };
            note(scanner, field)
        })?;
        Some(fields)
    }

    pub(super) fn time_ms(&self) -> Result<u64, MarketDataError> {
        time(self.time)
    }

    pub(super) fn instrument(&self) -> Result<&'a [u8], MarketDataError> {
        must(self.instrument, "instrument_name").and_then(|name| read(name, Scanner::text))
    }

    /// The trade's number among those of its instrument.
    pub(super) fn sequence(&self) -> Result<u64, MarketDataError> {
        must(self.sequence, "trade_seq").and_then(|number| read(number, Scanner::number))
    }

    pub(super) fn trade(&self, scale: AmountScale) -> Result<Trade, MarketDataError> {
        let id = must(self.id, "trade_id").and_then(|id| read(id, Scanner::text))?;
        let price = must(self.price, "price")?;
        let amount = must(self.amount, "amount")?;
        let direction = self.direction.map(|text| read(text, Scanner::text)).transpose()?;
        Ok(Trade {
            trade_id: number_of(id),
            price: Price(read(price, |scanner| scanner.decimal(Price::DECIMALS))?),
            lots: read(amount, |scanner| scale.read(scanner))?,
            aggressor: match direction {
                Some(b"buy") => Some(Side::Buy),
                Some(b"sell") => Some(Side::Sell),
                _ => None,
            },
            resting_order: OrderId(0),
        })
    }
}

/// The state of an instrument, or of the platform.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateFields<'a> {
    time: Field<'a>,
    instrument: Field<'a>,
    state: Field<'a>,
    maintenance: Field<'a>,
}

impl<'a> StateFields<'a> {
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut fields = Self::default();
        scanner.object(|scanner, key| {
            let field = match key {
                b"timestamp" => &mut fields.time,
                b"instrument_name" => &mut fields.instrument,
                b"state" => &mut fields.state,
                b"maintenance" => &mut fields.maintenance,
                _ => return scanner.skip_value(),
            };
            note(scanner, field)
        })?;
        Some(fields)
    }

    pub(super) fn time_ms(&self) -> Result<u64, MarketDataError> {
        time(self.time)
    }

    pub(super) fn instrument(&self) -> Result<&'a [u8], MarketDataError> {
        must(self.instrument, "instrument_name").and_then(|name| read(name, Scanner::text))
    }

    pub(super) fn status(&self) -> Result<TradingStatus, MarketDataError> {
        let state = must(self.state, "state").and_then(|state| read(state, Scanner::text))?;
        Ok(trading_status(state))
    }

    /// Whether the platform's maintenance begins or is over; nothing when it is not about that.
    pub(super) fn maintenance(&self) -> Option<bool> {
        self.maintenance.map(|value| value.tail.starts_with(b"true"))
    }
}

/// Notes where a value stands, and skips it; null is no value.
#[inline]
fn note<'a>(scanner: &mut Scanner<'a>, field: &mut Field<'a>) -> Option<()> {
    let is_null = scanner.peek()? == b'n';
    *field = (!is_null).then(|| Value { offset: scanner.offset(), tail: scanner.rest() });
    scanner.skip_value()
}

/// A best price and its amount, where both are said.
fn best(
    [price, amount]: [Field<'_>; 2],
    scale: AmountScale,
) -> Result<Option<(Price, Lots)>, MarketDataError> {
    let (Some(price), Some(amount)) = (price, amount) else { return Ok(None) };
    let price = read(price, |scanner| scanner.decimal(Price::DECIMALS))?;
    Ok(Some((Price(price), read(amount, |scanner| scale.read(scanner))?)))
}

/// A value of which it is known where it stands.
#[inline]
fn read<'a, T>(
    value: Value<'a>,
    read: impl FnOnce(&mut Scanner<'a>) -> Option<T>,
) -> Result<T, MarketDataError> {
    let mut scanner = Scanner::new(value.tail);
    read(&mut scanner).ok_or_else(|| match scanner.error() {
        MarketDataError::Malformed { offset, expected } => {
            MarketDataError::Malformed { offset: value.offset + offset, expected }
        }
        other => other,
    })
}

fn time(field: Field<'_>) -> Result<u64, MarketDataError> {
    field.map_or(Ok(0), |value| read(value, Scanner::number))
}

fn must<'a>(field: Field<'a>, name: &'static str) -> Result<Value<'a>, MarketDataError> {
    field.ok_or(MarketDataError::Malformed { offset: 0, expected: Expected::Field(name) })
}

/// `48079573`, or `ETH-2696083` and the like: the number at the end; 0 where none fits 64 bits.
pub(super) fn number_of(id: &[u8]) -> u64 {
    let digits = id.rsplit(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
    let digit = |number: Option<u64>, byte: &u8| {
        number?.checked_mul(10)?.checked_add(u64::from(byte.saturating_sub(b'0')))
    };
    digits.iter().fold(Some(0), digit).unwrap_or(0)
}

/// Of a ticker, an instrument or a notification of its state.
fn trading_status(state: &[u8]) -> TradingStatus {
    match state {
        b"open" | b"started" => TradingStatus::Trading,
        b"created" => TradingStatus::PreOpen,
        // Locked books take cancels alone, and a settlement lasts seconds.
        b"halted" | b"locked" | b"settlement" => TradingStatus::Halted,
        b"archivized" | b"closed" | b"deactivated" | b"delivered" | b"inactive" | b"settled"
        | b"terminated" => TradingStatus::Closed,
        _ => TradingStatus::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTHS: AmountScale = AmountScale::of_decimals(1);

    #[test]
    fn a_ticker_has_a_top_when_it_says_all_of_it_and_an_empty_side_is_empty() {
        let top = |text: &'static str| {
            let fields = TickerFields::read(&mut Scanner::new(text.as_bytes())).unwrap();
            fields.top(TENTHS).unwrap()
        };
        let quoted = top(concat!(
            r#"{"best_bid_price":0.0,"best_bid_amount":0.0,"stats":{"best_ask_price":"no"},"#,
            r#""best_ask_price":2.5e-3,"best_ask_amount":873.0}"#,
        ));
        let ask = Some((Price(2_500_000), Lots(8_730)));
        assert_eq!(quoted, Some(BestPrices { bid: None, ask }));
        assert_eq!(top(r#"{"best_bid_price":1.0,"best_bid_amount":1.0}"#), None);
        let nulls = concat!(
            r#"{"best_bid_price":null,"best_bid_amount":null,"#,
            r#""best_ask_price":1,"best_ask_amount":1}"#,
        );
        assert_eq!(top(nulls), None);
    }

    #[test]
    fn a_quote_says_both_sides_and_null_is_nobody() {
        let quote = |text: &'static str| {
            TickerFields::read(&mut Scanner::new(text.as_bytes())).unwrap().quote(TENTHS)
        };
        let quoted = concat!(
            r#"{"best_bid_price":null,"best_bid_amount":0.0,"#,
            r#""best_ask_price":1,"best_ask_amount":1.5}"#,
        );
        let ask = Some((Price(Price::SCALE), Lots(15)));
        assert_eq!(quote(quoted), Ok(BestPrices { bid: None, ask }));
        let one = r#"{"best_bid_price":1,"best_bid_amount":1}"#;
        assert!(quote(one).is_err() && quote("{}").is_err());
    }

    #[test]
    fn a_ticker_says_figures_and_those_without_a_place_are_left_out() {
        let figures = |text: &'static str| {
            let fields = TickerFields::read(&mut Scanner::new(text.as_bytes())).unwrap();
            fields.statistics(TENTHS).collect::<std::vec::Vec<_>>()
        };
        // As recorded, but for the funding, which options have not.
        let told = figures(concat!(
            r#"{"stats":{"volume":869.0,"price_change":0.0,"low":0.0015,"high":0.0025},"#,
            r#""settlement_price":0.0,"open_interest":12685.0,"mark_price":0.001972,"#,
            r#""current_funding":-1.25e-5,"index_price":2006.72}"#,
        ));
        assert_eq!(
            told,
            [
                Statistic::High(Price(2_500_000)),
                Statistic::Low(Price(1_500_000)),
                Statistic::Mark(Price(1_972_000)),
                Statistic::Index(Price(2_006_720_000_000)),
                Statistic::OpenInterest(Lots(126_850)),
                Statistic::Funding(-12_500),
            ]
        );
        let none = concat!(
            r#"{"stats":null,"mark_price":1e-12,"index_price":1e30,"open_interest":0.05,"#,
            r#""settlement_price":null}"#,
        );
        assert_eq!(figures(none), []);
    }

    #[test]
    fn the_ticker_of_an_option_says_volatilities_and_greeks() {
        let figures = |text: &'static str| {
            let fields = TickerFields::read(&mut Scanner::new(text.as_bytes())).unwrap();
            fields.statistics(TENTHS).collect::<std::vec::Vec<_>>()
        };
        // As recorded, but for the interest rate, which was 0.
        let told = figures(concat!(
            r#"{"underlying_price":2003.61,"underlying_index":"ETH-30JUL21","mark_iv":120.74,"#,
            r#""interest_rate":-2.5e-3,"greeks":{"vega":0.20072,"theta":-1.64029,"rho":0.01188,"#,
            r#""gamma":0.0002,"delta":0.03127},"bid_iv":0.0,"ask_iv":125.63}"#,
        ));
        assert_eq!(
            told,
            [
                Statistic::MarkVolatility(1_207_400_000),
                Statistic::BidVolatility(0),
                Statistic::AskVolatility(1_256_300_000),
                Statistic::Underlying(Price(2_003_610_000_000)),
                Statistic::InterestRate(-2_500_000),
                Statistic::Delta(31_270_000),
                Statistic::Gamma(200_000),
                Statistic::Theta(-1_640_290_000),
                Statistic::Vega(200_720_000),
                Statistic::Rho(11_880_000),
            ]
        );
        let none = r#"{"greeks":null,"mark_iv":1e-9,"bid_iv":null,"underlying_price":"SYN"}"#;
        assert_eq!(figures(none), []);
        let some = r#"{"greeks":{"delta":null,"gamma":1e-10,"speed":{},"rho":-95.0}}"#;
        assert_eq!(figures(some), [Statistic::Rho(-95_000_000_000)]);
    }

    #[test]
    fn a_trade_is_read_whatever_the_order_of_its_fields() {
        let text = concat!(
            r#"{"trade_seq":5,"trade_id":"ETH-2696083","timestamp":1590484512188,"iv":null,"#,
            r#""price":0.0365,"direction":"sell","amount":3.5,"instrument_name":"X"}"#,
        );
        let fields = TradeFields::read(&mut Scanner::new(text.as_bytes())).unwrap();
        let trade = fields.trade(TENTHS).unwrap();
        assert_eq!(
            (trade.trade_id, trade.price, trade.lots),
            (2_696_083, Price(36_500_000), Lots(35))
        );
        assert_eq!((trade.aggressor, fields.sequence()), (Some(Side::Sell), Ok(5)));
        assert_eq!((fields.instrument(), fields.time_ms()), (Ok(&b"X"[..]), Ok(1_590_484_512_188)));
        let lacking = TradeFields::read(&mut Scanner::new(br#"{"price":1}"#)).unwrap();
        assert!(lacking.trade(TENTHS).is_err() && lacking.instrument().is_err());
    }

    #[test]
    fn an_id_ends_in_a_number_or_has_none() {
        for (id, number) in [
            ("48079573", 48_079_573),
            ("ETH-2696083", 2_696_083),
            ("USDC-1", 1),
            ("X", 0),
            ("", 0),
            ("99999999999999999999", 0),
        ] {
            assert_eq!(number_of(id.as_bytes()), number, "{id}");
        }
    }

    #[test]
    fn a_state_that_nobody_documented_is_a_state() {
        assert_eq!(trading_status(b"open"), TradingStatus::Trading);
        assert_eq!(trading_status(b"locked"), TradingStatus::Halted);
        assert_eq!(trading_status(b"settled"), TradingStatus::Closed);
        assert_eq!(trading_status(b"dreaming"), TradingStatus::Other);
    }
}
