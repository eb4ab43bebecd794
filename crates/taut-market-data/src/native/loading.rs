//! Snapshots while their packets come in.

mod orders;

use taut_book::{BookError, LevelAction, LevelBook};
use taut_types::SequenceNumber;

use crate::native::block::SnapshotBegin;
use crate::native::loading::orders::OrderParts;
use crate::native::message::{SnapshotLevels, SnapshotOrders};

/// Snapshots that are put together at a time. The venue sends one after the other, but small ones
/// follow so closely that the network mixes them.
const COUNT: usize = 8;

/// What became of a part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// More is missing, or it is a part of nothing that is being put together.
    Nothing,
    /// The snapshot in this place is complete.
    Complete(usize),
    /// The book in this place has no room for it.
    Full(usize),
    /// The snapshot contradicts itself and was given up.
    Malformed,
}

/// The snapshots that are being put together, each in a book of its own, so that the book that it
/// will replace can still be brought up to date otherwise.
#[derive(Debug)]
pub(crate) struct Loading {
    slots: [Slot; COUNT],
    /// How many were begun.
    begun: u64,
    /// Whether their single orders are put together, too.
    has_orders: bool,
}

/// A complete snapshot.
#[derive(Debug)]
pub(crate) struct Snapshot<'a> {
    /// The place of the book that it is for.
    pub(crate) at: usize,
    /// The last packet that it contains.
    pub(crate) last: SequenceNumber,
    /// The book to exchange for that one.
    pub(crate) book: &'a mut LevelBook,
    pub(crate) orders: OrderList<'a>,
}

/// What a complete snapshot says of single orders.
#[derive(Debug)]
pub(crate) enum OrderList<'a> {
    /// Nothing: the feed has none, or nobody wants them.
    Nothing,
    /// More than there is room for.
    TooMany,
    /// All.
    All(&'a mut OrderParts),
}

/// Which snapshot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    /// The place of the book that it is for.
    at: usize,
    stream: u32,
    id: u32,
}

#[derive(Debug)]
struct Slot {
    book: LevelBook,
    of: Option<Of>,
    /// Which of all it is, counted.
    number: u64,
    /// What its first packet says of it, which need not come first.
    head: Option<Head>,
    /// How many levels have come.
    levels: u32,
    orders: OrderParts,
}

/// What the first packet of a snapshot says.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// The last packet that the snapshot contains.
    last: SequenceNumber,
    levels: u32,
    orders: usize,
}

impl Slot {
    /// What the slot in this place is now.
    const fn outcome(&self, place: usize) -> Loaded {
        let Some(head) = self.head else { return Loaded::Nothing };
        let has_all = self.has_too_many_orders(head) || self.orders.len() == head.orders;
        match self.levels {
            levels if levels > head.levels || self.orders.len() > head.orders => Loaded::Malformed,
            levels if levels == head.levels && has_all => Loaded::Complete(place),
            _ => Loaded::Nothing,
        }
    }

    /// Whether its orders are not waited for.
    const fn has_too_many_orders(&self, head: Head) -> bool {
        self.orders.is_full() || head.orders > self.orders.capacity()
    }
}

impl Loading {
    pub(crate) fn new(level_capacity: usize) -> Self {
        let slot = |_| Slot {
            book: LevelBook::with_capacity(level_capacity),
            of: None,
            number: 0,
            head: None,
            levels: 0,
            orders: OrderParts::with_capacity(0),
        };
        Self { slots: core::array::from_fn(slot), begun: 0, has_orders: false }
    }

    /// Puts single orders together from now on, with room for so many of a book.
    pub(crate) fn load_orders(&mut self, order_capacity: usize) {
        self.clear();
        self.has_orders = true;
        for slot in &mut self.slots {
            slot.orders = OrderParts::with_capacity(order_capacity);
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.of = None);
    }

    /// Takes the beginning of a snapshot for the book in this place.
    pub(crate) fn begin(&mut self, at: usize, stream: u32, begin: &SnapshotBegin) -> Loaded {
        let Some((place, slot)) = self.slot(Of { at, stream, id: begin.snapshot_id }) else {
            return Loaded::Nothing;
        };
        let SnapshotBegin { last_sequence: last, level_count: levels, order_count, .. } = *begin;
        slot.head = Some(Head { last, levels, orders: order_count as usize });
        self.conclude(place)
    }

    /// Takes levels. Those that are there already came twice and do not count.
    pub(crate) fn part(&mut self, at: usize, stream: u32, part: &SnapshotLevels<'_>) -> Loaded {
        let Some((place, slot)) = self.slot(Of { at, stream, id: part.part.snapshot_id }) else {
            return Loaded::Nothing;
        };
        for level in part.levels.iter() {
            match slot.book.apply(level.side, level.price, level.lots, level.order_count) {
                Ok(change) if change.action == LevelAction::Inserted => slot.levels += 1,
                Ok(change) if change.action == LevelAction::Updated => {}
                Err(BookError::Limit(_)) => {
                    slot.of = None;
                    return Loaded::Full(at);
                }
                _ => {
                    slot.of = None;
                    return Loaded::Malformed;
                }
            }
        }
        self.conclude(place)
    }

    /// Takes single orders.
    pub(crate) fn order_part(
        &mut self,
        at: usize,
        stream: u32,
        part: &SnapshotOrders<'_>,
    ) -> Loaded {
        let Some((place, slot)) = self.slot(Of { at, stream, id: part.part.snapshot_id }) else {
            return Loaded::Nothing;
        };
        slot.orders.take(part.part.packet_index, &part.orders);
        self.conclude(place)
    }

    /// Takes a complete snapshot out.
    pub(crate) fn take(&mut self, place: usize) -> Option<Snapshot<'_>> {
        let has_orders = self.has_orders;
        let slot = self.slots.get_mut(place)?;
        let (of, head) = (slot.of.take()?, slot.head?);
        let has_too_many = slot.has_too_many_orders(head);
        let orders = match head.orders {
            _ if !has_orders => OrderList::Nothing,
            // Levels of orders that are not listed: the feed is one of levels alone.
            0 if head.levels > 0 => OrderList::Nothing,
            _ if has_too_many => OrderList::TooMany,
            _ => OrderList::All(&mut slot.orders),
        };
        Some(Snapshot { at: of.at, last: head.last, book: &mut slot.book, orders })
    }

    fn conclude(&mut self, place: usize) -> Loaded {
        let Some(slot) = self.slots.get_mut(place) else { return Loaded::Nothing };
        let outcome = slot.outcome(place);
        if outcome == Loaded::Malformed {
            slot.of = None;
        }
        outcome
    }

    /// The slot of this snapshot; a new one gets that of the same book's former one, a free one, or
    /// the oldest. None of one that is older than what there is for its book.
    fn slot(&mut self, of: Of) -> Option<(usize, &mut Slot)> {
        let of_book = |slot: &Slot| slot.of.is_some_and(|other| other.at == of.at);
        let place = match self.slots.iter().position(of_book) {
            Some(place) => {
                let other = self.slots.get(place)?.of?;
                let is_late =
                    other.stream == of.stream && of.id.wrapping_sub(other.id).cast_signed() < 0;
                if is_late {
                    return None;
                }
                place
            }
            None => {
                let by_age = |(_, slot): &(usize, &Slot)| (slot.of.is_some(), slot.number);
                self.slots.iter().enumerate().min_by_key(by_age)?.0
            }
        };
        let slot = self.slots.get_mut(place)?;
        if slot.of != Some(of) {
            self.begun += 1;
            slot.book.clear();
            slot.orders.clear();
            (slot.of, slot.number, slot.head, slot.levels) = (Some(of), self.begun, None, 0);
        }
        Some((place, slot))
    }
}
