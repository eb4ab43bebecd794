//! The session: the venue's clock, the login, the channel of orders.

use taut_fix::Now;
use taut_order_entry::deribit::Secret;
use taut_order_entry::okx::{Login, Questioner};
use taut_order_entry::sign::HmacKey;
use taut_sys::tape;
use taut_types::Nanos;

use super::settings::{OkxOrderSettings, OkxSecret};
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::VenueEvent;
use crate::venue_clock::VenueClock;

/// How long the venue may take from the connection to a session that is up.
const LOGON: Nanos = Nanos::from_secs(10);
/// The venue ends a connection on which nothing is said for half a minute.
const HEARTBEAT_MAX: Nanos = Nanos::from_secs(25);

/// What the session says next on the WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    LogIn,
    Subscribe,
    Ping,
}

/// | phase | goes on with | to |
/// |---|---|---|
/// | down | a connection | asking the time |
/// | asking the time | the time | logging in |
/// | logging in | `login` | subscribing |
/// | subscribing | `subscribe` | up |
/// | any | the end of the connection, an error, silence | down |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    /// Whether that is on its way.
    AskingTime(bool),
    LoggingIn(bool),
    Subscribing(bool),
    Up,
}

#[derive(Debug)]
pub(super) struct Session {
    api_key: Box<str>,
    passphrase: OkxSecret,
    key: HmacKey,
    heartbeat: Nanos,
    phase: Phase,
    clock: VenueClock,
    /// When a ping is due, and the time is asked again.
    next_ping: Nanos,
    next_time: Nanos,
    /// The session is to be up by then, or something is to be heard.
    deadline: Nanos,
    leaves: Option<Nanos>,
}

impl Session {
    pub(super) fn new(
        config: &GatewayConfig,
        settings: &OkxOrderSettings,
    ) -> Result<Self, GatewayError> {
        let OkxOrderSettings { api_key, secret, passphrase, .. } = settings;
        if api_key.is_empty() || secret.0.is_empty() || passphrase.0.is_empty() {
            return Err(GatewayError::Credentials);
        }
        Ok(Self {
            api_key: api_key.as_str().into(),
            passphrase: passphrase.clone(),
            key: HmacKey::new(secret.0.as_bytes()).through(tape::signature),
            heartbeat: config.heartbeat_interval.min(HEARTBEAT_MAX).max(Nanos::from_secs(1)),
            phase: Phase::Down,
            clock: VenueClock::default(),
            next_ping: Nanos::ZERO,
            next_time: Nanos::ZERO,
            deadline: Nanos::ZERO,
            leaves: None,
        })
    }

    pub(super) fn connected(&mut self, now: Now) {
        self.phase = Phase::AskingTime(false);
        self.deadline = now.mono + LOGON;
        self.clock.forget();
        self.leaves = None;
    }

    pub(super) const fn disconnected(&mut self) {
        self.phase = Phase::Down;
    }

    pub(super) const fn leave(&mut self, now: Now) {
        self.leaves = Some(now.mono);
    }

    pub(super) const fn clock(&self) -> &VenueClock {
        &self.clock
    }

    #[inline]
    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up && self.leaves.is_none()
    }

    /// The venue is there, whatever it says.
    pub(super) fn heard(&mut self, now: Now) {
        if self.phase == Phase::Up {
            self.deadline = now.mono + self.heartbeat + self.heartbeat + self.heartbeat;
            self.next_ping = now.mono + self.heartbeat;
        }
    }

    /// Questions are answered: that keeps up no order session.
    pub(super) fn heard_beside(&mut self, now: Now) {
        self.next_time = self.next_time.max(now.mono);
    }

    /// Whether the time is to be asked that the session begins with; once.
    pub(super) fn takes_first_time(&mut self, _now: Now) -> bool {
        let is_due = self.phase == Phase::AskingTime(false);
        if is_due {
            self.phase = Phase::AskingTime(true);
        }
        is_due
    }

    /// Whether the time is to be asked again; once.
    pub(super) fn is_time_due(&mut self, now: Now) -> bool {
        let is_due = self.phase == Phase::Up && now.mono >= self.next_time;
        if is_due {
            self.next_time = now.mono + self.heartbeat;
        }
        is_due
    }

    pub(super) fn told_time(&mut self, now: Now, time_ms: u64, asked: Nanos) {
        self.clock.told(time_ms, asked, now.mono);
        self.next_time = now.mono + self.heartbeat;
        if matches!(self.phase, Phase::AskingTime(_)) {
            self.phase = Phase::LoggingIn(false);
        }
    }

    /// The venue granted what was asked for on the WebSocket.
    pub(super) fn granted(&mut self, now: Now, event: &[u8]) -> Option<VenueEvent> {
        match (self.phase, event) {
            (Phase::LoggingIn(true), b"login") => {
                self.phase = Phase::Subscribing(false);
                None
            }
            (Phase::Subscribing(true), b"subscribe") => {
                self.phase = Phase::Up;
                self.heard(now);
                Some(VenueEvent::LoggedOn)
            }
            _ => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        if self.leaves.is_some() {
            return Some(VenueEvent::LoggedOut);
        }
        (self.phase != Phase::Down && now.mono >= self.deadline).then_some(VenueEvent::Broken)
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        if self.leaves.is_some() {
            return self.leaves;
        }
        match self.phase {
            Phase::Down => None,
            Phase::Up => Some(self.deadline.min(self.next_ping).min(self.next_time)),
            _ => Some(self.deadline),
        }
    }

    /// What is due on the WebSocket, once.
    pub(super) fn take_due(&mut self, now: Now) -> Option<Step> {
        match &mut self.phase {
            Phase::LoggingIn(is_sent @ false) => {
                *is_sent = true;
                Some(Step::LogIn)
            }
            Phase::Subscribing(is_sent @ false) => {
                *is_sent = true;
                Some(Step::Subscribe)
            }
            Phase::Up if now.mono >= self.next_ping => {
                self.next_ping = now.mono + self.heartbeat;
                Some(Step::Ping)
            }
            _ => None,
        }
    }

    /// Milliseconds of UTC by the venue's clock, or by ours as long as that is not known.
    fn time_ms(&self, now: Now) -> u64 {
        self.clock.at(now.mono).unwrap_or(now.utc.0.unsigned_abs() / 1_000_000)
    }

    /// Who logs in.
    pub(super) fn login(&self, now: Now) -> Login<'_> {
        Login {
            api_key: self.api_key.as_bytes(),
            passphrase: Secret(self.passphrase.0.as_bytes()),
            key: &self.key,
            time_s: self.time_ms(now) / 1_000,
        }
    }

    /// Who asks over HTTP.
    pub(super) fn questioner<'a>(
        &'a self,
        now: Now,
        settings: &'a OkxOrderSettings,
    ) -> Questioner<'a> {
        let (host, is_demo) = (settings.host.as_bytes(), settings.is_demo);
        Questioner { host, login: self.login(now), time_ms: self.time_ms(now), is_demo }
    }
}
