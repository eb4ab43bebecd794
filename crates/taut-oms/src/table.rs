//! Every order that was sent, found by its client id.

use alloc::boxed::Box;
use core::fmt;

use taut_types::{ClientOrderId, InstrumentId, Lots, Nanos, OrderTerms, Price, RequestId, Side};

use crate::answers::Answers;
use crate::exec_id::ExecId;
use crate::executions::Executions;
use crate::hash_index::HashIndex;
use crate::life;
use crate::links::List;
use crate::order::{Order, Pending};
use crate::owner::Owner;
use crate::report::{Change, Report, RequestKind};
use crate::risk::best_own;
use crate::traded::Traded;

/// Executions that are remembered for each order that there is room for.
const EXECUTIONS_PER_ORDER: usize = 2;
const EXECUTIONS_MIN: usize = 8_192;

/// Why a request must not leave, or a report has nobody to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// There is no room, or the id was used before.
    Full,
    /// No order has this id, or it is forgotten.
    UnknownOrder,
    /// The order is over.
    Done,
    /// As many requests as can be are under way.
    Busy,
    /// A cancel is under way.
    BeingCancelled,
    /// The version that the request depends on is not the one that the venue accepted last.
    Version {
        /// Which one that is.
        accepted: u16,
    },
    /// Something is wrong with the order: it can only be cancelled.
    Quarantined,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("no place for this order: its id or every place is in use"),
            Self::UnknownOrder => f.write_str("there is no order with this id"),
            Self::Done => f.write_str("the order is over"),
            Self::Busy => f.write_str("too many requests are under way"),
            Self::BeingCancelled => f.write_str("a cancel is under way"),
            Self::Version { accepted } => write!(f, "the accepted version is {accepted}"),
            Self::Quarantined => f.write_str("the order is in quarantine: it can be cancelled"),
        }
    }
}

impl core::error::Error for TableError {}

/// A request whose time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Which one.
    pub request: RequestId,
    /// What it asked for.
    pub kind: RequestKind,
}

/// A table of fixed size, of orders of many instruments and accounts. An order keeps its place when
/// it is done, so that late trades are told from strangers, until a new one needs the room: then
/// the one that has been done for the longest goes, unless an answer is still waited for.
#[derive(Debug)]
pub struct OrderTable {
    slots: Box<[Option<Order>]>,
    index: HashIndex,
    executions: Executions,
    answers: Answers,
    /// Places that were never used.
    unused: usize,
    /// Orders that may still trade, the oldest first.
    open: List,
    /// Orders that are done and wait for nothing.
    done: List,
    /// Orders with requests whose answers are waited for, the longest first.
    waiting: List,
    /// The highest number that each strategy has used, of all users: a new one is above, and need
    /// not be looked for.
    highest: [u64; 1 << u8::BITS],
    /// An order was handed over: not everybody has the orders that it sent.
    has_handed_over: bool,
}

impl OrderTable {
    /// Room for this many orders, at least one.
    #[must_use]
    pub fn with_capacity(order_capacity: usize) -> Self {
        let capacity = order_capacity.max(1);
        let executions = capacity.saturating_mul(EXECUTIONS_PER_ORDER).max(EXECUTIONS_MIN);
        Self {
            slots: core::iter::repeat_n(None, capacity).collect(),
            index: HashIndex::with_capacity(capacity),
            executions: Executions::with_capacity(executions),
            answers: Answers::default(),
            unused: capacity,
            open: List::with_capacity(capacity),
            done: List::with_capacity(capacity),
            waiting: List::with_capacity(capacity),
            highest: [0; 1 << u8::BITS],
            has_handed_over: false,
        }
    }

    /// Takes a new order up, with a number of its sender's, as it is sent under this number of the
    /// session.
    ///
    /// # Errors
    /// [`TableError::Full`].
    pub fn create(
        &mut self,
        id: ClientOrderId,
        terms: &OrderTerms,
        tag: u32,
        sequence: u64,
        now: Nanos,
    ) -> Result<(), TableError> {
        self.adopt(Order::new(id, terms, tag, sequence, now))
    }

    /// Takes an order up as it stands: out of a journal. Its requests count as sent, and those
    /// whose answers are not waited for as lost.
    ///
    /// # Errors
    /// [`TableError::Full`].
    pub fn adopt(&mut self, order: Order) -> Result<(), TableError> {
        if self.place(order.id).is_some() {
            return Err(TableError::Full);
        }
        let place = self.make_room().ok_or(TableError::Full)?;
        for request in order.pending() {
            *self.answers.sent(request.kind) += 1;
            self.answers.lost += u64::from(request.is_lost);
        }
        self.has_handed_over |= order.owner != Owner::of(order.id);
        self.slots[place] = Some(order);
        self.index.insert(mixed(order.id), place);
        let highest = &mut self.highest[usize::from(order.id.strategy().0)];
        *highest = (*highest).max(order.id.number());
        self.sort_in(place);
        Ok(())
    }

    /// Whether [`OrderTable::create`] would take this id now.
    #[must_use]
    pub fn has_room_for(&self, id: ClientOrderId) -> bool {
        let is_new = id.number() > self.highest[usize::from(id.strategy().0)];
        (self.unused > 0 || self.done.first().is_some()) && (is_new || self.place(id).is_none())
    }

    /// The version and the base of a request for another price or quantity, if it may leave.
    /// `only_if` makes it depend on the version that the venue accepted last.
    ///
    /// # Errors
    /// Why it must not leave.
    pub fn check_modify(
        &self,
        id: ClientOrderId,
        only_if: Option<u16>,
    ) -> Result<(RequestId, RequestId), TableError> {
        let order = self.get(id).ok_or(TableError::UnknownOrder)?;
        let accepted = order.version_accepted;
        if order.is_quarantined {
            return Err(TableError::Quarantined);
        }
        if only_if.is_some_and(|version| version != accepted) {
            return Err(TableError::Version { accepted });
        }
        Self::check_request(order)
    }

    /// The version and the base of a cancel request, if it may leave.
    ///
    /// # Errors
    /// Why it must not leave.
    pub fn check_cancel(&self, id: ClientOrderId) -> Result<(RequestId, RequestId), TableError> {
        Self::check_request(self.get(id).ok_or(TableError::UnknownOrder)?)
    }

    fn check_request(order: &Order) -> Result<(RequestId, RequestId), TableError> {
        if order.state.is_done() {
            return Err(TableError::Done);
        }
        let is_full = order.awaited().count() >= order.requests.len();
        let version = order.version_sent.checked_add(1).ok_or(TableError::Busy)?;
        if order.is_being_cancelled() {
            return Err(TableError::BeingCancelled);
        }
        if is_full {
            return Err(TableError::Busy);
        }
        let of = |version| RequestId { order: order.id, version };
        Ok((of(version), of(order.version_base())))
    }

    /// A request for this price and quantity leaves, which was checked.
    pub fn modify(
        &mut self,
        request: RequestId,
        price: Price,
        lots: Lots,
        sequence: u64,
        now: Nanos,
    ) {
        self.sent(request, RequestKind::Modify, (price, lots), (sequence, now));
    }

    /// A cancel request leaves, which was checked.
    pub fn cancel(&mut self, request: RequestId, sequence: u64, now: Nanos) {
        self.sent(request, RequestKind::Cancel, (Price(0), Lots::ZERO), (sequence, now));
    }

    fn sent(
        &mut self,
        request: RequestId,
        kind: RequestKind,
        (price, lots): (Price, Lots),
        (sequence, sent_at): (u64, Nanos),
    ) {
        let Some(place) = self.place(request.order) else { return };
        let Some(order) = &mut self.slots[place] else { return };
        let version = request.version;
        let pending = Pending { version, kind, is_lost: false, sequence, sent_at, price, lots };
        if order.keep(pending) {
            order.version_sent = version;
            *self.answers.sent(kind) += 1;
            self.sort_in(place);
        }
    }

    /// Applies what the venue says of an order, and tells what it came to.
    ///
    /// # Errors
    /// [`TableError::UnknownOrder`]: then nothing changes.
    pub fn apply(&mut self, report: &Report) -> Result<Change, TableError> {
        let place = self.place(report.request.order).ok_or(TableError::UnknownOrder)?;
        let Some(order) = &mut self.slots[place] else { return Err(TableError::UnknownOrder) };
        let change = life::apply(order, report, &mut self.executions, &mut self.answers);
        if change.answered.is_some() {
            // If it waits for another answer, then for a shorter time.
            self.waiting.remove(place);
        }
        self.sort_in(place);
        Ok(change)
    }

    /// Takes up an execution that counts already: out of a journal. It is known when it is told
    /// again, also when its order is forgotten.
    pub fn restore_execution(
        &mut self,
        order: ClientOrderId,
        exec_id: ExecId,
        lots: Lots,
        price: Price,
    ) {
        self.executions.restore(order, exec_id, Traded::lots(lots), price);
    }

    /// Whether this execution of an order was told before.
    #[must_use]
    pub fn knows(&self, order: ClientOrderId, exec_id: &ExecId) -> bool {
        !exec_id.is_none() && self.executions.contains(order, exec_id)
    }

    /// Marks an order as one that somebody should look at; whether it was none before.
    pub fn quarantine(&mut self, id: ClientOrderId) -> bool {
        let place = self.place(id);
        let order = place.and_then(|place| self.slots[place].as_mut());
        order.is_some_and(|order| !core::mem::replace(&mut order.is_quarantined, true))
    }

    /// Whose an order is: who sent it, unless it was handed over. Of one that is forgotten, who
    /// sent it. Cost: as long as no order was handed over, none is looked for.
    #[must_use]
    #[inline]
    pub fn owner(&self, id: ClientOrderId) -> Owner {
        let order = if self.has_handed_over { self.get(id) } else { None };
        order.map_or(Owner::of(id), |order| order.owner)
    }

    /// An order that may still trade is another owner's from now on, with the requests about it
    /// that are under way and all that they lead to. Returns the order as it is now; nothing when
    /// there is no such open order, or it is the owner's already.
    pub fn hand_over(&mut self, id: ClientOrderId, to: Owner) -> Option<Order> {
        let place = self.place(id)?;
        let order = self.slots[place].as_mut()?;
        if order.state.is_done() || order.owner == to {
            return None;
        }
        order.owner = to;
        self.has_handed_over = true;
        Some(*order)
    }

    /// The order with this id, done or not, if it is not forgotten.
    #[must_use]
    pub fn get(&self, id: ClientOrderId) -> Option<&Order> {
        self.slots[self.place(id)?].as_ref()
    }

    /// How many orders may still trade.
    #[must_use]
    pub const fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The orders that may still trade, the oldest first. Cost: one step for each of them, however
    /// many there is room for.
    pub fn open_orders(&self) -> impl Iterator<Item = &Order> {
        self.open.iter().filter_map(|place| self.slots[place].as_ref())
    }

    /// The best price at which one of these orders may rest on a side, but for one of them: those
    /// whose cancel is under way too, and of those that are being modified both prices.
    #[must_use]
    pub fn best_own(
        &self,
        except: Option<ClientOrderId>,
        instrument: InstrumentId,
        side: Side,
    ) -> Option<Price> {
        let others = self.open_orders().filter(|order| Some(order.id) != except);
        let prices = others.flat_map(|order| {
            let asked = order.pending().filter(|it| it.kind == RequestKind::Modify);
            let prices = asked.map(|it| it.price).chain([order.terms.price]);
            prices.filter_map(move |price| {
                let terms = OrderTerms { price, ..order.terms };
                best_own(core::iter::once(&terms), instrument, side)
            })
        });
        match side {
            Side::Buy => prices.max(),
            Side::Sell => prices.min(),
        }
    }

    /// A request whose answer has been waited for since `since` or longer. Ask for it again once it
    /// is settled: [`OrderEvent::Lost`](crate::OrderEvent::Lost) of its version.
    #[must_use]
    pub fn overdue(&self, since: Nanos) -> Option<Overdue> {
        let order = self.slots[self.waiting.first()?].as_ref()?;
        let late = order.awaited().find(|request| request.sent_at <= since)?;
        let request = RequestId { order: order.id, version: late.version };
        Some(Overdue { request, kind: late.kind })
    }

    /// An order that waits for an answer, if any: for who settles them all.
    #[must_use]
    pub fn next_waiting(&self) -> Option<&Order> {
        self.slots[self.waiting.first()?].as_ref()
    }

    /// The request that was sent under this number of the session. Walks those that wait.
    #[must_use]
    pub fn request_of(&self, sequence: u64) -> Option<Overdue> {
        self.waiting.iter().filter_map(|place| self.slots[place].as_ref()).find_map(|order| {
            let sent = order.awaited().find(|request| request.sequence == sequence)?;
            let request = RequestId { order: order.id, version: sent.version };
            Some(Overdue { request, kind: sent.kind })
        })
    }

    /// What was asked and answered so far.
    #[must_use]
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    fn make_room(&mut self) -> Option<usize> {
        if let Some(place) = self.unused.checked_sub(1) {
            self.unused = place;
            return Some(place);
        }
        let place = self.done.first()?;
        self.done.remove(place);
        if let Some(old) = self.slots[place].take() {
            // Of requests that were lost the outcome stays unknown.
            let slots = &self.slots;
            let mixed_of = |at: usize| match &slots[at] {
                Some(order) => mixed(order.id),
                None => mixed(old.id),
            };
            self.index.remove(mixed(old.id), place, mixed_of);
        }
        Some(place)
    }

    /// Puts a place into the lists that it belongs to.
    fn sort_in(&mut self, place: usize) {
        let Some(order) = &self.slots[place] else { return };
        let (is_done, waits) = (order.state.is_done(), order.awaited().next().is_some());
        if is_done {
            self.open.remove(place);
        } else {
            self.open.push(place);
        }
        if waits {
            self.waiting.push(place);
        } else {
            self.waiting.remove(place);
        }
        if is_done && !waits {
            self.done.push(place);
        } else {
            self.done.remove(place);
        }
    }

    #[inline]
    fn place(&self, id: ClientOrderId) -> Option<usize> {
        let is_it = |at: usize| self.slots[at].as_ref().is_some_and(|order| order.id == id);
        self.index.find(mixed(id), is_it)
    }
}

/// Ids of one strategy differ in their last bits, which the index mixes.
#[inline]
const fn mixed(id: ClientOrderId) -> u64 {
    id.0 ^ (id.0 >> 47)
}

#[cfg(test)]
mod tests;
