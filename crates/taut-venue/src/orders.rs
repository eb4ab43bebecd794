//! The clients' orders: whose they are, how far they are filled, and every ClOrdID that was used.

mod busts;
mod image;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use taut_engine::NewOrder;
use taut_fix::{OrdStatus, ShortText};
use taut_types::{Lots, OrderId, Price, Side};

use crate::holdings::Holdings;
use crate::identity::ClientId;
use crate::ids::ById;
use crate::trades::Trades;

/// How many clients a venue serves at once.
pub const SESSIONS_MAX: usize = 64;

/// ClOrdIDs of orders that were over before a client's session began which are remembered for it.
const EARLIER_MAX: usize = 1_024;

/// The ids of clients' orders start here; a flow's are below.
const FIRST_CLIENT_ORDER: u64 = 1 << 63;

/// An order that the engine holds, or is about to take.
#[derive(Clone, Copy, Debug)]
pub struct ClientOrder {
    pub client: ClientId,
    /// The place of its instrument.
    pub place: usize,
    /// Of the order, or of the last request that changed it.
    pub cl_ord_id: ShortText,
    /// Account (1).
    pub account: Option<ShortText>,
    /// As the engine was told last; its lots are OrderQty (38), and what was taken back of it.
    pub order: NewOrder,
    /// Its stop has been reached: it waits for nothing any more.
    pub is_triggered: bool,
    /// The cancel or replace request that is being executed.
    pub request: Option<ShortText>,
    /// What that request makes of the order, if it replaces it, and of its Account (1).
    pub replacement: Option<(NewOrder, Option<ShortText>)>,
    /// It had another ClOrdID before.
    is_renamed: bool,
    /// Traded so far: CumQty (14).
    pub traded: Lots,
    /// Traded and taken back: the engine counts it as traded.
    pub busted: Lots,
    /// Of what traded, price times lots.
    notional: i128,
}

impl ClientOrder {
    fn fill(&mut self, price: Price, lots: Lots) {
        self.traded.0 = self.traded.0.saturating_add(lots.0);
        self.notional =
            self.notional.saturating_add(i128::from(price.0).saturating_mul(i128::from(lots.0)));
    }

    pub const fn side(&self) -> Side {
        self.order.side
    }

    /// What it asks for: OrderQty (38).
    pub const fn order_lots(&self) -> Lots {
        Lots(self.order.lots.0.saturating_sub(self.busted.0))
    }

    /// What has not traded: LeavesQty (151) of an open order.
    pub const fn open_lots(&self) -> Lots {
        Lots(self.order_lots().0.saturating_sub(self.traded.0))
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
    /// An open order that has another ClOrdID since.
    Former(OrderId),
    /// An order that is over.
    Done(DoneOrder),
    /// An order that never reached the engine.
    Refused,
    /// A request that did not become an order's.
    Request,
}

/// What is remembered of an order that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneOrder {
    pub order_id: OrderId,
    pub status: OrdStatus,
    pub place: usize,
    pub side: Side,
    pub lots: Lots,
    pub traded: Lots,
    pub avg_price: Price,
}

/// An order behind a trade that was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub cl_ord_id: ShortText,
    pub status: OrdStatus,
    /// OrderQty (38); nothing of an order that is forgotten.
    pub order_lots: Option<Lots>,
    pub open_lots: Lots,
    pub traded: Lots,
    pub avg_price: Price,
}

/// All of them.
#[derive(Debug)]
pub struct ClientOrders {
    open: ById<ClientOrder>,
    /// How many of them each client has.
    open_counts: Vec<usize>,
    /// What their trades have made.
    pub holdings: Holdings,
    /// The last of these.
    pub trades: Trades,
    /// The ClOrdIDs of each client.
    known: Vec<HashMap<ShortText, Known>>,
    /// Of each client, orders that were over before its session began, by each of their ClOrdIDs:
    /// a client that lost its connection asks what became of them. The ids can be used again.
    earlier: Vec<HashMap<ShortText, DoneOrder>>,
    /// Orders that are over and had another ClOrdID before, in their client's session.
    renamed: ById<(ClientId, DoneOrder)>,
    cl_ord_id_capacity: usize,
    next_order_id: u64,
}

impl ClientOrders {
    /// Room for so many open orders, and so many ClOrdIDs of each client, of so many instruments.
    pub fn with_capacity(
        order_capacity: usize,
        cl_ord_id_capacity: usize,
        instrument_count: usize,
    ) -> Self {
        Self {
            open: ById::with_capacity_and_hasher(
                order_capacity.saturating_add(1),
                Default::default(),
            ),
            open_counts: Vec::new(),
            holdings: Holdings::new(instrument_count),
            trades: Trades::new(),
            known: Vec::new(),
            earlier: Vec::new(),
            renamed: ById::default(),
            cl_ord_id_capacity,
            next_order_id: FIRST_CLIENT_ORDER,
        }
    }

    /// Whether an id can be a flow's.
    pub const fn is_flow_id(order_id: OrderId) -> bool {
        order_id.0 < FIRST_CLIENT_ORDER
    }

    /// A client begins a new session: of the ClOrdIDs that it has used, those of open orders stay.
    pub fn begin_session(&mut self, client: ClientId) {
        if self.known.len() <= client.0 {
            self.known.resize_with(client.0 + 1, HashMap::new);
            self.earlier.resize_with(client.0 + 1, HashMap::new);
        }
        self.forget_what_is_over(client);
        self.count(client, 0);
        if let Some(known) = self.known.get_mut(client.0) {
            known.reserve(self.cl_ord_id_capacity);
        }
        self.holdings.reserve(client);
        self.renamed.reserve(self.cl_ord_id_capacity);
    }

    /// A client's session is over for good: its open orders are remembered, and the last ones that
    /// are over.
    pub fn end_session(&mut self, client: ClientId) {
        self.forget_what_is_over(client);
        if let Some(known) = self.known.get_mut(client.0) {
            known.shrink_to_fit();
        }
        self.holdings.shrink(client);
    }

    fn forget_what_is_over(&mut self, client: ClientId) {
        self.remember_last(client);
        let Self { open, known, renamed, .. } = self;
        let is_open = |known: &Known| match known {
            Known::Open(order_id) | Known::Former(order_id) => open.contains_key(order_id),
            Known::Done(_) | Known::Refused | Known::Request => false,
        };
        if let Some(known) = known.get_mut(client.0) {
            known.retain(|_, known| is_open(known));
        }
        renamed.retain(|_, (of, _)| *of != client);
    }

    /// Remembers the newest orders of a client that are over, beyond its session.
    fn remember_last(&mut self, client: ClientId) {
        let Some(known) = self.known.get(client.0) else { return };
        let over = known.keys().filter_map(|id| match self.known(client, id)? {
            Known::Done(done) => Some((*id, done)),
            _ => None,
        });
        let mut over: Vec<_> = over.collect();
        let Some(earlier) = self.earlier.get_mut(client.0) else { return };
        // An id that was used again stands for the newer order.
        earlier.retain(|id, _| !known.contains_key(id));
        over.extend(earlier.drain());
        if over.len() > EARLIER_MAX {
            over.select_nth_unstable_by_key(EARLIER_MAX, |(_, done)| Reverse(done.order_id));
            over.truncate(EARLIER_MAX);
        }
        earlier.extend(over);
    }

    /// What the ClOrdID stands for, if the client has used it in this session or, of an order that
    /// is over, in an earlier one.
    pub fn known_ever(&self, client: ClientId, cl_ord_id: &ShortText) -> Option<Known> {
        let earlier = || self.earlier.get(client.0)?.get(cl_ord_id).copied().map(Known::Done);
        self.known(client, cl_ord_id).or_else(earlier)
    }

    /// What the ClOrdID stands for, if the client has used it.
    pub fn known(&self, client: ClientId, cl_ord_id: &ShortText) -> Option<Known> {
        let known = *self.known.get(client.0)?.get(cl_ord_id)?;
        Some(match known {
            // An order that ended under its last ClOrdID is over under all of them.
            Known::Former(order_id) if !self.open.contains_key(&order_id) => {
                self.renamed.get(&order_id).map_or(Known::Refused, |(_, done)| Known::Done(*done))
            }
            known => known,
        })
    }

    /// Remembers a ClOrdID that makes no open order. One that is in use stays what it is.
    pub fn note(&mut self, client: ClientId, cl_ord_id: ShortText, known: Known) {
        if let Some(ids) = self.known.get_mut(client.0)
            && let Entry::Vacant(vacant) = ids.entry(cl_ord_id)
        {
            vacant.insert(known);
        }
    }

    /// Takes an order in and gives it to the engine's language, with its id and its owner.
    pub fn enter(
        &mut self,
        client: ClientId,
        place: usize,
        cl_ord_id: ShortText,
        account: Option<ShortText>,
        order: &NewOrder,
    ) -> NewOrder {
        let order_id = OrderId(self.next_order_id);
        self.next_order_id = self.next_order_id.saturating_add(1);
        let order = NewOrder { order_id, owner: client.owner(), ..*order };
        let entered = ClientOrder {
            client,
            place,
            cl_ord_id,
            account,
            order,
            is_triggered: false,
            request: None,
            replacement: None,
            is_renamed: false,
            traded: Lots::ZERO,
            busted: Lots::ZERO,
            notional: 0,
        };
        self.open.insert(order_id, entered);
        self.count(client, 1);
        self.note(client, cl_ord_id, Known::Open(order_id));
        order
    }

    /// How many are open.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// How many of them a client has.
    pub fn open_count_of(&self, client: ClientId) -> usize {
        self.open_counts.get(client.0).copied().unwrap_or(0)
    }

    /// A client has one more, or one less.
    #[inline]
    fn count(&mut self, client: ClientId, by: isize) {
        match self.open_counts.get_mut(client.0) {
            Some(count) => *count = count.saturating_add_signed(by),
            None => self.count_first(client, by),
        }
    }

    #[cold]
    fn count_first(&mut self, client: ClientId, by: isize) {
        self.open_counts.resize(client.0 + 1, 0);
        self.open_counts[client.0] = 0_usize.saturating_add_signed(by);
    }

    pub fn get(&self, order_id: OrderId) -> Option<&ClientOrder> {
        self.open.get(&order_id)
    }

    pub fn get_mut(&mut self, order_id: OrderId) -> Option<&mut ClientOrder> {
        self.open.get_mut(&order_id)
    }

    /// Counts a trade of an open order, which is returned as it is then.
    pub fn fill(&mut self, order_id: OrderId, price: Price, lots: Lots) -> Option<ClientOrder> {
        let order = self.open.get_mut(&order_id)?;
        order.fill(price, lots);
        self.holdings.traded(order.client, order.account, order.place, order.side(), lots);
        Some(*order)
    }

    /// The order is what its request wanted, and has that one's ClOrdID; the one before.
    pub fn replace(&mut self, order_id: OrderId) -> Option<ShortText> {
        let order = self.open.get_mut(&order_id)?;
        let (request, (replacement, account)) = (order.request.take()?, order.replacement.take()?);
        let former = std::mem::replace(&mut order.cl_ord_id, request);
        (order.order, order.account) = (replacement, account.or(order.account));
        order.is_renamed = true;
        let known = self.known.get_mut(order.client.0)?;
        known.insert(former, Known::Former(order_id));
        known.insert(request, Known::Open(order_id));
        Some(former)
    }

    /// The order is over.
    pub fn finish(&mut self, order_id: OrderId, status: OrdStatus) {
        let Some(order) = self.open.remove(&order_id) else { return };
        self.count(order.client, -1);
        let Some(known) = self.known.get_mut(order.client.0) else { return };
        let done = DoneOrder {
            order_id,
            status,
            place: order.place,
            side: order.side(),
            lots: order.order_lots(),
            traded: order.traded,
            avg_price: order.avg_price(),
        };
        if let Some(known) = known.get_mut(&order.cl_ord_id) {
            *known = Known::Done(done);
        }
        if order.is_renamed {
            self.renamed.insert(order_id, (order.client, done));
        }
    }

    /// The client's open orders, oldest first, and the places of their instruments.
    pub fn open_orders(&self, client: ClientId) -> Vec<(OrderId, usize)> {
        let mut orders: Vec<(OrderId, usize)> = self
            .open
            .iter()
            .filter(|(_, order)| order.client == client)
            .map(|(order_id, order)| (*order_id, order.place))
            .collect();
        orders.sort_unstable();
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::HalfTicks;

    #[test]
    fn the_newest_orders_that_are_over_are_known_beyond_a_session_and_an_id_is_the_last_ones() {
        let mut orders = ClientOrders::with_capacity(4, 16, 1);
        let client = ClientId(0);
        let over = |orders: &mut ClientOrders, id: u64, status: OrdStatus| {
            let order = NewOrder::limit(OrderId(0), 0, Side::Buy, HalfTicks(2), Lots(1));
            let order = orders.enter(client, 0, id.into(), None, &order);
            orders.finish(order.order_id, status);
        };
        orders.begin_session(client);
        let count = EARLIER_MAX as u64 + 10;
        (0..count).for_each(|id| over(&mut orders, id, OrdStatus::Canceled));
        orders.end_session(client);
        let known = |orders: &ClientOrders, id: u64| match orders.known_ever(client, &id.into()) {
            Some(Known::Done(done)) => Some(done.status),
            _ => None,
        };
        assert_eq!((known(&orders, 9), known(&orders, 10)), (None, Some(OrdStatus::Canceled)));
        orders.begin_session(client);
        assert_eq!(orders.known(client, &(count - 1).into()), None, "it can be used again");
        over(&mut orders, count - 1, OrdStatus::Filled);
        orders.begin_session(client);
        assert_eq!(known(&orders, count - 1), Some(OrdStatus::Filled));
        assert_eq!(known(&orders, 11), Some(OrdStatus::Canceled));
    }
}
