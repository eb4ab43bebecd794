//! How market data travels: multicast on loopback, or unicast where there is none.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;

use taut_sys::{Address, DatagramOptions, Socket, SysError, interface_index, wait_readable};
use taut_types::Nanos;

use crate::demo::arguments::FeedArgument;
use crate::exit::Failure;

/// The receiving sockets, and where the venue must send.
#[derive(Debug)]
pub struct Feed {
    /// Increments arrive here: line A and line B.
    pub incremental: [Socket; 2],
    /// Snapshots arrive here.
    pub snapshot: Socket,
    /// Where increments go, line by line.
    pub incremental_address: [SocketAddrV4; 2],
    /// Where snapshots go.
    pub snapshot_address: SocketAddrV4,
    /// What was chosen and why, for people.
    pub description: String,
}

/// What the gateway may lag behind: 4 MiB is what Linux grants by default to whoever asks.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Administratively scoped groups (RFC 2365): they never leave the site, and here not the host.
/// Line A with the snapshots, and line B.
const GROUPS: [Ipv4Addr; 2] = [Ipv4Addr::new(239, 255, 84, 84), Ipv4Addr::new(239, 255, 84, 85)];
/// How long the probe's datagram may take on loopback.
const PROBE: Nanos = Nanos::from_millis(200);

impl Feed {
    /// Opens the sockets. The kernel picks the ports, so that two runs never meet.
    pub fn open(wanted: FeedArgument) -> Result<Self, Failure> {
        let multicast = match wanted {
            FeedArgument::Unicast => None,
            FeedArgument::Auto | FeedArgument::Multicast => Some(Self::multicast()),
        };
        match multicast {
            Some(Ok(feed)) => Ok(feed),
            Some(Err(error)) if wanted == FeedArgument::Multicast => Err(Failure::run(
                "--feed multicast",
                format!("{error}; this machine has no multicast on loopback, try --feed unicast"),
            )),
            Some(Err(error)) => {
                let why = format!("unicast, because multicast on loopback does not work: {error}");
                Self::unicast(&why)
            }
            None => Self::unicast("unicast, as asked for"),
        }
    }

    fn multicast() -> Result<Self, SysError> {
        let loopback = interface_index("lo")?;
        let open = |group: Ipv4Addr| -> Result<Socket, SysError> {
            let socket = receiver(group)?;
            socket.join(IpAddr::V4(group), loopback)?;
            Ok(socket)
        };
        let [a, b] = GROUPS;
        let feed = Self::with([open(a)?, open(b)?], open(a)?, "multicast on loopback")?;
        feed.probe()?;
        Ok(feed)
    }

    fn unicast(description: &str) -> Result<Self, Failure> {
        let open = || receiver(Ipv4Addr::LOCALHOST);
        let make = || {
            let feed = Self::with([open()?, open()?], open()?, description)?;
            feed.probe().map(|()| feed)
        };
        make().map_err(|error: SysError| {
            let remedy = "is the loopback interface up? (`ip link set lo up`)";
            Failure::run("market data", format!("no datagram passes 127.0.0.1: {error}; {remedy}"))
        })
    }

    fn with(
        incremental: [Socket; 2],
        snapshot: Socket,
        description: &str,
    ) -> Result<Self, SysError> {
        let [a, b] = &incremental;
        let granted = a.granted()?.receive_buffer_bytes;
        let incremental_address = [address_of(a)?, address_of(b)?];
        let snapshot_address = address_of(&snapshot)?;
        let description = format!(
            "{description}: line A {}, line B {}, snapshots {snapshot_address}, receive buffers \
             {} KiB",
            incremental_address[0],
            incremental_address[1],
            granted / 1024
        );
        Ok(Self { incremental, snapshot, incremental_address, snapshot_address, description })
    }

    /// Sends one datagram through each line and waits for it.
    fn probe(&self) -> Result<(), SysError> {
        for (socket, address) in self.incremental.iter().zip(self.incremental_address) {
            sender_to(address)?.send(b"probe")?;
            wait_readable(&[socket.as_fd()], Some(PROBE))?;
            let mut buffer = [0; 16];
            if socket.receive(&mut buffer)?.is_none() {
                return Err(SysError::timed_out("probe"));
            }
        }
        Ok(())
    }
}

/// A socket that sends to this address, multicast or not, on loopback only.
pub fn sender_to(address: SocketAddrV4) -> Result<Socket, SysError> {
    let socket = Socket::datagram(&any_port(Ipv4Addr::UNSPECIFIED), &DatagramOptions::default())?;
    if address.ip().is_multicast() {
        socket.set_outbound_ipv4(Ipv4Addr::LOCALHOST)?;
        socket.set_multicast_hops(0)?;
        socket.set_multicast_loop(true)?;
    }
    socket.set_peer(&SocketAddr::V4(address))?;
    Ok(socket)
}

/// A socket on loopback: the venue's for requests, or the gateway's, connected to that one.
pub fn request_socket(peer: Option<SocketAddrV4>) -> Result<Socket, SysError> {
    let options = DatagramOptions { peer: peer.map(SocketAddr::V4), ..DatagramOptions::default() };
    Socket::datagram(&any_port(Ipv4Addr::LOCALHOST), &options)
}

/// A socket that receives what comes to this address, on a port that the kernel picks.
fn receiver(at: Ipv4Addr) -> Result<Socket, SysError> {
    let receive_buffer_bytes = Some(RECEIVE_BUFFER_BYTES);
    let options = DatagramOptions { receive_buffer_bytes, ..DatagramOptions::default() };
    Socket::datagram(&any_port(at), &options)
}

const fn any_port(at: Ipv4Addr) -> Address {
    Address::Inet(SocketAddr::V4(SocketAddrV4::new(at, 0)))
}

/// Where a socket is bound.
pub fn address_of(socket: &Socket) -> Result<SocketAddrV4, SysError> {
    match socket.local_address()? {
        Address::Inet(SocketAddr::V4(address)) => Ok(address),
        _ => Err(SysError::timed_out("an IPv4 address")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicast_always_works_and_says_so() {
        let feed = Feed::open(FeedArgument::Unicast).expect("feed");
        assert!(feed.description.starts_with("unicast, as asked for"));
        let sender = sender_to(feed.snapshot_address).expect("sender");
        assert_eq!(sender.send(b"x"), Ok(Some(1)));
        assert_eq!(wait_readable(&[feed.snapshot.as_fd()], Some(PROBE)), Ok(true));
    }

    #[test]
    fn auto_opens_one_or_the_other() {
        assert!(Feed::open(FeedArgument::Auto).is_ok());
    }
}
