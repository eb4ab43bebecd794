//! The clients' orders: whose they are, how far they are filled, and every ClOrdID that was used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use taut_engine::NewOrder;
use taut_fix::{NewOrderSingle, OrdStatus, ShortText};
use taut_types::{HalfTicks, Lots, OrderId, OrderType, Price, Side};

/// How many clients a venue serves at once.
pub const SESSIONS_MAX: usize = 8;

/// The ids of clients' orders start here; a flow's are below.
const FIRST_CLIENT_ORDER: u64 = 1 << 63;

/// A client's connection: its place, and a number that no other connection of the place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    pub slot: usize,
    pub serial: u64,
}

impl SessionId {
    /// Whose the engine says its orders are; 0 is the flow.
    pub fn owner(self) -> u32 {
        u32::try_from(self.slot + 1).unwrap_or(u32::MAX)
    }
}

/// An order that the engine holds, or is about to take.
#[derive(Clone, Copy, Debug)]
pub struct ClientOrder {
    pub session: SessionId,
    /// The place of its instrument.
    pub place: usize,
    pub cl_ord_id: ShortText,
    /// The cancel request that is being executed.
    pub cancel_request: Option<ShortText>,
    pub side: Side,
    /// OrderQty (38).
    pub lots: Lots,
    /// Traded so far: CumQty (14).
    pub traded: Lots,
    /// Of what traded, price times lots.
    notional: i128,
}

impl ClientOrder {
    /// Counts a trade.
    pub fn fill(&mut self, price: Price, lots: Lots) {
        self.traded.0 = self.traded.0.saturating_add(lots.0);
        self.notional =
            self.notional.saturating_add(i128::from(price.0).saturating_mul(i128::from(lots.0)));
    }

    /// What has not traded: LeavesQty (151) of an open order.
    pub const fn open_lots(&self) -> Lots {
        Lots(self.lots.0.saturating_sub(self.traded.0))
    }

    /// AvgPx (6), rounded to the nearest 1e-9; 0 when nothing traded.
    pub fn avg_price(&self) -> Price {
        let traded = i128::from(self.traded.0);
        if traded <= 0 {
            return Price(0);
        }
        let rounded = (self.notional + traded / 2).div_euclid(traded);
        Price(i64::try_from(rounded).unwrap_or(i64::MAX))
    }

    /// OrdStatus (39) while it is open, or after its last fill.
    pub const fn status(&self) -> OrdStatus {
        match (self.traded.0, self.open_lots().0) {
            (_, 0) => OrdStatus::Filled,
            (0, _) => OrdStatus::New,
            _ => OrdStatus::PartiallyFilled,
        }
    }
}

/// What a ClOrdID stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// An order that is open.
    Open(OrderId),
    /// An order that is over; none when it never reached the engine.
    Done(Option<OrderId>, OrdStatus),
    /// A cancel request.
    Request,
}

#[derive(Debug, Default)]
struct SessionIds {
    serial: u64,
    known: HashMap<ShortText, Known>,
}

/// All of them.
#[derive(Debug)]
pub struct ClientOrders {
    open: HashMap<OrderId, ClientOrder>,
    sessions: [SessionIds; SESSIONS_MAX],
    cl_ord_id_capacity: usize,
    next_order_id: u64,
}

impl ClientOrders {
    /// Room for so many open orders, and so many ClOrdIDs of each client.
    pub fn with_capacity(order_capacity: usize, cl_ord_id_capacity: usize) -> Self {
        Self {
            open: HashMap::with_capacity(order_capacity.saturating_add(1)),
            sessions: std::array::from_fn(|_| SessionIds::default()),
            cl_ord_id_capacity,
            next_order_id: FIRST_CLIENT_ORDER,
        }
    }

    /// Whether an id can be a flow's.
    pub const fn is_flow_id(order_id: OrderId) -> bool {
        order_id.0 < FIRST_CLIENT_ORDER
    }

    /// A client is there: no ClOrdID is used yet.
    pub fn begin_session(&mut self, session: SessionId) {
        if let Some(ids) = self.sessions.get_mut(session.slot) {
            ids.serial = session.serial;
            ids.known.clear();
            ids.known.reserve(self.cl_ord_id_capacity);
        }
    }

    /// What the ClOrdID stands for, if the client has used it.
    pub fn known(&self, session: SessionId, cl_ord_id: &ShortText) -> Option<Known> {
        self.ids(session)?.known.get(cl_ord_id).copied()
    }

    /// Remembers a ClOrdID that makes no open order. One that is in use stays what it is.
    pub fn note(&mut self, session: SessionId, cl_ord_id: ShortText, known: Known) {
        if let Some(ids) = self.ids_mut(session)
            && let Entry::Vacant(vacant) = ids.known.entry(cl_ord_id)
        {
            vacant.insert(known);
        }
    }

    /// Takes an order in and gives it to the engine's language.
    pub fn enter(
        &mut self,
        session: SessionId,
        place: usize,
        request: &NewOrderSingle,
        price: HalfTicks,
        lots: Lots,
    ) -> NewOrder {
        let order_id = OrderId(self.next_order_id);
        self.next_order_id = self.next_order_id.saturating_add(1);
        let order = ClientOrder {
            session,
            place,
            cl_ord_id: request.cl_ord_id,
            cancel_request: None,
            side: request.side,
            lots,
            traded: Lots::ZERO,
            notional: 0,
        };
        self.open.insert(order_id, order);
        self.note(session, request.cl_ord_id, Known::Open(order_id));
        NewOrder {
            order_id,
            owner: session.owner(),
            side: request.side,
            order_type: request.order_type,
            time_in_force: request.time_in_force,
            price: if request.order_type == OrderType::Market { HalfTicks(0) } else { price },
            lots,
            ..NewOrder::default()
        }
    }

    pub fn get(&self, order_id: OrderId) -> Option<&ClientOrder> {
        self.open.get(&order_id)
    }

    pub fn get_mut(&mut self, order_id: OrderId) -> Option<&mut ClientOrder> {
        self.open.get_mut(&order_id)
    }

    /// The order is over.
    pub fn finish(&mut self, order_id: OrderId, status: OrdStatus) {
        let Some(order) = self.open.remove(&order_id) else { return };
        if let Some(ids) = self.ids_mut(order.session)
            && let Some(known) = ids.known.get_mut(&order.cl_ord_id)
        {
            *known = Known::Done(Some(order_id), status);
        }
    }

    /// The client's open orders, oldest first, and the places of their instruments.
    pub fn open_orders(&self, session: SessionId) -> Vec<(OrderId, usize)> {
        let mut orders: Vec<(OrderId, usize)> = self
            .open
            .iter()
            .filter(|(_, order)| order.session == session)
            .map(|(order_id, order)| (*order_id, order.place))
            .collect();
        orders.sort_unstable();
        orders
    }

    fn ids(&self, session: SessionId) -> Option<&SessionIds> {
        self.sessions.get(session.slot).filter(|ids| ids.serial == session.serial)
    }

    fn ids_mut(&mut self, session: SessionId) -> Option<&mut SessionIds> {
        self.sessions.get_mut(session.slot).filter(|ids| ids.serial == session.serial)
    }
}
