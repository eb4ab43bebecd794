//! The keys of a session, as they stand in the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// One `[[sessions]]`, the defaults merged in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionKeys {
    /// `FIX.4.0` to `FIX.4.4`, `FIXT.1.1`.
    pub begin_string: String,
    pub sender_comp_id: String,
    pub target_comp_id: String,
    /// Of a FIXT Logon: `FIX.5.0`, `FIX.5.0SP1`, `FIX.5.0SP2`, or the code.
    pub default_appl_ver_id: Option<String>,
    pub dictionary: Option<PathBuf>,
    /// FIXT alone: the session layer's.
    pub transport_dictionary: Option<PathBuf>,
    #[serde(default)]
    pub validate: RuleKeys,

    pub heartbeat_seconds: Option<u32>,
    pub logon_timeout_seconds: Option<u32>,
    pub logout_timeout_seconds: Option<u32>,
    pub resend_timeout_seconds: Option<u32>,
    /// 0 switches the check off.
    pub sending_time_tolerance_seconds: Option<u32>,
    pub check_comp_ids: Option<bool>,
    pub reset_on_logon: Option<bool>,
    pub reset_on_logout: Option<bool>,
    pub reset_on_disconnect: Option<bool>,
    /// Messages that one ResendRequest asks for; 0 is all.
    pub resend_chunk: Option<u64>,
    /// LastMsgSeqNumProcessed (369).
    pub last_processed: Option<bool>,
    /// NextExpectedMsgSeqNum (789).
    pub next_expected: Option<bool>,
    /// DefaultApplVerID (1137) in a FIXT session's BusinessMessageReject, which is QuickFIX's own.
    pub quickfix_compatible: Option<bool>,
    pub message_bytes_max: Option<usize>,
    /// The peer may write MsgType (35) anywhere in the header, as clients that sort by tag do.
    pub msg_type_anywhere: Option<bool>,
    /// `seconds`, `millis`, `micros`, `nanos`, `picos`.
    pub timestamps: Option<String>,

    /// A folder: one file for each session. Without it the store is in memory.
    pub store: Option<PathBuf>,
    /// `each_message`, `each_batch`, `never`.
    pub sync: Option<String>,
    /// Newest messages that can always be sent again.
    pub store_messages: Option<u64>,
    /// A file that is larger is written anew when more than half of it is of no use.
    pub store_bytes: Option<u64>,
    /// A folder: one log of messages for each session.
    pub log: Option<PathBuf>,
    /// A file of the log is left for a new one before it becomes larger.
    pub log_bytes: Option<u64>,
    /// So many of those that were left are kept.
    pub log_files: Option<u32>,
    pub schedule: Option<ScheduleKeys>,
    pub credentials: Option<CredentialKeys>,
    /// More fields of our Logon: tag and value.
    #[serde(default)]
    pub logon_fields: BTreeMap<String, String>,

    /// Where an initiator connects, tried in turn.
    #[serde(default)]
    pub addresses: Vec<String>,
    pub reconnect_seconds: Option<f64>,
    pub reconnect_seconds_max: Option<f64>,
    pub connect_timeout_seconds: Option<u32>,
    /// `true`, or a table.
    pub tls: Option<toml::Value>,
    /// A peer that lets more bytes wait for it is disconnected.
    pub waiting_bytes_max: Option<usize>,
}

/// The checks of a dictionary; what is absent is checked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleKeys {
    pub field_order: Option<bool>,
    pub values_present: Option<bool>,
    pub user_defined: Option<bool>,
    pub allow_unknown_fields: Option<bool>,
    pub required: Option<bool>,
    pub formats: Option<bool>,
    pub ranges: Option<bool>,
    pub group_counts: Option<bool>,
    pub group_starts: Option<bool>,
    pub data_lengths: Option<bool>,
}

/// When the session is open.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleKeys {
    /// `HH:MM:SS`.
    pub start: String,
    pub end: String,
    pub start_day: Option<String>,
    pub end_day: Option<String>,
    /// On which days; not with `start_day`.
    #[serde(default)]
    pub days: Vec<String>,
    /// `UTC`, `+02:00`, `Europe/Berlin`, `local`.
    pub zone: Option<String>,
}

/// What a Logon carries, or must carry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialKeys {
    /// `password`, `deribit`, `binance`.
    pub kind: String,
    pub username: String,
    pub secret: Option<String>,
    /// A file that holds the secret (a PKCS #8 key in PEM for `binance`).
    pub secret_file: Option<PathBuf>,
}
