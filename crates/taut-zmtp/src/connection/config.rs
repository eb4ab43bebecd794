//! What a connection is told before it starts.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use taut_types::Nanos;
use zeroize::Zeroizing;

use crate::curve::keys::{PublicKey, SecretKey};
use crate::error::{Limit, ZmtpError};
use crate::socket_type::SocketType;

/// A connection's settings.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// What we are.
    pub socket_type: SocketType,
    /// What we call ourselves to a ROUTER, up to 255 bytes; empty for what it likes.
    pub routing_id: Vec<u8>,
    /// How peers prove who they are.
    pub security: Security,
    /// The largest frame that is accepted once the handshake is over.
    pub frame_bytes_max: usize,
    /// The most bytes of one message, all its parts together.
    pub message_bytes_max: usize,
    /// The most parts of one message, which may be empty.
    pub message_parts_max: u32,
    /// From the connection's start to the end of its handshake.
    pub handshake_timeout: Nanos,
    /// Without it, a peer that is gone is noticed only when the transport notices it.
    pub heartbeat: Option<Heartbeat>,
}

/// When to ask whether the peer is there, and when to give it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// From one PING to the next.
    pub interval: Nanos,
    /// How long nothing may come; also what we promise the peer in each PING.
    pub timeout: Nanos,
}

impl Heartbeat {
    /// A PING a second, and three seconds of silence.
    pub const DEFAULT: Self = Self { interval: Nanos::from_secs(1), timeout: Nanos::from_secs(3) };
}

/// A security mechanism and our part in it.
#[derive(Clone, Debug)]
pub enum Security {
    /// None.
    Null,
    /// A user name and a password, sent in the clear.
    PlainClient(Account),
    /// Takes these accounts.
    PlainServer(Vec<Account>),
    /// Encryption with our key pair, to a server whose public key we know.
    CurveClient {
        /// Ours.
        secret: SecretKey,
        /// The server's.
        server: PublicKey,
    },
    /// Encryption with our key pair.
    CurveServer {
        /// Ours.
        secret: SecretKey,
        /// Who may connect; `None` lets everybody in who knows our public key.
        clients: Option<Vec<PublicKey>>,
    },
}

impl Security {
    /// The mechanism's name in the greeting.
    #[must_use]
    pub const fn mechanism(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::PlainClient(_) | Self::PlainServer(_) => "PLAIN",
            Self::CurveClient { .. } | Self::CurveServer { .. } => "CURVE",
        }
    }

    /// Whether we are the server of the mechanism.
    #[must_use]
    pub const fn is_server(&self) -> bool {
        matches!(self, Self::PlainServer(_) | Self::CurveServer { .. })
    }
}

/// A user name and a password.
#[derive(Clone)]
pub struct Account {
    user: String,
    password: Zeroizing<String>,
}

impl Account {
    /// # Errors
    /// One of them has more than 255 bytes.
    pub fn new(user: &str, password: &str) -> Result<Self, ZmtpError> {
        if user.len().max(password.len()) > usize::from(u8::MAX) {
            return Err(ZmtpError::Limit(Limit::CredentialBytes));
        }
        let password = Zeroizing::new(String::from(password));
        Ok(Self { user: String::from(user), password })
    }

    pub(crate) fn user(&self) -> &[u8] {
        self.user.as_bytes()
    }

    pub(crate) fn password(&self) -> &[u8] {
        self.password.as_bytes()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("user", &self.user).finish_non_exhaustive()
    }
}

impl ConnectionConfig {
    /// NULL security, heartbeats, frames to 1 MiB, messages to 16 MiB and 1,024 parts, five seconds
    /// for the handshake.
    #[must_use]
    pub const fn new(socket_type: SocketType) -> Self {
        Self {
            socket_type,
            routing_id: Vec::new(),
            security: Security::Null,
            frame_bytes_max: 1 << 20,
            message_bytes_max: 16 << 20,
            message_parts_max: 1_024,
            handshake_timeout: Nanos::from_secs(5),
            heartbeat: Some(Heartbeat::DEFAULT),
        }
    }
}
