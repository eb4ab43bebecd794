//! Market data by multicast: a feed is a group and a port, joined on an interface, from any source
//! or from one; its sender is the other end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use taut_io::{Handle, Io, Kernel};
use taut_sys::{Address, DatagramOptions, Socket, SysError};

use crate::error::NetError;

/// A feed to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The group and the port; an address that is no group is a unicast feed, bound and not joined.
    pub group: SocketAddr,
    /// Only from this source (source-specific multicast).
    pub source: Option<IpAddr>,
    /// The interface's index ([`taut_sys::interface_index`]); 0 lets the kernel choose.
    pub interface: u32,
    /// The rest. `reuse_address` is set for a group, so that several processes may listen.
    pub options: DatagramOptions,
}

impl Feed {
    /// A feed of any source, by an interface of the kernel's choice.
    #[must_use]
    pub fn new(group: SocketAddr) -> Self {
        Self { group, source: None, interface: 0, options: DatagramOptions::default() }
    }

    /// Opens it on the loop and starts to receive. The socket is bound to the group itself, so that
    /// it takes that group's datagrams and no other's of the same port.
    ///
    /// # Errors
    /// What the loop and the system say; `ENODEV` for an interface that is not there.
    pub fn open<K: Kernel>(&self, io: &mut Io<K>) -> Result<Handle, NetError> {
        let is_group = self.group.ip().is_multicast();
        let mut options = self.options;
        options.reuse_address |= is_group;
        let handle = io.datagram(&Address::Inet(self.bound_to()), &options)?;
        let joined = match is_group {
            true => io.socket(handle).and_then(|socket| Ok(self.join(socket)?)),
            false => Ok(()),
        };
        let started = joined.and_then(|()| io.receive(handle));
        if let Err(error) = started {
            let _ = io.close(handle);
            return Err(error.into());
        }
        Ok(handle)
    }

    /// Leaves the group; the socket stays open.
    ///
    /// # Errors
    /// `EADDRNOTAVAIL` when it was not joined; a stale handle.
    pub fn leave<K: Kernel>(&self, io: &mut Io<K>, feed: Handle) -> Result<(), NetError> {
        let (socket, group) = (io.socket(feed)?, self.group.ip());
        let left = match self.source {
            Some(source) => socket.leave_source(group, source, self.interface),
            None => socket.leave(group, self.interface),
        };
        Ok(left?)
    }

    fn join(&self, socket: &Socket) -> Result<(), SysError> {
        // Without this, groups that other sockets of the host joined would arrive here too.
        socket.set_multicast_all(false)?;
        let group = self.group.ip();
        match self.source {
            Some(source) => socket.join_source(group, source, self.interface),
            None => socket.join(group, self.interface),
        }
    }

    /// A link-local IPv6 group is bound on its interface.
    fn bound_to(&self) -> SocketAddr {
        let mut at = self.group;
        if let SocketAddr::V6(v6) = &mut at
            && needs_scope(v6.ip())
            && v6.scope_id() == 0
        {
            v6.set_scope_id(self.interface);
        }
        at
    }
}

/// A multicast sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedSender {
    /// The group and the port.
    pub group: SocketAddr,
    /// The address that it leaves with, which receivers of one source join by; without it the
    /// kernel chooses (for IPv6 groups of the link, a link-local one).
    pub source: Option<IpAddr>,
    /// The interface's index that it leaves by; 0 lets the kernel choose.
    pub interface: u32,
    /// How many hops it goes; 0 stays on this host.
    pub hops: u8,
    /// Receivers on this host get it too.
    pub loopback: bool,
}

impl FeedSender {
    /// Opens a socket that sends to the group by `io.send_to(handle, bytes, None)`.
    ///
    /// # Errors
    /// What the loop and the system say.
    pub fn open<K: Kernel>(&self, io: &mut Io<K>) -> Result<Handle, NetError> {
        let any = match self.group {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let from = SocketAddr::new(self.source.unwrap_or(any), 0);
        let options = DatagramOptions::default();
        let handle = io.datagram(&Address::Inet(from), &options)?;
        let set = io.socket(handle).and_then(|socket| Ok(self.set(socket)?));
        if let Err(error) = set {
            let _ = io.close(handle);
            return Err(error.into());
        }
        Ok(handle)
    }

    fn set(&self, socket: &Socket) -> Result<(), SysError> {
        if self.interface != 0 {
            socket.set_outbound(self.interface)?;
        }
        socket.set_multicast_hops(self.hops)?;
        socket.set_multicast_loop(self.loopback)?;
        socket.set_peer(&self.group)
    }
}

const fn needs_scope(group: &Ipv6Addr) -> bool {
    // ff02::/16 and ff01::/16: the scope is the link or the interface.
    matches!(group.octets(), [0xff, flags, ..] if flags & 0x0f <= 2)
}
