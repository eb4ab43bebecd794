//! A venue that speaks as one that strangers' clients know.

mod binance;
mod control;
mod deribit;
mod file;

pub use binance::{BINANCE_VENUE_SAMPLE, BinanceVenueFile, serve_binance_venue};
pub use control::{FaultsReport, venue_faults};
pub use deribit::{DERIBIT_VENUE_SAMPLE, DeribitVenueFile, serve_deribit_venue};
pub(crate) use file::{Dialect, WebVenue};
pub use file::{TlsKeys, WebVenueFile};
