//! The gateway's feed sockets: on loopback, from the simulator, or joined to a venue's groups.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};
use taut_sys::{Address, DatagramOptions, Socket, SysError, interface_index, wait_readable};
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::settings::{FeedTransport, RemoteVenue};

/// The receiving sockets.
#[derive(Debug)]
pub struct Feed {
    /// Increments arrive here: line A.
    pub incremental: Socket,
    /// Line B.
    pub incremental_b: Option<Socket>,
    /// Snapshots arrive here.
    pub snapshot: Socket,
    /// What was chosen and why, for people.
    pub description: String,
}

/// Where a simulator must send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedAddresses {
    /// Increments, line by line.
    pub incremental: [SocketAddrV4; 2],
    /// Snapshots.
    pub snapshot: SocketAddrV4,
}

/// What the gateway may lag behind: 4 MiB is what Linux grants by default to whoever asks.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Administratively scoped groups (RFC 2365): they never leave the site, and here not the host.
/// Line A with the snapshots, and line B.
const GROUPS: [Ipv4Addr; 2] = [Ipv4Addr::new(239, 255, 84, 84), Ipv4Addr::new(239, 255, 84, 85)];
/// How long the probe's datagram may take on loopback.
const PROBE: Nanos = Nanos::from_millis(200);

impl Feed {
    /// Joins the groups of a venue that runs elsewhere, or binds the addresses that it sends to.
    pub fn join(venue: &RemoteVenue) -> Result<Self, RunnerError> {
        let open = |key: &str, at: SocketAddrV4| joined_for(venue, key, at);
        let line_b = venue.incremental_b;
        let mut description = format!("on {}: line A {}", venue.interface, venue.incremental);
        if let Some(line_b) = line_b {
            description.push_str(&format!(", line B {line_b}"));
        }
        description.push_str(&format!(", snapshots {}", venue.snapshot));
        Ok(Self {
            incremental: open("incremental", venue.incremental)?,
            incremental_b: line_b.map(|at| open("incremental_b", at)).transpose()?,
            snapshot: open("snapshot", venue.snapshot)?,
            description,
        })
    }

    /// Joins the group of a venue's snapshots, or binds their address: of an address of this host
    /// only one socket hears, of a group all.
    pub fn join_snapshots(venue: &RemoteVenue) -> Result<Socket, RunnerError> {
        joined_for(venue, "snapshot", venue.snapshot)
    }

    /// Opens the sockets that a simulator sends to. The kernel picks the ports, so that two runs
    /// never meet.
    pub fn open(wanted: FeedTransport) -> Result<(Self, FeedAddresses), RunnerError> {
        let multicast = match wanted {
            FeedTransport::Unicast => None,
            FeedTransport::Auto | FeedTransport::Multicast => Some(Self::multicast()),
        };
        match multicast {
            Some(Ok(feed)) => Ok(feed),
            Some(Err(error)) if wanted == FeedTransport::Multicast => Err(RunnerError::run(
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

    fn multicast() -> Result<(Self, FeedAddresses), SysError> {
        let loopback = interface_index("lo")?;
        let open = |group: Ipv4Addr| -> Result<Socket, SysError> {
            let socket = receiver(group)?;
            // The port is this run's own; but other programs of this host may listen in.
            socket.share_address()?;
            socket.join(IpAddr::V4(group), loopback)?;
            Ok(socket)
        };
        let [a, b] = GROUPS;
        Self::with([open(a)?, open(b)?], open(a)?, "multicast on loopback")
    }

    fn unicast(description: &str) -> Result<(Self, FeedAddresses), RunnerError> {
        let open = || receiver(Ipv4Addr::LOCALHOST);
        let make = || Self::with([open()?, open()?], open()?, description);
        make().map_err(|error: SysError| {
            let remedy = "is the loopback interface up? (`ip link set lo up`)";
            RunnerError::run(
                "market data",
                format!("no datagram passes 127.0.0.1: {error}; {remedy}"),
            )
        })
    }

    fn with(
        [a, b]: [Socket; 2],
        snapshot: Socket,
        description: &str,
    ) -> Result<(Self, FeedAddresses), SysError> {
        let granted = a.granted()?.receive_buffer_bytes;
        let addresses = FeedAddresses {
            incremental: [address_of(&a)?, address_of(&b)?],
            snapshot: address_of(&snapshot)?,
        };
        let description = format!(
            "{description}: line A {}, line B {}, snapshots {}, receive buffers {} KiB",
            addresses.incremental[0],
            addresses.incremental[1],
            addresses.snapshot,
            granted / 1024
        );
        probe(&a, addresses.incremental[0])?;
        probe(&b, addresses.incremental[1])?;
        Ok((Self { incremental: a, incremental_b: Some(b), snapshot, description }, addresses))
    }
}

/// Sends one datagram to a line and waits for it.
fn probe(socket: &Socket, address: SocketAddrV4) -> Result<(), SysError> {
    sender_to(address)?.send(b"probe")?;
    wait_readable(&[socket.as_fd()], Some(PROBE))?;
    match socket.receive(&mut [0; 16])? {
        Some(_) => Ok(()),
        None => Err(SysError::timed_out("probe")),
    }
}

/// A socket that receives what a venue sends to this address.
fn joined(at: SocketAddrV4, interface: &str) -> Result<Socket, SysError> {
    let options = DatagramOptions {
        receive_buffer_bytes: Some(RECEIVE_BUFFER_BYTES),
        // Other programs of this host may follow the same feed.
        reuse_address: at.ip().is_multicast(),
        ..DatagramOptions::default()
    };
    let socket = Socket::datagram(&Address::Inet(SocketAddr::V4(at)), &options)?;
    if at.ip().is_multicast() {
        socket.join(IpAddr::V4(*at.ip()), interface_index(interface)?)?;
    }
    Ok(socket)
}

/// The same, for the key of the settings that has the address.
fn joined_for(venue: &RemoteVenue, key: &str, at: SocketAddrV4) -> Result<Socket, RunnerError> {
    joined(at, &venue.interface).map_err(|error| {
        let remedy = "is [venue] interface right, and the address one of this host?";
        RunnerError::run(format!("venue.{key} = {at}"), format!("{error}; {remedy}"))
    })
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

/// The simulator's socket for requests for packets, on loopback.
pub fn request_socket() -> Result<Socket, SysError> {
    Socket::datagram(&any_port(Ipv4Addr::LOCALHOST), &DatagramOptions::default())
}

/// The gateway's socket, connected to where the venue takes such requests.
pub fn asking_socket(venue: SocketAddrV4) -> Result<Socket, SysError> {
    let options = DatagramOptions { peer: Some(venue.into()), ..DatagramOptions::default() };
    Socket::datagram(&any_port(Ipv4Addr::UNSPECIFIED), &options)
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
        let (feed, addresses) = Feed::open(FeedTransport::Unicast).expect("feed");
        assert!(feed.description.starts_with("unicast, as asked for"));
        let sender = sender_to(addresses.snapshot).expect("sender");
        assert_eq!(sender.send(b"x"), Ok(Some(1)));
        assert_eq!(wait_readable(&[feed.snapshot.as_fd()], Some(PROBE)), Ok(true));
    }

    #[test]
    fn another_listener_hears_the_groups_of_a_demo_too() {
        let Ok((feed, addresses)) = Feed::open(FeedTransport::Multicast) else {
            println!("skipped: no multicast on loopback here");
            return;
        };
        for (own, at) in [
            (&feed.incremental, addresses.incremental[0]),
            (feed.incremental_b.as_ref().expect("line B"), addresses.incremental[1]),
            (&feed.snapshot, addresses.snapshot),
        ] {
            let other = joined(at, "lo").unwrap_or_else(|error| panic!("{at}: {error}"));
            sender_to(at).expect("sender").send(b"x").expect("sent");
            for socket in [own, &other] {
                let patience = Some(Nanos::from_secs(20));
                assert_eq!(wait_readable(&[socket.as_fd()], patience), Ok(true), "{at}");
            }
        }
    }

    #[test]
    fn auto_opens_one_or_the_other() {
        assert!(Feed::open(FeedTransport::Auto).is_ok());
    }

    #[test]
    fn a_venue_s_address_is_named_when_it_cannot_be_joined() {
        let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let group = SocketAddrV4::new(GROUPS[0], 9);
        let mut venue = RemoteVenue::new(at(1), group, at(0), "X");
        venue.interface = "nowhere0".to_owned();
        let said = Feed::join(&venue).expect_err("no such interface").to_string();
        assert!(said.contains("venue.incremental = 239.255.84.84:9"), "{said}");
        venue.incremental = at(0);
        let feed = Feed::join(&venue).expect("two ports of this host");
        assert!(feed.incremental_b.is_none() && feed.description.contains("line A 127.0.0.1"));
    }
}
