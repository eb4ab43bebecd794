//! Sockets of every family, and pipes: never blocking, closed on exec.
//!
//! The loop's own sockets. A call that would block returns `None`; an interrupted call is repeated.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny,
    SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use crate::address::{Address, UnixName};
use crate::error::{SysError, SysResult};
use crate::options::{DatagramOptions, Granted, StreamOptions};

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// How many connections may wait to be accepted: the kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// The most parts that one send takes.
pub const PARTS_MAX: usize = 16;

/// A socket or another descriptor that can be read and written, never blocking.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// A pipe or a file knows read and write, not receive and send.
    is_socket: bool,
}

/// Whether a connection stands or is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectProgress {
    /// It stands.
    Connected,
    /// It will be writable when it stands or has failed: see [`Socket::connect_result`].
    Underway,
}

impl Socket {
    /// Listens on an address; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// What `socket(2)`, an option, `bind(2)` or `listen(2)` says.
    pub fn listen(at: &Address, options: &StreamOptions) -> Result<Self, SysError> {
        let socket = Self::open(at, SocketType::STREAM)?;
        if let Address::Inet(address) = at {
            // A port whose last connections linger in TIME-WAIT is free for a listener.
            sockopt::set_socket_reuseaddr(&socket.fd, true).during("reuse address")?;
            if address.is_ipv6() {
                sockopt::set_ipv6_v6only(&socket.fd, options.ipv6_only).during("ipv6 only")?;
            }
        }
        // Buffer sizes are inherited by what is accepted, and must be set before listening.
        options.apply_before_bind(&socket)?;
        socket.bind(at)?;
        net::listen(&socket.fd, BACKLOG).during("listen")?;
        Ok(socket)
    }

    /// Starts to connect, from `options.local` if it is given.
    ///
    /// # Errors
    /// What `socket(2)`, an option, `bind(2)` or `connect(2)` says.
    pub fn connect(
        to: &Address,
        options: &StreamOptions,
    ) -> Result<(Self, ConnectProgress), SysError> {
        let socket = Self::open(to, SocketType::STREAM)?;
        options.apply_before_bind(&socket)?;
        if let Some(local) = options.local {
            sockopt::set_socket_reuseaddr(&socket.fd, true).during("reuse address")?;
            socket.bind(&Address::Inet(local))?;
        }
        if matches!(to, Address::Inet(_)) {
            options.apply_to_stream(&socket)?;
        }
        let progress = match socket.connect_to(to) {
            Ok(()) => ConnectProgress::Connected,
            Err(Errno::INPROGRESS) => ConnectProgress::Underway,
            Err(errno) => return Err(SysError::new("connect", errno)),
        };
        Ok((socket, progress))
    }

    /// A datagram socket bound to an address.
    ///
    /// # Errors
    /// What `socket(2)`, an option or `bind(2)` says.
    pub fn datagram(at: &Address, options: &DatagramOptions) -> Result<Self, SysError> {
        let socket = Self::open(at, SocketType::DGRAM)?;
        options.apply(&socket, at)?;
        socket.bind(at)?;
        if let Some(peer) = options.peer {
            net::connect(&socket.fd, &peer).during("connect")?;
        }
        Ok(socket)
    }

    /// Fixes the peer of a datagram socket: sends go there, and only its datagrams arrive.
    ///
    /// # Errors
    /// What `connect(2)` says.
    pub fn set_peer(&self, peer: &SocketAddr) -> Result<(), SysError> {
        net::connect(&self.fd, peer).during("connect")
    }

    /// Two connected Unix stream sockets.
    ///
    /// # Errors
    /// What `socketpair(2)` says.
    pub fn pair() -> Result<(Self, Self), SysError> {
        let (near, far) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)
            .during("socket pair")?;
        Ok((Self { fd: near, is_socket: true }, Self { fd: far, is_socket: true }))
    }

    /// The reading and the writing end of a pipe.
    ///
    /// # Errors
    /// What `pipe2(2)` says.
    pub fn pipe() -> Result<(Self, Self), SysError> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (read, write) =
            pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).during("open pipe")?;
        Ok((Self { fd: read, is_socket: false }, Self { fd: write, is_socket: false }))
    }

    /// Takes over a descriptor (a passed socket, a pipe of a child, a terminal) and makes it
    /// non-blocking.
    ///
    /// # Errors
    /// What `fstat(2)` and `FIONBIO` say.
    pub fn adopt(fd: OwnedFd) -> Result<Self, SysError> {
        let mode = rustix::fs::fstat(&fd).during("adopt")?.st_mode;
        let is_socket = rustix::fs::FileType::from_raw_mode(mode).is_socket();
        rustix::io::ioctl_fionbio(&fd, true).during("adopt")?;
        Ok(Self { fd, is_socket })
    }

    /// Whether it is a socket, and not a pipe or another file.
    #[must_use]
    pub const fn is_socket(&self) -> bool {
        self.is_socket
    }

    /// Whether this process is at the other end of a Unix socket: it connected, or listens there.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        sockopt::socket_peercred(&self.fd).is_ok_and(|peer| peer.pid == rustix::process::getpid())
    }

    /// Takes a waiting connection, with its peer's address.
    ///
    /// # Errors
    /// What `accept4(2)` says; a connection that was reset while it waited is skipped.
    pub fn accept(&self) -> Result<Option<(Self, Option<Address>)>, SysError> {
        loop {
            return match net::acceptfrom_with(&self.fd, FLAGS) {
                Ok((fd, peer)) => Ok(Some((Self { fd, is_socket: true }, peer.and_then(from_any)))),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(errno) => Err(SysError::new("accept", errno)),
            };
        }
    }

    /// How a connection under way ended. Ask when the socket is writable.
    ///
    /// # Errors
    /// Why it failed, such as `ECONNREFUSED`.
    pub fn connect_result(&self) -> Result<(), SysError> {
        sockopt::socket_error(&self.fd).during("connect")?.during("connect")
    }

    /// Takes what has arrived: `None` when nothing has, 0 at the end.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `recv(2)` or `read(2)` says.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, SysError> {
        loop {
            let got = if self.is_socket {
                net::recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT).map(|(bytes, _)| bytes)
            } else {
                rustix::io::read(&self.fd, &mut *buffer)
            };
            return match got {
                Ok(bytes) => Ok(Some(bytes)),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => Err(SysError::new("receive", errno)),
            };
        }
    }

    /// Sends what the kernel takes: `None` when its buffer is full.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `send(2)` or `write(2)` says; a closed peer is `EPIPE`, never a signal on a socket.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> Result<Option<usize>, SysError> {
        loop {
            let sent = if self.is_socket {
                net::send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            } else {
                rustix::io::write(&self.fd, bytes)
            };
            return match sent {
                Ok(bytes) => Ok(Some(bytes)),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => Err(SysError::new("send", errno)),
            };
        }
    }

    /// Sends several parts as one run of bytes, as far as the kernel takes them; of more than
    /// [`PARTS_MAX`] parts, the first ones.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `sendmsg(2)` or `writev(2)` says.
    pub fn send_parts(&self, parts: &[&[u8]]) -> Result<Option<usize>, SysError> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        for (slice, part) in slices.iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        let parts = &slices[..parts.len().min(PARTS_MAX)];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            let sent = if self.is_socket {
                net::sendmsg(&self.fd, parts, &mut SendAncillaryBuffer::default(), flags)
            } else {
                rustix::io::writev(&self.fd, parts)
            };
            return match sent {
                Ok(bytes) => Ok(Some(bytes)),
                Err(Errno::AGAIN) => Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => Err(SysError::new("send", errno)),
            };
        }
    }

    /// Sends one datagram to an address: `None` when the send buffer is full.
    ///
    /// # Errors
    /// What `sendto(2)` says.
    pub fn send_to(&self, bytes: &[u8], to: &SocketAddr) -> Result<Option<usize>, SysError> {
        match net::sendto(&self.fd, bytes, SendFlags::DONTWAIT, to) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(SysError::new("send", errno)),
        }
    }

    /// Closes the sending half: the peer reads an end after what was sent.
    ///
    /// # Errors
    /// What `shutdown(2)` says.
    pub fn shut_down_send(&self) -> Result<(), SysError> {
        net::shutdown(&self.fd, Shutdown::Write).during("shut down")
    }

    /// The address that it is bound to, with the real port.
    ///
    /// # Errors
    /// What `getsockname(2)` says.
    pub fn local_address(&self) -> Result<Address, SysError> {
        let address = net::getsockname(&self.fd).during("local address")?;
        from_any(address).ok_or(SysError::new("local address", Errno::AFNOSUPPORT))
    }

    /// The peer's address.
    ///
    /// # Errors
    /// What `getpeername(2)` says.
    pub fn peer_address(&self) -> Result<Address, SysError> {
        let address = net::getpeername(&self.fd).during("peer address")?;
        address.and_then(from_any).ok_or(SysError::new("peer address", Errno::NOTCONN))
    }

    /// Acknowledges now what was received of a TCP stream, and leaves later acknowledgements to the
    /// next call, to data that travels back, to the kernel's limit of unacknowledged bytes, or to
    /// its timer of 40 ms, whichever comes first. After the timer the kernel acknowledges at once
    /// again, within the receive call, until the next call of this.
    /// Cost: two system calls (TCP_QUICKACK), and the acknowledgement.
    ///
    /// # Errors
    /// What `setsockopt(2)` says; `EOPNOTSUPP` or `ENOPROTOOPT` for what is no TCP stream.
    pub fn acknowledge(&self) -> Result<(), SysError> {
        sockopt::set_tcp_quickack(&self.fd, true).during("acknowledge")?;
        sockopt::set_tcp_quickack(&self.fd, false).during("acknowledge")
    }

    /// Sets the options of a stream that was accepted.
    ///
    /// # Errors
    /// What an option says.
    pub fn apply(&self, options: &StreamOptions) -> Result<(), SysError> {
        options.apply_to_stream(self)
    }

    /// What the kernel made of the options.
    ///
    /// # Errors
    /// What `getsockopt(2)` says.
    pub fn granted(&self) -> Result<Granted, SysError> {
        Granted::read(self)
    }

    fn open(at: &Address, kind: SocketType) -> Result<Self, SysError> {
        let family = match at {
            Address::Inet(SocketAddr::V4(_)) => AddressFamily::INET,
            Address::Inet(SocketAddr::V6(_)) => AddressFamily::INET6,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let fd = net::socket_with(family, kind, FLAGS, None).during("socket")?;
        Ok(Self { fd, is_socket: true })
    }

    fn bind(&self, at: &Address) -> Result<(), SysError> {
        match at {
            Address::Inet(address) => net::bind(&self.fd, address),
            Address::Unix(name) => unix_address(name).and_then(|name| net::bind(&self.fd, &name)),
        }
        .during("bind")
    }

    fn connect_to(&self, to: &Address) -> rustix::io::Result<()> {
        match to {
            Address::Inet(address) => net::connect(&self.fd, address),
            Address::Unix(name) => {
                unix_address(name).and_then(|name| net::connect(&self.fd, &name))
            }
        }
    }
}

impl AsFd for Socket {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn unix_address(name: &UnixName) -> rustix::io::Result<SocketAddrUnix> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddrUnix::new_abstract_name(rest),
        path => SocketAddrUnix::new(path),
    }
}

fn from_any(address: SocketAddrAny) -> Option<Address> {
    match address.address_family() {
        AddressFamily::UNIX => {
            let unix = SocketAddrUnix::try_from(address).ok()?;
            let path = unix.path_bytes().and_then(|path| std::str::from_utf8(path).ok());
            UnixName::new(path.unwrap_or("")).ok().map(Address::Unix)
        }
        _ => SocketAddr::try_from(address).ok().map(Address::Inet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_readable;
    use taut_types::Nanos;

    fn inet(text: &str) -> Address {
        Address::Inet(text.parse().expect("an address"))
    }

    #[test]
    fn listens_on_every_form_of_any_port_and_reports_the_real_one() {
        for at in ["0.0.0.0:0", "[::]:0", "127.0.0.1:0", "[::1]:0"] {
            let listener = Socket::listen(&inet(at), &StreamOptions::default()).expect(at);
            let port = listener.local_address().expect("address").port();
            assert_ne!(port, 0, "{at}");
            let host = if at.starts_with('[') { "[::1]" } else { "127.0.0.1" };
            let to = inet(&format!("{host}:{port}"));
            let (near, _) = Socket::connect(&to, &StreamOptions::default()).expect("connect");
            wait_readable(&[listener.as_fd()], Some(Nanos::from_secs(5))).expect("wait");
            let (_far, peer) = listener.accept().expect("accept").expect("a connection");
            assert_eq!(peer, Some(near.local_address().expect("local")), "{at}");
        }
    }

    #[test]
    fn connects_from_a_chosen_local_address_which_the_peer_sees() {
        let listener = Socket::listen(&inet("127.0.0.1:0"), &StreamOptions::default()).unwrap();
        let probe = Socket::listen(&inet("127.0.0.2:0"), &StreamOptions::default()).unwrap();
        let local = probe.local_address().unwrap().inet();
        drop(probe);
        let options = StreamOptions { local, ..StreamOptions::default() };
        let (_near, _) =
            Socket::connect(&listener.local_address().unwrap(), &options).expect("connect");
        wait_readable(&[listener.as_fd()], Some(Nanos::from_secs(5))).unwrap();
        let (_far, peer) = listener.accept().unwrap().unwrap();
        assert_eq!(peer.and_then(|peer| peer.inet()), local);
    }

    #[test]
    fn acknowledges_a_tcp_stream_when_told_to_and_refuses_what_is_none() {
        let listener = Socket::listen(&inet("127.0.0.1:0"), &StreamOptions::default()).unwrap();
        let to = listener.local_address().unwrap();
        let (near, _) = Socket::connect(&to, &StreamOptions::default()).expect("connect");
        wait_readable(&[listener.as_fd()], Some(Nanos::from_secs(5))).unwrap();
        let (far, _) = listener.accept().unwrap().unwrap();
        let mut buffer = [0; 8];
        for _ in 0..100 {
            far.acknowledge().expect("a TCP stream");
            assert_eq!(near.send(b"tick"), Ok(Some(4)));
            wait_readable(&[far.as_fd()], Some(Nanos::from_secs(5))).unwrap();
            assert_eq!(far.receive(&mut buffer), Ok(Some(4)));
        }
        assert!(Socket::pair().unwrap().0.acknowledge().is_err());
    }

    #[test]
    fn a_pipe_and_a_unix_pair_carry_bytes_and_end() {
        for (near, far) in [Socket::pipe().unwrap(), Socket::pair().map(|(a, b)| (b, a)).unwrap()] {
            let mut buffer = [0; 8];
            assert_eq!(near.receive(&mut buffer), Ok(None));
            assert_eq!(far.send(b"tick"), Ok(Some(4)));
            assert_eq!(near.receive(&mut buffer), Ok(Some(4)));
            drop(far);
            assert_eq!(near.receive(&mut buffer), Ok(Some(0)));
        }
    }

    #[test]
    fn every_descriptor_is_closed_on_exec() {
        let (near, far) = Socket::pair().unwrap();
        for socket in [near, far, Socket::pipe().unwrap().0] {
            let flags = rustix::io::fcntl_getfd(&socket).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}
