//! What is journalled.

use core::fmt;

use taut_oms::{Amount, Owner, Position, PositionKey, Trade};
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, OrderTerms, Price, RequestId, Side,
};

const NAME_BYTES: usize = 39;

/// A journal knows no instrument: its positions are counted for lots of 1, whose quantity at 1e-9
/// this is. [`Position::rescaled`] gives them for the lots that they are.
pub const LOT_VALUE: i64 = 1_000_000_000;

/// A name that the venue gave: of an execution (ExecID) or an order (OrderID). Whole up to 39
/// bytes, as much as a UUID needs; of a longer one the last 39 are kept, which is where ids that
/// count differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VenueId {
    len: u8,
    bytes: [u8; NAME_BYTES],
}

impl VenueId {
    /// No name.
    pub const NONE: Self = Self { len: 0, bytes: [0; NAME_BYTES] };

    /// This name.
    #[must_use]
    #[inline]
    pub fn new(text: &[u8]) -> Self {
        let text = text.get(text.len().saturating_sub(NAME_BYTES)..).unwrap_or(&[]);
        let mut bytes = [0; NAME_BYTES];
        if let Some(room) = bytes.get_mut(..text.len()) {
            room.copy_from_slice(text);
        }
        Self { len: text.len() as u8, bytes }
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Whether it names nothing.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Display for VenueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

impl fmt::Debug for VenueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A trade of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Of which order.
    pub order: ClientOrderId,
    /// Whose the order was when it traded: who sent it, or to whom it was handed over.
    pub owner: Owner,
    /// In which instrument.
    pub instrument: InstrumentId,
    /// For which account.
    pub account: AccountId,
    /// Bought or sold.
    pub side: Side,
    /// At which price.
    pub price: Price,
    /// How much; less than zero takes a trade back.
    pub lots: Lots,
    /// The venue's name of it.
    pub exec_id: VenueId,
    /// What it cost besides its price; of a trade that is taken back, what comes back, below 0.
    /// [`Entry::Execution`] says nothing of it: the position has it.
    pub fee: Amount,
    /// Of an inverse contract: worth its quantity divided by the price.
    pub is_inverse: bool,
}

impl Fill {
    /// Whose position it changes.
    #[must_use]
    pub const fn key(&self) -> PositionKey {
        PositionKey {
            user: self.owner.user,
            strategy: self.owner.strategy,
            account: self.account,
            instrument: self.instrument,
        }
    }

    /// What it does to that position.
    #[must_use]
    pub const fn trade(&self) -> Trade {
        // What comes back of a trade that is taken back is a fee that was not paid.
        let fee = match self.lots.0 < 0 {
            true => Amount(self.fee.0.saturating_neg()),
            false => self.fee,
        };
        Trade { side: self.side, lots: self.lots, price: self.price, fee }
    }
}

/// What a request that has no answer yet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Another price and quantity.
    Modify {
        /// The price that it asks for.
        price: Price,
        /// The quantity that it asks for, what has traded included.
        lots: Lots,
    },
    /// The end of the order.
    Cancel,
}

/// An open order as it stands, without the requests under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    /// Its id.
    pub order: ClientOrderId,
    /// A number of its strategy's.
    pub tag: u32,
    /// What it asks for, as the venue took it last.
    pub terms: OrderTerms,
    /// The version of the last request that left.
    pub version_sent: u16,
    /// The version of the last request that the venue took; 0 while it has not acknowledged any.
    pub version_accepted: u16,
    /// What traded of it.
    pub lots_filled: Lots,
    /// Price times lots of that.
    pub worth: i128,
    /// The venue's name of it, once it is known.
    pub venue_id: VenueId,
}

/// One entry of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A new order leaves, as version 1.
    Create {
        /// Its id.
        order: ClientOrderId,
        /// A number of its strategy's.
        tag: u32,
        /// What it asks for.
        terms: OrderTerms,
    },
    /// A request for another price and quantity leaves.
    Modify {
        /// Which request of which order.
        request: RequestId,
        /// The new price.
        price: Price,
        /// The new quantity, what has traded included.
        lots: Lots,
    },
    /// A request to cancel leaves.
    Cancel {
        /// Which request of which order.
        request: RequestId,
    },
    /// The venue took the order.
    Acknowledged {
        /// The request that it answers.
        request: RequestId,
        /// The venue's name of the order.
        venue_id: VenueId,
    },
    /// The venue took a modification: this is what the order asks for now.
    Replaced {
        /// The request that it answers.
        request: RequestId,
        /// The price.
        price: Price,
        /// The quantity, what has traded included.
        lots: Lots,
    },
    /// It traded.
    Filled(Fill),
    /// The order was cancelled, asked or, with version 0, unasked.
    Cancelled {
        /// The request that it answers.
        request: RequestId,
    },
    /// The order's time is over.
    Expired {
        /// The order.
        order: ClientOrderId,
    },
    /// The venue refused: the order (version 0 or 1), or a modify or cancel, and the order stays.
    Rejected {
        /// The request that it answers.
        request: RequestId,
        /// Why, in the caller's numbers.
        reason: u32,
    },
    /// A position is this from now on: carried in, repaired, or rolled at the end of the day. Its
    /// amounts are for lots of 1, here as in [`State`](crate::State).
    Position(PositionKey, Position),
    /// A day of this position is over: it is this from now on, with amounts for lots of 1, and on
    /// all days before it earned so much, less fees.
    Rolled(PositionKey, Position, Amount),
    /// The day with this number began, in the caller's count of days.
    Day(u32),
    /// The kill switch was thrown or released for a scope.
    KillSwitch {
        /// The scope in the caller's word (`Latched::to_word` of the kill switch); to release it,
        /// the same word that threw it.
        word: u64,
        /// Whether it is thrown.
        is_latched: bool,
    },
    /// The owner of this order has used all numbers up to the order's.
    HighestNumber(ClientOrderId),
    /// An open order is this, and has no request under way but those that follow: in a checkpoint,
    /// and when the venue restates it or opens one again that was over.
    OpenOrder(OrderRecord),
    /// An open order is this owner's from now on, with what trades of it: its strategy is gone, or
    /// an operator asked for it. In a checkpoint it follows its order.
    HandedOver {
        /// Which order.
        order: ClientOrderId,
        /// Whose it is.
        to: Owner,
    },
    /// A request of an open order that has no answer.
    Unanswered {
        /// Which request of which order.
        request: RequestId,
        /// What it asks for.
        asked: Asked,
    },
    /// A trade that positions and orders count already, for its name: in a checkpoint, and when an
    /// earlier one counts differently from now on.
    Execution(Fill),
    /// Checkpoint only: its end.
    CheckpointEnd {
        /// The sequence number of the last entry that it counts.
        as_of: u64,
    },
}

impl Entry {
    /// Whether it is a request that makes the exposure larger: what must not leave unjournalled.
    #[must_use]
    pub const fn is_new_exposure(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Modify { .. })
    }
}
