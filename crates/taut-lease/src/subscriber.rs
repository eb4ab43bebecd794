//! The subscriber: asks, renews, and accounts for what comes.

use alloc::collections::VecDeque;

use taut_types::Nanos;

use super::cookie::Cookie;
use super::header::{CONTROL_BYTES, HEADER_BYTES, Header, Kind};
use super::seal::{Key, TAG_BYTES, seal, unseal};
use super::state::{Do, Input, State, next};
use super::typed::TypedMessage;
use super::window::{Place, Window};

/// Events that wait; beyond that they are only counted.
const QUEUE: usize = 256;
/// How soon a question is asked again, at first and at most.
const ASK_FIRST: Nanos = Nanos::from_millis(50);
const ASK_MAX: Nanos = Nanos::from_millis(250);
/// Without even a heartbeat for so long, the publisher is taken for gone.
const SILENCE: Nanos = Nanos::from_secs(4);
/// A publisher that is silent for longer than its heartbeats explain is asked: another one in its
/// place answers with a challenge of its own, and is known at once. Heartbeats follow a message
/// ever more slowly, each after twice the time.
const DOUBT_MIN: Nanos = Nanos::from_millis(50);
const DOUBT_MAX: Nanos = Nanos::from_millis(1100);
/// How often and how far apart leaving is said.
const LEAVE_TIMES: u32 = 3;
const LEAVE_EVERY: Nanos = Nanos::from_millis(5);
/// The lease until a grant says how long it is.
const LEASE_UNKNOWN: Nanos = Nanos::from_secs(3);

/// How a subscriber works.
#[derive(Clone, Copy, Debug)]
pub struct SubscriberTerms {
    /// A random number that answers must repeat.
    pub nonce: u64,
    /// The key that both ends have, if they have one.
    pub key: Option<Key>,
    /// Drop what comes behind a later message, instead of handing it over marked.
    pub drops_late: bool,
}

/// What happened to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriberEvent {
    /// An image begins with this sequence.
    Begun {
        /// The publisher's session.
        session: u64,
        /// The first sequence.
        sequence: u64,
    },
    /// The publisher ended the stream.
    Ended {
        /// Its session.
        session: u64,
        /// How many messages there were.
        sequence: u64,
    },
    /// Nothing is heard of the publisher.
    Lost {
        /// Its session.
        session: u64,
        /// The next sequence.
        sequence: u64,
    },
    /// Another publisher took its place.
    Replaced {
        /// The old session.
        session: u64,
        /// The next sequence of the old one.
        sequence: u64,
    },
    /// Messages are missing; late ones may still come.
    Gap {
        /// The publisher's session.
        session: u64,
        /// The first missing one.
        sequence: u64,
        /// How many.
        count: u64,
    },
    /// The publisher has no room; it is asked again.
    Refused,
}

/// What a subscriber has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriberTally {
    /// Messages that were handed over.
    pub received: u64,
    /// Messages that are missing now.
    pub missing: u64,
    /// Messages that came behind a later one.
    pub late: u64,
    /// Messages that came twice.
    pub duplicated: u64,
    /// Datagrams that are none of ours.
    pub malformed: u64,
    /// Datagrams without the right tag, nonce or session.
    pub unproved: u64,
}

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming<'a> {
    /// Its header.
    pub header: Header,
    /// The message.
    pub payload: &'a [u8],
    /// It comes behind a later one.
    pub is_late: bool,
}

impl Incoming<'_> {
    /// The message, if it is one of this type: by its number, its length, and what it says itself.
    #[inline]
    #[must_use]
    pub fn typed<T: TypedMessage>(&self) -> Option<T> {
        let is_one = self.header.message_type == T::TYPE && self.payload.len() == T::BYTES;
        if is_one { T::read(self.payload) } else { None }
    }
}

/// The subscribing end: datagrams and time in, messages, datagrams and events out. All memory is
/// taken when it is built.
#[derive(Debug)]
pub struct LeaseSubscriber {
    terms: SubscriberTerms,
    state: State,
    session: u64,
    cookie: Cookie,
    window: Window,
    lease: Nanos,
    ask_at: Nanos,
    ask_every: Nanos,
    /// When the publisher was heard last, and for how long not before.
    heard: Nanos,
    silence: Nanos,
    /// When it was asked because it was silent, and how soon it is asked again.
    doubted: Nanos,
    doubt_every: Nanos,
    leaves_left: u32,
    /// A good-bye that belongs to an ended stream; the state stays.
    says_left: bool,
    events: VecDeque<SubscriberEvent>,
    tally: SubscriberTally,
}

impl LeaseSubscriber {
    /// A subscriber that asks at once.
    #[must_use]
    pub fn new(now: Nanos, terms: SubscriberTerms) -> Self {
        Self {
            terms,
            state: State::Asking,
            session: 0,
            cookie: [0; TAG_BYTES],
            window: Window::starting_at(0),
            lease: LEASE_UNKNOWN,
            ask_at: now,
            ask_every: ASK_FIRST,
            heard: now,
            silence: Nanos::ZERO,
            doubted: Nanos(i64::MIN),
            doubt_every: ASK_FIRST,
            leaves_left: 0,
            says_left: false,
            events: VecDeque::with_capacity(QUEUE),
            tally: SubscriberTally::default(),
        }
    }

    /// A datagram came from the publisher's address; returns the message, if it is one to hand
    /// over. Nothing in it can make this panic, stop or take memory.
    #[inline(always)]
    pub fn handle_datagram<'a>(&mut self, now: Nanos, datagram: &'a [u8]) -> Option<Incoming<'a>> {
        let Some(bytes) = unseal(self.terms.key.as_ref(), datagram) else {
            self.tally.unproved += 1;
            return None;
        };
        let Some((header, payload)) = Header::read(bytes) else {
            self.tally.malformed += 1;
            return None;
        };
        match header.kind {
            Kind::Message => self.message(now, header, payload),
            _ => {
                self.control(now, header, payload);
                None
            }
        }
    }

    #[inline(always)]
    fn message<'a>(
        &mut self,
        now: Nanos,
        header: Header,
        payload: &'a [u8],
    ) -> Option<Incoming<'a>> {
        if !self.is_ours(now, &header) {
            return None;
        }
        let place = self.window.note(header.sequence);
        let is_late = place == Place::Late;
        match place {
            Place::Next => {}
            Place::Ahead { missing } => self.missing(header.sequence - missing, missing),
            Place::Twice => {
                self.tally.duplicated += 1;
                return None;
            }
            Place::Late => {
                self.tally.late += 1;
                if self.terms.drops_late {
                    return None;
                }
                self.tally.missing = self.tally.missing.saturating_sub(1);
            }
        }
        self.tally.received += 1;
        Some(Incoming { header, payload, is_late })
    }

    /// Whether a datagram of the stream is of the session that we have or have been promised.
    #[inline]
    fn is_ours(&mut self, now: Nanos, header: &Header) -> bool {
        if header.session != self.session || matches!(self.state, State::Asking | State::Left) {
            self.tally.unproved += 1;
            return false;
        }
        self.hear(now);
        if self.state != State::Held {
            self.input(now, Input::Traffic, header.sequence);
        }
        self.state == State::Held
    }

    /// The publisher is there.
    #[inline]
    fn hear(&mut self, now: Nanos) {
        (self.silence, self.heard) = (now - self.heard, now);
    }

    /// The publisher has answered: that says nothing of how often it is heard by itself.
    fn hear_answer(&mut self, now: Nanos) {
        let silence = self.silence.max(now - self.heard);
        (self.silence, self.heard) = (silence, now);
    }

    /// When a publisher that has given a lease is asked whether it is still there.
    #[inline]
    fn doubt_at(&self) -> Nanos {
        if self.doubted > self.heard {
            return self.doubted + self.doubt_every;
        }
        // Three times the last silence; bounded first, so that the product is.
        self.heard + Nanos(3 * self.silence.0.clamp(DOUBT_MIN.0 / 3, DOUBT_MAX.0 / 3))
    }

    /// When it is taken for gone.
    fn silent_at(&self) -> Nanos {
        match self.state {
            State::Held | State::Proving => self.heard + SILENCE,
            _ => Nanos::MAX,
        }
    }

    #[cold]
    fn missing(&mut self, sequence: u64, count: u64) {
        self.tally.missing = self.tally.missing.saturating_add(count);
        self.tell(SubscriberEvent::Gap { session: self.session, sequence, count });
    }

    /// Everything that is no message.
    #[cold]
    fn control(&mut self, now: Nanos, header: Header, payload: &[u8]) {
        let word = |at: usize| {
            let (words, _) = payload.as_chunks::<8>();
            words.get(at).map(|word| u64::from_le_bytes(*word))
        };
        let repeats_nonce = match header.kind {
            Kind::Challenge | Kind::Refusal => header.sequence == self.terms.nonce,
            Kind::Grant => word(0) == Some(self.terms.nonce),
            Kind::End | Kind::Heartbeat => header.session == self.session && self.session != 0,
            Kind::Ask | Kind::Leave | Kind::Message => {
                self.tally.malformed += 1;
                return;
            }
        };
        if !repeats_nonce {
            self.tally.unproved += 1;
            return;
        }
        match header.kind {
            Kind::Challenge => {
                let Some(cookie) = payload.first_chunk() else { return };
                let is_restart = self.state == State::Held && header.session != self.session;
                let input = if is_restart { Input::Restart } else { Input::Challenge };
                self.cookie = *cookie;
                self.hear_answer(now);
                self.input(now, input, 0);
                self.session = header.session;
            }
            // Whoever leaves has nothing to renew: its good-byes are not to wait for that.
            Kind::Grant if matches!(self.state, State::Leaving | State::Left) => {}
            Kind::Grant if header.session == self.session => {
                let lease = word(1).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
                self.lease = Nanos(lease.max(1));
                self.ask_every = ASK_FIRST;
                self.ask_at = now + Nanos(self.lease.0 / 3);
                self.hear_answer(now);
                self.input(now, Input::Grant, header.sequence);
            }
            Kind::Heartbeat if self.is_ours(now, &header) => self.reach(header.sequence),
            Kind::End if self.state == State::Held => {
                self.reach(header.sequence);
                self.input(now, Input::End, header.sequence);
            }
            // Our good-bye was lost: say it again.
            Kind::End => self.says_left = true,
            Kind::Refusal => self.tell(SubscriberEvent::Refused),
            _ => {}
        }
    }

    /// All messages before this one were sent.
    fn reach(&mut self, sequence: u64) {
        let from = self.window.next();
        let count = self.window.reach(sequence);
        if count > 0 {
            self.missing(from, count);
        }
    }

    fn input(&mut self, now: Nanos, input: Input, sequence: u64) {
        let (state, action) = next(self.state, input);
        let (session, known) = (self.session, self.window.next());
        self.state = state;
        match action {
            Do::Nothing => {}
            Do::Ask => {
                self.ask_every = ASK_FIRST;
                self.ask_at = now;
            }
            Do::Begin => {
                self.window = Window::starting_at(sequence);
                self.tell(SubscriberEvent::Begun { session, sequence });
            }
            Do::End => {
                self.tell(SubscriberEvent::Ended { session, sequence: known });
                self.says_left = true;
                self.ask_at = now + ASK_MAX;
            }
            Do::Lose => {
                self.tell(SubscriberEvent::Lost { session, sequence: known });
                self.ask_at = now;
            }
            Do::Replace => {
                self.tell(SubscriberEvent::Replaced { session, sequence: known });
                self.ask_at = now;
            }
            Do::Leave => {
                // Who never showed a cookie has nothing to leave.
                self.leaves_left = if self.session == 0 { 0 } else { LEAVE_TIMES };
                self.ask_at = now;
                if self.leaves_left == 0 {
                    self.state = next(self.state, Input::Said).0;
                }
            }
        }
    }

    fn tell(&mut self, event: SubscriberEvent) {
        // Gaps are counted too; they leave room for what is told once.
        let room = if matches!(event, SubscriberEvent::Gap { .. }) { QUEUE - 16 } else { QUEUE };
        if self.events.len() < room {
            self.events.push_back(event);
        }
    }

    /// Time passes: a silent publisher is gone.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if now >= self.silent_at() {
            self.input(now, Input::Silence, 0);
        }
    }

    /// The next datagram to the publisher, and its length. Call it until there is none.
    pub fn poll_transmit(&mut self, now: Nanos, datagram: &mut [u8]) -> Option<usize> {
        if core::mem::take(&mut self.says_left) {
            return self.write(now, datagram, Kind::Leave);
        }
        if self.state == State::Held && now >= self.doubt_at() && now < self.ask_at {
            let is_first = self.doubted <= self.heard;
            let every = if is_first { ASK_FIRST } else { self.doubt_every + self.doubt_every };
            (self.doubted, self.doubt_every) = (now, every.min(ASK_MAX));
            return self.write(now, datagram, Kind::Ask);
        }
        if now < self.ask_at || self.state == State::Left {
            return None;
        }
        if self.state == State::Leaving {
            self.ask_at = now + LEAVE_EVERY;
            self.leaves_left = self.leaves_left.saturating_sub(1);
            if self.leaves_left == 0 {
                self.input(now, Input::Said, 0);
            }
            return self.write(now, datagram, Kind::Leave);
        }
        // Renewing is asking: if there is no answer, it is asked again soon.
        self.ask_at = now + self.ask_every;
        self.ask_every = (self.ask_every + self.ask_every).min(ASK_MAX);
        self.write(now, datagram, Kind::Ask)
    }

    fn write(&self, now: Nanos, datagram: &mut [u8], kind: Kind) -> Option<usize> {
        let (session, sequence) = (self.session, self.terms.nonce);
        let header = Header { kind, message_type: 0, session, sequence, sent: now };
        datagram.get_mut(..HEADER_BYTES)?.copy_from_slice(&header.to_bytes());
        datagram.get_mut(HEADER_BYTES..CONTROL_BYTES)?.copy_from_slice(&self.cookie);
        seal(self.terms.key.as_ref(), datagram, CONTROL_BYTES)
    }

    /// When [`LeaseSubscriber::handle_timeout`] and [`LeaseSubscriber::poll_transmit`] are due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        match self.state {
            State::Left => None,
            _ if self.says_left => Some(Nanos::ZERO),
            // Doubt comes before silence, again and again.
            State::Held => Some(self.ask_at.min(self.doubt_at())),
            _ => Some(self.ask_at),
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SubscriberEvent> {
        self.events.pop_front()
    }

    /// Whether an image stands.
    #[must_use]
    pub fn has_image(&self) -> bool {
        self.state == State::Held
    }

    /// The publisher's session, or the last one's.
    #[must_use]
    pub const fn session(&self) -> u64 {
        self.session
    }

    /// Leaves: says so a few times.
    pub fn close(&mut self, now: Nanos) {
        self.input(now, Input::Close, 0);
    }

    /// Whether it has left.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Left
    }

    /// What was counted.
    #[must_use]
    pub const fn tally(&self) -> SubscriberTally {
        self.tally
    }
}
