//! Where the venue of a run listens, and how its gateway finds it there.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use taut_sys::{SharedMemory, SysError};

use crate::control::WebPort;
use crate::error::RunnerError;
use crate::service::{Issued, TlsKeys, WebVenueFile};
use crate::settings::{Simulator, SimulatorOrders};

/// Whom the certificate is for.
const NAME: &str = "127.0.0.1";

/// A venue's certificate for one run, by a root that nobody else has: in memory without a name,
/// which goes with this.
pub struct RunCertificate {
    chain: SharedMemory,
    key: SharedMemory,
    /// The root, PEM.
    pub root: String,
}

impl RunCertificate {
    /// One of its own.
    pub fn new() -> Result<Self, RunnerError> {
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("the certificate", error);
        let issued = Issued::new(&[NAME]).map_err(|error| failed(&error))?;
        let held = |name: &str, text: &str| {
            SharedMemory::holding(name, text.as_bytes()).map_err(|error: SysError| failed(&error))
        };
        let (chain, key) = (held("taut-chain", &issued.chain)?, held("taut-key", &issued.key)?);
        Ok(Self { chain, key, root: issued.root })
    }
}

/// Memory as a file of this process.
pub fn path_of(memory: &SharedMemory) -> PathBuf {
    format!("/proc/self/fd/{}", memory.as_fd().as_raw_fd()).into()
}

/// Has a venue listen as the run asks for: for WebSocket, and, where orders go over FIX, for that;
/// all of it over TLS as whom the certificate is for.
pub fn listen_as_asked<M, A>(
    file: &mut WebVenueFile<M, A>,
    simulator: &Simulator,
    certificate: Option<&RunCertificate>,
) {
    let at = |port| vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))];
    let (web, fix) = match simulator.orders.unwrap_or_default() {
        SimulatorOrders::Json => (at(simulator.port), Vec::new()),
        SimulatorOrders::Fix => (at(0), at(simulator.port)),
    };
    match certificate {
        None => (file.listen, file.venue_fix) = (web, fix),
        Some(RunCertificate { chain, key, .. }) => {
            let (chain, key) = (path_of(chain), path_of(key));
            (file.listen, file.venue_fix) = (Vec::new(), Vec::new());
            file.tls = Some(TlsKeys { listen: web, fix, chain, key });
        }
    }
}

/// Where a run's gateway finds its venue.
pub struct Found {
    web: SocketAddrV4,
    orders: SocketAddrV4,
    /// What orders go over.
    pub over: SimulatorOrders,
    /// The root of its certificate, where it speaks TLS.
    pub ca: Option<PathBuf>,
}

impl Found {
    /// The venue of these settings, which says that it is there, with the memory that holds its
    /// root.
    pub fn new(
        simulator: &Simulator,
        (web, orders): (&WebPort, SocketAddrV4),
        root: Option<&SharedMemory>,
    ) -> Self {
        let over = simulator.orders.unwrap_or_default();
        Self { web: web.at, orders, over, ca: root.map(path_of) }
    }

    /// The URL of a WebSocket there.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.ca.is_some() { "wss" } else { "ws" };
        format!("{scheme}://{}{path}", self.web)
    }

    /// `host:port` of order entry.
    pub fn orders(&self) -> String {
        self.orders.to_string()
    }
}
