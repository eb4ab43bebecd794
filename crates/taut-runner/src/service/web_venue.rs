//! A venue that speaks as one that strangers' clients know.

mod binance;
mod captive;
mod deribit;
mod file;

pub use binance::{
    BINANCE_VENUE_SAMPLE, BinanceVenueFile, serve_binance_venue, serve_captive_binance,
};
pub use captive::Captive;
pub(crate) use captive::Issued;
pub use deribit::{
    DERIBIT_VENUE_SAMPLE, DeribitVenueFile, serve_captive_deribit, serve_deribit_venue,
};
pub(crate) use file::{Dialect, WebVenue};
pub use file::{TlsKeys, WebVenueFile};
