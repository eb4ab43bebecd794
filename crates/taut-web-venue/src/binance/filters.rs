//! The filters of a symbol: told by `exchangeInfo`, and held against every order.

use serde_json::{Value, json};
use taut_types::Side;

use crate::binance::error::ApiError;
use crate::binance::market::Market;
use crate::binance::order::STP_MODES;
use crate::decimal::{fixed8, times};

/// Parts of an iceberg at the most.
const ICEBERG_PARTS: i64 = 10;
/// Amends of an order at the most.
pub const AMENDS_MAX: u32 = 10;

impl Market {
    /// The price in half ticks.
    pub fn check_price(&self, price: i128) -> Result<i64, ApiError> {
        let is_within = price >= self.sizes.tick && price <= self.sizes.max_price;
        let is_on_step = price % self.sizes.tick == 0;
        let half_ticks = self.book.half_ticks(price).filter(|_| is_within && is_on_step);
        half_ticks.ok_or_else(|| ApiError::filter("PRICE_FILTER"))
    }

    /// The lots of a quantity.
    pub fn check_quantity(&self, quantity: i128) -> Result<i64, ApiError> {
        let lots = self.book.lots(quantity).filter(|_| quantity <= self.sizes.max_quantity);
        lots.ok_or_else(|| ApiError::filter("LOT_SIZE"))
    }

    /// What an order is worth.
    pub fn check_notional(&self, lots: i64, price: i128) -> Result<(), ApiError> {
        let value = times(self.book.amount(lots), price);
        if value < self.sizes.min_notional { Err(ApiError::filter("NOTIONAL")) } else { Ok(()) }
    }

    /// The displayed part of an iceberg; zero is none.
    pub fn check_iceberg(&self, shown: i128, lots: i64) -> Result<Option<i64>, ApiError> {
        if shown == 0 {
            return Ok(None);
        }
        let shown = self.check_quantity(shown)?;
        if shown > lots {
            return Err(ApiError::new(-2010, "IcebergQty exceeds QTY."));
        }
        let parts = lots / shown + i64::from(lots % shown != 0);
        if parts > ICEBERG_PARTS {
            return Err(ApiError::filter("ICEBERG_PARTS"));
        }
        Ok(Some(shown))
    }

    /// As `exchangeInfo` describes it.
    pub fn description(&self) -> Value {
        let (settings, sizes) = (&self.settings, &self.sizes);
        let modes: Vec<&str> = STP_MODES.iter().map(|(name, _)| *name).collect();
        json!({
            "symbol": settings.name,
            "status": if self.is_delisted { "BREAK" } else { "TRADING" },
            "baseAsset": settings.base,
            "baseAssetPrecision": 8,
            "quoteAsset": settings.quote,
            "quotePrecision": 8,
            "quoteAssetPrecision": 8,
            "baseCommissionPrecision": 8,
            "quoteCommissionPrecision": 8,
            "orderTypes": ["LIMIT", "LIMIT_MAKER", "MARKET"],
            "icebergAllowed": true,
            "ocoAllowed": false,
            "otoAllowed": false,
            "opoAllowed": false,
            "quoteOrderQtyMarketAllowed": true,
            "allowTrailingStop": false,
            "cancelReplaceAllowed": true,
            "amendAllowed": true,
            "pegInstructionsAllowed": false,
            "isSpotTradingAllowed": true,
            "isMarginTradingAllowed": false,
            "filters": [
                {
                    "filterType": "PRICE_FILTER",
                    "minPrice": fixed8(sizes.tick),
                    "maxPrice": fixed8(sizes.max_price),
                    "tickSize": fixed8(sizes.tick),
                },
                {
                    "filterType": "LOT_SIZE",
                    "minQty": fixed8(sizes.step),
                    "maxQty": fixed8(sizes.max_quantity),
                    "stepSize": fixed8(sizes.step),
                },
                { "filterType": "ICEBERG_PARTS", "limit": ICEBERG_PARTS },
                {
                    "filterType": "MARKET_LOT_SIZE",
                    "minQty": fixed8(0),
                    "maxQty": fixed8(sizes.max_quantity),
                    "stepSize": fixed8(0),
                },
                {
                    "filterType": "NOTIONAL",
                    "minNotional": fixed8(sizes.min_notional),
                    "applyMinToMarket": true,
                    "maxNotional": fixed8(sizes.max_price * 9),
                    "applyMaxToMarket": false,
                    "avgPriceMins": 5,
                },
                { "filterType": "MAX_NUM_ORDERS", "maxNumOrders": settings.max_orders },
                { "filterType": "MAX_NUM_ORDER_AMENDS", "maxNumOrderAmends": AMENDS_MAX },
            ],
            "permissions": [],
            "permissionSets": [["SPOT"]],
            "defaultSelfTradePreventionMode": "EXPIRE_MAKER",
            "allowedSelfTradePreventionModes": modes,
        })
    }

    /// What an order of this side would pay in its asset at the most: for a market order by the
    /// book as it stands.
    pub fn needs(&self, side: Side, price: Option<i128>, lots: i64) -> i128 {
        match (side, price) {
            (Side::Sell, _) => self.book.amount(lots),
            (Side::Buy, Some(price)) => times(self.book.amount(lots), price),
            (Side::Buy, None) => self.cost(side, lots).0,
        }
    }
}
