//! One order: its terms, what traded of it, and the requests about it that are under way.

use taut_types::{ClientOrderId, Lots, Nanos, OrderTerms, Price};

use crate::owner::Owner;
use crate::report::RequestKind;
use crate::state::OrderState;
use crate::traded::Traded;

/// Requests of one order that may be under way at a time.
pub const REQUESTS_MAX: usize = 4;

/// A request that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its version: the order itself is 1.
    pub version: u16,
    /// What it asks for.
    pub kind: RequestKind,
    /// No answer is waited for any more: the connection broke, or the time is over. One that comes
    /// all the same counts.
    pub is_lost: bool,
    /// The number of its message in the session, by which a reject may name it.
    pub sequence: u64,
    /// When it was sent.
    pub sent_at: Nanos,
    /// The price that it asks for.
    pub price: Price,
    /// The quantity that it asks for.
    pub lots: Lots,
}

/// An order that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its id, which names who sent it.
    pub id: ClientOrderId,
    /// Whose it is: who sent it, or to whom it was handed over.
    pub owner: Owner,
    /// What it asks for, as the venue accepted it last.
    pub terms: OrderTerms,
    /// A number of its sender's.
    pub tag: u32,
    /// Where it is in its life.
    pub state: OrderState,
    /// What traded of it.
    pub traded: Traded,
    /// The most that the venue ever said has traded: more than `traded` while a trade is missing.
    pub told: Traded,
    /// Of `traded`, what is known by the venue's total alone: its own report may still come.
    pub(crate) inferred: Traded,
    /// Price times lots of what traded.
    pub(crate) notional: i128,
    /// The version of the last request.
    pub version_sent: u16,
    /// The version of the last request that the venue accepted.
    pub version_accepted: u16,
    /// Whether something is wrong with it: see [`Trouble`](crate::Trouble).
    pub is_quarantined: bool,
    /// When it was sent.
    pub sent_at: Nanos,
    /// Requests under way.
    pub(crate) requests: [Option<Pending>; REQUESTS_MAX],
}

impl Order {
    /// An order that leaves now.
    pub(crate) fn new(
        id: ClientOrderId,
        terms: &OrderTerms,
        tag: u32,
        sequence: u64,
        now: Nanos,
    ) -> Self {
        let create = Pending {
            version: 1,
            kind: RequestKind::Create,
            is_lost: false,
            sequence,
            sent_at: now,
            price: terms.price,
            lots: terms.lots,
        };
        Self {
            id,
            owner: Owner::of(id),
            terms: *terms,
            tag,
            state: OrderState::Sent,
            traded: Traded::ZERO,
            told: Traded::ZERO,
            inferred: Traded::ZERO,
            notional: 0,
            version_sent: 1,
            version_accepted: 0,
            is_quarantined: false,
            sent_at: now,
            requests: [Some(create), None, None, None],
        }
    }

    /// An order out of a journal: `filled` lots of it traded, for `worth` price times lots. While
    /// no version of it was accepted, nobody knows what became of it.
    #[must_use]
    pub fn recovered(
        id: ClientOrderId,
        terms: &OrderTerms,
        tag: u32,
        (version_sent, version_accepted): (u16, u16),
        (filled, worth): (Lots, i128),
    ) -> Self {
        let mut order = Self::new(id, terms, tag, 0, Nanos::ZERO);
        (order.version_sent, order.version_accepted) = (version_sent, version_accepted);
        order.traded = Traded::lots(filled);
        (order.told, order.notional) = (order.traded, worth);
        match &mut order.requests {
            [create, ..] if version_accepted > 0 => *create = None,
            requests => requests.iter_mut().flatten().for_each(|request| request.is_lost = true),
        }
        order.state = if version_accepted > 0 { OrderState::Working } else { OrderState::Unknown };
        order
    }

    /// The same order with a request that has no answer: nobody knows what became of it.
    #[must_use]
    pub fn with_lost(mut self, version: u16, kind: RequestKind, price: Price, lots: Lots) -> Self {
        let (sequence, sent_at, is_lost) = (0, Nanos::ZERO, true);
        let request = Pending { version, kind, is_lost, sequence, sent_at, price, lots };
        // The oldest of more than there is room for makes room.
        let _ = self.keep(request);
        self.state = OrderState::Unknown;
        self
    }

    /// The same order of another owner, to whom it was handed over.
    #[must_use]
    pub const fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// The id under which limits, budgets, filters and the kill switch count it: its own with the
    /// user and the strategy of its owner.
    #[must_use]
    pub const fn counted_as(&self) -> ClientOrderId {
        self.owner.order(self.id.number())
    }

    /// Price times lots of what traded.
    #[must_use]
    pub const fn worth(&self) -> i128 {
        self.notional
    }

    /// Whether the venue told of more trades, by a total, than it has told one by one.
    #[must_use]
    pub fn misses_trades(&self) -> bool {
        self.told.is_more_than(self.traded)
    }

    /// What may still trade.
    #[must_use]
    pub fn lots_open(&self) -> Lots {
        if self.state.is_done() {
            return Lots::ZERO;
        }
        Lots(self.terms.lots.0.saturating_sub(self.traded.lots.0).max(0))
    }

    /// What may still trade at the worst: with every request granted that is under way.
    #[must_use]
    pub fn lots_open_max(&self) -> Lots {
        if self.state.is_done() {
            return Lots::ZERO;
        }
        let asked = self.pending().filter(|it| it.kind == RequestKind::Modify).map(|it| it.lots.0);
        let most = asked.fold(self.terms.lots.0, i64::max);
        Lots(most.saturating_sub(self.traded.lots.0).max(0))
    }

    /// The average price of what traded, rounded towards zero; nothing when nothing did.
    #[must_use]
    pub fn average_price(&self) -> Option<Price> {
        let lots = i128::from(self.traded.lots.0);
        let average = (lots > 0).then(|| self.notional / lots)?;
        i64::try_from(average).ok().map(Price)
    }

    /// The requests under way, lost ones too.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.requests.iter().flatten()
    }

    /// The requests whose answers are waited for.
    pub fn awaited(&self) -> impl Iterator<Item = &Pending> {
        self.pending().filter(|request| !request.is_lost)
    }

    /// Whether a cancel is under way.
    #[must_use]
    pub fn is_being_cancelled(&self) -> bool {
        self.awaited().any(|request| request.kind == RequestKind::Cancel)
    }

    /// The version that a further request is based on: the newest that the venue has accepted or
    /// is about to.
    #[must_use]
    pub fn version_base(&self) -> u16 {
        let asked = self.awaited().filter(|request| request.kind != RequestKind::Cancel);
        asked.map(|request| request.version).fold(self.version_accepted.max(1), u16::max)
    }

    /// Keeps a request; a lost one makes room. False when all are waited for.
    pub(crate) fn keep(&mut self, request: Pending) -> bool {
        let free = self.requests.iter().position(Option::is_none);
        let lost = || self.requests.iter().position(|it| it.is_some_and(|it| it.is_lost));
        match free.or_else(lost) {
            Some(place) => {
                self.requests[place] = Some(request);
                true
            }
            None => false,
        }
    }

    /// Takes the first request that fits out.
    pub(crate) fn take(&mut self, fits: impl Fn(&Pending) -> bool) -> Option<Pending> {
        self.requests.iter_mut().find(|it| it.as_ref().is_some_and(&fits))?.take()
    }
}
