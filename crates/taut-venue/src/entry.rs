//! Whether a client's request makes sense, before the engine sees it.

use taut_fix::{NewOrderSingle, ShortText};
use taut_types::{HalfTicks, Instrument, InstrumentError, Lots, OrderType, Price};

use crate::listing::Listings;
use crate::reports::ord_rej_reason;

/// Why an order is refused: OrdRejReason (103) and Text (58).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: u32,
    pub text: String,
}

/// The order's place, price (0 for a market order) and quantity in engine units.
pub fn check_order(
    listings: &Listings,
    order: &NewOrderSingle,
) -> Result<(usize, HalfTicks, Lots), Refusal> {
    let place = listings.place(&order.symbol).ok_or_else(|| Refusal {
        reason: ord_rej_reason::UNKNOWN_SYMBOL,
        text: not_traded(listings, &order.symbol),
    })?;
    let instrument = &listings.all()[place].instrument;
    let price = match order.order_type {
        OrderType::Market => HalfTicks(0),
        OrderType::Limit => limit_price(instrument, order.price)?,
    };
    match instrument.lots(order.qty) {
        Ok(lots) if lots > Lots::ZERO => Ok((place, price, lots)),
        _ => Err(Refusal {
            reason: ord_rej_reason::INCORRECT_QUANTITY,
            text: format!(
                "OrderQty {} is no positive multiple of the lot {}",
                order.qty,
                instrument.lot()
            ),
        }),
    }
}

fn not_traded(listings: &Listings, symbol: &ShortText) -> String {
    match listings.all() {
        [only] => format!("Symbol {symbol} is not traded here: only {} is", only.symbol),
        all => format!("Symbol {symbol} is not one of the {} that are traded here", all.len()),
    }
}

/// The engine takes whole ticks only.
fn limit_price(instrument: &Instrument, price: Option<Price>) -> Result<HalfTicks, Refusal> {
    let price = price.unwrap_or(Price(0));
    let half_ticks = instrument.half_ticks(price);
    match half_ticks {
        Ok(half_ticks) if half_ticks.0 > 0 && half_ticks.0 % 2 == 0 => Ok(half_ticks),
        Ok(_) | Err(InstrumentError::OffTick) => Err(Refusal {
            reason: ord_rej_reason::OTHER,
            text: format!(
                "Price {price} is no positive multiple of the tick {}",
                instrument.tick()
            ),
        }),
        Err(_) => Err(Refusal {
            reason: ord_rej_reason::OTHER,
            text: format!("Price {price} is out of range"),
        }),
    }
}
