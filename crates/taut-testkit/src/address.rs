//! Addresses that nobody else takes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Mutex;

/// The first port of [`own_address`]: below those that the kernel gives to sockets without one.
const FIRST_PORT: u16 = 10_000;

/// A listener on a port that the kernel chose, and its address.
///
/// # Panics
/// When there is no loopback interface.
#[must_use]
pub fn tcp_listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of 127.0.0.1");
    let address = listener.local_addr().expect("the address of a bound socket");
    (listener, address)
}

/// A socket on a port that the kernel chose, and its address.
///
/// # Panics
/// When there is no loopback interface.
#[must_use]
pub fn udp_socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of 127.0.0.1");
    let address = socket.local_addr().expect("the address of a bound socket");
    (socket, address)
}

/// An address of the loopback interface that only this process knows: for a program under test
/// that must be told where to bind, because its peer is told the same before it has bound. Every
/// call gives another one, and nothing is bound there.
///
/// The whole of 127.0.0.0/8 belongs to this machine, and a process has a number below 2^22: each
/// has an IP address of its own in 127.64.0.0/10, whose ports nobody else binds.
///
/// # Panics
/// After some 20,000 calls.
#[must_use]
pub fn own_address() -> SocketAddr {
    static NEXT_PORT: Mutex<u16> = Mutex::new(FIRST_PORT);
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let ip = IpAddr::V4(Ipv4Addr::new(127, 64 | high & 63, middle, low));
    let mut next = NEXT_PORT.lock().expect("no other call panicked");
    let port = *next;
    *next += 1;
    assert!(port < 32_768, "no address is left");
    SocketAddr::new(ip, port)
}

/// A multicast group that only this process knows, of those for use within a site (239.0.0.0/9).
/// It is odd, and the even one above it is this process's too, as Aeron wants it.
#[must_use]
pub fn own_group() -> Ipv4Addr {
    let [_, high, middle, low] = (std::process::id() << 1 | 1).to_be_bytes();
    Ipv4Addr::new(239, high & 127, middle, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_another_and_can_be_bound() {
        let (one, two) = (own_address(), own_address());
        assert_ne!(one, two);
        for address in [one, two] {
            assert!(address.ip().is_loopback());
            assert_eq!(TcpListener::bind(address).expect("tcp").local_addr().ok(), Some(address));
            assert_eq!(UdpSocket::bind(address).expect("udp").local_addr().ok(), Some(address));
        }
    }

    #[test]
    fn sockets_come_with_their_address() {
        let ((_listener, tcp), (_socket, udp)) = (tcp_listener(), udp_socket());
        assert!(tcp.port() > 0 && udp.port() > 0);
    }
}
