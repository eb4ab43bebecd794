//! A matcher written from what exchanges publish, for the features that no public referee covers.
//!
//! It is a list of orders, searched for whatever is asked. It shares nothing with the engine and
//! with its twin, not even the checks and the arithmetic of allocation: prices and quantities are
//! plain numbers here, half ticks and lots. Sources: CME Globex, "Matching Algorithm Steps",
//! "Modify Order", "In-Flight Mitigation"; Euronext's and Xetra's rules of the call auction.

use std::collections::VecDeque;

/// Who trades with whom: the resting order first; in an auction the seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    pub maker: u64,
    pub taker: u64,
    pub price: i64,
    pub lots: i64,
}

/// What the best prices of the displayed market make of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peg {
    Primary,
    Market,
    Midpoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Displayed, at its limit.
    Limit,
    /// Not displayed, at the market's price and so much towards the other side; `limit` is its own.
    Pegged { peg: Peg, offset: i64, limit: i64 },
    /// A market order behind a trigger, which follows the market at the distance, if it has one.
    Stop { distance: Option<i64> },
    /// At any price: in an auction it waits, else it never rests.
    Market,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: u64,
    pub is_buy: bool,
    pub kind: Kind,
    /// The limit, the peg's price, or the trigger; of a market order, and of a peg without a
    /// market, nothing.
    pub price: Option<i64>,
    pub lots: i64,
    /// What it has traded.
    traded: i64,
    /// Its turn in its queue.
    turn: u64,
    /// When it came.
    entered: u64,
}

impl Order {
    pub const fn new(id: u64, is_buy: bool, kind: Kind, price: Option<i64>, lots: i64) -> Self {
        Self { id, is_buy, kind, price, lots, traded: 0, turn: 0, entered: 0 }
    }

    /// Whether it would trade at this price.
    fn accepts(&self, price: i64) -> bool {
        match self.price {
            None => true,
            Some(limit) if self.is_buy => price <= limit,
            Some(limit) => price >= limit,
        }
    }

    /// Best first: less is better.
    fn rank(&self) -> i64 {
        match (self.price, self.is_buy) {
            (None, _) => i64::MIN,
            (Some(price), true) => -price,
            (Some(price), false) => price,
        }
    }

    const fn is_pegged(&self) -> bool {
        matches!(self.kind, Kind::Pegged { .. })
    }

    const fn is_stop(&self) -> bool {
        matches!(self.kind, Kind::Stop { .. })
    }

    /// Whether it stands where others can meet it.
    const fn is_there(&self) -> bool {
        matches!((self.kind, self.price), (Kind::Limit | Kind::Pegged { .. }, Some(_)))
    }
}

/// How a taker is divided among the displayed orders of one price.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// The order that bettered the market comes first, with so many lots at the most.
    pub top_max: i64,
    /// Smaller ones do not become it.
    pub top_min: i64,
    /// In percent of what is then left.
    pub by_time: i64,
    /// Smaller parts are nothing.
    pub pro_rata_min: i64,
    /// Those who got nothing by their size get one lot, the largest first.
    pub levelling: bool,
}

pub const BY_TIME: Division =
    Division { top_max: 0, top_min: 0, by_time: 100, pro_rata_min: 1, levelling: false };

pub struct Market {
    pub orders: Vec<Order>,
    pub trades: Vec<Trade>,
    division: Division,
    /// The order that bettered each side's market last: of sells, of buys.
    tops: [Option<u64>; 2],
    last: Option<i64>,
    clock: u64,
    /// Prices that triggers have not seen.
    seen: VecDeque<i64>,
    fired: VecDeque<Order>,
    pub is_call: bool,
}

impl Market {
    pub fn new(division: Division) -> Self {
        Self {
            orders: Vec::new(),
            trades: Vec::new(),
            division,
            tops: [None; 2],
            last: None,
            clock: 0,
            seen: VecDeque::new(),
            fired: VecDeque::new(),
            is_call: false,
        }
    }

    /// The displayed orders of a side, in their priority: id, price, lots.
    pub fn queue(&self, is_buy: bool) -> Vec<(u64, i64, i64)> {
        let mut queue: Vec<&Order> =
            self.orders.iter().filter(|o| o.kind == Kind::Limit && o.is_buy == is_buy).collect();
        queue.sort_by_key(|order| (order.rank(), order.turn));
        queue.iter().map(|o| (o.id, o.price.unwrap_or_default(), o.lots)).collect()
    }

    /// How many stand undisplayed, wait for a trigger, wait for anything else.
    pub fn undisplayed(&self) -> [usize; 3] {
        let count = |of: &dyn Fn(&Order) -> bool| self.orders.iter().filter(|o| of(o)).count();
        let dark = count(&|o| o.is_pegged() && o.price.is_some());
        let parked = count(&|o| o.is_pegged() && o.price.is_none() || o.kind == Kind::Market);
        [dark, count(&Order::is_stop), parked]
    }

    /// Enters an order; `false` when its id is taken.
    pub fn enter(&mut self, order: Order, is_immediate: bool) -> bool {
        if self.orders.iter().any(|known| known.id == order.id) {
            return false;
        }
        let entered = self.tick();
        self.admit(Order { entered, ..order }, is_immediate);
        self.follow();
        true
    }

    pub fn cancel(&mut self, id: u64) -> bool {
        let is_known = self.take_out(id).is_some();
        self.follow();
        is_known
    }

    /// As a cancel and a new order: the quantity is what shall be open, the side stays.
    pub fn requeue(&mut self, id: u64, price: i64, lots: i64) -> bool {
        let Some(old) = self.take_out(id) else { return false };
        self.admit(Order { kind: Kind::Limit, price: Some(price), lots, ..old }, false);
        self.follow();
        true
    }

    /// As CME: the quantity is the order's total; the place is kept unless the price changes or the
    /// open quantity grows.
    pub fn modify(&mut self, id: u64, is_buy: bool, price: i64, total: i64) -> bool {
        let Some(at) = self.orders.iter().position(|o| o.id == id && o.is_buy == is_buy) else {
            return false;
        };
        let order = &mut self.orders[at];
        let open = total - order.traded;
        if open > 0 && order.price == Some(price) && open <= order.lots {
            order.lots = open;
        } else if let Some(old) = self.take_out(id)
            && open > 0
        {
            self.admit(Order { price: Some(price), lots: open, ..old }, false);
        }
        self.follow();
        true
    }

    /// Ends a call: one price, then what is left of market orders is cancelled.
    pub fn uncross(&mut self) {
        self.is_call = false;
        if let Some((price, mut volume)) = self.auction() {
            while volume > 0 {
                let [Some(buy), Some(sell)] = [true, false].map(|is_buy| self.first(is_buy, price))
                else {
                    break;
                };
                let lots = volume.min(self.orders[buy].lots).min(self.orders[sell].lots);
                let (taker, maker) = (self.orders[buy].id, self.orders[sell].id);
                self.trades.push(Trade { maker, taker, price, lots });
                self.last = Some(price);
                volume -= lots;
                for at in [buy, sell] {
                    self.orders[at].lots -= lots;
                    self.orders[at].traded += lots;
                }
                self.orders.retain(|order| order.lots > 0);
            }
        }
        self.orders.retain(|order| order.kind != Kind::Market);
    }

    /// The price of an auction and what trades there: the greatest volume, then the least surplus,
    /// then the highest price under buyers' pressure, the lowest under sellers', else the nearest
    /// to the last.
    fn auction(&self) -> Option<(i64, i64)> {
        let wants = |is_buy: bool, price: i64| -> i64 {
            let side = self.orders.iter().filter(|order| order.is_buy == is_buy);
            side.filter(|order| order.accepts(price)).map(|order| order.lots).sum()
        };
        let mut prices: Vec<i64> = self.orders.iter().filter_map(|order| order.price).collect();
        if prices.is_empty() {
            prices.extend(self.last);
        }
        let outcome = |&price: &i64| {
            let (buys, sells) = (wants(true, price), wants(false, price));
            (price, buys.min(sells), buys - sells)
        };
        let mut outcomes: Vec<(i64, i64, i64)> = prices.iter().map(outcome).collect();
        let volume = outcomes.iter().map(|o| o.1).max().filter(|&volume| volume > 0)?;
        outcomes.retain(|o| o.1 == volume);
        let surplus = outcomes.iter().map(|o| o.2.abs()).min()?;
        outcomes.retain(|o| o.2.abs() == surplus);
        let candidates = outcomes.iter().map(|o| o.0);
        let price = if outcomes.iter().all(|o| o.2 > 0) {
            candidates.max()
        } else if outcomes.iter().all(|o| o.2 < 0) {
            candidates.min()
        } else {
            let last = self.last.unwrap_or(0);
            candidates.min_by_key(|price| ((price - last).abs(), *price))
        };
        Some((price?, volume))
    }

    /// The first of a side in an auction at this price: market orders, then by price, then by time.
    fn first(&self, is_buy: bool, price: i64) -> Option<usize> {
        let joins =
            |at: &usize| self.orders[*at].is_buy == is_buy && self.orders[*at].accepts(price);
        let all = (0..self.orders.len()).filter(joins);
        all.min_by_key(|&at| (self.orders[at].rank(), self.orders[at].turn))
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn take_out(&mut self, id: u64) -> Option<Order> {
        let at = self.orders.iter().position(|order| order.id == id)?;
        self.forget_top(id);
        Some(self.orders.remove(at))
    }

    fn forget_top(&mut self, id: u64) {
        for top in &mut self.tops {
            *top = top.filter(|top| *top != id);
        }
    }

    /// Where an order goes that has been accepted.
    fn admit(&mut self, mut order: Order, is_immediate: bool) {
        if order.is_stop() {
            if !self.is_reached(&order, self.last) {
                return self.rest(order);
            }
            (order.kind, order.price) = (Kind::Market, None);
        }
        if let Kind::Pegged { peg, offset, limit } = order.kind {
            order.price = self.peg_price(order.is_buy, peg, offset, limit);
            if order.price.is_none() {
                return self.rest(order);
            }
        }
        if !self.is_call {
            self.trade(&mut order);
        }
        let may_rest = !is_immediate && (self.is_call || order.kind != Kind::Market);
        if order.lots > 0 && may_rest {
            self.rest(order);
        }
    }

    fn rest(&mut self, mut order: Order) {
        order.turn = self.tick();
        if order.kind == Kind::Limit {
            let side =
                self.orders.iter().filter(|o| o.kind == Kind::Limit && o.is_buy == order.is_buy);
            if side.map(Order::rank).min().is_none_or(|best| order.rank() < best) {
                let is_large = order.lots >= self.division.top_min;
                self.tops[usize::from(order.is_buy)] = is_large.then_some(order.id);
            }
        }
        self.orders.push(order);
    }

    fn trade(&mut self, taker: &mut Order) {
        while taker.lots > 0 {
            let meets = |o: &&Order| {
                let at = o.price.unwrap_or_default();
                o.is_there() && o.is_buy != taker.is_buy && taker.accepts(at)
            };
            // The displayed come before the undisplayed of their price.
            let first = self.orders.iter().filter(meets);
            let Some(first) = first.min_by_key(|o| (o.rank(), o.is_pegged(), o.turn)).copied()
            else {
                return;
            };
            if first.is_pegged() {
                self.fill(taker, first.id, first.lots);
                continue;
            }
            let is_same = |o: &&Order| o.kind == Kind::Limit && o.price == first.price;
            let mut level: Vec<Order> = self.orders.iter().filter(is_same).copied().collect();
            level.retain(|order| order.is_buy == first.is_buy);
            level.sort_by_key(|order| order.turn);
            for (order, part) in level.iter().zip(self.divide(&level, taker.lots)) {
                if part > 0 {
                    self.fill(taker, order.id, part);
                }
            }
        }
    }

    /// What each order of a level gets of so many lots.
    fn divide(&self, level: &[Order], lots: i64) -> Vec<i64> {
        let Division { top_max, by_time, pro_rata_min, levelling, .. } = self.division;
        let open: Vec<i64> = level.iter().map(|order| order.lots).collect();
        if open.iter().sum::<i64>() <= lots {
            return open;
        }
        let mut given = vec![0; level.len()];
        let mut left = lots;
        let in_time = |given: &mut Vec<i64>, mut lots: i64| {
            for (given, open) in given.iter_mut().zip(&open) {
                let part = lots.min(open - *given);
                *given += part;
                lots -= part;
            }
            lots
        };
        if level.first().is_some_and(|head| self.tops.contains(&Some(head.id))) {
            given[0] = left.min(top_max).min(open[0]);
            left -= given[0];
        }
        let timely = left * by_time / 100;
        left -= timely - in_time(&mut given, timely);
        let rest: Vec<i64> = open.iter().zip(&given).map(|(open, given)| open - given).collect();
        let whole: i64 = rest.iter().sum::<i64>().max(1);
        let parts: Vec<i64> = rest.iter().map(|rest| left * rest / whole).collect();
        let parts: Vec<i64> =
            parts.iter().map(|&part| if part < pro_rata_min { 0 } else { part }).collect();
        for (given, part) in given.iter_mut().zip(&parts) {
            *given += part;
            left -= part;
        }
        if levelling {
            let passed_over = (0..level.len()).filter(|&at| parts[at] == 0 && rest[at] > 0);
            let mut passed_over: Vec<usize> = passed_over.collect();
            // The sort is stable: of two as large ones the older stays first.
            passed_over.sort_by_key(|&at| -rest[at]);
            for at in passed_over.into_iter().take(usize::try_from(left).unwrap_or(0)) {
                given[at] += 1;
                left -= 1;
            }
        }
        in_time(&mut given, left);
        given
    }

    fn fill(&mut self, taker: &mut Order, maker: u64, lots_max: i64) {
        let Some(order) = self.orders.iter_mut().find(|order| order.id == maker) else { return };
        let lots = taker.lots.min(lots_max);
        let price = order.price.unwrap_or_default();
        order.lots -= lots;
        order.traded += lots;
        let is_gone = order.lots == 0;
        taker.lots -= lots;
        taker.traded += lots;
        self.trades.push(Trade { maker, taker: taker.id, price, lots });
        self.last = Some(price);
        self.seen.push_back(price);
        if is_gone {
            self.take_out(maker);
        }
    }

    /// What follows a command: triggers and pegs, until nothing moves any more.
    fn follow(&mut self) {
        if self.is_call {
            return;
        }
        loop {
            while let Some(price) = self.seen.pop_front() {
                self.show(price);
            }
            if let Some(order) = self.fired.pop_front() {
                self.admit(Order { kind: Kind::Market, price: None, ..order }, false);
            } else if !self.reprice() {
                return;
            }
        }
    }

    /// Whether a trade at this price fires a stop.
    fn is_reached(&self, stop: &Order, price: Option<i64>) -> bool {
        let (Some(price), Some(trigger)) = (price, stop.price) else { return false };
        if stop.is_buy { price >= trigger } else { price <= trigger }
    }

    /// Shows a trade's price to the stops: trailing ones follow it, and those that it reaches fire,
    /// as the market meets them.
    fn show(&mut self, price: i64) {
        for is_buy in [true, false] {
            let mut stops: Vec<Order> =
                self.orders.iter().filter(|o| o.is_stop() && o.is_buy == is_buy).copied().collect();
            // A rising market meets the lowest buy stop first.
            let meeting = |stop: &Order| match (stop.price, is_buy) {
                (Some(price), true) => (price, stop.turn),
                (price, _) => (-price.unwrap_or_default(), stop.turn),
            };
            stops.sort_by_key(meeting);
            for stop in &stops {
                let Kind::Stop { distance: Some(distance) } = stop.kind else { continue };
                let trigger = if is_buy { price + distance } else { price - distance };
                let nearer = stop.price.is_some_and(|old| match is_buy {
                    true => trigger < old,
                    false => trigger > old,
                });
                if nearer && let Some(moved) = self.take_out(stop.id) {
                    self.rest(Order { price: Some(trigger), ..moved });
                }
            }
        }
        for is_buy in [true, false] {
            let reached = self
                .orders
                .iter()
                .filter(|o| o.is_stop() && o.is_buy == is_buy && self.is_reached(o, Some(price)));
            let mut reached: Vec<Order> = reached.copied().collect();
            reached.sort_by_key(|stop| {
                let trigger = stop.price.unwrap_or_default();
                (if is_buy { trigger } else { -trigger }, stop.turn)
            });
            for stop in reached {
                self.take_out(stop.id);
                self.fired.push_back(stop);
            }
        }
    }

    fn best(&self, is_buy: bool) -> Option<i64> {
        self.queue(is_buy).first().map(|&(_, price, _)| price)
    }

    /// A peg's price: never at or beyond the other side's best, never worse than its own limit.
    fn peg_price(&self, is_buy: bool, peg: Peg, offset: i64, limit: i64) -> Option<i64> {
        let (own, other) = (self.best(is_buy), self.best(!is_buy));
        let market = match peg {
            Peg::Primary => own?,
            Peg::Market => other?,
            Peg::Midpoint => (own? + other?) / 2,
        };
        let price = match is_buy {
            true => (market + offset).min(limit).min(other.map_or(i64::MAX, |ask| ask - 1)),
            false => (market - offset).max(limit).max(other.map_or(i64::MIN, |bid| bid + 1)),
        };
        (price > 0).then_some(price)
    }

    /// Prices the pegs anew, the oldest first: one that moves joins the end of its new queue, and
    /// may trade. Tells whether one did move.
    fn reprice(&mut self) -> bool {
        let mut pegs: Vec<(u64, u64)> =
            self.orders.iter().filter(|o| o.is_pegged()).map(|o| (o.entered, o.id)).collect();
        pegs.sort_unstable();
        let mut has_moved = false;
        for (_, id) in pegs {
            let Some(order) = self.orders.iter().find(|order| order.id == id).copied() else {
                continue;
            };
            let Kind::Pegged { peg, offset, limit } = order.kind else { continue };
            if self.peg_price(order.is_buy, peg, offset, limit) != order.price {
                has_moved = true;
                self.take_out(id);
                self.admit(order, false);
            }
        }
        has_moved
    }
}
