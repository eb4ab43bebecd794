//! The venue that speaks as Binance's spot market.

use taut_web_venue::binance::{Binance, BinanceSettings};
use taut_web_venue::{BinanceAccountSettings, SymbolSettings};

use crate::error::RunnerError;
use crate::service::web_venue::file::{Dialect, Listing, WebVenueFile};

/// A Binance venue's file with every key.
pub const BINANCE_VENUE_SAMPLE: &str = include_str!("../binance-venue.toml");

/// A venue as Binance's spot market. All that a file can say ([`BINANCE_VENUE_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("../binance-venue.toml")]
/// ```
pub type BinanceVenueFile = WebVenueFile<SymbolSettings, BinanceAccountSettings>;

impl Dialect for BinanceVenueFile {
    type Front = Binance;

    const NAME: &'static str = "binance";

    fn front(&self) -> Result<Binance, String> {
        let (instruments, accounts) = (self.instruments.clone(), self.accounts.clone());
        Binance::new(&BinanceSettings { instruments, accounts })
    }

    fn listings(&self) -> Vec<Listing<'_>> {
        self.instruments.iter().map(listing).collect()
    }
}

fn listing(it: &SymbolSettings) -> Listing<'_> {
    Listing {
        name: &it.name,
        tick: ("tick", &it.tick),
        lot: ("step", &it.step),
        start: ("start_price", &it.start_price),
        weight: it.weight,
    }
}

/// Runs a venue as Binance until a stop signal comes. `ready` is called once it listens.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] when it cannot be
/// opened, or fails.
pub fn serve_binance_venue(
    file: &BinanceVenueFile,
    ready: impl FnOnce(&str),
) -> Result<(), RunnerError> {
    file.serve(ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_right() {
        let file: BinanceVenueFile = toml::from_str(BINANCE_VENUE_SAMPLE).expect("settings");
        file.check().expect("a venue");
        assert!(file.instruments.len() > 3);
    }
}
