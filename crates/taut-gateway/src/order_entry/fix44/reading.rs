//! What the venue's messages say.

use taut_fix::{
    ExecutionReport, FixError, Hooks, OrderCancelReject, OrderFlow, Outbox, Received, ShortText,
    Store,
};
use taut_oms::{ExecId, OrderEvent as E, OrderState};
use taut_types::RequestId;

use super::meaning::{meaning, state_of};
use crate::order_entry::fix::request_of;
use crate::order_entry::handler::{ChangeRefused, OfAll, VenueEvent, VenueReport};

/// Reads the messages of the application, and counts the answers to the question about all orders.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// How often all were asked about: the id of the last question.
    questions: u64,
    /// The question whose answers come.
    question: Option<ShortText>,
    /// Its answers so far.
    answers: u32,
    /// It has all of them, which is still to be told.
    all_told: bool,
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

    /// A message of the application; what is not for a gateway, or cannot be read, is refused.
    #[inline]
    pub(super) fn application<S: Store, H: Hooks>(
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
                Some(VenueEvent::Refused { message: reject.ref_sequence, named: None })
            }
            Ok(OrderFlow::BusinessMessageReject(reject)) => {
                let named = reject.ref_id.and_then(|id| RequestId::from_text(id.as_bytes()));
                Some(VenueEvent::Refused { message: reject.ref_sequence, named })
            }
            Ok(_) => None,
            Err(_) => {
                let is_report = matches!(message.msg_type(), b"8" | b"9");
                let named = || message.value(11).or_else(|| message.value(41));
                is_report.then(|| VenueEvent::Unreadable(named().and_then(RequestId::from_text)))
            }
        }
    }

    #[inline]
    fn execution(&mut self, report: &ExecutionReport<'_>, is_resend: bool) -> VenueReport {
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
                (self.question, self.all_told) = (None, true);
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
    )
}
