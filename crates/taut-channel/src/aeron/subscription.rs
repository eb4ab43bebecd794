//! The subscribing end.

use taut_aeron::{
    Action as Answer, ImageEnd, Message as Fragment, Subscription, SubscriptionEvent, Target,
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

    #[inline]
    fn receive<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        let Self { core, lines, routes, datagrams, batch, .. } = self;
        if let [line] = &lines[..] {
            datagrams.receive(io, line.socket, batch, |from, datagram| {
                core.handle_bytes(now, from, datagram);
            });
        } else {
            for (place, line) in lines.iter().enumerate() {
                datagrams.receive(io, line.socket, batch, |from, datagram| {
                    if core.handle_bytes(now, from, datagram) {
                        routes.note(from, place);
                    }
                });
            }
        }
        core.handle_timeout(now);
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
            refused: self.datagrams.failed,
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
        self.lines.iter().for_each(|line| close_source(io, line.socket));
    }

    fn local_address(&self) -> Option<Address> {
        self.local
    }
}
