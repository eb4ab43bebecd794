//! A subscription: the receiving side of a stream, with an image for each publication.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::{Host, Nanos};

use crate::allowance::Allowance;
use crate::config::SubscriptionConfig;
use crate::counters::SubscriptionCounters;
use crate::destinations::Target;
use crate::error::Error;
use crate::frame::control_flags::{REPLY, SEND_SETUP};
use crate::frame::data_flags::END_OF_STREAM;
use crate::frame::{
    ControlFrame, DataHeader, FrameKind, RoundTripFrame, Setup, Status, frame_kind,
};
use crate::image::{Image, ImageState, Skip};
use crate::message::{Action, ImageEnd, Message, SubscriptionEvent};
use crate::random::Cookies;
use crate::sessions::{Probe, Sessions, Validated};
use crate::transmit::Transmit;

const EVENTS_MAX: usize = 256;
/// Answers that wait to be sent.
const OUTBOX_MAX: usize = 64;
/// An image must have been silent for this long before its session may start anew.
const RESTART_SILENCE: Nanos = Nanos::from_secs(1);
/// How a control address is asked for streams: soon at first, then every second.
const ELICIT_INTERVAL_FIRST: Nanos = Nanos::from_millis(100);
const ELICIT_INTERVAL: Nanos = Nanos::from_secs(1);
const ELICIT_FIRST_COUNT: u32 = 10;
/// Sessions that ended, remembered.
const ENDED_MAX: usize = 64;
/// The length of a SETUP.
const SETUP_BYTES: usize = 40;

/// A session that ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    session_id: i32,
    initial_term_id: i32,
    /// Up to where it was heard, and when last.
    position: i64,
    heard: Nanos,
    /// It may not come back (`rejoin=false`, or it was refused).
    is_final: bool,
}

/// The receiving side of a stream: see the crate's description.
#[derive(Debug)]
pub struct Subscription {
    images: Vec<Image>,
    /// The image that was heard last, and the one that is polled first.
    last: usize,
    turn: usize,
    counters: SubscriptionCounters,
    sessions: Sessions,
    events: VecDeque<SubscriptionEvent>,
    outbox: VecDeque<(SocketAddr, ControlFrame)>,
    /// What strangers may be sent.
    allowance: Allowance,
    ended: VecDeque<Ended>,
    cookies: Cookies,
    elicited: u32,
    next_elicit: Nanos,
    config: SubscriptionConfig,
}

impl Subscription {
    /// Takes its tables; each image takes its window when its source has proved itself.
    ///
    /// # Errors
    /// [`Error::Misuse`] with the parameter that is outside its limits.
    pub fn new(config: SubscriptionConfig) -> Result<Self, Error> {
        config.checked()?;
        Ok(Self {
            images: Vec::with_capacity(config.images_max),
            last: 0,
            turn: 0,
            counters: SubscriptionCounters::default(),
            sessions: Sessions::new(),
            events: VecDeque::with_capacity(EVENTS_MAX),
            outbox: VecDeque::with_capacity(OUTBOX_MAX),
            allowance: Allowance::default(),
            ended: VecDeque::with_capacity(ENDED_MAX),
            cookies: Cookies::new(config.secret),
            elicited: 0,
            next_elicit: Nanos(i64::MIN),
            config,
        })
    }

    /// Takes a datagram. False when it is meant for another stream or no one.
    #[inline]
    pub fn handle_bytes(&mut self, now: Nanos, from: SocketAddr, datagram: &[u8]) -> bool {
        match frame_kind(datagram) {
            Ok(FrameKind::Data | FrameKind::Pad) => {
                let Some(header) = DataHeader::read(datagram) else { return false };
                self.handle_data(now, from, &header, datagram)
            }
            Ok(FrameKind::Setup) => {
                Setup::read(datagram).is_some_and(|setup| self.handle_setup(now, from, &setup))
            }
            Ok(FrameKind::RoundTrip) => RoundTripFrame::read(datagram)
                .is_some_and(|frame| self.handle_round_trip(now, from, &frame)),
            Ok(_) => false,
            Err(_) => {
                self.counters.invalid += 1;
                false
            }
        }
    }

    /// Hands messages to the application, at most `limit` fragments. Returns how many fragments
    /// were read. Cost per message: a header read and the call.
    #[inline]
    pub fn poll(&mut self, limit: usize, mut handler: impl FnMut(&Message<'_>)) -> usize {
        self.poll_controlled(limit, |message| {
            handler(message);
            Action::Continue
        })
    }

    /// As [`Self::poll`], and the application says after each message how to go on.
    pub fn poll_controlled(
        &mut self,
        limit: usize,
        mut handler: impl FnMut(&Message<'_>) -> Action,
    ) -> usize {
        let (mut count, images) = (0, self.images.len());
        self.turn = if self.turn + 1 < images { self.turn + 1 } else { 0 };
        for nth in 0..images {
            let place = self.turn + nth;
            let place = if place < images { place } else { place - images };
            let Some(image) = self.images.get_mut(place) else { break };
            let session_id = image.session_id();
            let events = &mut self.events;
            let mut skip = |skip| push_skip(events, session_id, skip);
            count += image.poll(limit - count, &mut self.counters, &mut skip, &mut handler);
            if count >= limit {
                break;
            }
        }
        count
    }

    /// Lets time pass: images end, and what is over is told.
    #[inline]
    pub fn handle_timeout(&mut self, now: Nanos) {
        let mut at = 0;
        while let Some(image) = self.images.get_mut(at) {
            image.handle_timeout(now);
            let (session_id, position) = (image.session_id(), image.consumed());
            let end = image.end_reason();
            let was_told = image.is_told();
            let is_over = matches!(image.state(), ImageState::Linger | ImageState::Done);
            if (is_over || image.state() == ImageState::Refusing) && !was_told {
                image.tell();
                let events = &mut self.events;
                image.tell_passed(&mut |skip| push_skip(events, session_id, skip));
                self.push(SubscriptionEvent::ImageUnavailable { session_id, position, end });
            }
            if self.images.get(at).is_some_and(|image| image.state() == ImageState::Done) {
                let image = self.images.swap_remove(at);
                self.remember_end(&image);
            } else {
                at += 1;
            }
        }
    }

    /// When [`Self::handle_timeout`] or [`Self::poll_transmit`] is due by time alone.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        if !self.outbox.is_empty() {
            return Some(Nanos(i64::MIN));
        }
        let elicits = self.config.elicit.is_some() && self.images.is_empty();
        let elicit = if elicits { self.next_elicit } else { Nanos::MAX };
        let due = self.images.iter().map(Image::next_due).fold(elicit, Nanos::min);
        (due < Nanos::MAX).then_some(due)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SubscriptionEvent> {
        self.events.pop_front()
    }

    /// The next control frame, written to the front of `out`: status messages, NAKs, round trips.
    #[inline]
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        if let Some((to, frame)) = self.outbox.pop_front() {
            return Some(Transmit { bytes: frame.write(out), to: Target::One(to) });
        }
        if let Some(address) = self.config.elicit.filter(|_| self.images.is_empty())
            && now >= self.next_elicit
        {
            let is_first = self.elicited < ELICIT_FIRST_COUNT;
            self.elicited = self.elicited.saturating_add(1);
            let interval = if is_first { ELICIT_INTERVAL_FIRST } else { ELICIT_INTERVAL };
            self.next_elicit = now + interval;
            let bytes = self.ask_setup(0, 0).write(out);
            return Some(Transmit { bytes, to: Target::One(address) });
        }
        let Self { images, config, cookies, counters, events, .. } = self;
        let sent = images.iter_mut().find_map(|image| {
            let session_id = image.session_id();
            image.check_tether(now, counters, &mut |skip| push_skip(events, session_id, skip));
            image.poll_transmit(now, config, || cookies.next(), counters, out)
        });
        sent.map(|(to, bytes)| Transmit { bytes, to: Target::One(to) })
    }

    /// Refuses a publication: it is told why (at most 64 bytes of text) and not read any more.
    pub fn refuse(&mut self, now: Nanos, session_id: i32, code: i32, text: &[u8]) -> bool {
        let image = self.images.iter_mut().find(|image| image.session_id() == session_id);
        image.map(|image| image.refuse(now, code, text)).is_some()
    }

    /// Leaves every publication: fetch what is to be sent once more, so that they know how far this
    /// receiver came and do not wait for it.
    pub fn close(&mut self, now: Nanos) {
        self.config.images_max = 0;
        self.images.iter_mut().for_each(|image| image.leave(now));
    }

    /// The publications that are followed now.
    #[must_use]
    pub fn image_count(&self) -> usize {
        self.images.iter().filter(|image| image.state() == ImageState::Active).count()
    }

    /// How far a publication was read.
    #[must_use]
    pub fn position(&self, session_id: i32) -> Option<i64> {
        let image = self.images.iter().find(|image| image.session_id() == session_id);
        image.map(Image::consumed)
    }

    /// What it was built with.
    #[must_use]
    pub const fn config(&self) -> &SubscriptionConfig {
        &self.config
    }

    /// The account so far.
    #[must_use]
    pub const fn counters(&self) -> &SubscriptionCounters {
        &self.counters
    }
}

impl Subscription {
    #[inline]
    fn handle_data(
        &mut self,
        now: Nanos,
        from: SocketAddr,
        header: &DataHeader,
        datagram: &[u8],
    ) -> bool {
        if header.stream_id != self.config.stream_id || !self.wants(header.session_id) {
            return false;
        }
        let is_known = match self.live_image(header.session_id) {
            Some(at) => match self.images.get_mut(at) {
                Some(image) => image.handle_data(now, from, header, datagram, &mut self.counters),
                None => false,
            },
            None => false,
        };
        if !is_known {
            self.handle_unknown_data(now, from, header, datagram.len());
        }
        true
    }

    /// Data of a session that is no image, or from a source that is not the image's.
    #[cold]
    fn handle_unknown_data(
        &mut self,
        now: Nanos,
        from: SocketAddr,
        header: &DataHeader,
        bytes: usize,
    ) {
        self.allowance.earn(bytes);
        let may_join = self.may_join(now, header.session_id);
        if header.flags & END_OF_STREAM != 0 || !may_join {
            self.counters.invalid += u64::from(!may_join);
            return;
        }
        let frame = self.ask_setup(header.session_id, self.config.stream_id);
        if !self.allowance.covers(frame.as_bytes().len()) {
            self.counters.unanswered += 1;
            return;
        }
        let choice = self.cookies.next();
        let (asks, displaced) = self.sessions.handle_data(now, header.session_id, from, choice);
        self.counters.sessions_displaced += u64::from(displaced);
        if asks {
            self.answer(from, frame);
        }
    }

    #[cold]
    fn handle_setup(&mut self, now: Nanos, from: SocketAddr, setup: &Setup) -> bool {
        if setup.stream_id != self.config.stream_id || !self.wants(setup.session_id) {
            return false;
        }
        let live = self.live_image(setup.session_id);
        if let Some(image) = live.and_then(|at| self.images.get_mut(at))
            && image.is_continued_by(setup, from)
        {
            image.handle_setup(now);
            return true;
        }
        if !self.may_join(now, setup.session_id) {
            self.counters.invalid += 1;
            return true;
        }
        if !self.config.validates {
            let (setup, round_trip) = (*setup, Nanos::ZERO);
            self.join(now, &Validated { setup, source: from, round_trip });
            return true;
        }
        self.allowance.earn(SETUP_BYTES);
        let cookies = &mut self.cookies;
        let (probe, displaced) = self.sessions.handle_setup(now, from, setup, || cookies.next());
        self.counters.sessions_displaced += u64::from(displaced);
        if let Probe::Send(echo) = probe {
            let frame = RoundTripFrame {
                flags: REPLY,
                session_id: setup.session_id,
                stream_id: setup.stream_id,
                echo,
                reception_delta: 0,
                receiver_id: self.config.receiver_id,
            };
            self.answer(from, frame.frame());
        }
        true
    }

    #[cold]
    fn handle_round_trip(&mut self, now: Nanos, from: SocketAddr, frame: &RoundTripFrame) -> bool {
        if frame.stream_id != self.config.stream_id {
            return false;
        }
        let id = frame.session_id;
        if frame.flags & REPLY == 0
            && let Some(validated) = self.sessions.handle_echo(now, id, from, frame.echo)
        {
            self.join(now, &validated);
            return true;
        }
        let live = self.live_image(id);
        let is_used = live
            .and_then(|at| self.images.get_mut(at))
            .is_some_and(|image| image.handle_round_trip(now, frame));
        // On a group's address the echoes of others arrive too.
        self.counters.invalid += u64::from(!is_used && self.config.feedback.is_none());
        true
    }

    /// A validated source: a new image, another source of one, or a session that started anew.
    fn join(&mut self, now: Nanos, validated: &Validated) {
        let Validated { setup, source, round_trip } = validated;
        let live = self.live_image(setup.session_id);
        if let Some(image) = live.and_then(|at| self.images.get_mut(at)) {
            if self.config.has_many_sources {
                image.add_source(*source, now);
                return;
            }
            image.lose(ImageEnd::Restarted);
        }
        self.sessions.remove(setup.session_id, *source);
        // One image of a session at a time: while the application reads what is left of the last
        // one, its successor waits for a later SETUP.
        self.handle_timeout(now);
        if self.images.iter().any(|image| image.session_id() == setup.session_id) {
            return;
        }
        if !self.has_room(*source) {
            self.counters.images_refused += 1;
            return;
        }
        let image = Image::new(now, setup, *source, &self.config);
        let Some(mut image) = image.filter(|image| !self.is_stale(now, image)) else {
            self.counters.invalid += 1;
            return;
        };
        if *round_trip > Nanos::ZERO {
            image.sample_round_trip(*round_trip);
        }
        let (session_id, join_position) = (setup.session_id, image.consumed());
        self.last = self.images.len();
        self.images.push(image);
        let source = *source;
        self.push(SubscriptionEvent::ImageAvailable { session_id, source, join_position });
    }

    #[inline]
    fn wants(&self, session_id: i32) -> bool {
        self.config.session_id.is_none_or(|wanted| wanted == session_id)
    }

    /// Whether a session may become an image, or a stranger take one over: only one that has been
    /// silent, so that late or forged frames do not end a stream that lives.
    fn may_join(&self, now: Nanos, session_id: i32) -> bool {
        if self.ended.iter().any(|ended| ended.session_id == session_id && ended.is_final) {
            return false;
        }
        let is_live = |image: &&Image| image.session_id() == session_id && image.is_live();
        self.config.has_many_sources
            || self
                .images
                .iter()
                .find(is_live)
                .is_none_or(|image| now.since(image.heard()) >= RESTART_SILENCE)
    }

    #[inline]
    fn live_image(&mut self, session_id: i32) -> Option<usize> {
        let is_it = |image: &Image| image.session_id() == session_id && image.is_live();
        if self.images.get(self.last).is_some_and(is_it) {
            return Some(self.last);
        }
        self.last = self.images.iter().position(is_it)?;
        Some(self.last)
    }

    fn ask_setup(&self, session_id: i32, stream_id: i32) -> ControlFrame {
        let status = Status {
            flags: SEND_SETUP,
            session_id,
            stream_id,
            term_id: 0,
            term_offset: 0,
            window: 0,
            receiver_id: self.config.receiver_id,
            group_tag: self.config.group_tag,
        };
        status.frame()
    }

    /// Whether there is a place for an image of a source, and one of its host's.
    fn has_room(&self, source: SocketAddr) -> bool {
        let host = Host::of(source.ip());
        let of_host = self.images.iter().filter(|image| Host::of(image.source().ip()) == host);
        self.images.len() < self.config.images_max
            && of_host.count() < self.config.images_per_host_max
    }

    /// Answers a stranger, as far as what came from strangers allows.
    fn answer(&mut self, to: SocketAddr, frame: ControlFrame) {
        if self.outbox.len() < OUTBOX_MAX && self.allowance.pay(frame.as_bytes().len()) {
            self.outbox.push_back((self.config.feedback.unwrap_or(to), frame));
        } else {
            self.counters.unanswered += 1;
        }
    }

    fn remember_end(&mut self, image: &Image) {
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended {
            session_id: image.session_id(),
            initial_term_id: image.initial_term_id(),
            position: image.consumed().max(image.high()),
            heard: image.heard(),
            is_final: !self.config.rejoins || image.end_reason() == ImageEnd::Refused,
        });
    }

    /// A late SETUP would begin an image below what the last one of the session has heard.
    fn is_stale(&self, now: Nanos, image: &Image) -> bool {
        self.ended.iter().any(|ended| {
            ended.session_id == image.session_id()
                && ended.initial_term_id == image.initial_term_id()
                && image.consumed() < ended.position
                && now.since(ended.heard) < RESTART_SILENCE
        })
    }

    fn push(&mut self, event: SubscriptionEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }
}

/// Tells of a passed gap. When the application does not fetch its events, the last one of the
/// session grows, so that no byte goes unreported.
fn push_skip(events: &mut VecDeque<SubscriptionEvent>, session: i32, skip: Skip) {
    if events.len() >= EVENTS_MAX / 2 {
        let last = events.iter_mut().rev().find_map(|event| match event {
            SubscriptionEvent::Skipped { session_id, bytes, .. } if *session_id == session => {
                Some(bytes)
            }
            _ => None,
        });
        if let Some(bytes) = last {
            *bytes += skip.bytes;
            return;
        }
    }
    let Skip { position, bytes } = skip;
    events.push_back(SubscriptionEvent::Skipped { session_id: session, position, bytes });
}
