//! Sessions that are heard of and not yet images: a fixed table, because anybody can send frames
//! that name any session.

use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::{Host, Nanos};

use crate::frame::Setup;

/// How many sessions are remembered, and for how long.
const SESSIONS_MAX: usize = 256;
const LIFETIME: Nanos = Nanos::from_secs(1);
/// One question per session and this long.
const INTERVAL: Nanos = Nanos::from_millis(100);
/// How many sessions of one host are remembered.
const PER_HOST_MAX: usize = 64;

/// What is known of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its data was heard; a SETUP was asked for.
    PendingSetup,
    /// Its SETUP is there; its source has to echo a cookie.
    Validating { setup: Setup, cookie: i64, probed: Nanos },
}

#[derive(Clone, Copy, Debug)]
struct Session {
    session_id: i32,
    source: SocketAddr,
    stage: Stage,
    since: Nanos,
    next: Nanos,
}

/// What to do about a SETUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Ask the source to echo this.
    Send(i64),
    /// It was asked a moment ago.
    Wait,
}

/// A session whose source has proved its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    pub setup: Setup,
    pub source: SocketAddr,
    pub round_trip: Nanos,
}

/// The table; its memory is taken when it is built.
#[derive(Debug)]
pub struct Sessions {
    sessions: Vec<Session>,
}

impl Sessions {
    pub fn new() -> Self {
        Self { sessions: Vec::with_capacity(SESSIONS_MAX) }
    }

    /// Data of an unknown session: true when its SETUP is to be asked for. The second value counts
    /// an entry that had to make room: which one, `choice` says, a random number, so that a flood
    /// does not take the place of whoever is about to prove itself.
    pub fn handle_data(
        &mut self,
        now: Nanos,
        id: i32,
        source: SocketAddr,
        choice: i64,
    ) -> (bool, bool) {
        if let Some(session) = self.find(now, id, source) {
            let asks = session.stage == Stage::PendingSetup && now >= session.next;
            if asks {
                session.next = now + INTERVAL;
            }
            return (asks, false);
        }
        (true, self.insert(now, id, source, Stage::PendingSetup, choice))
    }

    /// A SETUP of an unknown session.
    pub fn handle_setup(
        &mut self,
        now: Nanos,
        source: SocketAddr,
        setup: &Setup,
        cookie: impl FnOnce() -> i64,
    ) -> (Probe, bool) {
        let id = setup.session_id;
        match self.find(now, id, source) {
            Some(session) => {
                let stage = &mut session.stage;
                // The echo may be the first question's: rather too long a round trip than too
                // short a one, which no later measurement would correct.
                let (is_new, cookie, probed) = match *stage {
                    Stage::PendingSetup => (true, cookie(), now),
                    Stage::Validating { cookie, probed, .. } => (false, cookie, probed),
                };
                if !is_new && now < session.next {
                    return (Probe::Wait, false);
                }
                *stage = Stage::Validating { setup: *setup, cookie, probed };
                session.next = now + INTERVAL;
                (Probe::Send(cookie), false)
            }
            None => {
                let cookie = cookie();
                let stage = Stage::Validating { setup: *setup, cookie, probed: now };
                // The cookie goes to the source alone.
                (Probe::Send(cookie), self.insert(now, id, source, stage, cookie))
            }
        }
    }

    /// An echo: the session that it validates, which leaves the table.
    pub fn handle_echo(
        &mut self,
        now: Nanos,
        id: i32,
        source: SocketAddr,
        echo: i64,
    ) -> Option<Validated> {
        let at = self.sessions.iter().position(|session| {
            let is_right = matches!(session.stage, Stage::Validating { cookie, .. }
                if cookie == echo);
            is_right && session.session_id == id && session.source == source
        })?;
        let session = self.sessions.swap_remove(at);
        let Stage::Validating { setup, probed, .. } = session.stage else { return None };
        Some(Validated { setup, source, round_trip: now.since(probed) })
    }

    /// The session became an image.
    pub fn remove(&mut self, id: i32, source: SocketAddr) {
        self.sessions.retain(|session| session.session_id != id || session.source != source);
    }

    fn find(&mut self, now: Nanos, id: i32, source: SocketAddr) -> Option<&mut Session> {
        let at = self
            .sessions
            .iter()
            .position(|session| session.session_id == id && session.source == source)?;
        if self.sessions.get(at).is_some_and(|session| now.since(session.since) >= LIFETIME) {
            self.sessions.swap_remove(at);
            return None;
        }
        self.sessions.get_mut(at)
    }

    /// True when an entry had to make room: of the same host where that has its share, or any.
    fn insert(
        &mut self,
        now: Nanos,
        session_id: i32,
        source: SocketAddr,
        stage: Stage,
        choice: i64,
    ) -> bool {
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.retain(|session| now.since(session.since) < LIFETIME);
        }
        let host = Host::of(source.ip());
        let is_of_host = |session: &Session| Host::of(session.source.ip()) == host;
        let of_host = self.sessions.iter().filter(|session| is_of_host(session)).count();
        let is_crowd = of_host >= PER_HOST_MAX;
        let displaces = is_crowd || self.sessions.len() >= SESSIONS_MAX;
        if displaces {
            let count = if is_crowd { of_host } else { self.sessions.len() };
            let nth = (choice.unsigned_abs() % count.max(1) as u64) as usize;
            let mut places = self.sessions.iter().enumerate();
            let chosen = places.by_ref().filter(|(_, s)| !is_crowd || is_of_host(s)).nth(nth);
            if let Some(place) = chosen.map(|(place, _)| place) {
                self.sessions.swap_remove(place);
            }
        }
        let next = now + INTERVAL;
        self.sessions.push(Session { session_id, source, stage, since: now, next });
        displaces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    fn source(port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
    }

    fn setup(session_id: i32) -> Setup {
        Setup {
            flags: 0,
            term_offset: 0,
            session_id,
            stream_id: 1,
            initial_term_id: 0,
            active_term_id: 0,
            term_length: 65_536,
            mtu: 1408,
            ttl: 0,
        }
    }

    #[test]
    fn data_of_an_unknown_session_asks_for_its_setup_once_per_100_ms() {
        let mut sessions = Sessions::new();
        let asked = (0..1000)
            .filter(|n| sessions.handle_data(Nanos::from_millis(*n), 7, source(1), 0).0)
            .count();
        assert_eq!(asked, 10);
        assert_eq!(sessions.sessions.len(), 1);
    }

    #[test]
    fn only_the_cookie_from_the_address_that_was_asked_validates() {
        let mut sessions = Sessions::new();
        let (probe, _) = sessions.handle_setup(Nanos(0), source(1), &setup(7), || 42);
        assert_eq!(probe, Probe::Send(42));
        let (again, _) = sessions.handle_setup(Nanos(1), source(1), &setup(7), || 43);
        assert_eq!(again, Probe::Wait);
        assert_eq!(sessions.handle_echo(Nanos(5), 7, source(1), 41), None);
        assert_eq!(sessions.handle_echo(Nanos(5), 7, source(2), 42), None);
        assert_eq!(sessions.handle_echo(Nanos(5), 8, source(1), 42), None);
        let validated = sessions.handle_echo(Nanos(5), 7, source(1), 42).unwrap();
        assert_eq!((validated.setup, validated.round_trip), (setup(7), Nanos(5)));
        assert_eq!(sessions.handle_echo(Nanos(6), 7, source(1), 42), None);
    }

    #[test]
    fn a_round_trip_longer_than_the_questions_interval_is_not_taken_for_a_short_one() {
        let (mut sessions, ms) = (Sessions::new(), Nanos::from_millis);
        sessions.handle_setup(ms(0), source(1), &setup(7), || 42);
        let (again, _) = sessions.handle_setup(ms(100), source(1), &setup(7), || 43);
        assert_eq!(again, Probe::Send(42));
        let validated = sessions.handle_echo(ms(110), 7, source(1), 42).unwrap();
        assert_eq!(validated.round_trip, ms(110));
    }

    #[test]
    fn a_flood_of_sessions_takes_a_fixed_table_and_of_one_host_a_quarter_of_it() {
        for (is_one, most) in [(true, PER_HOST_MAX), (false, SESSIONS_MAX)] {
            let mut sessions = Sessions::new();
            let mut displaced = 0;
            let from = |id: i32| match is_one {
                true => source(1),
                false => SocketAddr::new(IpAddr::V4(Ipv4Addr::from(id.cast_unsigned())), 1),
            };
            for id in 0..10_000 {
                let (now, choice) = (Nanos(i64::from(id)), i64::from(id) * 7919);
                displaced += usize::from(sessions.handle_data(now, id, from(id), choice).1);
            }
            assert_eq!((sessions.sessions.len(), displaced), (most, 10_000 - most));
        }
    }

    #[test]
    fn a_flood_seldom_takes_the_place_of_whoever_is_about_to_prove_itself() {
        let mut cookies = crate::random::Cookies::new(5);
        let mut proved = 0;
        for _ in 0..100 {
            let mut sessions = Sessions::new();
            let mut forge = |sessions: &mut Sessions, at: Nanos| {
                let choice = cookies.next();
                let host = Ipv4Addr::from(choice as u32);
                sessions.handle_data(at, choice as i32, SocketAddr::new(host.into(), 1), choice);
            };
            (0..1000).for_each(|n| forge(&mut sessions, Nanos(n)));
            sessions.handle_setup(Nanos(1000), source(1), &setup(7), || 42);
            // As many as the table holds come while the cookie is under way.
            (0..256).for_each(|n| forge(&mut sessions, Nanos(1001 + n)));
            proved += u32::from(sessions.handle_echo(Nanos(2000), 7, source(1), 42).is_some());
        }
        assert!((20..60).contains(&proved), "one in e of them: {proved}");
    }
}
