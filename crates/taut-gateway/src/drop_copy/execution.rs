//! One copy: an ExecutionReport (8) of the gateway's own.

use taut_fix::{ExecType, ExecutionReport, LongText, OrdStatus, TypedMessage, Writer};
use taut_oms::{Change, ExecId, Order, OrderState};
use taut_types::{Instrument, Lots, Nanos, OrderTerms, OrderType, Price, Qty, RequestId};

use crate::message::UpdateKind;
use crate::owner::Owner;

/// SecondaryClOrdID (526): the ClOrdID that the order was created with, through all its changes.
const SECONDARY_CL_ORD_ID: u32 = 526;
/// SecondaryExecID (527): the venue's ExecID.
const SECONDARY_EXEC_ID: u32 = 527;

/// Which message of the venue a copy is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The request that it names.
    pub(crate) request: RequestId,
    /// OrderID (37).
    pub(crate) order_id: Option<LongText>,
    /// ExecID (17).
    pub(crate) exec_id: ExecId,
    /// TransactTime (60), UTC; 0 when it does not say.
    pub(crate) exchange_time: Nanos,
}

impl Origin {
    /// No message: the gateway itself noticed.
    pub(crate) const fn none(request: RequestId) -> Self {
        Self { request, order_id: None, exec_id: ExecId::NONE, exchange_time: Nanos::ZERO }
    }
}

/// What happened to an order, as it stood then.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    request: RequestId,
    /// Whose the order was then.
    owner: Owner,
    terms: OrderTerms,
    exec_type: ExecType,
    status: OrdStatus,
    /// A trade, or one that was taken back.
    last: Option<(Price, Lots)>,
    open: Lots,
    filled: Lots,
    average: Option<Price>,
    order_id: Option<LongText>,
    venue_exec_id: ExecId,
    exchange_time: Nanos,
}

impl Execution {
    /// The copies of what a message of the venue did.
    pub(crate) fn all_of(
        order: &Order,
        change: &Change,
        told: Option<UpdateKind>,
        origin: &Origin,
    ) -> impl Iterator<Item = Self> {
        let version = match origin.request.version {
            0 => order.version_accepted.max(1),
            named => named,
        };
        let after = Self {
            request: RequestId { order: order.id, version },
            owner: order.owner,
            terms: order.terms,
            exec_type: ExecType::OrderStatus,
            status: status_of(order),
            last: None,
            open: order.lots_open(),
            filled: order.traded.lots,
            average: order.average_price(),
            order_id: origin.order_id,
            venue_exec_id: origin.exec_id,
            exchange_time: origin.exchange_time,
        };
        // The total of each trade is that before the trades behind it.
        let fills = change.fills.iter().flatten();
        let mut later: i64 = fills.clone().map(|fill| fill.lots.0).sum();
        let trades = fills.map(move |fill| {
            later -= fill.lots.0;
            let is_taken_back = fill.lots < Lots::ZERO;
            Self {
                exec_type: if is_taken_back { ExecType::TradeCancel } else { ExecType::Trade },
                last: Some((fill.price, Lots(fill.lots.0.saturating_abs()))),
                filled: Lots(after.filled.0 - later),
                ..after
            }
        });
        let other = told.and_then(exec_type_of).map(|exec_type| Self { exec_type, ..after });
        trades.chain(other)
    }

    /// As the message with this ExecID (17); nothing when a quantity of it cannot be written.
    pub(crate) fn report<'a>(
        &self,
        exec_id: u64,
        instrument: &Instrument,
        text: &'a [u8],
        utc: Nanos,
    ) -> Option<DropCopy<'a>> {
        let qty = |lots| instrument.qty(lots).ok();
        let id = |request: RequestId| LongText::new(&request.to_text());
        let OrderTerms { account, side, order_type, price, lots, .. } = self.terms;
        let report = ExecutionReport {
            order_id: self.order_id.or_else(|| LongText::new(b"NONE"))?,
            exec_id: LongText::from_u64(exec_id),
            exec_ref_id: None,
            exec_trans_type: None,
            cl_ord_id: id(self.request),
            orig_cl_ord_id: None,
            account: Some(LongText::from_u64(account.0.into())),
            exec_type: self.exec_type,
            ord_status: self.status,
            symbol: LongText::new(instrument.symbol().as_str().as_bytes()),
            side,
            order_qty: qty(lots),
            price: (order_type == OrderType::Limit).then_some(price),
            last_qty: self.last.map_or(Some(Qty::ZERO), |(_, lots)| qty(lots))?,
            last_price: self.last.map(|(price, _)| price),
            leaves_qty: qty(self.open)?,
            cum_qty: qty(self.filled)?,
            avg_price: Some(self.average.unwrap_or_default()),
            ord_rej_reason: None,
            text,
            transact_time: Some(if self.exchange_time == Nanos::ZERO {
                utc
            } else {
                self.exchange_time
            }),
            mass_status: None,
            charges: taut_fix::Charges::NONE,
        };
        Some(DropCopy {
            report,
            created_as: id(RequestId::create(self.request.order)),
            venue_exec_id: LongText::new(self.venue_exec_id.as_bytes()),
        })
    }

    /// What it is about.
    pub(crate) const fn terms(&self) -> &OrderTerms {
        &self.terms
    }

    /// Whose order it is.
    pub(crate) const fn owner(&self) -> Owner {
        self.owner
    }
}

/// An ExecutionReport with what only a copy says.
#[derive(Debug)]
pub struct DropCopy<'a> {
    report: ExecutionReport<'a>,
    created_as: Option<LongText>,
    venue_exec_id: Option<LongText>,
}

impl TypedMessage for DropCopy<'_> {
    const MSG_TYPE: &'static [u8] = b"8";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        self.report.encode_body(writer);
        if let Some(id) = &self.created_as {
            writer.short::<SECONDARY_CL_ORD_ID, 39>(id);
        }
        if let Some(id) = &self.venue_exec_id {
            writer.short::<SECONDARY_EXEC_ID, 39>(id);
        }
    }
}

/// ExecType (150) of what an owner is told besides trades; what is no execution has none.
const fn exec_type_of(told: UpdateKind) -> Option<ExecType> {
    Some(match told {
        UpdateKind::Accepted => ExecType::New,
        UpdateKind::Rejected(_) => ExecType::Rejected,
        UpdateKind::Cancelled => ExecType::Canceled,
        UpdateKind::Expired => ExecType::Expired,
        UpdateKind::Replaced => ExecType::Replaced,
        UpdateKind::Restated => ExecType::Restated,
        UpdateKind::DoneForDay => ExecType::DoneForDay,
        _ => return None,
    })
}

/// OrdStatus (39).
fn status_of(order: &Order) -> OrdStatus {
    match order.state {
        OrderState::Filled => OrdStatus::Filled,
        OrderState::Cancelled => OrdStatus::Canceled,
        OrderState::Expired => OrdStatus::Expired,
        OrderState::Rejected => OrdStatus::Rejected,
        OrderState::DoneForDay => OrdStatus::DoneForDay,
        OrderState::Suspended => OrdStatus::Suspended,
        OrderState::Stopped => OrdStatus::Stopped,
        _ if order.traded.lots > Lots::ZERO => OrdStatus::PartiallyFilled,
        OrderState::Working => OrdStatus::New,
        _ => OrdStatus::PendingNew,
    }
}
