//! What the venue's reports do to our orders, each of them once.

use taut_fix::{ExecType, ExecutionReport, LongText, OrderCancelReject};
use taut_oms::{Amount, Order, OrderEvent, OrderTable, RecentIds, Risk};
use taut_types::{
    ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, RequestId,
};

use crate::error::GatewayError;
use crate::message::{OrderUpdate, UpdateKind};
use crate::regions::Recorders;

/// Reports whose ids are remembered. A fill that is older is known by what its order has traded.
const REPORTS_REMEMBERED: usize = 16_384;
/// Refused cancels whose ids are remembered.
const REJECTS_REMEMBERED: usize = 1_024;

/// What was reported so far, so that a report marked PossResend (97) is told from a new one.
#[derive(Debug)]
pub(crate) struct Reports {
    /// Quantities come in their units, and orders are counted in their lots.
    instruments: Box<[Instrument]>,
    /// ExecID (17) of reports.
    executions: RecentIds<LongText>,
    /// ClOrdID (11) of requests whose refusal was told: a refusal has no ExecID.
    rejects: RecentIds<LongText>,
    repeated: u64,
}

impl Reports {
    pub(crate) fn new(instruments: &[Instrument]) -> Self {
        Self {
            instruments: instruments.into(),
            executions: RecentIds::with_capacity(REPORTS_REMEMBERED),
            rejects: RecentIds::with_capacity(REJECTS_REMEMBERED),
            repeated: 0,
        }
    }

    /// Reports that were sent again, and changed nothing.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// What an execution report does to its order; nothing when it may have been sent before
    /// (`poss_resend`) and was. A report that answers nothing of ours ends the run: our view of our
    /// own orders would be wrong from there on.
    pub(crate) fn execution(
        &mut self,
        table: &mut OrderTable,
        risk: &mut Risk,
        recorders: &mut Recorders<'_>,
        received: Nanos,
        poss_resend: bool,
        report: &ExecutionReport<'_>,
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        if poss_resend && self.is_repeated(table, report) {
            return Ok(None);
        }
        self.executions.insert(report.exec_id);
        let id = order_of(report).ok_or(GatewayError::Contradiction)?;
        let instrument = table.get(id).map(|order| order.terms.instrument);
        let lots = self.lots(instrument, report.last_qty)?;
        let Some((event, kind)) = meaning(report, lots) else { return Ok(None) };
        let (order, closed) =
            table.apply(id, event, lots).map_err(|_| GatewayError::Contradiction)?;
        match event {
            OrderEvent::Accepted | OrderEvent::Rejected => {
                let round_trip = received.since(order.sent_at).0.unsigned_abs();
                recorders.round_trip.record(round_trip);
            }
            OrderEvent::PartlyFilled | OrderEvent::Filled => {
                let price = report.last_price.unwrap_or_default();
                risk.filled(&order.terms, lots, price, Amount::ZERO);
            }
            _ => {}
        }
        if order.state.is_done() {
            risk.ended(id, &order.terms, closed);
        }
        Ok(Some(update(&order, kind, report.transact_time.unwrap_or_default())))
    }

    /// The venue refused a cancel: the order works on, or had ended before.
    pub(crate) fn cancel_reject(
        &mut self,
        table: &mut OrderTable,
        risk: &mut Risk,
        poss_resend: bool,
        reject: &OrderCancelReject<'_>,
    ) -> Result<Option<OrderUpdate>, GatewayError> {
        if poss_resend && self.rejects.contains(&reject.cl_ord_id) {
            self.repeated += 1;
            return Ok(None);
        }
        self.rejects.insert(reject.cl_ord_id);
        let id = reject
            .orig_cl_ord_id
            .and_then(|id| order_id(&id))
            .ok_or(GatewayError::Contradiction)?;
        let (order, closed) = table
            .apply(id, OrderEvent::CancelRejected, Lots::ZERO)
            .map_err(|_| GatewayError::Contradiction)?;
        if order.state.is_done() {
            risk.ended(id, &order.terms, closed);
        }
        Ok(Some(update(&order, UpdateKind::CancelRejected, Nanos::ZERO)))
    }

    /// Whether a report that may have been sent before was applied before; counts it if so.
    #[cold]
    fn is_repeated(&mut self, table: &OrderTable, report: &ExecutionReport<'_>) -> bool {
        let is_repeated =
            self.executions.contains(&report.exec_id) || self.is_counted(table, report);
        self.repeated += u64::from(is_repeated);
        is_repeated
    }

    /// Whether a fill is in its order already: the total after it (CumQty, 14) is no more than what
    /// has traded.
    fn is_counted(&self, table: &OrderTable, report: &ExecutionReport<'_>) -> bool {
        let order = order_of(report).and_then(|id| table.get(id));
        report.exec_type == ExecType::Trade
            && order.is_some_and(|order| {
                let traded = order.terms.lots.0 - order.lots_open.0 - order.lots_closed.0;
                let instrument = Some(order.terms.instrument);
                self.lots(instrument, report.cum_qty).is_ok_and(|total| total.0 <= traded)
            })
    }

    /// A quantity of the wire in lots; what is no whole number of them is none of our orders'.
    fn lots(&self, of: Option<InstrumentId>, qty: Qty) -> Result<Lots, GatewayError> {
        of.and_then(|instrument| self.instruments.get(instrument.0 as usize))
            .and_then(|instrument| instrument.lots(qty).ok())
            .ok_or(GatewayError::Contradiction)
    }
}

/// What its owner is told of an order.
pub(crate) fn update(order: &Order, kind: UpdateKind, exchange_time: Nanos) -> OrderUpdate {
    let OrderTerms { instrument, account, lots, .. } = order.terms;
    OrderUpdate {
        id: order.id,
        version: 1,
        instrument,
        account,
        kind,
        state: order.state,
        lots_open: order.lots_open,
        lots_filled: Lots(lots.0 - order.lots_open.0 - order.lots_closed.0),
        exchange_time,
    }
}

/// The order whose request has this ClOrdID.
fn order_id(cl_ord_id: &LongText) -> Option<ClientOrderId> {
    RequestId::from_text(cl_ord_id.as_bytes()).map(|request| request.order)
}

/// Which order of ours a report is about.
fn order_of(report: &ExecutionReport<'_>) -> Option<ClientOrderId> {
    order_id(&report.orig_cl_ord_id.or(report.cl_ord_id)?)
}

/// A report as an event of its order's life; `None` when it is none.
fn meaning(report: &ExecutionReport<'_>, lots: Lots) -> Option<(OrderEvent, UpdateKind)> {
    Some(match report.exec_type {
        ExecType::New => (OrderEvent::Accepted, UpdateKind::Accepted),
        ExecType::Rejected => (OrderEvent::Rejected, UpdateKind::Rejected),
        ExecType::Trade => {
            let price = report.last_price.unwrap_or(Price(0));
            let event = if report.leaves_qty.is_zero() {
                OrderEvent::Filled
            } else {
                OrderEvent::PartlyFilled
            };
            (event, UpdateKind::Filled { price, lots })
        }
        ExecType::Canceled if report.orig_cl_ord_id.is_some() => {
            (OrderEvent::Cancelled, UpdateKind::Cancelled)
        }
        ExecType::Canceled | ExecType::Expired => (OrderEvent::Expired, UpdateKind::Expired),
        _ => return None,
    })
}
