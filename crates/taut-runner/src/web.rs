//! A run whose simulator speaks as somebody else's venue: the same files as those of a venue and of
//! a gateway that run by themselves, filled in from the run's settings.
//!
//! What a venue has of its own is in its module here, and beside it only where [`VenueKind`] is
//! matched.

mod binance;
mod deribit;
mod parts;

use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd};

use taut_sys::{SharedMemory, Wait};

use self::parts::{CLIENT, traded};
use crate::error::RunnerError;
use crate::service::{
    CredentialSettings, GatewayFile, GatewayRisk, SecretSource, SessionKeys, StrategySettings,
};
use crate::settings::{RiskSettings, Settings, VenueKind};

pub use binance::venue_file as binance_venue_file;
pub use deribit::venue_file as deribit_venue_file;

/// How market data travel.
pub const MARKET_DATA: &str = "JSON over WebSocket on loopback";

/// The file of a run's gateway. It goes with the memory that it names as the place of its secret.
pub struct RunGateway {
    pub file: GatewayFile,
    _secret: SharedMemory,
}

impl RunGateway {
    /// A gateway at the venue that listens there.
    pub fn new(
        settings: &Settings,
        kind: VenueKind,
        at: SocketAddrV4,
        wait: Wait,
    ) -> Result<Self, RunnerError> {
        let secret = match kind {
            VenueKind::Taut | VenueKind::Deribit => parts::SECRET,
            VenueKind::Binance => binance::SECRET,
        };
        let secret = SharedMemory::holding("taut-secret", secret.as_bytes())
            .map_err(|error| RunnerError::run("the key", error))?;
        let fd = secret.as_fd().as_raw_fd().unsigned_abs();
        let mut file = plain_file(settings, wait);
        let mut credentials = |kind| {
            let (username, password) = (CLIENT.to_owned(), SecretSource::Fd(fd));
            file.session.credentials = Some(CredentialSettings { kind, username, password });
        };
        match kind {
            VenueKind::Taut => {
                let text = "taut's own venue needs no file".to_owned();
                return Err(RunnerError::Settings(text));
            }
            VenueKind::Deribit => {
                credentials(deribit::CREDENTIALS);
                file.deribit = Some(deribit::keys(at));
            }
            VenueKind::Binance => {
                credentials(binance::CREDENTIALS);
                file.binance = Some(binance::keys(at));
            }
        }
        Ok(Self { file, _secret: secret })
    }
}

/// A gateway's file without a venue.
fn plain_file(settings: &Settings, wait: Wait) -> GatewayFile {
    let strategy = StrategySettings { name: "strategy".to_owned(), ..StrategySettings::default() };
    GatewayFile {
        source: None,
        subscribe: Vec::new(),
        subscribed: None,
        room: None,
        is_paper: false,
        name: "run".to_owned(),
        control: None,
        wait: Some(wait),
        cpu: None,
        venue: None,
        deribit: None,
        binance: None,
        okx: None,
        feed_backup: None,
        instruments: traded(settings).to_vec(),
        users: Vec::new(),
        accounts: Vec::new(),
        symbols: Vec::new(),
        strategies: vec![strategy],
        session: SessionKeys::default(),
        journal: None,
        drop_copy: None,
        drop_copy_reader: None,
        gateway: settings.gateway,
        risk: risk(&settings.risk),
    }
}

fn risk(settings: &RiskSettings) -> GatewayRisk {
    let RiskSettings { collar_ppm, lots_max, position_lots_max, .. } = *settings;
    let RiskSettings { orders_per_second, orders_burst, open_orders_max, .. } = *settings;
    GatewayRisk {
        collar_ppm,
        lots_max,
        position_lots_max,
        orders_per_second,
        orders_burst,
        open_orders_max,
        ..GatewayRisk::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{InstrumentSettings, Simulator};

    /// The settings of a run, and its gateway's file, which is right.
    fn run_at(kind: VenueKind, instrument: InstrumentSettings) -> (Settings, Simulator) {
        let simulator = Simulator { kind, ..Simulator::default() };
        let settings =
            Settings { simulator: Some(simulator.clone()), instrument, ..Settings::default() };
        settings.check().expect("settings");
        let at = SocketAddrV4::new([127, 0, 0, 1].into(), 8080);
        let run = RunGateway::new(&settings, kind, at, Wait::Spin).expect("a file");
        run.file.check().expect("a gateway");
        (settings, simulator)
    }

    #[test]
    fn both_files_of_a_run_at_deribit_are_right_as_they_are() {
        let (settings, simulator) = run_at(VenueKind::Deribit, InstrumentSettings::default());
        let venue = deribit_venue_file(&settings, &simulator).expect("a file");
        venue.check().expect("a venue");
        assert_eq!((venue.flow.levels, venue.instruments.len()), (600, 1));
    }

    #[test]
    fn both_files_of_a_run_at_binance_are_right_as_they_are() {
        let instrument = InstrumentSettings {
            name: Some("BTCUSDT".to_owned()),
            lot_decimals: 5,
            ..InstrumentSettings::default()
        };
        let (settings, simulator) = run_at(VenueKind::Binance, instrument);
        let venue = binance_venue_file(&settings, &simulator).expect("a file");
        venue.check().expect("a venue");
        assert_eq!((venue.flow.levels, venue.instruments.len()), (600, 1));
        // A pair is named by what is traded and what is paid with.
        let settings = Settings { instrument: InstrumentSettings::default(), ..settings };
        let wrong = binance_venue_file(&settings, &simulator).expect_err("no pair");
        assert!(wrong.to_string().contains("ends in USDT"), "{wrong}");
    }
}
