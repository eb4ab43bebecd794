//! Our requests, as Deribit reads them.

use taut_fix::{LongText, ShortText, TypedMessage, Writer};
use taut_types::{Lots, OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::order_entry::fix::cl_ord_id;
use crate::order_entry::handler::OrderMessage;

/// QtyType (854): quantities are in units of the instrument, not in contracts.
const UNITS: u8 = b'0';

/// How the venue finds an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// OrigClOrdID (41): as the venue calls it.
    ByVenue(LongText),
    /// ClOrdID (11): as we called it when it was made. A Symbol (55) goes with it.
    ByUs(ShortText),
}

/// NewOrderSingle (D), and what a replacement asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewOrder {
    cl_ord_id: ShortText,
    exec_inst: &'static [u8],
    qty: Qty,
    order_type: u8,
    price: Option<Price>,
    side: u8,
    symbol: LongText,
    time_in_force: u8,
    stop_price: Option<Price>,
    /// DisplayQty (1138).
    shown: Option<Qty>,
}

impl NewOrder {
    /// Nothing when a quantity of it cannot be written.
    #[inline]
    pub(super) fn of(order: &OrderMessage<'_>, symbol: LongText) -> Option<Self> {
        let OrderMessage { request, instrument, terms, .. } = *order;
        Some(Self {
            cl_ord_id: cl_ord_id(request),
            exec_inst: exec_inst(terms.flags),
            qty: instrument.qty(terms.lots).ok()?,
            order_type: match (terms.order_type, terms.stop_price.is_some()) {
                (OrderType::Market, false) => b'1',
                (OrderType::Limit, false) => b'2',
                (OrderType::Market, true) => b'S',
                (OrderType::Limit, true) => b'4',
            },
            price: (terms.order_type == OrderType::Limit).then_some(terms.price),
            side: match terms.side {
                Side::Buy => b'1',
                Side::Sell => b'2',
            },
            symbol,
            time_in_force: match terms.time_in_force {
                TimeInForce::Day => b'0',
                TimeInForce::GoodTillCancel => b'1',
                TimeInForce::ImmediateOrCancel => b'3',
                TimeInForce::FillOrKill => b'4',
            },
            stop_price: terms.stop_price,
            shown: match terms.lots_shown {
                Lots::ZERO => None,
                shown => Some(instrument.qty(shown).ok()?),
            },
        })
    }

    #[inline]
    fn encode_as(&self, named: Option<&Named>, writer: &mut Writer<'_>) {
        match named {
            None => writer.short::<11, 23>(&self.cl_ord_id),
            Some(Named::ByUs(name)) => writer.short::<11, 23>(name),
            Some(Named::ByVenue(_)) => {}
        }
        writer.text::<18>(self.exec_inst);
        writer.qty::<38>(self.qty);
        writer.byte::<40>(self.order_type);
        if let Some(Named::ByVenue(name)) = named {
            writer.short::<41, 39>(name);
        }
        if let Some(price) = self.price {
            writer.price::<44>(price);
        }
        writer.byte::<54>(self.side);
        writer.short::<55, 39>(&self.symbol);
        writer.byte::<59>(self.time_in_force);
        if let Some(stop_price) = self.stop_price {
            writer.price::<99>(stop_price);
        }
        writer.byte::<854>(UNITS);
        if let Some(shown) = self.shown {
            writer.qty::<1138>(shown);
        }
    }
}

/// ExecInst (18). Post-only orders that would trade are refused, not moved: `6A`.
const fn exec_inst(flags: OrderFlags) -> &'static [u8] {
    let (post_only, reduce_only) =
        (flags.contains(OrderFlags::POST_ONLY), flags.contains(OrderFlags::REDUCE_ONLY));
    match (post_only, reduce_only) {
        (false, false) => b"",
        (true, false) => b"6A",
        (false, true) => b"E",
        (true, true) => b"6A E",
    }
}

impl TypedMessage for NewOrder {
    const MSG_TYPE: &'static [u8] = b"D";

    #[inline]
    fn encode_body(&self, writer: &mut Writer<'_>) {
        self.encode_as(None, writer);
    }
}

/// OrderCancelReplaceRequest (G).
#[derive(Clone, Copy, Debug)]
pub(super) struct Replace {
    pub(super) named: Named,
    pub(super) terms: NewOrder,
}

impl TypedMessage for Replace {
    const MSG_TYPE: &'static [u8] = b"G";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        self.terms.encode_as(Some(&self.named), writer);
    }
}

/// OrderMassCancelRequest (q) of all orders in an instrument.
#[derive(Clone, Copy, Debug)]
pub(super) struct CancelAllOf {
    pub(super) cl_ord_id: ShortText,
    pub(super) symbol: LongText,
}

impl TypedMessage for CancelAllOf {
    const MSG_TYPE: &'static [u8] = b"q";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<11, 23>(&self.cl_ord_id);
        writer.short::<55, 39>(&self.symbol);
        writer.byte::<530>(b'1');
    }
}

/// OrderCancelRequest (F).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cancel {
    pub(super) named: Named,
    pub(super) symbol: LongText,
}

impl TypedMessage for Cancel {
    const MSG_TYPE: &'static [u8] = b"F";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        match &self.named {
            Named::ByVenue(name) => writer.short::<41, 39>(name),
            Named::ByUs(name) => {
                writer.short::<11, 23>(name);
                writer.short::<55, 39>(&self.symbol);
            }
        }
    }
}

/// OrderMassStatusRequest (AF) about one order. By our name it is a question about all orders of
/// that name (585=7, 9014=1), by the venue's about the order of that id (585=1).
#[derive(Clone, Copy, Debug)]
pub(super) struct OneStatus {
    pub(super) named: Named,
    pub(super) symbol: LongText,
}

impl TypedMessage for OneStatus {
    const MSG_TYPE: &'static [u8] = b"AF";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        match &self.named {
            Named::ByVenue(name) => {
                writer.short::<584, 39>(name);
                writer.byte::<585>(b'1');
            }
            Named::ByUs(name) => {
                writer.short::<55, 39>(&self.symbol);
                writer.short::<584, 23>(name);
                writer.byte::<585>(b'7');
                writer.byte::<9014>(b'1');
            }
        }
    }
}

/// OrderMassStatusRequest (AF) about all orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct AllStatus {
    pub(super) request_id: ShortText,
}

impl TypedMessage for AllStatus {
    const MSG_TYPE: &'static [u8] = b"AF";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<584, 23>(&self.request_id);
        writer.byte::<585>(b'7');
    }
}
