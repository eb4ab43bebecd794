//! Answers of the selling side: ExecutionReport and OrderCancelReject.

use taut_types::{Nanos, Price, Qty, Side};

use crate::codec::body::Body;
use crate::codec::fields::{needed, required};
use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::writer::Writer;
use crate::error::FixError;
use crate::messages::values::{
    CancelRejectReason, ExecType, OrdStatus, ResponseTo, side_from_byte, side_to_byte,
};

/// ExecutionReport (8): what became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport<'a> {
    /// OrderID (37), the venue's; by custom `NONE` when an order was refused without one.
    pub order_id: ShortText,
    /// ExecID (17), unique among the venue's reports of a day.
    pub exec_id: ShortText,
    /// ClOrdID (11): of the order, or of the request that this answers.
    pub cl_ord_id: ShortText,
    /// OrigClOrdID (41), when this answers a cancel.
    pub orig_cl_ord_id: Option<ShortText>,
    /// ExecType (150).
    pub exec_type: ExecType,
    /// OrdStatus (39).
    pub ord_status: OrdStatus,
    /// Symbol (55).
    pub symbol: ShortText,
    /// Side (54).
    pub side: Side,
    /// OrderQty (38).
    pub order_qty: Qty,
    /// LastQty (32) of this trade; 0, which is not written, when it is none.
    pub last_qty: Qty,
    /// LastPx (31) of this trade.
    pub last_price: Option<Price>,
    /// LeavesQty (151): still open.
    pub leaves_qty: Qty,
    /// CumQty (14): traded so far.
    pub cum_qty: Qty,
    /// AvgPx (6) of what traded; 0 when nothing did.
    pub avg_price: Price,
    /// OrdRejReason (103), when the order was refused.
    pub ord_rej_reason: Option<u32>,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
    /// TransactTime (60), UTC.
    pub transact_time: Option<Nanos>,
}

impl<'a> ExecutionReport<'a> {
    /// Reads a body. 6, 14, 17, 37, 39, 54, 55, 150 and 151 are required, 11 and 38 conditionally.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut order_id, mut exec_id, mut cl_ord_id) = (None, None, None);
        let (mut orig_cl_ord_id, mut exec_type, mut ord_status) = (None, None, None);
        let (mut symbol, mut side, mut order_qty) = (None, None, None);
        let (mut last_qty, mut last_price, mut leaves_qty) = (None, None, None);
        let (mut cum_qty, mut avg_price, mut ord_rej_reason) = (None, None, None);
        let (mut text, mut transact_time) = (None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ORDER_ID => field.once(&mut order_id, field.short()?)?,
                tag::EXEC_ID => field.once(&mut exec_id, field.short()?)?,
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::ORIG_CL_ORD_ID => field.once(&mut orig_cl_ord_id, field.short()?)?,
                tag::EXEC_TYPE => field.once(&mut exec_type, field.code(ExecType::from_byte)?)?,
                tag::ORD_STATUS => {
                    field.once(&mut ord_status, field.code(OrdStatus::from_byte)?)?;
                }
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(side_from_byte)?)?,
                tag::ORDER_QTY => field.once(&mut order_qty, field.qty()?)?,
                tag::LAST_QTY => field.once(&mut last_qty, field.qty()?)?,
                tag::LAST_PX => field.once(&mut last_price, field.price()?)?,
                tag::LEAVES_QTY => field.once(&mut leaves_qty, field.qty()?)?,
                tag::CUM_QTY => field.once(&mut cum_qty, field.qty()?)?,
                tag::AVG_PX => field.once(&mut avg_price, field.price()?)?,
                tag::ORD_REJ_REASON => field.once(&mut ord_rej_reason, field.number_u32()?)?,
                tag::TEXT => field.once(&mut text, field.value)?,
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            order_id: required(order_id, tag::ORDER_ID, end)?,
            exec_id: required(exec_id, tag::EXEC_ID, end)?,
            exec_type: required(exec_type, tag::EXEC_TYPE, end)?,
            ord_status: required(ord_status, tag::ORD_STATUS, end)?,
            symbol: required(symbol, tag::SYMBOL, end)?,
            side: required(side, tag::SIDE, end)?,
            leaves_qty: required(leaves_qty, tag::LEAVES_QTY, end)?,
            cum_qty: required(cum_qty, tag::CUM_QTY, end)?,
            avg_price: required(avg_price, tag::AVG_PX, end)?,
            cl_ord_id: needed(cl_ord_id, tag::CL_ORD_ID)?,
            order_qty: needed(order_qty, tag::ORDER_QTY)?,
            orig_cl_ord_id,
            last_qty: last_qty.unwrap_or(Qty::ZERO),
            last_price,
            ord_rej_reason,
            text: text.unwrap_or(&[]),
            transact_time,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.price::<{ tag::AVG_PX }>(self.avg_price);
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        writer.qty::<{ tag::CUM_QTY }>(self.cum_qty);
        writer.short::<{ tag::EXEC_ID }, 23>(&self.exec_id);
        if let Some(last_price) = self.last_price {
            writer.price::<{ tag::LAST_PX }>(last_price);
        }
        if !self.last_qty.is_zero() {
            writer.qty::<{ tag::LAST_QTY }>(self.last_qty);
        }
        writer.short::<{ tag::ORDER_ID }, 23>(&self.order_id);
        writer.qty::<{ tag::ORDER_QTY }>(self.order_qty);
        writer.byte::<{ tag::ORD_STATUS }>(self.ord_status.to_byte());
        if let Some(orig_cl_ord_id) = &self.orig_cl_ord_id {
            writer.short::<{ tag::ORIG_CL_ORD_ID }, 23>(orig_cl_ord_id);
        }
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        writer.short::<{ tag::SYMBOL }, 23>(&self.symbol);
        writer.text::<{ tag::TEXT }>(self.text);
        if let Some(transact_time) = self.transact_time {
            writer.timestamp::<{ tag::TRANSACT_TIME }>(transact_time);
        }
        if let Some(reason) = self.ord_rej_reason {
            writer.number::<{ tag::ORD_REJ_REASON }>(u64::from(reason));
        }
        writer.byte::<{ tag::EXEC_TYPE }>(self.exec_type.to_byte());
        writer.qty::<{ tag::LEAVES_QTY }>(self.leaves_qty);
    }
}

/// OrderCancelReject (9): a cancel request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderCancelReject<'a> {
    /// OrderID (37); by custom `NONE` for an unknown order.
    pub order_id: ShortText,
    /// ClOrdID (11) of the request.
    pub cl_ord_id: ShortText,
    /// OrigClOrdID (41) that the request named.
    pub orig_cl_ord_id: ShortText,
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
    /// Reads a body. 11, 37, 39, 41 and 434 are required.
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
                tag::ORD_STATUS => {
                    field.once(&mut ord_status, field.code(OrdStatus::from_byte)?)?;
                }
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
            orig_cl_ord_id: required(orig_cl_ord_id, tag::ORIG_CL_ORD_ID, end)?,
            ord_status: required(ord_status, tag::ORD_STATUS, end)?,
            response_to: required(response_to, tag::CXL_REJ_RESPONSE_TO, end)?,
            reason,
            text: text.unwrap_or(&[]),
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        writer.short::<{ tag::ORDER_ID }, 23>(&self.order_id);
        writer.byte::<{ tag::ORD_STATUS }>(self.ord_status.to_byte());
        writer.short::<{ tag::ORIG_CL_ORD_ID }, 23>(&self.orig_cl_ord_id);
        writer.text::<{ tag::TEXT }>(self.text);
        if let Some(reason) = self.reason {
            writer.number::<{ tag::CXL_REJ_REASON }>(u64::from(reason.code()));
        }
        writer.byte::<{ tag::CXL_REJ_RESPONSE_TO }>(self.response_to.to_byte());
    }
}
