//! The nouns of taut: time, prices, quantities, sides and identities.
//!
//! Money is never a float here. A [`Price`] is an `i64` at 1e-9, the interchange unit; an engine or
//! a book works in [`HalfTicks`] and [`Lots`] of one [`Instrument`], which owns the checked
//! conversions between the two. Times are [`Nanos`]: `i64` nanoseconds on a clock that the context
//! names (monotonic inside a host, UTC between hosts).
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod decimal;
mod fee_rates;
mod host;
mod ids;
mod instrument;
mod instrument_error;
mod nanos;
mod order;
mod price;
mod request_id;
mod side;
mod symbol;
mod tick_table;

pub use decimal::{
    DECIMAL_BYTES_MAX, DecimalError, DecimalForm, format_decimal, leading_digits, parse_decimal,
    parse_decimal_prefix,
};
pub use fee_rates::FeeRates;
pub use host::Host;
pub use ids::{
    AccountId, ClientOrderId, InstrumentId, OrderId, SequenceNumber, StrategyId, UserId,
};
pub use instrument::{ContractKind, Instrument};
pub use instrument_error::InstrumentError;
pub use nanos::Nanos;
pub use order::{OrderFlags, OrderTerms, OrderType, TimeInForce};
pub use price::{HalfTicks, Lots, Price, Qty};
pub use request_id::RequestId;
pub use side::Side;
pub use symbol::{SYMBOL_BYTES_MAX, Symbol};
pub use tick_table::{TickStep, TickTable};
