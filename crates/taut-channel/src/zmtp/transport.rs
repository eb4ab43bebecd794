//! Where streams come from: a listener that takes any number, or one that is connected again
//! whenever it is lost.

use std::path::PathBuf;

use taut_sys::{
    Address, ConnectProgress, Epoll, Interest, Socket, StreamOptions, SysError, Wanted,
    random_bytes, unlink, wait_ready,
};
use taut_types::Nanos;
use taut_zmtp::Backoff;

use crate::error::ChannelError;
use crate::uri::{ZmtpAddress, ZmtpEnd, ZmtpUri};
use std::os::fd::AsFd;

/// The listener's token in the set; streams have their own places' numbers.
pub(super) const LISTENER: u64 = u64::MAX;

/// One end of the transport.
#[derive(Debug)]
pub(super) struct Transport {
    role: Role,
    options: StreamOptions,
    /// A Unix socket's name, which is removed in the end.
    path: Option<PathBuf>,
}

#[derive(Debug)]
enum Role {
    /// With whether somebody may wait: an edge came, the end of the queue was not reached since.
    Listening(Socket, bool),
    Connecting {
        to: Address,
        attempt: Attempt,
        backoff: Backoff,
    },
}

#[derive(Debug)]
enum Attempt {
    /// Until then.
    Waiting(Nanos),
    Underway(Socket),
    /// A stream stands, and is somebody else's.
    Standing,
}

impl Transport {
    pub(super) fn open(
        uri: &ZmtpUri,
        end: ZmtpEnd,
        options: StreamOptions,
        epoll: &Epoll,
        now: Nanos,
    ) -> Result<Self, ChannelError> {
        let (address, path) = match &uri.address {
            ZmtpAddress::Tcp(endpoint) => {
                let io = |error| ChannelError::Io { what: endpoint.to_string(), error };
                (Address::Inet(endpoint.resolve().map_err(io)?), None)
            }
            ZmtpAddress::Unix(path) => {
                let named = (!path.starts_with('@')).then(|| PathBuf::from(path));
                (Address::unix(path)?, named)
            }
        };
        if end == ZmtpEnd::Connect {
            let attempt = Attempt::Waiting(now);
            let role = Role::Connecting { to: address, attempt, backoff: Backoff::DEFAULT };
            return Ok(Self { role, options, path: None });
        }
        let listener = match (Socket::listen(&address, &options), &path) {
            (Err(_), Some(path)) if is_stale(&address) => {
                unlink(path)?;
                Socket::listen(&address, &options)?
            }
            (listener, _) => listener?,
        };
        epoll.add(&listener, LISTENER, Interest::Read)?;
        Ok(Self { role: Role::Listening(listener, true), options, path })
    }

    /// The listener's edge came: somebody waits.
    pub(super) const fn called(&mut self) {
        if let Role::Listening(_, is_called) = &mut self.role {
            *is_called = true;
        }
    }

    /// A stream that stands now, if there is one. Cost: a system call, none while nobody calls or
    /// one stands that was connected.
    pub(super) fn poll(&mut self, now: Nanos) -> Option<Socket> {
        match &mut self.role {
            Role::Listening(_, false) => None,
            Role::Listening(listener, is_called) => {
                let accepted = listener.accept();
                // A failure, such as no descriptor being free, is not the end of the queue: no edge
                // comes again for who waits there.
                *is_called = !matches!(accepted, Ok(None));
                let (socket, _) = accepted.ok().flatten()?;
                // A Unix socket has none of these options, and needs none.
                let _ = socket.apply(&self.options);
                Some(socket)
            }
            Role::Connecting { to, attempt, backoff } => {
                *attempt = match std::mem::replace(attempt, Attempt::Standing) {
                    Attempt::Waiting(until) if now >= until => {
                        match Socket::connect(to, &self.options) {
                            // Whether the peer is any good, its handshake will tell.
                            Ok((socket, ConnectProgress::Connected)) => return Some(socket),
                            Ok((socket, ConnectProgress::Underway)) => Attempt::Underway(socket),
                            Err(_) => Attempt::Waiting(next(now, backoff)),
                        }
                    }
                    Attempt::Underway(socket) if is_writable(&socket) => {
                        if socket.connect_result().is_ok() {
                            return Some(socket);
                        }
                        Attempt::Waiting(next(now, backoff))
                    }
                    other => other,
                };
                None
            }
        }
    }

    /// The stream's handshake is over: when it is lost, the next attempt comes soon.
    pub(super) fn established(&mut self) {
        if let Role::Connecting { backoff, .. } = &mut self.role {
            backoff.succeeded();
        }
    }

    /// A stream that was handed out is lost.
    pub(super) fn lost(&mut self, now: Nanos) {
        if let Role::Connecting { attempt, backoff, .. } = &mut self.role {
            *attempt = Attempt::Waiting(next(now, backoff));
        }
    }

    /// When [`Transport::poll`] is due, if that is not announced otherwise.
    pub(super) fn next_timeout(&self, now: Nanos) -> Option<Nanos> {
        match &self.role {
            Role::Connecting { attempt: Attempt::Waiting(until), .. } => Some(*until),
            Role::Connecting { attempt: Attempt::Underway(_), .. } => {
                Some(now + Nanos::from_millis(1))
            }
            _ => None,
        }
    }

    pub(super) fn local_address(&self) -> Option<Address> {
        match &self.role {
            Role::Listening(listener, _) => listener.local_address().ok(),
            Role::Connecting { .. } => None,
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = unlink(path);
        }
    }
}

/// A name in the file system that nobody listens at: who listens and is busy, or is no stream's
/// end, has another answer.
fn is_stale(address: &Address) -> bool {
    Socket::connect(address, &StreamOptions::default()).is_err_and(SysError::is_peer_gone)
}

fn is_writable(socket: &Socket) -> bool {
    let wanted = Wanted { fd: socket.as_fd(), write: true };
    matches!(wait_ready(&[wanted], Some(Nanos::ZERO)), Ok(true))
}

fn next(now: Nanos, backoff: &mut Backoff) -> Nanos {
    let mut random = [0; 8];
    // Without randomness the span is its shortest: no harm.
    let _ = random_bytes(&mut random);
    now + backoff.failed(u64::from_le_bytes(random))
}
