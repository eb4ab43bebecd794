//! Requests of the buying side: NewOrderSingle and OrderCancelRequest.

use taut_types::{Nanos, OrderType, Price, Qty, Side, TimeInForce};

use crate::codec::body::Body;
use crate::codec::fields::{needed, required};
use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::writer::Writer;
use crate::error::{FixError, RejectReason};
use crate::messages::values::{
    order_type_from_byte, order_type_to_byte, side_from_byte, side_to_byte,
    time_in_force_from_byte, time_in_force_to_byte,
};

/// NewOrderSingle (D): buy or sell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderSingle {
    /// ClOrdID (11).
    pub cl_ord_id: ShortText,
    /// Symbol (55).
    pub symbol: ShortText,
    /// Side (54): 1 or 2.
    pub side: Side,
    /// OrdType (40): 1 or 2.
    pub order_type: OrderType,
    /// TimeInForce (59): 0, 1, 3 or 4. Absent means day.
    pub time_in_force: TimeInForce,
    /// Price (44). A limit order has one.
    pub price: Option<Price>,
    /// OrderQty (38), more than zero.
    pub qty: Qty,
    /// TransactTime (60), UTC.
    pub transact_time: Nanos,
}

impl NewOrderSingle {
    /// Reads a body. 11, 40, 54, 55 and 60 are required; 38 always and 44 for a limit order are
    /// conditionally required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut cl_ord_id, mut symbol, mut side, mut order_type) = (None, None, None, None);
        let (mut time_in_force, mut price, mut qty, mut transact_time) = (None, None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(side_from_byte)?)?,
                tag::ORD_TYPE => field.once(&mut order_type, field.code(order_type_from_byte)?)?,
                tag::TIME_IN_FORCE => {
                    field.once(&mut time_in_force, field.code(time_in_force_from_byte)?)?;
                }
                tag::PRICE => field.once(&mut price, field.price()?)?,
                tag::ORDER_QTY => match field.qty()? {
                    qty if qty.is_zero() => {
                        return Err(field.violates(RejectReason::ValueIncorrect));
                    }
                    more => field.once(&mut qty, more)?,
                },
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        let order = Self {
            cl_ord_id: required(cl_ord_id, tag::CL_ORD_ID, end)?,
            symbol: required(symbol, tag::SYMBOL, end)?,
            side: required(side, tag::SIDE, end)?,
            order_type: required(order_type, tag::ORD_TYPE, end)?,
            time_in_force: time_in_force.unwrap_or(TimeInForce::Day),
            price,
            transact_time: required(transact_time, tag::TRANSACT_TIME, end)?,
            qty: needed(qty, tag::ORDER_QTY)?,
        };
        if order.order_type == OrderType::Limit {
            needed(price, tag::PRICE)?;
        }
        Ok(order)
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        writer.qty::<{ tag::ORDER_QTY }>(self.qty);
        writer.byte::<{ tag::ORD_TYPE }>(order_type_to_byte(self.order_type));
        if let Some(price) = self.price {
            writer.price::<{ tag::PRICE }>(price);
        }
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        writer.short::<{ tag::SYMBOL }, 23>(&self.symbol);
        writer.byte::<{ tag::TIME_IN_FORCE }>(time_in_force_to_byte(self.time_in_force));
        writer.timestamp::<{ tag::TRANSACT_TIME }>(self.transact_time);
    }
}

/// OrderCancelRequest (F): cancel all that is left of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderCancelRequest {
    /// ClOrdID (11) of this request.
    pub cl_ord_id: ShortText,
    /// OrigClOrdID (41): the ClOrdID of the order.
    pub orig_cl_ord_id: ShortText,
    /// Symbol (55).
    pub symbol: ShortText,
    /// Side (54).
    pub side: Side,
    /// OrderQty (38) of the order.
    pub qty: Qty,
    /// TransactTime (60), UTC.
    pub transact_time: Nanos,
}

impl OrderCancelRequest {
    /// Reads a body. 11, 41, 54, 55 and 60 are required, 38 conditionally.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut cl_ord_id, mut orig_cl_ord_id, mut symbol) = (None, None, None);
        let (mut side, mut qty, mut transact_time) = (None, None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::CL_ORD_ID => field.once(&mut cl_ord_id, field.short()?)?,
                tag::ORIG_CL_ORD_ID => field.once(&mut orig_cl_ord_id, field.short()?)?,
                tag::SYMBOL => field.once(&mut symbol, field.short()?)?,
                tag::SIDE => field.once(&mut side, field.code(side_from_byte)?)?,
                tag::ORDER_QTY => field.once(&mut qty, field.qty()?)?,
                tag::TRANSACT_TIME => field.once(&mut transact_time, field.timestamp()?)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            cl_ord_id: required(cl_ord_id, tag::CL_ORD_ID, end)?,
            orig_cl_ord_id: required(orig_cl_ord_id, tag::ORIG_CL_ORD_ID, end)?,
            symbol: required(symbol, tag::SYMBOL, end)?,
            side: required(side, tag::SIDE, end)?,
            transact_time: required(transact_time, tag::TRANSACT_TIME, end)?,
            qty: needed(qty, tag::ORDER_QTY)?,
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        writer.qty::<{ tag::ORDER_QTY }>(self.qty);
        writer.short::<{ tag::ORIG_CL_ORD_ID }, 23>(&self.orig_cl_ord_id);
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        writer.short::<{ tag::SYMBOL }, 23>(&self.symbol);
        writer.timestamp::<{ tag::TRANSACT_TIME }>(self.transact_time);
    }
}
