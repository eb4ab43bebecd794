//! The venue that speaks as Deribit.

use taut_log::Entry;
use taut_web_venue::deribit::{Deribit, DeribitSettings};
use taut_web_venue::{AccountSettings, MarketSettings};

use crate::error::RunnerError;
use crate::service::web_venue::captive::Captive;
use crate::service::web_venue::file::{Dialect, Listing, WebVenueFile};

/// A Deribit venue's file with every key.
pub const DERIBIT_VENUE_SAMPLE: &str = include_str!("../deribit-venue.toml");

/// A venue as Deribit. All that a file can say ([`DERIBIT_VENUE_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("../deribit-venue.toml")]
/// ```
pub type DeribitVenueFile = WebVenueFile<MarketSettings, AccountSettings>;

impl Dialect for DeribitVenueFile {
    type Front = Deribit;

    const NAME: &'static str = "deribit";
    const HOSTS: &'static [&'static str] = &[
        "www.deribit.com",
        "deribit.com",
        "test.deribit.com",
        "history.deribit.com",
        "fix.deribit.com",
        "fix-test.deribit.com",
    ];
    const PORTS: &'static [u16] = &[443];
    const FIX_PORTS: &'static [u16] = &[9883];
    const FIX_PLAIN_PORTS: &'static [u16] = &[9881];
    const HALTS: bool = true;

    fn front(&self) -> Result<Deribit, String> {
        let (instruments, accounts) = (self.instruments.clone(), self.accounts.clone());
        Deribit::new(&DeribitSettings { instruments, accounts })
    }

    fn listings(&self) -> Vec<Listing<'_>> {
        self.instruments.iter().map(listing).collect()
    }
}

fn listing(it: &MarketSettings) -> Listing<'_> {
    Listing {
        name: &it.name,
        tick: ("tick", &it.tick),
        lot: ("min_trade_amount", &it.min_trade_amount),
        start: ("start_price", &it.start_price),
        weight: it.weight,
    }
}

/// Runs a venue as Deribit until a stop signal comes. `heard` is told once it
/// listens, and how it fares.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] when it cannot be
/// opened, or fails.
pub fn serve_deribit_venue(
    file: &DeribitVenueFile,
    heard: impl Fn(&Entry),
) -> Result<(), RunnerError> {
    file.serve(heard)
}

/// Runs a program that finds a venue of this file in the place of Deribit, until it ends; the code
/// that it ended with. For a process of one thread: it moves into namespaces of its own.
///
/// # Errors
/// As [`serve_deribit_venue`]; and where there are no such namespaces, or no such program.
pub fn serve_captive_deribit(
    file: &DeribitVenueFile,
    captive: &Captive,
    heard: impl Fn(&Entry),
) -> Result<u8, RunnerError> {
    file.serve_captive(captive, heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_right() {
        let file: DeribitVenueFile = toml::from_str(DERIBIT_VENUE_SAMPLE).expect("settings");
        file.check().expect("a venue");
        assert!(file.instruments.len() > 3);
    }
}
