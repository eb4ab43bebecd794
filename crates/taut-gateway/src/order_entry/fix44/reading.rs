//! What the venue's messages say.

use taut_fix::{
    ExecutionReport, FixError, Hooks, LongText, NO_POSITIONS, OrderCancelReject, OrderFlow, Outbox,
    PositionReport, Received, RequestForPositionsAck, ShortText, Store,
};
use taut_oms::{ExecId, OrderEvent as E, OrderState, VenueReject};
use taut_types::RequestId;

use super::meaning::{meaning, state_of};
use super::rejects;
use crate::order_entry::fix::request_of;
use crate::order_entry::handler::{ChangeRefused, OfAll, VenueEvent, VenuePosition, VenueReport};

/// Reads the messages of the application, and counts the answers to the question about all orders.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// How often all were asked about: the id of the last question.
    questions: u64,
    /// The question whose answers come.
    question: Option<ShortText>,
    /// Its answers so far.
    answers: u32,
    /// A question has all of its answers, which is still to be told.
    all_told: Option<VenueEvent>,
    /// The question for positions whose answers come, and its answers so far.
    position_question: Option<ShortText>,
    positions: u32,
    /// How many there are, where its acknowledgement said so.
    positions_total: Option<u32>,
}

impl Reading {
    /// MassStatusReqID (584) of the next question about all orders.
    pub(super) fn next_question(&mut self) -> ShortText {
        self.questions += 1;
        let id = ShortText::from_u64(self.questions);
        (self.question, self.answers, self.all_told) = (Some(id), 0, None);
        id
    }

    /// PosReqID (710) of the next question for positions.
    pub(super) fn next_position_question(&mut self) -> ShortText {
        self.questions += 1;
        let id = ShortText::from_u64(self.questions);
        (self.position_question, self.positions, self.all_told) = (Some(id), 0, None);
        self.positions_total = None;
        id
    }

    /// That a question has just got the last of its answers.
    #[inline]
    pub(super) const fn take_all_told(&mut self) -> Option<VenueEvent> {
        self.all_told.take()
    }

    /// A message of the application; what is not for a gateway, or cannot be read, is refused.
    #[inline]
    pub(crate) fn application<S: Store, H: Hooks>(
        &mut self,
        message: &Received<'_>,
        sequence: u64,
        is_resend: bool,
        outbox: &mut Outbox<'_, S, H>,
    ) -> Option<VenueEvent> {
        let read = message.order_flow();
        match &read {
            // Nothing else is for a gateway.
            Ok(flow) if !is_ours(flow) => outbox.refuse_type(sequence, message.msg_type()),
            Err(error) => outbox.refuse_content(sequence, message.msg_type(), *error),
            Ok(_) => {}
        }
        self.read(message, &read, is_resend)
    }

    /// The venue's Reject (3), which is a message of the session.
    pub(super) fn rejected(&mut self, message: &Received<'_>) -> Option<VenueEvent> {
        self.read(message, &message.order_flow(), false)
    }

    #[inline]
    fn read(
        &mut self,
        message: &Received<'_>,
        read: &Result<OrderFlow<'_>, FixError>,
        is_resend: bool,
    ) -> Option<VenueEvent> {
        match read {
            Ok(OrderFlow::ExecutionReport(report)) => {
                Some(VenueEvent::Report(self.execution(report, is_resend)))
            }
            Ok(OrderFlow::OrderCancelReject(reject)) => {
                Some(VenueEvent::ChangeRefused(refused(reject)))
            }
            Ok(OrderFlow::Reject(reject)) => {
                let (message, reject) = (reject.ref_sequence, rejects::by_words(reject.text));
                Some(VenueEvent::Refused { message, named: None, reject })
            }
            Ok(OrderFlow::BusinessMessageReject(reject)) => {
                let named = reject.ref_id.and_then(|id| RequestId::from_text(id.as_bytes()));
                let (message, reject) = (reject.ref_sequence, rejects::of_business(reject));
                Some(VenueEvent::Refused { message, named, reject })
            }
            Ok(OrderFlow::PositionReport(report)) => self.position(report),
            Ok(OrderFlow::RequestForPositionsAck(ack)) => self.acknowledged(ack),
            Ok(_) => None,
            // What an account holds is as good as not told.
            Err(_) if matches!(message.msg_type(), b"AO" | b"AP") => {
                self.position_question.take().map(|_| VenueEvent::PositionsRefused)
            }
            Err(_) => {
                let is_report = matches!(message.msg_type(), b"8" | b"9");
                let named = || message.value(11).or_else(|| message.value(41));
                is_report.then(|| VenueEvent::Unreadable(named().and_then(RequestId::from_text)))
            }
        }
    }

    /// One of the answers to the question for positions.
    fn position(&mut self, report: &PositionReport) -> Option<VenueEvent> {
        let is_asked = |id: LongText| self.is_position_question(&id);
        if !report.request_id.is_some_and(is_asked) {
            return None;
        }
        self.positions += 1;
        let total = report.total.or(self.positions_total);
        let is_last = total.is_some_and(|total| self.positions >= total);
        let is_one = report.result == 0 && total.is_some();
        // Nobody would know which report is the last one.
        let Some(symbol) = report.symbol.filter(|_| is_one) else {
            self.position_question = None;
            return Some(match report.result {
                NO_POSITIONS => VenueEvent::AllPositionsTold,
                _ => VenueEvent::PositionsRefused,
            });
        };
        if is_last {
            (self.position_question, self.all_told) = (None, Some(VenueEvent::AllPositionsTold));
        }
        Some(VenueEvent::Position(VenuePosition {
            account: report.account,
            symbol,
            long: report.long,
            short: report.short,
            price: report.settlement_price,
        }))
    }

    /// What is to be said of the question for positions, before its answers or instead of them.
    fn acknowledged(&mut self, ack: &RequestForPositionsAck) -> Option<VenueEvent> {
        if ack.request_id.is_some_and(|id| !self.is_position_question(&id)) {
            return None;
        }
        self.positions_total = ack.total;
        let is_over = ack.is_refused || ack.result != 0;
        self.position_question.take_if(|_| is_over)?;
        Some(match ack.result {
            NO_POSITIONS => VenueEvent::AllPositionsTold,
            _ => VenueEvent::PositionsRefused,
        })
    }

    fn is_position_question(&self, id: &LongText) -> bool {
        self.position_question.is_some_and(|own| own.as_bytes() == id.as_bytes())
    }

    #[inline]
    pub(crate) fn execution(
        &mut self,
        report: &ExecutionReport<'_>,
        is_resend: bool,
    ) -> VenueReport {
        let request = request_of(report.cl_ord_id.as_ref()).or_else(|| {
            let original = request_of(report.orig_cl_ord_id.as_ref())?;
            Some(RequestId { version: 0, ..original })
        });
        let meaning = meaning(report);
        VenueReport {
            request,
            answers_oldest: false,
            event: meaning.event,
            is_answer: matches!(meaning.event, Some(E::Status(_) | E::NotFound)),
            told: meaning.told,
            is_strange: meaning.is_strange,
            is_resend,
            of_all: self.of_all(report, meaning.told),
            last: report.last_qty,
            price: report.last_price,
            total: Some(report.cum_qty),
            average: report.avg_price,
            order_qty: report.order_qty,
            order_price: report.price,
            exec_id: ExecId::new(report.exec_id.as_bytes()),
            exec_ref: report.exec_ref_id.map_or(ExecId::NONE, |it| ExecId::new(it.as_bytes())),
            venue_id: Some(report.order_id),
            account: report.account,
            exchange_time: report.transact_time.unwrap_or_default(),
            charges: report.charges,
            reject: match meaning.event {
                Some(E::Rejected) => rejects::of_order(report.ord_rej_reason, report.text),
                _ => VenueReject::Other,
            },
        }
    }

    /// What a report is to the question about all orders, whose answers are counted.
    #[inline]
    fn of_all(&mut self, report: &ExecutionReport<'_>, told: Option<OrderState>) -> OfAll {
        let Some(mass) = &report.mass_status else { return OfAll::No };
        let is_nothing = told == Some(OrderState::Rejected) && mass.total.unwrap_or(0) == 0;
        let is_answer = self.question.is_some_and(|id| id.as_bytes() == mass.request_id.as_bytes());
        if is_answer {
            self.answers += 1;
            if mass.is_last || mass.total.is_some_and(|total| self.answers >= total) {
                (self.question, self.all_told) = (None, Some(VenueEvent::AllTold));
            }
        }
        match (is_nothing, is_answer) {
            (true, _) => OfAll::Nothing,
            (false, true) => OfAll::One,
            (false, false) => OfAll::No,
        }
    }
}

/// A request to cancel or to replace that was refused. A venue may name the order alone: then it is
/// the request under way.
fn refused(reject: &OrderCancelReject<'_>) -> ChangeRefused {
    let request = request_of(Some(&reject.cl_ord_id)).or_else(|| {
        let original = request_of(reject.orig_cl_ord_id.as_ref())?;
        Some(RequestId { version: 0, ..original })
    });
    ChangeRefused {
        request,
        kind: None,
        told: state_of(reject.ord_status),
        // Too late, says the venue, or unknown.
        is_over: reject.reason.is_some_and(|reason| reason.code() < 2),
        venue_id: Some(reject.order_id),
        reject: rejects::of_change(reject.reason, reject.text),
    }
}

/// Whether a message is for who sends orders.
const fn is_ours(flow: &OrderFlow<'_>) -> bool {
    matches!(
        flow,
        OrderFlow::ExecutionReport(_)
            | OrderFlow::OrderCancelReject(_)
            | OrderFlow::BusinessMessageReject(_)
            | OrderFlow::Reject(_)
            | OrderFlow::OrderMassCancelReport(_)
            | OrderFlow::RequestForPositionsAck(_)
            | OrderFlow::PositionReport(_)
    )
}
