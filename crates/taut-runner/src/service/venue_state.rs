//! What the books of a venue that runs come to, in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use taut_types::{Instrument, Lots, Price};
use taut_venue::{BookState, MemberState, Phase};

use crate::service::venue_phases::phase_name;

/// The books of a venue, in the order of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VenueState {
    /// One for each instrument.
    pub books: Vec<VenueBook>,
    /// Who may trade, or has been here; nobody at a venue that speaks as another.
    #[serde(default)]
    pub members: Vec<VenueMember>,
}

/// A member of a venue, or a client of one that lets everybody in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VenueMember {
    /// Its CompID.
    pub comp_id: String,
    /// Whether it is connected.
    pub is_connected: bool,
    /// Whether `taut venue kill` has stopped it.
    pub is_killed: bool,
    /// Its open orders.
    pub open_orders: usize,
}

impl From<&MemberState> for VenueMember {
    fn from(state: &MemberState) -> Self {
        let MemberState { comp_id, is_connected, is_killed, open_orders, .. } = *state;
        let comp_id = comp_id.as_str().to_owned();
        Self { comp_id, is_connected, is_killed, open_orders }
    }
}

impl fmt::Display for VenueMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = if self.is_connected { "connected" } else { "away" };
        let killed = if self.is_killed { ", killed" } else { "" };
        write!(f, "member {}: {here}{killed}, {} open orders", self.comp_id, self.open_orders)
    }
}

/// A book of a venue's engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VenueBook {
    /// The instrument as the venue calls it.
    pub symbol: String,
    /// The number of the last change as clients are told it: Deribit's `change_id`, Binance's `u`.
    /// Nothing at taut's own venue, whose packets are numbered over all instruments.
    pub change: Option<u64>,
    /// The highest bid, if there is one.
    pub bid: Option<Best>,
    /// The lowest offer, if there is one.
    pub offer: Option<Best>,
    /// Price levels of both sides.
    pub levels: usize,
    /// Orders that rest.
    pub orders: usize,
    /// [`BookState::levels_hash`] in hexadecimal digits.
    pub levels_hash: String,
    /// [`BookState::orders_hash`] in hexadecimal digits.
    pub orders_hash: String,
    /// The phase that it is in: `continuous`, `pre-open`, `auction`, `halt` and so on.
    pub phase: String,
    /// What an auction that ended now would come to; nothing where nothing would trade.
    pub indicative: Option<Indicative>,
}

/// What an auction that ended now would come to, in decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Indicative {
    /// The price of all its trades.
    pub price: String,
    /// How much would trade.
    pub quantity: String,
    /// What would be left of buys at the price; of sells where it is below zero.
    pub surplus: String,
}

impl fmt::Display for Indicative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}, surplus {}", self.quantity, self.price, self.surplus)
    }
}

/// The best level of a side, in decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Best {
    /// Its price.
    pub price: String,
    /// Its quantity.
    pub quantity: String,
}

impl VenueBook {
    /// An instrument's book under the name that the venue has for it.
    pub(super) fn new(
        name: &str,
        instrument: &Instrument,
        change: Option<u64>,
        state: &BookState,
    ) -> Self {
        let quantity = |lots: Lots| {
            instrument.qty(lots).map_or_else(|_| lots.0.to_string(), |it| it.to_string())
        };
        let best = |(price, lots): (Price, Lots)| Best {
            price: price.to_string(),
            quantity: quantity(lots),
        };
        let indicative = |(price, lots, surplus): (Price, Lots, i64)| Indicative {
            price: price.to_string(),
            quantity: quantity(lots),
            surplus: quantity(Lots(surplus)),
        };
        Self {
            symbol: name.to_owned(),
            change,
            bid: state.bid.map(best),
            offer: state.offer.map(best),
            levels: state.levels,
            orders: state.orders,
            levels_hash: format!("{:016x}", state.levels_hash),
            orders_hash: format!("{:016x}", state.orders_hash),
            phase: phase_name(state.phase).to_owned(),
            indicative: state.indicative.map(indicative),
        }
    }
}

impl fmt::Display for Best {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.quantity, self.price)
    }
}

impl fmt::Display for VenueBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |best: &Option<Best>| best.as_ref().map_or("-".to_owned(), Best::to_string);
        let (bid, offer) = (side(&self.bid), side(&self.offer));
        write!(f, "{}: {bid} | {offer}, {} levels, ", self.symbol, self.levels)?;
        write!(f, "{} orders, levels {}, ", self.orders, self.levels_hash)?;
        write!(f, "orders {}", self.orders_hash)?;
        if let Some(change) = self.change {
            write!(f, ", change {change}")?;
        }
        if self.phase != phase_name(Phase::Continuous) {
            write!(f, ", {}", self.phase)?;
        }
        self.indicative.as_ref().map_or(Ok(()), |it| write!(f, ", would trade {it}"))
    }
}

impl fmt::Display for VenueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, book) in self.books.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{book}")?;
        }
        self.members.iter().try_for_each(|member| write!(f, "\n{member}"))
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Qty, Symbol};

    use super::*;

    #[test]
    fn a_book_is_a_line_of_decimals_and_what_it_comes_to() {
        let symbol = Symbol::new(b"BTCUSDT").expect("a symbol");
        let tick = Price::parse(b"0.5").expect("a price");
        let lot = Qty::parse(b"0.001").expect("a quantity");
        let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("instrument");
        let mut state = BookState::default();
        state.bid = Some((Price::parse(b"100").expect("a price"), Lots(1_500)));
        (state.levels, state.orders, state.levels_hash) = (1, 2, 0xab);
        let book = VenueBook::new("BTCUSDT", &instrument, Some(7), &state);
        let bid = book.bid.as_ref().expect("a bid").to_string();
        let shown = VenueState { books: vec![book], ..VenueState::default() }.to_string();
        assert_eq!(
            shown,
            format!(
                "BTCUSDT: {bid} | -, 1 levels, 2 orders, levels 00000000000000ab, orders \
                 0000000000000000, change 7"
            )
        );
    }
}
