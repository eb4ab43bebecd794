//! What the handlers of venues that speak FIX share: the session and its bytes, its numbers, its
//! Logon.

mod logon;
mod numbers;

use std::path::Path;

use taut_fix::{
    BeginString, CompId, Event, FieldIndex, FixError, Link, LinkConfig, LongText,
    MESSAGE_BYTES_MAX, Now, Outbox, Received, Role, Session, SessionConfig, ShortText, Store,
    TypedMessage,
};
use taut_types::{Nanos, RequestId};

use super::handler::NotSent;
use crate::error::GatewayError;
pub use logon::Logon;
use numbers::Numbers;

/// What one receive of the loop brings; it is kept behind the start of a message.
const RECEIVE_BYTES: usize = 64 * 1_024;
/// Room for messages on their way to the loop: one, but for those that are sent again.
const OUTBOX_BYTES: usize = 32 * 1_024;
/// The longest message of ours.
const MESSAGE_BYTES: usize = 1_024;
/// Fields of a message; a report has some 25.
const FIELDS_MAX: usize = 128;
/// Attempts to log on at one address after which the numbers start again: the venue and we do not
/// agree on them, and where the orders stand is asked for in any case.
const FAILED_LOGONS_MAX: u32 = 2;

/// Who talks to whom in a session, and how it begins.
#[derive(Debug)]
pub struct FixSettings<'a> {
    pub sender: CompId,
    pub target: CompId,
    pub heartbeat_interval: Nanos,
    /// The file of the numbers; without one they are in memory.
    pub store: Option<&'a Path>,
    /// Both numbers start again with every logon.
    pub reset_on_logon: bool,
    pub logon: Logon,
}

/// A message of the venue, and what it is to the session.
pub type Delivery<'a> = (Event, Received<'a>, Outbox<'a, Numbers, Logon>);

/// A FIX session as a handler drives it.
#[derive(Debug)]
pub struct FixLink {
    link: Link<Numbers, Logon>,
    index: FieldIndex,
    reset_on_logon: bool,
    /// Requests of the venue to send again that are known here.
    resends: u64,
    passed_over: u64,
}

impl FixLink {
    pub fn new(settings: FixSettings<'_>) -> Result<Self, GatewayError> {
        Self::with_room(settings, MESSAGE_BYTES_MAX, FIELDS_MAX)
    }

    /// With room for messages of the venue of so many bytes and fields.
    pub fn with_room(
        settings: FixSettings<'_>,
        message_bytes_max: usize,
        fields_max: usize,
    ) -> Result<Self, GatewayError> {
        let FixSettings { sender, target, heartbeat_interval, reset_on_logon, .. } = settings;
        // The venue is trusted to know its dictionary: the fields that are used are checked as they
        // are read.
        let config = SessionConfig {
            heartbeat_interval,
            logout_timeout: Nanos::from_secs(10),
            // Nothing else is heard meanwhile: a venue that does not send again is connected anew.
            resend_timeout: Nanos::from_secs(10),
            message_bytes_max,
            ..SessionConfig::new(Role::Initiator, BeginString::Fix44, sender, target)
        };
        let session = Session::new(config, Numbers::open(settings.store)?);
        let inbox_bytes = RECEIVE_BYTES + message_bytes_max;
        let sizes = LinkConfig::fixed(inbox_bytes, OUTBOX_BYTES, MESSAGE_BYTES);
        Ok(Self {
            link: Link::with_hooks(session, &sizes, settings.logon),
            index: FieldIndex::with_capacity(fields_max),
            reset_on_logon,
            resends: 0,
            passed_over: 0,
        })
    }

    /// Begins the session: a Logon is on its way.
    pub fn connected(&mut self, now: Now, random: [u8; 32], failed_logons: u32) {
        self.link.hooks_mut().set_nonce(random);
        let session = self.link.session_mut();
        // What remembers nothing cannot go on with anything.
        let reset = self.reset_on_logon
            || !session.store().remembers()
            || failed_logons >= FAILED_LOGONS_MAX;
        session.set_reset_on_logon(reset);
        self.link.connect(now);
    }

    pub fn disconnected(&mut self, now: Now) {
        self.link.clear_unsent();
        self.link.transport_closed(now);
    }

    pub fn log_out(&mut self, now: Now) {
        self.link.outbox(now).log_out("");
    }

    #[inline]
    pub const fn is_up(&self) -> bool {
        self.link.session().is_active()
    }

    /// The number of the message that was written last.
    #[inline]
    pub fn last_message(&self) -> u64 {
        self.link.session().store().next_outgoing().saturating_sub(1)
    }

    /// Leaves a message in the outbox.
    #[inline]
    pub fn send<M: TypedMessage>(&mut self, now: Now, message: &M) -> Result<(), NotSent> {
        self.send_or_rehearse(now, message, false)
    }

    /// As [`FixLink::send`]; a rehearsal leaves nothing there.
    #[inline]
    pub fn send_or_rehearse<M: TypedMessage>(
        &mut self,
        now: Now,
        message: &M,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        let sent = self.link.outbox(now).send_or_rehearse(message, is_rehearsal);
        sent.map_err(|error| match error {
            FixError::Store => NotSent::Broken,
            FixError::Limit(_) => NotSent::Unsupported,
            _ => NotSent::NotUp,
        })
    }

    /// Handles received bytes up to the next event.
    #[inline]
    pub fn handle_bytes<'a, 'b: 'a>(
        &'a mut self,
        now: Now,
        bytes: &mut &'b [u8],
    ) -> Option<Delivery<'a>> {
        let Self { link, index, .. } = self;
        let taut_fix::Delivery { event, message, outbox } = link.handle_bytes(now, bytes, index)?;
        Some((event, message, outbox))
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Now) -> Option<Event> {
        self.link.handle_timeout(now).map(|delivery| delivery.event)
    }

    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.link.poll_timeout()
    }

    /// Whether the venue passed numbers of its own over since the last call: what it said under
    /// them does not come any more.
    pub fn poll_passed_over(&mut self) -> bool {
        let passed_over = self.link.session().counters().passed_over;
        std::mem::replace(&mut self.passed_over, passed_over) != passed_over
    }

    /// How often messages of the venue were missing, or stood for nothing any more.
    pub const fn missed(&self) -> u64 {
        let counters = self.link.session().counters();
        counters.gaps + counters.passed_over
    }

    /// Whether the venue asked for messages again since the last call, which it did not get.
    pub fn poll_missed(&mut self) -> bool {
        let resends = self.link.session().counters().resends;
        std::mem::replace(&mut self.resends, resends) != resends
    }

    #[inline]
    pub fn poll_transmit(&mut self, now: Now) -> &[u8] {
        self.link.poll_transmit(now)
    }

    #[inline]
    pub fn unsent(&self) -> &[u8] {
        self.link.unsent()
    }

    #[inline]
    pub const fn clear_unsent(&mut self) {
        self.link.clear_unsent();
    }
}

/// A request's name: ClOrdID (11).
#[inline]
pub fn cl_ord_id(request: RequestId) -> ShortText {
    // Sixteen bytes fit.
    ShortText::new(&request.to_text()).unwrap_or_else(|| ShortText::from_u64(request.order.0))
}

/// The request of ours with this name.
#[inline]
pub fn request_of(cl_ord_id: Option<&LongText>) -> Option<RequestId> {
    cl_ord_id.and_then(|text| RequestId::from_text(text.as_bytes()))
}
