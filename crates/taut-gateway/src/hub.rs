//! Strategies in processes of their own: one market ring for all of them, and a ring for requests
//! and one for replies for each.

mod download;
mod slot;
mod walk;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use taut_lat::StageOffsets;
use taut_market_data::{Batch, Event, EventKind, Soundness};
use taut_ring::{Policy, RingError, broadcast};
use taut_sys::{Clock, Doorbell, accept_remote_barriers};
use taut_types::{ClientOrderId, Nanos};

#[cfg(doc)]
use crate::StrategyRunner;
use crate::client::{Client, GatewayState};
use crate::mark::{Mark, Published, StampTable};
use crate::message::{
    GatewayEvent, OrderFilter, OrderUpdate, ReplyStamp, Request, RequestKind, TickStamps,
    UpdateKind,
};
use crate::owner::Owner;
use crate::regions::{Regions, StrategyRegions, TICKS_LAYOUT};
use crate::timer::Timer;

pub use slot::RequestDifference;
use slot::Slot;

/// How often orders of a strategy that is gone are cancelled, until none is open: a cancel may find
/// no session, or be refused.
const CANCEL_AGAIN: Nanos = Nanos::from_millis(100);

/// What becomes of the open orders of a strategy that is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenGone {
    /// They are cancelled.
    #[default]
    Cancel,
    /// They wait for its return, for so long, or without a time for ever; then they are cancelled.
    Keep(Option<Nanos>),
    /// They become another strategy's at once, with the requests about them that are under way.
    HandOver {
        /// Whose.
        to: Owner,
        /// While that one has no place they wait for it for so long, or without a time for ever;
        /// then they are cancelled.
        wait: Option<Nanos>,
    },
}

/// Orders that wait for the strategy that owns them: for how long, and until when.
#[derive(Clone, Copy, Debug)]
struct Kept {
    span: Option<Nanos>,
    due: Option<Nanos>,
}

/// A strategy's place at a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(usize);

/// The clients of a gateway that live in other processes.
///
/// Market events are published once, for all of them. Whoever reads too slowly is overtaken, told
/// what it lost, and told its books anew; nobody else notices. Replies to one strategy lose
/// nothing: a strategy that leaves a whole ring of them unread is dropped, and its orders are
/// cancelled, or [kept](WhenGone) for its return, or handed over to another one.
#[derive(Debug)]
pub struct Hub<'m> {
    ticks: broadcast::Publisher<'m>,
    /// What orders are measured from, while the events that may cause them are in the ring.
    stamps: StampTable<'m>,
    slots: Vec<Slot<'m>>,
    /// Whose request is looked for first.
    turn: usize,
    /// By owner, the number of its next order.
    numbers: BTreeMap<Owner, u64>,
    first_number: u64,
    /// Whether orders can be sent.
    is_order_entry_up: bool,
    /// Strategies that are gone and may have open orders, and those of them whose orders are to be
    /// cancelled now. What was asked for without a session, or just before it ended, may never have
    /// arrived: it is asked for again whenever a session begins, and now and then.
    gone: BTreeSet<Owner>,
    to_cancel: Vec<Owner>,
    cancel_due: Nanos,
    /// What becomes of whose orders, where they are not cancelled, and whose wait.
    when_gone: BTreeMap<Owner, WhenGone>,
    kept: BTreeMap<Owner, Kept>,
    /// Who is gone and whose orders are to become another one's, which is the second.
    to_hand_over: VecDeque<(Owner, Owner)>,
    /// Strategies that were sent away: their orders are cancelled in any case.
    evicted: BTreeSet<Owner>,
    /// Strategies are to come to rest.
    rests: bool,
}

impl<'m> Hub<'m> {
    /// A hub without a place for anybody.
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn new(regions: &Regions<'m>) -> Result<Self, RingError> {
        let ticks = broadcast::Publisher::resume(regions.ticks, TICKS_LAYOUT, Policy::Overwrite)?;
        Ok(Self {
            ticks,
            stamps: StampTable::new(Published(regions.published)),
            slots: Vec::new(),
            turn: 0,
            numbers: BTreeMap::new(),
            first_number: 1,
            is_order_entry_up: false,
            gone: BTreeSet::new(),
            to_cancel: Vec::new(),
            cancel_due: Nanos::ZERO,
            when_gone: BTreeMap::new(),
            kept: BTreeMap::new(),
            to_hand_over: VecDeque::new(),
            evicted: BTreeSet::new(),
            rests: false,
        })
    }

    /// The number of everybody's first order, 1 unless it is said: above all that were used before
    /// this gateway was started.
    pub const fn set_first_number(&mut self, number: u64) {
        self.first_number = number;
    }

    /// All strategies come to rest: each hears with the next timer that it sends no new orders any
    /// more, and cancels what is open.
    pub const fn rest(&mut self) {
        self.rests = true;
    }

    /// Where requests are given from a tape: from here on they are held against those of strategies
    /// that are run beside it, and that are told what is told now.
    pub fn begin_comparing_requests(&mut self) {
        self.slots.iter_mut().for_each(Slot::begin_comparing);
    }

    /// Compares the requests that were given since the last time, when the strategies have had
    /// their turn. The first one that is another one, if any is.
    pub fn compare_requests(&mut self) -> Option<RequestDifference> {
        self.slots.iter_mut().find_map(Slot::compare_requests)
    }

    /// How many requests were compared, as long as nobody was overtaken by the market in the run
    /// that is on the tape.
    #[must_use]
    pub fn requests_compared(&self) -> Option<u64> {
        self.slots.iter().map(Slot::requests_compared).sum()
    }

    /// A place for a strategy, behind these regions, where nobody is yet. `doorbell` is rung after
    /// a publication that finds the strategy asleep ([`StrategyRunner::sleep`]).
    ///
    /// # Errors
    /// When a region cannot hold its ring.
    pub fn add_slot(
        &mut self,
        regions: &StrategyRegions<'m>,
        doorbell: Option<Doorbell>,
    ) -> Result<SlotId, RingError> {
        // Where there are no such barriers, a sleeper looks by itself once a millisecond.
        let _ = accept_remote_barriers();
        self.slots.push(Slot::new(regions, doorbell)?);
        Ok(SlotId(self.slots.len() - 1))
    }

    /// A place that nobody has.
    #[must_use]
    pub fn vacant_slot(&self) -> Option<SlotId> {
        self.slots.iter().position(Slot::is_vacant).map(SlotId)
    }

    /// A strategy takes the place: it is told what it begins with. False when somebody has the
    /// place, or the owner has another one: two strategies would be told of each other's orders.
    pub fn attach(&mut self, slot: SlotId, owner: Owner) -> bool {
        // Whoever is leaving is there until its orders are asked to be cancelled, or handed over.
        let is_leaving = self.to_hand_over.iter().any(|(from, _)| *from == owner);
        let is_there = is_leaving || self.has_place(owner);
        match self.slots.get_mut(slot.0) {
            Some(slot) if slot.is_vacant() && !is_there => {
                slot.attach(owner, *self.numbers.entry(owner).or_insert(self.first_number));
                self.kept.remove(&owner);
                // While there is no session, what its predecessor left is still to be cancelled.
                if self.is_order_entry_up {
                    self.gone.remove(&owner);
                    self.to_cancel.retain(|other| *other != owner);
                }
                true
            }
            _ => false,
        }
    }

    /// What becomes of the open orders of each of these when it is gone, from now on; those of
    /// others are cancelled.
    pub fn set_when_gone(&mut self, when_gone: impl IntoIterator<Item = (Owner, WhenGone)>) {
        self.when_gone = when_gone.into_iter().collect();
    }

    /// The strategy is sent away: as [`Hub::detach`], and its orders are cancelled in any case.
    pub fn evict(&mut self, slot: SlotId) {
        self.evicted.extend(self.owner(slot));
        self.detach(slot);
    }

    /// The strategy is gone: its orders are cancelled, [kept, or handed over](WhenGone), its place
    /// is free.
    pub fn detach(&mut self, slot: SlotId) {
        if let Some(slot) = self.slots.get_mut(slot.0) {
            slot.drop_strategy();
        }
    }

    /// The orders of an owner without a place are cancelled until none is open.
    pub fn disown(&mut self, owner: Owner) {
        if !self.has_place(owner) {
            self.gone.insert(owner);
        }
    }

    /// The orders of an owner without a place are [handed over](WhenGone::HandOver), if that is
    /// what becomes of them and the other strategy has a place; whether they are.
    pub fn bequeath(&mut self, owner: Owner) -> bool {
        match self.when_gone.get(&owner) {
            Some(&WhenGone::HandOver { to, .. })
                if self.has_place(to) && !self.has_place(owner) =>
            {
                self.to_hand_over.push_back((owner, to));
                true
            }
            _ => false,
        }
    }

    /// Whether the owner has a place, which it may be leaving.
    fn has_place(&self, owner: Owner) -> bool {
        self.slots.iter().any(|slot| slot.is_of(owner))
    }

    /// What becomes of the orders of a strategy that left its place; whether they are to be
    /// cancelled.
    #[cold]
    fn left(&mut self, owner: Owner) -> bool {
        let when_gone = self.when_gone.get(&owner).copied().unwrap_or_default();
        match when_gone {
            _ if self.evicted.remove(&owner) => {}
            WhenGone::Keep(span) => {
                self.kept.insert(owner, Kept { span, due: None });
                return false;
            }
            WhenGone::HandOver { to, wait } => {
                self.to_hand_over.push_back((owner, to));
                if !self.has_place(to) {
                    // Where orders of its own wait already, these wait with them.
                    self.kept.entry(to).or_insert(Kept { span: wait, due: None });
                }
                return false;
            }
            WhenGone::Cancel => {}
        }
        self.gone.insert(owner);
        true
    }

    /// Who has the place.
    #[must_use]
    pub fn owner(&self, slot: SlotId) -> Option<Owner> {
        self.slots.get(slot.0).and_then(Slot::owner)
    }

    /// Strategies that were dropped because they left their replies unread.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.slots.iter().map(Slot::dropped).sum()
    }

    /// A place whose strategy was dropped because it left its replies unread, each told once:
    /// whoever lent the place takes it back.
    pub fn poll_dropped(&mut self) -> Option<SlotId> {
        self.slots.iter_mut().position(Slot::take_dropped).map(SlotId)
    }

    /// What the strategy in a place has counted of its life
    /// ([`StrategyCounters::beats`](crate::StrategyCounters::beats)): another number lives.
    #[must_use]
    pub fn beats(&self, slot: SlotId) -> u64 {
        self.slots.get(slot.0).map_or(0, Slot::beats)
    }

    /// Events that the market ring has had: less where a strategy stands
    /// ([`StrategyCounters::position`](crate::StrategyCounters::position)), how far it is behind.
    #[must_use]
    pub fn market_position(&self) -> u64 {
        self.ticks.position()
    }

    /// Looks for open orders of strategies that are gone.
    fn find_ownerless(&mut self, state: &impl GatewayState, now: Nanos) {
        self.cancel_due = now + CANCEL_AGAIN;
        let Self { gone, to_cancel, .. } = self;
        gone.retain(|owner| {
            let mut has_orders = false;
            state.visit_orders(*owner, &mut |_| has_orders = true);
            if has_orders {
                to_cancel.push(*owner);
            }
            has_orders
        });
    }

    /// Orders that have waited for long enough are cancelled until none is open.
    fn give_up_kept(&mut self, now: Nanos) {
        let Self { kept, gone, .. } = self;
        kept.retain(|owner, kept| {
            let Some(span) = kept.span else { return true };
            let is_over = now >= *kept.due.get_or_insert(now + span);
            gone.extend(is_over.then_some(*owner));
            !is_over
        });
    }

    fn wake(&self) {
        self.slots.iter().for_each(Slot::wake);
    }

    /// Orders can be sent again: those of strategies that left are cancelled first. Whoever is back
    /// by now has not sent any yet.
    #[cold]
    fn session_began(&mut self, now: Nanos) {
        self.cancel_due = now + CANCEL_AGAIN;
        let Self { gone, slots, to_cancel, .. } = self;
        to_cancel.clear();
        to_cancel.extend(gone.iter());
        gone.retain(|owner| !slots.iter().any(|slot| slot.owner() == Some(*owner)));
    }
}

/// The request that a strategy which left cannot make any more.
fn cancel_all_of(owner: Owner) -> Request {
    Request {
        id: owner.order(0),
        owner,
        kind: RequestKind::CancelAll(OrderFilter::ALL),
        only_if: None,
        tag: 0,
        origin: Nanos::ZERO,
        offsets: StageOffsets::ZERO,
    }
}

impl Client for Hub<'_> {
    #[inline]
    fn market(
        &mut self,
        clock: &Clock,
        _state: &impl GatewayState,
        mut stamps: TickStamps,
        events: &[Event],
    ) {
        let mut mark = Mark::default();
        if stamps.is_measured() {
            // The stage ends with the store that follows: it cannot be stamped after itself.
            let [.., publish] = &mut stamps.ends;
            let end = clock.now().since(stamps.origin).0;
            *publish = u32::try_from(end).unwrap_or(u32::MAX);
            mark = self.stamps.insert(stamps);
        }
        for (left, event) in (0..events.len()).rev().zip(events) {
            match event.kind {
                EventKind::Book(soundness) => {
                    let (slots, is_sound) = (self.slots.iter_mut(), soundness == Soundness::Sound);
                    slots.for_each(|slot| slot.book_became(event.instrument, is_sound));
                }
                EventKind::Begin(Batch::Orders) => {
                    let slots = self.slots.iter_mut();
                    slots.for_each(|slot| slot.orders_became(event.instrument));
                }
                _ => {}
            }
            // An overwriting ring is never full.
            let mark = if left == 0 { mark.last() } else { mark };
            let _ = self.ticks.publish(&event.to_words(mark.0));
        }
        if !events.is_empty() {
            self.wake();
        }
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        let owner = state.owner_of(update.id);
        let position = self.ticks.position();
        // An order of nobody who is here is told to its owner when that comes again.
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.owner() == Some(owner)) {
            let stamp = ReplyStamp { position, at: now, published: clock.now() };
            if let UpdateKind::Filled { .. } | UpdateKind::Corrected { .. } = update.kind {
                let held = state.position(owner, update.instrument, update.account);
                slot.push(held.pack_before_trade(stamp).as_slice());
            }
            slot.push_update(update, stamp);
            slot.wake();
        }
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        _state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        let stamp = ReplyStamp { position: self.ticks.position(), at: now, published: clock.now() };
        if let GatewayEvent::OrderEntry { is_up } = *event {
            self.is_order_entry_up = is_up;
            if is_up {
                self.session_began(now);
            } else {
                self.slots.iter_mut().for_each(Slot::is_ready_no_more);
            }
        }
        let is_told = |slot: &&mut Slot<'_>| {
            slot.is_told() && slot.owner().is_some_and(|owner| event.is_for(owner))
        };
        for slot in self.slots.iter_mut().filter(is_told) {
            slot.push(event.pack(stamp).as_slice());
            slot.wake();
        }
    }

    fn instruments_added(&mut self, clock: &Clock, state: &impl GatewayState, _now: Nanos) {
        let count = state.instruments().len();
        self.slots.iter_mut().for_each(|slot| slot.instruments_are(count));
        // What there is no room for is told when there is nothing else to do.
        self.idle(state, clock);
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        self.numbers.insert(Owner::of(highest), highest.number() + 1);
    }

    fn poll_hand_over(&mut self) -> Option<(Owner, Owner)> {
        self.to_hand_over.pop_front()
    }

    fn inherited(&mut self, owner: Owner, orders: &[ClientOrderId]) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.owner() == Some(owner)) {
            slot.inherit(orders);
        }
    }

    fn reopened(&mut self, owner: Owner, order: ClientOrderId) {
        self.inherited(owner, &[order]);
        if !self.has_place(owner) {
            // What is to be cancelled is looked for in a while.
            let _ = self.left(owner);
        }
    }

    #[inline]
    fn answers_later(&self) -> bool {
        self.slots.iter().any(|slot| slot.owner().is_some())
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        if let Some(owner) = self.to_cancel.pop() {
            return Some(cancel_all_of(owner));
        }
        let count = self.slots.len();
        for _ in 0..count {
            let slot = self.slots.get_mut(self.turn)?;
            // Everybody in turn: nobody's flood of requests holds up another one's.
            self.turn = if self.turn + 1 < count { self.turn + 1 } else { 0 };
            if let Some((owner, next_number)) = slot.take_leaving() {
                self.numbers.insert(owner, next_number);
                if self.left(owner) {
                    return Some(cancel_all_of(owner));
                }
                continue;
            }
            if let Some((request, mark)) = slot.next_request() {
                return Some(self.stamps.complete(request, Mark(mark)));
            }
        }
        None
    }

    #[inline]
    fn idle(&mut self, state: &impl GatewayState, clock: &Clock) -> bool {
        let position = self.ticks.position();
        let mut worked = false;
        for slot in self.slots.iter_mut().filter(|slot| slot.is_downloading()) {
            worked |= slot.tell_on(state, clock.now(), position);
        }
        worked
    }

    fn strategies_dropped(&self) -> u64 {
        self.dropped()
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        // Where there is never an idle turn.
        self.idle(state, clock);
        self.give_up_kept(now);
        let stamp = ReplyStamp { position: self.ticks.position(), at: now, published: clock.now() };
        self.slots.iter_mut().for_each(|slot| slot.tell_status(state, stamp));
        // Nobody is woken for it: who sleeps has a timer of his own.
        let _ = self.ticks.publish(&Timer { at: now, rests: self.rests }.to_slot());
        if !self.gone.is_empty() && now >= self.cancel_due && self.is_order_entry_up {
            self.find_ownerless(state, now);
        }
    }
}

#[cfg(test)]
mod tests;
