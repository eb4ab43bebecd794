//! TCP sockets, never blocking, without Nagle's delay.

use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::error::{SysError, SysResult};

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A listening IPv4 socket that never blocks.
#[derive(Debug)]
pub struct TcpListener {
    fd: OwnedFd,
}

impl TcpListener {
    /// Listens on `address`; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// What `socket(2)`, `bind(2)` and `listen(2)` say.
    pub fn bind(address: SocketAddrV4) -> Result<Self, SysError> {
        let fd = net::socket_with(AddressFamily::INET, SocketType::STREAM, FLAGS, None)
            .during("socket")?;
        // A port whose last connections linger in TIME-WAIT is free for a listener.
        sockopt::set_socket_reuseaddr(&fd, true).during("reuse address")?;
        net::bind(&fd, &address).during("bind")?;
        net::listen(&fd, 16).during("listen")?;
        Ok(Self { fd })
    }

    /// Takes a waiting connection, if there is one.
    ///
    /// # Errors
    /// What `accept(2)` says.
    pub fn accept(&self) -> Result<Option<TcpStream>, SysError> {
        let Some(fd) = net::accept_with(&self.fd, FLAGS).unless_blocked("accept")? else {
            return Ok(None);
        };
        sockopt::set_tcp_nodelay(&fd, true).during("no delay")?;
        Ok(Some(TcpStream { fd }))
    }

    /// The address that the socket listens on.
    ///
    /// # Errors
    /// What `getsockname(2)` says.
    pub fn local_address(&self) -> Result<SocketAddrV4, SysError> {
        let address = net::getsockname(&self.fd).during("local address")?;
        SocketAddrV4::try_from(address).during("local address")
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A connected IPv4 stream that never blocks.
#[derive(Debug)]
pub struct TcpStream {
    fd: OwnedFd,
}

impl TcpStream {
    /// Connects; this call alone waits for the peer (on loopback, for nothing).
    ///
    /// # Errors
    /// What `socket(2)` and `connect(2)` say.
    pub fn connect(peer: SocketAddrV4) -> Result<Self, SysError> {
        let flags = SocketFlags::CLOEXEC;
        let fd = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
            .during("socket")?;
        net::connect(&fd, &peer).during("connect")?;
        rustix::io::ioctl_fionbio(&fd, true).during("non-blocking")?;
        sockopt::set_tcp_nodelay(&fd, true).during("no delay")?;
        Ok(Self { fd })
    }

    /// Takes what has arrived: `None` when nothing has, 0 when the peer closed its end.
    /// Cost: one system call.
    ///
    /// # Errors
    /// What `recv(2)` says.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> Result<Option<usize>, SysError> {
        let got = net::recv(&self.fd, buffer, RecvFlags::DONTWAIT).unless_blocked("receive")?;
        Ok(got.map(|(bytes, _)| bytes))
    }

    /// Says that nothing more will be sent: the peer reads what is on its way, then the end.
    ///
    /// # Errors
    /// What `shutdown(2)` says.
    pub fn shutdown_write(&self) -> Result<(), SysError> {
        net::shutdown(&self.fd, net::Shutdown::Write).during("shutdown")
    }

    /// Sends what the kernel takes and returns its length; 0 when its buffer is full.
    /// Cost: one system call; on loopback it carries the whole way to the peer's socket.
    ///
    /// # Errors
    /// What `send(2)` says; a closed peer is `EPIPE`, never a signal.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> Result<usize, SysError> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(net::send(&self.fd, bytes, flags).unless_blocked("send")?.unwrap_or(0))
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_readable;
    use std::net::Ipv4Addr;
    use taut_types::Nanos;

    #[test]
    fn bytes_pass_both_ways_and_a_close_is_seen() {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let listener = TcpListener::bind(any).expect("listen");
        assert!(listener.accept().expect("accept").is_none());
        let near = TcpStream::connect(listener.local_address().expect("address")).expect("connect");
        wait_readable(&[listener.as_fd()], Some(Nanos::from_secs(5))).expect("wait");
        let far = listener.accept().expect("accept").expect("a connection");
        let mut buffer = [0; 16];
        assert_eq!(far.recv(&mut buffer), Ok(None));
        assert_eq!(near.send(b"8=FIX"), Ok(5));
        wait_readable(&[far.as_fd()], Some(Nanos::from_secs(5))).expect("wait");
        assert_eq!(far.recv(&mut buffer), Ok(Some(5)));
        drop(far);
        wait_readable(&[near.as_fd()], Some(Nanos::from_secs(5))).expect("wait");
        assert_eq!(near.recv(&mut buffer), Ok(Some(0)));
    }
}
