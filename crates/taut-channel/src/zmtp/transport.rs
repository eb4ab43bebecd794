//! Where streams come from: a listener that takes any number, or one that is connected again
//! whenever it is lost.

use std::collections::VecDeque;
use std::path::PathBuf;

use taut_io::{Admission, Completion, Handle, Io, IoError, Kernel, Operation};
use taut_sys::{Address, Socket, StreamOptions, SysError, unlink};
use taut_types::Nanos;
use taut_zmtp::Backoff;

use crate::driver::{Opening, close_source};
use crate::error::ChannelError;
use crate::random::Random;
use crate::uri::{ZmtpAddress, ZmtpEnd, ZmtpUri};

/// Streams of one listener.
pub(super) const STREAMS_MAX: usize = 1024;
/// From a stream's first byte to the end of its handshake.
const HANDSHAKE_TIMEOUT: Nanos = Nanos::from_secs(5);

/// One end of the transport.
#[derive(Debug)]
pub(super) struct Transport {
    role: Role,
    options: StreamOptions,
    /// Streams that stand, for the protocol to begin on.
    arrived: VecDeque<Handle>,
    /// A Unix socket's name, which is removed in the end.
    path: Option<PathBuf>,
    random: Random,
    /// When there is something to do.
    due: Nanos,
}

#[derive(Debug)]
enum Role {
    Listening {
        listener: Handle,
        at: Option<Address>,
        /// No connection could be taken, such as for want of a descriptor.
        has_failed: bool,
        /// Streams that were not let in, or did not stay to the end of their handshake.
        refused: u64,
    },
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
    Underway(Handle),
    Failed,
    /// A stream stands, and is somebody else's.
    Standing,
}

impl Transport {
    pub(super) fn open<K: Kernel>(
        uri: &ZmtpUri,
        end: ZmtpEnd,
        options: StreamOptions,
        opening: &Opening,
        io: &mut Io<K>,
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
        let (arrived, random) = (VecDeque::new(), Random::new(opening));
        if end == ZmtpEnd::Connect {
            let attempt = Attempt::Waiting(opening.now);
            let role = Role::Connecting { to: address, attempt, backoff: Backoff::DEFAULT };
            return Ok(Self { role, options, arrived, path: None, random, due: opening.now });
        }
        let admission = Admission::new(STREAMS_MAX, HANDSHAKE_TIMEOUT);
        let listener = match (io.listen(&address, &options, &admission), &path) {
            (Err(IoError::System(_)), Some(path)) if is_stale(&address) => {
                unlink(path)?;
                io.listen(&address, &options, &admission)?
            }
            (listener, _) => listener?,
        };
        let at = io.local_address(listener).ok();
        let role = Role::Listening { listener, at, has_failed: false, refused: 0 };
        Ok(Self { role, options, arrived, path, random, due: opening.now })
    }

    /// Notes what the loop completed; whether it was this transport's.
    pub(super) fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let is_own = self.note(completion);
        if is_own {
            self.due = Nanos::ZERO;
        }
        is_own
    }

    fn note(&mut self, completion: &Completion<'_>) -> bool {
        match (&mut self.role, completion) {
            (
                Role::Listening { listener, .. },
                Completion::Accepted { listener: by, stream, .. },
            ) if by == listener => {
                self.arrived.push_back(*stream);
                true
            }
            (
                Role::Listening { listener, has_failed, .. },
                Completion::Failed { source, operation: Operation::Accept, .. },
            ) if source == listener => {
                *has_failed = true;
                true
            }
            // A stranger that gave way, or was late: perhaps before the protocol began on it.
            (Role::Listening { .. }, Completion::Closed { source, .. }) => {
                let before = self.arrived.len();
                self.arrived.retain(|stream| stream != source);
                self.arrived.len() < before
            }
            (Role::Connecting { attempt, .. }, completion) => match (&attempt, completion) {
                (Attempt::Underway(underway), Completion::Connected { stream })
                    if stream == underway =>
                {
                    self.arrived.push_back(*stream);
                    *attempt = Attempt::Standing;
                    true
                }
                (
                    Attempt::Underway(underway),
                    Completion::Failed { source, operation: Operation::Connect, .. },
                ) if source == underway => {
                    *attempt = Attempt::Failed;
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether [`Transport::work`] has something to do, or a stream stands.
    #[inline]
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        now >= self.due
    }

    /// A stream that stands now, if there is one.
    pub(super) fn next_stream(&mut self) -> Option<Handle> {
        self.arrived.pop_front()
    }

    /// Connects when it is time, and listens on after a failure.
    pub(super) fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        match &mut self.role {
            Role::Listening { listener, has_failed, refused, .. } => {
                if let Ok(counters) = io.admission_counters(*listener) {
                    *refused = counters.refused + counters.evicted + counters.late;
                }
                if std::mem::take(has_failed) {
                    // No edge comes again for who waits already.
                    let _ = io.accept_again(*listener);
                }
            }
            Role::Connecting { to, attempt, backoff } => match attempt {
                Attempt::Failed => {
                    *attempt = Attempt::Waiting(next(now, backoff, &mut self.random))
                }
                Attempt::Waiting(until) if now >= *until => {
                    *attempt = match io.connect(to, &self.options, None) {
                        Ok(stream) => Attempt::Underway(stream),
                        Err(_) => Attempt::Waiting(next(now, backoff, &mut self.random)),
                    };
                }
                _ => {}
            },
        }
        self.due = self.next_timeout().unwrap_or(Nanos::MAX);
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
            let until = next(now, backoff, &mut self.random);
            *attempt = Attempt::Waiting(until);
            self.due = until;
        }
    }

    /// Strangers that were not let in, or did not stay.
    pub(super) const fn refused(&self) -> u64 {
        match &self.role {
            Role::Listening { refused, .. } => *refused,
            Role::Connecting { .. } => 0,
        }
    }

    /// When [`Transport::work`] is due, if the loop does not say so.
    pub(super) const fn next_timeout(&self) -> Option<Nanos> {
        match &self.role {
            Role::Connecting { attempt: Attempt::Waiting(until), .. } => Some(*until),
            _ => None,
        }
    }

    pub(super) const fn local_address(&self) -> Option<Address> {
        match &self.role {
            Role::Listening { at, .. } => *at,
            Role::Connecting { .. } => None,
        }
    }

    /// Takes no more streams.
    pub(super) fn release<K: Kernel>(&self, io: &mut Io<K>) {
        self.arrived.iter().for_each(|stream| close_source(io, *stream));
        match &self.role {
            Role::Listening { listener: source, .. }
            | Role::Connecting { attempt: Attempt::Underway(source), .. } => {
                close_source(io, *source)
            }
            Role::Connecting { .. } => {}
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

fn next(now: Nanos, backoff: &mut Backoff, random: &mut Random) -> Nanos {
    // Without randomness the span is its shortest: no harm.
    let random = random.bytes().map_or(0, u64::from_le_bytes);
    now + backoff.failed(random)
}
