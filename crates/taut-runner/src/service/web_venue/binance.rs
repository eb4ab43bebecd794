//! The venue that speaks as Binance's spot market.

use taut_web_venue::binance::{Binance, BinanceSettings};
use taut_web_venue::{BinanceAccountSettings, SymbolSettings};

use crate::error::RunnerError;
use crate::service::web_venue::captive::Captive;
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
    const HOSTS: &'static [&'static str] = &[
        "api.binance.com",
        "api1.binance.com",
        "api2.binance.com",
        "api3.binance.com",
        "api4.binance.com",
        "api-gcp.binance.com",
        "data-api.binance.vision",
        "fapi.binance.com",
        "dapi.binance.com",
        "stream.binance.com",
        "fix-oe.binance.com",
        "fix-dc.binance.com",
        "data-stream.binance.vision",
        "ws-api.binance.com",
        "demo-api.binance.com",
        "demo-ws-api.binance.com",
        "demo-stream.binance.com",
        "testnet.binance.vision",
        "api.testnet.binance.vision",
        "stream.testnet.binance.vision",
        "ws-api.testnet.binance.vision",
    ];
    const PORTS: &'static [u16] = &[443, 9443];
    const FIX_PORTS: &'static [u16] = &[9000];

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

/// Runs a program that finds a venue of this file in the place of Binance, until it ends; the code
/// that it ended with. For a process of one thread: it moves into namespaces of its own.
///
/// # Errors
/// As [`serve_binance_venue`]; and where there are no such namespaces, or no such program.
pub fn serve_captive_binance(
    file: &BinanceVenueFile,
    captive: &Captive,
    ready: impl FnOnce(&str),
) -> Result<u8, RunnerError> {
    file.serve_captive(captive, ready)
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
