//! An image: the receiving side of one publication's stream.

mod arrivals;
mod naks;
mod refusal;
mod sources;
mod state;
mod status;
mod tether;

pub use state::ImageState;
pub use tether::Skip;

use core::net::SocketAddr;

use taut_types::Nanos;

use crate::assembly::{Assembled, Assembly};
use crate::config::SubscriptionConfig;
use crate::congestion::Congestion;
use crate::counters::SubscriptionCounters;
use crate::frame::control_flags::{REPLY, SETUP_PROMPT, STATUS_END_OF_STREAM, STATUS_EXACT};
use crate::frame::data_flags::{END_OF_STREAM, REVOKED, UNFRAGMENTED};
use crate::frame::{DataHeader, ErrorFrame, Nak, RoundTripFrame, Setup, Status, check_frames};
use crate::message::{Action, ImageEnd, Message};
use crate::rtt::RoundTrip;
use crate::terms::Terms;
use arrivals::Arrivals;
use naks::NakPolicy;
use refusal::Refusal;
use sources::Sources;
use state::Trigger;
use status::{STATUS_INTERVAL, StatusPace};
use tether::TetherState;

/// How long the sender is told of the end, or of a refusal.
const LINGER: Nanos = Nanos(STATUS_INTERVAL.0 * 5);

/// The receiving side of one publication's stream.
#[derive(Debug)]
pub struct Image {
    session_id: i32,
    terms: Terms,
    mtu: i64,
    /// Up to where the application has read.
    consumed: i64,
    arrivals: Arrivals,
    status: StatusPace,
    congestion: Congestion,
    tether_state: TetherState,
    state: ImageState,
    is_reliable: bool,
    /// When something was last heard or let pass.
    clock: Nanos,
    heard: Nanos,
    /// The highest position heard of, taken or not.
    ahead: i64,
    assembly: Assembly,
    rtt: RoundTrip,
    echo: Option<RoundTripFrame>,
    sources: Sources,
    /// Sources that the status message being sent has still to go to.
    status_left: usize,
    end: Option<i64>,
    reason: ImageEnd,
    since: Nanos,
    refusal: Option<Refusal>,
    /// The application was told of the end.
    is_told: bool,
    liveness: Nanos,
    setup: Setup,
}

impl Image {
    /// Takes all its memory: the window, one assembly buffer, the gaps. Nothing when the SETUP is
    /// not a possible one.
    pub fn new(
        now: Nanos,
        setup: &Setup,
        source: SocketAddr,
        config: &SubscriptionConfig,
    ) -> Option<Self> {
        let terms = Terms::new(setup.initial_term_id, setup.term_length).ok()?;
        crate::config::check_mtu(setup.mtu).ok()?;
        let is_inside =
            i64::from(setup.term_offset) < terms.length() && setup.term_offset % 32 == 0;
        let start =
            terms.position(setup.active_term_id, setup.term_offset).filter(|_| is_inside)?;
        let mtu = i64::from(setup.mtu);
        let window_max = i64::from(config.receiver_window).min(terms.length() / 2);
        let tether_state = TetherState::new(config.tether, window_max);
        let naks = NakPolicy::new(config.nak_delay, setup.flags & SETUP_PROMPT != 0);
        let message_bytes_max = terms.message_bytes_max().min(config.message_bytes_max);
        Some(Self {
            session_id: setup.session_id,
            terms,
            mtu,
            consumed: start,
            arrivals: Arrivals::new(terms, start, tether_state.room(), mtu as usize, naks),
            status: StatusPace::new(start),
            congestion: Congestion::new(config.congestion, window_max, mtu as usize, now),
            tether_state,
            state: ImageState::Active,
            is_reliable: config.is_reliable,
            clock: now,
            heard: now,
            ahead: start,
            assembly: Assembly::new(message_bytes_max),
            rtt: RoundTrip::new(),
            echo: None,
            sources: Sources::new(source, now),
            status_left: 0,
            end: None,
            reason: ImageEnd::Silent,
            since: now,
            refusal: None,
            is_told: false,
            liveness: config.liveness,
            setup: *setup,
        })
    }

    #[inline]
    pub const fn session_id(&self) -> i32 {
        self.session_id
    }

    pub const fn consumed(&self) -> i64 {
        self.consumed
    }

    /// Where it comes from, or came from first.
    pub const fn source(&self) -> SocketAddr {
        self.sources.first()
    }

    pub const fn initial_term_id(&self) -> i32 {
        self.terms.initial_term_id()
    }

    /// Up to where everything has arrived or is known to be missing.
    pub const fn high(&self) -> i64 {
        self.arrivals.high()
    }

    pub const fn state(&self) -> ImageState {
        self.state
    }

    pub const fn end_reason(&self) -> ImageEnd {
        self.reason
    }

    pub const fn is_told(&self) -> bool {
        self.is_told
    }

    pub const fn tell(&mut self) {
        self.is_told = true;
    }

    /// It still speaks with its source.
    #[inline]
    pub const fn is_live(&self) -> bool {
        !matches!(self.state, ImageState::Draining | ImageState::Done)
    }

    pub const fn heard(&self) -> Nanos {
        self.heard
    }

    /// Whether a SETUP belongs to the stream that this image follows.
    pub fn is_continued_by(&self, setup: &Setup, source: SocketAddr) -> bool {
        let known = &self.setup;
        let position = self.terms.position(setup.active_term_id, setup.term_offset);
        let is_near = position
            .is_some_and(|position| (position - self.arrivals.high()).abs() <= self.terms.length());
        setup.initial_term_id == known.initial_term_id
            && setup.term_length == known.term_length
            && setup.mtu == known.mtu
            && is_near
            && (0..self.sources.count()).any(|nth| self.sources.get(nth) == Some(source))
    }

    /// The sender has not heard of this receiver yet.
    pub fn handle_setup(&mut self, now: Nanos) {
        self.heard = now;
        self.status.force();
    }

    /// Another source of the same stream has proved itself.
    pub fn add_source(&mut self, source: SocketAddr, now: Nanos) {
        self.sources.add(source, now, self.liveness);
        self.status.force();
    }

    pub fn sample_round_trip(&mut self, span: Nanos) {
        self.rtt.sample(span);
    }

    /// Takes a datagram of data. False when it comes from a stranger.
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Nanos,
        from: SocketAddr,
        first: &DataHeader,
        datagram: &[u8],
        counters: &mut SubscriptionCounters,
    ) -> bool {
        self.clock = now;
        if !self.sources.hear(from, now) {
            return false;
        }
        let position = self.terms.position(first.term_id, first.term_offset);
        let (Some(position), true) = (position, self.state == ImageState::Active) else {
            counters.invalid += u64::from(position.is_none());
            return true;
        };
        if first.frame_length == 0 {
            self.handle_heartbeat(now, from, position, first.flags, counters);
            return true;
        }
        let frames = check_frames(&self.terms, first, datagram);
        let is_short = datagram.len() as i64 <= self.mtu;
        let Some(frames) = frames.filter(|_| is_short) else {
            counters.invalid += 1;
            return true;
        };
        let end = position + frames.log_bytes;
        self.ahead = self.ahead.max(end);
        if position + frames.wire_bytes as i64 > self.consumed + self.arrivals.capacity() {
            counters.overruns += 1;
            let has_gap = self.arrivals.propose(now, position, counters);
            self.note_gap(now, has_gap);
            self.check_left_behind();
            return true;
        }
        if position + self.terms.length() >= self.consumed {
            self.heard = now;
        }
        let least = self.rtt.smoothed().map(|_| self.rtt.least());
        let taken = self.arrivals.take(now, (position, end), datagram, least, counters);
        self.note_gap(now, taken.has_gap);
        if !taken.is_new {
            return true;
        }
        counters.datagrams += 1;
        counters.received_bytes += datagram.len() as u64;
        true
    }

    /// Hands messages to the application, at most `limit` fragments. Returns their number. Gaps
    /// that were passed are told to `skip`. Cost per message: a header read and the call.
    #[inline]
    pub fn poll(
        &mut self,
        limit: usize,
        counters: &mut SubscriptionCounters,
        skip: &mut impl FnMut(Skip),
        handler: &mut impl FnMut(&Message<'_>) -> Action,
    ) -> usize {
        let mut count = 0;
        if self.tether_state.is_resting() {
            return 0;
        }
        loop {
            count += self.poll_contiguous(limit - count, counters, handler);
            if count >= limit || !self.pass_gap(counters, skip) {
                break;
            }
        }
        if count > 0 {
            self.check_consumed();
        }
        count
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Nanos) {
        self.clock = now;
        match self.state {
            ImageState::Active if now.since(self.heard) > self.liveness => {
                self.lose(ImageEnd::Silent);
            }
            ImageState::Linger | ImageState::Refusing if now.since(self.since) >= LINGER => {
                self.transition(Trigger::LingerOver);
            }
            _ => {}
        }
        self.check_consumed();
    }

    /// When something is due by time alone.
    pub fn next_due(&self) -> Nanos {
        let due = match self.state {
            ImageState::Active => {
                let gap = self.arrivals.next_due();
                let tether_state = self.tether_state.next_due();
                self.rtt
                    .next()
                    .min(gap)
                    .min(tether_state)
                    .min(self.heard + self.liveness + Nanos(1))
            }
            ImageState::Linger | ImageState::Refusing => self.since + LINGER,
            ImageState::Draining | ImageState::Done => return Nanos::MAX,
        };
        if self.status_left > 0 || self.echo.is_some() {
            return self.clock;
        }
        due.min(self.status.next())
    }

    /// The application refuses the stream.
    pub fn refuse(&mut self, now: Nanos, code: i32, text: &[u8]) {
        self.refusal = Some(Refusal::new(code, text));
        self.clock = now;
        self.reason = ImageEnd::Refused;
        self.status.force();
        self.transition(Trigger::Refused);
    }

    /// The application leaves: the sender is told with the next status message.
    pub fn leave(&mut self, now: Nanos) {
        self.clock = now;
        self.reason = ImageEnd::Left;
        self.status.force();
        self.transition(Trigger::Left);
    }

    /// The source is gone or no longer the one it was.
    pub fn lose(&mut self, reason: ImageEnd) {
        if self.state == ImageState::Active {
            self.reason = reason;
        }
        self.transition(Trigger::Lost);
        self.check_consumed();
    }

    /// A round-trip frame: a question to be echoed, or our echo.
    pub fn handle_round_trip(&mut self, now: Nanos, frame: &RoundTripFrame) -> bool {
        if frame.flags & REPLY != 0 {
            self.echo = Some(*frame);
            return true;
        }
        self.rtt.handle_echo(now, frame.echo, frame.reception_delta)
    }

    /// The application had its turn to read: one without a tether that is too far behind loses what
    /// it has not read, which is told to `skip` when it is back.
    #[inline]
    pub fn check_tether(
        &mut self,
        now: Nanos,
        counters: &mut SubscriptionCounters,
        skip: &mut impl FnMut(Skip),
    ) {
        if self.tether_state.is_loose() && self.state == ImageState::Active {
            self.pass_unread(now, counters);
            self.tell_passed(skip);
        }
    }

    /// What was passed and not told.
    pub fn tell_passed(&mut self, skip: &mut impl FnMut(Skip)) {
        if let Some(passed) = self.tether_state.rejoined() {
            skip(passed);
        }
    }

    /// The next control frame and where it goes.
    pub fn poll_transmit(
        &mut self,
        now: Nanos,
        config: &SubscriptionConfig,
        cookie: impl FnOnce() -> i64,
        counters: &mut SubscriptionCounters,
        out: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        if !self.is_live() {
            return None;
        }
        if let Some(sent) = self.poll_status(now, config, counters, out) {
            return Some(sent);
        }
        if let Some(echo) = self.echo.take() {
            let receiver_id = config.receiver_id;
            let echo = RoundTripFrame { flags: 0, reception_delta: 0, receiver_id, ..echo };
            return Some((self.feedback(config, 0), echo.frame().write(out)));
        }
        if self.state != ImageState::Active {
            return None;
        }
        if now >= self.rtt.next() {
            let echo = cookie();
            self.rtt.measure(now, echo);
            let frame = RoundTripFrame {
                flags: REPLY,
                session_id: self.session_id,
                stream_id: config.stream_id,
                echo,
                reception_delta: 0,
                receiver_id: config.receiver_id,
            };
            return Some((self.feedback(config, 0), frame.frame().write(out)));
        }
        if !self.is_reliable || self.arrivals.next_due() > now {
            return None;
        }
        self.poll_nak(now, config, counters, out)
    }
}

impl Image {
    #[inline]
    fn poll_contiguous(
        &mut self,
        limit: usize,
        counters: &mut SubscriptionCounters,
        handler: &mut impl FnMut(&Message<'_>) -> Action,
    ) -> usize {
        let (end, mut at, mut count) = (self.arrivals.contiguous(), self.consumed, 0);
        let mut messages = 0;
        while count < limit && at < end {
            let Some((header, payload)) = self.arrivals.frame(at) else { break };
            let next = at + header.log_bytes();
            if header.is_padding {
                at = next;
                continue;
            }
            count += 1;
            let is_fragment = header.flags & UNFRAGMENTED != UNFRAGMENTED;
            let bytes = if is_fragment {
                match self.assembly.push(header.flags, payload) {
                    Assembled::Whole(bytes) => bytes,
                    Assembled::Partial => {
                        at = next;
                        continue;
                    }
                    Assembled::Dropped => {
                        counters.incomplete += 1;
                        at = next;
                        continue;
                    }
                }
            } else {
                payload
            };
            let session_id = self.session_id;
            let reserved_value = header.reserved_value;
            let action = handler(&Message { bytes, session_id, position: next, reserved_value });
            if action == Action::Abort {
                if is_fragment {
                    self.assembly.undo();
                }
                count -= 1;
                break;
            }
            messages += 1;
            at = next;
            if action == Action::Commit {
                self.status.force();
            }
            if action == Action::Break {
                break;
            }
        }
        self.consumed = at;
        counters.messages += messages;
        count
    }

    /// Without repairs a gap that had its time is passed.
    #[inline]
    fn pass_gap(
        &mut self,
        counters: &mut SubscriptionCounters,
        skip: &mut impl FnMut(Skip),
    ) -> bool {
        if self.is_reliable {
            return false;
        }
        let Some(gap) = self.arrivals.first_gap().copied() else { return false };
        if gap.start != self.consumed || gap.due > self.clock {
            return false;
        }
        let bytes = gap.end - gap.start;
        self.arrivals.pass_first_gap();
        self.consumed = gap.end;
        counters.skipped_bytes += bytes as u64;
        counters.incomplete += u64::from(self.assembly.reset());
        skip(Skip { position: gap.start, bytes });
        self.check_consumed();
        true
    }

    #[cold]
    fn pass_unread(&mut self, now: Nanos, counters: &mut SubscriptionCounters) {
        let (position, live) = (self.consumed, self.live());
        if !self.tether_state.check(now, position, live) {
            return;
        }
        let bytes = live - position;
        self.tether_state.pass(Skip { position, bytes });
        self.consumed = live;
        if !self.is_reliable {
            self.arrivals.pass_gaps();
        }
        counters.skipped_bytes += bytes as u64;
        counters.incomplete += u64::from(self.assembly.reset());
        self.check_consumed();
    }

    /// Everything below has arrived, or is given up.
    fn live(&self) -> i64 {
        if self.is_reliable { self.arrivals.contiguous() } else { self.arrivals.high() }
    }

    /// What was sent and is missing shrinks a window that grows until something is lost.
    fn note_gap(&mut self, now: Nanos, has_gap: bool) {
        if has_gap && self.congestion.lose(now, self.rtt.timeout()) {
            self.status.force();
        }
    }

    #[cold]
    fn handle_heartbeat(
        &mut self,
        now: Nanos,
        from: SocketAddr,
        position: i64,
        flags: u8,
        counters: &mut SubscriptionCounters,
    ) {
        counters.heartbeats += 1;
        if position + self.terms.length() < self.consumed {
            return;
        }
        self.heard = now;
        self.ahead = self.ahead.max(position);
        let has_gap = self.arrivals.propose(now, position, counters);
        self.note_gap(now, has_gap);
        self.status.handle_heartbeat(now, position, self.mtu, self.rtt.timeout());
        self.check_left_behind();
        if flags & REVOKED != 0 {
            self.lose(ImageEnd::Revoked);
        } else if flags & END_OF_STREAM != 0
            && self.sources.end(from, now, self.liveness)
            && position >= self.arrivals.high()
        {
            self.end = Some(position);
            self.check_consumed();
        }
    }

    /// A sender keeps half a term and a message: a gap further behind will never be filled.
    fn check_left_behind(&mut self) {
        let kept = self.terms.length() / 8 * 5;
        let is_gone = self.arrivals.first_gap().is_some_and(|gap| self.ahead - gap.start > kept);
        if is_gone && self.is_reliable {
            self.lose(ImageEnd::LeftBehind);
        }
    }

    #[inline]
    fn check_consumed(&mut self) {
        if self.end == Some(self.consumed) {
            if self.state == ImageState::Active {
                self.reason = ImageEnd::EndOfStream;
                self.status.force();
            }
            self.transition(Trigger::EndConsumed);
        }
        if self.state == ImageState::Draining && self.consumed >= self.arrivals.contiguous() {
            self.transition(Trigger::RestConsumed);
        }
    }

    fn transition(&mut self, trigger: Trigger) {
        let next = self.state.after(trigger);
        if next != self.state {
            (self.state, self.since) = (next, self.clock);
            self.tether_state.end();
        }
    }

    const fn position_of(&self, position: i64) -> (i32, i32) {
        (self.terms.term_id(position), self.terms.offset(position))
    }

    fn feedback(&self, config: &SubscriptionConfig, nth: usize) -> SocketAddr {
        let source = || self.sources.get(nth).unwrap_or(self.sources.first());
        config.feedback.unwrap_or_else(source)
    }

    fn poll_status(
        &mut self,
        now: Nanos,
        config: &SubscriptionConfig,
        counters: &mut SubscriptionCounters,
        out: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        let window = self.congestion.window();
        if self.status_left == 0 {
            let reported = self.tether_state.reported(self.consumed, || self.live());
            if !self.status.is_due(now, reported, window) {
                return None;
            }
            self.congestion.grow(now, self.rtt.timeout());
            self.status_left = if config.feedback.is_some() { 1 } else { self.sources.count() };
            self.status.sent(now, reported, window);
        }
        self.status_left -= 1;
        counters.statuses += 1;
        let to = self.feedback(config, self.status_left);
        if let Some(refusal) = &self.refusal {
            return Some((to, self.error_frame(config, refusal).write(out)));
        }
        let (term_id, term_offset) = self.position_of(self.status.position());
        let has_ended = self.state == ImageState::Linger;
        let status = Status {
            flags: STATUS_EXACT | if has_ended { STATUS_END_OF_STREAM } else { 0 },
            session_id: self.session_id,
            stream_id: config.stream_id,
            term_id,
            term_offset,
            window: window as i32,
            receiver_id: config.receiver_id,
            group_tag: config.group_tag,
        };
        Some((to, status.frame().write(out)))
    }

    fn error_frame<'a>(&self, config: &SubscriptionConfig, why: &'a Refusal) -> ErrorFrame<'a> {
        ErrorFrame {
            session_id: self.session_id,
            stream_id: config.stream_id,
            receiver_id: config.receiver_id,
            group_tag: config.group_tag,
            code: why.code(),
            text: why.text(),
        }
    }

    /// One NAK for the next gap that is due; every gap that is due gets its own.
    fn poll_nak(
        &mut self,
        now: Nanos,
        config: &SubscriptionConfig,
        counters: &mut SubscriptionCounters,
        out: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        let gap = self.arrivals.next_due_gap(now, self.rtt.timeout())?;
        // No more than the window takes, but at least one frame.
        let room = (self.consumed + self.arrivals.capacity()).max(gap.start + self.mtu);
        let length = gap.end.min(room) - gap.start;
        let (term_id, term_offset) = self.position_of(gap.start);
        let nak = Nak {
            session_id: self.session_id,
            stream_id: config.stream_id,
            term_id,
            term_offset,
            length: length as i32,
        };
        counters.naks += 1;
        // Another source may have what the first one lost.
        let nth = usize::from(gap.attempts) % self.sources.count();
        Some((self.feedback(config, nth), nak.frame().write(out)))
    }
}
