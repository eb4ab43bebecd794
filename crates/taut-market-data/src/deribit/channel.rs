//! What a subscription brings, by its name.

use crate::scan::place_of;

/// A subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel<'a> {
    /// `book.{instrument}.{interval}`: a snapshot, and changes that are chained to it.
    Book(&'a [u8]),
    /// `book.{instrument}.{group}.{depth}.{interval}`: the best levels, all of them each time.
    GroupedBook(&'a [u8]),
    /// `trades.{instrument}.{interval}` or `trades.{kind}.{currency}.{interval}`: the trades say
    /// which instruments they are of.
    Trades,
    /// `ticker.{instrument}.{interval}` or `incremental_ticker.{instrument}`.
    Ticker(&'a [u8]),
    /// `quote.{instrument}`: the best prices.
    Quote(&'a [u8]),
    /// `instrument.state.{kind}.{currency}`.
    InstrumentState,
    /// `platform_state`: maintenance, locked indices.
    PlatformState,
    /// Documented, and nothing of it is an event.
    Other,
    /// Not documented.
    Unknown,
}

/// The channel that books are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookChannel {
    /// `book.{instrument}.{interval}`: whole once, then each change, chained to the one before by
    /// its `change_id`, so that none is missing unnoticed.
    #[default]
    Changes,
    /// `book.{instrument}.{group}.{depth}.{interval}`: the best levels, all of them each time. What
    /// is missing the next one brings.
    Grouped,
    /// `quote.{instrument}`: the best price of each side, whenever it is another one: a book of one
    /// level.
    Quote,
}

/// What the channel with this name brings.
#[must_use]
#[inline]
pub fn channel(name: &[u8]) -> Channel<'_> {
    if let Some(rest) = name.strip_prefix(b"book.") {
        let (instrument, rest) = split(rest);
        return match rest.contains(&b'.') {
            true => Channel::GroupedBook(instrument),
            false => Channel::Book(instrument),
        };
    }
    let (kind, rest) = split(name);
    match kind {
        b"trades" => Channel::Trades,
        b"ticker" | b"incremental_ticker" => Channel::Ticker(split(rest).0),
        b"quote" => Channel::Quote(rest),
        b"instrument" if rest.starts_with(b"state.") => Channel::InstrumentState,
        b"platform_state" if rest.is_empty() => Channel::PlatformState,
        b"platform_state"
        | b"announcements"
        | b"block_rfq"
        | b"block_trade_confirmations"
        | b"chart"
        | b"deribit_price_index"
        | b"deribit_price_ranking"
        | b"deribit_price_statistics"
        | b"deribit_volatility_index"
        | b"estimated_expiration_price"
        | b"markprice"
        | b"perpetual"
        | b"rfq"
        | b"user" => Channel::Other,
        _ => Channel::Unknown,
    }
}

/// What stands before the first point, and what behind it.
#[inline]
fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.split_at_checked(place_of::<b'.'>(name)) {
        Some((head, [_, tail @ ..])) => (head, tail),
        _ => (name, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_is_known_by_its_name() {
        for (name, expected) in [
            ("book.BTC-PERPETUAL.raw", Channel::Book(b"BTC-PERPETUAL")),
            ("book.XRP_USDC-30JUN23-0d625-C.100ms", Channel::Book(b"XRP_USDC-30JUN23-0d625-C")),
            ("book.ETH-PERPETUAL.none.20.100ms", Channel::GroupedBook(b"ETH-PERPETUAL")),
            ("trades.BTC-PERPETUAL.raw", Channel::Trades),
            ("trades.option.BTC.100ms", Channel::Trades),
            ("ticker.BTC_USDC.raw", Channel::Ticker(b"BTC_USDC")),
            ("incremental_ticker.BTC_USDC", Channel::Ticker(b"BTC_USDC")),
            ("quote.BTC_USDC", Channel::Quote(b"BTC_USDC")),
            ("instrument.state.any.any", Channel::InstrumentState),
            ("platform_state", Channel::PlatformState),
            ("platform_state.public_methods_state", Channel::Other),
            ("user.changes.any.any.raw", Channel::Other),
            ("deribit_price_index.btc_usd", Channel::Other),
            ("instrument.creation.any.any", Channel::Unknown),
            ("books.X.raw", Channel::Unknown),
            ("", Channel::Unknown),
        ] {
            assert_eq!(channel(name.as_bytes()), expected, "{name}");
        }
    }
}
