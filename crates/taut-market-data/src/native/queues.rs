//! The single orders of the books: queues by price, kept where somebody wants to be told of them.

use alloc::vec::Vec;

use taut_book::{BookError, Order, OrderBook};
use taut_types::{Instrument, InstrumentId, SequenceNumber, Side};

use crate::event::{Batch, BookOrder, EventKind, MarketSink, Origin};
use crate::native::message::Message;
use crate::native::reader::PacketReader;

/// Instead of the number of a packet: a snapshot is needed, and no packet is for it.
pub(crate) const WAITING: u64 = u64::MAX;

/// What a consumer knows of the orders of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing that still holds.
    Nothing,
    /// That they are not known.
    Unknown,
    /// All of them, and each change since.
    All,
}

/// The orders of one book, and how far they are.
#[derive(Debug)]
pub(crate) struct FollowedOrders {
    /// The owner of each is its number among those that came since the snapshot: of two in a queue
    /// the higher one is behind.
    book: OrderBook,
    instrument: Instrument,
    /// What the packets up to this one changed is in the queues, or is not to be.
    pub(crate) as_of: u64,
    arrivals: u32,
    /// More orders rest than there is room for.
    is_full: bool,
    pub(crate) told: Told,
}

/// Those of all books, in the books' places; none where nobody wants them.
#[derive(Debug, Default)]
pub(crate) struct OrderQueues {
    pub(crate) books: Vec<FollowedOrders>,
    /// Those of instruments that may be added.
    pub(crate) spare: Vec<OrderBook>,
    /// Here a snapshot is put together before it replaces a book.
    staging: Option<OrderBook>,
    /// How often the orders of a book had no room.
    pub(crate) overflows: u64,
    /// How often they were not what the feed says.
    pub(crate) malformed: u64,
    /// Some became unknown, or changed and were not told.
    pub(crate) has_news: bool,
}

/// Why orders cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no room.
    Full,
    /// They are not what the feed says.
    Contradiction,
}

impl From<BookError> for Fault {
    fn from(error: BookError) -> Self {
        match error {
            BookError::Limit(_) => Self::Full,
            _ => Self::Contradiction,
        }
    }
}

impl FollowedOrders {
    pub(crate) fn new(instrument: Instrument, book: OrderBook) -> Self {
        let (as_of, arrivals, is_full, told) = (WAITING, 0, false, Told::Nothing);
        Self { book, instrument, as_of, arrivals, is_full, told }
    }

    /// Whether they are known only by a snapshot.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.as_of == WAITING
    }

    /// Their packets are missing: a snapshot has to come.
    pub(crate) const fn wait(&mut self) {
        self.as_of = WAITING;
    }

    /// The queues, where they were told.
    pub(crate) fn shown(&self) -> Option<&OrderBook> {
        (self.told == Told::All).then_some(&self.book)
    }

    /// Takes what the feed says of an order.
    pub(crate) fn take(&mut self, kind: &EventKind) -> Result<(), Fault> {
        match *kind {
            EventKind::OrderAdd(order) => {
                add(&mut self.book, &self.instrument, &mut self.arrivals, &order)
            }
            EventKind::OrderReduce { order_id, side, by, remaining, .. } => {
                let order = self.book.order(order_id).filter(|order| order.side == side);
                let left = order.and_then(|order| order.lots.0.checked_sub(by.0));
                if left != Some(remaining.0) || remaining.0 <= 0 {
                    return Err(Fault::Contradiction);
                }
                self.book.reduce(order_id, by)?;
                Ok(())
            }
            EventKind::OrderDelete { order_id, side } => {
                let removal = self.book.remove(order_id)?;
                if removal.order.side == side { Ok(()) } else { Err(Fault::Contradiction) }
            }
            _ => Ok(()),
        }
    }

    /// Tells all of them, or that they are not known.
    pub(crate) fn tell(&self, origin: &Origin<'_>, sink: &mut impl MarketSink) {
        let is_known = !self.is_waiting();
        origin.hand(EventKind::Begin(Batch::Orders), sink);
        if is_known && sink.takes_listed_orders() {
            for side in Side::BOTH {
                let orders = self.book.orders(side);
                let orders = orders.filter_map(|it| BookOrder::listed(&self.instrument, &it));
                orders.for_each(|order| origin.hand(EventKind::OrderAdd(order), sink));
            }
        }
        origin.hand(EventKind::End { is_final: is_known }, sink);
    }
}

/// Puts an order at the end of its queue.
fn add(
    book: &mut OrderBook,
    instrument: &Instrument,
    arrivals: &mut u32,
    order: &BookOrder,
) -> Result<(), Fault> {
    let BookOrder { order_id: id, side, lots, .. } = *order;
    let price = instrument.half_ticks(order.price).map_err(|_| Fault::Contradiction)?;
    // Behind four thousand million of them a snapshot begins anew.
    let owner = arrivals.checked_add(1).ok_or(Fault::Full)?;
    book.add(Order { id, owner, side, price, lots })?;
    *arrivals = owner;
    Ok(())
}

/// Whether an event is of a single order.
const fn is_order(kind: &EventKind) -> bool {
    use EventKind::{OrderAdd, OrderDelete, OrderReduce};
    matches!(kind, OrderAdd(_) | OrderReduce { .. } | OrderDelete { .. })
}

/// The changes of single orders in a packet; none when it is malformed anywhere.
pub(crate) fn changes<'p>(
    packet: &PacketReader<'p>,
) -> Option<impl Iterator<Item = (InstrumentId, EventKind)> + use<'p>> {
    let messages = packet.messages();
    let is_sound = messages.clone().all(|message| message.is_ok());
    let changes = messages.filter_map(|message| match message {
        Ok(Message::Event(instrument, kind)) if is_order(&kind) => Some((instrument, kind)),
        _ => None,
    });
    is_sound.then_some(changes)
}

impl OrderQueues {
    /// Takes the memory for the orders of these instruments, and of so many more.
    pub(crate) fn new(
        instruments: impl Iterator<Item = Instrument>,
        more: usize,
        (order_capacity, level_capacity): (usize, usize),
    ) -> Self {
        let book = || OrderBook::with_window(order_capacity, level_capacity, level_capacity);
        let mut books = Vec::new();
        books.extend(instruments.map(|instrument| FollowedOrders::new(instrument, book())));
        books.reserve_exact(more);
        let spare = (0..more).map(|_| book()).collect();
        Self { books, spare, staging: Some(book()), ..Self::default() }
    }

    /// Whether the orders of every book are known.
    pub(crate) fn are_known(&self) -> bool {
        !self.books.iter().any(FollowedOrders::is_waiting)
    }

    /// Whether those of the book in this place are to be told and are not known.
    pub(crate) fn is_waiting(&self, at: usize) -> bool {
        self.books.get(at).is_some_and(FollowedOrders::is_waiting)
    }

    /// Those of the book in this place are not known.
    pub(crate) fn wait(&mut self, at: usize) {
        self.books.get_mut(at).into_iter().for_each(FollowedOrders::wait);
    }

    /// Whether some became unknown, or changed and were not told, since this was asked last.
    pub(crate) const fn take_news(&mut self) -> bool {
        core::mem::replace(&mut self.has_news, false)
    }

    /// Those of the book in this place are not known any more.
    #[cold]
    pub(crate) fn fail(&mut self, at: usize, fault: Fault) {
        let Some(orders) = self.books.get_mut(at) else { return };
        orders.wait();
        self.has_news = true;
        match fault {
            Fault::Contradiction => self.malformed += 1,
            Fault::Full => self.overflow(at),
        }
    }

    /// More orders rest in the book in this place than there is room for; counted once.
    #[cold]
    pub(crate) fn overflow(&mut self, at: usize) {
        let Some(orders) = self.books.get_mut(at) else { return };
        orders.wait();
        self.has_news = true;
        self.overflows += u64::from(!core::mem::replace(&mut orders.is_full, true));
    }

    /// A packet is malformed: nobody knows what it says of which order.
    #[cold]
    pub(crate) fn fail_all(&mut self) {
        self.books.iter_mut().for_each(FollowedOrders::wait);
        self.malformed += 1;
        self.has_news = true;
    }

    /// Builds the queues that a snapshot for the book in this place lists; the former ones are as
    /// they were. False when it contradicts itself: its orders have to add up to its levels.
    pub(crate) fn build(
        &mut self,
        at: usize,
        mut orders: impl Iterator<Item = BookOrder>,
        levels: &taut_book::LevelBook,
    ) -> bool {
        let (Some(book), Some(of)) = (&mut self.staging, self.books.get(at)) else { return false };
        book.clear();
        let (instrument, mut arrivals) = (&of.instrument, 0);
        if orders.any(|order| add(book, instrument, &mut arrivals, &order).is_err()) {
            return false;
        }
        Side::BOTH.into_iter().all(|side| {
            book.level_count(side) == levels.level_count(side)
                && book.levels(side).zip(levels.iter(side)).all(|(queue, level)| {
                    instrument.price(queue.price) == Ok(level.price)
                        && queue.lots == level.lots
                        && [0, queue.order_count].contains(&level.order_count)
                })
        })
    }

    /// What was built replaces the queues of the book in this place, as of this packet.
    pub(crate) fn replace(&mut self, at: usize, last: SequenceNumber) {
        let (Some(book), Some(orders)) = (&mut self.staging, self.books.get_mut(at)) else {
            return;
        };
        core::mem::swap(&mut orders.book, book);
        orders.arrivals = u32::try_from(orders.book.order_count()).unwrap_or(u32::MAX);
        (orders.as_of, orders.is_full, orders.told) = (last.0, false, Told::Nothing);
    }
}
