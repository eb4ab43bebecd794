//! Whether a client's request makes sense, before the engine sees it.

use taut_engine::{NewOrder, PostOnly};
use taut_fix::{NewOrderSingle, ShortText};
use taut_types::{
    HalfTicks, Instrument, InstrumentError, Lots, OrderFlags, OrderId, OrderType, Price, Qty,
};

use crate::listing::{Listing, Listings};
use crate::reports::ord_rej_reason;

/// Why an order is refused: OrdRejReason (103) and Text (58).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: u32,
    pub text: String,
}

impl Refusal {
    fn other(text: String) -> Self {
        Self { reason: ord_rej_reason::OTHER, text }
    }
}

/// The order's place, and the order in the engine's language, without its id and its owner.
pub fn check_order(
    listings: &Listings,
    post_only: PostOnly,
    order: &NewOrderSingle,
) -> Result<(usize, NewOrder), Refusal> {
    let place = listings.place(&order.symbol).ok_or_else(|| Refusal {
        reason: ord_rej_reason::UNKNOWN_SYMBOL,
        text: not_traded(listings, &order.symbol),
    })?;
    let listing = &listings.all()[place];
    let instrument = &listing.instrument;
    let price = match order.order_type {
        OrderType::Market => HalfTicks(0),
        OrderType::Limit => within_bands(listing, on_tick(instrument, "Price", order.price)?)?,
    };
    let lots = whole_lots(instrument, "OrderQty", order.qty)?;
    let entered = NewOrder::limit(OrderId(0), 0, order.side, price, lots);
    let mut entered = NewOrder { order_type: order.order_type, ..entered };
    entered.time_in_force = order.time_in_force;
    if order.stop_price.is_some() || order.max_floor.is_some() || order.flags != OrderFlags::NONE {
        entered = with_terms(instrument, post_only, order, entered)?;
    }
    Ok((place, entered))
}

/// The same with a trigger, a display and flags.
#[cold]
fn with_terms(
    instrument: &Instrument,
    post_only: PostOnly,
    order: &NewOrderSingle,
    mut entered: NewOrder,
) -> Result<NewOrder, Refusal> {
    if order.stop_price.is_some() {
        entered = entered.stop(on_tick(instrument, "StopPx", order.stop_price)?);
    }
    if let Some(shown) = order.max_floor {
        entered = entered.iceberg(whole_lots(instrument, "MaxFloor", shown)?);
    }
    if order.flags.contains(OrderFlags::REDUCE_ONLY) {
        let text = "reduce-only is not offered: the venue keeps no positions".to_owned();
        return Err(Refusal::other(text));
    }
    if order.flags.contains(OrderFlags::POST_ONLY) {
        entered = entered.post_only(post_only);
    }
    Ok(entered)
}

fn whole_lots(instrument: &Instrument, field: &str, qty: Qty) -> Result<Lots, Refusal> {
    match instrument.lots(qty) {
        Ok(lots) if lots > Lots::ZERO => Ok(lots),
        _ => Err(Refusal {
            reason: ord_rej_reason::INCORRECT_QUANTITY,
            text: format!("{field} {qty} is no positive multiple of the lot {}", instrument.lot()),
        }),
    }
}

fn not_traded(listings: &Listings, symbol: &ShortText) -> String {
    match listings.all() {
        [only] => format!("Symbol {symbol} is not traded here: only {} is", only.symbol),
        all => format!("Symbol {symbol} is not one of the {} that are traded here", all.len()),
    }
}

fn within_bands(of: &Listing, price: HalfTicks) -> Result<HalfTicks, Refusal> {
    let Some((low, high)) = of.bands.passed(&of.instrument, price) else { return Ok(price) };
    let price = of.instrument.price(price).unwrap_or_default();
    Err(Refusal::other(format!("Price {price} is outside of the band from {low} to {high}")))
}

/// The engine takes whole ticks only.
fn on_tick(
    instrument: &Instrument,
    field: &str,
    price: Option<Price>,
) -> Result<HalfTicks, Refusal> {
    let price = price.unwrap_or(Price(0));
    let half_ticks = instrument.half_ticks(price);
    match half_ticks {
        Ok(half_ticks) if half_ticks.0 > 0 && half_ticks.0 % 2 == 0 => Ok(half_ticks),
        Ok(_) | Err(InstrumentError::OffTick) => Err(Refusal::other(format!(
            "{field} {price} is no positive multiple of the tick {}",
            instrument.tick()
        ))),
        Err(_) => Err(Refusal::other(format!("{field} {price} is out of range"))),
    }
}
