//! Values as the venue writes them: decimals in quotes, and sometimes not.
//!
//! What is absent, null, or cannot be held exactly is nothing.

use taut_market_data::scan::Scanner;
use taut_types::{Price, Qty, Side};

/// Decimal places of quantities: all that the venue has.
pub(super) const DECIMALS: u8 = 8;

/// A text without its quotes; empty for any other value.
pub(super) fn text<'a>(scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
    let value = scanner.value()?;
    Some(unquoted(value).unwrap_or_default())
}

/// An integer of zero or more; nothing inside for any other value.
pub(super) fn number(scanner: &mut Scanner<'_>) -> Option<Option<u64>> {
    let value = scanner.value()?;
    Some(Scanner::new(value).number())
}

pub(super) fn price(scanner: &mut Scanner<'_>) -> Option<Option<Price>> {
    Some(decimal(scanner, Price::DECIMALS)?.map(Price))
}

pub(super) fn qty(scanner: &mut Scanner<'_>) -> Option<Option<Qty>> {
    let mantissa = decimal(scanner, DECIMALS)?;
    Some(mantissa.map(|mantissa| Qty { mantissa, decimals: DECIMALS }))
}

pub(super) fn flag(scanner: &mut Scanner<'_>) -> Option<bool> {
    Some(scanner.value()? == b"true")
}

/// A number at this scale, with quotes or without; nothing inside for any other value.
pub(super) fn decimal(scanner: &mut Scanner<'_>, decimals: u8) -> Option<Option<i64>> {
    let value = scanner.value()?;
    let mut inner = Scanner::new(unquoted(value).unwrap_or(value));
    let read = inner.decimal(decimals);
    Some(read.filter(|_| inner.is_at_end()))
}

pub(super) fn side(text: &[u8]) -> Option<Side> {
    match text {
        b"BUY" => Some(Side::Buy),
        b"SELL" => Some(Side::Sell),
        _ => None,
    }
}

/// A value and all that stands behind it; the scanner skips the value.
pub(super) fn tail<'a>(scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
    scanner.peek()?;
    let rest = scanner.rest();
    scanner.skip_value()?;
    Some(rest)
}

fn unquoted(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""))
}
