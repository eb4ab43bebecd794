//! Datagram sockets at one address: one for everybody, and beside it one for each peer.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt;

use crate::error::{SysError, SysResult};
use crate::option;
use crate::options::DatagramOptions;
use crate::socket::Socket;

/// The longest UDP payload of an IPv4 datagram.
const PAYLOAD_BYTES_MAX: usize = 65_507;
/// Bytes of the headers of IP and UDP.
const HEADER_BYTES_V4: usize = 28;
const HEADER_BYTES_V6: usize = 48;

impl Socket {
    /// Another socket at this one's address, connected to a peer: from now on the peer's datagrams
    /// arrive there, and a send to it looks up no route. Nobody else may take the address, now or
    /// later: it is shared for the moment of the binding alone.
    ///
    /// # Errors
    /// What `socket(2)`, an option, `bind(2)` or `connect(2)` says.
    pub fn datagram_beside(
        &self,
        peer: SocketAddr,
        options: &DatagramOptions,
    ) -> Result<Self, SysError> {
        self.beside(options, |beside| beside.set_peer(&peer))
    }

    /// Another socket at this one's address, connected to a multicast group that it reaches through
    /// this interface (0: the kernel's choice) and within so many hops: nothing arrives there, and
    /// a send to the group looks up no route.
    ///
    /// # Errors
    /// As [`Socket::datagram_beside`].
    pub fn datagram_beside_to_group(
        &self,
        group: SocketAddr,
        interface: u32,
        hops: u8,
        options: &DatagramOptions,
    ) -> Result<Self, SysError> {
        self.beside(options, |beside| {
            // The route is looked up when it is connected: the interface comes first.
            if interface != 0 {
                beside.set_outbound(interface)?;
            }
            beside.set_multicast_hops(hops)?;
            beside.set_peer(&group)
        })
    }

    fn beside(
        &self,
        options: &DatagramOptions,
        connect: impl FnOnce(&Self) -> Result<(), SysError>,
    ) -> Result<Self, SysError> {
        let at = self.local_address()?;
        let options = DatagramOptions { reuse_address: true, peer: None, ..*options };
        let share = |socket: &Self, on| {
            sockopt::set_socket_reuseaddr(socket.as_fd(), on).during("reuse address")
        };
        share(self, true)?;
        let beside = Self::datagram(&at, &options);
        share(self, false)?;
        let beside = beside?;
        share(&beside, false)?;
        connect(&beside)?;
        Ok(beside)
    }

    /// The longest UDP payload that the path to the connected peer carries in one piece, as far as
    /// is known now.
    ///
    /// # Errors
    /// `ENOTCONN` when there is no peer.
    pub fn path_payload_bytes(&self) -> Result<usize, SysError> {
        let peer = self.peer_address()?.inet();
        let (place, header) = match peer {
            Some(SocketAddr::V6(_)) => ((libc::IPPROTO_IPV6, libc::IPV6_MTU), HEADER_BYTES_V6),
            _ => ((libc::IPPROTO_IP, libc::IP_MTU), HEADER_BYTES_V4),
        };
        let mtu = usize::try_from(option::get(self, place, "path mtu")?).unwrap_or(0);
        Ok(mtu.saturating_sub(header).min(PAYLOAD_BYTES_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, DatagramBatch};

    fn any() -> Address {
        Address::Inet("127.0.0.1:0".parse().unwrap())
    }

    fn address(socket: &Socket) -> SocketAddr {
        socket.local_address().unwrap().inet().unwrap()
    }

    #[test]
    fn a_peer_has_its_own_socket_and_strangers_the_common_one() {
        let options = DatagramOptions::default();
        let common = Socket::datagram(&any(), &options).unwrap();
        let [near, far] = [0, 1].map(|_| {
            let peer = Some(address(&common));
            Socket::datagram(&any(), &DatagramOptions { peer, ..options }).unwrap()
        });
        let own = common.datagram_beside(address(&near), &options).unwrap();
        assert_eq!(address(&own), address(&common));
        near.send(b"near").unwrap();
        far.send(b"far").unwrap();
        let mut batch = DatagramBatch::new(4, 64);
        assert_eq!((own.receive_batch(&mut batch), batch.bytes(0)), (Ok(1), &b"near"[..]));
        assert_eq!((common.receive_batch(&mut batch), batch.bytes(0)), (Ok(1), &b"far"[..]));
        // To the peer both ways lead.
        let mut buffer = [0; 16];
        own.send(b"own").unwrap();
        assert_eq!(near.receive(&mut buffer), Ok(Some(3)));
        common.send_to(b"common", &address(&near)).unwrap();
        assert_eq!(near.receive(&mut buffer), Ok(Some(6)));
    }

    #[test]
    fn a_group_is_reached_through_the_interface_that_was_asked_for() {
        let options = DatagramOptions { whole: true, ..DatagramOptions::default() };
        let common = Socket::datagram(&any(), &options).unwrap();
        let group = "239.255.77.9:0".parse().unwrap();
        let listener = Socket::datagram(&Address::Inet(group), &options).unwrap();
        let group = address(&listener);
        let loopback = crate::interface_index("lo").unwrap();
        if listener.join_source(group.ip(), address(&common).ip(), loopback).is_err() {
            println!("skipped: no multicast on the loopback interface");
            return;
        }
        let own = common.datagram_beside_to_group(group, loopback, 0, &options).unwrap();
        assert_eq!((address(&own), own.multicast_hops()), (address(&common), Ok(0)));
        assert!(own.path_payload_bytes().unwrap() > 60_000, "the loopback interface's");
        own.send(b"to all").unwrap();
        let mut buffer = [0; 16];
        assert_eq!(listener.receive(&mut buffer), Ok(Some(6)));
        // Who asks is heard by the common one.
        let near = Socket::datagram(&any(), &options).unwrap();
        near.send_to(b"ask", &address(&common)).unwrap();
        assert_eq!(common.receive(&mut buffer), Ok(Some(3)));
    }

    #[test]
    fn nobody_else_takes_an_address_that_two_sockets_share() {
        let options = DatagramOptions::default();
        let common = Socket::datagram(&any(), &options).unwrap();
        let near = Socket::datagram(&any(), &options).unwrap();
        let _own = common.datagram_beside(address(&near), &options).unwrap();
        for (reuse_address, reuse_port) in [(false, false), (true, false), (true, true)] {
            let other = DatagramOptions { reuse_address, reuse_port, ..options };
            let error = Socket::datagram(&Address::Inet(address(&common)), &other).unwrap_err();
            assert!(error.is_address_in_use(), "{error}");
        }
    }

    #[test]
    fn the_path_on_loopback_carries_the_longest_payload_and_nothing_is_fragmented() {
        let options = DatagramOptions { whole: true, ..DatagramOptions::default() };
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let at = Address::Inet(at.parse().unwrap());
            let far = Socket::datagram(&at, &options).unwrap();
            assert!(far.path_payload_bytes().is_err(), "no peer");
            let near = Socket::datagram(&at, &options).unwrap();
            near.set_peer(&address(&far)).unwrap();
            let bytes = near.path_payload_bytes().unwrap();
            assert!((60_000..=PAYLOAD_BYTES_MAX).contains(&bytes), "{bytes}");
            assert_eq!(near.send(&vec![0; bytes]), Ok(Some(bytes)));
            assert!(near.send(&vec![0; PAYLOAD_BYTES_MAX + 30]).unwrap_err().is_too_long());
        }
    }
}
