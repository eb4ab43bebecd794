//! The session: authentication, heartbeats, what is asked for at its beginning.

use taut_fix::Now;
use taut_fix_engine::Credentials;
use taut_order_entry::deribit::{Request, Secret, grants, read_token};
use taut_order_entry::sign::HmacKey;
use taut_sys::tape;
use taut_types::Nanos;

use super::asked::Asked;
use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::order_entry::handler::VenueEvent;
use crate::venue_clock::VenueClock;

/// What `user.changes` brings: all instruments, each change by itself.
const CHANGES: &[u8] = b"user.changes.any.any.raw";
/// How long the venue may take from the connection to a session that is up.
const LOGON: Nanos = Nanos::from_secs(10);
/// The shortest interval of heartbeats that the venue takes, in seconds.
const HEARTBEAT_S_MIN: u64 = 10;
/// The longest refresh token that is kept.
const TOKEN_BYTES: usize = 2_048;
/// A token lives a quarter of an hour where the venue does not say how long.
const TOKEN_S: u64 = 900;
/// The code of spent credits.
pub(super) const TOO_MANY_REQUESTS: i64 = 10_028;

/// Whether an error with this code ends the session: it is spent, or not ours.
pub(super) const fn is_ended_by(code: i64) -> bool {
    matches!(code, 10_000 | TOO_MANY_REQUESTS | 13_009 | 13_778)
}

/// | phase | goes on with | to |
/// |---|---|---|
/// | down | a connection | authenticating: first the venue is asked the time, for the signature |
/// | authenticating | a token | preparing |
/// | preparing | all that a session begins with is answered | up |
/// | any | the end of the connection, an error, silence | down |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    Authenticating,
    /// So many answers are missing.
    Preparing(u8),
    Up,
}

/// What is to be sent, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Due {
    test: bool,
    time: bool,
    sign: bool,
    refresh: bool,
    heartbeat: bool,
    cancel_on_disconnect: bool,
    subscribe: bool,
}

impl Due {
    const NOTHING: Self = Self {
        test: false,
        time: false,
        sign: false,
        refresh: false,
        heartbeat: false,
        cancel_on_disconnect: false,
        subscribe: false,
    };
}

#[derive(Debug)]
pub(super) struct Session {
    client_id: Box<str>,
    key: HmacKey,
    cancels_on_disconnect: bool,
    heartbeat_s: u64,
    phase: Phase,
    due: Due,
    clock: VenueClock,
    /// When the venue was asked the time, until it answers.
    time_asked: Option<Nanos>,
    /// Sixteen digits, another one with every signature.
    nonce: u64,
    token: Vec<u8>,
    refresh_at: Option<Nanos>,
    /// The session is to be up by then, or something is to be heard.
    deadline: Nanos,
    leaves: Option<Nanos>,
}

impl Session {
    pub(super) fn new(
        config: &GatewayConfig,
        cancels_on_disconnect: bool,
    ) -> Result<Self, GatewayError> {
        let Some(Credentials::Deribit { client_id, secret }) = &config.session.credentials else {
            return Err(GatewayError::Credentials);
        };
        let heartbeat_s = config.heartbeat_interval.0.unsigned_abs() / 1_000_000_000;
        Ok(Self {
            client_id: client_id.as_str().into(),
            key: HmacKey::new(secret.as_bytes()).through(tape::signature),
            cancels_on_disconnect,
            heartbeat_s: heartbeat_s.max(HEARTBEAT_S_MIN),
            phase: Phase::Down,
            due: Due::NOTHING,
            clock: VenueClock::default(),
            time_asked: None,
            nonce: 0,
            token: Vec::with_capacity(TOKEN_BYTES),
            refresh_at: None,
            deadline: Nanos::ZERO,
            leaves: None,
        })
    }

    pub(super) fn connected(&mut self, now: Now, random: [u8; 32]) {
        let [a, b, c, d, e, f, g, h, ..] = random;
        self.nonce = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        (self.phase, self.due) = (Phase::Authenticating, Due::NOTHING);
        self.sign();
        self.time_asked = None;
        self.deadline = now.mono + LOGON;
        (self.refresh_at, self.leaves) = (None, None);
        self.token.clear();
    }

    /// A signature is due, with the venue's time: it takes no time that is not near its own.
    const fn sign(&mut self) {
        (self.due.time, self.due.sign) = (true, true);
    }

    /// The venue says what time it is; or did not, and the last answer or this machine must do.
    pub(super) fn told_time(&mut self, now: Now, server_ms: Option<u64>) {
        if let Some((asked, server_ms)) = self.time_asked.take().zip(server_ms) {
            self.clock.told(server_ms, asked, now.mono);
        }
    }

    pub(super) fn disconnected(&mut self) {
        (self.phase, self.due, self.refresh_at) = (Phase::Down, Due::NOTHING, None);
    }

    pub(super) fn leave(&mut self, now: Now) {
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
            let interval = Nanos::from_secs(self.heartbeat_s as i64);
            self.deadline = now.mono + interval + interval + interval;
        }
    }

    pub(super) const fn test_requested(&mut self) {
        self.due.test = true;
    }

    /// A token could not be had with the last one: a signature may get it. Whether there is still
    /// that to try.
    pub(super) fn signs_again(&mut self) -> bool {
        let tries = self.phase == Phase::Up && !self.token.is_empty();
        self.token.clear();
        if tries {
            self.sign();
        }
        tries
    }

    /// What a session begins with is answered.
    pub(super) fn answered(&mut self, now: Now, asked: Asked, body: &[u8]) -> Option<VenueEvent> {
        if asked == Asked::Subscribe && !grants(body, CHANGES) {
            // The venue leaves out what it does not grant.
            return Some(VenueEvent::Broken);
        }
        if asked == Asked::Authenticate {
            let Ok(token) = read_token(body) else { return Some(VenueEvent::Broken) };
            self.token.clear();
            if token.refresh.0.len() <= TOKEN_BYTES {
                self.token.extend_from_slice(token.refresh.0);
            }
            let life = token.expires_in_s.unwrap_or(TOKEN_S).clamp(4, 1 << 31) as i64;
            self.refresh_at = Some(now.mono + Nanos::from_secs(life / 4 * 3));
            if self.phase == Phase::Authenticating {
                let cancel_on_disconnect = self.cancels_on_disconnect;
                self.phase = Phase::Preparing(2 + u8::from(cancel_on_disconnect));
                self.due.heartbeat = true;
                self.due.subscribe = true;
                self.due.cancel_on_disconnect = cancel_on_disconnect;
            }
            return None;
        }
        match self.phase {
            Phase::Preparing(1) => {
                self.phase = Phase::Up;
                self.heard(now);
                Some(VenueEvent::LoggedOn)
            }
            Phase::Preparing(missing) => {
                self.phase = Phase::Preparing(missing.saturating_sub(1));
                None
            }
            _ => None,
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
        if self.refresh_at.is_some_and(|at| now.mono >= at) {
            self.refresh_at = None;
            match self.token.is_empty() {
                true => self.sign(),
                false => self.due.refresh = true,
            }
        }
        None
    }

    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        if self.leaves.is_some() {
            return self.leaves;
        }
        let deadline = (self.phase != Phase::Down).then_some(self.deadline)?;
        Some(self.refresh_at.map_or(deadline, |at| at.min(deadline)))
    }

    pub(super) fn has_due(&self) -> bool {
        // A signature waits for the time.
        let sign = self.due.sign && self.time_asked.is_none();
        Due { sign, ..self.due } != Due::NOTHING
    }

    /// Writes what is due first; what it asks for, and how long it is.
    pub(super) fn write_due(
        &mut self,
        now: Now,
        id: u64,
        room: &mut [u8],
    ) -> Option<(Asked, usize)> {
        let due = &mut self.due;
        let own_ms = now.utc.0.unsigned_abs() / 1_000_000;
        let mut nonce = [0; 16];
        let (asked, request) = if std::mem::take(&mut due.test) {
            (Asked::Test, Request::Test)
        } else if std::mem::take(&mut due.time) {
            self.time_asked = Some(now.mono);
            (Asked::Time, Request::Time)
        } else if self.time_asked.is_none() && std::mem::take(&mut due.sign) {
            self.nonce = self.nonce.wrapping_add(1);
            write_hex(self.nonce, &mut nonce);
            let request = Request::Authenticate {
                client_id: self.client_id.as_bytes(),
                key: &self.key,
                timestamp_ms: self.clock.at(now.mono).unwrap_or(own_ms),
                nonce: &nonce,
                scope: b"",
            };
            (Asked::Authenticate, request)
        } else if std::mem::take(&mut due.refresh) {
            (Asked::Authenticate, Request::Refresh { token: Secret(&self.token) })
        } else if std::mem::take(&mut due.heartbeat) {
            (Asked::Heartbeat, Request::Heartbeat { interval_s: self.heartbeat_s })
        } else if std::mem::take(&mut due.cancel_on_disconnect) {
            (Asked::CancelOnDisconnect, Request::CancelOnDisconnect)
        } else if std::mem::take(&mut due.subscribe) {
            (Asked::Subscribe, Request::Subscribe { is_private: true, channels: &[CHANGES] })
        } else {
            return None;
        };
        request.write(id, room).map(|written| (asked, written.len()))
    }
}

fn write_hex(value: u64, room: &mut [u8; 16]) {
    for (place, shift) in room.iter_mut().zip((0..16).rev()) {
        let digit = (value >> (shift * 4) & 15) as u8;
        *place = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
    }
}
