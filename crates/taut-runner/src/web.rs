//! A run whose simulator speaks as somebody else's venue: the same files as those of a venue and of
//! a gateway that run by themselves, filled in from the run's settings.
//!
//! What a venue has of its own is in its module here, and beside it only where [`VenueKind`] is
//! matched.

mod binance;
mod deribit;
mod doors;
mod parts;

use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd};

use taut_sys::{SharedMemory, Wait};

use self::doors::Found;
use self::parts::{CLIENT, traded};
use crate::control::WebPort;
use crate::error::RunnerError;
use crate::service::{
    CredentialSettings, GatewayFile, GatewayRisk, SecretSource, SessionKeys, StrategySettings,
};
use crate::settings::{RiskSettings, Settings, Simulator, SimulatorOrders, VenueKind};

pub use binance::venue_file as binance_venue_file;
pub use deribit::venue_file as deribit_venue_file;
pub use doors::{RunCertificate, listen_as_asked};

/// How market data travel.
pub fn market_data(simulator: &Simulator) -> String {
    format!("JSON over WebSocket{}", wire(simulator))
}

/// How orders travel.
pub fn orders(simulator: &Simulator) -> String {
    let protocol = match simulator.orders.unwrap_or_default() {
        SimulatorOrders::Json => "JSON over WebSocket",
        SimulatorOrders::Fix => "FIX 4.4",
    };
    format!("{protocol}{}", wire(simulator))
}

const fn wire(simulator: &Simulator) -> &'static str {
    if simulator.tls { " over TLS on loopback" } else { " on loopback" }
}

/// The file of a run's gateway. It goes with the memory that it names as the place of its secret
/// and of the root that it trusts.
pub struct RunGateway {
    pub file: GatewayFile,
    _secret: SharedMemory,
    _root: Option<SharedMemory>,
}

impl RunGateway {
    /// A gateway at the simulator, which listens there for WebSocket and for orders.
    pub fn new(
        settings: &Settings,
        simulator: &Simulator,
        (web, orders): (&WebPort, SocketAddrV4),
        wait: Wait,
    ) -> Result<Self, RunnerError> {
        let kind = simulator.kind;
        let secret = match kind {
            VenueKind::Taut | VenueKind::Deribit => parts::SECRET,
            VenueKind::Binance => binance::SECRET,
        };
        let secret = SharedMemory::holding("taut-secret", secret.as_bytes())
            .map_err(|error| RunnerError::run("the key", error))?;
        let root = web.root.as_ref().map(|pem| SharedMemory::holding("taut-root", pem.as_bytes()));
        let root = root.transpose().map_err(|error| RunnerError::run("the root", error))?;
        let venue = Found::new(simulator, (web, orders), root.as_ref());
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
                file.deribit = Some(deribit::keys(&venue));
            }
            VenueKind::Binance => {
                credentials(binance::CREDENTIALS);
                file.binance = Some(binance::keys(&venue));
            }
        }
        Ok(Self { file, _secret: secret, _root: root })
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
        proxy: None,
        feed_backup: None,
        instruments: traded(settings).to_vec(),
        users: Vec::new(),
        accounts: Vec::new(),
        symbols: Vec::new(),
        strategies: vec![strategy],
        session: SessionKeys::default(),
        journal: None,
        record: None,
        record_in: None,
        drop_copy: None,
        drop_copy_reader: None,
        gateway: settings.gateway,
        risk: risk(&settings.risk),
        outliers: settings.outliers,
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
    use crate::settings::InstrumentSettings;

    const WEB: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 8080);
    const ORDERS: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 9881);

    /// The settings of a run, its gateway's file and its venue's doors, which are right over every
    /// wire.
    fn run_at(kind: VenueKind, instrument: InstrumentSettings) -> (Settings, Simulator) {
        for (over, tls) in [(SimulatorOrders::Fix, false), (SimulatorOrders::Fix, true)] {
            over_wire(kind, instrument.clone(), Some(over), tls);
        }
        over_wire(kind, instrument.clone(), None, true);
        over_wire(kind, instrument, None, false)
    }

    fn over_wire(
        kind: VenueKind,
        instrument: InstrumentSettings,
        orders: Option<SimulatorOrders>,
        tls: bool,
    ) -> (Settings, Simulator) {
        let simulator = Simulator { kind, orders, tls, ..Simulator::default() };
        let settings =
            Settings { simulator: Some(simulator.clone()), instrument, ..Settings::default() };
        settings.check().expect("settings");
        let certificate = tls.then(RunCertificate::new).transpose().expect("a certificate");
        let root = certificate.as_ref().map(|made| made.root.clone());
        let web = WebPort { at: WEB, root };
        let run = RunGateway::new(&settings, &simulator, (&web, ORDERS), Wait::Spin);
        let run = run.expect("a file");
        run.file.check().expect("a gateway");
        assert_eq!(run.file.deribit.is_some(), kind == VenueKind::Deribit);
        let (urls, fix, fix_tls, ca) = match (run.file.deribit, run.file.binance) {
            (Some(it), _) => (vec![it.url], it.fix, it.fix_tls, it.ca),
            (_, Some(it)) => {
                let urls = [it.streams, it.api].map(|url| url.expect("a URL"));
                (urls.to_vec(), it.fix, it.fix_tls, it.ca)
            }
            other => panic!("{other:?}"),
        };
        let scheme = if tls { "wss://127.0.0.1:8080" } else { "ws://127.0.0.1:8080" };
        assert!(urls.iter().all(|url| url.starts_with(scheme)), "{urls:?}");
        assert_eq!((fix.as_str(), fix_tls, ca.is_some()), ("127.0.0.1:9881", tls, tls));
        (settings, simulator)
    }

    #[test]
    fn a_venue_listens_where_its_run_asks_for_and_reads_its_certificate_from_memory() {
        let certificate = RunCertificate::new().expect("a certificate");
        let ports =
            |all: &[std::net::SocketAddr]| all.iter().map(|it| it.port()).collect::<Vec<_>>();
        for (orders, port, web, fix) in
            [(None, 7, vec![7], vec![]), (Some(SimulatorOrders::Fix), 7, vec![0], vec![7])]
        {
            let kind = VenueKind::Deribit;
            let simulator = Simulator { kind, orders, port, ..Simulator::default() };
            let (settings, _) = over_wire(kind, InstrumentSettings::default(), orders, false);
            let mut file = deribit_venue_file(&settings, &simulator).expect("a file");
            listen_as_asked(&mut file, &simulator, None);
            assert_eq!((ports(&file.listen), ports(&file.venue_fix)), (web.clone(), fix.clone()));
            listen_as_asked(&mut file, &simulator, Some(&certificate));
            file.check().expect("a venue");
            assert!(file.listen.is_empty() && file.venue_fix.is_empty(), "nothing is plain");
            let tls = file.tls.expect("over TLS");
            assert_eq!((ports(&tls.listen), ports(&tls.fix)), (web, fix));
            let chain = std::fs::read_to_string(tls.chain).expect("a file");
            assert!(chain.starts_with("-----BEGIN CERTIFICATE-----"), "{chain}");
            let key = std::fs::read_to_string(tls.key).expect("a file");
            assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"));
        }
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
