//! Our requests as messages of Binance's FIX interface.

use taut_fix::{ShortText, TypedMessage, Writer};
use taut_order_entry::binance::{NewOrder, OrderKind, SelfTrade, Stamp, Which};
use taut_types::{Qty, Side, TimeInForce};

/// NewOrderSingle (D), and what a replacement asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewOrderSingle<'a> {
    order: &'a NewOrder<'a>,
    kind: OrderKind,
    window_ms: u64,
}

impl<'a> NewOrderSingle<'a> {
    /// Nothing for an order that the venue does not have.
    #[inline]
    pub(super) fn of(order: &'a NewOrder<'a>, stamp: Stamp) -> Option<Self> {
        Some(Self { order, kind: order.kind()?, window_ms: stamp.window_ms })
    }

    /// RecvWindow (25000) is a field of the header.
    #[inline]
    fn encode(&self, replaced: Option<Which<'_>>, writer: &mut Writer<'_>) {
        let Self { order, kind, window_ms } = *self;
        window(window_ms, writer);
        writer.text::<11>(order.name);
        if kind == OrderKind::LimitMaker {
            writer.byte::<18>(b'6');
        }
        if let Some(Which::Id(id)) = replaced {
            writer.number::<37>(id);
        }
        writer.qty::<38>(order.quantity);
        writer.byte::<40>(match kind {
            OrderKind::Market => b'1',
            OrderKind::Limit | OrderKind::LimitMaker => b'2',
            OrderKind::StopLoss => b'3',
            OrderKind::StopLossLimit => b'4',
        });
        if let Some(Which::Name(name)) = replaced {
            writer.text::<41>(name);
        }
        if !matches!(kind, OrderKind::Market | OrderKind::StopLoss) {
            writer.price::<44>(order.price);
        }
        writer.byte::<54>(match order.side {
            Side::Buy => b'1',
            Side::Sell => b'2',
        });
        writer.text::<55>(order.symbol);
        if kind.has_force() {
            writer.byte::<59>(match order.time_in_force {
                TimeInForce::GoodTillCancel | TimeInForce::Day => b'1',
                TimeInForce::ImmediateOrCancel => b'3',
                TimeInForce::FillOrKill => b'4',
            });
        }
        if let Some(shown) = order.shown {
            writer.qty::<111>(shown);
        }
        if let Some(stop) = order.stop {
            // A movement of the price (1100=4) through the stop activates it (1101=1): upwards a
            // buy, downwards a sale; it is the price of the last trade (1107=2).
            writer.byte::<1100>(b'4');
            writer.byte::<1101>(b'1');
            writer.price::<1102>(stop);
            writer.byte::<1107>(b'2');
            writer.byte::<1109>(match order.side {
                Side::Buy => b'U',
                Side::Sell => b'D',
            });
        }
        if let Some(mode) = self_trade(order.self_trade) {
            writer.field(25_001, mode);
        }
    }
}

/// SelfTradePreventionMode (25001).
const fn self_trade(mode: SelfTrade) -> Option<&'static [u8]> {
    match mode {
        SelfTrade::Default => None,
        SelfTrade::None => Some(b"1"),
        SelfTrade::ExpireTaker => Some(b"2"),
        SelfTrade::ExpireMaker => Some(b"3"),
        SelfTrade::ExpireBoth => Some(b"4"),
        SelfTrade::Decrement => Some(b"5"),
        SelfTrade::Transfer => Some(b"6"),
    }
}

impl TypedMessage for NewOrderSingle<'_> {
    const MSG_TYPE: &'static [u8] = b"D";

    #[inline]
    fn encode_body(&self, writer: &mut Writer<'_>) {
        self.encode(None, writer);
    }
}

/// OrderCancelRequestAndNewOrderSingle (XCN): another order takes the place of one that has not
/// traded, or nothing happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replace<'a> {
    pub(super) order: NewOrderSingle<'a>,
    pub(super) which: Which<'a>,
    /// Of the cancel.
    pub(super) name: &'a [u8],
}

impl TypedMessage for Replace<'_> {
    const MSG_TYPE: &'static [u8] = b"XCN";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        self.order.encode(Some(self.which), writer);
        // CancelRestrictions: only new; the mode: stop on failure.
        writer.field(25_002, b"1");
        writer.field(25_033, b"1");
        writer.field(25_034, self.name);
    }
}

/// OrderCancelRequest (F).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cancel<'a> {
    pub(super) symbol: &'a [u8],
    pub(super) which: Which<'a>,
    pub(super) name: &'a [u8],
    pub(super) window_ms: u64,
}

impl TypedMessage for Cancel<'_> {
    const MSG_TYPE: &'static [u8] = b"F";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        window(self.window_ms, writer);
        writer.text::<11>(self.name);
        which(self.which, writer);
        writer.text::<55>(self.symbol);
    }
}

/// OrderAmendKeepPriorityRequest (XAK).
#[derive(Clone, Copy, Debug)]
pub(super) struct Amend<'a> {
    pub(super) symbol: &'a [u8],
    pub(super) which: Which<'a>,
    /// Of the order from here on.
    pub(super) name: &'a [u8],
    pub(super) quantity: Qty,
    pub(super) window_ms: u64,
}

impl TypedMessage for Amend<'_> {
    const MSG_TYPE: &'static [u8] = b"XAK";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        window(self.window_ms, writer);
        writer.text::<11>(self.name);
        which(self.which, writer);
        writer.qty::<38>(self.quantity);
        writer.text::<55>(self.symbol);
    }
}

/// OrderID (37) or OrigClOrdID (41).
fn which(which: Which<'_>, writer: &mut Writer<'_>) {
    match which {
        Which::Id(id) => writer.number::<37>(id),
        Which::Name(name) => writer.text::<41>(name),
    }
}

/// RecvWindow (25000).
#[inline]
fn window(window_ms: u64, writer: &mut Writer<'_>) {
    writer.field(25_000, ShortText::from_u64(window_ms).as_bytes());
}
