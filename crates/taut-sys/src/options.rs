//! Options of sockets, and what the kernel made of them.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt;
use taut_types::Nanos;

use crate::address::Address;
use crate::error::{SysError, SysResult};
use crate::option;

const SOCKET: i32 = libc::SOL_SOCKET;
const TCP: i32 = libc::IPPROTO_TCP;

/// Options of a stream. The default is what an order connection wants: no Nagle's delay, the rest
/// the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// TCP_NODELAY: a small write leaves at once.
    pub no_delay: bool,
    /// SO_KEEPALIVE with this idle time.
    pub keep_alive: Option<Nanos>,
    /// TCP_QUICKACK: acknowledge at once. The kernel forgets it; it is set when the stream opens.
    pub quick_ack: bool,
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged.
    pub user_timeout: Option<Nanos>,
    /// SO_BUSY_POLL: how long a blocking read polls the device, in microseconds.
    pub busy_poll_micros: Option<u32>,
    /// SO_SNDBUF, in bytes of payload.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF, in bytes of payload.
    pub receive_buffer_bytes: Option<usize>,
    /// Where a connection starts; for `connect` only.
    pub local: Option<SocketAddr>,
    /// SO_REUSEPORT: several listeners share the port.
    pub reuse_port: bool,
    /// An IPv6 listener takes IPv6 only.
    pub ipv6_only: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            no_delay: true,
            keep_alive: None,
            quick_ack: false,
            user_timeout: None,
            busy_poll_micros: None,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            local: None,
            reuse_port: false,
            ipv6_only: true,
        }
    }
}

impl StreamOptions {
    pub(crate) fn apply_before_bind(&self, fd: &impl AsFd) -> Result<(), SysError> {
        if self.reuse_port {
            sockopt::set_socket_reuseport(fd, true).during("reuse port")?;
        }
        buffers(fd, self.send_buffer_bytes, self.receive_buffer_bytes)
    }

    pub(crate) fn apply_to_stream(&self, fd: &impl AsFd) -> Result<(), SysError> {
        option::set_flag(fd, (TCP, libc::TCP_NODELAY), self.no_delay, "no delay")?;
        if let Some(idle) = self.keep_alive {
            let seconds = (idle.0 / 1_000_000_000).clamp(1, 32_767) as i32;
            option::set_flag(fd, (SOCKET, libc::SO_KEEPALIVE), true, "keep alive")?;
            option::set(fd, (TCP, libc::TCP_KEEPIDLE), &seconds, "keep alive")?;
            option::set(fd, (TCP, libc::TCP_KEEPINTVL), &seconds, "keep alive")?;
        }
        if self.quick_ack {
            option::set_flag(fd, (TCP, libc::TCP_QUICKACK), true, "quick ack")?;
        }
        if let Some(span) = self.user_timeout {
            let millis = (span.0 / 1_000_000).clamp(1, i64::from(i32::MAX)) as i32;
            option::set(fd, (TCP, libc::TCP_USER_TIMEOUT), &millis, "user timeout")?;
        }
        busy_poll(fd, self.busy_poll_micros)
    }
}

/// Options of a datagram socket. Each is applied or is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DatagramOptions {
    /// SO_REUSEADDR: several sockets take the same group and port.
    pub reuse_address: bool,
    /// SO_REUSEPORT.
    pub reuse_port: bool,
    /// The only peer: sends go there and only its datagrams arrive.
    pub peer: Option<SocketAddr>,
    /// SO_SNDBUF, in bytes of payload.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF, in bytes of payload.
    pub receive_buffer_bytes: Option<usize>,
    /// SO_BUSY_POLL, in microseconds.
    pub busy_poll_micros: Option<u32>,
    /// The kernel's receive time (SO_TIMESTAMPNS, UTC) with each datagram.
    pub receive_timestamps: bool,
    /// SO_RXQ_OVFL: the count of datagrams that were dropped for want of room, with each datagram.
    pub drop_counter: bool,
    /// IP_PKTINFO: the interface and the destination address with each datagram.
    pub packet_info: bool,
    /// UDP_GRO: the kernel may hand over several datagrams of one size as one.
    pub coalesce: bool,
    /// IP_MTU_DISCOVER: a datagram leaves in one piece, or is refused as too long for its path.
    pub whole: bool,
}

impl DatagramOptions {
    pub(crate) fn apply(&self, fd: &impl AsFd, at: &Address) -> Result<(), SysError> {
        if self.reuse_address {
            sockopt::set_socket_reuseaddr(fd, true).during("reuse address")?;
        }
        if self.reuse_port {
            sockopt::set_socket_reuseport(fd, true).during("reuse port")?;
        }
        buffers(fd, self.send_buffer_bytes, self.receive_buffer_bytes)?;
        busy_poll(fd, self.busy_poll_micros)?;
        let flags = [
            (self.receive_timestamps, SOCKET, libc::SO_TIMESTAMPNS, "receive timestamps"),
            (self.drop_counter, SOCKET, libc::SO_RXQ_OVFL, "drop counter"),
            (self.coalesce, libc::SOL_UDP, libc::UDP_GRO, "receive offload"),
        ];
        for (wanted, level, name, operation) in flags {
            if wanted {
                option::set_flag(fd, (level, name), true, operation)?;
            }
        }
        let is_v6 = matches!(at, Address::Inet(SocketAddr::V6(_)));
        if self.whole {
            let (place, wanted) = if is_v6 {
                ((libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER), libc::IPV6_PMTUDISC_DO)
            } else {
                ((libc::IPPROTO_IP, libc::IP_MTU_DISCOVER), libc::IP_PMTUDISC_DO)
            };
            option::set(fd, place, &wanted, "path mtu")?;
        }
        if self.packet_info {
            let place = if is_v6 {
                (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
            } else {
                (libc::IPPROTO_IP, libc::IP_PKTINFO)
            };
            option::set_flag(fd, place, true, "packet info")?;
        }
        Ok(())
    }
}

/// What the kernel granted. It may be less than asked: `net.core.rmem_max` and `wmem_max` cap the
/// buffers without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Bytes of payload (half of what the kernel reports, which counts its own book-keeping).
    pub send_buffer_bytes: usize,
    /// Bytes of payload.
    pub receive_buffer_bytes: usize,
    /// SO_REUSEPORT.
    pub reuse_port: bool,
    /// SO_REUSEADDR.
    pub reuse_address: bool,
    /// TCP_NODELAY; false on other sockets.
    pub no_delay: bool,
    /// SO_KEEPALIVE.
    pub keep_alive: bool,
    /// SO_BUSY_POLL.
    pub busy_poll_micros: u32,
    /// TCP_USER_TIMEOUT; zero on other sockets and when there is none.
    pub user_timeout: Nanos,
}

impl Granted {
    pub(crate) fn read(fd: &impl AsFd) -> Result<Self, SysError> {
        let get = |name, operation| option::get(fd, (SOCKET, name), operation);
        let half = |bytes: i32| usize::try_from(bytes).unwrap_or(0) / 2;
        let tcp = |name| option::get(fd, (TCP, name), "tcp option").unwrap_or(0);
        Ok(Self {
            send_buffer_bytes: half(get(libc::SO_SNDBUF, "send buffer")?),
            receive_buffer_bytes: half(get(libc::SO_RCVBUF, "receive buffer")?),
            reuse_port: get(libc::SO_REUSEPORT, "reuse port")? != 0,
            reuse_address: get(libc::SO_REUSEADDR, "reuse address")? != 0,
            no_delay: tcp(libc::TCP_NODELAY) != 0,
            keep_alive: get(libc::SO_KEEPALIVE, "keep alive")? != 0,
            busy_poll_micros: get(libc::SO_BUSY_POLL, "busy poll").unwrap_or(0).unsigned_abs(),
            user_timeout: Nanos::from_millis(i64::from(tcp(libc::TCP_USER_TIMEOUT))),
        })
    }
}

fn buffers(fd: &impl AsFd, send: Option<usize>, receive: Option<usize>) -> Result<(), SysError> {
    if let Some(bytes) = send {
        sockopt::set_socket_send_buffer_size(fd, bytes).during("send buffer")?;
    }
    if let Some(bytes) = receive {
        sockopt::set_socket_recv_buffer_size(fd, bytes).during("receive buffer")?;
    }
    Ok(())
}

fn busy_poll(fd: &impl AsFd, micros: Option<u32>) -> Result<(), SysError> {
    let Some(micros) = micros else { return Ok(()) };
    option::set(fd, (SOCKET, libc::SO_BUSY_POLL), &micros.cast_signed(), "busy poll")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Socket;

    fn any() -> Address {
        Address::Inet("127.0.0.1:0".parse().expect("an address"))
    }

    #[test]
    fn every_stream_option_reads_back() {
        let listener = Socket::listen(&any(), &StreamOptions::default()).expect("listen");
        let options = StreamOptions {
            keep_alive: Some(Nanos::from_secs(30)),
            user_timeout: Some(Nanos::from_secs(7)),
            quick_ack: true,
            send_buffer_bytes: Some(65_536),
            receive_buffer_bytes: Some(65_536),
            reuse_port: true,
            ..StreamOptions::default()
        };
        let to = listener.local_address().expect("address");
        let (near, _) = Socket::connect(&to, &options).expect("connect");
        let granted = near.granted().expect("granted");
        assert!(granted.no_delay && granted.keep_alive && granted.reuse_port);
        assert_eq!(granted.user_timeout, Nanos::from_secs(7));
        assert_eq!((granted.send_buffer_bytes, granted.receive_buffer_bytes), (65_536, 65_536));
    }

    #[test]
    fn two_datagram_sockets_share_a_port_when_told_to() {
        let options = DatagramOptions { reuse_port: true, ..DatagramOptions::default() };
        let first = Socket::datagram(&any(), &options).expect("first");
        let at = first.local_address().expect("address");
        let second = Socket::datagram(&at, &options).expect("second");
        assert!(second.granted().expect("granted").reuse_port);
        let without = Socket::datagram(&at, &DatagramOptions::default());
        assert!(without.expect_err("taken").is_address_in_use());
    }
}
