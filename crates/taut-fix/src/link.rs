//! A session joined to its bytes: everything between a transport and an application.
//!
//! ```text
//!              ┌──────────────────── Link ────────────────────┐
//!  received ─▶ │ inbox ─▶ framing ─▶ session ─▶ Delivery ───────▶ application
//!              │            held messages ┘                    │
//!  to send  ◀─ │ outbox ◀── session's messages, Outbox::send ◀─── application
//!              └──────────────────────────────────────────────┘
//! ```

mod buffer;
pub mod hooks;
pub mod outbox;
pub mod received;

use alloc::boxed::Box;
use alloc::vec;

use taut_types::Nanos;

use crate::codec::frame::MESSAGE_BYTES_MAX;
use crate::codec::index::FieldIndex;
use crate::codec::lead::lead_with_msg_type;
use crate::link::buffer::Buffer;
use crate::link::hooks::Hooks;
use crate::link::outbox::Outbox;
use crate::link::received::Received;
use crate::session::disconnect::DisconnectReason;
use crate::session::event::Event;
use crate::session::machine::Session;
use crate::session::now::Now;
use crate::store::Store;

/// Behind so much that waits the session's own messages are not written: a resend of a whole day
/// goes out as the peer takes it.
const SESSION_BYTES_MAX: usize = 256 * 1024;
/// What a message grows by when it is sent again: PossDupFlag (43) and OrigSendingTime (122).
const RESEND_BYTES: usize = 64;

/// The sizes of a link's buffers. Memory is taken when the link is built, and afterwards only where
/// a buffer may become larger than it was then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Room for what was received and cannot be handled yet: the start of a message, and whatever
    /// comes while the outbox is full. One receive and one message at least.
    pub inbox_bytes: usize,
    /// How large that may become.
    pub inbox_bytes_max: usize,
    /// Room for what the transport has not taken yet; at least one message.
    pub outbox_bytes: usize,
    /// How large that may become.
    pub outbox_bytes_max: usize,
    /// The longest message that an application sends.
    pub sent_message_bytes_max: usize,
    /// Whether MsgType (35) may stand anywhere in a header: it is moved to its place before the
    /// message is looked at.
    pub msg_type_anywhere: bool,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self::fixed(64 * 1024 + MESSAGE_BYTES_MAX, 32 * 1024, MESSAGE_BYTES_MAX)
    }
}

impl LinkConfig {
    /// Buffers that never grow.
    #[must_use]
    pub const fn fixed(
        inbox_bytes: usize,
        outbox_bytes: usize,
        sent_message_bytes_max: usize,
    ) -> Self {
        Self {
            inbox_bytes,
            inbox_bytes_max: inbox_bytes,
            outbox_bytes,
            outbox_bytes_max: outbox_bytes,
            sent_message_bytes_max,
            msg_type_anywhere: false,
        }
    }
}

/// One FIX connection without its socket: bytes and time go in, messages and bytes come out.
///
/// Pure, as the [`Session`] in it; it allocates when it is built and, with buffers that are
/// [`LinkConfig::fixed`], never again. A driver hands over what it receives, acts on every
/// [`Delivery`], and gives what waits to its transport:
///
/// ```
/// # use taut_fix::{Delivery, Event, FieldIndex, Link, MemoryStore, Now};
/// # fn send(bytes: &[u8]) -> usize { bytes.len() }
/// # fn driver(link: &mut Link<MemoryStore>, index: &mut FieldIndex, now: Now, received: &[u8]) {
/// let mut bytes = received;
/// while let Some(delivery) = link.handle_bytes(now, &mut bytes, index) {
///     let Delivery { event, message, mut outbox } = delivery;
///     if let Event::Application { sequence, .. } = event {
///         outbox.refuse_type(sequence, message.msg_type());
///     }
/// }
/// let taken = send(link.poll_transmit(now));
/// link.transmitted(taken);
/// if link.is_closed() { /* close the transport */ }
/// # }
/// ```
///
/// **Back pressure**: what the transport does not take waits in the outbox. While that is full the
/// session takes no message, and what is received waits in the inbox; when that is full too, the
/// link ends with [`DisconnectReason::InboxFull`].
#[derive(Debug)]
pub struct Link<S, H = ()> {
    session: Session<S>,
    hooks: H,
    inbox: Buffer,
    outbox: Buffer,
    /// Room for a message that came before its turn.
    held: Box<[u8]>,
    sent_message_bytes_max: usize,
    msg_type_anywhere: bool,
    is_paused: bool,
    /// More was received than the inbox holds: nothing is taken any more.
    is_overrun: bool,
}

/// What a link tells, and the means to answer.
#[derive(Debug)]
pub struct Delivery<'a, S, H = ()> {
    /// What happened.
    pub event: Event,
    /// The message, empty for an event without one (the end of a wait).
    pub message: Received<'a>,
    /// Where answers go.
    pub outbox: Outbox<'a, S, H>,
}

/// Where the message of an event stands.
enum Place<'a> {
    /// At the start of what the caller handed over.
    Caller(&'a [u8]),
    /// At the end of what was taken out of the inbox.
    Inbox,
    Held,
}

/// More was received than the inbox holds.
struct Overrun;

impl Overrun {
    const fn told<'a>(self) -> (Event, Place<'a>, usize) {
        (Event::Disconnect(DisconnectReason::InboxFull), Place::Caller(&[]), 0)
    }
}

impl<S: Store> Link<S> {
    /// A link without hooks, before its first connection.
    #[must_use]
    pub fn new(session: Session<S>, config: &LinkConfig) -> Self {
        Self::with_hooks(session, config, ())
    }
}

impl<S: Store, H: Hooks> Link<S, H> {
    /// A link before its first connection.
    #[must_use]
    pub fn with_hooks(session: Session<S>, config: &LinkConfig, hooks: H) -> Self {
        let held = vec![0; session.config().message_bytes_max].into_boxed_slice();
        let longest = config.sent_message_bytes_max + RESEND_BYTES;
        Self {
            session,
            hooks,
            inbox: Buffer::new(config.inbox_bytes, config.inbox_bytes_max),
            outbox: Buffer::new(config.outbox_bytes.max(longest), config.outbox_bytes_max),
            held,
            sent_message_bytes_max: config.sent_message_bytes_max,
            msg_type_anywhere: config.msg_type_anywhere,
            is_paused: false,
            is_overrun: false,
        }
    }

    /// The session, to look at.
    #[must_use]
    pub const fn session(&self) -> &Session<S> {
        &self.session
    }

    /// The session, for what a link does not do itself, such as committing its store.
    pub const fn session_mut(&mut self) -> &mut Session<S> {
        &mut self.session
    }

    /// The hooks.
    pub const fn hooks_mut(&mut self) -> &mut H {
        &mut self.hooks
    }

    /// The transport is up: what waited is forgotten, and an initiator's Logon is on its way.
    pub fn connect(&mut self, now: Now) {
        self.inbox.clear();
        self.outbox.clear();
        (self.is_paused, self.is_overrun) = (false, false);
        self.session.connect(now);
    }

    /// The transport is gone.
    pub fn transport_closed(&mut self, now: Now) {
        self.session.transport_closed(now);
    }

    /// Keeps received bytes for the next [`Link::handle_bytes`]; false when there is no room, and
    /// then none is kept.
    #[inline]
    pub fn receive(&mut self, bytes: &[u8]) -> bool {
        self.inbox.push(bytes)
    }

    /// Handles received bytes up to the next event. Call it again until it tells nothing: then all
    /// of them are handled, or wait in the inbox.
    ///
    /// Whole messages are handled where they stand; only what is left over is copied. Bytes that
    /// come after the end of the session are dropped.
    #[inline]
    pub fn handle_bytes<'a, 'b: 'a>(
        &'a mut self,
        now: Now,
        bytes: &mut &'b [u8],
        index: &'a mut FieldIndex,
    ) -> Option<Delivery<'a, S, H>> {
        let (event, place, len) = self.advance(now, bytes, index)?;
        let Self { session, hooks, inbox, outbox, held, sent_message_bytes_max, .. } = self;
        let message = match place {
            Place::Caller(bytes) => bytes.get(..len),
            Place::Inbox => inbox.taken(len),
            Place::Held => held.get(..len),
        };
        let message = Received::new(message.unwrap_or(&[]), index);
        let message_bytes_max = *sent_message_bytes_max;
        let outbox = Outbox { now, session, hooks, buffer: outbox, message_bytes_max };
        Some(Delivery { event, message, outbox })
    }

    /// Does what is due: heartbeats, test requests, the end of a wait.
    pub fn handle_timeout(&mut self, now: Now) -> Option<Delivery<'_, S, H>> {
        let event = self.session.handle_timeout(now)?;
        Some(Delivery { event, message: Received::NONE, outbox: self.outbox(now) })
    }

    /// The monotonic time at which [`Link::handle_timeout`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.session.poll_timeout()
    }

    /// Where messages of the application go.
    #[inline]
    pub const fn outbox(&mut self, now: Now) -> Outbox<'_, S, H> {
        let Self { session, hooks, outbox, sent_message_bytes_max, .. } = self;
        let message_bytes_max = *sent_message_bytes_max;
        Outbox { now, session, hooks, buffer: outbox, message_bytes_max }
    }

    /// Writes what the session wants to send, as far as there is room, and returns all that waits
    /// for the transport.
    #[inline]
    pub fn poll_transmit(&mut self, now: Now) -> &[u8] {
        self.transmit(now);
        self.outbox.filled()
    }

    /// What waits for the transport, without what the session still wants to send.
    #[inline]
    #[must_use]
    pub fn unsent(&self) -> &[u8] {
        self.outbox.filled()
    }

    /// The transport took so many bytes of what waits.
    #[inline]
    pub fn transmitted(&mut self, bytes: usize) {
        self.outbox.consume(bytes);
    }

    /// Nothing waits any more: the transport took all of it, or it must not be sent.
    #[inline]
    pub const fn clear_unsent(&mut self) {
        self.outbox.clear();
    }

    /// Whether it stopped for want of room in the outbox. When [`Link::has_room`] again,
    /// [`Link::handle_bytes`] goes on, without new bytes too.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether so little waits for the transport that the session may add to it.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.outbox.len() < SESSION_BYTES_MAX && self.has_message_room()
    }

    /// Received bytes that wait, for the rest of their message or for the outbox.
    #[must_use]
    pub const fn inbox_len(&self) -> usize {
        self.inbox.len()
    }

    /// Bytes that can be received before the next [`Link::handle_bytes`].
    #[must_use]
    pub const fn inbox_free(&self) -> usize {
        self.inbox.free()
    }

    /// Whether the transport must be closed once it has taken what waits.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        (self.session.is_closed() && !self.is_paused) || self.is_overrun
    }

    /// The room of the longest message, sent again.
    const fn message_room(&self) -> usize {
        self.sent_message_bytes_max + RESEND_BYTES
    }

    const fn has_message_room(&self) -> bool {
        self.outbox.free() >= self.message_room()
    }

    /// Handles messages until one makes an event.
    #[inline]
    fn advance<'a>(
        &mut self,
        now: Now,
        bytes: &mut &'a [u8],
        index: &mut FieldIndex,
    ) -> Option<(Event, Place<'a>, usize)> {
        loop {
            // The session takes nothing more while its own messages wait to be written, and an
            // application that answers needs room.
            self.is_paused = false;
            self.transmit(now);
            if !self.has_message_room() {
                self.is_paused = true;
                return self.take_in(bytes).map(Overrun::told);
            }
            if let Some(len) = self.session.take_held(&mut self.held) {
                let message = self.held.get(..len).unwrap_or(&[]);
                if let Some(event) = self.session.handle_bytes(now, message, index).event {
                    return Some((event, Place::Held, len));
                }
                continue;
            }
            // Whole messages, nearly always: handled where they stand.
            let is_in_place = self.inbox.is_empty() && !self.msg_type_anywhere;
            let made = if is_in_place {
                self.session.handle_bytes(now, bytes, index)
            } else {
                if let Some(overrun) = self.take_in(bytes) {
                    return Some(overrun.told());
                }
                self.session.handle_bytes(now, self.inbox.filled(), index)
            };
            let place = if is_in_place {
                let place = Place::Caller(bytes);
                *bytes = bytes.get(made.consumed..).unwrap_or_default();
                place
            } else {
                self.inbox.consume(made.consumed);
                Place::Inbox
            };
            if made.consumed > 0 {
                let message = match place {
                    Place::Caller(bytes) => bytes.get(..made.consumed),
                    _ => self.inbox.taken(made.consumed),
                };
                self.hooks.received(now, message.unwrap_or_default());
            }
            if let Some(event) = made.event {
                return Some((event, place, made.consumed));
            }
            if made.consumed == 0 {
                return self.take_in(bytes).map(Overrun::told);
            }
        }
    }

    /// Moves bytes to the inbox, unless the session is over.
    #[inline]
    fn take_in(&mut self, bytes: &mut &[u8]) -> Option<Overrun> {
        let bytes = core::mem::take(bytes);
        if !self.session.state().is_connected() {
            self.inbox.clear();
        } else if !self.inbox.push(bytes) {
            // Told once.
            return (!core::mem::replace(&mut self.is_overrun, true)).then_some(Overrun);
        } else if self.msg_type_anywhere {
            lead_with_msg_type(self.inbox.filled_mut());
        }
        None
    }

    /// Moves what the session wants to send to the outbox.
    #[inline]
    fn transmit(&mut self, now: Now) {
        if self.session.has_queued() {
            self.write_queued(now);
        }
    }

    fn write_queued(&mut self, now: Now) {
        let wanted = self.message_room();
        let Self { session, hooks, outbox, is_paused, .. } = self;
        *is_paused = true;
        while session.has_queued() && outbox.len() < SESSION_BYTES_MAX {
            let written =
                session.poll_transmit_with(now, outbox.room(wanted), |context, writer| {
                    hooks.write_logon(&context, writer);
                });
            let Some(range) = written else { return };
            hooks.sent(now, outbox.fill(range));
        }
        *is_paused = session.has_queued();
    }
}
