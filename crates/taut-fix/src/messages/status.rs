//! Requests about what stands at the selling side: the status of one order or of all, and the
//! cancellation of all.

use taut_types::{Nanos, Side};

use crate::codec::body::Body;
use crate::codec::fields::{needed, required};
use crate::codec::tag;
use crate::codec::text::{LongText, ShortText};
use crate::codec::writer::Writer;
use crate::error::FixError;
use crate::messages::values::{MassCancelType, MassStatusType, side_from_byte, side_to_byte};

/// OrderStatusRequest (H): where does an order stand?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatusRequest {
    /// ClOrdID (11) of the order.
    pub cl_ord_id: ShortText,
    /// Symbol (55).
    pub symbol: ShortText,
    /// Side (54).
    pub side: Side,
    /// OrdStatusReqID (790), echoed (from FIX 4.3 on).
    pub request_id: Option<ShortText>,
}

impl OrderStatusRequest {
    /// Reads a body. 11, 54 and 55 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut cl_ord_id, mut symbol, mut side, mut request_id) = (None, None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(side_from_byte)?)?,
                tag::ORD_STATUS_REQ_ID => field.once(&mut request_id, field.short()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            cl_ord_id: required(cl_ord_id, tag::CL_ORD_ID, end)?,
            symbol: required(symbol, tag::SYMBOL, end)?,
            side: required(side, tag::SIDE, end)?,
            request_id,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        writer.short::<{ tag::SYMBOL }, 23>(&self.symbol);
        if let Some(request_id) = &self.request_id {
            writer.short::<{ tag::ORD_STATUS_REQ_ID }, 23>(request_id);
        }
    }
}

/// OrderMassStatusRequest (AF): where do all orders stand?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderMassStatusRequest {
    /// MassStatusReqID (584).
    pub request_id: ShortText,
    /// MassStatusReqType (585).
    pub scope: MassStatusType,
    /// Symbol (55), of one security.
    pub symbol: Option<ShortText>,
}

impl OrderMassStatusRequest {
    /// Reads a body. 584 and 585 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut request_id, mut scope, mut symbol) = (None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::MASS_STATUS_REQ_ID => field.once(&mut request_id, field.short()?)?,
                tag::MASS_STATUS_REQ_TYPE => {
                    field.once(&mut scope, MassStatusType::of(field.value))?;
                }
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            request_id: required(request_id, tag::MASS_STATUS_REQ_ID, end)?,
            scope: required(scope, tag::MASS_STATUS_REQ_TYPE, end)?,
            symbol,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if let Some(symbol) = &self.symbol {
            writer.short::<{ tag::SYMBOL }, 23>(symbol);
        }
        writer.short::<{ tag::MASS_STATUS_REQ_ID }, 23>(&self.request_id);
        writer.byte::<{ tag::MASS_STATUS_REQ_TYPE }>(self.scope.to_byte());
    }
}

/// OrderMassCancelRequest (q): cancel all of these orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderMassCancelRequest {
    /// ClOrdID (11) of the request.
    pub cl_ord_id: ShortText,
    /// MassCancelRequestType (530).
    pub scope: MassCancelType,
    /// Symbol (55), of one security.
    pub symbol: Option<ShortText>,
    /// Side (54), of one side.
    pub side: Option<Side>,
    /// TransactTime (60), UTC.
    pub transact_time: Nanos,
}

impl OrderMassCancelRequest {
    /// Reads a body. 11, 60 and 530 are required; 55 conditionally.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut cl_ord_id, mut scope, mut symbol) = (None, None, None);
        let (mut side, mut transact_time) = (None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::MASS_CANCEL_REQUEST_TYPE => {
                    field.once(&mut scope, MassCancelType::of(field.value))?;
                }
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(side_from_byte)?)?,
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        let scope = required(scope, tag::MASS_CANCEL_REQUEST_TYPE, end)?;
        if scope == MassCancelType::Security {
            needed(symbol, tag::SYMBOL)?;
        }
        Ok(Self {
            cl_ord_id: required(cl_ord_id, tag::CL_ORD_ID, end)?,
            scope,
            symbol,
            side,
            transact_time: required(transact_time, tag::TRANSACT_TIME, end)?,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        if let Some(side) = self.side {
            writer.byte::<{ tag::SIDE }>(side_to_byte(side));
        }
        if let Some(symbol) = &self.symbol {
            writer.short::<{ tag::SYMBOL }, 23>(symbol);
        }
        writer.timestamp::<{ tag::TRANSACT_TIME }>(self.transact_time);
        writer.byte::<{ tag::MASS_CANCEL_REQUEST_TYPE }>(self.scope.to_byte());
    }
}

/// OrderMassCancelReport (r): what became of a mass cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderMassCancelReport<'a> {
    /// ClOrdID (11) of the request; absent when nobody asked for it.
    pub cl_ord_id: Option<LongText>,
    /// OrderID (37), the venue's, of the request.
    pub order_id: LongText,
    /// MassCancelRequestType (530).
    pub scope: MassCancelType,
    /// MassCancelResponse (531): what was cancelled; [`MassCancelType::Refused`] when nothing was.
    pub response: MassCancelType,
    /// MassCancelRejectReason (532).
    pub reason: Option<u32>,
    /// TotalAffectedOrders (533).
    pub affected: Option<u32>,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
}

impl<'a> OrderMassCancelReport<'a> {
    /// Reads a body. 37, 530 and 531 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut cl_ord_id, mut order_id, mut scope, mut response) = (None, None, None, None);
        let (mut reason, mut affected, mut text) = (None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::ORDER_ID => field.once(&mut order_id, field.short()?)?,
                tag::MASS_CANCEL_REQUEST_TYPE => {
                    field.once(&mut scope, MassCancelType::of(field.value))?;
                }
                tag::MASS_CANCEL_RESPONSE => {
                    field.once(&mut response, MassCancelType::of(field.value))?;
                }
                tag::MASS_CANCEL_REJECT_REASON => field.once(&mut reason, field.number_u32()?)?,
                tag::TOTAL_AFFECTED_ORDERS => field.once(&mut affected, field.number_u32()?)?,
                tag::TEXT => field.once(&mut text, field.value)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            cl_ord_id,
            order_id: required(order_id, tag::ORDER_ID, end)?,
            scope: required(scope, tag::MASS_CANCEL_REQUEST_TYPE, end)?,
            response: required(response, tag::MASS_CANCEL_RESPONSE, end)?,
            reason,
            affected,
            text: text.unwrap_or(&[]),
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if let Some(cl_ord_id) = &self.cl_ord_id {
            writer.short::<{ tag::CL_ORD_ID }, 39>(cl_ord_id);
        }
        writer.short::<{ tag::ORDER_ID }, 39>(&self.order_id);
        writer.text::<{ tag::TEXT }>(self.text);
        writer.byte::<{ tag::MASS_CANCEL_REQUEST_TYPE }>(self.scope.to_byte());
        writer.byte::<{ tag::MASS_CANCEL_RESPONSE }>(self.response.to_byte());
        if let Some(reason) = self.reason {
            writer.number::<{ tag::MASS_CANCEL_REJECT_REASON }>(u64::from(reason));
        }
        if let Some(affected) = self.affected {
            writer.number::<{ tag::TOTAL_AFFECTED_ORDERS }>(u64::from(affected));
        }
    }
}
