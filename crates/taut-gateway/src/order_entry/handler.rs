//! What a venue's order entry is to who trades there: requests in, bytes out; bytes in, events out.

use taut_fix::{Charges, LongText, Now, ShortText};
use taut_oms::{ExecId, Order, OrderEvent, OrderState, RequestKind, VenueReject};
use taut_types::{
    ClientOrderId, Instrument, InstrumentId, Nanos, OrderTerms, Price, Qty, RequestId,
};

use crate::stream::VenueTerms;
use crate::venue_clock::ClockReading;

/// A venue's order entry: writes requests as the venue reads them, reads what it says, and keeps
/// the session with it alive. Pure: no I/O, no clock, no allocation once it is built.
///
/// What every venue shares is the gateway's: the table of orders, risk, positions, the journal, the
/// connection and its back-off, which questions are asked and what their answers do. A handler
/// decides nothing of that. It knows the venue's language and names, and converts prices and
/// quantities between the instrument's units and the venue's.
///
/// **Bytes.** A handler sees neither sockets nor TLS nor WebSocket frames; that is the business of
/// the connection that its [`Framing`] asks for. Of a stream it is handed the bytes as they come,
/// cut anywhere; of messages one whole message at a time.
///
/// **Requests.** [`create`](Self::create), [`modify`](Self::modify), [`cancel`](Self::cancel),
/// [`ask`](Self::ask) and [`ask_all`](Self::ask_all) leave their message in the outbox, which is
/// empty before, and say whether it is there. The gateway has written the request to its journal by
/// then, hands [`unsent`](Self::unsent) to the connection, and calls
/// [`clear_unsent`](Self::clear_unsent): what the venue must be told is never in the outbox of a
/// handler without being in the journal.
///
/// **Outcome unknown.** No answer, a broken connection or an error that says nothing leave a
/// request without an outcome. A handler sends nothing again by itself, and does not guess: it says
/// [`VenueEvent::Refused`] where the venue surely did not do what was asked and keeps quiet
/// otherwise. The order table waits, counts the order at its worst, and asks.
///
/// **Names.** A request is named by its [`RequestId::to_text`]: sixteen letters and digits, which
/// every venue takes. A venue that names orders by an id of its own has a handler that maps it: a
/// report says which of our orders it is about. The gateway keeps the venue's id in the journal and
/// gives it back with [`adopt`](Self::adopt).
///
/// **Two connections.** A venue whose order entry answers no questions is asked over another
/// interface [beside](Self::asks_beside) it, by messages of a WebSocket. Both begin before
/// [`connected`](Self::connected) is called, and end together: they are one session. A question
/// leaves its message in the outbox of that connection, which is
/// [`poll_transmit_beside`](Self::poll_transmit_beside)'s.
///
/// Contract: after `handle_bytes` has said nothing, what [`poll_transmit`](Self::poll_transmit)
/// gives is sent, and `handle_bytes` is called again if there was any.
///
/// It can be made an object: [`AnyOrders`](crate::AnyOrders), which hands on every method, those
/// with a default too.
pub trait OrderHandler {
    /// What the venue can do: always the same.
    fn capabilities(&self) -> Capabilities;

    /// Whether questions go over a second connection: always the same.
    fn asks_beside(&self) -> bool {
        false
    }

    /// Whether it asks the venue itself what instruments are, and says what came of it
    /// ([`poll_compared`](Self::poll_compared)): always the same.
    fn compares_instruments(&self) -> bool {
        false
    }

    /// The connection stands: the session begins. The random bytes are for a nonce, say; so many
    /// attempts to log on at this address have failed one after the other.
    fn connected(&mut self, now: Now, random: [u8; 32], failed_logons: u32);

    /// The connection is gone, and with it all that waits.
    fn disconnected(&mut self, now: Now);

    /// What the venue said, in its own words, when it last refused a session or ended one; empty
    /// when it said nothing. For people.
    fn last_refusal(&self) -> &str {
        ""
    }

    /// What is known of the venue's clock, where it is asked.
    fn venue_clock(&self) -> Option<ClockReading> {
        None
    }

    /// Asks the venue to end the session.
    fn log_out(&mut self, now: Now);

    /// Whether the session takes requests.
    fn is_up(&self) -> bool;

    /// An order of an earlier process, or one that was [over](Self::over) and goes on, with the
    /// venue's id of it: empty when it is not known.
    fn adopt(&mut self, _order: &Order, _venue_id: &[u8]) {}

    /// An order is over: what is remembered of it can be forgotten.
    fn over(&mut self, _order: ClientOrderId) {}

    /// Takes an instrument that it was not built with, by the venue's name of it, behind all
    /// others; false when it sends orders for those alone, or the venue has no such names. Called
    /// again with the same number when the gateway could not take the instrument.
    fn add_instrument(&mut self, _instrument: &Instrument, _name: &str) -> bool {
        false
    }

    /// An instrument that the venue has been asked about since this was called last, and whether
    /// ours has its steps of prices and quantities: one that was added is not traded before, and
    /// one that differs is not traded any more.
    fn poll_compared(&mut self) -> Option<(InstrumentId, bool)> {
        None
    }

    /// What the venue says of an instrument: an order that it would refuse does not leave.
    fn set_terms(&mut self, _instrument: InstrumentId, _terms: &VenueTerms) {}

    /// Writes a new order. A rehearsal does all of it but the end: it leaves nothing in the outbox
    /// and uses no number. The two run the same code, so that it stays in the caches.
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent>;

    /// Asks for other terms of an order. `base` is the newest request that the venue has accepted
    /// or is about to.
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn modify(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent>;

    /// Asks for the end of an order.
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn cancel(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent>;

    /// Whether no other program has orders in the account, so that
    /// [all of them](Self::cancel_all_like) may be ended by one request.
    fn owns_account(&self) -> bool {
        false
    }

    /// Asks for the end of all of the account's orders in the instrument of this one, whoever sent
    /// them: one request in the place of many cancels. What ends is told as if the venue had
    /// cancelled it unasked. Only where it [owns the account](Self::owns_account).
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn cancel_all_like(&mut self, _now: Now, _order: &OrderMessage<'_>) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    /// Asks where an order stands, by the name of the request that the venue accepted last. The
    /// answer is a [`VenueReport`] of [`OrderEvent::Status`] or [`OrderEvent::NotFound`] that says
    /// that it [is one](VenueReport::is_answer).
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent>;

    /// Asks where all orders stand, if the venue [can be asked that](Capabilities::tells_all).
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn ask_all(&mut self, now: Now) -> Result<(), NotSent>;

    /// Asks what an account holds, by the venue's name, or all of them, if the venue
    /// [can be asked that](Capabilities::tells_positions). The answer is a
    /// [`VenueEvent::Position`] for each position, then [`VenueEvent::AllPositionsTold`]; or a
    /// refusal: [`VenueEvent::PositionsRefused`], or [`VenueEvent::Refused`] of its message.
    ///
    /// # Errors
    /// Why its message is not in the outbox.
    fn ask_positions(&mut self, _now: Now, _account: Option<ShortText>) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    /// The number of the message that was written last, by which [`VenueEvent::Refused`] names it.
    fn last_message(&self) -> u64;

    /// Handles received bytes up to the next event. Nothing when all of them are handled or kept.
    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent>;

    /// Does what is due: heartbeats, the renewal of a token, the end of a wait.
    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent>;

    /// The monotonic time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// Whether messages of the venue were passed over since the last call, which do not come any
    /// more: a report may have been among them.
    fn poll_passed_over(&mut self) -> bool {
        false
    }

    /// Whether the venue missed messages of ours since the last call, which are not sent again: a
    /// question may be among them.
    fn poll_missed(&mut self) -> bool {
        false
    }

    /// What is to be sent now, with what the session itself has to say: of a stream all of it, of
    /// messages the next one.
    fn poll_transmit(&mut self, now: Now) -> &[u8];

    /// What is in the outbox: of messages the next one.
    fn unsent(&self) -> &[u8];

    /// What [`unsent`](Self::unsent) gave is on its way.
    fn clear_unsent(&mut self);

    /// Handles a message of the second connection; what it says is told by the next
    /// [`handle_bytes`](Self::handle_bytes), without bytes too.
    fn handle_beside(&mut self, _now: Now, _message: &[u8]) {}

    /// The next message that is to be sent on the second connection.
    fn poll_transmit_beside(&mut self, _now: Now) -> &[u8] {
        &[]
    }

    /// What [`poll_transmit_beside`](Self::poll_transmit_beside) gave is on its way.
    fn clear_unsent_beside(&mut self) {}
}

/// What a venue's order entry can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What the connection carries.
    pub framing: Framing,
    /// It answers one question about all orders; else it is asked about each by itself.
    pub tells_all: bool,
    /// It says what an account holds.
    pub tells_positions: bool,
    /// The longest name of a request that it takes.
    pub name_bytes_max: usize,
}

/// What a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Bytes, over TCP or TLS.
    Stream,
    /// Whole messages, over WebSocket.
    Messages,
}

/// An order in a message to the venue.
#[derive(Clone, Copy, Debug)]
pub struct OrderMessage<'a> {
    /// The request: for a question, the one that the venue accepted last.
    pub request: RequestId,
    /// What is traded.
    pub instrument: &'a Instrument,
    /// The venue's name of the account, where it is to be named.
    pub account: Option<ShortText>,
    /// What the order is to be; for a cancel and a question, what it is.
    pub terms: &'a OrderTerms,
}

/// Why a message is not in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// There is no session.
    NotUp,
    /// The venue takes no such request, or its message does not fit: it cannot be sent later.
    Unsupported,
    /// The venue's filters for the instrument do not let such an order pass.
    Filtered,
    /// As many changes of the order as the venue takes are under way.
    Busy,
    /// The venue would be asked for more than it allows: not before then.
    Throttled(Nanos),
    /// The session can not go on: its numbers cannot be kept.
    Broken,
}

/// What a venue says.
#[expect(clippy::large_enum_variant, reason = "the report is what comes, and nothing is kept")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VenueEvent {
    /// The session is up.
    LoggedOn,
    /// The session is over, at the venue's wish or at ours.
    LoggedOut,
    /// The connection can not be used any more.
    Broken,
    /// Something about an order.
    Report(VenueReport),
    /// A cancel or a modify is refused; its order stays what it is.
    ChangeRefused(ChangeRefused),
    /// A message of ours is refused, and what it asked for was not done: by its number, or by the
    /// request in it.
    Refused {
        /// The message's number; 0 when the venue does not say.
        message: u64,
        /// The request.
        named: Option<RequestId>,
        /// Why, as far as the venue says.
        reject: VenueReject,
    },
    /// A report that cannot be read, and the request that it names.
    Unreadable(Option<RequestId>),
    /// The question about all orders has all its answers.
    AllTold,
    /// What an account holds of an instrument.
    Position(VenuePosition),
    /// The question what an account holds has all its answers.
    AllPositionsTold,
    /// The venue does not say what an account holds.
    PositionsRefused,
}

/// What an account holds of an instrument, says the venue. Quantities are in the instrument's
/// units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenuePosition {
    /// The account, by the venue's name; the one that was asked about where it names none.
    pub account: Option<LongText>,
    /// The instrument's symbol, as the gateway has it.
    pub symbol: LongText,
    /// Bought: what the account holds is this less what was sold.
    pub long: Qty,
    /// Sold.
    pub short: Qty,
    /// At what price the venue settles it; 0 when it does not say.
    pub price: Price,
}

/// What a venue says about an order. Quantities are in the instrument's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueReport {
    /// The request of ours that it names; with version 0, the order. Nothing when it names none.
    pub request: Option<RequestId>,
    /// The venue names orders and no requests: with version 0, it answers the oldest request of its
    /// kind that is under way.
    pub answers_oldest: bool,
    /// What happened; nothing when it is no event of an order's life.
    pub event: Option<OrderEvent>,
    /// Whether it answers the question where the order stands. An [`OrderEvent::Status`] that
    /// answers none is a notification, which may be older than what is under way: it settles
    /// nothing.
    pub is_answer: bool,
    /// Where the order stands, says the venue.
    pub told: Option<OrderState>,
    /// Whether it has a code without a meaning.
    pub is_strange: bool,
    /// Whether the venue says that it may have told this before.
    pub is_resend: bool,
    /// Whether it is an answer to the question about all orders.
    pub of_all: OfAll,
    /// How much traded, when something did.
    pub last: Qty,
    /// At which price.
    pub price: Option<Price>,
    /// How much has traded in all.
    pub total: Option<Qty>,
    /// The average price of that.
    pub average: Option<Price>,
    /// How large the order is.
    pub order_qty: Option<Qty>,
    /// At which price it works.
    pub order_price: Option<Price>,
    /// The name of the execution.
    pub exec_id: ExecId,
    /// The execution that is cancelled or corrected.
    pub exec_ref: ExecId,
    /// The venue's id of the order.
    pub venue_id: Option<LongText>,
    /// The account, by the venue's name.
    pub account: Option<LongText>,
    /// When it happened, UTC; 0 when the venue does not say.
    pub exchange_time: Nanos,
    /// What the trade cost, as far as the venue says.
    pub charges: Charges,
    /// Why the order is refused, where it is, as far as the venue says.
    pub reject: VenueReject,
}

impl VenueReport {
    /// A report that names nothing and says nothing.
    pub const NOTHING: Self = Self {
        request: None,
        answers_oldest: false,
        event: None,
        is_answer: false,
        told: None,
        is_strange: false,
        is_resend: false,
        of_all: OfAll::No,
        last: Qty::ZERO,
        price: None,
        total: None,
        average: None,
        order_qty: None,
        order_price: None,
        exec_id: ExecId::NONE,
        exec_ref: ExecId::NONE,
        venue_id: None,
        account: None,
        exchange_time: Nanos::ZERO,
        charges: Charges::NONE,
        reject: VenueReject::Other,
    };
}

/// What a report is to the question about all orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfAll {
    /// It has nothing to do with it.
    No,
    /// One of its answers.
    One,
    /// Its answer that there are no orders.
    Nothing,
}

/// A cancel or a modify that the venue refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeRefused {
    /// Which one; with version 0, the oldest of the order that is under way.
    pub request: Option<RequestId>,
    /// What it was, where the venue says so.
    pub kind: Option<RequestKind>,
    /// Where the order stands, says the venue.
    pub told: Option<OrderState>,
    /// Whether the order is over, or unknown to the venue.
    pub is_over: bool,
    /// The venue's id of the order.
    pub venue_id: Option<LongText>,
    /// Why, as far as the venue says.
    pub reject: VenueReject,
}
