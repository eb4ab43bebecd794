//! The subscribing end of any channel.

use taut_sys::Address;
use taut_types::Nanos;

use crate::aeron::AeronSubscription;
use crate::counters::{Counters, PollGap};
use crate::driver::{Descriptors, Opening, SubscriptionDriver};
use crate::error::ChannelError;
use crate::event::Event;
use crate::inproc::{InprocSubscription, SpySubscription};
use crate::ipc::IpcSubscription;
use crate::lease::LeaseSubscription;
use crate::message::{Action, Decoder, Message};
use crate::uri::ChannelUri;
use crate::zmtp::ZmtpSubscription;

/// The drivers; each call goes to the one that there is.
#[derive(Debug)]
enum Driver {
    Aeron(Box<AeronSubscription>),
    Inproc(InprocSubscription),
    Ipc(IpcSubscription),
    Lease(Box<LeaseSubscription>),
    Spy(SpySubscription),
    Zmtp(Box<ZmtpSubscription>),
}

macro_rules! with {
    ($driver:expr, $bound:ident => $call:expr) => {
        match $driver {
            Driver::Aeron($bound) => $call,
            Driver::Inproc($bound) => $call,
            Driver::Ipc($bound) => $call,
            Driver::Lease($bound) => $call,
            Driver::Spy($bound) => $call,
            Driver::Zmtp($bound) => $call,
        }
    };
}

/// The subscribing end of a channel, polled by the caller's thread.
#[derive(Debug)]
pub struct Subscription {
    driver: Driver,
    gap: PollGap,
    malformed: u64,
}

impl Subscription {
    /// Opens the subscribing end of a channel.
    ///
    /// # Errors
    /// When the channel cannot be had; the text names what to do.
    pub fn open(uri: &ChannelUri, opening: &Opening) -> Result<Self, ChannelError> {
        let driver = match uri {
            ChannelUri::Aeron(uri) => {
                Driver::Aeron(Box::new(AeronSubscription::open(uri, opening)?))
            }
            ChannelUri::Inproc(uri) => Driver::Inproc(InprocSubscription::open(uri, opening)?),
            ChannelUri::Ipc(uri) => Driver::Ipc(IpcSubscription::open(uri, opening)?),
            ChannelUri::Lease(uri) => {
                Driver::Lease(Box::new(LeaseSubscription::open(uri, opening)?))
            }
            ChannelUri::Zmtp(uri) => Driver::Zmtp(Box::new(ZmtpSubscription::open(uri, opening)?)),
        };
        Ok(Self::over(driver))
    }

    pub(crate) fn of_spy(spy: SpySubscription) -> Self {
        Self::over(Driver::Spy(spy))
    }

    fn over(driver: Driver) -> Self {
        Self { driver, gap: PollGap::default(), malformed: 0 }
    }

    /// Hands over at most `limit` messages, and does the duty: call it whenever the loop comes
    /// round. Returns how many. With a limit of 0 nothing is read, what peers say included: who
    /// wants no message now takes one and [aborts](Action::Abort) it.
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
        mut handler: impl FnMut(Message<'_>) -> Action,
    ) -> usize {
        self.gap.note(now);
        with!(&mut self.driver, driver => driver.poll(now, limit, &mut handler))
    }

    /// As [`Subscription::poll`], with messages that `decoder` has read. What it cannot read is
    /// counted as malformed and passed over.
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
        self.malformed += malformed;
        count
    }

    /// The next connection event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        with!(&mut self.driver, driver => driver.poll_event())
    }

    /// Images now: publications that this subscription hears.
    #[must_use]
    pub fn image_count(&self) -> usize {
        with!(&self.driver, driver => driver.image_count())
    }

    /// Leaves: says so where the wire can. Call [`Subscription::poll`] until
    /// [`Subscription::is_closed`].
    pub fn close(&mut self, now: Nanos) {
        with!(&mut self.driver, driver => driver.close(now));
    }

    /// Whether it has left.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        with!(&self.driver, driver => driver.is_closed())
    }

    /// What it has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let counters = with!(&self.driver, driver => driver.counters());
        let malformed = counters.malformed + self.malformed;
        Counters { poll_gap_ns_max: self.gap.max_ns(), malformed, ..counters }
    }

    /// When [`Subscription::poll`] must be called at the latest.
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
