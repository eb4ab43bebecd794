//! What can be traded, and which orders the venue takes: `exchangeInfo`.

use taut_market_data::MarketDataError;
use taut_market_data::scan::Scanner;
use taut_types::{OrderType, Price, Qty};

use super::values::{flag, number, price, qty, tail, text};

/// The filters of a symbol. A bound that the venue does not have is zero.
///
/// Source: binance-spot-api-docs, "Filters".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// The lowest price: `PRICE_FILTER`.
    pub price_min: Price,
    /// The highest.
    pub price_max: Price,
    /// The step of prices.
    pub tick: Price,
    /// The smallest quantity: `LOT_SIZE`. At eight decimals, as all of them.
    pub quantity_min: i64,
    /// The largest.
    pub quantity_max: i64,
    /// The step of quantities.
    pub step: i64,
    /// The smallest quantity of a market order: `MARKET_LOT_SIZE`.
    pub market_quantity_min: i64,
    /// The largest.
    pub market_quantity_max: i64,
    /// The smallest worth of an order, in the quote asset: `NOTIONAL` and `MIN_NOTIONAL`.
    pub worth_min: i64,
    /// The largest.
    pub worth_max: i64,
    /// Orders that may be open at a time: `MAX_NUM_ORDERS`.
    pub orders_max: u64,
}

/// A filter that an order does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// `PRICE_FILTER`.
    Price,
    /// `LOT_SIZE`, or `MARKET_LOT_SIZE`.
    LotSize,
    /// `NOTIONAL`, or `MIN_NOTIONAL`.
    Notional,
}

impl Filters {
    /// Looks at an order as the venue will. The worth of a market order is not known here.
    ///
    /// # Errors
    /// The first filter that it does not pass.
    #[inline]
    pub fn check(&self, order_type: OrderType, price: Price, quantity: Qty) -> Result<(), Filter> {
        let Some(quantity) = quantity.with_decimals(super::values::DECIMALS) else {
            return Err(Filter::LotSize);
        };
        let quantity = quantity.mantissa;
        let is_within = |value: i64, min: i64, max: i64| value >= min && (max == 0 || value <= max);
        let is_step = |value: i64, step: i64| step == 0 || value % step == 0;
        if !is_within(quantity, self.quantity_min, self.quantity_max)
            || !is_step(quantity, self.step)
        {
            return Err(Filter::LotSize);
        }
        if order_type == OrderType::Market {
            let is_allowed =
                is_within(quantity, self.market_quantity_min, self.market_quantity_max);
            return if is_allowed { Ok(()) } else { Err(Filter::LotSize) };
        }
        self.check_price(price)?;
        // At seventeen decimals, and the bounds at eight.
        let worth = i128::from(price.0) * i128::from(quantity);
        let bound = |bound: i64| i128::from(bound) * i128::from(10_i64.pow(9));
        if worth < bound(self.worth_min) || (self.worth_max > 0 && worth > bound(self.worth_max)) {
            return Err(Filter::Notional);
        }
        Ok(())
    }

    /// Looks at a price alone, as the venue does at that of a stop, too.
    ///
    /// # Errors
    /// [`Filter::Price`] when it does not pass.
    #[inline]
    pub fn check_price(&self, price: Price) -> Result<(), Filter> {
        let (min, max, tick) = (self.price_min.0, self.price_max.0, self.tick.0);
        let is_within = price.0 >= min && (max == 0 || price.0 <= max);
        if is_within && (tick == 0 || price.0 % tick == 0) { Ok(()) } else { Err(Filter::Price) }
    }
}

/// A symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolAnswer<'a> {
    /// The venue's name of it.
    pub name: &'a [u8],
    /// `TRADING`, or why it is not traded.
    pub status: &'a [u8],
    /// What is bought and sold.
    pub base: &'a [u8],
    /// What it is paid with.
    pub quote: &'a [u8],
    /// Whether orders can be amended.
    pub can_amend: bool,
    /// Which orders it takes.
    pub filters: Filters,
}

/// The answer to `exchangeInfo`: symbols. Nothing is told of one that is malformed anywhere.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are none.
pub fn read_symbols<'a>(
    body: &'a [u8],
    mut visit: impl FnMut(SymbolAnswer<'a>),
) -> Result<(), MarketDataError> {
    let all = |visit: &mut dyn FnMut(SymbolAnswer<'a>)| {
        let mut scanner = Scanner::new(body);
        let read = scanner.object(|scanner, key| match key {
            b"symbols" => scanner.array(|scanner| symbol(scanner).map(&mut *visit)),
            _ => scanner.skip_value(),
        });
        read.ok_or_else(|| scanner.error())
    };
    all(&mut |_| ())?;
    all(&mut visit)
}

fn symbol<'a>(scanner: &mut Scanner<'a>) -> Option<SymbolAnswer<'a>> {
    let mut symbol = SymbolAnswer::default();
    scanner.object(|scanner, key| {
        match key {
            b"symbol" => symbol.name = text(scanner)?,
            b"status" => symbol.status = text(scanner)?,
            b"baseAsset" => symbol.base = text(scanner)?,
            b"quoteAsset" => symbol.quote = text(scanner)?,
            b"allowAmend" | b"amendAllowed" => symbol.can_amend = flag(scanner)?,
            b"filters" => scanner.array(|scanner| filter(tail(scanner)?, &mut symbol.filters))?,
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    Some(symbol)
}

/// A filter's fields, which mean what its type says: the type may stand behind them.
fn filter(object: &[u8], filters: &mut Filters) -> Option<()> {
    let mut kind: &[u8] = b"";
    Scanner::new(object).object(|scanner, key| {
        match key {
            b"filterType" => kind = text(scanner)?,
            _ => scanner.skip_value()?,
        }
        Some(())
    })?;
    Scanner::new(object).object(|scanner, key| {
        let as_price = |scanner: &mut Scanner<'_>| Some(price(scanner)?.unwrap_or_default());
        let as_qty = |scanner: &mut Scanner<'_>| Some(qty(scanner)?.map_or(0, |qty| qty.mantissa));
        match (kind, key) {
            (b"PRICE_FILTER", b"minPrice") => filters.price_min = as_price(scanner)?,
            (b"PRICE_FILTER", b"maxPrice") => filters.price_max = as_price(scanner)?,
            (b"PRICE_FILTER", b"tickSize") => filters.tick = as_price(scanner)?,
            (b"LOT_SIZE", b"minQty") => filters.quantity_min = as_qty(scanner)?,
            (b"LOT_SIZE", b"maxQty") => filters.quantity_max = as_qty(scanner)?,
            (b"LOT_SIZE", b"stepSize") => filters.step = as_qty(scanner)?,
            (b"MARKET_LOT_SIZE", b"minQty") => filters.market_quantity_min = as_qty(scanner)?,
            (b"MARKET_LOT_SIZE", b"maxQty") => filters.market_quantity_max = as_qty(scanner)?,
            (b"NOTIONAL" | b"MIN_NOTIONAL", b"minNotional") => {
                filters.worth_min = filters.worth_min.max(as_qty(scanner)?);
            }
            (b"NOTIONAL", b"maxNotional") => filters.worth_max = as_qty(scanner)?,
            (b"MAX_NUM_ORDERS", b"maxNumOrders") => {
                filters.orders_max = number(scanner)?.unwrap_or(0);
            }
            _ => scanner.skip_value()?,
        }
        Some(())
    })
}
