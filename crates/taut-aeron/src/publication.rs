//! A publication: the sending side of one stream.

mod claim;
mod feedback;
mod pace;
mod state;

pub use claim::Claim;
pub use state::PublicationState;

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use taut_types::Nanos;

use crate::config::PublicationConfig;
use crate::counters::PublicationCounters;
use crate::destinations::{Destinations, Target};
use crate::error::{Error, OfferError};
use crate::flow::{ReceiverStatus, Receivers, Report};
use crate::frame::control_flags::{
    REPLY, SEND_SETUP, SETUP_GROUP, SETUP_PROMPT, STATUS_END_OF_STREAM, STATUS_EXACT,
};
use crate::frame::data_flags::{END_OF_STREAM, REVOKED, UNFRAGMENTED};
use crate::frame::{
    ErrorFrame, FrameKind, Nak, RoundTripFrame, Setup, Status, frame_kind, stream_of,
    write_heartbeat,
};
use crate::log::TermLog;
use crate::random::Cookies;
use crate::repair::{Repair, Repairs};
use crate::rtt::RoundTrip;
use crate::run::{Run, RunLimits, scan};
use crate::terms::Terms;
use crate::transmit::Transmit;
use feedback::{nak_range, status_position};
use pace::Pace;
use state::Trigger;

/// The most bytes of a run: what the kernel takes in one call.
const RUN_BYTES_MAX: usize = 65_000;
const EVENTS_MAX: usize = 64;
/// How long a group's receivers may take to say that they are there.
const GROUP_GRACE: Nanos = Nanos::from_millis(200);
/// How long spies alone do not move a stream that a receiver was too slow to join: it learns that
/// from a heartbeat, and joins again at the next SETUP.
const JOINING_TIME: Nanos = Nanos::from_millis(500);
/// Echoes of round-trip measurements that wait to be sent.
const ECHOES_MAX: usize = 64;

/// What an application learns from a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublicationEvent {
    /// Enough receivers are there.
    Connected,
    /// They are gone.
    Disconnected,
    /// A receiver held the others back for too long and was dropped.
    Evicted {
        /// Which.
        receiver_id: i64,
    },
    /// A receiver refuses the stream.
    Refused {
        /// Which.
        receiver_id: i64,
        /// Its reason.
        code: i32,
    },
    /// It is over.
    Done {
        /// What not every receiver has said to have.
        unacknowledged_bytes: i64,
    },
}

/// The sending side of one stream: see the crate's description.
#[derive(Debug)]
pub struct Publication {
    log: TermLog,
    /// Up to where messages are taken; below everything when none is.
    offer_limit: i64,
    /// What was sent.
    position: i64,
    counters: PublicationCounters,
    receivers: Receivers,
    repairs: Repairs,
    pace: Pace,
    rtt: RoundTrip,
    limits: RunLimits,
    destinations: Destinations,
    state: PublicationState,
    is_connected: bool,
    /// Spies stand for receivers.
    is_simulated: bool,
    /// A receiver joins, and the spies wait for it.
    joining_until: Nanos,
    /// Somebody is there to hear heartbeats.
    is_followed: bool,
    is_revoked: bool,
    /// When the state began.
    since: Nanos,
    echoes: VecDeque<(Target, RoundTripFrame)>,
    events: VecDeque<PublicationEvent>,
    cookies: Cookies,
    start: i64,
    config: PublicationConfig,
}

impl Publication {
    /// Takes all its memory: one term and some tables.
    ///
    /// # Errors
    /// [`Error::Misuse`] with the parameter that is outside its limits.
    pub fn new(config: PublicationConfig) -> Result<Self, Error> {
        let (terms, start) = config.checked()?;
        let mtu = config.mtu as usize;
        let (session_id, stream_id) = (config.session_id, config.stream_id);
        let (per_host, timeout) = (config.per_host_max, config.receiver_timeout);
        let receivers_max = (config.receivers_max, per_host);
        let (mode, destinations_max) = (config.destinations, config.destinations_max);
        Ok(Self {
            log: TermLog::new(terms, session_id, stream_id, mtu, start),
            offer_limit: i64::MIN,
            position: start,
            counters: PublicationCounters::default(),
            receivers: Receivers::new(config.flow, receivers_max, timeout, start),
            repairs: Repairs::new(i64::from(config.mtu), terms.length() / 4),
            pace: Pace::new(),
            rtt: RoundTrip::new(),
            limits: RunLimits {
                mtu,
                segments_max: config.segments_max.max(1),
                // A run that waits to be sent stays inside what the log keeps.
                bytes_max: RUN_BYTES_MAX.min(terms.length() as usize / 4),
            },
            destinations: Destinations::new(mode, destinations_max, per_host),
            state: PublicationState::Active,
            is_connected: false,
            is_simulated: false,
            joining_until: Nanos(i64::MIN),
            is_followed: false,
            is_revoked: false,
            since: Nanos::ZERO,
            echoes: VecDeque::with_capacity(ECHOES_MAX),
            events: VecDeque::with_capacity(EVENTS_MAX),
            cookies: Cookies::new(config.secret),
            start,
            config,
        })
    }

    /// Takes a message; returns the stream's position behind it. Cost: a header and a copy.
    ///
    /// # Errors
    /// Why it was not taken.
    #[inline]
    pub fn offer(&mut self, message: &[u8]) -> Result<i64, OfferError> {
        self.offer_with(message, 0)
    }

    /// Takes a message, with eight bytes of the application's in its header.
    ///
    /// # Errors
    /// Why it was not taken.
    #[inline]
    pub fn offer_with(&mut self, message: &[u8], reserved_value: i64) -> Result<i64, OfferError> {
        match self.log.claim(message.len(), reserved_value, self.offer_limit) {
            Some(place) => {
                place.copy_from_slice(message);
                self.counters.messages += 1;
                Ok(self.log.commit(message.len()))
            }
            None => self.offer_parts(&[message], reserved_value),
        }
    }

    /// Takes a message that is given in parts.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn offer_parts(&mut self, parts: &[&[u8]], reserved: i64) -> Result<i64, OfferError> {
        let length = parts.iter().map(|part| part.len()).sum();
        self.make_room(length)?;
        self.log.append_fragments(parts, length, reserved);
        self.counters.messages += 1;
        Ok(self.log.tail())
    }

    /// A place for a message of at most [`Self::claim_bytes_max`], to be written in the log itself.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_claim(&mut self, length: usize) -> Result<Claim<'_>, OfferError> {
        let bytes_max = self.claim_bytes_max();
        if length > bytes_max {
            return Err(OfferError::TooLong { bytes_max });
        }
        if self.log.claim(length, 0, self.offer_limit).is_none() {
            self.make_room(length)?;
            self.log.claim(length, 0, i64::MAX).ok_or(OfferError::BackPressured)?;
        }
        let Self { log, counters, .. } = self;
        Ok(Claim::new(log, counters, length))
    }

    /// Takes a datagram that is meant for a publication. False when it is meant for another one.
    pub fn handle_bytes(&mut self, now: Nanos, from: SocketAddr, datagram: &[u8]) -> bool {
        self.destinations.hear(from, datagram.len());
        let Ok(kind) = frame_kind(datagram) else {
            self.counters.invalid += 1;
            return false;
        };
        let stream = stream_of(kind, datagram);
        // Who asks for SETUPs may name no publication; who says where he is must.
        let is_elicitation = kind == FrameKind::Status
            && stream == Some((0, 0))
            && Status::read(datagram).is_some_and(|frame| frame.flags & SEND_SETUP != 0);
        let ours = (self.config.session_id, self.config.stream_id);
        if stream != Some(ours) && !is_elicitation {
            return false;
        }
        let is_valid =
            match kind {
                FrameKind::Status => Status::read(datagram)
                    .is_some_and(|frame| self.handle_status(now, from, &frame)),
                FrameKind::Nak => {
                    Nak::read(datagram).is_some_and(|frame| self.handle_nak(now, from, &frame))
                }
                FrameKind::RoundTrip => RoundTripFrame::read(datagram)
                    .is_some_and(|frame| self.handle_round_trip(now, from, frame)),
                FrameKind::Error => ErrorFrame::read(datagram)
                    .is_some_and(|frame| self.handle_error(now, from, &frame)),
                _ => false,
            };
        self.counters.invalid += u64::from(!is_valid);
        true
    }

    /// The network says, again and again, that nobody listens at the endpoint any more: a closed
    /// publication does not wait for who has gone without a word.
    pub fn handle_unreachable(&mut self, now: Nanos) {
        let is_one = self.config.destinations == crate::DestinationMode::Fixed;
        if self.is_closing() && is_one && !self.config.is_group {
            self.receivers.clear();
            self.check_acknowledged(now);
        }
    }

    /// Lets time pass: receivers expire, the linger time ends.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if self.since == Nanos::ZERO {
            self.since = now;
        }
        self.receivers.expire(now);
        self.counters.unanswered += self.destinations.expire(now, self.config.receiver_timeout);
        if self.position >= self.receivers.limit()
            && self.log.tail() > self.position
            && let Some(receiver_id) = self.receivers.evict(now)
        {
            self.counters.evicted += 1;
            self.push(PublicationEvent::Evicted { receiver_id });
        }
        self.pass_unheard(now);
        self.update_connection();
        if self.state == PublicationState::Draining && self.position >= self.log.tail() {
            self.pace.heartbeat_now();
            self.transition(now, Trigger::Drained);
        }
        self.check_acknowledged(now);
        let is_closing = !matches!(self.state, PublicationState::Active | PublicationState::Done);
        if is_closing && now.since(self.since) >= self.config.linger {
            self.transition(now, Trigger::LingerOver);
        }
    }

    /// When [`Self::handle_timeout`] or [`Self::poll_transmit`] is due by time alone.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let linger = match self.state {
            PublicationState::Done => return None,
            PublicationState::Active => Nanos::MAX,
            PublicationState::Draining | PublicationState::Linger if self.receivers.all_ended() => {
                self.since + GROUP_GRACE
            }
            _ if self.is_spied_alone() => self.joining_until.max(self.since),
            _ => self.since + self.config.linger,
        };
        let is_heard = self.receivers.is_connected();
        let setups = is_heard || self.is_closing();
        let rtt = if is_heard { self.rtt.next() } else { Nanos::MAX };
        let due = [
            linger,
            self.pace.next_due(setups, self.beats()),
            rtt,
            self.receivers.next_expiry(),
            self.destinations.next_due(self.config.receiver_timeout),
            self.repairs.next_due(self.rtt.least()),
        ];
        due.into_iter().min().filter(|due| *due < Nanos::MAX)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<PublicationEvent> {
        self.events.pop_front()
    }

    /// The next run of data, repairs first: send [`Self::run_bytes`], then say so with
    /// [`Self::run_sent`]. A run that was not sent is simply asked for again.
    #[inline]
    pub fn next_run(&mut self, now: Nanos) -> Option<Run> {
        if !self.repairs.is_empty()
            && let Some(run) = self.next_repair(now)
        {
            return Some(run);
        }
        let limit = self.receivers.limit().min(self.log.tail());
        if limit <= self.position {
            return None;
        }
        scan(&self.log, self.position, limit, &self.limits)
    }

    /// The bytes of a run.
    #[must_use]
    #[inline]
    pub fn run_bytes(&self, run: &Run) -> &[u8] {
        self.log.bytes(run.position, run.bytes)
    }

    /// A run was handed to the network.
    #[inline]
    pub fn run_sent(&mut self, now: Nanos, run: &Run) {
        let bytes = run.bytes as i64;
        if run.is_repair {
            self.counters.repaired_bytes += run.bytes as u64;
            self.counters.repaired_datagrams += run.datagrams() as u64;
            self.repairs.sent(now, run.end, bytes, self.rtt.least());
            return;
        }
        self.counters.sent_bytes += run.bytes as u64;
        self.counters.runs += 1;
        self.repairs.earn(bytes);
        self.position = run.end;
        self.pace.data_sent();
        self.update_offer_limit();
    }

    /// The next control frame, written to the front of `out`: SETUP, heartbeat, round trips.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        if self.state == PublicationState::Done {
            return None;
        }
        if let Some((to, frame)) = self.echoes.pop_front() {
            return Some(Transmit { bytes: frame.frame().write(out), to });
        }
        if let Some(address) = self.destinations.next_setup(now) {
            self.counters.setups += 1;
            let bytes = self.setup().frame().write(out);
            return Some(Transmit { bytes, to: Target::One(address) });
        }
        let is_heard = self.receivers.is_connected();
        let setups = is_heard || self.is_closing();
        if self.pace.setup(now, setups) {
            self.counters.setups += 1;
            return Some(Transmit { bytes: self.setup().frame().write(out), to: Target::All });
        }
        if self.beats() && self.pace.heartbeat(now, self.rtt.smoothed()) {
            self.counters.heartbeats += 1;
            let flags = UNFRAGMENTED | self.end_flags();
            let header = self.log.header(self.position, 0, flags, 0);
            return Some(Transmit { bytes: write_heartbeat(&header, out), to: Target::All });
        }
        if is_heard && now >= self.rtt.next() {
            let echo = self.cookies.next();
            self.rtt.measure(now, echo);
            let frame = self.round_trip(REPLY, echo);
            return Some(Transmit { bytes: frame.frame().write(out), to: Target::All });
        }
        None
    }

    /// No more messages: what was taken is sent, and the receivers told.
    pub fn close(&mut self, now: Nanos) {
        self.transition(now, Trigger::Closed);
        self.handle_timeout(now);
    }

    /// Takes the stream back: receivers drop it without waiting for the rest.
    pub fn revoke(&mut self, now: Nanos) {
        self.is_revoked = true;
        self.pace.heartbeat_now();
        self.transition(now, Trigger::Revoked);
    }

    /// Spies of this process are there, or not, and stand for receivers (`ssc`): the publication is
    /// connected, and what it takes while it has too few receivers counts as sent. A receiver joins
    /// at the position that this has come to.
    pub fn simulate_connection(&mut self, is_simulated: bool) {
        if is_simulated != self.is_simulated {
            self.is_simulated = is_simulated;
            self.update_connection();
        }
    }

    /// Adds a destination by hand (`control-mode=manual`); false when it cannot be.
    pub fn add_destination(&mut self, address: SocketAddr) -> bool {
        self.pace.request_setup();
        self.destinations.add(address)
    }

    /// Removes a destination.
    pub fn remove_destination(&mut self, address: SocketAddr) -> bool {
        self.destinations.remove(address)
    }

    /// Where [`Target::All`] goes, when it is not one fixed address.
    #[must_use]
    #[inline]
    pub fn destinations(&self) -> &[SocketAddr] {
        self.destinations.addresses()
    }

    /// What it was built with.
    #[must_use]
    pub const fn config(&self) -> &PublicationConfig {
        &self.config
    }

    /// Where it is in its life.
    #[must_use]
    pub const fn state(&self) -> PublicationState {
        self.state
    }

    /// Enough receivers are there.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The position behind the last message taken.
    #[must_use]
    pub const fn tail(&self) -> i64 {
        self.log.tail()
    }

    /// The position behind what was sent.
    #[must_use]
    pub const fn position(&self) -> i64 {
        self.position
    }

    /// How far the receivers let it go.
    #[must_use]
    pub const fn limit(&self) -> i64 {
        self.receivers.limit()
    }

    /// The bytes that not every receiver has said to have consumed.
    #[must_use]
    pub const fn unacknowledged_bytes(&self) -> i64 {
        self.log.tail() - self.receivers.acknowledged()
    }

    /// The longest message of one frame, which is what can be claimed.
    #[must_use]
    pub const fn claim_bytes_max(&self) -> usize {
        self.log.payload_bytes_max()
    }

    /// The longest message.
    #[must_use]
    pub const fn message_bytes_max(&self) -> usize {
        self.log.terms().message_bytes_max()
    }

    /// The receivers that flow control counts, as far as they have told.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverStatus> {
        self.receivers.statuses(self.counters.messages)
    }

    /// The receivers that are kept account of.
    #[must_use]
    pub const fn receiver_count(&self) -> usize {
        self.receivers.count()
    }

    /// The smoothed round trip, once one was measured.
    #[must_use]
    pub const fn round_trip_time(&self) -> Option<Nanos> {
        self.rtt.smoothed()
    }

    /// The account so far.
    #[must_use]
    pub const fn counters(&self) -> &PublicationCounters {
        &self.counters
    }
}

impl Publication {
    const fn terms(&self) -> &Terms {
        self.log.terms()
    }

    const fn is_closing(&self) -> bool {
        !matches!(self.state, PublicationState::Active)
    }

    /// Heartbeats go once somebody was there to hear them.
    const fn beats(&self) -> bool {
        self.is_followed
    }

    const fn end_flags(&self) -> u8 {
        let is_sent = self.position >= self.log.tail() || self.is_revoked;
        let end = if self.is_closing() && is_sent && self.config.announces_end {
            END_OF_STREAM
        } else {
            0
        };
        if self.is_revoked { end | END_OF_STREAM | REVOKED } else { end }
    }

    /// Makes sure that the next message of this length is taken, padding the term where it does not
    /// fit behind the tail.
    ///
    /// # Errors
    /// Why it would not be taken.
    #[cold]
    pub fn make_room(&mut self, length: usize) -> Result<(), OfferError> {
        if self.is_closing() {
            return Err(OfferError::Closed);
        }
        if !self.is_connected {
            return Err(OfferError::NotConnected);
        }
        let bytes_max = self.message_bytes_max();
        if length > bytes_max {
            return Err(OfferError::TooLong { bytes_max });
        }
        let (tail, needed) = (self.log.tail(), self.log.message_log_bytes(length));
        let rest = self.terms().remaining(tail);
        let padding = if needed > rest { rest } else { 0 };
        if tail + padding + needed > self.terms().position_max() {
            return Err(OfferError::MaxPositionExceeded);
        }
        if tail + padding + needed > self.offer_limit {
            self.counters.back_pressured += 1;
            return Err(OfferError::BackPressured);
        }
        if padding > 0 {
            self.log.pad();
        }
        Ok(())
    }

    fn next_repair(&mut self, now: Nanos) -> Option<Run> {
        let round_trip = self.rtt.least();
        while let Some((repair, bytes)) = self.repairs.next(now, round_trip) {
            let is_kept = repair.start >= self.oldest() && repair.start < self.position;
            let is_frame = is_kept && self.log.frame_at(repair.start).is_some();
            let bytes_max = self.limits.bytes_max.min(bytes as usize);
            let limits = RunLimits { bytes_max, ..self.limits };
            let limit = repair.end.min(self.position);
            let run = if is_frame { scan(&self.log, repair.start, limit, &limits) } else { None };
            match run {
                Some(run) => return Some(Run { is_repair: true, to: repair.to, ..run }),
                // It starts inside a frame, or its data is gone.
                None => self.repairs.drop_first(),
            }
        }
        None
    }

    /// The first position that can still be repaired.
    fn oldest(&self) -> i64 {
        // Half a term and one message, as every sender of this protocol keeps.
        self.start.max(self.position - self.terms().length() / 8 * 5)
    }

    fn handle_status(&mut self, now: Nanos, from: SocketAddr, status: &Status) -> bool {
        if status.flags & SEND_SETUP != 0 {
            if !self.is_closing() {
                let has_displaced = self.destinations.request_setup(now, from);
                self.counters.strangers_displaced += u64::from(has_displaced);
                let is_dynamic = self.config.destinations == crate::DestinationMode::Dynamic;
                if !is_dynamic {
                    self.pace.request_setup();
                }
            }
            return true;
        }
        let Some((position, window)) = status_position(self.terms(), status) else {
            return false;
        };
        if position > self.position + self.terms().length() {
            return false;
        }
        // It has named the session and a term that is not far ahead: data may go there, also when
        // it is too far behind to count, so that it learns that.
        let is_proved = self.destinations.prove(now, from);
        self.is_followed |= is_proved;
        if !is_proved || (position - self.position).abs() > self.terms().length() / 2 {
            // With spies alone the stream went on while it joined: the next time it stands.
            if is_proved && now >= self.joining_until {
                self.joining_until = now + JOINING_TIME;
            }
            return false;
        }
        let report = Report {
            receiver_id: status.receiver_id,
            from,
            position,
            window,
            group_tag: status.group_tag,
            has_ended: status.flags & STATUS_END_OF_STREAM != 0,
            is_exact: status.flags & STATUS_EXACT != 0,
            sent: self.position,
            messages: self.counters.messages,
        };
        self.counters.statuses += 1;
        self.receivers.handle_status(now, &report);
        self.update_connection();
        self.check_acknowledged(now);
        true
    }

    fn handle_nak(&mut self, now: Nanos, from: SocketAddr, nak: &Nak) -> bool {
        let range = nak_range(self.terms(), nak).filter(|_| self.destinations.is_proved(from));
        let (Some((start, end)), Some(to)) = (range, self.destinations.answer_to(from)) else {
            return false;
        };
        self.counters.naks += 1;
        self.receivers.unsettle(now);
        if start < self.oldest() || start >= self.position {
            return true;
        }
        let end = end.min(self.position);
        // Receivers ask again after a round trip: what was sent just before is on its way.
        let span = Nanos(self.rtt.least().0 / 4 * 3);
        if !self.repairs.request(now, Repair { start, end, to }, span) {
            self.counters.naks_suppressed += 1;
        }
        true
    }

    fn handle_round_trip(&mut self, now: Nanos, from: SocketAddr, frame: RoundTripFrame) -> bool {
        if frame.flags & REPLY == 0 {
            // Of many receivers the first one to answer counts.
            self.rtt.handle_echo(now, frame.echo, frame.reception_delta);
            return true;
        }
        let Some(to) = self.destinations.answer_to(from) else {
            self.counters.unanswered += 1;
            return true;
        };
        if self.echoes.len() >= ECHOES_MAX {
            return false;
        }
        let echo = RoundTripFrame { flags: 0, reception_delta: 0, ..frame };
        if !self.destinations.may_answer(from, echo.frame().as_bytes().len()) {
            self.counters.unanswered += 1;
            return true;
        }
        self.echoes.push_back((to, echo));
        true
    }

    fn handle_error(&mut self, now: Nanos, from: SocketAddr, error: &ErrorFrame<'_>) -> bool {
        let is_known = self.receivers.refuse(now, error.receiver_id, from);
        if is_known {
            let (receiver_id, code) = (error.receiver_id, error.code);
            self.push(PublicationEvent::Refused { receiver_id, code });
            self.update_connection();
        }
        is_known
    }

    const fn setup(&self) -> Setup {
        let config = &self.config;
        Setup {
            flags: SETUP_PROMPT | if config.is_group { SETUP_GROUP } else { 0 },
            term_offset: self.log.terms().offset(self.position),
            session_id: config.session_id,
            stream_id: config.stream_id,
            initial_term_id: config.initial_term_id,
            active_term_id: self.log.terms().term_id(self.position),
            term_length: config.term_length,
            mtu: config.mtu,
            ttl: config.ttl,
        }
    }

    const fn round_trip(&self, flags: u8, echo: i64) -> RoundTripFrame {
        RoundTripFrame {
            flags,
            session_id: self.config.session_id,
            stream_id: self.config.stream_id,
            echo,
            reception_delta: 0,
            receiver_id: 0,
        }
    }

    /// With spies alone what was taken counts as sent.
    fn pass_unheard(&mut self, now: Nanos) {
        let is_alone = self.is_simulated && !self.receivers.is_connected();
        if is_alone && self.log.tail() > self.position && now >= self.joining_until {
            self.position = self.log.tail();
            self.receivers.pass(self.position);
        }
    }

    fn update_connection(&mut self) {
        let is_connected = self.receivers.is_connected() || self.is_simulated;
        if is_connected != self.is_connected {
            self.is_connected = is_connected;
            self.push(match is_connected {
                true => PublicationEvent::Connected,
                false => PublicationEvent::Disconnected,
            });
        }
        self.update_offer_limit();
    }

    #[inline]
    fn update_offer_limit(&mut self) {
        let is_open = self.is_connected && self.state == PublicationState::Active;
        // With what is kept for repairs it is one term, the log's room.
        let unsent_max = self.terms().length() / 8 * 3;
        let limit = (self.position + unsent_max).min(self.terms().position_max());
        self.offer_limit = if is_open { limit } else { i64::MIN };
    }

    /// Nobody but spies has it, and they have all of it: there is nothing to repair.
    fn is_spied_alone(&self) -> bool {
        let is_whole = self.position >= self.log.tail();
        let is_unsent = self.counters.runs == 0 && self.position > self.start;
        is_whole && self.receivers.count() == 0 && (self.is_simulated || is_unsent)
    }

    /// Every receiver has everything. In a group, one may have joined a moment ago and not have
    /// said so yet.
    fn check_acknowledged(&mut self, now: Nanos) {
        let grace = if self.config.is_group { GROUP_GRACE } else { Nanos::ZERO };
        let have_ended = self.receivers.all_ended() && now.since(self.since) >= grace;
        let is_over = have_ended || (self.is_spied_alone() && now >= self.joining_until);
        if is_over && self.is_closing() {
            self.transition(now, Trigger::Acknowledged);
        }
    }

    fn transition(&mut self, now: Nanos, trigger: Trigger) {
        let next = self.state.after(trigger);
        if next == self.state {
            return;
        }
        (self.state, self.since) = (next, now);
        self.update_offer_limit();
        if next == PublicationState::Done {
            let unacknowledged_bytes = self.unacknowledged_bytes();
            self.push(PublicationEvent::Done { unacknowledged_bytes });
        }
    }

    fn push(&mut self, event: PublicationEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }
}
