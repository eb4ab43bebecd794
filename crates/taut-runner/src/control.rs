//! What parent and child say to each other over the control socket.

use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_sys::{
    CONTROL_BYTES_MAX, ControlSocket, Received, SharedMemory, SysError, monotonic, wait_readable,
};
use taut_types::Nanos;

use crate::feed::FeedAddresses;
use crate::placement::Place;
use crate::service::PositionLine;
use crate::settings::Settings;

/// What every child is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// The parent's process id.
    pub parent: u32,
    /// When the run began, CLOCK_MONOTONIC in nanoseconds: the time at which a strategy is made.
    pub began: i64,
    /// Where the child runs.
    pub place: Place,
    /// The run's settings, without the strategy's parameters.
    pub settings: Settings,
}

/// What the venue simulator is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VenueSetup {
    /// For every child.
    pub common: Common,
    /// The feed's stream.
    pub stream_id: u32,
    /// Where a feed of datagrams goes; nothing where the venue's market data are asked for.
    pub feed: Option<FeedAddresses>,
    /// The folder of its journal, where it has one.
    pub journal: Option<PathBuf>,
    /// It is the standby of a venue that listens there.
    pub stands_by: Option<VenuePorts>,
}

/// What the gateway is told. Descriptors: the segment of all, that of the strategy, the gateway's
/// and the strategy's doorbell, then, of a feed of datagrams, its sockets: line A, the snapshots,
/// and, where there is one, line B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatewaySetup {
    /// For every child.
    pub common: Common,
    /// The venue's order entry.
    pub orders: SocketAddrV4,
    /// The simulator's sink, which the bare send is measured against.
    pub sink: Option<SocketAddrV4>,
    /// Where the venue takes requests for packets.
    pub requests: Option<SocketAddrV4>,
    /// Where the venue serves a recorded stream, which is the feed then.
    pub stream: Option<SocketAddrV4>,
    /// Where a venue that speaks as another serves WebSocket.
    pub web: Option<WebPort>,
    /// SenderCompID (49).
    pub sender_comp_id: String,
    /// TargetCompID (56).
    pub target_comp_id: String,
    /// HeartBtInt (108).
    pub heartbeat_seconds: u32,
    /// The feed's stream.
    pub stream_id: Option<u32>,
    /// Whether the strategy sleeps in the kernel and must be woken.
    pub wake_strategy: bool,
    /// The strategy's parameters in TOML, for fused mode.
    pub parameters: String,
}

/// What the strategy is told. Descriptors: the segment of all and its own, the gateway's and the
/// strategy's doorbell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategySetup {
    /// For every child.
    pub common: Common,
    /// Whether the gateway sleeps in the kernel and must be woken.
    pub wake_gateway: bool,
    /// The strategy's parameters in TOML.
    pub parameters: String,
}

/// From the parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// To the venue, first.
    SetUpVenue(Box<VenueSetup>),
    /// To the gateway, first.
    SetUpGateway(Box<GatewaySetup>),
    /// To the strategy, first.
    SetUpStrategy(Box<StrategySetup>),
    /// To the venue: let the flow run.
    Start,
    /// To whoever has the strategy: no new orders, cancel what is open, say [`Reply::Drained`].
    Drain,
    /// To the venue: end the flow, say [`Reply::Stopped`].
    Stop,
    /// To the gateway: catch up with the venue, log out, say [`Reply::Finished`].
    Finish {
        /// What the venue published, where that is known.
        published: Option<Published>,
    },
    /// To all: end.
    Exit,
}

/// Where a venue that speaks as another serves WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebPort {
    /// Its address.
    pub at: SocketAddrV4,
    /// The root of its certificate, PEM, where it speaks TLS, there and where it takes orders.
    pub root: Option<String>,
}

/// Where the venue listens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VenuePorts {
    /// For orders.
    pub orders: SocketAddrV4,
    /// For bytes that are thrown away.
    pub sink: SocketAddrV4,
    /// For requests for packets, where there are any.
    pub requests: Option<SocketAddrV4>,
    /// For who follows the stream of a recorded venue, if there is one.
    pub stream: Option<SocketAddrV4>,
    /// For WebSocket, where the venue speaks as another.
    pub web: Option<WebPort>,
}

/// What a venue published for the gateway: packets; updates, where the feed is a recorded stream;
/// changes of books, where the venue speaks as another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// How many.
    pub count: u64,
    /// The number of the last one; 0 where they have none of their own.
    pub last: u64,
}

/// From a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The venue listens.
    VenueReady(VenuePorts),
    /// The gateway is logged on and its book is live, or the strategy reads its rings.
    Ready,
    /// The recording is at its end.
    FlowEnded,
    /// The standby has taken the venue's place.
    TookOver {
        /// When it listened, CLOCK_MONOTONIC in nanoseconds.
        at: i64,
    },
    /// No order is open.
    Drained,
    /// The flow is at rest.
    Stopped {
        /// What was published.
        published: Published,
        /// Counters of the venue, by name.
        counters: Vec<(String, u64)>,
    },
    /// Some of what the gateway holds at its end.
    Positions(Vec<PositionLine>),
    /// The gateway is done.
    Finished {
        /// Profit over all positions, realised and not, less fees: a decimal.
        profit: String,
    },
    /// The child got a stop signal, as all do when a service manager ends a whole service.
    AskedToStop,
    /// The child cannot go on.
    Failed {
        /// Why, for people.
        text: String,
    },
}

/// What stands in the place of a message that is longer than the socket takes, such as settings
/// with thousands of instruments: the message is in memory, whose descriptor comes last.
const IN_MEMORY: &[u8] = b"in memory";
/// The longest message in memory.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// One end of the control socket, in messages.
#[derive(Debug)]
pub struct Channel {
    socket: ControlSocket,
    buffer: Vec<u8>,
}

/// What came in.
#[derive(Debug)]
pub enum Incoming<M> {
    /// Nothing yet.
    Nothing,
    /// A message and its descriptors.
    Message(M, Vec<OwnedFd>),
    /// The other side is gone.
    Gone,
}

impl Channel {
    /// A channel over this end.
    pub fn new(socket: ControlSocket) -> Self {
        Self { socket, buffer: vec![0; CONTROL_BYTES_MAX] }
    }

    /// Sends a message and copies of these descriptors.
    pub fn send<M: Serialize>(&self, message: &M, fds: &[BorrowedFd<'_>]) -> Result<(), SysError> {
        // The messages above hold nothing that JSON cannot, so that this cannot fail; were it to,
        // the other side would refuse the empty message.
        let bytes = serde_json::to_vec(message).unwrap_or_default();
        if bytes.len() <= CONTROL_BYTES_MAX {
            return self.socket.send(&bytes, fds);
        }
        let memory = SharedMemory::holding("taut-message", &bytes)?;
        let fds: Vec<_> = fds.iter().copied().chain([memory.as_fd()]).collect();
        self.socket.send(IN_MEMORY, &fds)
    }

    /// Takes a message, if there is one. What is no message counts as the end of the other side.
    pub fn receive<M: for<'a> Deserialize<'a>>(&mut self) -> Result<Incoming<M>, SysError> {
        Ok(match self.socket.recv(&mut self.buffer)? {
            Received::Nothing => Incoming::Nothing,
            Received::Closed => Incoming::Gone,
            Received::Message(bytes, mut fds) => {
                let text = self.buffer.get(..bytes).unwrap_or_default();
                let message = match fds.pop_if(|_| text == IN_MEMORY) {
                    Some(fd) => {
                        serde_json::from_slice(&SharedMemory::adopt(fd)?.read(MESSAGE_BYTES_MAX)?)
                    }
                    None => serde_json::from_slice(text),
                };
                match message {
                    Ok(message) => Incoming::Message(message, fds),
                    Err(_) => Incoming::Gone,
                }
            }
        })
    }

    /// As [`Channel::receive`], and waits for at most so long; nothing when none came.
    pub fn receive_within<M: for<'a> Deserialize<'a>>(
        &mut self,
        span: Nanos,
    ) -> Result<Incoming<M>, SysError> {
        let deadline = monotonic() + span;
        loop {
            let incoming = self.receive()?;
            let left = deadline.since(monotonic());
            if left <= Nanos::ZERO || !matches!(incoming, Incoming::Nothing) {
                return Ok(incoming);
            }
            // A signal ends the wait.
            let _ = wait_readable(&[self.socket.as_fd()], Some(left));
        }
    }

    /// Nothing more is said: the other side sees the end, and is heard until it ends.
    pub fn close(&self) {
        self.socket.shut_down_sending();
    }

    /// The descriptor to wait for.
    pub const fn socket(&self) -> &ControlSocket {
        &self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_longer_than_the_socket_takes_passes_with_its_descriptors() {
        let (near, far) = ControlSocket::pair().expect("pair");
        let (near, mut far) = (Channel::new(near), Channel::new(far));
        let sent = Reply::Failed { text: "x".repeat(20 * CONTROL_BYTES_MAX) };
        near.send(&sent, &[near.socket().as_fd()]).expect("send");
        match far.receive::<Reply>().expect("receive") {
            Incoming::Message(reply, fds) => assert_eq!((reply, fds.len()), (sent, 1)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_pass_and_the_end_is_told() {
        let (near, far) = ControlSocket::pair().expect("pair");
        let (near, mut far) = (Channel::new(near), Channel::new(far));
        let finish = Order::Finish { published: Some(Published { count: 7, last: 9 }) };
        near.send(&finish, &[]).expect("send");
        match far.receive::<Order>().expect("receive") {
            Incoming::Message(order, fds) => {
                assert_eq!((order, fds.len()), (finish, 0));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(far.receive::<Order>(), Ok(Incoming::Nothing)));
        drop(near);
        assert!(matches!(far.receive::<Order>(), Ok(Incoming::Gone)));
    }
}
