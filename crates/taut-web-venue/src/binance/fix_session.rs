//! Who has logged on to the FIX port, and what the Logon says of who it is.

use std::collections::VecDeque;

use taut_fix::Precision;
use taut_types::Nanos;

use crate::fix::{FixDialect, FixMessage, FixSession};

/// The venue's FIX. UUID (25037) names the process that serves a session.
pub static DIALECT: FixDialect = FixDialect {
    server: "SPOT",
    sender_bytes_max: 8,
    precision: Precision::Micros,
    msg_type_anywhere: false,
    logon_answer: &[(25_037, b"4392a152-3481-4499-921a-6d42c50702e2")],
};

/// HeartBtInt (108) that is taken, in seconds.
const HEARTBEAT_S: std::ops::RangeInclusive<u32> = 5..=60;
/// Messages of a client in ten seconds.
pub const MESSAGES_MAX: u32 = 10_000;
const MESSAGES_WITHIN: Nanos = Nanos::from_secs(10);

/// A connection to the port.
pub type BinanceFixSession = FixSession<FixLogon>;

/// Who has logged on, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixLogon {
    pub account: usize,
    pub sender: String,
    /// ResponseMode (25036) ONLY_ACKS.
    pub only_acks: bool,
    /// DropCopyFlag (9406): it only listens.
    pub is_drop_copy: bool,
    pub arrivals: Arrivals,
}

/// When a client's last messages came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals(VecDeque<Nanos>);

impl Arrivals {
    /// Whether a message more is one too many.
    pub fn is_too_fast(&mut self, now: Nanos) -> bool {
        while self.0.front().is_some_and(|at| now.since(*at) >= MESSAGES_WITHIN) {
            self.0.pop_front();
        }
        self.0.push_back(now);
        self.0.len() > MESSAGES_MAX as usize
    }

    /// Messages of the last ten seconds.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// What a Logon says of who it is.
#[derive(Debug)]
pub struct Credentials {
    pub key: String,
    pub signature: String,
    /// What is signed.
    pub text: String,
    pub sender: String,
    pub only_acks: bool,
    pub is_drop_copy: bool,
    /// What is missing in it or wrong, without its key.
    pub problem: Option<&'static str>,
}

impl Credentials {
    pub fn of(logon: &FixMessage) -> Self {
        let heartbeat = logon.text(108).parse::<u32>().ok();
        let problem = match (logon.text(141), logon.text(25_035)) {
            _ if !heartbeat.is_some_and(|it| HEARTBEAT_S.contains(&it)) => {
                Some("HeartBtInt (108) must be within [5, 60].")
            }
            ("Y", "1" | "2") => None,
            ("Y", _) => Some("MessageHandling (25035) must be 1 or 2."),
            _ => Some("ResetSeqNumFlag (141) must be Y."),
        };
        Self {
            key: logon.text(553).to_owned(),
            signature: logon.text(96).to_owned(),
            text: ["A", logon.text(49), logon.text(56), logon.text(34), logon.text(52)]
                .join("\u{1}"),
            sender: logon.text(49).to_owned(),
            only_acks: logon.text(25_036) == "2",
            is_drop_copy: logon.text(9406) == "Y",
            problem,
        }
    }
}
