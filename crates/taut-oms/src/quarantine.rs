//! What somebody should look at.

use alloc::boxed::Box;

use taut_types::{ClientOrderId, Nanos};

use crate::exec_id::ExecId;

/// What is wrong with an order or a report. The position is what the venue said all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Trouble {
    /// More traded than was ordered.
    Overfill = 1,
    /// A trade was no whole number of lots; the rest is kept with the order.
    PartOfLot = 2,
    /// The venue said what cannot happen to the order where it stood.
    Contradiction = 3,
    /// Trades were missing and were counted by the venue's total.
    MissedTrades = 4,
    /// A trade was cancelled or corrected that we do not know.
    UnknownTrade = 5,
    /// The report is about an order that is not ours, or that we have forgotten.
    NotOurs = 6,
    /// The report could not be read.
    Unreadable = 7,
    /// The venue does not know an order that was working.
    Vanished = 8,
    /// The venue did not answer, asked again neither.
    Unanswered = 9,
    /// The venue's code has no meaning here.
    UnknownCode = 10,
}

impl Trouble {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Overfill,
        Self::PartOfLot,
        Self::Contradiction,
        Self::MissedTrades,
        Self::UnknownTrade,
        Self::NotOurs,
        Self::Unreadable,
        Self::Vanished,
        Self::Unanswered,
        Self::UnknownCode,
    ];

    /// The trouble with this code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1..=10 => Some(Self::ALL[code as usize - 1]),
            _ => None,
        }
    }
}

/// An entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// What is wrong.
    pub trouble: Trouble,
    /// With which order, where one is named that can be ours.
    pub order: Option<ClientOrderId>,
    /// Which report said so.
    pub exec_id: ExecId,
    /// When.
    pub at: Nanos,
}

/// The newest troubles, a fixed number of them, and how many there ever were.
#[derive(Debug)]
pub struct Quarantine {
    ring: Box<[Option<Quarantined>]>,
    count: u64,
}

impl Quarantine {
    /// Room for so many, at least one.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { ring: core::iter::repeat_n(None, capacity.max(1)).collect(), count: 0 }
    }

    /// Notes one; the oldest makes room.
    pub fn push(&mut self, entry: Quarantined) {
        let at = (self.count % self.ring.len() as u64) as usize;
        self.ring[at] = Some(entry);
        self.count += 1;
    }

    /// How many there were, those that made room too.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Those that are kept, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Quarantined> {
        self.ring.iter().flatten()
    }
}
