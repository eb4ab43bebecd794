//! The publisher: who has a lease, and what each question is answered.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::{Host, Nanos};

use super::cookie::{Baker, Cookie};
use super::header::{CONTROL_BYTES, HEADER_BYTES, Header, Kind};
use super::seal::{Key, TAG_BYTES, seal, unseal};
use super::typed::{TypedMessage, payload_bytes_max};

/// Answers and events that wait; questions beyond that are asked again.
const QUEUE: usize = 256;
/// The first heartbeat behind a message, and the longest time between two.
const HEARTBEAT_FIRST: Nanos = Nanos::from_millis(10);
const HEARTBEAT_MAX: Nanos = Nanos::from_secs(1);
/// How often and how far apart the end is said to who has not left.
const END_TIMES: u32 = 50;
const END_EVERY: Nanos = Nanos::from_millis(20);

/// How a publisher works.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTerms {
    /// How long a subscription lives without being renewed.
    pub lease: Nanos,
    /// The longest datagram payload.
    pub mtu_bytes: usize,
    /// Subscribers at most.
    pub subscribers_max: usize,
    /// Subscribers of one host at most.
    pub subscribers_per_host_max: usize,
    /// The session: random.
    pub session: u64,
    /// What cookies are made with: random.
    pub secret: Key,
    /// The key that both ends have, if they have one.
    pub key: Option<Key>,
}

/// What happened to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublisherEvent {
    /// It has a lease now.
    Subscribed(SocketAddr),
    /// It left.
    Left(SocketAddr),
    /// It did not renew its lease.
    Expired(SocketAddr),
    /// There was no room for it.
    Refused(SocketAddr),
}

/// What a publisher has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherTally {
    /// Datagrams that are none of ours.
    pub malformed: u64,
    /// Datagrams without the right tag, or with a wrong cookie where one is needed.
    pub unproved: u64,
    /// Questions that were answered with a challenge.
    pub challenged: u64,
    /// Leases given or renewed.
    pub granted: u64,
    /// Subscriptions that ran out.
    pub expired: u64,
    /// Subscribers for whom there was no room.
    pub refused: u64,
    /// Questions that were not answered for want of room: they are asked again.
    pub unanswered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    address: SocketAddr,
    expires: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    to: SocketAddr,
    kind: Kind,
    nonce: u64,
}

/// The publishing end: datagrams and time in, datagrams and events out. All memory is taken when
/// it is built.
#[derive(Debug)]
pub struct LeasePublisher {
    terms: LeaseTerms,
    baker: Baker,
    leases: Vec<Lease>,
    answers: VecDeque<Answer>,
    events: VecDeque<PublisherEvent>,
    tally: PublisherTally,
    next_sequence: u64,
    expire_at: Nanos,
    heartbeat_at: Nanos,
    heartbeat_every: Nanos,
    end_times: Option<u32>,
}

impl LeasePublisher {
    /// A publisher without subscribers.
    #[must_use]
    pub fn new(now: Nanos, terms: LeaseTerms) -> Self {
        Self {
            terms,
            baker: Baker::new(terms.secret, terms.session),
            leases: Vec::with_capacity(terms.subscribers_max),
            answers: VecDeque::with_capacity(QUEUE),
            events: VecDeque::with_capacity(QUEUE),
            tally: PublisherTally::default(),
            next_sequence: 0,
            expire_at: Nanos::MAX,
            heartbeat_at: now + HEARTBEAT_MAX,
            heartbeat_every: HEARTBEAT_MAX,
            end_times: None,
        }
    }

    /// A datagram came. Nothing in it can make this panic, stop or take memory.
    pub fn handle_datagram(&mut self, now: Nanos, from: SocketAddr, datagram: &[u8]) {
        let Some(bytes) = unseal(self.terms.key.as_ref(), datagram) else {
            self.tally.unproved += 1;
            return;
        };
        // Shorter than any answer would be: not even a challenge.
        let whole = Header::read(bytes).filter(|_| bytes.len() >= CONTROL_BYTES);
        let Some((header, cookie)) = whole else {
            self.tally.malformed += 1;
            return;
        };
        let Some(cookie) = cookie.first_chunk() else { return };
        match header.kind {
            Kind::Ask => self.ask(now, from, header.sequence, cookie),
            Kind::Leave if self.baker.is_good(now, from, cookie) => self.leave(from),
            Kind::Leave => self.tally.unproved += 1,
            _ => self.tally.malformed += 1,
        }
    }

    fn ask(&mut self, now: Nanos, from: SocketAddr, nonce: u64, cookie: &Cookie) {
        if !self.baker.is_good(now, from, cookie) {
            self.tally.challenged += 1;
            self.answer(from, Kind::Challenge, nonce);
            return;
        }
        let (expires, is_ending) = (now + self.terms.lease, self.end_times.is_some());
        if let Some(lease) = self.leases.iter_mut().find(|lease| lease.address == from) {
            // It is told the end, behind which a lease would be another beginning.
            if is_ending {
                return;
            }
            lease.expires = expires;
        } else if is_ending || !self.has_room(from) {
            self.tally.refused += 1;
            self.tell(PublisherEvent::Refused(from));
            self.answer(from, Kind::Refusal, nonce);
            return;
        } else {
            self.leases.push(Lease { address: from, expires });
            self.tell(PublisherEvent::Subscribed(from));
        }
        self.tally.granted += 1;
        self.expire_at = self.expire_at.min(expires);
        self.answer(from, Kind::Grant, nonce);
    }

    /// Whether there is room for one more, and for one more of this host.
    fn has_room(&self, from: SocketAddr) -> bool {
        let is_of_host = |lease: &&Lease| Host::of(lease.address.ip()) == Host::of(from.ip());
        let of_host = self.leases.iter().filter(is_of_host).count();
        self.leases.len() < self.terms.subscribers_max
            && of_host < self.terms.subscribers_per_host_max
    }

    fn leave(&mut self, from: SocketAddr) {
        if let Some(at) = self.leases.iter().position(|lease| lease.address == from) {
            self.leases.swap_remove(at);
            self.tell(PublisherEvent::Left(from));
        }
    }

    fn answer(&mut self, to: SocketAddr, kind: Kind, nonce: u64) {
        if self.answers.len() < QUEUE {
            self.answers.push_back(Answer { to, kind, nonce });
        } else {
            self.tally.unanswered += 1;
        }
    }

    fn tell(&mut self, event: PublisherEvent) {
        if self.events.len() < QUEUE {
            self.events.push_back(event);
        }
    }

    /// Writes the next message into a datagram and returns its length; it counts as sent with
    /// [`LeasePublisher::sent`]. Nothing when it is longer than [`LeasePublisher::bytes_max`].
    #[inline]
    pub fn write_message(
        &self,
        now: Nanos,
        message_type: u16,
        parts: &[&[u8]],
        datagram: &mut [u8],
    ) -> Option<usize> {
        let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
        if bytes > self.bytes_max() {
            return None;
        }
        let mut length = HEADER_BYTES;
        for part in parts {
            datagram.get_mut(length..length + part.len())?.copy_from_slice(part);
            length += part.len();
        }
        self.finish_message(now, message_type, bytes, datagram)
    }

    /// Whether messages of this type fit a datagram of this publisher: asked once, when it is
    /// built.
    #[must_use]
    pub const fn fits<T: TypedMessage>(&self) -> bool {
        T::BYTES <= self.bytes_max()
    }

    /// As [`LeasePublisher::write_message`], with a message of its type: it is written in place.
    /// Nothing when it does not [fit](LeasePublisher::fits).
    #[inline]
    pub fn write_typed<T: TypedMessage>(
        &self,
        now: Nanos,
        message: &T,
        datagram: &mut [u8],
    ) -> Option<usize> {
        if !self.fits::<T>() {
            return None;
        }
        message.write(datagram.get_mut(HEADER_BYTES..HEADER_BYTES + T::BYTES)?);
        self.finish_message(now, T::TYPE, T::BYTES, datagram)
    }

    /// Puts the header before a message of so many bytes that is in place, and the tag behind it.
    #[inline]
    fn finish_message(
        &self,
        now: Nanos,
        message_type: u16,
        bytes: usize,
        datagram: &mut [u8],
    ) -> Option<usize> {
        let header = self.header(now, Kind::Message, message_type, self.next_sequence);
        *datagram.first_chunk_mut()? = header.to_bytes();
        seal(self.terms.key.as_ref(), datagram, HEADER_BYTES + bytes)
    }

    /// The message that was written is on its way.
    #[inline]
    pub fn sent(&mut self, now: Nanos) {
        self.next_sequence += 1;
        self.heartbeat_every = HEARTBEAT_FIRST;
        self.heartbeat_at = now + HEARTBEAT_FIRST;
    }

    /// Time passes: leases run out.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if now < self.expire_at {
            return;
        }
        let events = &mut self.events;
        let before = self.leases.len();
        self.leases.retain(|lease| {
            let holds = lease.expires > now;
            if !holds && events.len() < QUEUE {
                events.push_back(PublisherEvent::Expired(lease.address));
            }
            holds
        });
        self.tally.expired += (before - self.leases.len()) as u64;
        let next = self.leases.iter().map(|lease| lease.expires).min();
        self.expire_at = next.unwrap_or(Nanos::MAX);
    }

    /// The next control datagram, its length and where it goes: to one address, or to everybody who
    /// has a lease. Call it until there is none.
    pub fn poll_transmit(
        &mut self,
        now: Nanos,
        datagram: &mut [u8],
    ) -> Option<(usize, Option<SocketAddr>)> {
        if let Some(Answer { to, kind, nonce }) = self.answers.pop_front() {
            let length = self.write_answer(now, datagram, to, kind, nonce)?;
            return Some((length, Some(to)));
        }
        if now < self.heartbeat_at || self.leases.is_empty() {
            return None;
        }
        let kind = match &mut self.end_times {
            None => {
                self.heartbeat_at = now + self.heartbeat_every;
                let doubled = self.heartbeat_every + self.heartbeat_every;
                self.heartbeat_every = doubled.min(HEARTBEAT_MAX);
                Kind::Heartbeat
            }
            Some(0) => {
                // They had their chance.
                self.leases.clear();
                return None;
            }
            Some(times) => {
                *times -= 1;
                self.heartbeat_at = now + END_EVERY;
                Kind::End
            }
        };
        *datagram.first_chunk_mut()? = self.header(now, kind, 0, self.next_sequence).to_bytes();
        let length = seal(self.terms.key.as_ref(), datagram, HEADER_BYTES)?;
        Some((length, None))
    }

    fn write_answer(
        &self,
        now: Nanos,
        datagram: &mut [u8],
        to: SocketAddr,
        kind: Kind,
        nonce: u64,
    ) -> Option<usize> {
        let mut payload = [0; TAG_BYTES];
        let sequence = match kind {
            Kind::Grant => {
                let (words, _) = payload.as_chunks_mut::<8>();
                let lease = self.terms.lease.0.unsigned_abs();
                words.iter_mut().zip([nonce, lease]).for_each(|(w, v)| *w = v.to_le_bytes());
                self.next_sequence
            }
            Kind::Challenge => {
                payload = self.baker.bake(now, to);
                nonce
            }
            _ => nonce,
        };
        let header = self.header(now, kind, 0, sequence).to_bytes();
        datagram.get_mut(..HEADER_BYTES)?.copy_from_slice(&header);
        datagram.get_mut(HEADER_BYTES..CONTROL_BYTES)?.copy_from_slice(&payload);
        seal(self.terms.key.as_ref(), datagram, CONTROL_BYTES)
    }

    fn header(&self, now: Nanos, kind: Kind, message_type: u16, sequence: u64) -> Header {
        Header { kind, message_type, session: self.terms.session, sequence, sent: now }
    }

    /// When [`LeasePublisher::handle_timeout`] and [`LeasePublisher::poll_transmit`] are due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        if !self.answers.is_empty() {
            return Some(Nanos::ZERO);
        }
        (!self.leases.is_empty()).then(|| self.heartbeat_at.min(self.expire_at))
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<PublisherEvent> {
        self.events.pop_front()
    }

    /// Who has a lease.
    pub fn subscribers(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.leases.iter().map(|lease| lease.address)
    }

    /// One of those who have a lease, by its place among them.
    #[inline]
    #[must_use]
    pub fn subscriber(&self, at: usize) -> Option<SocketAddr> {
        self.leases.get(at).map(|lease| lease.address)
    }

    /// How many have a lease.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.leases.len()
    }

    /// The longest datagram payload.
    #[must_use]
    pub const fn mtu_bytes(&self) -> usize {
        self.terms.mtu_bytes
    }

    /// The longest message.
    #[must_use]
    pub const fn bytes_max(&self) -> usize {
        payload_bytes_max(self.terms.mtu_bytes, self.terms.key.is_some())
    }

    /// How many messages were sent.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.next_sequence
    }

    /// Ends the stream: says so to everybody until they have left, or for a second.
    pub const fn close(&mut self, now: Nanos) {
        if self.end_times.is_none() {
            self.end_times = Some(END_TIMES);
            self.heartbeat_at = now;
        }
    }

    /// Whether the stream has ended and nobody waits for anything.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.end_times.is_some() && self.leases.is_empty()
    }

    /// What was counted.
    #[must_use]
    pub const fn tally(&self) -> PublisherTally {
        self.tally
    }
}
