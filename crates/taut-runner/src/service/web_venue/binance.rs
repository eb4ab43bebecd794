//! The venue that speaks as Binance's spot market.

use taut_log::Entry;
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
        "stream-sbe.binance.com",
        "fstream.binance.com",
        "ws-fapi.binance.com",
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
        "stream-sbe.testnet.binance.vision",
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

/// Runs a venue as Binance until a stop signal comes. `heard` is told once it
/// listens, and how it fares.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] when it cannot be
/// opened, or fails.
pub fn serve_binance_venue(
    file: &BinanceVenueFile,
    heard: impl Fn(&Entry),
) -> Result<(), RunnerError> {
    file.serve(heard)
}

/// Runs a program that finds a venue of this file in the place of Binance, until it ends; the code
/// that it ended with. For a process of one thread: it moves into namespaces of its own.
///
/// # Errors
/// As [`serve_binance_venue`]; and where there are no such namespaces, or no such program.
pub fn serve_captive_binance(
    file: &BinanceVenueFile,
    captive: &Captive,
    heard: impl Fn(&Entry),
) -> Result<u8, RunnerError> {
    file.serve_captive(captive, heard)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use taut_fix::Now;
    use taut_sys::{monotonic, utc};
    use taut_testkit::Deadline;
    use taut_types::{InstrumentId, Lots, Price};

    use super::*;
    use crate::mistakes::FileSettings;
    use crate::service::recordings::RecordingSettings;

    #[test]
    fn the_sample_is_right() {
        let file: BinanceVenueFile = toml::from_str(BINANCE_VENUE_SAMPLE).expect("settings");
        file.check().expect("a venue");
        assert!(file.instruments.len() > 3);
    }

    /// A venue whose file is the sample, with this recording of BTCUSDT.
    fn recorded(text: &str, repeat: bool) -> (tempfile::TempDir, BinanceVenueFile) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("day"), text).expect("written");
        let mut file: BinanceVenueFile = toml::from_str(BINANCE_VENUE_SAMPLE).expect("settings");
        file.listen = vec![([127, 0, 0, 1], 0).into()];
        file.flow.commands_per_second = 0;
        file.recordings = vec![RecordingSettings {
            instrument: "BTCUSDT".to_owned(),
            file: "day".into(),
            speed: 1_000.0,
            repeat,
        }];
        file.start_paths_at(folder.path());
        file.check().expect("a venue");
        (folder, file)
    }

    const RECORDING: &str = concat!(
        r#"1000 {"lastUpdateId":9,"bids":[["60000.5","0.1"]],"asks":[["60001.5","0.2"]]}"#,
        "\n",
        r#"2000 {"e":"depthUpdate","E":1,"s":"BTCUSDT","U":10,"u":10,"#,
        r#""b":[["60001.0","0.3"]],"a":[]}"#,
        "\n",
        r#"3000 {"e":"depthUpdate","E":1,"s":"BTCUSDT","U":11,"u":11,"#,
        r#""b":[],"a":[["60001.5","0.4"]]}"#,
        "\n",
    );

    #[test]
    fn a_recording_is_the_market_of_its_instrument() {
        for repeat in [false, true] {
            let (_folder, file) = recorded(RECORDING, repeat);
            let (mut venue, _unread) = file.open((), 0).expect("a venue");
            let bitcoin = InstrumentId(0);
            let state = venue.book_state(bitcoin).expect("a book");
            let level = |price: &str, lots| {
                Some((Price::parse(price.as_bytes()).expect("a price"), Lots(lots)))
            };
            let first = (level("60000.5", 10_000), level("60001.5", 20_000), 2);
            assert_eq!((state.bid, state.offer, state.levels), first);
            assert!(venue.book_state(InstrumentId(1)).is_some_and(|crowd| crowd.levels > 10));
            venue.start_flow(monotonic());
            let (deadline, times) = (Deadline::default(), if repeat { 3 } else { 1 });
            while venue.replay_ends(0) < times {
                venue.poll(Now { mono: monotonic(), utc: utc() }).expect("it goes on");
                deadline.check("the end of the recording", String::new);
            }
            if !repeat {
                let state = venue.book_state(bitcoin).expect("a book");
                let last = (level("60001", 30_000), level("60001.5", 40_000), 3);
                assert_eq!((state.bid, state.offer, state.levels), last);
            }
        }
    }

    #[test]
    fn a_recording_that_does_not_fit_is_an_error_before_anything_is_opened() {
        for (from, to, what) in [
            ("60001.0", "60001.005", "day:2: the price 60001.005 is no multiple"),
            ("\"BTCUSDT\"", "\"ETHUSDT\"", "day:2: the frame is of ETHUSDT"),
        ] {
            let (_folder, file) = recorded(&RECORDING.replace(from, to), false);
            let error = file.open((), 0).map(drop).expect_err("a wrong recording");
            assert!(matches!(error, RunnerError::Settings(_)), "{error}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
