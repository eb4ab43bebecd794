//! The subscribing end.

use taut_aeron::{
    Action as Answer, ImageEnd, Message as Fragment, Subscription, SubscriptionEvent, Target,
    Tether,
};
use taut_io::{Completion, Io, Kernel};
use taut_sys::{Address, DatagramBatch};
use taut_types::Nanos;

use super::bundle::Bundle;
use super::parameters;
use super::publication::session;
use super::routes::Routes;
use super::sockets::{self, Receiving};
use crate::counters::Counters;
use crate::datagrams::{Datagrams, Run};
use crate::driver::{Opening, SubscriptionDriver, close_source};
use crate::error::ChannelError;
use crate::event::{EndReason, Event};
use crate::message::{Action, Message};
use crate::uri::AeronUri;

/// The kernel hands over up to 64 KiB of datagrams at once. The odd size spreads the buffers over
/// the cache's sets.
const BUFFER_BYTES: usize = 65_536 + 192;
/// Few: the buffers and what is copied out of them stay in the core's own cache.
const BATCH: usize = 4;
const FRAME_BYTES: usize = 2048;
/// What a subscription says as it leaves is sent so often: nobody repeats it once it is lost, and a
/// publication would wait for it until its linger time is over.
const LAST_COPIES: usize = 3;
/// While there is a backlog, the socket is looked at every so many polls.
const BACKLOG_RATIO: u32 = 8;
/// Without a tether: how long messages are handed over until the sockets are read again, and how
/// many looks empty them.
const HANDING_SPAN: Nanos = Nanos::from_micros(100);
const LOOKS_MAX: usize = 16;

/// A subscription and its sockets.
#[derive(Debug)]
pub(crate) struct AeronSubscription {
    core: Subscription,
    /// One for each endpoint.
    lines: Vec<Receiving>,
    routes: Routes,
    datagrams: Datagrams,
    batch: DatagramBatch,
    frames: Bundle,
    /// The control frame that is being sent.
    frame: Box<[u8]>,
    polls: u32,
    received_bytes: u64,
    /// `tether=false`.
    is_loose: bool,
    is_closed: bool,
    local: Option<Address>,
}

impl AeronSubscription {
    pub(crate) fn open<K: Kernel>(
        uri: &AeronUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let config = parameters::subscription(uri, opening)?;
        let lines = sockets::receiving(uri, io)?;
        let feedback = match &lines[..] {
            [line] => line.feedback,
            // Each source is answered from the socket that hears it: see `send_bundle`.
            _ => None,
        };
        let config = taut_aeron::SubscriptionConfig {
            feedback,
            elicit: uri.control.as_ref().map(sockets::resolve).transpose()?,
            has_many_sources: lines.len() > 1,
            ..config
        };
        let is_loose = config.tether != Tether::Held;
        let core = Subscription::new(config).map_err(|error| {
            lines.iter().for_each(|line| close_source(io, line.socket));
            ChannelError::Aeron(error)
        })?;
        Ok(Self {
            local: lines.first().and_then(|line| io.local_address(line.socket).ok()),
            core,
            lines,
            routes: Routes::new(),
            datagrams: Datagrams::new(opening.loss),
            batch: DatagramBatch::new(BATCH, BUFFER_BYTES).asking_for_one(),
            frames: Bundle::new(FRAME_BYTES),
            frame: vec![0; FRAME_BYTES].into_boxed_slice(),
            polls: 0,
            received_bytes: 0,
            is_loose,
            is_closed: false,
        })
    }

    #[inline]
    fn deliver<H>(&mut self, limit: usize, handler: &mut H) -> usize
    where
        H: FnMut(Message<'_>) -> Action,
    {
        let (mut count, mut bytes) = (0, 0);
        // The core counts fragments, the channel messages: fragments alone are no progress.
        while count < limit {
            let fragments = self.core.poll_controlled(limit - count, |fragment: &Fragment<'_>| {
                let message = Message {
                    payload: fragment.bytes,
                    part_ends: &[],
                    topic: &[],
                    session: session(fragment.session_id),
                    position: fragment.position.cast_unsigned(),
                };
                let action = handler(message);
                if action != Action::Abort {
                    count += 1;
                    bytes += fragment.bytes.len() as u64;
                }
                match action {
                    Action::Continue => Answer::Continue,
                    Action::Break => Answer::Break,
                    Action::Abort => Answer::Abort,
                }
            });
            if fragments == 0 || count > 0 {
                break;
            }
        }
        self.received_bytes += bytes;
        count
    }

    /// Takes what a look at each socket finds. Returns how many receive buffers were filled.
    #[inline]
    fn receive<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let Self { core, lines, routes, datagrams, batch, .. } = self;
        let mut count = 0;
        if let [line] = &lines[..] {
            count += datagrams.receive(io, line.socket, batch, |from, datagram| {
                core.handle_bytes(now, from, datagram);
            });
        } else {
            for (place, line) in lines.iter().enumerate() {
                count += datagrams.receive(io, line.socket, batch, |from, datagram| {
                    if core.handle_bytes(now, from, datagram) {
                        routes.note(from, place);
                    }
                });
            }
        }
        core.handle_timeout(now);
        count
    }

    /// Says that it leaves, if it has not: its publications would wait for it.
    pub(crate) fn leave<K: Kernel>(&mut self, io: &mut Io<K>) {
        let now = io.kernel().now();
        self.close(io, now);
    }

    /// Without a tether: empties the sockets and says how far the stream has come, so that it goes
    /// on while the caller reads.
    fn drain<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        for _ in 0..LOOKS_MAX {
            if self.receive(io, now) == 0 {
                break;
            }
        }
        self.send_frames(io, now);
    }

    /// As a poll with a tether, but the sockets are read before messages are handed over, and again
    /// whenever the handler has taken a while.
    fn poll_loose<K, H>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        limit: usize,
        handler: &mut H,
    ) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        let begun = io.kernel().now();
        let mut count = 0;
        loop {
            let looked = io.kernel().now();
            self.drain(io, now + (looked - begun));
            let mut goes_on = false;
            count += self.deliver(limit - count, &mut |message: Message<'_>| {
                let action = handler(message);
                goes_on = action == Action::Continue && io.kernel().now() - looked >= HANDING_SPAN;
                if goes_on { Action::Break } else { action }
            });
            if !goes_on || count >= limit {
                return count;
            }
        }
    }

    /// Sends what is to be said. NAKs are of one length: those of one round leave with one call.
    #[inline]
    fn send_frames<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        while let Some(sent) = self.core.poll_transmit(now, &mut self.frame) {
            let frame = self.frame.get(..sent.bytes).unwrap_or(&[]);
            if !self.frames.take(sent.to, frame, frame.len()) {
                self.send_bundle(io);
                let frame = self.frame.get(..sent.bytes).unwrap_or(&[]);
                // An empty bundle takes any frame.
                let _ = self.frames.take(sent.to, frame, frame.len());
            }
        }
        self.send_bundle(io);
    }

    #[inline]
    fn send_bundle<K: Kernel>(&mut self, io: &mut Io<K>) {
        let Self { lines, routes, datagrams, frames, is_closed, .. } = self;
        let Some((Target::One(source), frames, segment_bytes)) = frames.empty() else { return };
        let (line, to) = match &lines[..] {
            [line] => (line, source),
            lines => {
                let Some(line) = lines.get(routes.socket(source)) else { return };
                // A group is answered at its control address.
                (line, line.feedback.unwrap_or(source))
            }
        };
        let to = Some(&to);
        let run = Run { socket: line.socket, bytes: frames, segment_bytes, to };
        let copies = if *is_closed { LAST_COPIES } else { 1 };
        for _ in 0..copies {
            datagrams.send(io, run);
        }
    }
}

impl SubscriptionDriver for AeronSubscription {
    #[inline]
    fn poll<K, H>(&mut self, io: &mut Io<K>, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        if self.is_closed {
            return 0;
        }
        if self.is_loose {
            return self.poll_loose(io, now, limit, handler);
        }
        self.polls = self.polls.wrapping_add(1);
        let mut count = self.deliver(limit, handler);
        if count < limit || self.polls.is_multiple_of(BACKLOG_RATIO) {
            self.receive(io, now);
            if count < limit {
                count += self.deliver(limit - count, handler);
            }
        }
        self.send_frames(io, now);
        count
    }

    fn poll_event(&mut self) -> Option<Event> {
        loop {
            return Some(match self.core.poll_event()? {
                SubscriptionEvent::ImageAvailable { session_id, source, join_position } => {
                    Event::ImageAvailable {
                        session: session(session_id),
                        position: join_position.cast_unsigned(),
                        peer: Some(source),
                    }
                }
                SubscriptionEvent::ImageUnavailable { session_id, position, end } => {
                    Event::ImageUnavailable {
                        session: session(session_id),
                        position: position.cast_unsigned(),
                        reason: match end {
                            ImageEnd::EndOfStream | ImageEnd::Left | ImageEnd::Refused => {
                                EndReason::Closed
                            }
                            ImageEnd::Restarted => EndReason::Replaced,
                            ImageEnd::LeftBehind => EndReason::Evicted,
                            _ => EndReason::Lost,
                        },
                    }
                }
                SubscriptionEvent::Skipped { session_id, position, bytes } => Event::Gap {
                    session: session(session_id),
                    position: position.cast_unsigned(),
                    length: bytes.cast_unsigned(),
                },
                _ => continue,
            });
        }
    }

    fn image_count(&self) -> usize {
        self.core.image_count()
    }

    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        if !self.is_closed {
            self.core.close(now);
            self.is_closed = true;
            self.send_frames(io, now);
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn counters(&self) -> Counters {
        let core = self.core.counters();
        Counters {
            received: core.messages,
            received_bytes: self.received_bytes,
            lost: core.skipped_bytes,
            repaired: core.naks,
            dropped: core.overruns + core.incomplete,
            duplicated: core.duplicates,
            malformed: core.invalid,
            refused: self.datagrams.failed + core.images_refused + core.unanswered,
            transfers: self.datagrams.transfers,
            injected_losses: self.datagrams.injected,
            ..Counters::default()
        }
    }

    fn next_timeout(&self) -> Option<Nanos> {
        self.core.poll_timeout()
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Ready { source, .. } = completion else { return false };
        self.lines.iter().any(|line| line.socket == *source)
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        self.leave(io);
        self.lines.iter().for_each(|line| close_source(io, line.socket));
    }

    fn local_address(&self) -> Option<Address> {
        self.local
    }
}
