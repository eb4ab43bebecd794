//! Members: who may log on, what each may trade, how much and how fast, and who is stopped.
//!
//! A venue that names no member lets everybody in and limits nobody; the kill switch works on each
//! client all the same. What is decided here depends on the inputs and their times alone: executed
//! once more, they give the same answers.

mod amounts;
mod image;
mod protection;
mod throttle;

use taut_fix::CompId;
use taut_types::{Instrument, InstrumentId, Lots, Nanos, Price, Qty};

use crate::entry::Refusal;
use crate::identity::ClientId;
use crate::listing::Listings;
use crate::reports::ord_rej_reason;
use amounts::{is_more, is_worth_more};
use protection::Guard;
pub use protection::Protection;
use throttle::Throttle;

/// Orders and replacements of a member in a second, at the most.
pub(crate) const ORDERS_PER_SECOND_MAX: u32 = 1_000_000;

/// A member of a venue, and its limits; what is absent does not limit it. Start from
/// [`Member::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// By which it logs on: its SenderCompID (49).
    pub comp_id: CompId,
    /// What it may trade.
    pub instruments: Option<Vec<InstrumentId>>,
    /// New orders and replacements in a second, 1 to 1,000,000; a second's worth may come at once.
    /// Cancels are always taken.
    pub orders_per_second_max: Option<u32>,
    /// Orders that are open at once, over all instruments.
    pub open_orders_max: Option<u32>,
    /// OrderQty (38) of an order.
    pub quantity_max: Option<Qty>,
    /// Price times quantity of an order. A market order counts at the best price of the other side,
    /// or at the last trade's where there is none.
    pub notional_max: Option<Price>,
    /// When its orders of an instrument are cancelled by the venue.
    pub protection: Option<Protection>,
}

impl Member {
    /// A member without limits.
    #[must_use]
    pub const fn new(comp_id: CompId) -> Self {
        Self {
            comp_id,
            instruments: None,
            orders_per_second_max: None,
            open_orders_max: None,
            quantity_max: None,
            notional_max: None,
            protection: None,
        }
    }
}

/// How a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberState {
    /// Who.
    pub comp_id: CompId,
    /// Whether it is connected.
    pub is_connected: bool,
    /// Whether the kill switch holds: it enters no order.
    pub is_killed: bool,
    /// Its open orders.
    pub open_orders: usize,
}

/// An order of a client, as it is held against its limits.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The place of its instrument.
    pub place: usize,
    pub instrument: &'a Instrument,
    pub lots: Lots,
    /// What it may come to trade at, where that is known.
    pub price: Option<Price>,
    /// Orders of the client that are open beside it; nothing where it replaces one of them.
    pub open_beside: Option<usize>,
}

/// What the venue knows of a member.
#[derive(Clone, Debug)]
struct Known {
    comp_id: CompId,
    /// It is one of the venue's; otherwise all that is known is the kill switch.
    is_listed: bool,
    /// The places of the instruments that it may trade.
    places: Option<Box<[u32]>>,
    open_orders_max: Option<u32>,
    quantity_max: Option<Qty>,
    notional_max: Option<Price>,
    throttle: Throttle,
    guard: Guard,
    is_killed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Members {
    all: Vec<Known>,
    /// By the clients' ids: which member that is.
    of_clients: Vec<Option<usize>>,
}

impl Members {
    pub fn new(members: &[Member], listings: &Listings) -> Self {
        let known = |member: &Member| {
            let places = member.instruments.as_ref().map(|instruments| {
                let places = instruments.iter().filter_map(|it| listings.place_of(*it));
                places.map(|place| place as u32).collect()
            });
            Known {
                comp_id: member.comp_id,
                is_listed: true,
                places,
                open_orders_max: member.open_orders_max,
                quantity_max: member.quantity_max,
                notional_max: member.notional_max,
                throttle: Throttle::new(member.orders_per_second_max),
                guard: Guard::new(member.protection, listings.all().len()),
                is_killed: false,
            }
        };
        Self { all: members.iter().map(known).collect(), of_clients: Vec::new() }
    }

    /// The limits are these, and what has come to pass is as it was with those before.
    pub fn take_over(&mut self, before: Self) {
        for was in before.all {
            match self.all.iter_mut().find(|it| it.comp_id == was.comp_id) {
                Some(known) => {
                    known.is_killed = was.is_killed;
                    known.throttle.take_over(&was.throttle);
                    known.guard.windows.clone_from(&was.guard.windows);
                }
                None if was.is_killed || !was.is_listed => {
                    self.all.push(Known { is_killed: was.is_killed, ..unlisted(was.comp_id) });
                }
                None => {}
            }
        }
    }

    /// A client is known from here on.
    #[cold]
    pub fn welcome(&mut self, client: ClientId, comp_id: CompId) {
        if self.of_clients.len() <= client.0 {
            self.of_clients.resize(client.0 + 1, None);
        }
        self.of_clients[client.0] = self.find(comp_id);
    }

    fn find(&self, comp_id: CompId) -> Option<usize> {
        self.all.iter().position(|known| known.comp_id == comp_id)
    }

    /// Whether it is one of the venue's.
    pub fn is_listed(&self, comp_id: CompId) -> bool {
        self.find(comp_id).is_some_and(|at| self.all[at].is_listed)
    }

    pub fn is_killed(&self, comp_id: CompId) -> bool {
        self.find(comp_id).is_some_and(|at| self.all[at].is_killed)
    }

    /// The CompIDs of all that are known here.
    pub fn comp_ids(&self) -> impl Iterator<Item = CompId> {
        self.all.iter().map(|known| known.comp_id)
    }

    /// Sets the kill switch of whoever this is, who may be this client; whether that is new.
    pub fn set_killed(
        &mut self,
        comp_id: CompId,
        client: Option<ClientId>,
        is_killed: bool,
    ) -> bool {
        let at = match self.find(comp_id) {
            Some(at) => at,
            None if !is_killed => return false,
            None => {
                self.all.push(Known { is_killed: false, ..unlisted(comp_id) });
                self.all.len() - 1
            }
        };
        if let Some(client) = client {
            self.welcome(client, comp_id);
        }
        std::mem::replace(&mut self.all[at].is_killed, is_killed) != is_killed
    }

    /// A client sends an order or a replacement: whether it may now.
    #[inline]
    pub fn admit(&mut self, client: ClientId, utc: Nanos) -> Result<(), Refusal> {
        match self.of_clients.get(client.0) {
            Some(&Some(at)) => self.admit_known(at, utc),
            _ => Ok(()),
        }
    }

    fn admit_known(&mut self, at: usize, utc: Nanos) -> Result<(), Refusal> {
        let Some(known) = self.all.get_mut(at) else { return Ok(()) };
        if known.is_killed {
            let text = format!("member {} is stopped by the venue: kill switch", known.comp_id);
            return Err(Refusal { reason: ord_rej_reason::OTHER, text });
        }
        known.throttle.take(utc).map_err(|rate| {
            let text = format!("more than {rate} orders a second of member {}", known.comp_id);
            exceeds_limit(text)
        })
    }

    /// An order of a client that rested has traded: whether its orders of the instrument are to be
    /// cancelled.
    #[inline]
    pub fn fill(
        &mut self,
        client: ClientId,
        place: usize,
        of: &Instrument,
        lots: Lots,
        utc: Nanos,
    ) -> bool {
        let at = self.of_clients.get(client.0).copied().flatten();
        let known = at.and_then(|at| self.all.get_mut(at));
        known.is_some_and(|known| known.guard.fill(place, of, lots, utc))
    }

    /// Whether a client has limits that its orders are held against.
    #[inline]
    pub fn has_limits(&self, client: ClientId) -> bool {
        matches!(self.of_clients.get(client.0), Some(Some(_)))
    }

    /// Holds an order against its client's limits.
    pub fn check(&self, client: ClientId, asked: &Asked<'_>) -> Result<(), Refusal> {
        let known =
            self.of_clients.get(client.0).copied().flatten().and_then(|at| self.all.get(at));
        let Some(known) = known else { return Ok(()) };
        let Asked { place, instrument, lots, price, open_beside } = *asked;
        let (comp_id, symbol) = (known.comp_id, instrument.symbol());
        if known.places.as_ref().is_some_and(|places| !places.contains(&(place as u32))) {
            let text = format!("member {comp_id} may not trade {}", symbol.as_str());
            return Err(Refusal { reason: ord_rej_reason::OTHER, text });
        }
        if let (Some(max), Some(open)) = (known.open_orders_max, open_beside)
            && open >= max as usize
        {
            let text = format!("member {comp_id} has {open} open orders: {max} is its limit");
            return Err(exceeds_limit(text));
        }
        let qty = instrument.qty(lots).unwrap_or(Qty::whole(i64::MAX));
        if let Some(max) = known.quantity_max.filter(|max| is_more(qty, *max)) {
            let text = format!("OrderQty {qty} is more than {max}, the limit of member {comp_id}");
            return Err(exceeds_limit(text));
        }
        if let (Some(max), Some(price)) = (known.notional_max, price)
            && is_worth_more(price, qty, max)
        {
            let text =
                format!("{qty} at {price} is more than {max}, the limit of member {comp_id}");
            return Err(exceeds_limit(text));
        }
        Ok(())
    }
}

const fn exceeds_limit(text: String) -> Refusal {
    Refusal { reason: ord_rej_reason::EXCEEDS_LIMIT, text }
}

/// Somebody of whom all that is known is that the kill switch holds.
fn unlisted(comp_id: CompId) -> Known {
    Known {
        comp_id,
        is_listed: false,
        places: None,
        open_orders_max: None,
        quantity_max: None,
        notional_max: None,
        throttle: Throttle::new(None),
        guard: Guard::default(),
        is_killed: true,
    }
}
