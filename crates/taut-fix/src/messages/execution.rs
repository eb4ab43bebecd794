//! Answers of the selling side: ExecutionReport and OrderCancelReject.

use taut_types::{Nanos, Price, Qty, Side};

use crate::codec::body::Body;
use crate::codec::fields::required;
use crate::codec::tag;
use crate::codec::text::LongText;
use crate::codec::writer::{PriceText, Writer};
use crate::error::FixError;
use crate::messages::charges::Charges;
use crate::messages::values::{
    CancelRejectReason, ExecTransType, ExecType, OrdStatus, ResponseTo, report_side_from_byte,
    side_to_byte,
};

/// ExecutionReport (8): what became of an order. What the standard lets a venue leave out in one of
/// its versions is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport<'a> {
    /// OrderID (37), the venue's; by custom `NONE` when an order was refused without one.
    pub order_id: LongText,
    /// ExecID (17), unique among the venue's reports of a day; `0` in an answer to a status
    /// request.
    pub exec_id: LongText,
    /// ExecRefID (19): the trade that is cancelled or corrected.
    pub exec_ref_id: Option<LongText>,
    /// ExecTransType (20) of FIX 4.2 and before.
    pub exec_trans_type: Option<ExecTransType>,
    /// ClOrdID (11): of the order, or of the request that this answers. Absent when the order came
    /// another way.
    pub cl_ord_id: Option<LongText>,
    /// OrigClOrdID (41), when this answers a cancel or a replacement.
    pub orig_cl_ord_id: Option<LongText>,
    /// Account (1).
    pub account: Option<LongText>,
    /// ExecType (150).
    pub exec_type: ExecType,
    /// OrdStatus (39).
    pub ord_status: OrdStatus,
    /// Symbol (55).
    pub symbol: Option<LongText>,
    /// Side (54).
    pub side: Side,
    /// OrderQty (38).
    pub order_qty: Option<Qty>,
    /// Price (44), of the order.
    pub price: Option<Price>,
    /// LastQty (32; LastShares in FIX 4.2) of this trade; 0, which is not written, when it is none.
    pub last_qty: Qty,
    /// LastPx (31) of this trade.
    pub last_price: Option<Price>,
    /// LeavesQty (151): still open.
    pub leaves_qty: Qty,
    /// CumQty (14): traded so far.
    pub cum_qty: Qty,
    /// AvgPx (6) of what traded; 0 when nothing did.
    pub avg_price: Option<Price>,
    /// OrdRejReason (103), when the order was refused.
    pub ord_rej_reason: Option<u32>,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
    /// TransactTime (60), UTC.
    pub transact_time: Option<Nanos>,
    /// Whether this is one of the answers to an OrderMassStatusRequest (AF), and which.
    pub mass_status: Option<MassStatus>,
    /// Commission (12), MiscFees (136) and LastLiquidityInd (851) of this trade.
    pub charges: Charges,
}

/// Where a report stands among the answers to an OrderMassStatusRequest (AF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MassStatus {
    /// MassStatusReqID (584).
    pub request_id: LongText,
    /// TotNumReports (911): how many there are.
    pub total: Option<u32>,
    /// LastRptRequested (912): it is the last.
    pub is_last: bool,
}

impl<'a> ExecutionReport<'a> {
    /// The same with another Text (58): all else does not borrow.
    #[must_use]
    pub const fn with_text<'b>(&self, text: &'b [u8]) -> ExecutionReport<'b> {
        ExecutionReport {
            text,
            order_id: self.order_id,
            exec_id: self.exec_id,
            exec_ref_id: self.exec_ref_id,
            exec_trans_type: self.exec_trans_type,
            cl_ord_id: self.cl_ord_id,
            orig_cl_ord_id: self.orig_cl_ord_id,
            account: self.account,
            exec_type: self.exec_type,
            ord_status: self.ord_status,
            symbol: self.symbol,
            side: self.side,
            order_qty: self.order_qty,
            price: self.price,
            last_qty: self.last_qty,
            last_price: self.last_price,
            leaves_qty: self.leaves_qty,
            cum_qty: self.cum_qty,
            avg_price: self.avg_price,
            ord_rej_reason: self.ord_rej_reason,
            transact_time: self.transact_time,
            mass_status: self.mass_status,
            charges: self.charges,
        }
    }

    /// Reads a body. 14, 17, 37, 39, 54, 150 and 151 are required. AvgPx (6) with more decimals
    /// than a price has is left out: it is no exact number.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut order_id, mut exec_id, mut cl_ord_id) = (None, None, None);
        let (mut orig_cl_ord_id, mut exec_type, mut ord_status) = (None, None, None);
        let (mut symbol, mut side, mut order_qty, mut price) = (None, None, None, None);
        let (mut last_qty, mut last_price, mut leaves_qty) = (None, None, None);
        let (mut cum_qty, mut avg_price, mut ord_rej_reason) = (None, None, None);
        let (mut text, mut transact_time, mut account) = (None, None, None);
        let (mut exec_ref_id, mut exec_trans_type) = (None, None);
        let (mut mass_id, mut mass_total, mut mass_last) = (None, None, None);
        let mut charges = Charges::NONE;
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ORDER_ID => field.once(&mut order_id, field.short()?)?,
                tag::EXEC_ID => field.once(&mut exec_id, field.short()?)?,
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::ORIG_CL_ORD_ID => field.once(&mut orig_cl_ord_id, field.short()?)?,
                tag::EXEC_TYPE => field.once(&mut exec_type, ExecType::of(field.value))?,
                tag::ORD_STATUS => field.once(&mut ord_status, OrdStatus::of(field.value))?,
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(report_side_from_byte)?)?,
                tag::ORDER_QTY => field.once(&mut order_qty, field.qty()?)?,
                tag::PRICE => field.once(&mut price, field.price()?)?,
                tag::LAST_QTY => field.once(&mut last_qty, field.qty()?)?,
                tag::LAST_PX => field.once(&mut last_price, field.price()?)?,
                tag::LEAVES_QTY => field.once(&mut leaves_qty, field.qty()?)?,
                tag::CUM_QTY => field.once(&mut cum_qty, field.qty()?)?,
                tag::AVG_PX => field.once(&mut avg_price, field.price().ok())?,
                tag::ORD_REJ_REASON => field.once(&mut ord_rej_reason, field.number_u32()?)?,
                tag::TEXT => field.once(&mut text, field.value)?,
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                tag::ACCOUNT => field.once(&mut account, field.short()?)?,
                tag::EXEC_REF_ID => field.once(&mut exec_ref_id, field.short()?)?,
                tag::EXEC_TRANS_TYPE => {
                    field.once(&mut exec_trans_type, field.code(ExecTransType::from_byte)?)?;
                }
                tag::MASS_STATUS_REQ_ID => field.once(&mut mass_id, field.short()?)?,
                tag::TOT_NUM_REPORTS => field.once(&mut mass_total, field.number_u32()?)?,
                tag::LAST_RPT_REQUESTED => field.once(&mut mass_last, field.flag()?)?,
                tag::COMMISSION
                | tag::COMM_TYPE
                | tag::COMM_CURRENCY
                | tag::MISC_FEE_AMT
                | tag::MISC_FEE_CURR
                | tag::LAST_LIQUIDITY_IND => charges.take(&field)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            order_id: required(order_id, tag::ORDER_ID, end)?,
            exec_id: required(exec_id, tag::EXEC_ID, end)?,
            exec_type: required(exec_type, tag::EXEC_TYPE, end)?,
            ord_status: required(ord_status, tag::ORD_STATUS, end)?,
            side: required(side, tag::SIDE, end)?,
            leaves_qty: required(leaves_qty, tag::LEAVES_QTY, end)?,
            cum_qty: required(cum_qty, tag::CUM_QTY, end)?,
            exec_ref_id,
            exec_trans_type,
            cl_ord_id,
            orig_cl_ord_id,
            account,
            symbol,
            order_qty,
            price,
            last_qty: last_qty.unwrap_or(Qty::ZERO),
            last_price,
            avg_price: avg_price.flatten(),
            ord_rej_reason,
            text: text.unwrap_or(&[]),
            transact_time,
            mass_status: mass_id.map(|request_id| MassStatus {
                request_id,
                total: mass_total,
                is_last: mass_last.unwrap_or(false),
            }),
            charges,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if let Some(account) = &self.account {
            writer.short::<{ tag::ACCOUNT }, 39>(account);
        }
        // A fill at its order's limit has one price in three fields.
        let mut price = PriceText::new();
        if let Some(avg_price) = self.avg_price {
            writer.price_again::<{ tag::AVG_PX }>(avg_price, &mut price);
        }
        if let Some(cl_ord_id) = &self.cl_ord_id {
            writer.short::<{ tag::CL_ORD_ID }, 39>(cl_ord_id);
        }
        writer.qty::<{ tag::CUM_QTY }>(self.cum_qty);
        writer.short::<{ tag::EXEC_ID }, 39>(&self.exec_id);
        if let Some(exec_ref_id) = &self.exec_ref_id {
            writer.short::<{ tag::EXEC_REF_ID }, 39>(exec_ref_id);
        }
        if let Some(exec_trans_type) = self.exec_trans_type {
            writer.byte::<{ tag::EXEC_TRANS_TYPE }>(exec_trans_type.to_byte());
        }
        if let Some(last_price) = self.last_price {
            writer.price_again::<{ tag::LAST_PX }>(last_price, &mut price);
        }
        if !self.last_qty.is_zero() {
            writer.qty::<{ tag::LAST_QTY }>(self.last_qty);
        }
        writer.short::<{ tag::ORDER_ID }, 39>(&self.order_id);
        if let Some(order_qty) = self.order_qty {
            writer.qty::<{ tag::ORDER_QTY }>(order_qty);
        }
        writer.byte::<{ tag::ORD_STATUS }>(self.ord_status.to_byte());
        if let Some(orig_cl_ord_id) = &self.orig_cl_ord_id {
            writer.short::<{ tag::ORIG_CL_ORD_ID }, 39>(orig_cl_ord_id);
        }
        if let Some(limit) = self.price {
            writer.price_again::<{ tag::PRICE }>(limit, &mut price);
        }
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        if let Some(symbol) = &self.symbol {
            writer.short::<{ tag::SYMBOL }, 39>(symbol);
        }
        writer.text::<{ tag::TEXT }>(self.text);
        if let Some(transact_time) = self.transact_time {
            writer.timestamp::<{ tag::TRANSACT_TIME }>(transact_time);
        }
        if let Some(reason) = self.ord_rej_reason {
            writer.number::<{ tag::ORD_REJ_REASON }>(u64::from(reason));
        }
        writer.byte::<{ tag::EXEC_TYPE }>(self.exec_type.to_byte());
        writer.qty::<{ tag::LEAVES_QTY }>(self.leaves_qty);
        if let Some(mass_status) = &self.mass_status {
            mass_status.encode(writer);
        }
        if self.charges != Charges::NONE {
            self.charges.encode(writer);
        }
    }
}

impl MassStatus {
    #[cold]
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::MASS_STATUS_REQ_ID }, 39>(&self.request_id);
        if let Some(total) = self.total {
            writer.number::<{ tag::TOT_NUM_REPORTS }>(u64::from(total));
        }
        writer.flag::<{ tag::LAST_RPT_REQUESTED }>(self.is_last);
    }
}

/// OrderCancelReject (9): a request to cancel or to replace was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderCancelReject<'a> {
    /// OrderID (37); by custom `NONE` for an unknown order.
    pub order_id: LongText,
    /// ClOrdID (11) of the request.
    pub cl_ord_id: LongText,
    /// OrigClOrdID (41) that the request named; optional from FIX 5.0 on.
    pub orig_cl_ord_id: Option<LongText>,
    /// OrdStatus (39) of the order.
    pub ord_status: OrdStatus,
    /// CxlRejResponseTo (434).
    pub response_to: ResponseTo,
    /// CxlRejReason (102).
    pub reason: Option<CancelRejectReason>,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
}

impl<'a> OrderCancelReject<'a> {
    /// Reads a body. 11, 37, 39 and 434 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut order_id, mut cl_ord_id, mut orig_cl_ord_id) = (None, None, None);
        let (mut ord_status, mut response_to, mut reason, mut text) = (None, None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ORDER_ID => field.once(&mut order_id, field.short()?)?,
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::ORIG_CL_ORD_ID => field.once(&mut orig_cl_ord_id, field.short()?)?,
                tag::ORD_STATUS => field.once(&mut ord_status, OrdStatus::of(field.value))?,
                tag::CXL_REJ_RESPONSE_TO => {
                    field.once(&mut response_to, field.code(ResponseTo::from_byte)?)?;
                }
                tag::CXL_REJ_REASON => {
                    field.once(&mut reason, CancelRejectReason::from_code(field.number()?))?;
                }
                tag::TEXT => field.once(&mut text, field.value)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            order_id: required(order_id, tag::ORDER_ID, end)?,
            cl_ord_id: required(cl_ord_id, tag::CL_ORD_ID, end)?,
            orig_cl_ord_id,
            ord_status: required(ord_status, tag::ORD_STATUS, end)?,
            response_to: required(response_to, tag::CXL_REJ_RESPONSE_TO, end)?,
            reason,
            text: text.unwrap_or(&[]),
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 39>(&self.cl_ord_id);
        writer.short::<{ tag::ORDER_ID }, 39>(&self.order_id);
        writer.byte::<{ tag::ORD_STATUS }>(self.ord_status.to_byte());
        if let Some(orig_cl_ord_id) = &self.orig_cl_ord_id {
            writer.short::<{ tag::ORIG_CL_ORD_ID }, 39>(orig_cl_ord_id);
        }
        writer.text::<{ tag::TEXT }>(self.text);
        if let Some(reason) = self.reason {
            writer.number::<{ tag::CXL_REJ_REASON }>(u64::from(reason.code()));
        }
        writer.byte::<{ tag::CXL_REJ_RESPONSE_TO }>(self.response_to.to_byte());
    }
}
