//! The publishing end of any channel.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use taut_sys::Address;
use taut_types::Nanos;

use crate::aeron::{AeronClaim, AeronPublication};
use crate::counters::{Counters, PollGap, SubscriberCounters};
use crate::driver::{Descriptors, Opening, PublicationDriver};
use crate::error::ChannelError;
use crate::event::Event;
use crate::inproc::{InprocPublication, Spies};
use crate::ipc::IpcPublication;
use crate::lease::LeasePublication;
use crate::offer::OfferError;
use crate::subscription::Subscription;
use crate::uri::ChannelUri;
use crate::zmtp::ZmtpPublication;

/// The drivers; each call goes to the one that there is.
#[derive(Debug)]
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

/// The publishing end of a channel, polled by the caller's thread.
///
/// [`Publication::offer`] takes a message; what it takes is sent by then or by the next
/// [`Publication::work`], which is also the duty: call it whenever the loop comes round, and when
/// an offer was refused. Dropped before it is [closed](Publication::close), it says nothing to
/// anybody; [`Publication::unacknowledged_bytes`] tells before what that would lose, and
/// [`Publication::abandon`] drops it and tells what that may have lost.
#[derive(Debug)]
pub struct Publication {
    driver: Driver,
    spies: Option<Spies>,
    /// The buffer of claims.
    scratch: Vec<u8>,
    gap: PollGap,
    is_closing: bool,
}

impl Publication {
    /// Opens the publishing end of a channel.
    ///
    /// # Errors
    /// When the channel cannot be had; the text names what to do.
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, ChannelError> {
        let driver = match uri {
            ChannelUri::Aeron(uri) => {
                Driver::Aeron(Box::new(AeronPublication::open(uri, opening)?))
            }
            ChannelUri::Inproc(uri) => Driver::Inproc(InprocPublication::open(uri, opening)?),
            ChannelUri::Ipc(uri) => Driver::Ipc(IpcPublication::open(uri, opening)?),
            ChannelUri::Lease(uri) => {
                Driver::Lease(Box::new(LeasePublication::open(uri, opening)?))
            }
            ChannelUri::Zmtp(uri) => Driver::Zmtp(Box::new(ZmtpPublication::open(uri, opening)?)),
        };
        let (scratch, gap) = (Vec::new(), PollGap::default());
        Ok(Self { driver, spies: None, scratch, gap, is_closing: false })
    }

    /// Offers a message. Returns the position behind it.
    ///
    /// # Errors
    /// Why it was not taken; it is then still the caller's.
    #[inline]
    pub fn offer(&mut self, now: Nanos, message: &[u8]) -> Result<u64, OfferError> {
        self.offer_parts(now, &[], &[message])
    }

    /// Offers a message in parts, which are one message to the subscriber.
    ///
    /// # Errors
    /// As [`Publication::offer`].
    #[inline]
    pub fn offer_vectored(&mut self, now: Nanos, parts: &[&[u8]]) -> Result<u64, OfferError> {
        self.offer_parts(now, &[], parts)
    }

    /// Offers a message with a topic, on a channel that has topics.
    ///
    /// # Errors
    /// As [`Publication::offer`], and [`OfferError::NoTopics`].
    #[inline]
    pub fn offer_topic(
        &mut self,
        now: Nanos,
        topic: &[u8],
        message: &[u8],
    ) -> Result<u64, OfferError> {
        self.offer_parts(now, topic, &[message])
    }

    #[inline]
    fn offer_parts(
        &mut self,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        if self.spies.is_some() {
            return self.offer_spied(now, topic, parts);
        }
        with!(&mut self.driver, driver => driver.offer(now, topic, parts))
    }

    #[cold]
    fn offer_spied(
        &mut self,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        let Some(spies) = &mut self.spies else { return Err(OfferError::Closed) };
        spies.admit(parts.iter().map(|part| part.len()).sum())?;
        let position = with!(&mut self.driver, driver => driver.offer(now, topic, parts))?;
        spies.copy(parts, position);
        Ok(position)
    }

    /// Claims room for a message of `bytes` bytes, to be written and committed; dropped or aborted
    /// it leaves no trace. What the bytes are before they are written is not said.
    ///
    /// On `aeron:udp` the room of a message of one frame is in the stream's log itself, unless
    /// spies look on. Elsewhere it is a buffer that the commit copies from: memory that others read
    /// at the same time is written word by word.
    ///
    /// # Errors
    /// As [`Publication::offer`]: a commit does not fail for want of room.
    #[inline]
    pub fn try_claim(&mut self, now: Nanos, bytes: usize) -> Result<Claim<'_>, OfferError> {
        let is_in_log = self.spies.is_none()
            && matches!(&self.driver, Driver::Aeron(driver) if bytes <= driver.claim_bytes_max());
        if is_in_log {
            let Driver::Aeron(driver) = &mut self.driver else { return Err(OfferError::Closed) };
            return Ok(Claim { room: Room::Log(driver.claim(bytes)?) });
        }
        self.claim_buffer(now, bytes)
    }

    fn claim_buffer(&mut self, now: Nanos, bytes: usize) -> Result<Claim<'_>, OfferError> {
        with!(&mut self.driver, driver => driver.room(now, bytes))?;
        if let Some(spies) = &mut self.spies {
            spies.admit(bytes)?;
        }
        let mut bytes_of = std::mem::take(&mut self.scratch);
        bytes_of.clear();
        bytes_of.resize(bytes, 0);
        Ok(Claim { room: Room::Buffer(Buffer { publication: self, now, bytes: bytes_of }) })
    }

    /// The duty: sends what waits, receives what subscribers say, keeps the timers. Returns how
    /// much there was to do; 0 means idle.
    #[inline]
    pub fn work(&mut self, now: Nanos) -> usize {
        self.gap.note(now);
        if let Some(spies) = &self.spies {
            with!(&mut self.driver, driver => driver.set_spied(spies.count() > 0));
        }
        with!(&mut self.driver, driver => driver.work(now))
    }

    /// The next connection event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        with!(&mut self.driver, driver => driver.poll_event())
    }

    /// Subscribers now.
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

    /// Takes no more messages. Call [`Publication::work`] until [`Publication::closing`] says
    /// `Closed`, or as long as you care to.
    pub fn close(&mut self, now: Nanos) {
        self.is_closing = true;
        with!(&mut self.driver, driver => driver.close(now));
    }

    /// Ends it now, drained or not, and returns the bytes that some subscriber, as far as is known,
    /// does not have: some of them are lost, unless they are on their way.
    pub fn abandon(self) -> u64 {
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

    /// Ends [`Publication::add_destination`]. False when it was not there.
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
    pub fn spy(&mut self) -> Result<Subscription, ChannelError> {
        self.spy_by(false)
    }

    /// As [`Publication::spy`], but the publication waits for it: nothing is lost, and an offer is
    /// back-pressured while this spy is a whole log behind (1 MiB, and at least eight of the
    /// longest messages).
    ///
    /// # Errors
    /// As [`Publication::spy`].
    pub fn tethered_spy(&mut self) -> Result<Subscription, ChannelError> {
        self.spy_by(true)
    }

    fn spy_by(&mut self, is_tethered: bool) -> Result<Subscription, ChannelError> {
        let spies = match &mut self.spies {
            Some(spies) => spies,
            none => none.insert(Spies::new(with!(&self.driver, driver => driver.spied()))?),
        };
        let spy = spies.subscribe(is_tethered)?;
        with!(&mut self.driver, driver => driver.set_spied(true));
        Ok(Subscription::of_spy(spy))
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

    /// When [`Publication::work`] must be called at the latest.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        with!(&self.driver, driver => driver.next_timeout())
    }

    /// What to wait for in a loop of one's own; none for memory.
    #[must_use]
    pub fn descriptors(&self) -> Descriptors<'_> {
        with!(&self.driver, driver => driver.descriptors())
    }

    /// Sleeps until something may be to do, at most for `span`.
    pub fn block(&mut self, span: Nanos) {
        with!(&mut self.driver, driver => driver.block(span));
    }

    /// Where it is bound, with the real port.
    #[must_use]
    pub fn local_address(&self) -> Option<Address> {
        with!(&self.driver, driver => driver.local_address())
    }
}

/// Room for a message, to be written. Dropped without a commit it leaves no trace.
#[derive(Debug)]
pub struct Claim<'p> {
    room: Room<'p>,
}

#[derive(Debug)]
enum Room<'p> {
    Log(AeronClaim<'p>),
    Buffer(Buffer<'p>),
}

#[derive(Debug)]
struct Buffer<'p> {
    publication: &'p mut Publication,
    now: Nanos,
    bytes: Vec<u8>,
}

impl Claim<'_> {
    /// Sends the message. Returns the position behind it.
    ///
    /// # Errors
    /// Only what became of the channel since: there was room.
    #[inline]
    pub fn commit(self) -> Result<u64, OfferError> {
        match self.room {
            Room::Log(claim) => Ok(claim.commit()),
            Room::Buffer(buffer) => buffer.commit(),
        }
    }

    /// Gives the room back.
    pub fn abort(self) {}
}

impl Deref for Claim<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.room {
            Room::Log(claim) => claim.bytes(),
            Room::Buffer(buffer) => &buffer.bytes,
        }
    }
}

impl DerefMut for Claim<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.room {
            Room::Log(claim) => claim.bytes_mut(),
            Room::Buffer(buffer) => &mut buffer.bytes,
        }
    }
}

impl Buffer<'_> {
    #[inline]
    fn commit(mut self) -> Result<u64, OfferError> {
        let bytes = std::mem::take(&mut self.bytes);
        let offered = self.publication.offer(self.now, &bytes);
        self.bytes = bytes;
        offered
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // The next claim needs no memory of its own.
        self.publication.scratch = std::mem::take(&mut self.bytes);
    }
}
