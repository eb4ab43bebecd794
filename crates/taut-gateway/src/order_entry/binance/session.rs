//! The session: the venue's clock, the logon, what is asked for at its beginning.

use std::collections::VecDeque;

use taut_fix::Now;
use taut_fix_engine::Credentials;
use taut_order_entry::binance::{Outcome, Request, Stamp, read_server_time};
use taut_order_entry::sign::Ed25519Key;
use taut_sys::tape;
use taut_types::Nanos;

use super::symbols::Symbols;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::VenueEvent;
use crate::order_entry::last_words::LastWords;
use crate::venue_clock::VenueClock;

/// How long the venue may take from the connection to a session that is up.
const LOGON: Nanos = Nanos::from_secs(10);
/// How often the venue is asked what its symbols are: they may change in a session.
const SYMBOLS: Nanos = Nanos::from_secs(60);
/// The shortest interval of heartbeats.
const HEARTBEAT_MIN: Nanos = Nanos::from_secs(5);

/// A request of the session's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionStep {
    Time,
    LogOn,
    UserData,
    Symbols,
    /// What a symbol is that was added.
    Symbol(usize),
}

impl SessionStep {
    /// The symbol that it is about alone.
    pub(super) const fn symbol(self) -> Option<usize> {
        match self {
            Self::Symbol(at) => Some(at),
            _ => None,
        }
    }

    /// What it costs.
    pub(super) const fn weight(self) -> u32 {
        match self {
            Self::Time => 1,
            Self::LogOn | Self::UserData => 2,
            Self::Symbols | Self::Symbol(_) => 20,
        }
    }
}

/// | phase | goes on with | to |
/// |---|---|---|
/// | down | a connection | asking the time |
/// | asking the time | the time | logging on |
/// | logging on | a logon | preparing |
/// | preparing | the account's events and the symbols | up |
/// | any | the end of the connection, an error, silence | down |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    AskingTime,
    LoggingOn,
    /// So many answers are missing.
    Preparing(u8),
    Up,
}

/// What is to be sent, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Due {
    time: bool,
    log_on: bool,
    user_data: bool,
    symbols: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    api_key: Box<str>,
    key: Ed25519Key,
    heartbeat: Nanos,
    /// Whether it asks for the account's events.
    listens: bool,
    phase: Phase,
    due: Due,
    /// Symbols that were added and are to be asked about.
    new: VecDeque<usize>,
    clock: VenueClock,
    /// When the time was asked that has no answer.
    asked_time: Nanos,
    /// When it is asked again.
    next_time: Nanos,
    /// When the symbols are asked for again.
    next_symbols: Nanos,
    /// The session is to be up by then, or something is to be heard.
    deadline: Nanos,
    leaves: Option<Nanos>,
}

impl Session {
    pub(super) fn new(config: &GatewayConfig, listens: bool) -> Result<Self, GatewayError> {
        let Some(Credentials::Binance { api_key, seed }) = &config.session.credentials else {
            return Err(GatewayError::Credentials);
        };
        Ok(Self {
            api_key: api_key.as_str().into(),
            key: Ed25519Key::new(seed).through(tape::signature),
            heartbeat: config.heartbeat_interval.max(HEARTBEAT_MIN),
            listens,
            phase: Phase::Down,
            due: Due::default(),
            new: VecDeque::new(),
            clock: VenueClock::default(),
            asked_time: Nanos::ZERO,
            next_time: Nanos::ZERO,
            next_symbols: Nanos::ZERO,
            deadline: Nanos::ZERO,
            leaves: None,
        })
    }

    pub(super) fn connected(&mut self, now: Now) {
        self.phase = Phase::AskingTime;
        self.due = Due { time: true, ..Due::default() };
        self.deadline = now.mono + LOGON;
        self.clock.forget();
        self.leaves = None;
    }

    pub(super) fn disconnected(&mut self) {
        (self.phase, self.due) = (Phase::Down, Due::default());
        self.new.clear();
    }

    /// A symbol was added: the venue is asked what it is once the session is up.
    pub(super) fn ask_symbol(&mut self, at: usize) {
        self.new.push_back(at);
    }

    pub(super) fn leave(&mut self, now: Now) {
        self.leaves = Some(now.mono);
    }

    #[inline]
    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up && self.leaves.is_none()
    }

    #[inline]
    pub(super) const fn clock(&self) -> &VenueClock {
        &self.clock
    }

    /// The venue is there, whatever it says.
    pub(super) fn heard(&mut self, now: Now) {
        if self.phase == Phase::Up {
            self.deadline = now.mono + self.heartbeat + self.heartbeat + self.heartbeat;
        }
    }

    /// The venue means that our time is wrong.
    pub(super) const fn ask_time(&mut self) {
        self.due.time = true;
    }

    /// A request of the session was answered.
    ///
    /// # Errors
    /// Why the session cannot be, in words.
    pub(super) fn answered(
        &mut self,
        now: Now,
        step: SessionStep,
        body: &[u8],
        symbols: &mut Symbols,
        last_words: &mut LastWords,
    ) -> Result<Option<VenueEvent>, String> {
        match step {
            SessionStep::Time => {
                let time = read_server_time(body)
                    .map_err(|error| format!("the venue's time cannot be read: {error}"))?;
                self.clock.told(time, self.asked_time, now.mono);
                self.next_time = now.mono + self.heartbeat;
                if self.phase == Phase::AskingTime {
                    self.phase = Phase::LoggingOn;
                    self.due.log_on = true;
                }
                return Ok(None);
            }
            SessionStep::LogOn => {
                if self.phase == Phase::LoggingOn {
                    self.phase = Phase::Preparing(1 + u8::from(self.listens));
                    (self.due.user_data, self.due.symbols) = (self.listens, true);
                }
                return Ok(None);
            }
            SessionStep::UserData => {}
            SessionStep::Symbols => {
                self.next_symbols = now.mono + SYMBOLS;
                symbols.told(body, None, last_words)?;
                self.new.clear();
                self.new.extend(symbols.new_ones());
            }
            SessionStep::Symbol(at) => {
                symbols.told(body, Some(at), last_words)?;
                return Ok(None);
            }
        }
        match self.phase {
            Phase::Preparing(1) => {
                self.phase = Phase::Up;
                self.heard(now);
                Ok(Some(VenueEvent::LoggedOn))
            }
            Phase::Preparing(missing) => {
                self.phase = Phase::Preparing(missing.saturating_sub(1));
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        if self.leaves.is_some() {
            return Some(VenueEvent::LoggedOut);
        }
        if self.phase == Phase::Down {
            return None;
        }
        if now.mono >= self.deadline {
            return Some(VenueEvent::Broken);
        }
        if self.phase == Phase::Up && now.mono >= self.next_time {
            self.next_time = now.mono + self.heartbeat;
            self.due.time = true;
        }
        if self.phase == Phase::Up && now.mono >= self.next_symbols {
            self.next_symbols = now.mono + SYMBOLS;
            self.due.symbols = true;
        }
        None
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        if self.leaves.is_some() {
            return self.leaves;
        }
        match self.phase {
            Phase::Down => None,
            Phase::Up => Some(self.deadline.min(self.next_time).min(self.next_symbols)),
            _ => Some(self.deadline),
        }
    }

    /// What is to be sent first.
    pub(super) const fn due(&self) -> Option<SessionStep> {
        if self.due.time {
            Some(SessionStep::Time)
        } else if self.due.log_on {
            Some(SessionStep::LogOn)
        } else if self.due.user_data {
            Some(SessionStep::UserData)
        } else if self.due.symbols {
            Some(SessionStep::Symbols)
        } else {
            None
        }
    }

    /// What can wait until there is weight for it: a symbol that was added.
    pub(super) fn due_later(&self) -> Option<SessionStep> {
        let new = self.new.front().filter(|_| self.phase == Phase::Up);
        new.map(|at| SessionStep::Symbol(*at))
    }

    /// Writes what is due; how long it is.
    pub(super) fn write(
        &mut self,
        now: Now,
        step: SessionStep,
        (id, window_ms): (u64, u64),
        names: &[&str],
        room: &mut [u8],
    ) -> Option<usize> {
        let Due { time, log_on, user_data, symbols } = &mut self.due;
        match step {
            SessionStep::Time => *time = false,
            SessionStep::LogOn => *log_on = false,
            SessionStep::UserData => *user_data = false,
            SessionStep::Symbols => *symbols = false,
            SessionStep::Symbol(at) => self.new.retain(|new| *new != at),
        }
        let request = match step {
            SessionStep::Time => {
                self.asked_time = now.mono;
                Request::Time
            }
            SessionStep::LogOn => {
                let stamp = Stamp { timestamp_ms: self.clock.at(now.mono)?, window_ms };
                Request::LogOn { api_key: self.api_key.as_bytes(), key: &self.key, stamp }
            }
            SessionStep::UserData => Request::UserData,
            SessionStep::Symbols | SessionStep::Symbol(_) => Request::Symbols { names },
        };
        request.write(id, room).map(|written| written.len())
    }
}

impl Session {
    /// Whether it cannot go on when a request of its own ends like this. The time is asked again
    /// with the next heartbeat, and the symbols of a session that is up the next time, as is one
    /// that was added.
    pub(super) fn fails(&self, step: SessionStep, outcome: Outcome) -> bool {
        let can_wait = match step {
            SessionStep::Time | SessionStep::Symbol(_) => true,
            SessionStep::Symbols => self.phase == Phase::Up,
            SessionStep::LogOn | SessionStep::UserData => false,
        };
        !can_wait || outcome == Outcome::Session
    }
}
