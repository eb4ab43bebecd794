//! UDP sockets, unicast and multicast, never blocking.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::error::{SysError, SysResult};

/// An IPv4 UDP socket that never blocks.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
}

impl UdpSocket {
    /// A socket bound to `address`; port 0 lets the kernel choose. Binding to a multicast group
    /// takes that group's datagrams only.
    ///
    /// # Errors
    /// What `socket(2)` and `bind(2)` say.
    pub fn bind(address: SocketAddrV4) -> Result<Self, SysError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)
            .during("socket")?;
        net::bind(&fd, &address).during("bind")?;
        Ok(Self { fd })
    }

    /// Fixes the peer: sends go there, and only its datagrams arrive.
    ///
    /// # Errors
    /// What `connect(2)` says.
    pub fn connect(&self, peer: SocketAddrV4) -> Result<(), SysError> {
        net::connect(&self.fd, &peer).during("connect")
    }

    /// Joins a multicast group on the interface with this address.
    ///
    /// # Errors
    /// What `IP_ADD_MEMBERSHIP` says; `ENODEV` when no interface has the address.
    pub fn join(&self, group: Ipv4Addr, interface: Ipv4Addr) -> Result<(), SysError> {
        sockopt::set_ip_add_membership(&self.fd, &group, &interface).during("join")
    }

    /// Sends multicast through this interface, to receivers on this host too, and not beyond
    /// `ttl` hops.
    ///
    /// # Errors
    /// What the socket options say.
    pub fn send_multicast_through(&self, interface: Ipv4Addr, ttl: u32) -> Result<(), SysError> {
        sockopt::set_ip_multicast_if(&self.fd, &interface).during("multicast interface")?;
        sockopt::set_ip_multicast_ttl(&self.fd, ttl).during("multicast ttl")?;
        sockopt::set_ip_multicast_loop(&self.fd, true).during("multicast loop")
    }

    /// Asks for a receive buffer and returns what the kernel granted, in bytes of payload (the
    /// kernel doubles the value for its own book-keeping; half of it is reported here).
    ///
    /// # Errors
    /// What `SO_RCVBUF` says.
    pub fn set_receive_buffer(&self, bytes: usize) -> Result<usize, SysError> {
        sockopt::set_socket_recv_buffer_size(&self.fd, bytes).during("receive buffer")?;
        Ok(sockopt::socket_recv_buffer_size(&self.fd).during("receive buffer")? / 2)
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    /// What `getsockname(2)` says.
    pub fn local_address(&self) -> Result<SocketAddrV4, SysError> {
        let address = net::getsockname(&self.fd).during("local address")?;
        SocketAddrV4::try_from(address).during("local address")
    }

    /// Takes one datagram, if there is one; what does not fit into `buffer` is cut off.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `recv(2)` says.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> Result<Option<usize>, SysError> {
        let got = net::recv(&self.fd, buffer, RecvFlags::DONTWAIT).unless_blocked("receive")?;
        Ok(got.map(|(bytes, _)| bytes))
    }

    /// Sends one datagram to the connected peer; `false` when the send buffer is full.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `send(2)` says.
    #[inline]
    pub fn send(&self, datagram: &[u8]) -> Result<bool, SysError> {
        let sent = net::send(&self.fd, datagram, SendFlags::DONTWAIT).unless_blocked("send")?;
        Ok(sent.is_some())
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for UdpSocket {
    /// A socket that another process made and passed on.
    fn from(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_readable;
    use taut_types::Nanos;

    const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

    #[test]
    fn a_datagram_arrives_whole_and_an_empty_socket_says_so() {
        let receiver = UdpSocket::bind(SocketAddrV4::new(LOOPBACK, 0)).expect("bind");
        let sender = UdpSocket::bind(SocketAddrV4::new(LOOPBACK, 0)).expect("bind");
        sender.connect(receiver.local_address().expect("address")).expect("connect");
        let mut buffer = [0; 64];
        assert_eq!(receiver.recv(&mut buffer), Ok(None));
        assert_eq!(sender.send(b"tick"), Ok(true));
        assert_eq!(wait_readable(&[receiver.as_fd()], Some(Nanos::from_secs(5))), Ok(true));
        assert_eq!(receiver.recv(&mut buffer), Ok(Some(4)));
        assert_eq!(&buffer[..4], b"tick");
    }

    #[test]
    fn reports_the_port_that_is_taken() {
        let first = UdpSocket::bind(SocketAddrV4::new(LOOPBACK, 0)).expect("bind");
        let error = UdpSocket::bind(first.local_address().expect("address")).expect_err("taken");
        assert!(error.is_address_in_use());
        assert_eq!(error.operation(), "bind");
    }
}
