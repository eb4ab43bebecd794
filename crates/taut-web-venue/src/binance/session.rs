//! A WebSocket connection: what it listens to, and who is on it.

use std::collections::{BTreeMap, VecDeque};

use taut_types::Nanos;

use crate::binance::settings::SymbolMarket;
use crate::binance::stream::{Class, Stream};

/// Messages that a connection to the streams may send in a second.
const ARRIVALS_MAX: usize = 5;
/// How long a connection lives.
pub const LIFE: Nanos = Nanos::from_secs(24 * 3_600);
/// So long before its end one to the streams is told of it.
pub const NOTICE: Nanos = Nanos::from_secs(60);

/// A connection.
#[derive(Debug)]
pub struct Session {
    pub kind: Kind,
    /// When it came, in milliseconds of UTC.
    pub since_ms: i64,
    /// When it is ended.
    pub ends: Nanos,
    /// Whether it was told that it will be.
    pub is_warned: bool,
    /// The last messages.
    arrivals: VecDeque<Nanos>,
}

/// What a connection is for, by its path.
#[derive(Debug)]
pub enum Kind {
    /// `/ws` and `/stream`: what is subscribed, by the name that the client gave.
    Streams { class: Class, is_combined: bool, streams: Vec<(String, Stream)> },
    /// `/ws-api/v3`, and `/ws-fapi/v1`.
    Api(ApiSession),
}

/// A connection to the WebSocket API.
#[derive(Debug, Default)]
pub struct ApiSession {
    /// Whose symbols it is about.
    pub market: SymbolMarket,
    /// No `rateLimits` in answers that do not ask for them.
    pub hides_limits: bool,
    pub logon: Option<Logon>,
    /// The account of each user data stream.
    pub user_streams: BTreeMap<u64, usize>,
    pub next_user_stream: u64,
}

/// Who has logged on.
#[derive(Clone, Debug)]
pub struct Logon {
    pub account: usize,
    pub read_only: bool,
    pub key: String,
    pub since_ms: i64,
}

impl Session {
    pub fn new(kind: Kind, ends: Nanos, since_ms: i64) -> Self {
        Self { kind, since_ms, ends, is_warned: false, arrivals: VecDeque::new() }
    }

    /// Whether a message more is one too many.
    pub fn is_too_fast(&mut self, now: Nanos) -> bool {
        let second = Nanos::from_secs(1);
        while self.arrivals.front().is_some_and(|at| now.since(*at) >= second) {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(now);
        self.arrivals.len() > ARRIVALS_MAX
    }
}
