//! The publishing end.

use std::net::SocketAddr;

use taut_aeron::{
    DestinationMode, OfferError as Refused, Publication, PublicationEvent, PublicationState, Target,
};
use taut_io::{Completion, Io, Kernel};
use taut_sys::{Address, DatagramBatch};
use taut_types::Nanos;

use super::bundle::Bundle;
use super::parameters;
use super::sockets::{self, Sending};
use crate::counters::{Counters, SubscriberCounters};
use crate::datagrams::{Datagrams, Run};
use crate::driver::{Opening, PublicationDriver};
use crate::error::ChannelError;
use crate::event::{EndReason, Event};
use crate::offer::{MessageLimit, OfferError};
use crate::spied::Spied;
use crate::uri::AeronUri;

/// Control frames are short; with an error's text they have at most 1,063 bytes.
const FRAME_BYTES: usize = 2048;
const BATCH: usize = 32;
/// Runs of one turn: then feedback is looked at.
const RUNS_MAX: usize = 16;
/// While data is sent, feedback is looked at every so many turns.
const FEEDBACK_RATIO: u32 = 4;
/// While there is none to send, it is looked at so often: a look is a system call, and a loop has
/// other things to look at.
const FEEDBACK_INTERVAL: Nanos = Nanos::from_micros(2);
/// So long after the kernel had no room it is asked again by whoever sleeps meanwhile.
const NO_ROOM_SPAN: Nanos = Nanos::from_micros(20);
/// After so long what waits is read before anybody is given up: this process stood still.
const ABSENCE: Nanos = Nanos::from_millis(500);
/// So many datagrams of a closed publication come back before its endpoint is taken for gone.
const ECHOES_MAX: u64 = 3;
/// Repairs of one call.
const BUNDLE_BYTES: usize = 65_000;

/// Room in the log itself.
#[derive(Debug)]
pub(crate) struct AeronClaim<'p> {
    claim: taut_aeron::Claim<'p>,
    sent_bytes: &'p mut u64,
}

impl AeronClaim<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.claim.as_bytes()
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.claim.bytes()
    }

    #[inline]
    pub(crate) fn commit(self) -> u64 {
        *self.sent_bytes += self.claim.as_bytes().len() as u64;
        self.claim.commit().cast_unsigned()
    }
}

/// A publication and its sockets.
#[derive(Debug)]
pub(crate) struct AeronPublication {
    core: Publication,
    sockets: Sending,
    datagrams: Datagrams,
    batch: DatagramBatch,
    repairs: Bundle,
    /// The control frame that is being sent.
    frame: Box<[u8]>,
    turns: u32,
    /// When feedback was looked at.
    looked: Nanos,
    /// When to send on: the kernel had no room, or it was somebody else's turn.
    send_at: Option<Nanos>,
    sent_bytes: u64,
    /// Datagrams that had come back when it was closed.
    echoes_before: u64,
    /// `ssc`: spies stand for receivers, so many of them.
    simulates: bool,
    spies: usize,
    local: Option<Address>,
}

impl AeronPublication {
    pub(crate) fn open<K: Kernel>(
        uri: &AeronUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let is_group = uri.endpoint.as_ref().is_some_and(|endpoint| endpoint.is_multicast());
        let config = parameters::publication(uri, opening, is_group)?;
        let mut core = Publication::new(config).map_err(ChannelError::Aeron)?;
        if config.destinations == DestinationMode::Manual {
            for endpoint in uri.endpoint.iter().chain(&uri.more_endpoints) {
                core.add_destination(sockets::resolve(endpoint)?);
            }
        }
        let sockets = sockets::sending(uri, io)?;
        Ok(Self {
            local: io.local_address(sockets.data).ok(),
            core,
            sockets,
            datagrams: Datagrams::new(opening.loss),
            batch: DatagramBatch::new(BATCH, FRAME_BYTES).asking_for_one(),
            repairs: Bundle::new(BUNDLE_BYTES),
            frame: vec![0; FRAME_BYTES].into_boxed_slice(),
            turns: 0,
            looked: Nanos(i64::MIN / 2),
            send_at: None,
            sent_bytes: 0,
            echoes_before: 0,
            simulates: uri.spies_simulate_connection.unwrap_or(false),
            spies: 0,
        })
    }

    /// The longest message that [`Self::claim`] has room for: one frame's.
    #[inline]
    pub(crate) fn claim_bytes_max(&self) -> usize {
        self.core.claim_bytes_max()
    }

    /// Room in the log for a message of one frame.
    #[inline]
    pub(crate) fn claim(&mut self, bytes: usize) -> Result<AeronClaim<'_>, OfferError> {
        let Self { core, sent_bytes, .. } = self;
        match core.try_claim(bytes) {
            Ok(claim) => Ok(AeronClaim { claim, sent_bytes }),
            Err(error) => Err(refused(error, bytes)),
        }
    }

    /// Adds a destination (`control-mode=manual`).
    pub(crate) fn add_destination(&mut self, address: SocketAddr) -> bool {
        self.core.add_destination(address)
    }

    /// Removes a destination.
    pub(crate) fn remove_destination(&mut self, address: SocketAddr) -> bool {
        self.core.remove_destination(address)
    }

    #[inline]
    fn receive<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let Self { core, sockets, datagrams, batch, .. } = self;
        let mut handle = |from: SocketAddr, datagram: &[u8]| {
            core.handle_bytes(now, from, datagram);
        };
        let mut count = datagrams.receive(io, sockets.data, batch, &mut handle);
        if let Some(feedback) = sockets.feedback {
            count += datagrams.receive(io, feedback, batch, &mut handle);
        }
        count
    }

    /// Sends what may be sent. Returns how many runs. Repairs lie apart in the log: they are
    /// gathered, and lost when the kernel has no room.
    #[inline]
    fn send_data<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let mut count = 0;
        self.send_at = None;
        while let Some(run) = self.core.next_run(now) {
            if count == RUNS_MAX {
                self.send_at = Some(now);
                break;
            }
            if run.is_repair {
                let bytes = self.core.run_bytes(&run);
                if !self.repairs.take(run.to, bytes, run.segment_bytes) {
                    self.send_repairs(io);
                    let bytes = self.core.run_bytes(&run);
                    // An empty bundle takes any run.
                    let _ = self.repairs.take(run.to, bytes, run.segment_bytes);
                }
            } else {
                let Self { core, sockets, datagrams, .. } = self;
                let bytes = core.run_bytes(&run);
                if !carry(datagrams, io, sockets, core, run.to, bytes, run.segment_bytes) {
                    self.send_at = Some(now + NO_ROOM_SPAN);
                    break;
                }
            }
            self.core.run_sent(now, &run);
            count += 1;
        }
        self.send_repairs(io);
        count
    }

    #[inline]
    fn send_repairs<K: Kernel>(&mut self, io: &mut Io<K>) {
        let Self { core, sockets, datagrams, repairs, .. } = self;
        if let Some((to, bytes, segment_bytes)) = repairs.empty() {
            carry(datagrams, io, sockets, core, to, bytes, segment_bytes);
        }
    }

    fn send_frames<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let mut count = 0;
        let Self { core, sockets, datagrams, frame, .. } = self;
        while let Some(sent) = core.poll_transmit(now, frame) {
            let frame = frame.get(..sent.bytes).unwrap_or(&[]);
            carry(datagrams, io, sockets, core, sent.to, frame, frame.len());
            count += 1;
        }
        count
    }

    /// Whether it is time to look at feedback though nothing was sent.
    #[inline]
    fn wants_feedback(&self, now: Nanos) -> bool {
        let core = &self.core;
        let waits = core.tail() > core.position() || core.state() != PublicationState::Active;
        waits || now - self.looked >= FEEDBACK_INTERVAL
    }
}

/// Sends a run of datagrams of one length to a target. False when the kernel has no room now; on
/// the way through a table that is a loss for the rest of it.
#[inline]
fn carry<K: Kernel>(
    datagrams: &mut Datagrams,
    io: &mut Io<K>,
    sockets: &Sending,
    core: &Publication,
    to: Target,
    bytes: &[u8],
    segment_bytes: usize,
) -> bool {
    let socket = sockets.data;
    let to = match &to {
        Target::One(to) => Some(to),
        Target::All if core.config().destinations == DestinationMode::Fixed => sockets.to.as_ref(),
        Target::All => {
            for to in core.destinations() {
                datagrams.send(io, Run { socket, bytes, segment_bytes, to: Some(to) });
            }
            return true;
        }
    };
    datagrams.send(io, Run { socket, bytes, segment_bytes, to })
}

#[cold]
fn refused(refused: Refused, bytes: usize) -> OfferError {
    match refused {
        Refused::BackPressured => OfferError::BackPressured,
        Refused::NotConnected => OfferError::NotConnected,
        Refused::TooLong { bytes_max } => {
            OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::TermLength }
        }
        // All positions are used up: the stream cannot go on.
        _ => OfferError::Closed,
    }
}

impl PublicationDriver for AeronPublication {
    #[inline(always)]
    fn offer<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        _now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        if !topic.is_empty() {
            return Err(OfferError::NoTopics);
        }
        let (taken, bytes) = match parts {
            [message] => (self.core.offer(message), message.len()),
            parts => (self.core.offer_parts(parts, 0), parts.iter().map(|part| part.len()).sum()),
        };
        match taken {
            Ok(position) => {
                self.sent_bytes += bytes as u64;
                Ok(position.cast_unsigned())
            }
            Err(error) => Err(refused(error, bytes)),
        }
    }

    fn room<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        _now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError> {
        self.core.make_room(bytes).map_err(|error| refused(error, bytes))
    }

    #[inline(never)]
    fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        self.turns = self.turns.wrapping_add(1);
        let mut count = self.send_data(io, now);
        let is_time = match count {
            0 => self.wants_feedback(now),
            _ => self.turns.is_multiple_of(FEEDBACK_RATIO) || now - self.looked >= ABSENCE,
        };
        if is_time {
            self.looked = now;
            count += self.receive(io, now);
            count += self.send_data(io, now);
        }
        self.core.handle_timeout(now);
        count += self.send_frames(io, now);
        if self.datagrams.echoes - self.echoes_before >= ECHOES_MAX {
            self.core.handle_unreachable(now);
        }
        count
    }

    fn poll_event(&mut self) -> Option<Event> {
        let session = session(self.core.config().session_id);
        loop {
            return Some(match self.core.poll_event()? {
                PublicationEvent::Connected => Event::Connected { session, peer: None },
                PublicationEvent::Disconnected => {
                    let is_over = self.core.state() != PublicationState::Active;
                    let reason = if is_over { EndReason::Closed } else { EndReason::Lost };
                    Event::Disconnected { session, reason }
                }
                PublicationEvent::Evicted { receiver_id } => Event::Disconnected {
                    session: receiver_id.cast_unsigned(),
                    reason: EndReason::Evicted,
                },
                PublicationEvent::Refused { .. } => Event::Refused { peer: None },
                _ => continue,
            });
        }
    }

    fn spied(&self) -> Spied {
        Spied {
            session: session(self.core.config().session_id),
            position: self.core.tail().cast_unsigned(),
            message_bytes_max: self.core.message_bytes_max(),
        }
    }

    fn set_spies(&mut self, count: usize) {
        if self.simulates {
            self.spies = count;
            self.core.simulate_connection(count > 0);
        }
    }

    fn subscriber_count(&self) -> usize {
        if self.core.is_connected() { self.core.receiver_count() + self.spies } else { 0 }
    }

    fn unacknowledged_bytes(&self) -> u64 {
        self.core.unacknowledged_bytes().max(0).cast_unsigned()
    }

    fn close<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) {
        self.echoes_before = self.datagrams.echoes;
        self.core.close(now);
    }

    fn is_closed(&self) -> bool {
        self.core.state() == PublicationState::Done
    }

    fn subscribers(&self) -> Vec<SubscriberCounters> {
        let tail = self.core.tail();
        let receivers = self.core.receivers().map(|receiver| SubscriberCounters {
            session: receiver.receiver_id.cast_unsigned(),
            peer: Some(receiver.address),
            is_connected: true,
            sent: receiver.messages,
            waiting_bytes: (tail - receiver.position).max(0).cast_unsigned(),
            ..SubscriberCounters::default()
        });
        receivers.collect()
    }

    fn counters(&self) -> Counters {
        let core = self.core.counters();
        Counters {
            sent: core.messages,
            sent_bytes: self.sent_bytes,
            repaired: core.repaired_datagrams,
            back_pressured: core.back_pressured,
            malformed: core.invalid,
            refused: self.datagrams.failed + core.unanswered + core.strangers_displaced,
            evicted: core.evicted,
            transfers: self.datagrams.transfers,
            injected_losses: self.datagrams.injected,
            ..Counters::default()
        }
    }

    fn next_timeout(&self) -> Option<Nanos> {
        [self.core.poll_timeout(), self.send_at].into_iter().flatten().min()
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Ready { source, .. } = completion else { return false };
        let is_own = self.sockets.has(*source);
        if is_own {
            // Feedback is there: the next duty looks at it.
            self.looked = Nanos(i64::MIN / 2);
        }
        is_own
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        self.sockets.release(io);
    }

    fn local_address(&self) -> Option<Address> {
        self.local
    }
}

/// A session id as the channel's.
pub(super) const fn session(session_id: i32) -> u64 {
    session_id.cast_unsigned() as u64
}
