//! A strategy with two gateways: quotes at the first one's venue around the prices of the second
//! one's, and trades there what it must not hold.

use taut::prelude::*;

/// What it does, and how it stands.
#[derive(Debug)]
pub struct Hedger {
    /// What is quoted, and what it is hedged with. A lot of the first is whole lots of the second.
    symbols: [String; 2],
    /// How far its quotes stand from the prices at which they would be hedged.
    edge: Price,
    /// Lots of a quote.
    lots: Lots,
    quotes: [Option<ClientOrderId>; 2],
    is_leaving: bool,
}

impl Hedger {
    /// Quotes so many lots of the first symbol, so far from the prices of the second.
    pub fn new(symbols: [String; 2], edge: Price, lots: Lots) -> Self {
        Self { symbols, edge, lots, quotes: [None; 2], is_leaving: false }
    }

    /// It comes to rest: it quotes no more, and hedges what it holds.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Both instruments, once both gateways have told theirs.
    fn instruments(&self, trading: &impl Trading) -> Option<[Instrument; 2]> {
        let [quoted, hedge] = &self.symbols;
        Some([*trading.instrument(quoted)?, *trading.instrument(hedge)?])
    }

    fn act(&mut self, trading: &mut impl Trading) {
        let Some([quoted, hedge]) = self.instruments(trading) else { return };
        let best = |side| trading.book(hedge.id()).and_then(|book| book.best(side));
        let (Some(bid), Some(ask)) = (best(Side::Buy), best(Side::Sell)) else {
            // Nobody knows what a hedge would cost.
            return self.take_quotes_back(trading);
        };
        self.hedge(trading, [quoted, hedge], [bid.price, ask.price]);
        if self.is_leaving {
            return self.take_quotes_back(trading);
        }
        for (side, at) in [(Side::Buy, bid.price), (Side::Sell, ask.price)] {
            let price = quoted.rounded(side, Price(at.0 - side.sign() * self.edge.0));
            let terms = OrderTerms::limit(quoted.id(), side, price, self.lots);
            let quote = &mut self.quotes[side.index()];
            // What has traded is hedged; the next quote is another order.
            match quote.and_then(|id| trading.order(id)) {
                Some(order) if order.lots_open < order.terms.lots => {
                    if !order.is_being_cancelled() {
                        trading.cancel(order.id);
                    }
                }
                _ => trading.keep(quote, &terms),
            }
        }
    }

    fn take_quotes_back(&self, trading: &mut impl Trading) {
        for id in self.quotes.into_iter().flatten() {
            if trading.order(id).is_some_and(|order| !order.is_being_cancelled()) {
                trading.cancel(id);
            }
        }
    }

    /// One hedge at a time: while one is under way, or nobody knows what became of it, what it
    /// will have traded is not known.
    fn hedge(&self, trading: &mut impl Trading, of: [Instrument; 2], best: [Price; 2]) {
        let mut is_under_way = false;
        trading.visit_orders(&mut |order| is_under_way |= order.terms.instrument == of[1].id());
        let lots = |it: &Instrument| trading.position(it.id(), AccountId(0)).lots;
        let Some(quoted) = of[0].qty(lots(&of[0])).and_then(|qty| of[1].lots(qty)).ok() else {
            return;
        };
        let held = quoted.0 + lots(&of[1]).0;
        if is_under_way || held == 0 || !trading.is_order_entry_up(of[1].id()) {
            return;
        }
        let side = if held > 0 { Side::Sell } else { Side::Buy };
        let far = best[side.opposite().index()];
        let price = of[1].rounded(side, Price(far.0 + side.sign() * self.edge.0));
        let terms = OrderTerms::limit(of[1].id(), side, price, Lots(held.abs()));
        let force = TimeInForce::ImmediateOrCancel;
        let _ = trading.create(&OrderTerms { time_in_force: force, ..terms });
    }
}

impl Strategy for Hedger {
    fn on_market(&mut self, _now: Nanos, _event: &Event, _trading: &mut impl Trading) {}

    fn on_batch_end(&mut self, _now: Nanos, trading: &mut impl Trading) {
        self.act(trading);
    }

    fn on_gateway(&mut self, _now: Nanos, event: &GatewayEvent, trading: &mut impl Trading) {
        // What an earlier run has left open is none of this one's quotes.
        if *event == GatewayEvent::DownloadEnd {
            trading.cancel_all(OrderFilter::ALL);
        }
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        self.act(trading);
    }

    /// Comes with each timer while it is to come to rest.
    fn on_stop(&mut self, _now: Nanos, trading: &mut impl Trading) {
        self.leave();
        self.act(trading);
    }
}
