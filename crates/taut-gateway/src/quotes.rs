//! Mass quotes: a bid and an offer in each of many instruments, asked for in one call.
//!
//! A venue without MassQuote (35=i), as FIX 4.4's order entry is, gets an order for each side of
//! each instrument: created once, given another price or quantity when the quote has another, and
//! cancelled when a side is quoted no more. What has not changed costs a look at its order.

use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, OrderFlags, OrderTerms, Price, Side,
};

use crate::message::OpenOrder;
use crate::strategy::Trading;

/// What is to stand in the market in an instrument. Lots are those that may still trade: once some
/// of a quote have, the next one with the same lots fills it up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The instrument.
    pub instrument: InstrumentId,
    /// The bid and its lots; nothing takes it out of the market.
    pub bid: Option<(Price, Lots)>,
    /// The offer and its lots.
    pub ask: Option<(Price, Lots)>,
}

impl Quote {
    /// Nothing is to stand there.
    #[must_use]
    pub const fn none(instrument: InstrumentId) -> Self {
        Self { instrument, bid: None, ask: None }
    }

    const fn side(&self, side: Side) -> Option<(Price, Lots)> {
        match side {
            Side::Buy => self.bid,
            Side::Sell => self.ask,
        }
    }
}

/// What became of a mass quote when it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MassQuoted {
    /// The mass quote's number, from 1: the tag of the orders that it created.
    pub id: u32,
    /// Orders that were asked for, changed or cancelled.
    pub requests: u32,
    /// Sides that stand as they are to.
    pub unchanged: u32,
    /// Sides that have to wait: there is no session with the venue, no room for more requests, or
    /// the order before is being cancelled. The same mass quote again asks for these alone.
    pub waiting: u32,
}

/// One side of a quote.
#[derive(Clone, Copy, Debug, Default)]
struct QuotedSide {
    order: Option<ClientOrderId>,
    /// The mass quote that asked for it as it is.
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct Quoted {
    instrument: InstrumentId,
    sides: [QuotedSide; 2],
}

/// The quotes of a strategy: which order is which side of which instrument. A strategy may have
/// several, with instruments of their own or for different accounts.
#[derive(Clone, Debug, Default)]
pub struct Quotes {
    account: AccountId,
    flags: OrderFlags,
    last_id: u32,
    /// In the order of the instruments' numbers.
    quoted: Vec<Quoted>,
    /// Orders of sides that have another one: they are to be cancelled.
    superfluous: Vec<ClientOrderId>,
}

impl Quotes {
    /// No quotes yet. Orders will be for this account, and have these flags: post-only where a
    /// quote must not trade as it arrives.
    #[must_use]
    pub const fn new(account: AccountId, flags: OrderFlags) -> Self {
        Self { account, flags, last_id: 0, quoted: Vec::new(), superfluous: Vec::new() }
    }

    /// The order of a side, if it was asked for; it may be over.
    #[must_use]
    pub fn order(&self, instrument: InstrumentId, side: Side) -> Option<ClientOrderId> {
        self.side(instrument, side)?.order
    }

    /// The number of the mass quote that asked for this side as it is.
    #[must_use]
    pub fn id(&self, instrument: InstrumentId, side: Side) -> Option<u32> {
        self.side(instrument, side).filter(|side| side.order.is_some()).map(|side| side.id)
    }

    /// Takes up an order that is open already, as it is told of after a restart, or when it was
    /// over and goes on: it is the quote of its side from now on. Where that side has another one,
    /// this is one too many, which the next [`send`](Self::send) cancels.
    pub fn adopt(&mut self, order: &OpenOrder) {
        let at = self.place_of(order.terms.instrument, 0);
        if let Some(quoted) = self.quoted.get_mut(at) {
            let side = &mut quoted.sides[order.terms.side.index()];
            match side.order.filter(|own| *own != order.id) {
                None => *side = QuotedSide { order: Some(order.id), id: order.tag },
                Some(_) => self.superfluous.push(order.id),
            }
        }
        self.last_id = self.last_id.max(order.tag);
    }

    /// Every order, so that what is quoted can be taken out of the market.
    pub fn orders(&self) -> impl Iterator<Item = ClientOrderId> {
        let quoted = self.quoted.iter().flat_map(|quoted| quoted.sides);
        quoted.filter_map(|side| side.order).chain(self.superfluous.iter().copied())
    }

    /// Has the market be as these quotes say, in one call for all of them: a side without an order
    /// gets one, one with another price or quantity is changed, one that is quoted no more is
    /// cancelled, and nothing is sent for what has not changed. Instruments that are not named stay
    /// as they are. Cost where nothing has changed: a look at each order.
    pub fn send(&mut self, trading: &mut impl Trading, all: &[Quote]) -> MassQuoted {
        self.last_id = self.last_id.wrapping_add(1).max(1);
        self.superfluous.retain(|id| {
            let order = trading.order(*id);
            if order.is_some_and(|order| !order.is_being_cancelled()) {
                trading.cancel(*id);
            }
            // Until it is over: a cancel may be refused.
            order.is_some()
        });
        let mut told = MassQuoted { id: self.last_id, ..MassQuoted::default() };
        let mut at = 0;
        for quote in all {
            at = self.place_of(quote.instrument, at);
            let is_up = trading.is_order_entry_up(quote.instrument);
            for side in [Side::Buy, Side::Sell] {
                let count = match self.send_side(trading, at, (side, quote.side(side)), is_up) {
                    Sent::Request => &mut told.requests,
                    Sent::Unchanged => &mut told.unchanged,
                    Sent::Waits => &mut told.waiting,
                };
                *count += 1;
            }
            // The next quote is most often of the next instrument.
            at += 1;
        }
        told
    }

    /// Asks to cancel every order of these quotes that is open; whether all of them could be asked.
    pub fn cancel(&self, trading: &mut impl Trading) -> bool {
        self.orders().fold(true, |all_left, id| {
            let is_to_go = trading.order(id).is_some_and(|order| !order.is_being_cancelled());
            (!is_to_go || trading.cancel(id)) && all_left
        })
    }

    fn send_side(
        &mut self,
        trading: &mut impl Trading,
        at: usize,
        (side, wanted): (Side, Option<(Price, Lots)>),
        is_up: bool,
    ) -> Sent {
        let Self { account, flags, last_id, quoted, .. } = self;
        let Some(Quoted { instrument, sides }) = quoted.get_mut(at) else { return Sent::Waits };
        let place = &mut sides[side.index()];
        let order = place.order.and_then(|id| trading.order(id));
        let is_sent = match (order, wanted) {
            (None, None) => {
                *place = QuotedSide::default();
                return Sent::Unchanged;
            }
            (Some(order), _) if order.is_being_cancelled() => {
                return if wanted.is_none() { Sent::Unchanged } else { Sent::Waits };
            }
            (Some(order), None) => is_up && trading.cancel(order.id),
            (Some(order), Some((price, lots))) => {
                // A quantity counts what has traded.
                let total = Lots((order.terms.lots.0 - order.lots_open.0).max(0) + lots.0);
                if (order.price_asked, order.lots_asked) == (price, total) {
                    return Sent::Unchanged;
                }
                is_up && trading.modify(order.id, price, total)
            }
            (None, Some((price, lots))) => {
                let limit = OrderTerms::limit(*instrument, side, price, lots);
                let terms = OrderTerms { account: *account, flags: *flags, ..limit };
                place.order = is_up.then(|| trading.create_tagged(&terms, *last_id)).flatten();
                place.order.is_some()
            }
        };
        if is_sent {
            place.id = *last_id;
        }
        if is_sent { Sent::Request } else { Sent::Waits }
    }

    fn side(&self, instrument: InstrumentId, side: Side) -> Option<&QuotedSide> {
        let at = self.quoted.binary_search_by_key(&instrument, |quoted| quoted.instrument).ok()?;
        self.quoted.get(at).map(|quoted| &quoted.sides[side.index()])
    }

    /// The place of an instrument, made when there is none; it is most often this one.
    fn place_of(&mut self, instrument: InstrumentId, likely: usize) -> usize {
        if self.quoted.get(likely).is_some_and(|quoted| quoted.instrument == instrument) {
            return likely;
        }
        let found = self.quoted.binary_search_by_key(&instrument, |quoted| quoted.instrument);
        found.unwrap_or_else(|place| {
            self.quoted.insert(place, Quoted { instrument, sides: Default::default() });
            place
        })
    }
}

/// What one side came to.
enum Sent {
    Request,
    Unchanged,
    Waits,
}

#[cfg(test)]
mod tests;
