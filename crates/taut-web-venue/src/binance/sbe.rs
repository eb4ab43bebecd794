//! What the SBE streams say. Prices and quantities are of eight places; times are microseconds of
//! UTC.

use taut_sbe::EncodeError;
use taut_types::Side;

use crate::binance::market::{Market, Print};
use crate::binance::stream_codec::{
    BestBidAskEncoder, DepthDiffEncoder, DepthSnapshotEncoder, TradesEncoder,
};

/// The exponent of all decimals.
const EXPONENT: i8 = -8;
/// The longest of what comes but once in a message: header, block, two groups' counts, symbol.
const FRAME_BYTES: usize = 8 + 50 + 2 * 6 + 1 + 255;
/// An entry of the longest kind.
const ENTRY_BYTES: usize = 25;

/// A level: price and amount at 1e-9.
pub type Quote = (i128, i128);

/// `<symbol>@trade`: the trades of one order that took them.
pub fn trades(market: &Market, prints: &[Print], us: i64) -> Vec<u8> {
    let traded_us = prints.first().map_or(us, |print| print.ms * 1_000);
    message(prints.len(), |buffer| {
        let mut to = TradesEncoder::new(buffer)?;
        to.event_time_us(us).transact_time_us(traded_us);
        to.price_exponent(EXPONENT).qty_exponent(EXPONENT);
        let to = to.trades(prints, |entry, print| {
            let quantity = mantissa(market.book.amount(print.lots));
            entry.trade_id(print.id.cast_signed()).price(mantissa(print.price)).qty(quantity);
            entry.buyer_is_maker(u8::from(print.buyer_is_maker));
        })?;
        Ok(to.symbol(&market.settings.name)?.finish())
    })
}

/// `<symbol>@bestBidAsk`.
pub fn best_bid_ask(market: &Market, us: i64) -> Vec<u8> {
    let [(bid, bid_quantity), (ask, ask_quantity)] = market.best();
    message(0, |buffer| {
        let mut to = BestBidAskEncoder::new(buffer)?;
        to.event_time_us(us).update_id(market.update_id.cast_signed());
        to.price_exponent(EXPONENT).qty_exponent(EXPONENT);
        to.bid_price(mantissa(bid)).bid_qty(mantissa(bid_quantity));
        to.ask_price(mantissa(ask)).ask_qty(mantissa(ask_quantity));
        Ok(to.symbol(&market.settings.name)?.finish())
    })
}

/// `<symbol>@depth20`: the best so many levels.
pub fn depth_snapshot(market: &Market, count: usize, us: i64) -> Vec<u8> {
    let levels = |side| market.book.levels(side).take(count);
    message(2 * count, |buffer| {
        let mut to = DepthSnapshotEncoder::new(buffer)?;
        to.event_time_us(us).update_id(market.update_id.cast_signed());
        to.price_exponent(EXPONENT).qty_exponent(EXPONENT);
        let to = to.bids(levels(Side::Buy), |entry, (price, amount)| {
            entry.price(mantissa(price)).qty(mantissa(amount));
        })?;
        let to = to.asks(levels(Side::Sell), |entry, (price, amount)| {
            entry.price(mantissa(price)).qty(mantissa(amount));
        })?;
        Ok(to.symbol(&market.settings.name)?.finish())
    })
}

/// `<symbol>@depth`: bids and asks that have changed from the first update to the last.
pub fn depth_diff(
    market: &Market,
    (first, last): (u64, u64),
    [bids, asks]: &[Vec<Quote>; 2],
    us: i64,
) -> Vec<u8> {
    message(bids.len() + asks.len(), |buffer| {
        let mut to = DepthDiffEncoder::new(buffer)?;
        to.event_time_us(us);
        to.first_update_id(first.cast_signed()).last_update_id(last.cast_signed());
        to.price_exponent(EXPONENT).qty_exponent(EXPONENT);
        let to = to.bids(bids, |entry, (price, amount)| {
            entry.price(mantissa(*price)).qty(mantissa(*amount));
        })?;
        let to = to.asks(asks, |entry, (price, amount)| {
            entry.price(mantissa(*price)).qty(mantissa(*amount));
        })?;
        Ok(to.symbol(&market.settings.name)?.finish())
    })
}

/// A message with so many entries. One that cannot be is empty, and nobody gets it: its numbers are
/// missed.
fn message(entries: usize, write: impl FnOnce(&mut [u8]) -> Result<usize, EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; FRAME_BYTES + entries * ENTRY_BYTES];
    let length = write(&mut buffer).unwrap_or(0);
    buffer.truncate(length);
    buffer
}

/// Of eight places; a ninth is cut off.
fn mantissa(units: i128) -> i64 {
    i64::try_from(units / 10).unwrap_or(i64::MAX)
}
