//! Requests of the buying side that make, change and cancel one order.

use taut_types::{Nanos, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::codec::body::Body;
use crate::codec::fields::{Field, needed, required};
use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::writer::Writer;
use crate::error::{FixError, RejectReason};
use crate::messages::values::{
    exec_inst_of, flags_of, order_type_from_byte, order_type_to_byte, side_from_byte, side_to_byte,
    time_in_force_from_byte, time_in_force_to_byte,
};

/// NewOrderSingle (D): buy or sell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderSingle {
    /// ClOrdID (11).
    pub cl_ord_id: ShortText,
    /// Account (1), where one is named.
    pub account: Option<ShortText>,
    /// Symbol (55).
    pub symbol: ShortText,
    /// Side (54): 1 or 2.
    pub side: Side,
    /// OrdType (40): 1 or 2; with a stop price 3 or 4.
    pub order_type: OrderType,
    /// TimeInForce (59): 0, 1, 3 or 4. Absent means day.
    pub time_in_force: TimeInForce,
    /// ExecInst (18): 6 (post-only), E (reduce-only) or both.
    pub flags: OrderFlags,
    /// Price (44). A limit order has one.
    pub price: Option<Price>,
    /// StopPx (99): the order waits for this price.
    pub stop_price: Option<Price>,
    /// OrderQty (38), more than zero.
    pub qty: Qty,
    /// MaxFloor (111): so much of it is shown at a time.
    pub max_floor: Option<Qty>,
    /// TransactTime (60), UTC.
    pub transact_time: Nanos,
}

/// OrderCancelReplaceRequest (G): a new price or quantity for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderCancelReplaceRequest {
    /// OrigClOrdID (41): the ClOrdID of the order, or of the last request that changed it.
    pub orig_cl_ord_id: ShortText,
    /// What the order is to be, under the ClOrdID (11) of this request.
    pub order: NewOrderSingle,
}

/// The fields of an order, as they are found.
#[derive(Default)]
struct Found {
    cl_ord_id: Option<ShortText>,
    account: Option<ShortText>,
    symbol: Option<ShortText>,
    side: Option<Side>,
    order_type: Option<(OrderType, bool)>,
    time_in_force: Option<TimeInForce>,
    flags: Option<OrderFlags>,
    price: Option<Price>,
    stop_price: Option<Price>,
    qty: Option<Qty>,
    max_floor: Option<Qty>,
    transact_time: Option<Nanos>,
}

impl Found {
    #[inline(always)]
    fn take(&mut self, field: &Field<'_>) -> Result<(), FixError> {
        match field.tag {
            tag::CL_ORD_ID => field.once(&mut self.cl_ord_id, field.short()?),
            tag::ACCOUNT => field.once(&mut self.account, field.short()?),
            tag::SYMBOL => field.once(&mut self.symbol, field.short()?),
            tag::SIDE => field.once(&mut self.side, field.code(side_from_byte)?),
            tag::ORD_TYPE => field.once(&mut self.order_type, field.code(order_type_from_byte)?),
            tag::TIME_IN_FORCE => {
                field.once(&mut self.time_in_force, field.code(time_in_force_from_byte)?)
            }
            tag::EXEC_INST => {
                let flags = flags_of(field.value);
                let flags = flags.ok_or(field.violates(RejectReason::ValueIncorrect))?;
                field.once(&mut self.flags, flags)
            }
            tag::PRICE => field.once(&mut self.price, field.price()?),
            tag::STOP_PX => field.once(&mut self.stop_price, field.price()?),
            tag::ORDER_QTY => match field.qty()? {
                qty if qty.is_zero() => Err(field.violates(RejectReason::ValueIncorrect)),
                more => field.once(&mut self.qty, more),
            },
            tag::MAX_FLOOR => field.once(&mut self.max_floor, field.qty()?),
            tag::TRANSACT_TIME => field.once(&mut self.transact_time, field.timestamp()?),
            _ => field.ignored(),
        }
    }

    #[inline(always)]
    fn order(self, end: usize) -> Result<NewOrderSingle, FixError> {
        let (order_type, is_stop) = required(self.order_type, tag::ORD_TYPE, end)?;
        let order = NewOrderSingle {
            cl_ord_id: required(self.cl_ord_id, tag::CL_ORD_ID, end)?,
            account: self.account,
            symbol: required(self.symbol, tag::SYMBOL, end)?,
            side: required(self.side, tag::SIDE, end)?,
            order_type,
            time_in_force: self.time_in_force.unwrap_or(TimeInForce::Day),
            flags: self.flags.unwrap_or(OrderFlags::NONE),
            price: self.price,
            stop_price: self.stop_price.filter(|_| is_stop),
            transact_time: required(self.transact_time, tag::TRANSACT_TIME, end)?,
            qty: needed(self.qty, tag::ORDER_QTY)?,
            max_floor: self.max_floor,
        };
        if order_type == OrderType::Limit {
            needed(self.price, tag::PRICE)?;
        }
        if is_stop {
            needed(self.stop_price, tag::STOP_PX)?;
        }
        Ok(order)
    }
}

impl NewOrderSingle {
    /// Reads a body. 11, 40, 54, 55 and 60 are required; 38 always, 44 for a limit order and 99 for
    /// a stop are conditionally required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let mut found = Found::default();
        for field in &mut body {
            found.take(&field?)?;
        }
        found.order(body.end())
    }

    /// Writes the body, tags ascending.
    #[inline]
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        self.encode_as(None, writer);
    }

    /// As an order of its own, or as a change of another.
    #[inline(always)]
    fn encode_as(&self, orig_cl_ord_id: Option<&ShortText>, writer: &mut Writer<'_>) {
        if let Some(account) = &self.account {
            writer.short::<{ tag::ACCOUNT }, 23>(account);
        }
        writer.short::<{ tag::CL_ORD_ID }, 23>(&self.cl_ord_id);
        if self.flags != OrderFlags::NONE {
            writer.text::<{ tag::EXEC_INST }>(exec_inst_of(self.flags));
        }
        writer.qty::<{ tag::ORDER_QTY }>(self.qty);
        let order_type = order_type_to_byte(self.order_type, self.stop_price.is_some());
        writer.byte::<{ tag::ORD_TYPE }>(order_type);
        if let Some(orig_cl_ord_id) = orig_cl_ord_id {
            writer.short::<{ tag::ORIG_CL_ORD_ID }, 23>(orig_cl_ord_id);
        }
        if let Some(price) = self.price {
            writer.price::<{ tag::PRICE }>(price);
        }
        writer.byte::<{ tag::SIDE }>(side_to_byte(self.side));
        writer.short::<{ tag::SYMBOL }, 23>(&self.symbol);
        writer.byte::<{ tag::TIME_IN_FORCE }>(time_in_force_to_byte(self.time_in_force));
        writer.timestamp::<{ tag::TRANSACT_TIME }>(self.transact_time);
        if let Some(stop_price) = self.stop_price {
            writer.price::<{ tag::STOP_PX }>(stop_price);
        }
        if let Some(max_floor) = self.max_floor {
            writer.qty::<{ tag::MAX_FLOOR }>(max_floor);
        }
    }
}

impl OrderCancelReplaceRequest {
    /// Reads a body: as [`NewOrderSingle::decode`], and 41 is required too.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'_, '_>) -> Result<Self, FixError> {
        let (mut found, mut orig_cl_ord_id) = (Found::default(), None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::ORIG_CL_ORD_ID => field.once(&mut orig_cl_ord_id, field.short()?)?,
                _ => found.take(&field)?,
            }
        }
        let end = body.end();
        let orig_cl_ord_id = required(orig_cl_ord_id, tag::ORIG_CL_ORD_ID, end)?;
        Ok(Self { orig_cl_ord_id, order: found.order(end)? })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        self.order.encode_as(Some(&self.orig_cl_ord_id), writer);
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
