//! The publishing end of any channel, on a loop of the caller's.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use taut_io::{Completion, EpollKernel, Io, Kernel};
use taut_sys::Address;
use taut_types::Nanos;

use crate::aeron::{AeronClaim, AeronPublication};
use crate::alarm::Alarm;
use crate::counters::{Counters, PollGap, SubscriberCounters};
use crate::driver::{Opening, PublicationDriver};
use crate::error::ChannelError;
use crate::event::Event;
use crate::inproc::{InprocPublication, Spies};
use crate::ipc::IpcPublication;
use crate::lease::LeasePublication;
use crate::offer::OfferError;
use crate::subscribing_end::SubscribingEnd;
use crate::uri::ChannelUri;
use crate::zmtp::{ZmtpClaim, ZmtpPublication};

/// The drivers; each call goes to the one that there is. A tag of its own costs a call less than
/// one that lies in a driver's unused values.
#[derive(Debug)]
#[repr(u8)]
enum Driver {
    Aeron(Box<AeronPublication>),
    Inproc(InprocPublication),
    Ipc(IpcPublication),
    Lease(Box<LeasePublication>),
    Zmtp(Box<ZmtpPublication>),
}

macro_rules! with {
    ($driver:expr, $bound:ident => $call:expr) => {
        match $driver {
            Driver::Aeron($bound) => $call,
            Driver::Inproc($bound) => $call,
            Driver::Ipc($bound) => $call,
            Driver::Lease($bound) => $call,
            Driver::Zmtp($bound) => $call,
        }
    };
}

const NO_DESTINATIONS: ChannelError = ChannelError::Unsupported {
    what: "adding destinations",
    remedy: "use aeron:udp?control-mode=manual",
};

/// How far the end of a publication is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It takes messages.
    Open,
    /// It takes no more; some subscriber does not have everything yet. Call `work`.
    Draining {
        /// Bytes that are not acknowledged.
        unacknowledged_bytes: u64,
    },
    /// Everybody has everything, or is gone.
    Closed,
}

/// The publishing end of a channel on a loop of the caller's: beside other channels, a gateway's
/// sockets, and timers, in one thread that looks at all of them at once. Each call is given the
/// same loop.
///
/// Hand it what the loop completes, and do its duty when it was its own:
///
/// ```
/// use taut_channel::{ChannelUri, Opening, PublishingEnd, SubscribingEnd};
/// use taut_io::{Completion, EventLoop, Io, LoopConfig, SimConfig, SimKernel, WaitStrategy};
///
/// let kernel = SimKernel::new(16, SimConfig::default());
/// let mut events = EventLoop::new(kernel, LoopConfig::default())?;
/// let uri: ChannelUri = "aeron:udp?endpoint=127.0.0.1:4000|stream-id=7".parse()?;
/// let opening = Opening { now: events.io().now(), ..Opening::default() };
/// let mut subscription = SubscribingEnd::open(&uri, &opening, events.io())?;
/// let mut publication = PublishingEnd::open(&uri, &opening, events.io())?;
///
/// let (mut offered, mut received) = (false, Vec::<u8>::new());
/// let mut handler = |io: &mut Io<SimKernel>, completion: Completion<'_>| {
///     if publication.complete(&completion) {
///         if publication.is_connected() && !offered {
///             offered = publication.offer(io, io.now(), b"EURUSD 1.0841").is_ok();
///         }
///         publication.work(io, io.now());
///     }
///     if subscription.complete(&completion) {
///         subscription.poll(io, io.now(), 64, |message| received.extend(message.payload));
///     }
///     if !received.is_empty() {
///         io.stop();
///     }
/// };
/// events.run(&mut handler, WaitStrategy::Block)?;
/// assert_eq!(received, b"EURUSD 1.0841");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PublishingEnd {
    driver: Driver,
    spies: Option<Spies>,
    /// The buffer of claims.
    scratch: Vec<u8>,
    gap: PollGap,
    alarm: Alarm,
    is_closing: bool,
}

impl PublishingEnd {
    /// Opens the publishing end of a channel, with its sockets on the loop.
    ///
    /// # Errors
    /// When the channel cannot be had; the text names what to do.
    pub fn open<K: Kernel>(
        uri: &ChannelUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let driver = match uri {
            ChannelUri::Aeron(uri) => {
                Driver::Aeron(Box::new(AeronPublication::open(uri, opening, io)?))
            }
            ChannelUri::Inproc(uri) => Driver::Inproc(InprocPublication::open(uri, opening)?),
            ChannelUri::Ipc(uri) => Driver::Ipc(IpcPublication::open(uri, opening)?),
            ChannelUri::Lease(uri) => {
                Driver::Lease(Box::new(LeasePublication::open(uri, opening, io)?))
            }
            ChannelUri::Zmtp(uri) => {
                Driver::Zmtp(Box::new(ZmtpPublication::open(uri, opening, io)?))
            }
        };
        let mut alarm = Alarm::default();
        // The first duty follows the first turn.
        alarm.set(io, opening.now);
        let (scratch, gap) = (Vec::new(), PollGap::default());
        Ok(Self { driver, spies: None, scratch, gap, alarm, is_closing: false })
    }

    /// Notes what the loop completed. True when it was this channel's: then do its
    /// [duty](PublishingEnd::work).
    pub fn complete(&mut self, completion: &Completion<'_>) -> bool {
        self.alarm.complete(completion)
            || with!(&mut self.driver, driver => driver.complete(completion))
    }

    /// Offers a message. Returns the position behind it. What is taken is sent by then or by the
    /// next [`PublishingEnd::work`].
    ///
    /// # Errors
    /// Why it was not taken; it is then still the caller's.
    #[inline]
    pub fn offer<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        message: &[u8],
    ) -> Result<u64, OfferError> {
        self.offer_parts(io, now, &[], &[message])
    }

    /// Offers a message in parts, which are one message to the subscriber.
    ///
    /// # Errors
    /// As [`PublishingEnd::offer`].
    #[inline]
    pub fn offer_vectored<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        self.offer_parts(io, now, &[], parts)
    }

    /// Offers a message with a topic, on a channel that has topics.
    ///
    /// # Errors
    /// As [`PublishingEnd::offer`], and [`OfferError::NoTopics`].
    #[inline]
    pub fn offer_topic<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        message: &[u8],
    ) -> Result<u64, OfferError> {
        self.offer_parts(io, now, topic, &[message])
    }

    /// As [`PublishingEnd::offer_topic`], of a message of several parts, which stay parts. They end
    /// where `part_ends` says, but for the last: see [`crate::Message::part_ends`]. It allocates
    /// when there is more than one.
    ///
    /// # Errors
    /// As [`PublishingEnd::offer_topic`], and [`OfferError::NoParts`].
    pub fn offer_multipart<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        payload: &[u8],
        part_ends: &[usize],
    ) -> Result<u64, OfferError> {
        match &self.spies {
            _ if part_ends.is_empty() => self.offer_parts(io, now, topic, &[payload]),
            Some(_) => Err(OfferError::NoParts),
            None => with!(&mut self.driver, driver => {
                driver.offer_multipart(io, now, topic, payload, part_ends)
            }),
        }
    }

    #[inline]
    fn offer_parts<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        if let Some(spies) = &mut self.spies {
            spies.admit(parts.iter().map(|part| part.len()).sum())?;
        }
        // The only place of it, so that the compiler has no reason not to inline it.
        let position = with!(&mut self.driver, driver => driver.offer(io, now, topic, parts))?;
        if let Some(spies) = &mut self.spies {
            spies.copy(parts, position);
        }
        Ok(position)
    }

    /// Claims room for a message of `bytes` bytes, to be written and committed; dropped or aborted
    /// it leaves no trace. What the bytes are before they are written is not said.
    ///
    /// Unless spies look on, the room is where the message is sent from: on `aeron:udp` that of a
    /// message of one frame is in the stream's log itself, on ZeroMQ's wire that of any message in
    /// the log of frames. Elsewhere it is a buffer that the commit copies from: memory that others
    /// read at the same time is written word by word.
    ///
    /// # Errors
    /// As [`PublishingEnd::offer`]: a commit does not fail for want of room.
    #[inline]
    pub fn try_claim<'p, K: Kernel>(
        &'p mut self,
        io: &'p mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<Claim<'p, K>, OfferError> {
        let is_in_log = self.spies.is_none()
            && matches!(&self.driver, Driver::Aeron(driver) if bytes <= driver.claim_bytes_max());
        if is_in_log {
            let Driver::Aeron(driver) = &mut self.driver else { return Err(OfferError::Closed) };
            return Ok(Claim { room: Room::Log(driver.claim(bytes)?) });
        }
        if self.spies.is_none() && matches!(self.driver, Driver::Zmtp(_)) {
            let Driver::Zmtp(driver) = &mut self.driver else { return Err(OfferError::Closed) };
            return Ok(Claim { room: Room::Frames(driver.claim(bytes)?, io, now) });
        }
        self.claim_buffer(io, now, bytes)
    }

    fn claim_buffer<'p, K: Kernel>(
        &'p mut self,
        io: &'p mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<Claim<'p, K>, OfferError> {
        with!(&mut self.driver, driver => driver.room(io, now, bytes))?;
        if let Some(spies) = &mut self.spies {
            spies.admit(bytes)?;
        }
        let mut bytes_of = std::mem::take(&mut self.scratch);
        bytes_of.clear();
        bytes_of.resize(bytes, 0);
        Ok(Claim { room: Room::Buffer(Buffer { end: self, io, now, bytes: bytes_of }) })
    }

    /// The duty: sends what waits, acts on what the loop completed and on what subscribers say, and
    /// keeps the timers: one timer of the loop brings it round again when it must. Call it after an
    /// offer, too. Returns how much there was to do; 0 means idle.
    pub fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        let count = self.duty(io, now);
        self.alarm.follow(io, self.next_timeout());
        count
    }

    #[inline]
    pub(crate) fn duty<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize {
        self.gap.note(now);
        if let Some(spies) = &self.spies {
            with!(&mut self.driver, driver => driver.set_spies(spies.count()));
        }
        with!(&mut self.driver, driver => driver.work(io, now))
    }

    #[inline]
    pub(crate) fn wants_turn(&mut self, now: Nanos) -> bool {
        with!(&mut self.driver, driver => driver.wants_turn(now))
    }

    pub(crate) fn before_sleep<K: Kernel>(&mut self, io: &mut Io<K>, span: Nanos) -> Nanos {
        with!(&mut self.driver, driver => driver.before_sleep(io, span))
    }

    /// The next connection event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        with!(&mut self.driver, driver => driver.poll_event())
    }

    /// Subscribers now; spies are counted where they stand for subscribers (`ssc=true`).
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        with!(&self.driver, driver => driver.subscriber_count())
    }

    /// Whether there is a subscriber.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.subscriber_count() > 0
    }

    /// Bytes that were taken and that some subscriber, as far as is known, does not have: what is
    /// at stake when the publication is dropped now.
    #[must_use]
    pub fn unacknowledged_bytes(&self) -> u64 {
        with!(&self.driver, driver => driver.unacknowledged_bytes())
    }

    /// Takes no more messages. Call [`PublishingEnd::work`] until [`PublishingEnd::closing`] says
    /// `Closed`, or as long as you care to.
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.is_closing = true;
        with!(&mut self.driver, driver => driver.close(io, now));
        self.alarm.follow(io, self.next_timeout());
    }

    /// Takes it off the loop, closed or not, and returns the bytes that some subscriber, as far as
    /// is known, does not have: some of them are lost, unless they are on their way. Dropped
    /// without it, its sockets stay on the loop.
    pub fn abandon<K: Kernel>(mut self, io: &mut Io<K>) -> u64 {
        with!(&mut self.driver, driver => driver.release(io));
        self.alarm.cancel(io);
        self.unacknowledged_bytes()
    }

    /// How far the end is.
    #[must_use]
    pub fn closing(&self) -> Closing {
        if !self.is_closing {
            return Closing::Open;
        }
        if with!(&self.driver, driver => driver.is_closed()) {
            return Closing::Closed;
        }
        Closing::Draining { unacknowledged_bytes: self.unacknowledged_bytes() }
    }

    /// Sends to one more address (`aeron:udp?control-mode=manual`). False when the table is full.
    ///
    /// # Errors
    /// [`ChannelError::Unsupported`] on other channels.
    pub fn add_destination(&mut self, address: SocketAddr) -> Result<bool, ChannelError> {
        match &mut self.driver {
            Driver::Aeron(driver) => Ok(driver.add_destination(address)),
            _ => Err(NO_DESTINATIONS),
        }
    }

    /// Ends [`PublishingEnd::add_destination`]. False when it was not there.
    ///
    /// # Errors
    /// [`ChannelError::Unsupported`] on other channels.
    pub fn remove_destination(&mut self, address: SocketAddr) -> Result<bool, ChannelError> {
        match &mut self.driver {
            Driver::Aeron(driver) => Ok(driver.remove_destination(address)),
            _ => Err(NO_DESTINATIONS),
        }
    }

    /// A subscription of this process that sees what this publication takes from now on, without
    /// holding it up: a slow spy is overtaken, and told what it lost ([`Event::Gap`], in the
    /// stream's positions). Spies see no topics. A message is copied once, however many there are.
    ///
    /// # Errors
    /// When too many spies look on already.
    pub fn spy(&mut self) -> Result<SubscribingEnd, ChannelError> {
        self.spy_by(false)
    }

    /// As [`PublishingEnd::spy`], but the publication waits for it: nothing is lost, and an offer
    /// is back-pressured while this spy is a whole log behind (1 MiB, and at least eight of the
    /// longest messages).
    ///
    /// # Errors
    /// As [`PublishingEnd::spy`].
    pub fn tethered_spy(&mut self) -> Result<SubscribingEnd, ChannelError> {
        self.spy_by(true)
    }

    pub(crate) fn spy_by(&mut self, is_tethered: bool) -> Result<SubscribingEnd, ChannelError> {
        let spies = match &mut self.spies {
            Some(spies) => spies,
            none => none.insert(Spies::new(with!(&self.driver, driver => driver.spied()))?),
        };
        let spy = spies.subscribe(is_tethered)?;
        let count = spies.count();
        with!(&mut self.driver, driver => driver.set_spies(count));
        Ok(SubscribingEnd::of_spy(spy))
    }

    /// What it has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let counters = with!(&self.driver, driver => driver.counters());
        let refused = self.spies.as_ref().map_or(0, Spies::back_pressured);
        let back_pressured = counters.back_pressured + refused;
        Counters { poll_gap_ns_max: self.gap.max_ns(), back_pressured, ..counters }
    }

    /// What was counted for each subscriber: those that are there, and the last 64 that left. On
    /// `aeron:udp`, the receivers that flow control counts now, each by its receiver id. It
    /// allocates.
    #[must_use]
    pub fn subscribers(&self) -> Vec<SubscriberCounters> {
        with!(&self.driver, driver => driver.subscribers())
    }

    /// When [`PublishingEnd::work`] must be called at the latest.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        with!(&self.driver, driver => driver.next_timeout())
    }

    /// Where it is bound, with the real port.
    #[must_use]
    pub fn local_address(&self) -> Option<Address> {
        with!(&self.driver, driver => driver.local_address())
    }
}

/// Room for a message, to be written. Dropped without a commit it leaves no trace.
#[derive(Debug)]
pub struct Claim<'p, K: Kernel = EpollKernel> {
    room: Room<'p, K>,
}

#[derive(Debug)]
enum Room<'p, K: Kernel> {
    Log(AeronClaim<'p>),
    Frames(ZmtpClaim<'p>, &'p mut Io<K>, Nanos),
    Buffer(Buffer<'p, K>),
}

#[derive(Debug)]
struct Buffer<'p, K: Kernel> {
    end: &'p mut PublishingEnd,
    io: &'p mut Io<K>,
    now: Nanos,
    bytes: Vec<u8>,
}

impl<K: Kernel> Claim<'_, K> {
    /// Sends the message. Returns the position behind it.
    ///
    /// # Errors
    /// Only what became of the channel since: there was room.
    #[inline]
    pub fn commit(self) -> Result<u64, OfferError> {
        match self.room {
            Room::Log(claim) => Ok(claim.commit()),
            Room::Frames(claim, io, now) => claim.commit(io, now),
            Room::Buffer(buffer) => buffer.commit(),
        }
    }

    /// Gives the room back.
    pub fn abort(self) {}
}

impl<K: Kernel> Deref for Claim<'_, K> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.room {
            Room::Log(claim) => claim.bytes(),
            Room::Frames(claim, ..) => claim.bytes(),
            Room::Buffer(buffer) => &buffer.bytes,
        }
    }
}

impl<K: Kernel> DerefMut for Claim<'_, K> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.room {
            Room::Log(claim) => claim.bytes_mut(),
            Room::Frames(claim, ..) => claim.bytes_mut(),
            Room::Buffer(buffer) => &mut buffer.bytes,
        }
    }
}

impl<K: Kernel> Buffer<'_, K> {
    #[inline]
    fn commit(mut self) -> Result<u64, OfferError> {
        let bytes = std::mem::take(&mut self.bytes);
        let offered = self.end.offer(self.io, self.now, &bytes);
        self.bytes = bytes;
        offered
    }
}

impl<K: Kernel> Drop for Buffer<'_, K> {
    fn drop(&mut self) {
        // The next claim needs no memory of its own.
        self.end.scratch = std::mem::take(&mut self.bytes);
    }
}
