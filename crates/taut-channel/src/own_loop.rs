//! The loop of a channel that is used by itself: small, over epoll.

use std::os::fd::{AsFd, BorrowedFd};

use taut_io::{Completion, EpollKernel, EventLoop, Io, LoopConfig};
use taut_types::Nanos;

use crate::error::ChannelError;
use crate::uri::{ChannelUri, ZmtpEnd};

/// Streams of one end of a ZMTP channel that listens, and a few that are being closed.
const LISTENER_SOURCES: usize = 1024 + 64;
/// Sockets of one end of any other: a lease's publisher has most.
const SOURCES: usize = 16;

/// A loop that one channel has for itself.
#[derive(Debug)]
pub(crate) struct OwnLoop(EventLoop<EpollKernel>);

impl OwnLoop {
    /// For a publication (`listens` unless the URI says otherwise) or a subscription.
    pub(crate) fn new(uri: &ChannelUri, listens: bool) -> Result<Self, ChannelError> {
        let sources_max = match uri {
            ChannelUri::Aeron(uri) => SOURCES + uri.more_endpoints.len(),
            ChannelUri::Zmtp(uri) => {
                let listens = uri.end.map_or(listens, |end| end == ZmtpEnd::Bind);
                if listens { LISTENER_SOURCES } else { SOURCES }
            }
            ChannelUri::Inproc(_) | ChannelUri::Ipc(_) | ChannelUri::Lease(_) => SOURCES,
        };
        Self::of(sources_max)
    }

    /// For an end in memory.
    pub(crate) fn without_sources() -> Result<Self, ChannelError> {
        Self::of(0)
    }

    /// For a socket with so many peers, and some places that it is at.
    pub(crate) fn of_peers(peers_max: usize) -> Result<Self, ChannelError> {
        Self::of(peers_max + 64)
    }

    fn of(sources_max: usize) -> Result<Self, ChannelError> {
        // Drivers keep what waits to be sent themselves, and their deadlines are told.
        let config = LoopConfig {
            sources_max,
            timers_max: 2,
            posts_max: 2,
            write_bytes_max: 0,
            writes_max: 0,
            ..LoopConfig::default()
        };
        Ok(Self(EventLoop::new(EpollKernel::new(sources_max)?, config)?))
    }

    #[inline]
    pub(crate) const fn io(&mut self) -> &mut Io<EpollKernel> {
        self.0.io()
    }

    /// One turn, which waits for at most a span. Returns how much was completed.
    pub(crate) fn turn(&mut self, span: Nanos, mut note: impl FnMut(&Completion<'_>)) -> usize {
        let mut handler = |_: &mut Io<EpollKernel>, completion: Completion<'_>| note(&completion);
        // A failure is a look at the work, as an interruption is.
        self.0.wait(&mut handler, span).unwrap_or(0)
    }

    /// Readable when a turn would complete something.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.kernel().set().as_fd()
    }
}
