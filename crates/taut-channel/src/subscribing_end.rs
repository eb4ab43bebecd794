//! The subscribing end of any channel, on a loop of the caller's.

use taut_io::{Completion, Io, Kernel};
use taut_sys::Address;
use taut_types::Nanos;

use crate::aeron::AeronSubscription;
use crate::alarm::Alarm;
use crate::counters::{Counters, PollGap};
use crate::driver::{Opening, SubscriptionDriver};
use crate::error::ChannelError;
use crate::event::Event;
use crate::inproc::{InprocSubscription, SpySubscription};
use crate::ipc::IpcSubscription;
use crate::lease::LeaseSubscription;
use crate::message::{Action, Decoder, Message};
use crate::uri::ChannelUri;
use crate::zmtp::ZmtpSubscription;

/// The drivers; each call goes to the one that there is. A tag of its own costs a call less than
/// one that lies in a driver's unused values.
#[derive(Debug)]
#[repr(u8)]
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

/// The subscribing end of a channel on a loop of the caller's; see
/// [`PublishingEnd`](crate::PublishingEnd).
///
/// Hand it what the loop completes, and poll it when that was its own. A channel in memory (`ipc:`,
/// `inproc:`) has nothing on the loop that would tell of a message: poll it in every turn.
#[derive(Debug)]
pub struct SubscribingEnd {
    driver: Driver,
    gap: PollGap,
    alarm: Alarm,
    malformed: u64,
}

impl SubscribingEnd {
    /// Opens the subscribing end of a channel, with its sockets on the loop.
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
                Driver::Aeron(Box::new(AeronSubscription::open(uri, opening, io)?))
            }
            ChannelUri::Inproc(uri) => Driver::Inproc(InprocSubscription::open(uri, opening)?),
            ChannelUri::Ipc(uri) => Driver::Ipc(IpcSubscription::open(uri, opening)?),
            ChannelUri::Lease(uri) => {
                Driver::Lease(Box::new(LeaseSubscription::open(uri, opening, io)?))
            }
            ChannelUri::Zmtp(uri) => {
                Driver::Zmtp(Box::new(ZmtpSubscription::open(uri, opening, io)?))
            }
        };
        let mut end = Self::over(driver);
        // The first poll follows the first turn.
        end.alarm.set(io, opening.now);
        Ok(end)
    }

    /// Notes what the loop completed. True when it was this channel's: then [poll] it.
    ///
    /// [poll]: SubscribingEnd::poll
    pub fn complete(&mut self, completion: &Completion<'_>) -> bool {
        self.alarm.complete(completion)
            || with!(&mut self.driver, driver => driver.complete(completion))
    }

    pub(crate) fn of_spy(spy: SpySubscription) -> Self {
        Self::over(Driver::Spy(spy))
    }

    fn over(driver: Driver) -> Self {
        let (gap, alarm) = (PollGap::default(), Alarm::default());
        Self { driver, gap, alarm, malformed: 0 }
    }

    /// Hands over at most `limit` messages, and does the duty: acts on what the loop completed, and
    /// keeps the timers; one timer of the loop brings it round again when it must, and at once when
    /// the limit was reached or the handler broke off. Returns how many. With a limit of 0 nothing
    /// is handed over, and only a subscription without a tether reads its sockets: who wants no
    /// message now takes one and [aborts](Action::Abort) it.
    #[inline]
    pub fn poll<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        limit: usize,
        mut handler: impl FnMut(Message<'_>),
    ) -> usize {
        self.poll_controlled(io, now, limit, |message| {
            handler(message);
            Action::Continue
        })
    }

    /// As [`SubscribingEnd::poll`], with a handler that may end the poll, or leave its message for
    /// the next one.
    #[inline]
    pub fn poll_controlled<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        limit: usize,
        mut handler: impl FnMut(Message<'_>) -> Action,
    ) -> usize {
        let mut is_cut = false;
        let count = self.duty(io, now, limit, |message| {
            let action = handler(message);
            is_cut = action == Action::Break;
            action
        });
        // What is left lies in the driver's memory, of which the loop knows nothing.
        let next = if is_cut || count == limit { Some(now) } else { self.next_timeout() };
        self.alarm.follow(io, next);
        count
    }

    #[inline]
    pub(crate) fn duty<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        limit: usize,
        mut handler: impl FnMut(Message<'_>) -> Action,
    ) -> usize {
        self.gap.note(now);
        with!(&mut self.driver, driver => driver.poll(io, now, limit, &mut handler))
    }

    #[inline]
    pub(crate) fn wants_turn(&mut self, now: Nanos) -> bool {
        with!(&mut self.driver, driver => driver.wants_turn(now))
    }

    pub(crate) fn before_sleep<K: Kernel>(&mut self, io: &mut Io<K>, span: Nanos) -> Nanos {
        with!(&mut self.driver, driver => driver.before_sleep(io, span))
    }

    pub(crate) const fn count_malformed(&mut self, count: u64) {
        self.malformed += count;
    }

    /// As [`SubscribingEnd::poll`], with messages that `decoder` has read. What it cannot read is
    /// counted as malformed and passed over.
    #[inline]
    pub fn poll_typed<K: Kernel, D: Decoder>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        limit: usize,
        decoder: &D,
        mut handler: impl FnMut(D::Message<'_>, Message<'_>),
    ) -> usize {
        let mut malformed = 0;
        let count = self.poll(io, now, limit, |message| match decoder.decode(message.payload) {
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

    /// Leaves: says so where the wire can. Poll it until [`SubscribingEnd::is_closed`].
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        with!(&mut self.driver, driver => driver.close(io, now));
        self.alarm.follow(io, self.next_timeout());
    }

    /// Takes it off the loop, closed or not. Dropped without it, its sockets stay on the loop.
    pub fn abandon<K: Kernel>(mut self, io: &mut Io<K>) {
        with!(&mut self.driver, driver => driver.release(io));
        self.alarm.cancel(io);
    }

    /// It is dropped: says so where nothing else would tell.
    pub(crate) fn leave<K: Kernel>(&mut self, io: &mut Io<K>) {
        if let Driver::Aeron(driver) = &mut self.driver {
            driver.leave(io);
        }
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

    /// When [`SubscribingEnd::poll`] must be called at the latest.
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
