//! Multicast membership and direction, for IPv4 and IPv6 alike (RFC 3678, the protocol-independent
//! calls): groups are joined on an interface given by its index, 0 for the kernel's choice.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::sockopt;

use crate::error::{SysError, SysResult};
use crate::option;
use crate::raw_address::RawAddress;
use crate::socket::Socket;

const JOIN_GROUP: i32 = 42;
const BLOCK_SOURCE: i32 = 43;
const UNBLOCK_SOURCE: i32 = 44;
const LEAVE_GROUP: i32 = 45;
const JOIN_SOURCE: i32 = 46;
const LEAVE_SOURCE: i32 = 47;
const IP_MULTICAST_ALL: i32 = 49;
const IPV6_MULTICAST_ALL: i32 = 29;

/// `struct group_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct GroupRequest {
    interface: u32,
    group: RawAddress,
}

/// `struct group_source_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SourceRequest {
    interface: u32,
    group: RawAddress,
    source: RawAddress,
}

/// The index of a network interface.
///
/// # Errors
/// `ENODEV` when there is none of that name.
pub fn interface_index(name: &str) -> Result<u32, SysError> {
    let any = Socket::pair()?.0;
    rustix::net::netdevice::name_to_index(&any, name).during("interface")
}

impl Socket {
    /// Takes datagrams of a group, from any source.
    ///
    /// # Errors
    /// `ENODEV` for an interface that is not there; what `MCAST_JOIN_GROUP` says.
    pub fn join(&self, group: IpAddr, interface: u32) -> Result<(), SysError> {
        self.group(JOIN_GROUP, group, interface, "join group")
    }

    /// From now on other sockets that ask for it (SO_REUSEADDR) may be bound to this one's address,
    /// which was chosen while nobody could: they hear the same groups.
    ///
    /// # Errors
    /// What the option says.
    pub fn share_address(&self) -> Result<(), SysError> {
        sockopt::set_socket_reuseaddr(self, true).during("reuse address")
    }

    /// Ends [`Socket::join`].
    ///
    /// # Errors
    /// `EADDRNOTAVAIL` when it was not joined there.
    pub fn leave(&self, group: IpAddr, interface: u32) -> Result<(), SysError> {
        self.group(LEAVE_GROUP, group, interface, "leave group")
    }

    /// Takes datagrams of a group from this source only (source-specific multicast).
    ///
    /// # Errors
    /// As for [`Socket::join`].
    pub fn join_source(
        &self,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
    ) -> Result<(), SysError> {
        self.source(JOIN_SOURCE, group, source, interface, "join source")
    }

    /// Ends [`Socket::join_source`].
    ///
    /// # Errors
    /// As for [`Socket::leave`].
    pub fn leave_source(
        &self,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
    ) -> Result<(), SysError> {
        self.source(LEAVE_SOURCE, group, source, interface, "leave source")
    }

    /// Drops one source of a joined group.
    ///
    /// # Errors
    /// As for [`Socket::leave`].
    pub fn block_source(
        &self,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
    ) -> Result<(), SysError> {
        self.source(BLOCK_SOURCE, group, source, interface, "block source")
    }

    /// Ends [`Socket::block_source`].
    ///
    /// # Errors
    /// As for [`Socket::leave`].
    pub fn unblock_source(
        &self,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
    ) -> Result<(), SysError> {
        self.source(UNBLOCK_SOURCE, group, source, interface, "unblock source")
    }

    /// Multicast leaves through this interface.
    ///
    /// # Errors
    /// `EADDRNOTAVAIL`/`ENODEV` when there is none.
    pub fn set_outbound(&self, interface: u32) -> Result<(), SysError> {
        let index = interface.cast_signed();
        if self.is_ipv6()? {
            let place = (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF);
            return option::set(self, place, &index, "outbound interface");
        }
        // struct ip_mreqn: group, address, index.
        let request = [0, 0, index];
        let place = (libc::IPPROTO_IP, libc::IP_MULTICAST_IF);
        option::set(self, place, &request, "outbound interface")
    }

    /// The index of the interface that multicast leaves through (IPv6), 0 for the kernel's choice.
    ///
    /// # Errors
    /// What `getsockopt(2)` says.
    pub fn outbound_ipv6(&self) -> Result<u32, SysError> {
        let place = (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF);
        Ok(option::get(self, place, "outbound interface")?.unsigned_abs())
    }

    /// The address of the interface that multicast leaves through (IPv4), 0.0.0.0 for the kernel's
    /// choice. When it was set by index, the kernel reports the index's first address.
    ///
    /// # Errors
    /// What `getsockopt(2)` says.
    pub fn outbound_ipv4(&self) -> Result<Ipv4Addr, SysError> {
        let place = (libc::IPPROTO_IP, libc::IP_MULTICAST_IF);
        Ok(Ipv4Addr::from(option::get_bytes::<4>(self, place, "outbound interface")?))
    }

    /// Multicast leaves through the interface with this address (IPv4).
    ///
    /// # Errors
    /// `EADDRNOTAVAIL` when no interface has it.
    pub fn set_outbound_ipv4(&self, interface: Ipv4Addr) -> Result<(), SysError> {
        sockopt::set_ip_multicast_if(self, &interface).during("outbound interface")
    }

    /// How many hops multicast goes.
    ///
    /// # Errors
    /// What the option says.
    pub fn set_multicast_hops(&self, hops: u8) -> Result<(), SysError> {
        option::set(self, self.hops_place()?, &i32::from(hops), "multicast hops")
    }

    /// How many hops multicast goes.
    ///
    /// # Errors
    /// What the option says.
    pub fn multicast_hops(&self) -> Result<u8, SysError> {
        let hops = option::get(self, self.hops_place()?, "multicast hops")?;
        Ok(u8::try_from(hops & 0xff).unwrap_or(0))
    }

    /// Whether receivers on this host get what this socket sends.
    ///
    /// # Errors
    /// What the option says.
    pub fn set_multicast_loop(&self, on: bool) -> Result<(), SysError> {
        option::set_flag(self, self.loop_place()?, on, "multicast loop")
    }

    /// Whether receivers on this host get what this socket sends.
    ///
    /// # Errors
    /// What the option says.
    pub fn multicast_loop(&self) -> Result<bool, SysError> {
        Ok(option::get(self, self.loop_place()?, "multicast loop")? & 0xff != 0)
    }

    /// Whether a socket bound to a wildcard address takes groups that other sockets joined too
    /// (Linux's default; off is what one expects).
    ///
    /// # Errors
    /// What the option says.
    pub fn set_multicast_all(&self, on: bool) -> Result<(), SysError> {
        option::set_flag(self, self.all_place()?, on, "multicast all")
    }

    /// See [`Socket::set_multicast_all`].
    ///
    /// # Errors
    /// What the option says.
    pub fn multicast_all(&self) -> Result<bool, SysError> {
        Ok(option::get(self, self.all_place()?, "multicast all")? & 0xff != 0)
    }

    /// Sends and receives through this interface only (SO_BINDTODEVICE); an empty name ends it.
    ///
    /// # Errors
    /// `ENODEV` when there is none.
    pub fn bind_to_device(&self, name: &str) -> Result<(), SysError> {
        let place = (libc::SOL_SOCKET, libc::SO_BINDTODEVICE);
        option::set_bytes(self, place, name.as_bytes(), "bind to device")
    }

    fn group(
        &self,
        name: i32,
        group: IpAddr,
        interface: u32,
        operation: &'static str,
    ) -> Result<(), SysError> {
        let request = GroupRequest { interface, group: raw(group) };
        option::set(self, (level(group), name), &request, operation)
    }

    fn source(
        &self,
        name: i32,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
        operation: &'static str,
    ) -> Result<(), SysError> {
        let request = SourceRequest { interface, group: raw(group), source: raw(source) };
        option::set(self, (level(group), name), &request, operation)
    }

    fn is_ipv6(&self) -> Result<bool, SysError> {
        let family = sockopt::socket_domain(self.as_fd()).during("socket family")?;
        Ok(family == rustix::net::AddressFamily::INET6)
    }

    fn hops_place(&self) -> Result<(i32, i32), SysError> {
        Ok(match self.is_ipv6()? {
            true => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS),
            false => (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL),
        })
    }

    fn loop_place(&self) -> Result<(i32, i32), SysError> {
        Ok(match self.is_ipv6()? {
            true => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP),
            false => (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP),
        })
    }

    fn all_place(&self) -> Result<(i32, i32), SysError> {
        Ok(match self.is_ipv6()? {
            true => (libc::IPPROTO_IPV6, IPV6_MULTICAST_ALL),
            false => (libc::IPPROTO_IP, IP_MULTICAST_ALL),
        })
    }
}

fn raw(address: IpAddr) -> RawAddress {
    RawAddress::new(&SocketAddr::new(address, 0))
}

const fn level(address: IpAddr) -> i32 {
    match address {
        IpAddr::V4(_) => libc::IPPROTO_IP,
        IpAddr::V6(_) => libc::IPPROTO_IPV6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, DatagramOptions, Interface, interfaces, wait_readable};
    use taut_types::Nanos;

    const GROUP4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 77, 1));

    fn socket(at: &str) -> Socket {
        let options = DatagramOptions { reuse_address: true, ..DatagramOptions::default() };
        Socket::datagram(&Address::Inet(at.parse().unwrap()), &options).unwrap()
    }

    fn port(socket: &Socket) -> u16 {
        socket.local_address().unwrap().port()
    }

    fn arrives(receiver: &Socket, sender: &Socket, to: SocketAddr) -> bool {
        sender.send_to(b"tick", &to).expect("send");
        // Loopback delivers within the send: nothing to wait for.
        let mut buffer = [0; 16];
        let _ = wait_readable(&[receiver.as_fd()], Some(Nanos::from_micros(200)));
        receiver.receive(&mut buffer).expect("receive").is_some()
    }

    /// A multicast interface with an address of the family, and a sender that it leaves by. The
    /// datagrams have no hop to go: they reach this host alone.
    fn sender(ipv6: bool) -> Option<(Interface, IpAddr, Socket)> {
        let is_wanted = |at: &IpAddr| at.is_ipv6() == ipv6 && !is_link_local(at);
        let found = interfaces().expect("interfaces").into_iter().find_map(|interface| {
            let at = interface.addresses.iter().copied().find(is_wanted)?;
            interface.multicast.then_some((interface, at))
        });
        let Some((interface, at)) = found else {
            println!("skipped: no multicast interface, ipv6 {ipv6}");
            return None;
        };
        let sender = socket(&SocketAddr::new(at, 0).to_string());
        sender.set_outbound(interface.index).expect("outbound");
        sender.set_multicast_hops(0).expect("hops");
        assert_eq!(sender.multicast_hops(), Ok(0));
        Some((interface, at, sender))
    }

    fn is_link_local(at: &IpAddr) -> bool {
        matches!(at, IpAddr::V6(at) if at.is_unicast_link_local())
    }

    #[test]
    fn the_loop_flag_reads_back_as_it_was_set_and_does_what_it_says() {
        for (ipv6, any, group) in [(false, "0.0.0.0:0", GROUP4), (true, "[::]:0", group6())] {
            let Some((interface, _, sender)) = sender(ipv6) else { continue };
            let receiver = socket(any);
            receiver.join(group, interface.index).expect("join");
            let to = SocketAddr::new(group, port(&receiver));
            for on in [true, false, true] {
                sender.set_multicast_loop(on).expect("loop");
                assert_eq!(sender.multicast_loop(), Ok(on));
                assert_eq!(arrives(&receiver, &sender, to), on, "{group} loop {on}");
            }
            receiver.set_multicast_all(false).expect("all");
            assert_eq!(receiver.multicast_all(), Ok(false));
        }
    }

    #[test]
    fn the_outbound_interface_is_the_one_that_was_set_and_an_unknown_one_is_an_error() {
        let four = socket("0.0.0.0:0");
        let six = socket("[::]:0");
        assert_eq!(four.outbound_ipv4(), Ok(Ipv4Addr::UNSPECIFIED));
        for interface in interfaces().expect("interfaces") {
            for address in &interface.addresses {
                if let IpAddr::V4(address) = address {
                    four.set_outbound_ipv4(*address).expect("outbound");
                    assert_eq!(four.outbound_ipv4(), Ok(*address));
                }
            }
            six.set_outbound(interface.index).expect("outbound");
            assert_eq!(six.outbound_ipv6(), Ok(interface.index));
        }
        assert!(four.set_outbound_ipv4(Ipv4Addr::new(203, 0, 113, 9)).is_err());
        assert!(four.set_outbound(99_999).is_err());
        assert!(six.set_outbound(99_999).is_err());
        assert!(interface_index("no-such-0").is_err());
    }

    fn group6() -> IpAddr {
        "ff12::77".parse().expect("a group")
    }

    #[test]
    fn sources_are_joined_blocked_and_unblocked_on_an_interface_for_both_families() {
        let cases = [
            (false, "0.0.0.0:0", GROUP4, "232.1.2.3"),
            (true, "[::]:0", group6(), "ff32::8000:77"),
        ];
        for (ipv6, any, group, specific) in cases {
            let Some((interface, source, sender)) = sender(ipv6) else { continue };
            let (index, receiver) = (interface.index, socket(any));
            let specific: IpAddr = specific.parse().expect("a group");
            let at = |group| SocketAddr::new(group, port(&receiver));
            receiver.set_multicast_all(false).expect("all");
            assert!(!arrives(&receiver, &sender, at(group)), "{group} not joined");
            receiver.join(group, index).expect("join");
            assert!(arrives(&receiver, &sender, at(group)), "{group} joined");
            receiver.block_source(group, source, index).expect("block");
            assert!(!arrives(&receiver, &sender, at(group)), "{group} blocked");
            receiver.unblock_source(group, source, index).expect("unblock");
            assert!(arrives(&receiver, &sender, at(group)), "{group} unblocked");
            receiver.leave(group, index).expect("leave");
            assert!(!arrives(&receiver, &sender, at(group)), "{group} left");
            receiver.join_source(specific, source, index).expect("join source");
            assert!(arrives(&receiver, &sender, at(specific)), "{specific} from its source");
            receiver.leave_source(specific, source, index).expect("leave source");
            assert!(!arrives(&receiver, &sender, at(specific)), "{specific} left");
        }
    }

    #[test]
    fn binds_to_a_device_that_exists() {
        let receiver = socket("127.0.0.1:0");
        assert_eq!(
            receiver.bind_to_device("no-such-0").map_err(SysError::errno),
            Err(libc::ENODEV)
        );
        match receiver.bind_to_device("lo") {
            Ok(()) => receiver.bind_to_device("").expect("unbind"),
            Err(error) => assert_eq!(error.errno(), libc::EPERM, "{error}"),
        }
    }
}
