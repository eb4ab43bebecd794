//! A market that goes on elsewhere, level by level.
//!
//! Each price level there is one order here, in front of all orders of clients at its price that
//! came later. What a client takes of it is put back: the market is as it is elsewhere, whatever a
//! client does. A client's order rests until a level of the other side comes to its price: nobody
//! elsewhere knows of it, and trades there at its price do not fill it.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, TryRecvError};

use taut_types::{Instrument, Lots, OrderId, Price, Side};

use crate::flow::market::{Level, Market};
use crate::flow::step::FlowStep;

/// What a market elsewhere says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorUpdate {
    /// Its whole book follows, up to the [`End`](Self::End): levels that are not named are gone.
    Begin {
        /// The place of its instrument.
        place: usize,
    },
    /// A level has this total.
    Level {
        /// The place of its instrument.
        place: usize,
        /// Bids or offers.
        side: Side,
        /// Its price.
        price: Price,
        /// None: it is gone.
        lots: Lots,
    },
    /// The book is as the levels since the last one said: in between it may show what never was.
    End {
        /// The place of its instrument.
        place: usize,
    },
}

impl MirrorUpdate {
    const fn place(&self) -> usize {
        match self {
            Self::Begin { place } | Self::Level { place, .. } | Self::End { place } => *place,
        }
    }
}

/// Markets of several instruments that follow those elsewhere.
#[derive(Debug)]
pub struct MirrorFlow {
    from: Receiver<MirrorUpdate>,
    /// The next update, once somebody has looked.
    next: Cell<Option<MirrorUpdate>>,
    is_over: Cell<bool>,
    books: Vec<Book>,
    /// Prices and sizes that are none of their instrument's.
    strange: u64,
}

#[derive(Debug)]
struct Book {
    instrument: Instrument,
    market: Market,
    /// Levels come, and what they come to is not known yet.
    is_changing: bool,
}

impl MirrorFlow {
    /// Markets of these instruments, each in its place, that follow what comes from there.
    #[must_use]
    pub fn new(instruments: &[Instrument], from: Receiver<MirrorUpdate>) -> Self {
        let book = |instrument: &Instrument| Book {
            instrument: *instrument,
            market: Market::new(*instrument),
            is_changing: false,
        };
        let books = instruments.iter().map(book).collect();
        Self { from, next: Cell::new(None), is_over: Cell::new(false), books, strange: 0 }
    }

    /// Whether nobody can send any more, and all is as was said last.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_due() && self.is_over.get()
    }

    /// Whether there is something to do.
    pub(crate) fn is_due(&self) -> bool {
        self.behind().is_some() || self.look()
    }

    pub(crate) fn on_fill(&mut self, place: usize, order_id: OrderId, remaining: Lots) {
        if let Some(book) = self.books.get_mut(place) {
            book.market.on_fill(order_id, remaining);
        }
    }

    /// What is behind first; else the next update.
    pub(crate) fn step(&mut self) -> (usize, FlowStep) {
        if let Some(place) = self.behind()
            && let Some(Book { market, .. }) = self.books.get_mut(place)
        {
            let key = market.behind.pop_front();
            return (place, key.and_then(|key| market.command(key)).into());
        }
        self.look();
        let Some(update) = self.next.take() else { return (0, FlowStep::Nothing) };
        self.take(&update);
        (update.place(), FlowStep::Nothing)
    }

    /// An instrument whose book is not as it was said to be.
    fn behind(&self) -> Option<usize> {
        self.books.iter().position(|book| !book.is_changing && !book.market.behind.is_empty())
    }

    /// Whether there is an update.
    fn look(&self) -> bool {
        if self.next.get().is_none() {
            match self.from.try_recv() {
                Ok(update) => self.next.set(Some(update)),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.is_over.set(true),
            }
        }
        self.next.get().is_some()
    }

    fn take(&mut self, update: &MirrorUpdate) {
        let Some(book) = self.books.get_mut(update.place()) else { return };
        match *update {
            MirrorUpdate::Begin { .. } => {
                book.is_changing = true;
                book.market.clear();
            }
            MirrorUpdate::Level { side, price, lots, .. } => {
                self.strange += u64::from(!book.set(side, price, lots));
            }
            MirrorUpdate::End { .. } => book.is_changing = false,
        }
    }
}

impl Book {
    /// A level is to be so; whether it can be. What becomes less goes before what becomes more: the
    /// book must not cross itself on the way.
    fn set(&mut self, side: Side, price: Price, lots: Lots) -> bool {
        self.is_changing = true;
        let Ok(price) = self.instrument.half_ticks(price) else { return false };
        let Level { target, order } = self.market.side_mut(side).entry(price).or_default();
        *target = lots;
        let is_less = order.is_some_and(|(_, there)| lots < there);
        match is_less || lots <= Lots::ZERO {
            true => self.market.behind.push_front((side, price)),
            false => self.market.behind.push_back((side, price)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use taut_engine::Command;
    use taut_types::{InstrumentId, Qty, Symbol};

    const TICK: i64 = 1_000_000_000;

    fn instrument() -> Instrument {
        let symbol = Symbol::new(b"ONE").expect("short");
        Instrument::new(InstrumentId(0), symbol, Price(TICK), Qty::whole(1)).expect("steps")
    }

    fn level(side: Side, price: i64, lots: i64) -> MirrorUpdate {
        MirrorUpdate::Level { place: 0, side, price: Price(price * TICK), lots: Lots(lots) }
    }

    /// All commands that these updates come to.
    fn commands(flow: &mut MirrorFlow) -> Vec<Command> {
        let mut commands = Vec::new();
        while flow.is_due() {
            if let (0, FlowStep::Command(command)) = flow.step() {
                commands.push(command);
            }
        }
        commands
    }

    #[test]
    fn levels_become_orders_and_what_goes_goes_first() {
        let (to, from) = channel();
        let mut flow = MirrorFlow::new(&[instrument()], from);
        let send = |updates: &[MirrorUpdate]| {
            updates.iter().for_each(|update| to.send(*update).expect("it is there"));
        };
        let (begin, end) = (MirrorUpdate::Begin { place: 0 }, MirrorUpdate::End { place: 0 });
        send(&[begin, level(Side::Buy, 99, 5), level(Side::Sell, 101, 7)]);
        assert_eq!(commands(&mut flow), [], "it may be half of a book");
        send(&[end]);
        let new = |id, side, price, lots| {
            let price = instrument().half_ticks(Price(price * TICK)).expect("a price");
            Command::New(taut_engine::NewOrder::limit(OrderId(id), 0, side, price, Lots(lots)))
        };
        assert_eq!(commands(&mut flow), [new(1, Side::Buy, 99, 5), new(2, Side::Sell, 101, 7)]);
        // The market moves up through its own offer: that goes before the bid comes.
        send(&[level(Side::Buy, 102, 1), level(Side::Sell, 101, 0), level(Side::Buy, 99, 2), end]);
        assert_eq!(
            commands(&mut flow),
            [
                Command::Reduce { order_id: OrderId(1), by: Lots(3) },
                Command::Cancel { order_id: OrderId(2) },
                new(3, Side::Buy, 102, 1),
            ]
        );
        // Somebody takes of it: it is put back, behind whoever waits there by then.
        flow.on_fill(0, OrderId(3), Lots::ZERO);
        assert_eq!(commands(&mut flow), [new(4, Side::Buy, 102, 1)]);
        // A whole book: what it does not name is gone.
        send(&[begin, level(Side::Buy, 102, 1), end]);
        assert_eq!(commands(&mut flow), [Command::Cancel { order_id: OrderId(1) }]);
        assert!(!flow.is_over());
        drop(to);
        assert!(flow.is_over());
    }

    #[test]
    fn prices_that_are_none_are_counted_and_left_out() {
        let (to, from) = channel();
        let mut flow = MirrorFlow::new(&[instrument()], from);
        let odd = MirrorUpdate::Level {
            place: 0,
            side: Side::Buy,
            price: Price(TICK / 3),
            lots: Lots(1),
        };
        let elsewhere = MirrorUpdate::End { place: 9 };
        for update in [odd, elsewhere, MirrorUpdate::End { place: 0 }] {
            to.send(update).expect("it is there");
        }
        assert_eq!(commands(&mut flow), []);
        assert_eq!(flow.strange, 1);
    }
}
