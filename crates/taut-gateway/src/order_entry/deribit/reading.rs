//! What Deribit's messages say.

use taut_fix::{
    CancelRejectReason, Charges, LongText, OrdStatus, Received, ShortText, parse_timestamp,
};
use taut_oms::{ExecId, OrderEvent as E, OrderState, RequestKind, VenueReject};
use taut_types::{ClientOrderId, Price, Qty, RequestId};

use super::known::{Asked, KnownOrders};
use crate::order_entry::fix44::{meaning::state_of, rejects};
use crate::order_entry::handler::{ChangeRefused, OfAll, VenueEvent, VenueReport};

/// OrdRejReason (103): the order that a question named is unknown.
const UNKNOWN_ORDER: &[u8] = b"5";
/// Text (58) of a report that nobody asked for.
const NOTIFICATION: &[u8] = b"notification";
/// QtyType (854): units. Without it quantities are in contracts.
const UNITS: &[u8] = b"0";

/// A report that cannot be read.
struct Unreadable;

/// Reads the messages of the application, and counts the answers to the question about all orders.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// How often all were asked about: the id of the last question.
    questions: u64,
    /// The question whose answers come.
    question: Option<ShortText>,
    /// Its answers so far.
    answers: u64,
    /// It has all of them, which is still to be told.
    all_told: bool,
}

/// Whether a message is for who sends orders.
pub(super) const fn is_ours(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"3" | b"8" | b"9" | b"j" | b"r")
}

impl Reading {
    /// MassStatusReqID (584) of the next question about all orders.
    pub(super) fn next_question(&mut self) -> ShortText {
        self.questions += 1;
        let id = ShortText::from_u64(self.questions);
        (self.question, self.answers, self.all_told) = (Some(id), 0, false);
        id
    }

    /// Whether the question about all orders has just got the last of its answers.
    #[inline]
    pub(super) const fn take_all_told(&mut self) -> bool {
        std::mem::replace(&mut self.all_told, false)
    }

    /// What a message says, if it is for who sends orders.
    pub(super) fn application(
        &mut self,
        message: &Received<'_>,
        known: &mut KnownOrders,
    ) -> Option<VenueEvent> {
        match message.msg_type() {
            b"8" => Some(match self.report(message, known) {
                Ok(heard) => heard,
                Err(Unreadable) => {
                    let order = order_of(message, known);
                    VenueEvent::Unreadable(order.map(|order| RequestId { order, version: 0 }))
                }
            }),
            b"9" => Some(VenueEvent::ChangeRefused(refused(message, known))),
            b"3" | b"j" => {
                let number = message.value(45).and_then(number).unwrap_or(0);
                let named = message.value(379).and_then(RequestId::from_text);
                let reject = rejects::by_words(words(message));
                Some(VenueEvent::Refused { message: number, named, reject })
            }
            _ => None,
        }
    }

    fn report(
        &mut self,
        message: &Received<'_>,
        known: &mut KnownOrders,
    ) -> Result<VenueEvent, Unreadable> {
        let status = message.value(39).ok_or(Unreadable)?;
        let told = byte(status).map(OrdStatus::from_byte).and_then(state_of);
        let exec_type = message.value(150).map_or(Some(b'I'), byte);
        let price = |tag| {
            let text = message.value(tag);
            text.map(|text| Price::parse(text).map_err(|_| Unreadable)).transpose()
        };
        let (last, total, order_qty) =
            (quantity(message, 32)?, quantity(message, 14)?, quantity(message, 38)?);
        let (last_price, order_price) = (price(31)?, price(44)?);
        let order = order_of(message, known);
        let of_all = self.of_all(message, order.is_none() && told == Some(OrderState::Rejected));
        let names_question = message.value(584).is_some();
        let is_unasked = names_question || message.value(58) == Some(NOTIFICATION);
        let meaning = meaning(exec_type, told, message.value(103), names_question);
        // What others say with an event of its own is told by the request that it answers.
        let answered = order
            .filter(|_| !is_unasked && meaning.is_some_and(Meaning::may_answer))
            .and_then(|order| known.answered(order));
        let request = order.map(|order| RequestId { order, version: 0 });
        let reject = match meaning {
            Some(Meaning::Happened(E::Rejected)) => {
                let reason = message.value(103).and_then(number).and_then(|it| it.try_into().ok());
                rejects::of_order(reason, words(message))
            }
            _ => VenueReject::Other,
        };
        if answered == Some(Asked::Modify) && meaning == Some(Meaning::Happened(E::Rejected)) {
            // A replacement was refused, not the order: where that stands is to be asked. ClOrdID
            // (11) of a refusal is no order's name.
            let (kind, is_over) = (Some(RequestKind::Modify), true);
            let refused = ChangeRefused { request, kind, told, is_over, venue_id: None, reject };
            return Ok(VenueEvent::ChangeRefused(refused));
        }
        let event = match (meaning, answered) {
            (Some(Meaning::Stands(_)), Some(Asked::Create)) => Some(E::Accepted),
            (Some(Meaning::Stands(_)), Some(Asked::Modify)) => Some(E::Replaced),
            (Some(Meaning::Stands(state)), None) => Some(E::Status(state)),
            (Some(Meaning::Happened(event)), _) => Some(event),
            (None, _) => None,
        };
        if let (Some(order), false) = (order, told == Some(OrderState::Rejected)) {
            known.name(order, venue_id(message).unwrap_or_default());
        }
        // Trades have reports of their own, behind the answer: it does not count them too.
        let counts = answered.is_none();
        let is_answer = names_question || event == Some(E::NotFound);
        Ok(VenueEvent::Report(VenueReport {
            request,
            answers_oldest: answered == Some(Asked::Modify),
            event,
            is_answer,
            told: told.filter(|_| counts),
            is_strange: told.is_none() || meaning.is_none(),
            of_all,
            last: last.unwrap_or(Qty::ZERO),
            price: last_price,
            total: total.filter(|_| counts),
            average: message.value(6).and_then(|text| Price::parse(text).ok()),
            order_qty,
            order_price,
            exec_id: message
                .value(527)
                .or_else(|| message.value(17))
                .map_or(ExecId::NONE, ExecId::new),
            venue_id: venue_id(message).and_then(LongText::new),
            charges: charges(message),
            reject,
            exchange_time: message.value(60).and_then(parse_timestamp).unwrap_or_default(),
            ..VenueReport::NOTHING
        }))
    }

    /// What a report is to the question about all orders, whose answers are counted: one of them,
    /// or that there are none.
    fn of_all(&mut self, message: &Received<'_>, is_refusal: bool) -> OfAll {
        let (Some(id), Some(question)) = (message.value(584), self.question) else {
            return OfAll::No;
        };
        if question.as_bytes() != id {
            return OfAll::No;
        }
        let total = message.value(911).and_then(number);
        let is_nothing = is_refusal || total == Some(0);
        self.answers += u64::from(!is_nothing);
        let is_last = message.value(912) == Some(b"Y");
        if is_nothing || is_last || total.is_some_and(|total| self.answers >= total) {
            (self.question, self.all_told) = (None, true);
        }
        if is_nothing { OfAll::Nothing } else { OfAll::One }
    }
}

/// What a report means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The order stands so.
    Stands(OrderState),
    Happened(E),
}

impl Meaning {
    /// Whether it can be the answer to a new order or to a modify.
    const fn may_answer(self) -> bool {
        matches!(self, Self::Stands(_) | Self::Happened(E::Rejected))
    }
}

/// | ExecType (150) | meaning |
/// |---|---|
/// | I, and one that is absent | it stands as OrdStatus (39) says; cancelled is an event |
/// | 0 New, F Trade, 4 Canceled, 5 Replaced, 6 PendingCancel | as they say |
/// | C Expired, 3 DoneForDay | as they say |
/// | 7, of a stop whose price was reached | restated |
/// | 8 Rejected | rejected; of a question, there is no such order |
fn meaning(
    exec_type: Option<u8>,
    told: Option<OrderState>,
    reason: Option<&[u8]>,
    is_answer: bool,
) -> Option<Meaning> {
    let is_rejected = exec_type == Some(b'8') || told == Some(OrderState::Rejected);
    Some(match exec_type? {
        _ if is_rejected && (is_answer || reason == Some(UNKNOWN_ORDER)) => {
            Meaning::Happened(E::NotFound)
        }
        _ if is_rejected => Meaning::Happened(E::Rejected),
        b'0' => Meaning::Happened(E::Accepted),
        b'F' => Meaning::Happened(E::Traded),
        b'4' => Meaning::Happened(E::Cancelled),
        b'5' => Meaning::Happened(E::Replaced),
        b'6' => Meaning::Happened(E::PendingChange),
        b'C' => Meaning::Happened(E::Expired),
        b'3' => Meaning::Happened(E::DoneForDay),
        b'7' => Meaning::Happened(E::Restated),
        b'I' => match told? {
            OrderState::Cancelled if !is_answer => Meaning::Happened(E::Cancelled),
            state => Meaning::Stands(state),
        },
        _ => return None,
    })
}

/// Commission (12), in the instrument's currency, without a CommType (13).
fn charges(message: &Received<'_>) -> Charges {
    let Some(text) = message.value(12) else { return Charges::NONE };
    let commission = Price::parse(text).ok();
    Charges { commission, is_mixed: commission.is_none(), ..Charges::NONE }
}

/// A request to cancel or to replace that was refused. It names the order, as we or as the venue
/// calls it.
fn refused(message: &Received<'_>, known: &mut KnownOrders) -> ChangeRefused {
    // The end of the order may have crossed the request.
    let late = || [41, 11].into_iter().find_map(|tag| known.late_order_of(message.value(tag)?));
    let order = order_of(message, known).or_else(late);
    let kind = match message.value(434) {
        Some(b"1") => Some(RequestKind::Cancel),
        Some(b"2") => Some(RequestKind::Modify),
        _ => None,
    };
    if let Some(order) = order.filter(|_| kind != Some(RequestKind::Cancel)) {
        known.refused_to_modify(order);
    }
    let told = message.value(39).and_then(byte).map(OrdStatus::from_byte).and_then(state_of);
    ChangeRefused {
        request: order.map(|order| RequestId { order, version: 0 }),
        kind,
        told,
        // Too late, says the venue, or unknown.
        is_over: matches!(message.value(102), Some(b"0" | b"1"))
            || told.is_some_and(OrderState::is_done),
        venue_id: venue_id(message).and_then(LongText::new),
        reject: rejects::of_change(
            message.value(102).and_then(number).map(CancelRejectReason::from_code),
            words(message),
        ),
    }
}

/// The order of ours that a message names: in OrigClOrdID (41) as we called it, or as the venue
/// calls it in one of three places; or as a question named it.
fn order_of(message: &Received<'_>, known: &KnownOrders) -> Option<ClientOrderId> {
    let names = || [41, 11, 37, 584].into_iter().filter_map(|tag| message.value(tag));
    let ours = names().find_map(RequestId::from_text).map(|request| request.order);
    ours.or_else(|| names().find_map(|name| known.order_of(name)))
}

/// What the venue calls the order: ClOrdID (11), which is its own, or OrderID (37).
fn venue_id<'a>(message: &Received<'a>) -> Option<&'a [u8]> {
    let theirs = |name: &&[u8]| RequestId::from_text(name).is_none();
    message.value(11).filter(theirs).or_else(|| message.value(37))
}

/// A quantity, in units. In contracts it says how much one of them is: ContractMultiplier (231).
/// Without that nobody knows how much it is, but of nothing.
fn quantity(message: &Received<'_>, tag: i32) -> Result<Option<Qty>, Unreadable> {
    let Some(text) = message.value(tag) else { return Ok(None) };
    let qty = Qty::parse(text).map_err(|_| Unreadable)?;
    if qty.is_zero() || message.value(854) == Some(UNITS) {
        return Ok(Some(qty));
    }
    let multiplier = Qty::parse(message.value(231).ok_or(Unreadable)?).map_err(|_| Unreadable)?;
    times(qty, multiplier).map(Some).ok_or(Unreadable)
}

/// Exact, in as few decimals as it needs; nothing when it does not fit.
fn times(one: Qty, other: Qty) -> Option<Qty> {
    let mut mantissa = one.mantissa.checked_mul(other.mantissa)?;
    let mut decimals = one.decimals.checked_add(other.decimals)?;
    while decimals > 0 && mantissa % 10 == 0 {
        (mantissa, decimals) = (mantissa / 10, decimals - 1);
    }
    Some(Qty { mantissa, decimals })
}

/// Text (58).
fn words<'a>(message: &Received<'a>) -> &'a [u8] {
    message.value(58).unwrap_or_default()
}

/// The only byte of a value.
const fn byte(value: &[u8]) -> Option<u8> {
    match value {
        [byte] => Some(*byte),
        _ => None,
    }
}

fn number(text: &[u8]) -> Option<u64> {
    ShortText::new(text)?.to_u64()
}
