//! The subscribing end of any channel, with a loop of its own.

use std::ops::Deref;
use std::os::fd::BorrowedFd;

use taut_types::Nanos;

use crate::driver::Opening;
use crate::error::ChannelError;
use crate::event::Event;
use crate::message::{Action, Decoder, Message};
use crate::own_loop::OwnLoop;
use crate::subscribing_end::SubscribingEnd;
use crate::uri::ChannelUri;

/// The subscribing end of a channel, polled by the caller's thread: a [`SubscribingEnd`] with a
/// loop of its own. What it says of itself is asked of the end.
#[derive(Debug)]
pub struct Subscription {
    end: SubscribingEnd,
    own: OwnLoop,
}

impl Deref for Subscription {
    type Target = SubscribingEnd;

    #[inline]
    fn deref(&self) -> &SubscribingEnd {
        &self.end
    }
}

impl Subscription {
    /// Opens the subscribing end of a channel.
    ///
    /// # Errors
    /// When the channel cannot be had; the text names what to do.
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, ChannelError> {
        let mut own = OwnLoop::new(uri, false)?;
        let end = SubscribingEnd::open(uri, opening, own.io())?;
        Ok(Self { end, own })
    }

    /// An end in memory.
    pub(crate) fn of(end: SubscribingEnd) -> Result<Self, ChannelError> {
        Ok(Self { end, own: OwnLoop::without_sources()? })
    }

    /// Hands over at most `limit` messages, and does the duty: call it whenever the loop comes
    /// round. Returns how many. With a limit of 0 nothing is handed over, and only a subscription
    /// without a tether reads its sockets: who wants no message now takes one and
    /// [aborts](Action::Abort) it.
    #[inline]
    pub fn poll(
        &mut self,
        now: Nanos,
        limit: usize,
        mut handler: impl FnMut(Message<'_>),
    ) -> usize {
        self.poll_controlled(now, limit, |message| {
            handler(message);
            Action::Continue
        })
    }

    /// As [`Subscription::poll`], with a handler that may end the poll, or leave its message for
    /// the next one.
    #[inline]
    pub fn poll_controlled(
        &mut self,
        now: Nanos,
        limit: usize,
        handler: impl FnMut(Message<'_>) -> Action,
    ) -> usize {
        if self.end.wants_turn(now) {
            self.turn(Nanos::ZERO);
        }
        self.end.duty(self.own.io(), now, limit, handler)
    }

    /// As [`SubscribingEnd::poll_typed`].
    #[inline]
    pub fn poll_typed<D: Decoder>(
        &mut self,
        now: Nanos,
        limit: usize,
        decoder: &D,
        mut handler: impl FnMut(D::Message<'_>, Message<'_>),
    ) -> usize {
        let mut malformed = 0;
        let count = self.poll(now, limit, |message| match decoder.decode(message.payload) {
            Some(typed) => handler(typed, message),
            None => malformed += 1,
        });
        self.end.count_malformed(malformed);
        count
    }

    /// The next connection event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.end.poll_event()
    }

    /// Leaves: says so where the wire can. Call [`Subscription::poll`] until
    /// [`SubscribingEnd::is_closed`].
    pub fn close(&mut self, now: Nanos) {
        self.end.close(self.own.io(), now);
    }

    /// Readable when there is something to do, for a loop of another kind that waits for more than
    /// this channel; in memory nothing ends such a wait. Call [`Subscription::poll`] until it finds
    /// nothing before each wait, and at [`SubscribingEnd::next_timeout`].
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

    fn turn(&mut self, span: Nanos) {
        let Self { end, own } = self;
        own.turn(span, |completion| _ = end.complete(completion));
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.end.leave(self.own.io());
    }
}
