//! What the account holds: the data of `GET /api/v5/account/positions`.

use taut_market_data::scan::Scanner;
use taut_market_data::{Expected, MarketDataError};
use taut_types::{Price, Qty};

/// What the account holds of an instrument, or of one side of it, where it keeps both apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// Contracts: below zero where they were sold.
    pub size: Qty,
    /// At which price the venue values it.
    pub mark_price: Option<Price>,
}

/// The positions in the data of an HTTP answer. Nothing is told of data that are malformed
/// anywhere. Coins of the spot market are balances, and not among them.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none, or one has no name or no size.
pub fn read_positions<'a>(
    data: &'a [u8],
    mut visit: impl FnMut(Position<'a>),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(Position<'a>)| {
        let mut scanner = Scanner::new(data);
        let read = scanner.array(|scanner| position(scanner).map(&mut *visit));
        read.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

fn position<'a>(scanner: &mut Scanner<'a>) -> Option<Position<'a>> {
    let (mut instrument, mut side): (&[u8], &[u8]) = (b"", b"");
    let (mut size, mut mark_price) = (None, None);
    scanner.object(|scanner, key| {
        match key {
            b"instId" => instrument = scanner.text()?,
            b"posSide" => side = scanner.text()?,
            b"pos" => size = Qty::parse(scanner.text()?).ok(),
            b"markPx" => mark_price = Price::parse(scanner.text()?).ok(),
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    if instrument.is_empty() {
        return scanner.refuse(Expected::Field("instId"));
    }
    let Some(told) = size else { return scanner.refuse(Expected::Field("pos")) };
    let mantissa = match side {
        b"long" => told.mantissa.saturating_abs(),
        b"short" => -told.mantissa.saturating_abs(),
        _ => told.mantissa,
    };
    Some(Position { instrument, size: Qty { mantissa, ..told }, mark_price })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn what_is_held_is_told_with_its_sign_however_the_account_keeps_it() {
        let data = concat!(
            r#"[{"instType":"SWAP","instId":"BTC-USDT-SWAP","posSide":"net","pos":"-12.5","#,
            r#""avgPx":"43000","markPx":"43000.5","posCcy":"","closeOrderAlgo":[{"x":"1"}]},"#,
            r#"{"pos":"3","posSide":"short","instId":"BTC-USD-270326","markPx":""},"#,
            r#"{"pos":"4","posSide":"long","instId":"BTC-USD-270326"}]"#
        );
        let mut told = Vec::new();
        read_positions(data.as_bytes(), |position| told.push(position)).unwrap();
        let sizes: Vec<_> = told.iter().map(|position| position.size).collect();
        let half = Qty { mantissa: -125, decimals: 1 };
        assert_eq!(sizes, [half, Qty::whole(-3), Qty::whole(4)]);
        assert_eq!(told[0].instrument, b"BTC-USDT-SWAP");
        assert_eq!(told[0].mark_price, Some(Price(43_000_500_000_000)));
        assert_eq!((told[1].mark_price, told[1].instrument), (None, &b"BTC-USD-270326"[..]));
        for wrong in ["{}", "[7]", r#"[{"pos":"1"}]"#, r#"[{"instId":"A","pos":""}]"#] {
            let mut count = 0;
            assert!(read_positions(wrong.as_bytes(), |_| count += 1).is_err(), "{wrong}");
            assert_eq!(count, 0, "{wrong}");
        }
        assert_eq!(read_positions(b"[]", |_| unreachable!()), Ok(()));
    }
}
