//! The data of the other channels: objects whose values are texts, some of them empty.

use taut_types::{DecimalError, Lots, Nanos, OrderId, Price, Side, parse_decimal};

use crate::amount::AmountScale;
use crate::error::{Expected, MarketDataError};
use crate::event::{BestPrices, Statistic, Trade, TradingStatus};
use crate::scan::Scanner;

/// What an object says; empty where it says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<'a> {
    offset: usize,
    pub(super) instrument: &'a [u8],
    time: &'a [u8],
    state: &'a [u8],
    bid: [&'a [u8]; 2],
    ask: [&'a [u8]; 2],
    trade_id: &'a [u8],
    quote: [&'a [u8]; 2],
    side: &'a [u8],
    mark: &'a [u8],
    funding: &'a [u8],
}

/// What longs pay shorts is told in billionths.
const FUNDING_DECIMALS: u8 = 9;

impl<'a> Fields<'a> {
    pub(super) fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut fields = Self { offset: scanner.offset(), ..Self::default() };
        scanner.object(|scanner, key| {
            let field = match key {
                b"instId" => &mut fields.instrument,
                b"ts" => &mut fields.time,
                b"state" => &mut fields.state,
                b"bidPx" => &mut fields.bid[0],
                b"bidSz" => &mut fields.bid[1],
                b"askPx" => &mut fields.ask[0],
                b"askSz" => &mut fields.ask[1],
                b"tradeId" => &mut fields.trade_id,
                b"px" => &mut fields.quote[0],
                b"sz" => &mut fields.quote[1],
                b"side" => &mut fields.side,
                b"markPx" => &mut fields.mark,
                b"fundingRate" => &mut fields.funding,
                _ => return scanner.skip_value(),
            };
            *field = scanner.text()?;
            Some(())
        })?;
        Some(fields)
    }

    /// When it happened.
    pub(super) fn time(&self) -> Result<Nanos, MarketDataError> {
        Ok(match self.time {
            [] => Nanos::ZERO,
            time => {
                let ms = parse_decimal(time, 0).map_err(|_| self.wrong(Expected::Number))?;
                Nanos::from_millis(ms)
            }
        })
    }

    /// The best prices of a ticker.
    pub(super) fn top(&self, scale: AmountScale) -> Result<BestPrices, MarketDataError> {
        let quote = |quote: [&[u8]; 2]| match quote {
            [[], _] | [_, []] => Ok((Price(0), Lots::ZERO)),
            quote => self.quoted(quote, scale),
        };
        Ok(BestPrices::quoted(quote(self.bid)?, quote(self.ask)?))
    }

    /// A trade and its number.
    pub(super) fn trade(&self, scale: AmountScale) -> Result<(u64, Trade), MarketDataError> {
        let id = parse_decimal(self.trade_id, 0).ok().and_then(|id| u64::try_from(id).ok());
        let trade_id = id.ok_or_else(|| self.wrong(Expected::Number))?;
        let (price, lots) = self.quoted(self.quote, scale)?;
        let aggressor = match self.side {
            b"buy" => Some(Side::Buy),
            b"sell" => Some(Side::Sell),
            _ => None,
        };
        Ok((trade_id, Trade { trade_id, price, lots, aggressor, resting_order: OrderId(0) }))
    }

    /// The figure that `mark-price` or `funding-rate` is about. The venue's rate is that of a
    /// funding interval, eight hours for most instruments.
    pub(super) fn figure(&self) -> Result<Statistic, MarketDataError> {
        let wrong = |_| self.wrong(Expected::Decimal);
        if self.mark.is_empty() {
            let rate = parse_rate(self.funding).map_err(wrong)?;
            return Ok(Statistic::Funding(rate));
        }
        Price::parse(self.mark).map(Statistic::Mark).map_err(wrong)
    }

    /// What an instrument's trading does.
    pub(super) fn status(&self) -> TradingStatus {
        match self.state {
            b"live" => TradingStatus::Trading,
            b"preopen" => TradingStatus::PreOpen,
            b"suspend" | b"rebase" | b"settlement" => TradingStatus::Halted,
            b"expired" => TradingStatus::Closed,
            _ => TradingStatus::Other,
        }
    }

    fn quoted(
        &self,
        [price, amount]: [&[u8]; 2],
        scale: AmountScale,
    ) -> Result<(Price, Lots), MarketDataError> {
        let price = Price::parse(price).map_err(|_| self.wrong(Expected::Decimal))?;
        let amount = parse_decimal(amount, scale.decimals()).ok();
        let lots = amount.and_then(|amount| scale.lots(amount));
        Ok((price, lots.ok_or_else(|| self.wrong(Expected::Size))?))
    }

    const fn wrong(&self, expected: Expected) -> MarketDataError {
        MarketDataError::Malformed { offset: self.offset, expected }
    }
}

/// A rate in billionths. The venue writes more digits than that: the rest is cut off.
fn parse_rate(text: &[u8]) -> Result<i64, DecimalError> {
    let point = text.iter().position(|&byte| byte == b'.');
    let end = point.map_or(text.len(), |at| text.len().min(at + 1 + usize::from(FUNDING_DECIMALS)));
    let (kept, cut) = text.split_at(end);
    match cut.iter().position(|byte| !byte.is_ascii_digit()) {
        None => parse_decimal(kept, FUNDING_DECIMALS),
        Some(at) => Err(DecimalError::Malformed { offset: end + at }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_to_the_billionth() {
        for (text, rate) in [
            ("0.0001", Ok(100_000)),
            ("-0.0000567912345678", Ok(-56_791)),
            ("0", Ok(0)),
            ("0.000000001", Ok(1)),
            ("0.0000000019", Ok(1)),
            ("0.00000000x", Err(())),
            ("0.0000000001x", Err(())),
            ("", Err(())),
        ] {
            assert_eq!(parse_rate(text.as_bytes()).map_err(drop), rate, "{text}");
        }
    }
}
