//! What can go wrong, and whose fault it is.

use core::fmt;

/// An error of the crate's caller, or of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZmtpError {
    /// A text or a file of keys is wrong at this byte.
    Malformed {
        /// From its start.
        offset: usize,
    },
    /// The peer broke a rule of the protocol: its connection is over.
    PeerViolation(Violation),
    /// Something is larger than it may be.
    Limit(Limit),
    /// The caller asked for what cannot be done.
    Misuse(Misuse),
}

/// Which rule a peer broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The first bytes are no signature of ZMTP 2 or 3: another protocol, or ZMTP 1.
    NotZmtp,
    /// The peer speaks ZMTP 1 or 2, which are not supported.
    OldVersion {
        /// The major version that it named; 1 stands for ZMTP 2.0, as its RFC 15 has it.
        revision: u8,
    },
    /// The security mechanisms differ.
    Mechanism,
    /// A reserved bit of a frame's flags is set, or a command is marked to be continued.
    FrameFlags,
    /// A frame larger than is accepted here.
    FrameBytes,
    /// A message, all parts together, larger than is accepted here.
    MessageBytes,
    /// A message of more parts than are accepted here.
    MessageParts,
    /// A command whose parts do not fit its size.
    CommandSyntax,
    /// A command that has no place in this state.
    UnexpectedCommand,
    /// A message that has no place in this state, or on this socket.
    UnexpectedMessage,
    /// A command within a multipart message.
    CommandInsideMessage,
    /// The metadata lack a Socket-Type, or name one that does not go with ours.
    SocketType,
    /// The user, the password or the key is not accepted.
    Refused,
    /// A CURVE box does not open, or does not hold what it must.
    Cryptography,
    /// A CURVE nonce that is not the one behind the one before.
    Nonce,
    /// A longer subscription prefix than is accepted.
    PrefixBytes,
    /// More subscriptions than are accepted.
    SubscriptionCount,
    /// A routing id (Identity) of more than 255 bytes, or one that begins with a zero.
    RoutingId,
}

impl Violation {
    /// The rule in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotZmtp => "the peer does not speak ZMTP 3",
            Self::OldVersion { .. } => "the peer speaks ZMTP 2 or older; ZMTP 3.0 is the least",
            Self::Mechanism => "the peer uses another security mechanism",
            Self::FrameFlags => "a frame has reserved flags",
            Self::FrameBytes => "a frame exceeds the size limit",
            Self::MessageBytes => "a message exceeds the size limit",
            Self::MessageParts => "a message has more parts than the limit",
            Self::CommandSyntax => "a command is malformed",
            Self::UnexpectedCommand => "a command came at the wrong time",
            Self::UnexpectedMessage => "a message came where none may",
            Self::CommandInsideMessage => "a command came within a multipart message",
            Self::SocketType => "the peer's socket type does not go with ours",
            Self::Refused => "the credentials are not accepted",
            Self::Cryptography => "an encrypted box does not open: wrong server key?",
            Self::Nonce => "an encrypted frame came again, out of order, or is missing",
            Self::PrefixBytes => "a subscription's prefix exceeds the limit",
            Self::SubscriptionCount => "the peer has more subscriptions than the limit",
            Self::RoutingId => "the peer's routing id is too long, or begins with a zero",
        }
    }
}

/// What is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A message that does not fit the publisher's frame log.
    MessageBytes,
    /// More connections than the socket was built for.
    PeerCount,
    /// A user name or password of more than 255 bytes.
    CredentialBytes,
    /// A longer subscription prefix than is accepted.
    PrefixBytes,
    /// More subscriptions than are accepted.
    SubscriptionCount,
    /// So many messages wait for every peer that the message could go to; or there is no peer. Try
    /// again later (EAGAIN).
    HighWaterMark,
    /// A routing id of more than 255 bytes.
    RoutingId,
}

/// What the caller did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// A message without parts.
    EmptyMessage,
    /// A socket type that does not do this.
    SocketType,
    /// A connection that is not there any more.
    UnknownPeer,
    /// A size of zero, or one that is no power of two where one is asked for.
    Size,
    /// It is not this socket's turn to do that: a REQ waits for its answer, a REP has nothing to
    /// answer, or not answered yet (EFSM).
    Turn,
    /// A ROUTER that must say so knows no peer of this routing id (EHOSTUNREACH).
    Unroutable,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The peer broke a rule.
    Violation(Violation),
    /// The peer sent an ERROR command.
    PeerError(ErrorText),
    /// The handshake was not over in time.
    HandshakeTimeout,
    /// Nothing came for the heartbeat timeout, or for the time that the peer promised.
    HeartbeatTimeout,
    /// A PAIR socket has a peer already.
    SecondPeer,
    /// A ROUTER socket has a peer of the same routing id.
    SameRoutingId,
    /// A new peer of the same routing id took this one's place.
    HandedOver,
}

/// The words of an ERROR command, cut at 32 bytes, of which the printable ones are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ErrorText {
    bytes: [u8; 32],
    length: u8,
}

impl ErrorText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut bytes = [0; 32];
        let mut length = 0;
        for (place, byte) in bytes.iter_mut().zip(text) {
            *place = if byte.is_ascii_graphic() || *byte == b' ' { *byte } else { b'?' };
            length += 1;
        }
        Self { bytes, length }
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..usize::from(self.length)).unwrap_or(&[]);
        core::str::from_utf8(text).unwrap_or("")
    }
}

impl core::fmt::Debug for ErrorText {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(self.as_str(), f)
    }
}

impl CloseReason {
    /// The reason in words, without what the peer said.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.as_str(),
            Self::PeerError(_) => "the peer reported an error",
            Self::HandshakeTimeout => "the handshake took too long",
            Self::HeartbeatTimeout => "nothing came from the peer for too long",
            Self::SecondPeer => "a PAIR socket has one peer, and this is another",
            Self::SameRoutingId => "another peer has this routing id",
            Self::HandedOver => "a new peer of this routing id took its place",
        }
    }
}

impl fmt::Display for ZmtpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "malformed at byte {offset}"),
            Self::PeerViolation(violation) => f.write_str(violation.as_str()),
            Self::Limit(limit) => limit.fmt(f),
            Self::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl core::error::Error for ZmtpError {}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MessageBytes => "the message does not fit the publisher's frame log",
            Self::PeerCount => "more connections than the socket was built for",
            Self::CredentialBytes => "a user name or password has at most 255 bytes",
            Self::PrefixBytes => "a subscription's prefix is longer than is accepted",
            Self::SubscriptionCount => "more subscriptions than are accepted",
            Self::HighWaterMark => {
                "there is no peer, or as many messages wait for each as may; try again later"
            }
            Self::RoutingId => "a routing id has at most 255 bytes and does not begin with a zero",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyMessage => "a message has at least one part",
            Self::SocketType => "this type of socket does not do that",
            Self::UnknownPeer => "the connection is not there any more",
            Self::Size => "a size is zero, or no power of two where one is needed",
            Self::Turn => {
                "it is not the socket's turn: REQ sends, then receives; REP receives, then sends"
            }
            Self::Unroutable => "no peer has this routing id",
        })
    }
}

impl core::error::Error for Misuse {}
