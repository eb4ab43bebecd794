//! What the entries come to: open orders, positions, numbers, kill switch, executions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use taut_oms::{Amount, Owner, Position, PositionKey};
use taut_types::{AccountId, ClientOrderId, InstrumentId, Lots, RequestId};

use crate::entry::{Asked, Entry, Fill, LOT_VALUE, OrderRecord};
use crate::pack::PAYLOAD_WORDS_MAX;

/// A request that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Its version.
    pub version: u16,
    /// What it asks for.
    pub asked: Asked,
}

/// An order that may trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOrder {
    /// As the venue took it last.
    pub order: OrderRecord,
    /// Whose it is: who sent it, or to whom it was handed over.
    pub owner: Owner,
    /// Modifies and cancels without an answer: what came of them, the venue must say.
    pub unanswered: Vec<Unanswered>,
}

impl OpenOrder {
    /// An order of who sent it, without a request under way.
    #[must_use]
    pub const fn new(order: OrderRecord) -> Self {
        Self { owner: Owner::of(order.order), order, unanswered: Vec::new() }
    }

    /// The venue has not said that it took the order.
    #[must_use]
    pub const fn is_unacknowledged(&self) -> bool {
        self.order.version_accepted == 0
    }

    /// What may still trade at the worst, with every modify granted.
    #[must_use]
    pub fn lots_open_max(&self) -> Lots {
        let asked = self.unanswered.iter().filter_map(|request| match request.asked {
            Asked::Modify { lots, .. } => Some(lots.0),
            Asked::Cancel => None,
        });
        let most = asked.fold(self.order.terms.lots.0, i64::max);
        Lots(most.saturating_sub(self.order.lots_filled.0).max(0))
    }
}

/// The journal, folded.
///
/// An order is open from its create until it is filled, cancelled, expired or rejected. It counts
/// as filled when no modify under way could leave it more to trade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Orders that may trade.
    pub orders: BTreeMap<ClientOrderId, OpenOrder>,
    /// What every owner has, flat positions included, with amounts for lots of 1.
    pub positions: BTreeMap<PositionKey, Position>,
    /// What positions earned on the days before this one, less fees.
    pub earned_before: BTreeMap<PositionKey, Amount>,
    /// The number of the day that began last; 0 while none did.
    pub day: u32,
    /// The order of each user and strategy that has the highest number, by the upper 16 bits of the
    /// id.
    pub highest: BTreeMap<u16, ClientOrderId>,
    /// What the kill switch has stopped, in the caller's words.
    pub killed: BTreeSet<u64>,
    /// The newest trades with names, the oldest first.
    pub executions: VecDeque<Fill>,
    /// The sequence number of the last entry.
    pub as_of: u64,
    /// Entries of kinds that this build does not know.
    pub unknown: u64,
}

/// Whose order it is: user and strategy.
const fn owner(order: ClientOrderId) -> u16 {
    (order.user().0 as u16) << 8 | order.strategy().0 as u16
}

impl State {
    /// Whether a trade with this name was counted for this order. Cost: a look at every execution
    /// that is kept: for a table of the caller's to be filled, and for tests.
    #[must_use]
    pub fn knows(&self, order: ClientOrderId, exec_id: &[u8]) -> bool {
        self.executions.iter().any(|it| it.order == order && it.exec_id.as_bytes() == exec_id)
    }

    /// An owner's position over all accounts.
    #[must_use]
    pub fn position(&self, key: PositionKey) -> Position {
        self.positions.get(&key).copied().unwrap_or_default()
    }

    /// Takes an entry; of the executions, the newest `executions_max` are kept.
    pub(crate) fn apply(&mut self, entry: &Entry, executions_max: usize) {
        match *entry {
            Entry::Create { order, tag, terms } => {
                self.used(order);
                let record = OrderRecord {
                    order,
                    tag,
                    terms,
                    version_sent: 1,
                    version_accepted: 0,
                    lots_filled: Lots::ZERO,
                    worth: 0,
                    venue_id: crate::entry::VenueId::NONE,
                };
                self.orders.insert(order, OpenOrder::new(record));
            }
            Entry::Modify { request, price, lots } => {
                self.asked(request, Asked::Modify { price, lots });
            }
            Entry::Cancel { request } => self.asked(request, Asked::Cancel),
            Entry::Acknowledged { request, venue_id } => self.change(request, |open| {
                open.order.version_accepted = open.order.version_accepted.max(request.version);
                open.order.venue_id = venue_id;
            }),
            Entry::Replaced { request, price, lots } => self.change(request, |open| {
                open.unanswered.retain(|asked| asked.version != request.version);
                open.order.version_accepted = open.order.version_accepted.max(request.version);
                (open.order.terms.price, open.order.terms.lots) = (price, lots);
            }),
            Entry::Filled(fill) => self.filled(&fill, executions_max),
            Entry::Cancelled { request } => self.close(request.order),
            Entry::Expired { order } => {
                self.used(order);
                self.close(order);
            }
            Entry::Rejected { request, .. } if request.version <= 1 => self.close(request.order),
            Entry::Rejected { request, .. } => self.change(request, |open| {
                open.unanswered.retain(|asked| asked.version != request.version);
            }),
            Entry::Position(key, position) => {
                self.positions.insert(key, position);
            }
            Entry::Rolled(key, position, earned) => {
                self.positions.insert(key, position);
                self.earned_before.insert(key, earned);
            }
            Entry::Day(day) => self.day = day,
            Entry::KillSwitch { word, is_latched: true } => {
                self.killed.insert(word);
            }
            Entry::KillSwitch { word, is_latched: false } => {
                self.killed.remove(&word);
            }
            Entry::HighestNumber(order) => self.used(order),
            Entry::OpenOrder(order) => {
                self.used(order.order);
                let mut open = OpenOrder::new(order);
                // It is stated anew: whose it is stays.
                if let Some(before) = self.orders.get(&order.order) {
                    open.owner = before.owner;
                }
                self.orders.insert(order.order, open);
            }
            Entry::HandedOver { order, to } => {
                if let Some(open) = self.orders.get_mut(&order) {
                    open.owner = to;
                }
            }
            // Not looked at by itself: the next one may be what keeps the order open.
            Entry::Unanswered { request, asked } => {
                if let Some(open) = self.orders.get_mut(&request.order) {
                    open.unanswered.push(Unanswered { version: request.version, asked });
                }
            }
            Entry::Execution(fill) => self.remember(&fill, executions_max),
            Entry::CheckpointEnd { as_of } => self.as_of = as_of,
        }
    }

    /// So many numbers of every owner may have been used besides.
    pub(crate) fn skip_numbers(&mut self, count: u64) {
        for order in self.highest.values_mut() {
            let number = order.number().saturating_add(count).min(ClientOrderId::NUMBER_MAX);
            *order = ClientOrderId::of(order.user(), order.strategy(), number);
        }
    }

    /// The entries of a checkpoint: applied to an empty state, they give this one.
    pub(crate) fn checkpoint(&self) -> impl Iterator<Item = Entry> {
        let orders = self.orders.values().flat_map(|open| {
            let (order, to) = (open.order.order, open.owner);
            let handed_over = (to != Owner::of(order)).then_some(Entry::HandedOver { order, to });
            let record = core::iter::once(Entry::OpenOrder(open.order)).chain(handed_over);
            record.chain(open.unanswered.iter().map(|it| Entry::Unanswered {
                request: RequestId { order: open.order.order, version: it.version },
                asked: it.asked,
            }))
        });
        let highest = self.highest.values().map(|order| Entry::HighestNumber(*order));
        let positions = self.positions.iter().map(|(key, it)| match self.earned_before.get(key) {
            Some(earned) => Entry::Rolled(*key, *it, *earned),
            None => Entry::Position(*key, *it),
        });
        let day = (self.day != 0).then_some(Entry::Day(self.day));
        let killed =
            self.killed.iter().map(|word| Entry::KillSwitch { word: *word, is_latched: true });
        let executions = self.executions.iter().map(|fill| Entry::Execution(*fill));
        let end = core::iter::once(Entry::CheckpointEnd { as_of: self.as_of });
        highest.chain(orders).chain(positions).chain(day).chain(killed).chain(executions).chain(end)
    }

    /// All of it in bytes, for [`State::from_bytes`]: of each entry of a checkpoint its kind, how
    /// many words it has, and the words, little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in self.checkpoint() {
            let mut words = [0; PAYLOAD_WORDS_MAX];
            let (kind, length) = entry.pack(&mut words);
            bytes.extend_from_slice(&kind.to_le_bytes());
            bytes.extend_from_slice(&(length as u16).to_le_bytes());
            for word in words.iter().take(length) {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
        bytes
    }

    /// What [`State::to_bytes`] gave; nothing when that is not what these are.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        while !bytes.is_empty() {
            let (kind, rest) = bytes.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let length = usize::from(u16::from_le_bytes(*length));
            let (payload, rest) = rest.split_at_checked(8 * length)?;
            let (words, _) = payload.as_chunks::<8>();
            let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            state.apply(&Entry::unpack(u16::from_le_bytes(*kind), &words)?, usize::MAX);
            bytes = rest;
        }
        Some(state)
    }

    fn used(&mut self, order: ClientOrderId) {
        let highest = self.highest.entry(owner(order)).or_insert(order);
        *highest = order.max(*highest);
    }

    fn asked(&mut self, request: RequestId, asked: Asked) {
        self.change(request, |open| {
            open.order.version_sent = open.order.version_sent.max(request.version);
            open.unanswered.push(Unanswered { version: request.version, asked });
        });
    }

    /// Changes an open order; one that has nothing more to trade afterwards is done.
    fn change(&mut self, request: RequestId, change: impl FnOnce(&mut OpenOrder)) {
        if let Some(open) = self.orders.get_mut(&request.order) {
            change(open);
            self.close_if_done(request.order);
        }
    }

    fn close(&mut self, order: ClientOrderId) {
        self.orders.remove(&order);
    }

    fn filled(&mut self, fill: &Fill, executions_max: usize) {
        let lot_value = if fill.is_inverse { -LOT_VALUE } else { LOT_VALUE };
        self.positions.entry(fill.key()).or_default().count(&fill.trade(), lot_value);
        if let Some(open) = self.orders.get_mut(&fill.order) {
            let filled = open.order.lots_filled.0.saturating_add(fill.lots.0);
            open.order.lots_filled = Lots(filled);
            let worth = i128::from(fill.price.0) * i128::from(fill.lots.0);
            open.order.worth = open.order.worth.saturating_add(worth);
            self.close_if_done(fill.order);
        }
        self.remember(fill, executions_max);
    }

    fn close_if_done(&mut self, order: ClientOrderId) {
        if self.orders.get(&order).is_some_and(|open| open.lots_open_max() == Lots::ZERO) {
            self.close(order);
        }
    }

    fn remember(&mut self, fill: &Fill, executions_max: usize) {
        if fill.exec_id.is_none() || executions_max == 0 {
            return;
        }
        if self.executions.len() >= executions_max {
            self.executions.pop_front();
        }
        // The position has its fee.
        self.executions.push_back(Fill { fee: Amount::ZERO, ..*fill });
    }

    /// The net position of an account in an instrument, over all owners.
    #[must_use]
    pub fn account_lots(&self, account: AccountId, instrument: InstrumentId) -> Lots {
        let of = |key: &PositionKey| key.account == account && key.instrument == instrument;
        let held = self.positions.iter().filter(|(key, _)| of(key));
        Lots(held.fold(0, |sum, (_, position)| sum.saturating_add(position.lots().0)))
    }
}
