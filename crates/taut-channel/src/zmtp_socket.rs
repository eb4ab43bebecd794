//! REQ, REP, DEALER, ROUTER, PAIR, PUSH and PULL with a loop of their own.

use std::ops::Deref;
use std::os::fd::BorrowedFd;

use taut_sys::Address;
use taut_types::Nanos;
use taut_zmtp::{SocketConfig, SocketMessage, ZmtpError};

use crate::driver::Opening;
use crate::error::ChannelError;
use crate::own_loop::OwnLoop;
use crate::zmtp::ZmtpSocketEnd;

/// A ZeroMQ socket that is polled by the caller's thread: a [`ZmtpSocketEnd`] with a loop of its
/// own. What it says of itself is asked of the end.
///
/// ```
/// use taut_channel::{Opening, ZmtpSocket};
/// use taut_sys::monotonic;
/// use taut_types::Nanos;
/// use taut_zmtp::{SocketConfig, SocketType};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let opening = Opening { now: monotonic(), ..Opening::default() };
/// let mut rep = ZmtpSocket::new(SocketConfig::new(SocketType::Rep), &opening)?;
/// let mut req = ZmtpSocket::new(SocketConfig::new(SocketType::Req), &opening)?;
/// rep.bind(monotonic(), "inproc://desk")?;
/// req.connect(monotonic(), "inproc://desk")?;
///
/// while req.send(monotonic(), &[b"BTC-USD?"]).is_err() {
///     rep.work(monotonic());
///     req.work(monotonic()); // there is no peer yet
/// }
/// loop {
///     if let Ok(Some(question)) = rep.receive(monotonic()) {
///         assert_eq!(question.bytes(), b"BTC-USD?");
///         rep.send(monotonic(), &[b"63,000"])?;
///     }
///     if let Some(answer) = req.receive(monotonic())? {
///         assert_eq!(answer.parts().collect::<Vec<_>>(), [b"63,000"]);
///         break;
///     }
///     req.block(Nanos::from_millis(1));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ZmtpSocket {
    end: ZmtpSocketEnd,
    own: OwnLoop,
}

impl Deref for ZmtpSocket {
    type Target = ZmtpSocketEnd;

    fn deref(&self) -> &ZmtpSocketEnd {
        &self.end
    }
}

impl ZmtpSocket {
    /// A socket that is nowhere yet.
    ///
    /// # Errors
    /// As [`ZmtpSocketEnd::new`]; no room for a loop.
    pub fn new(config: SocketConfig, opening: &Opening) -> Result<Self, ChannelError> {
        let own = OwnLoop::of_peers(config.peers_max)?;
        Ok(Self { end: ZmtpSocketEnd::new(config, opening)?, own })
    }

    /// Binds it: see [`ZmtpSocketEnd::bind`].
    ///
    /// # Errors
    /// It is no place, or cannot be had.
    pub fn bind(&mut self, now: Nanos, place: &str) -> Result<Option<Address>, ChannelError> {
        self.end.bind(self.own.io(), now, place)
    }

    /// Connects it: see [`ZmtpSocketEnd::connect`].
    ///
    /// # Errors
    /// It is no place.
    pub fn connect(&mut self, now: Nanos, place: &str) -> Result<(), ChannelError> {
        self.end.connect(self.own.io(), now, place)
    }

    /// Sends a message: see [`ZmtpSocketEnd::send`].
    ///
    /// # Errors
    /// As [`taut_zmtp::Socket::send`].
    pub fn send(&mut self, now: Nanos, parts: &[&[u8]]) -> Result<(), ZmtpError> {
        self.end.send(self.own.io(), now, parts)
    }

    /// The next message, whose parts are lent until the next call.
    ///
    /// # Errors
    /// As [`taut_zmtp::Socket::receive`].
    pub fn receive(&mut self, now: Nanos) -> Result<Option<SocketMessage<'_>>, ZmtpError> {
        self.turn_if_due(now);
        self.end.receive(self.own.io(), now)
    }

    /// The duty: see [`ZmtpSocketEnd::work`].
    pub fn work(&mut self, now: Nanos) -> usize {
        self.turn_if_due(now);
        self.end.work(self.own.io(), now)
    }

    /// Takes no more messages and sends those that wait, for at most this long. Let it work until
    /// [`ZmtpSocketEnd::is_closed`].
    pub fn close(&mut self, now: Nanos, linger: Nanos) {
        self.end.close(self.own.io(), now, linger);
    }

    /// A REQ does not wait for its answer any more ([`taut_zmtp::Socket::give_up`]).
    pub fn give_up(&mut self) {
        self.end.give_up();
    }

    /// Sleeps until something may be to do, at most for `span`.
    pub fn block(&mut self, span: Nanos) {
        if self.end.may_sleep() {
            self.turn(span);
        }
    }

    /// Readable when there is something to do, for a loop of another kind. Let it work until it
    /// finds nothing before each wait, and at [`ZmtpSocketEnd::next_timeout`].
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.descriptor()
    }

    fn turn_if_due(&mut self, now: Nanos) {
        if self.end.wants_turn(now) {
            self.turn(Nanos::ZERO);
        }
    }

    fn turn(&mut self, span: Nanos) {
        let Self { end, own } = self;
        own.turn(span, |completion| _ = end.complete(completion));
    }
}
