//! What a recorded run said and heard on its sockets, as packets.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use taut_io::{Traffic, Witness};
use taut_recording::packets::{End, Packets, Stream};
use taut_sys::{Address, Clock, MAPPING_WORDS, TickMapping};
use taut_types::Nanos;

/// The first of the ports that are made up where the recording has none.
const PORTS: u16 = 49_152;

/// A socket of the run.
enum Socket {
    Stream(Stream),
    Datagrams { at: SocketAddr },
}

/// Writes them while the run is done again.
pub struct RunPackets {
    packets: Packets<Box<dyn Write + Send>>,
    /// From the monotonic clock to UTC.
    clock: Clock,
    /// The time of the turn at hand, ns since 1970.
    now: u64,
    sockets: BTreeMap<u32, Socket>,
    /// Ports that were made up.
    made_up: u16,
    failure: Option<io::Error>,
}

impl fmt::Debug for RunPackets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPackets").field("count", &self.packets.count()).finish_non_exhaustive()
    }
}

/// They are written by the kernel that is none, and looked at by who has it do something.
pub type SharedPackets = Arc<Mutex<RunPackets>>;

impl RunPackets {
    pub fn begin(
        out: Box<dyn Write + Send>,
        name: &str,
        clock: [u64; MAPPING_WORDS],
        began: Nanos,
    ) -> io::Result<Self> {
        let clock = Clock::new(TickMapping::from_words(clock));
        let packets = Packets::begin(out, name)?;
        let sockets = BTreeMap::new();
        let mut all = Self { packets, clock, now: 0, sockets, made_up: 0, failure: None };
        // The gateway is built before the first turn of its loop.
        all.set_time(began);
        Ok(all)
    }

    /// A turn of this time, of the monotonic clock, is done.
    pub fn set_time(&mut self, time: Nanos) {
        self.now = self.clock.utc_at(time).0.unsigned_abs();
    }

    /// How many there are, once all are written.
    pub fn finish(&mut self) -> io::Result<u64> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.packets.flush().map(|()| self.packets.count()),
        }
    }

    fn take(&mut self, traffic: Traffic<'_>) {
        if self.failure.is_none() {
            self.failure = self.pass(traffic).err();
        }
    }

    fn pass(&mut self, traffic: Traffic<'_>) -> io::Result<()> {
        match traffic {
            Traffic::Stream { place, peer, is_accepted } => {
                let peer = peer.and_then(inet).unwrap_or_else(|| self.made_up_address());
                let own = self.made_up_beside(peer.ip());
                let opener = if is_accepted { End::Peer } else { End::Own };
                let stream = self.packets.open(self.now, own, peer, opener)?;
                self.sockets.insert(place, Socket::Stream(stream));
            }
            Traffic::Datagrams { place, at } => {
                let at = at.and_then(inet).filter(|at| at.port() != 0);
                let at = at.unwrap_or_else(|| self.made_up_address());
                self.sockets.insert(place, Socket::Datagrams { at });
            }
            Traffic::In { place, bytes, info } => match self.sockets.get_mut(&place) {
                Some(Socket::Stream(stream)) => {
                    self.packets.say(self.now, stream, End::Peer, bytes)?;
                }
                Some(&mut Socket::Datagrams { at }) => {
                    let to = info.and_then(|info| info.destination).unwrap_or(at.ip());
                    let to = SocketAddr::new(to, at.port());
                    let nobody = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORTS);
                    let from = info.and_then(|info| info.from).unwrap_or(nobody);
                    let segment = info.and_then(|info| info.segment_bytes).map_or(0, usize::from);
                    let segment = if segment == 0 { bytes.len().max(1) } else { segment };
                    for datagram in bytes.chunks(segment) {
                        self.packets.datagram(self.now, from, to, datagram)?;
                    }
                }
                None => {}
            },
            Traffic::Out { place, bytes, to } => match self.sockets.get_mut(&place) {
                Some(Socket::Stream(stream)) => {
                    self.packets.say(self.now, stream, End::Own, bytes)?;
                }
                Some(&mut Socket::Datagrams { at }) => {
                    if let Some(to) = to {
                        self.packets.datagram(self.now, at, to, bytes)?;
                    }
                }
                None => {}
            },
            Traffic::Closed { place } => {
                if let Some(Socket::Stream(stream)) = self.sockets.remove(&place) {
                    self.packets.close(self.now, stream, End::Own)?;
                }
            }
        }
        Ok(())
    }

    fn made_up_port(&mut self) -> u16 {
        self.made_up = (self.made_up + 1) % (u16::MAX - PORTS);
        PORTS + self.made_up
    }

    fn made_up_address(&mut self) -> SocketAddr {
        SocketAddr::new(Ipv4Addr::LOCALHOST.into(), self.made_up_port())
    }

    /// An own address that speaks to this one: the recording has none.
    fn made_up_beside(&mut self, peer: IpAddr) -> SocketAddr {
        let ip = if peer.is_loopback() { peer } else { Ipv4Addr::LOCALHOST.into() };
        SocketAddr::new(ip, self.made_up_port())
    }
}

/// Who has packets of what passes written.
pub fn witness(packets: &SharedPackets) -> Witness {
    let packets = Arc::clone(packets);
    Box::new(move |traffic| {
        if let Ok(mut packets) = packets.lock() {
            packets.take(traffic);
        }
    })
}

fn inet(address: &Address) -> Option<SocketAddr> {
    match address {
        Address::Inet(at) => Some(*at),
        Address::Unix(_) => None,
    }
}
