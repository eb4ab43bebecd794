//! What can go wrong, and whose fault it is.

use crate::close::CloseCode;

/// An error of the crate's caller, or of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WsError {
    /// A text (a URL, a header) is wrong at this byte.
    Malformed {
        /// From its start.
        offset: usize,
    },
    /// The peer broke a rule of the protocol: its connection is over.
    PeerViolation(Violation),
    /// There is no room: nothing was taken.
    Limit(Limit),
    /// The caller asked for what cannot be done.
    Misuse(Misuse),
}

/// Which rule of an open connection a peer broke (sections of RFC 6455).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A reserved bit is set that no extension gives a meaning in this frame (5.2).
    ReservedBits,
    /// An opcode of 3 to 7 or 11 to 15 (5.2).
    ReservedOpcode,
    /// A client's frame is not masked (5.1).
    NotMasked,
    /// A server's frame is masked (5.1).
    Masked,
    /// A length in more bytes than it needs, or with its highest bit set (5.2).
    LengthEncoding,
    /// A control frame of more than 125 bytes (5.5).
    ControlBytes,
    /// A control frame in fragments (5.5).
    ControlFragmented,
    /// A continuation of nothing (5.4).
    UnexpectedContinuation,
    /// A new message between the fragments of another (5.4).
    InterleavedMessage,
    /// A close frame with one byte, which is half a code (5.5.1).
    CloseBytes,
    /// A close code that must not be sent (7.4).
    CloseCode,
    /// A text or a close reason that is not UTF-8 (8.1).
    Utf8,
    /// A longer message than is accepted here (7.4.1).
    MessageBytes,
    /// A message of more fragments than are accepted here (10.4).
    FragmentCount,
    /// A compressed message that cannot be inflated (RFC 7692, 7.2.2).
    Deflate,
}

impl Violation {
    /// What the peer is told.
    #[must_use]
    pub const fn close_code(self) -> CloseCode {
        match self {
            Self::Utf8 | Self::Deflate => CloseCode::INVALID_PAYLOAD,
            Self::MessageBytes | Self::FragmentCount => CloseCode::TOO_BIG,
            _ => CloseCode::PROTOCOL,
        }
    }

    /// The rule in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReservedBits => "a frame has reserved bits that no extension gives a meaning",
            Self::ReservedOpcode => "a frame has a reserved opcode",
            Self::NotMasked => "a client's frame is not masked",
            Self::Masked => "a server's frame is masked",
            Self::LengthEncoding => "a frame's length is not in its shortest form",
            Self::ControlBytes => "a control frame has more than 125 bytes",
            Self::ControlFragmented => "a control frame is fragmented",
            Self::UnexpectedContinuation => "a continuation continues nothing",
            Self::InterleavedMessage => "a message began within another",
            Self::CloseBytes => "a close frame has half a code",
            Self::CloseCode => "a close code must not be sent",
            Self::Utf8 => "a text is not UTF-8",
            Self::MessageBytes => "a message exceeds the limit",
            Self::FragmentCount => "a message has more fragments than the limit",
            Self::Deflate => "a compressed message cannot be inflated",
        }
    }
}

/// Why an opening handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandshakeFault {
    /// The first bytes are no HTTP/1.1 of this kind.
    NotHttp,
    /// A line of the head is malformed.
    Head,
    /// The head is longer than is accepted here.
    HeadBytes,
    /// Not `GET`.
    Method,
    /// A header that must be there once is missing, or there twice: `Host`.
    Host,
    /// `Upgrade` does not name `websocket`.
    Upgrade,
    /// `Connection` does not name `Upgrade`.
    Connection,
    /// `Sec-WebSocket-Key` is not sixteen bytes in base64, once.
    Key,
    /// `Sec-WebSocket-Version` is not 13.
    Version,
    /// `Sec-WebSocket-Accept` is not made of our key.
    Accept,
    /// The server chose a subprotocol that was not offered, or two.
    Subprotocol,
    /// The server chose an extension, or parameters of one, that were not offered; or a list of
    /// extensions is malformed.
    Extension,
}

impl HandshakeFault {
    /// The status that a client is refused with.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::HeadBytes => 431,
            Self::Method => 405,
            Self::Upgrade | Self::Version => 426,
            _ => 400,
        }
    }

    /// The fault in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotHttp => "the peer does not speak HTTP/1.1 here",
            Self::Head => "the HTTP head is malformed",
            Self::HeadBytes => "the HTTP head exceeds the limit",
            Self::Method => "the HTTP method is not GET",
            Self::Host => "the Host header is missing or there twice",
            Self::Upgrade => "the Upgrade header does not name websocket",
            Self::Connection => "the Connection header does not name Upgrade",
            Self::Key => "Sec-WebSocket-Key is not sixteen bytes in base64, once",
            Self::Version => "Sec-WebSocket-Version is not 13",
            Self::Accept => "Sec-WebSocket-Accept is not made of our key",
            Self::Subprotocol => "the server chose a subprotocol that was not offered",
            Self::Extension => "Sec-WebSocket-Extensions is malformed, or not what was offered",
        }
    }
}

/// What there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The bytes, behind those that wait to be sent (`WsConfig::send_bytes_max`).
    SendBytes,
    /// A control frame's 125 bytes; a close reason's 123.
    ControlBytes,
}

/// What the caller did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The connection is not open: not yet, or not any more.
    NotOpen,
    /// There is no request to answer.
    NoRequest,
    /// A close code that must not be sent.
    CloseCode,
    /// A header's name or value, a path or a subprotocol with characters that do not belong there.
    HeaderText,
    /// A status that refuses nothing: not 300 to 599.
    Status,
    /// Another message, or another kind, between the parts of one.
    InsideMessage,
    /// A size of zero.
    Size,
    /// Compression: a level that is not 1 to 9, a window that is not 8 to 15 bits, an offer of a
    /// connection whose settings have none.
    Deflate,
}

impl core::fmt::Display for WsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "malformed at byte {offset}"),
            Self::PeerViolation(violation) => f.write_str(violation.as_str()),
            Self::Limit(Limit::SendBytes) => {
                f.write_str("the peer reads too slowly: send_bytes_max wait to be sent")
            }
            Self::Limit(Limit::ControlBytes) => {
                f.write_str("more than 125 bytes in a control frame, or 123 in a close reason")
            }
            Self::Misuse(misuse) => write!(f, "misuse: {misuse:?}"),
        }
    }
}

impl core::error::Error for WsError {}
