//! What a session is told when it is built, and the two clocks it is told with every call.

use taut_types::Nanos;

use crate::codec::frame::MESSAGE_BYTES_MAX;
use crate::codec::text::ShortText;
use crate::codec::timestamp::Precision;

/// The time, on both clocks that a session needs: it reads none itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic: intervals and deadlines.
    pub mono: Nanos,
    /// UTC: SendingTime (52).
    pub utc: Nanos,
}

/// Which side of the connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connects and logs on first.
    Initiator,
    /// Waits for a Logon and answers it.
    Acceptor,
}

/// A session's identity and habits. Start from [`SessionConfig::initiator`] or
/// [`SessionConfig::acceptor`] and change what differs.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// Which side it is.
    pub role: Role,
    /// SenderCompID (49): ours.
    pub sender_comp_id: ShortText,
    /// TargetCompID (56): the peer's. An acceptor without one takes the name that the Logon gives.
    pub target_comp_id: Option<ShortText>,
    /// HeartBtInt (108) that an initiator asks for, whole seconds; 0 is off. An acceptor takes the
    /// initiator's.
    pub heartbeat_interval: Nanos,
    /// How long a connection may stay without a Logon.
    pub logon_timeout: Nanos,
    /// How long to wait for the answer to a Logout.
    pub logout_timeout: Nanos,
    /// How long a gap may stay open after a ResendRequest.
    pub resend_timeout: Nanos,
    /// How far a peer's SendingTime (52) may be from `Now::utc`; zero switches the check off.
    pub sending_time_tolerance: Nanos,
    /// An initiator logs on with ResetSeqNumFlag (141=Y); an acceptor starts every connection at 1.
    /// Without it the numbers go on from the last connection of this [`crate::Session`].
    pub reset_on_logon: bool,
    /// The largest message that is accepted, in bytes.
    pub message_bytes_max: usize,
    /// Sub-second digits of the timestamps that are written.
    pub precision: Precision,
}

impl SessionConfig {
    /// The side that connects.
    #[must_use]
    pub const fn initiator(sender: ShortText, target: ShortText, heartbeat: Nanos) -> Self {
        let mut config = Self::acceptor(sender);
        config.role = Role::Initiator;
        config.target_comp_id = Some(target);
        config.heartbeat_interval = heartbeat;
        config
    }

    /// The side that is connected to, by whoever names it rightly.
    #[must_use]
    pub const fn acceptor(sender: ShortText) -> Self {
        Self {
            role: Role::Acceptor,
            sender_comp_id: sender,
            target_comp_id: None,
            heartbeat_interval: Nanos::from_secs(30),
            logon_timeout: Nanos::from_secs(10),
            logout_timeout: Nanos::from_secs(10),
            resend_timeout: Nanos::from_secs(30),
            sending_time_tolerance: Nanos::from_secs(120),
            reset_on_logon: true,
            message_bytes_max: MESSAGE_BYTES_MAX,
            precision: Precision::Millis,
        }
    }
}
