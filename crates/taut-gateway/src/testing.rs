//! What a gateway knows, for tests that have none.

use taut_book::{LevelBook, OrderBook};
use taut_market_data::{BestPrices, SessionStatistics, Soundness, TradingStatus};
use taut_oms::Balance;
use taut_types::{ClientOrderId, Instrument, InstrumentId, Lots, Price, Qty, Symbol, TickStep};

use crate::client::GatewayState;
use crate::message::{GatewayStatus, OpenOrder, OrderUpdate, Request};
use crate::owner::Owner;

/// Some instruments, which have one book, and open orders.
#[derive(Debug)]
pub struct Known {
    pub instruments: Vec<Instrument>,
    pub book: LevelBook,
    pub soundness: Soundness,
    /// Single orders by instrument, and whether they are known; none where they are not told.
    pub book_orders: Vec<(OrderBook, bool)>,
    pub statistics: SessionStatistics,
    pub status: Option<TradingStatus>,
    pub orders: Vec<OpenOrder>,
    /// Orders that were handed over, and to whom.
    pub handed_over: Vec<(ClientOrderId, Owner)>,
    pub balances: Vec<Balance>,
    pub is_order_entry_up: bool,
    pub gateway: GatewayStatus,
}

impl Known {
    /// So many instruments with tick 2, above 100 with tick 10, an empty book and a session with
    /// the venue.
    pub fn new(instruments: u32) -> Self {
        let (symbol, lot) = (Symbol::new(b"X").expect("a symbol"), Qty::whole(1));
        let steps = [TickStep { from: Price(100), tick: Price(10) }];
        let instrument = |id| {
            let instrument = Instrument::new(InstrumentId(id), symbol, Price(2), lot)?;
            instrument.with_tick_steps(&steps)?.with_minima(Lots(3), Price(4))
        };
        let instrument = |id| instrument(id).expect("an instrument");
        Self {
            instruments: (0..instruments).map(instrument).collect(),
            book: LevelBook::with_capacity(1 << 10),
            soundness: Soundness::Sound,
            book_orders: Vec::new(),
            statistics: SessionStatistics::default(),
            status: None,
            orders: Vec::new(),
            handed_over: Vec::new(),
            balances: Vec::new(),
            is_order_entry_up: true,
            gateway: GatewayStatus { is_feed_sound: true, ..GatewayStatus::default() },
        }
    }

    /// A request went out: it is asked for, and the venue has not said anything yet.
    pub fn request(&mut self, request: &Request) {
        self.orders.iter_mut().for_each(|order| *order = order.with_request(request));
        self.orders.extend(OpenOrder::created(request));
    }

    /// The venue says something of an order.
    pub fn update(&mut self, update: &OrderUpdate) {
        for order in self.orders.iter_mut().filter(|order| order.id == update.id) {
            *order = order.with_update(update, true);
        }
        self.orders.retain(|order| !order.state.is_done());
    }
}

impl GatewayState for Known {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }
    fn book(&self, _: InstrumentId) -> Option<&LevelBook> {
        Some(&self.book)
    }
    fn soundness(&self, _: InstrumentId) -> Soundness {
        self.soundness
    }
    fn tells_orders(&self) -> bool {
        !self.book_orders.is_empty()
    }
    fn orders(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        let (book, is_known) = self.book_orders.get(instrument.0 as usize)?;
        is_known.then_some(book)
    }
    fn best(&self, _: InstrumentId) -> BestPrices {
        BestPrices::of(&self.book)
    }
    fn statistics(&self, _: InstrumentId) -> SessionStatistics {
        self.statistics
    }
    fn trading_status(&self, _: InstrumentId) -> Option<TradingStatus> {
        self.status
    }
    fn owner_of(&self, id: ClientOrderId) -> Owner {
        let heir = self.handed_over.iter().rev().find(|(order, _)| *order == id);
        heir.map_or(Owner::of(id), |(_, owner)| *owner)
    }
    fn order(&self, owner: Owner, id: ClientOrderId) -> Option<OpenOrder> {
        let order = self.orders.iter().find(|order| order.id == id).copied();
        order.filter(|_| self.owner_of(id) == owner)
    }
    fn visit_orders(&self, owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.orders.iter().filter(|order| self.owner_of(order.id) == owner).for_each(visit);
    }
    fn visit_balances(&self, visit: &mut dyn FnMut(&Balance)) {
        self.balances.iter().for_each(visit);
    }
    fn is_order_entry_up(&self, _: InstrumentId) -> bool {
        self.is_order_entry_up
    }
    fn is_ready(&self) -> bool {
        self.is_order_entry_up && self.soundness == Soundness::Sound
    }
    fn status(&self, _: Owner) -> GatewayStatus {
        self.gateway
    }
}
