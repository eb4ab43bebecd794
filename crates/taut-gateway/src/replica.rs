//! What a strategy in a process of its own knows: kept from what its gateway tells.

mod listed;
mod orders;

use taut_book::LevelBook;
use taut_market_data::{
    Batch, BestPrices, EventKind, LevelUpdate, SessionStatistics, Soundness, Staleness,
    TradingStatus,
};
use taut_oms::Balance;
use taut_types::{AccountId, ClientOrderId, Instrument, InstrumentId, Price, Side};

use crate::client::GatewayState;
use crate::message::{
    ACCOUNTS, GatewayEvent, OpenOrder, OrderUpdate, Position, Request, RequestKind,
};
use crate::owner::Owner;
use crate::regions::REQUEST_SLOTS;
use listed::ListedOrders;
use orders::{OrderCopies, OrderCopy};

/// Levels of a side of a book.
const LEVELS: usize = 1 << 13;

/// Where an instrument stands in the tables: its number at its gateway.
#[inline]
const fn index(instrument: InstrumentId) -> usize {
    instrument.0 as u16 as usize
}

/// How much of a book has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    Nothing,
    /// The bids, or the offers behind all bids, down to this price.
    DownTo(Side, Option<Price>),
    Everything,
}

impl Coverage {
    /// Whether a level at this price has been told.
    fn has(self, side: Side, price: Price) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::DownTo(Side::Sell, _) if side == Side::Buy => true,
            Self::DownTo(at, last) => {
                at == side
                    && last.is_some_and(|last| match side {
                        Side::Buy => price >= last,
                        Side::Sell => price <= last,
                    })
            }
        }
    }
}

#[derive(Debug)]
struct BookCopy {
    /// None until something of it is told.
    book: Option<Box<LevelBook>>,
    coverage: Coverage,
    /// The levels that come now are those of a stream of best levels, and not the book's.
    is_in_best_levels: bool,
    /// Single orders, where they are told.
    listed: ListedOrders,
    top: BestPrices,
    statistics: SessionStatistics,
    status: Option<TradingStatus>,
    positions: [Position; ACCOUNTS as usize],
}

/// The copy of a gateway's state.
#[derive(Debug)]
pub(crate) struct Replica {
    instruments: Vec<Instrument>,
    books: Vec<BookCopy>,
    orders: OrderCopies,
    balances: Vec<Balance>,
    /// The gateway had taken the requests up to the one with this number when it told of an order
    /// last.
    taken: u16,
    is_order_entry_up: bool,
}

/// What the strategy is to be told of a market event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Nothing,
    /// As it is.
    Event,
    /// The book is whole: it is sound, and this is its top.
    BookIsWhole(BestPrices),
    /// As it is: all has been told.
    LastEvent,
    /// The copy contradicts the event: all must be told anew.
    Contradiction,
}

impl Told {
    /// As it is, or not at all.
    const fn event_if(is_told: bool) -> Self {
        if is_told { Self::Event } else { Self::Nothing }
    }
}

impl Replica {
    pub(crate) fn new() -> Self {
        Self {
            instruments: Vec::new(),
            books: Vec::new(),
            orders: OrderCopies::new(),
            balances: Vec::new(),
            taken: 0,
            is_order_entry_up: false,
        }
    }

    /// Takes over what the gateway says.
    pub(crate) fn on_gateway(&mut self, event: &GatewayEvent) {
        match *event {
            GatewayEvent::DownloadBegin { .. } | GatewayEvent::Disconnected => {
                self.instruments.clear();
                self.books.clear();
                self.orders.clear();
                self.balances.clear();
                self.taken = 0;
                self.is_order_entry_up = false;
            }
            GatewayEvent::Instrument(instrument) => {
                self.instruments.push(instrument);
                let (instrument, coverage) = (instrument.id(), Coverage::Nothing);
                let positions = core::array::from_fn(|account| Position {
                    instrument,
                    account: AccountId(account as u8),
                    ..Position::default()
                });
                let (top, statistics) = (BestPrices::default(), SessionStatistics::default());
                self.books.push(BookCopy {
                    book: None,
                    coverage,
                    is_in_best_levels: false,
                    listed: ListedOrders::default(),
                    top,
                    statistics,
                    status: None,
                    positions,
                });
            }
            GatewayEvent::Position(held) => self.on_position(held),
            // One that is handed over comes later than those of the beginning.
            GatewayEvent::OpenOrder(order) => {
                self.orders.insert(OrderCopy { order, asked: self.taken });
            }
            GatewayEvent::OrderEntry { is_up } => self.is_order_entry_up = is_up,
            GatewayEvent::Connected
            | GatewayEvent::Ready
            | GatewayEvent::Status(_)
            | GatewayEvent::DownloadEnd
            | GatewayEvent::Overtaken { .. }
            | GatewayEvent::RateLimit(_) => {}
            GatewayEvent::Balance(balance) => self.on_balance(balance),
        }
    }

    /// What the strategy holds.
    pub(crate) fn on_position(&mut self, held: Position) {
        let copy = self.books.get_mut(index(held.instrument));
        let place = copy.and_then(|copy| copy.positions.get_mut(usize::from(held.account.0)));
        if let Some(place) = place {
            *place = held;
        }
    }

    fn on_balance(&mut self, balance: Balance) {
        let is_it =
            |own: &&mut Balance| (own.account, own.currency) == (balance.account, balance.currency);
        match self.balances.iter_mut().find(is_it) {
            Some(own) => *own = balance,
            None => self.balances.push(balance),
        }
    }

    /// The strategy's request with this number went out.
    pub(crate) fn on_request(&mut self, request: &Request, number: u16) {
        match (request.kind, OpenOrder::created(request)) {
            (_, Some(order)) => self.orders.insert(OrderCopy { order, asked: number }),
            (RequestKind::CancelAll(_), _) => {
                for copy in self.orders.iter_mut() {
                    *copy = copy.with_request(request, number);
                }
            }
            _ => {
                if let Some(copy) = self.orders.get_mut(request.id) {
                    *copy = copy.with_request(request, number);
                }
            }
        }
    }

    /// Takes over what became of an order. The gateway had taken the requests up to the one with
    /// the number `taken`.
    pub(crate) fn on_order(&mut self, update: &OrderUpdate, taken: u16) {
        self.taken = taken;
        let Some(copy) = self.orders.get_mut(update.id) else { return };
        // No more of them than the ring holds are on their way.
        let on_their_way = usize::from(copy.asked.wrapping_sub(taken));
        let is_answered = !(1..=REQUEST_SLOTS).contains(&on_their_way);
        copy.order = copy.order.with_update(update, is_answered);
        if update.state.is_done() {
            self.orders.remove(update.id);
        }
    }

    /// The market ring went on without the reader: no book can be trusted. Shows those that could.
    pub(crate) fn overtaken(&mut self, mut was_sound: impl FnMut(InstrumentId)) {
        for (instrument, copy) in self.instruments.iter().zip(&mut self.books) {
            if copy.coverage == Coverage::Everything {
                was_sound(instrument.id());
            }
            copy.forget();
        }
    }

    /// Takes over an event of the market ring.
    #[inline]
    pub(crate) fn on_ring(&mut self, instrument: InstrumentId, kind: &EventKind) -> Told {
        let Some(copy) = self.books.get_mut(index(instrument)) else { return Told::Nothing };
        let is_whole = copy.coverage == Coverage::Everything;
        match *kind {
            // It is told of when its levels are here.
            EventKind::Book(Soundness::Sound) => {
                copy.forget();
                Told::Nothing
            }
            EventKind::Book(Soundness::Stale(_)) => {
                copy.forget();
                Told::event_if(is_whole)
            }
            EventKind::Begin(Batch::BestLevels) => {
                copy.is_in_best_levels = true;
                Told::event_if(is_whole)
            }
            EventKind::Level(_) if copy.is_in_best_levels => Told::event_if(is_whole),
            EventKind::Level(level) if copy.coverage.has(level.side, level.price) => {
                match copy.apply(&level) {
                    false => Told::Contradiction,
                    true if is_whole => Told::Event,
                    true => Told::Nothing,
                }
            }
            EventKind::Top(top) => {
                copy.top = top;
                Told::event_if(is_whole)
            }
            EventKind::Status(status) => {
                copy.status = Some(status);
                Told::Event
            }
            EventKind::Statistic(_) => {
                copy.statistics.apply(kind);
                Told::Event
            }
            EventKind::Trade(_) => {
                copy.statistics.apply(kind);
                Told::event_if(is_whole)
            }
            // What was told of them ends here; the list comes by itself.
            EventKind::Begin(Batch::Orders) => Told::event_if(is_whole && copy.listed.begin()),
            EventKind::End { .. } => {
                Told::event_if(std::mem::take(&mut copy.is_in_best_levels) && is_whole)
            }
            EventKind::OrderAdd(_)
            | EventKind::OrderReduce { .. }
            | EventKind::OrderDelete { .. } => Told::event_if(copy.listed.on_ring(kind)),
            _ => Told::event_if(is_whole),
        }
    }

    /// Takes over a piece of a book that is told anew.
    #[cold]
    pub(crate) fn on_book(&mut self, instrument: InstrumentId, kind: &EventKind) -> Told {
        let Some(copy) = self.books.get_mut(index(instrument)) else { return Told::Nothing };
        match *kind {
            // As of this place of the market ring: the trades behind it come to it.
            EventKind::Statistic(statistic) => copy.statistics.set(statistic),
            // What was told already is not told again with each book.
            EventKind::Status(status) if copy.status != Some(status) => {
                copy.status = Some(status);
                return Told::Event;
            }
            EventKind::Begin(Batch::Orders) if copy.coverage == Coverage::Everything => {
                return if copy.listed.begin() { Told::Event } else { Told::Nothing };
            }
            EventKind::OrderAdd(order) if copy.listed.take(&order) => return Told::Event,
            EventKind::End { is_final } if copy.listed.end(is_final) => return Told::LastEvent,
            EventKind::Begin(Batch::Snapshot) => {
                copy.listed.forget();
                let book =
                    copy.book.get_or_insert_with(|| Box::new(LevelBook::with_capacity(LEVELS)));
                book.clear();
                copy.coverage = Coverage::DownTo(Side::Buy, None);
            }
            EventKind::Level(level) if copy.coverage != Coverage::Nothing => {
                if !copy.apply(&level) {
                    return Told::Contradiction;
                }
                copy.coverage = Coverage::DownTo(level.side, Some(level.price));
            }
            EventKind::Book(Soundness::Sound) if copy.coverage != Coverage::Nothing => {
                copy.coverage = Coverage::Everything;
                copy.top = copy.book.as_ref().map(|book| BestPrices::of(book)).unwrap_or_default();
                return Told::BookIsWhole(copy.top);
            }
            _ => {}
        }
        Told::Nothing
    }
}

impl BookCopy {
    /// What was told of the book is not to be trusted.
    fn forget(&mut self) {
        self.coverage = Coverage::Nothing;
        self.is_in_best_levels = false;
        self.listed.forget();
    }

    fn apply(&mut self, level: &LevelUpdate) -> bool {
        let LevelUpdate { side, price, lots, order_count, .. } = *level;
        self.book.as_mut().is_some_and(|book| book.apply(side, price, lots, order_count).is_ok())
    }
}

impl GatewayState for Replica {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        let copy = self.books.get(index(instrument))?;
        copy.book.as_deref().filter(|_| copy.coverage == Coverage::Everything)
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        match self.books.get(index(instrument)) {
            Some(copy) if copy.coverage == Coverage::Everything => Soundness::Sound,
            _ => Soundness::Stale(Staleness::Joining),
        }
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.books.get(index(instrument)).map_or_else(BestPrices::default, |copy| copy.top)
    }

    fn statistics(&self, instrument: InstrumentId) -> SessionStatistics {
        self.books.get(index(instrument)).map(|copy| copy.statistics).unwrap_or_default()
    }

    fn trading_status(&self, instrument: InstrumentId) -> Option<TradingStatus> {
        self.books.get(index(instrument))?.status
    }

    fn order(&self, _owner: Owner, id: ClientOrderId) -> Option<OpenOrder> {
        self.orders.get(id).map(|copy| copy.order)
    }

    fn visit_orders(&self, _owner: Owner, visit: &mut dyn FnMut(&OpenOrder)) {
        self.orders.iter().for_each(|copy| visit(&copy.order));
    }

    fn position(&self, _owner: Owner, instrument: InstrumentId, account: AccountId) -> Position {
        self.books
            .get(index(instrument))
            .and_then(|copy| copy.positions.get(usize::from(account.0)))
            .copied()
            .unwrap_or(Position { instrument, account, ..Position::default() })
    }

    fn visit_balances(&self, visit: &mut dyn FnMut(&Balance)) {
        self.balances.iter().for_each(visit);
    }

    fn is_order_entry_up(&self, _: InstrumentId) -> bool {
        self.is_order_entry_up
    }
}
