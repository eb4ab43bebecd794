//! A book by price and time, as plain as can be.

use taut_types::Side;

use super::{Answer, Ask, Order};

/// An order that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resting {
    /// Its number.
    pub order: Order,
    /// Whether it buys.
    pub side: Side,
    /// Its limit.
    pub price: i64,
    /// What is left of it.
    pub open: i64,
    /// What of it has traded.
    pub traded: i64,
}

/// Orders that rest, those that came first before the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Book {
    resting: Vec<Resting>,
}

/// A trade: maker, taker, price, quantity.
pub type Made = (Order, Order, i64, i64);

impl Book {
    /// Executes a request. Trades are put into `made`; what has traded of an order that is over,
    /// `traded` says.
    pub fn execute(
        &mut self,
        ask: Ask,
        traded: impl Fn(Order) -> i64,
        made: &mut Vec<Made>,
    ) -> Answer {
        match ask {
            Ask::New { order, side, price, qty } => {
                self.enter(Resting { order, side, price, open: qty, traded: 0 }, made);
                Answer::Taken
            }
            Ask::Cancel(order) => self.take(order).map_or(Answer::Refused, |_| Answer::Cancelled),
            Ask::Replace { order, price, qty } => self.replace(order, price, qty, made),
            Ask::Status(order) => {
                let at = self.place(order).map(|at| self.resting[at]);
                let open = at.map_or(0, |it| it.open);
                Answer::Standing { traded: at.map_or_else(|| traded(order), |it| it.traded), open }
            }
        }
    }

    /// How many orders rest.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.resting.len()
    }

    /// Whether none does.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.resting.is_empty()
    }

    fn place(&self, order: Order) -> Option<usize> {
        self.resting.iter().position(|it| it.order == order)
    }

    fn take(&mut self, order: Order) -> Option<Resting> {
        self.place(order).map(|at| self.resting.remove(at))
    }

    /// Less at the same price keeps its place.
    fn replace(&mut self, order: Order, price: i64, qty: i64, made: &mut Vec<Made>) -> Answer {
        let Some(at) = self.place(order) else { return Answer::Refused };
        let before = self.resting[at];
        let open = qty - before.traded;
        if open <= 0 {
            self.resting.remove(at);
            return Answer::Cancelled;
        }
        if price == before.price && open <= before.open {
            self.resting[at].open = open;
            return Answer::Taken;
        }
        self.resting.remove(at);
        self.enter(Resting { price, open, ..before }, made);
        Answer::Taken
    }

    /// Trades with what rests on the other side, the best price first and at each the order that
    /// came first; what is left rests behind all others.
    fn enter(&mut self, mut taker: Resting, made: &mut Vec<Made>) {
        while taker.open > 0
            && let Some(at) = self.best_against(&taker)
        {
            let maker = &mut self.resting[at];
            let qty = maker.open.min(taker.open);
            made.push((maker.order, taker.order, maker.price, qty));
            for side in [&mut *maker, &mut taker] {
                side.open -= qty;
                side.traded += qty;
            }
            if maker.open == 0 {
                self.resting.remove(at);
            }
        }
        if taker.open > 0 {
            self.resting.push(taker);
        }
    }

    fn best_against(&self, taker: &Resting) -> Option<usize> {
        let is_better = |price: i64, than: i64| match taker.side {
            Side::Buy => price < than,
            Side::Sell => price > than,
        };
        let mut best: Option<usize> = None;
        for (at, maker) in self.resting.iter().enumerate() {
            let can_trade = maker.side != taker.side && !is_better(taker.price, maker.price);
            if can_trade && best.is_none_or(|best| is_better(maker.price, self.resting[best].price))
            {
                best = Some(at);
            }
        }
        best
    }
}
