//! What a session is told when it is built.

use alloc::sync::Arc;

use taut_simd::Level;
use taut_types::Nanos;

use crate::codec::begin::BeginString;
use crate::codec::data_tags::DataTags;
use crate::codec::frame::MESSAGE_BYTES_MAX;
use crate::codec::text::CompId;
use crate::codec::timestamp::Precision;
use crate::dictionary::rules::Rules;
use crate::dictionary::tables::Dictionary;
use crate::session::now::Role;

/// The dictionaries of a session. Before FIXT 1.1 both are the same.
#[derive(Clone, Debug)]
pub struct Dictionaries {
    /// Header, trailer and the messages of the session layer.
    pub transport: Arc<Dictionary>,
    /// The application's messages.
    pub application: Arc<Dictionary>,
}

impl Dictionaries {
    /// One dictionary for everything.
    #[must_use]
    pub fn one(dictionary: Arc<Dictionary>) -> Self {
        Self { transport: Arc::clone(&dictionary), application: dictionary }
    }
}

/// A session's identity and habits. Start from [`SessionConfig::new`] and change what differs.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Which side it is.
    pub role: Role,
    /// BeginString (8).
    pub begin: BeginString,
    /// SenderCompID (49): ours.
    pub sender_comp_id: CompId,
    /// TargetCompID (56): the peer's.
    pub target_comp_id: CompId,
    /// DefaultApplVerID (1137) of a FIXT Logon: `b'7'` is FIX 5.0, `b'8'` SP1, `b'9'` SP2.
    pub default_application_version: Option<u8>,
    /// What messages are held against; without one only the session layer's own needs are checked.
    pub dictionaries: Option<Dictionaries>,
    /// Which of the dictionary's checks are made.
    pub rules: Rules,
    /// HeartBtInt (108) that an initiator asks for, whole seconds; 0 is off. An acceptor takes the
    /// initiator's.
    pub heartbeat_interval: Nanos,
    /// How long a connection may stay without a Logon.
    pub logon_timeout: Nanos,
    /// How long to wait for the answer to a Logout.
    pub logout_timeout: Nanos,
    /// How long a gap may stand still after a ResendRequest, 30 s unless it is said; zero is for
    /// ever.
    pub resend_timeout: Nanos,
    /// How far a peer's SendingTime (52) may be from `Now::utc`; zero switches the check off.
    pub sending_time_tolerance: Nanos,
    /// Whether CompIDs are checked in session.
    pub check_comp_ids: bool,
    /// Both numbers start again at 1 with every Logon; an initiator says so (141=Y).
    pub reset_on_logon: bool,
    /// Both numbers start again after a Logout.
    pub reset_on_logout: bool,
    /// Both numbers start again when the connection is gone.
    pub reset_on_disconnect: bool,
    /// How many messages one ResendRequest asks for; 0 is all, 1 counts as 2.
    pub resend_chunk: u64,
    /// Whether messages carry LastMsgSeqNumProcessed (369).
    pub last_processed: bool,
    /// Whether Logons carry NextExpectedMsgSeqNum (789), and gaps at logon are filled unasked.
    pub next_expected: bool,
    /// As QuickFIX writes it where that is not as the standard says: a BusinessMessageReject (j) of
    /// a FIXT session carries DefaultApplVerID (1137), which FIX 5.0 to SP2 define in Logon alone.
    pub quickfix_compatible: bool,
    /// The largest message that is accepted, in bytes; at most 16 MB.
    pub message_bytes_max: usize,
    /// Room for messages that came before their turn.
    pub held_bytes: usize,
    /// Sub-second digits of the timestamps that are written.
    pub precision: Precision,
    /// The instructions that sum what is written; `None` is the best of this processor.
    pub simd: Option<Level>,
}

impl SessionConfig {
    /// The data fields of its dictionaries, with the standard's.
    #[must_use]
    pub fn data_tags(&self) -> DataTags {
        let dictionaries = self.dictionaries.as_ref();
        dictionaries.map_or_else(
            || DataTags::STANDARD.clone(),
            |both| both.transport.data_tags().union(both.application.data_tags()),
        )
    }

    /// The habits of QuickFIX.
    #[must_use]
    pub const fn new(
        role: Role,
        begin: BeginString,
        sender_comp_id: CompId,
        target_comp_id: CompId,
    ) -> Self {
        let old = matches!(begin, BeginString::Fix40 | BeginString::Fix41);
        Self {
            role,
            begin,
            sender_comp_id,
            target_comp_id,
            default_application_version: None,
            dictionaries: None,
            rules: Rules::ALL,
            heartbeat_interval: Nanos::from_secs(30),
            logon_timeout: Nanos::from_secs(10),
            logout_timeout: Nanos::from_secs(2),
            resend_timeout: Nanos::from_secs(30),
            sending_time_tolerance: Nanos::from_secs(120),
            check_comp_ids: true,
            reset_on_logon: false,
            reset_on_logout: false,
            reset_on_disconnect: false,
            resend_chunk: 0,
            last_processed: false,
            next_expected: false,
            quickfix_compatible: false,
            message_bytes_max: MESSAGE_BYTES_MAX,
            held_bytes: 64 * 1024,
            precision: if old { Precision::Seconds } else { Precision::Millis },
            simd: None,
        }
    }
}
