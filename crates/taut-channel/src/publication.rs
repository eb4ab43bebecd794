//! The publishing end of any channel, with a loop of its own.

use std::net::SocketAddr;
use std::ops::Deref;
use std::os::fd::BorrowedFd;

use taut_types::Nanos;

use crate::driver::Opening;
use crate::error::ChannelError;
use crate::event::Event;
use crate::offer::OfferError;
use crate::own_loop::OwnLoop;
use crate::publishing_end::{Claim, PublishingEnd};
use crate::subscription::Subscription;
use crate::uri::ChannelUri;

/// The publishing end of a channel, polled by the caller's thread: a [`PublishingEnd`] with a loop
/// of its own. What it says of itself is asked of the end.
///
/// [`Publication::offer`] takes a message; what it takes is sent by then or by the next
/// [`Publication::work`], which is also the duty: call it whenever the loop comes round, and when
/// an offer was refused. Dropped before it is [closed](Publication::close), it says nothing to
/// anybody; [`PublishingEnd::unacknowledged_bytes`] tells before what that would lose, and
/// [`Publication::abandon`] drops it and tells what that may have lost.
#[derive(Debug)]
pub struct Publication {
    end: PublishingEnd,
    own: OwnLoop,
}

impl Deref for Publication {
    type Target = PublishingEnd;

    #[inline]
    fn deref(&self) -> &PublishingEnd {
        &self.end
    }
}

impl Publication {
    /// Opens the publishing end of a channel.
    ///
    /// # Errors
    /// When the channel cannot be had; the text names what to do.
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, ChannelError> {
        let mut own = OwnLoop::new(uri, true)?;
        let end = PublishingEnd::open(uri, opening, own.io())?;
        Ok(Self { end, own })
    }

    /// As [`PublishingEnd::offer`].
    ///
    /// # Errors
    /// Why it was not taken; it is then still the caller's.
    #[inline]
    pub fn offer(&mut self, now: Nanos, message: &[u8]) -> Result<u64, OfferError> {
        self.end.offer(self.own.io(), now, message)
    }

    /// As [`PublishingEnd::offer_vectored`].
    ///
    /// # Errors
    /// As [`Publication::offer`].
    #[inline]
    pub fn offer_vectored(&mut self, now: Nanos, parts: &[&[u8]]) -> Result<u64, OfferError> {
        self.end.offer_vectored(self.own.io(), now, parts)
    }

    /// As [`PublishingEnd::offer_topic`].
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
        self.end.offer_topic(self.own.io(), now, topic, message)
    }

    /// As [`PublishingEnd::offer_multipart`].
    ///
    /// # Errors
    /// As [`Publication::offer_topic`], and [`OfferError::NoParts`].
    pub fn offer_multipart(
        &mut self,
        now: Nanos,
        topic: &[u8],
        payload: &[u8],
        part_ends: &[usize],
    ) -> Result<u64, OfferError> {
        self.end.offer_multipart(self.own.io(), now, topic, payload, part_ends)
    }

    /// As [`PublishingEnd::try_claim`].
    ///
    /// # Errors
    /// As [`Publication::offer`]: a commit does not fail for want of room.
    #[inline]
    pub fn try_claim(&mut self, now: Nanos, bytes: usize) -> Result<Claim<'_>, OfferError> {
        self.end.try_claim(self.own.io(), now, bytes)
    }

    /// The duty: sends what waits, receives what subscribers say, keeps the timers. Returns how
    /// much there was to do; 0 means idle.
    #[inline]
    pub fn work(&mut self, now: Nanos) -> usize {
        // What was offered first: a turn is a system call.
        let count = self.end.duty(self.own.io(), now);
        if self.end.wants_turn(now) { count + self.work_after_turn(now) } else { count }
    }

    #[inline(never)]
    fn work_after_turn(&mut self, now: Nanos) -> usize {
        self.turn(Nanos::ZERO) + self.end.duty(self.own.io(), now)
    }

    /// The next connection event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.end.poll_event()
    }

    /// Takes no more messages. Call [`Publication::work`] until [`PublishingEnd::closing`] says
    /// `Closed`, or as long as you care to.
    pub fn close(&mut self, now: Nanos) {
        self.end.close(self.own.io(), now);
    }

    /// Ends it now, drained or not, and returns the bytes that some subscriber, as far as is known,
    /// does not have: some of them are lost, unless they are on their way.
    pub fn abandon(self) -> u64 {
        self.unacknowledged_bytes()
    }

    /// As [`PublishingEnd::add_destination`].
    ///
    /// # Errors
    /// [`ChannelError::Unsupported`] on other channels.
    pub fn add_destination(&mut self, address: SocketAddr) -> Result<bool, ChannelError> {
        self.end.add_destination(address)
    }

    /// As [`PublishingEnd::remove_destination`].
    ///
    /// # Errors
    /// [`ChannelError::Unsupported`] on other channels.
    pub fn remove_destination(&mut self, address: SocketAddr) -> Result<bool, ChannelError> {
        self.end.remove_destination(address)
    }

    /// As [`PublishingEnd::spy`].
    ///
    /// # Errors
    /// When too many spies look on already.
    pub fn spy(&mut self) -> Result<Subscription, ChannelError> {
        Subscription::of(self.end.spy()?)
    }

    /// As [`PublishingEnd::tethered_spy`].
    ///
    /// # Errors
    /// As [`Publication::spy`].
    pub fn tethered_spy(&mut self) -> Result<Subscription, ChannelError> {
        Subscription::of(self.end.tethered_spy()?)
    }

    /// Readable when there is something to do, for a loop of another kind that waits for more than
    /// this channel; in memory nothing ends such a wait. Call [`Publication::work`] until it finds
    /// nothing before each wait, and at [`PublishingEnd::next_timeout`].
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.descriptor()
    }

    /// Sleeps until something may be to do, at most for `span`.
    pub fn block(&mut self, span: Nanos) {
        let span = self.end.before_sleep(self.own.io(), span);
        if span > Nanos::ZERO {
            self.turn(span);
        }
    }

    fn turn(&mut self, span: Nanos) -> usize {
        let Self { end, own } = self;
        own.turn(span, |completion| _ = end.complete(completion))
    }
}
