//! The publishing end.

use std::collections::VecDeque;
use std::net::SocketAddr;

use taut_io::{Completion, Io, Kernel};
use taut_lease::{Key, LeasePublisher, LeaseTerms, PublisherEvent};
use taut_sys::{Address, DatagramBatch, DatagramOptions, SysError};
use taut_types::Nanos;

use super::accounts::Accounts;
use super::outlets::Outlets;
use super::place::{self, LOOK_EVERY, MTU_BYTES};
use crate::counters::{Counters, SubscriberCounters};
use crate::datagrams::Datagrams;
use crate::driver::{Opening, PublicationDriver, close_source};
use crate::error::ChannelError;
use crate::event::{EndReason, Event};
use crate::offer::{MessageLimit, OfferError};
use crate::random::Random;
use crate::uri::LeaseUri;

const LEASE: Nanos = Nanos::from_secs(60);
/// Subscribers at most: a message costs a system call for each.
const SUBSCRIBERS_MAX: usize = 256;
/// Subscribers of one host at most, so that it leaves room for others.
const SUBSCRIBERS_PER_HOST_MAX: usize = 64;
/// Questions of one look; each is 48 or 64 bytes long.
const QUESTIONS: usize = 32;
const QUESTION_BYTES: usize = 128;

/// Gives leases, and sends each message to whoever has one.
#[derive(Debug)]
pub(crate) struct LeasePublication {
    core: LeasePublisher,
    outlets: Outlets,
    accounts: Accounts,
    group: Option<SocketAddr>,
    datagram: Box<[u8]>,
    questions: DatagramBatch,
    datagrams: Datagrams,
    local: Option<Address>,
    look_at: Nanos,
    events: VecDeque<Event>,
    counters: Counters,
    is_closing: bool,
}

impl LeasePublication {
    pub(crate) fn open<K: Kernel>(
        uri: &LeaseUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let at = place::resolve(&uri.endpoint)?;
        let options = DatagramOptions {
            send_buffer_bytes: uri.send_buffer_bytes,
            receive_buffer_bytes: uri.receive_buffer_bytes,
            whole: true,
            ..DatagramOptions::default()
        };
        let outlets = Outlets::open(io, at, options)?;
        let socket = outlets.socket(0);
        let opened = Self::with(uri, opening, at, outlets, io);
        opened.inspect_err(|_| socket.into_iter().for_each(|socket| close_source(io, socket)))
    }

    fn with<K: Kernel>(
        uri: &LeaseUri,
        opening: &Opening,
        at: SocketAddr,
        mut outlets: Outlets,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let group = uri.group.as_ref().map(place::resolve).transpose()?;
        let key = place::key(uri.key.as_deref())?;
        let mtu_bytes = uri.mtu.map_or(MTU_BYTES, usize::from);
        if let Some(group) = group {
            outlets.reach(io, group, place::interface(uri, at.ip())?, uri.ttl.unwrap_or(1))?;
            // The path to a group is known before anybody listens.
            let path = outlets.path_payload_bytes(io, group).unwrap_or(usize::MAX);
            if uri.mtu.is_some() && mtu_bytes > path {
                return Err(ChannelError::PathMtu { wanted: mtu_bytes, carried: path });
            }
        }
        let mut random = Random::new(opening);
        let terms = LeaseTerms {
            lease: uri.lease.unwrap_or(LEASE),
            mtu_bytes,
            subscribers_max: SUBSCRIBERS_MAX,
            subscribers_per_host_max: SUBSCRIBERS_PER_HOST_MAX,
            session: u64::from_le_bytes(random.bytes()?).max(1),
            secret: Key::new(random.bytes()?),
            key,
        };
        Ok(Self {
            core: LeasePublisher::new(opening.now, terms),
            local: outlets.socket(0).and_then(|common| io.local_address(common).ok()),
            outlets,
            accounts: Accounts::new(SUBSCRIBERS_MAX),
            group,
            datagram: vec![0; mtu_bytes.max(QUESTION_BYTES)].into_boxed_slice(),
            questions: DatagramBatch::new(QUESTIONS, QUESTION_BYTES),
            datagrams: Datagrams::new(opening.loss),
            look_at: opening.now,
            events: VecDeque::with_capacity(QUESTION_BYTES),
            counters: Counters::default(),
            is_closing: false,
        })
    }

    /// Takes questions and answers them.
    #[inline(never)]
    fn look<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        self.look_at = now + LOOK_EVERY;
        let mut got = 0;
        for index in 0.. {
            let Some(socket) = self.outlets.socket(index) else { break };
            // An error is a peer that went away, which its lease will tell.
            let count = io.receive_batch(socket, &mut self.questions).unwrap_or(0);
            got += count;
            for index in 0..count {
                let Some(from) = self.questions.info(index).from else { continue };
                self.core.handle_datagram(now, from, self.questions.bytes(index));
            }
        }
        self.core.handle_timeout(now);
        let mut sent = 0;
        while let Some((length, to)) = self.core.poll_transmit(now, &mut self.datagram) {
            sent += 1;
            match to {
                Some(to) => {
                    let _ = self.send_one(io, length, to);
                }
                None => {
                    let _ = self.send_all(io, length);
                    self.accounts.settle(false);
                }
            }
        }
        self.collect_events(io);
        got + sent
    }

    fn collect_events<K: Kernel>(&mut self, io: &mut Io<K>) {
        let mut has_changed = false;
        while let Some(event) = self.core.poll_event() {
            has_changed |= !matches!(event, PublisherEvent::Refused(_));
            let ended = |address, reason| Event::Disconnected {
                session: place::session_of(address),
                reason,
            };
            let event = match event {
                PublisherEvent::Subscribed(address) => {
                    Event::Connected { session: place::session_of(address), peer: Some(address) }
                }
                PublisherEvent::Left(address) => ended(address, EndReason::Closed),
                PublisherEvent::Expired(address) => ended(address, EndReason::Lost),
                PublisherEvent::Refused(address) => Event::Refused { peer: Some(address) },
            };
            if self.events.len() < self.events.capacity() {
                self.events.push_back(event);
            }
        }
        if has_changed {
            self.accounts.follow(self.core.subscribers(), self.core.position());
        }
        if has_changed && self.group.is_none() {
            self.outlets.follow(io, &self.core);
        }
    }

    /// Sends the datagram to whoever has a lease; `None` when the kernel has no room for the first
    /// one, an error when it goes to none of them: one subscriber's path is not the others' matter.
    #[inline(always)]
    fn send_all<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        length: usize,
    ) -> Result<Option<()>, SysError> {
        // A group has everybody: it stands for the first subscriber, and no other follows.
        let Some(to) = self.group.or_else(|| self.core.subscriber(0)) else { return Ok(None) };
        let first = self.send_one(io, length, to);
        let is_alone = self.group.is_some() || self.core.subscriber_count() == 1;
        match first {
            Ok(None) => Ok(None),
            Ok(sent) if is_alone => Ok(sent),
            first => self.send_others(io, length, first.err()),
        }
    }

    /// As `send_all`, after the first subscriber.
    #[inline(never)]
    fn send_others<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        length: usize,
        mut failure: Option<SysError>,
    ) -> Result<Option<()>, SysError> {
        let mut is_sent = failure.is_none();
        if !is_sent {
            self.accounts.miss(0);
        }
        for at in 1.. {
            let to = self.core.subscriber(at).filter(|_| self.group.is_none());
            let Some(to) = to else { break };
            match self.send_one(io, length, to) {
                Ok(Some(())) => is_sent = true,
                // The first one decides; for the others it is a drop, and counted.
                Ok(None) => self.accounts.miss(at),
                Err(error) => {
                    self.accounts.miss(at);
                    failure = failure.or(Some(error));
                }
            }
        }
        match failure {
            Some(error) if !is_sent => Err(error),
            _ => Ok(Some(())),
        }
    }

    #[inline(always)]
    fn send_one<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        length: usize,
        to: SocketAddr,
    ) -> Result<Option<()>, SysError> {
        if self.datagrams.drops() {
            return Ok(Some(()));
        }
        let datagram = self.datagram.get(..length).unwrap_or(&[]);
        let sent = self.outlets.send(io, datagram, to)?;
        self.datagrams.transfers += 1;
        Ok(sent.map(|_| ()))
    }

    /// A message that no path carries in one piece.
    #[cold]
    fn too_long_for_path<K: Kernel>(&self, io: &mut Io<K>, bytes: usize) -> OfferError {
        let own = self.core.mtu_bytes() - self.core.bytes_max();
        let subscribers = self.group.into_iter().chain(self.core.subscribers());
        let paths = subscribers.filter_map(|to| self.outlets.path_payload_bytes(io, to));
        let bytes_max = paths.max().map_or(0, |path| path.saturating_sub(own));
        OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::PathMtu }
    }

    fn check<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError> {
        if now >= self.look_at {
            self.look(io, now);
        }
        let bytes_max = self.core.bytes_max();
        if self.is_closing {
            return Err(OfferError::Closed);
        }
        if bytes > bytes_max {
            return Err(OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::Mtu });
        }
        if self.core.subscriber_count() == 0 {
            return Err(OfferError::NotConnected);
        }
        Ok(())
    }
}

impl PublicationDriver for LeasePublication {
    #[inline(always)]
    fn offer<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        self.check(io, now, bytes)?;
        if !topic.is_empty() {
            return Err(OfferError::NoTopics);
        }
        let written = self.core.write_message(now, 0, parts, &mut self.datagram);
        let bytes_max = self.core.bytes_max();
        let too_long = OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::Mtu };
        let sent = self.send_all(io, written.ok_or(too_long)?);
        self.counters.dropped += self.accounts.settle(matches!(sent, Ok(Some(()))));
        match sent {
            Ok(Some(())) => {
                self.core.sent(now);
                self.counters.sent += 1;
                self.counters.sent_bytes += bytes as u64;
                Ok(self.core.position())
            }
            Ok(None) => {
                self.counters.back_pressured += 1;
                Err(OfferError::BackPressured)
            }
            Err(error) if error.is_too_long() => Err(self.too_long_for_path(io, bytes)),
            Err(error) => Err(OfferError::System(error)),
        }
    }

    fn room<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError> {
        // The kernel's buffer is not ours to claim: a commit may be back-pressured after all.
        self.check(io, now, bytes)
    }

    #[inline]
    fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        if now < self.look_at {
            return 0;
        }
        self.look(io, now)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn subscriber_count(&self) -> usize {
        self.core.subscriber_count()
    }

    fn unacknowledged_bytes(&self) -> u64 {
        0
    }

    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.is_closing = true;
        self.core.close(now);
        self.look(io, now);
    }

    fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    fn counters(&self) -> Counters {
        let tally = self.core.tally();
        let refused = tally.unproved + tally.refused;
        Counters {
            malformed: tally.malformed,
            refused,
            transfers: self.datagrams.transfers,
            injected_losses: self.datagrams.injected,
            ..self.counters
        }
    }

    fn subscribers(&self) -> Vec<SubscriberCounters> {
        self.accounts.subscribers(self.core.position())
    }

    fn next_timeout(&self) -> Option<Nanos> {
        self.core.poll_timeout().map(|at| at.max(self.look_at))
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Ready { source, .. } = completion else { return false };
        let is_own = self.outlets.has(*source);
        if is_own {
            // A question is there: the next duty looks at it.
            self.look_at = Nanos(i64::MIN / 2);
        }
        is_own
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        self.outlets.release(io);
    }

    fn local_address(&self) -> Option<Address> {
        self.local
    }
}
