//! What the exchange and the trader must agree on.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Administratively scoped (RFC 2365); with no hops it stays on this host.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 84, 86);
const PORT: u16 = 19_880;

/// What is traded, in which steps.
pub const SYMBOL: &str = "AAPL";
pub const TICK: &str = "0.01";
/// The exchange's CompID.
pub const VENUE: &str = "EXCHANGE";

/// Where it is traded.
pub struct Market {
    /// Names the feed in every packet.
    pub stream_id: u32,
    pub orders: SocketAddrV4,
    pub incremental: SocketAddrV4,
    pub snapshot: SocketAddrV4,
}

impl Market {
    /// At a port and the two behind it.
    pub fn at(port: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let port: u16 = port.map_or(Ok(PORT), str::parse)?;
        let next = |n| port.checked_add(n).ok_or("the port must have two behind it");
        Ok(Self {
            stream_id: u32::from(port),
            orders: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            incremental: SocketAddrV4::new(GROUP, next(1)?),
            snapshot: SocketAddrV4::new(GROUP, next(2)?),
        })
    }
}
