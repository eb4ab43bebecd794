//! The fixed blocks of the schema: one table each, offset => field: type.

use taut_types::{InstrumentId, Lots, OrderId, Price, SequenceNumber, Side, Symbol};

use crate::field::Field;

/// Declares a block of fixed length: the struct, and how its fields lie in `$bytes` bytes. Bytes
/// that no field covers are written as zero and not looked at when read.
macro_rules! block {
    (
        $(#[$doc:meta])*
        $name:ident, $bytes:literal bytes {
            $($(#[$field_doc:meta])* $at:literal => $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// The block's length in this version of the schema.
            pub(crate) const BYTES: usize = $bytes;

            /// Name, offset and length of every field, for the comparison with the schema file.
            #[cfg(test)]
            pub(crate) const FIELDS: &[(&str, usize, usize)] =
                &[$((stringify!($field), $at, <$type as Field>::BYTES)),*];

            /// Reads the block, or says at which of its bytes a field has no such value.
            #[inline]
            pub(crate) fn read(block: &[u8; $bytes]) -> Result<Self, usize> {
                Ok(Self {
                    $($field: block
                        .get($at..$at + <$type as Field>::BYTES)
                        .and_then(<$type as Field>::get)
                        .ok_or($at as usize)?,)*
                })
            }

            /// Writes the block.
            #[inline]
            pub(crate) fn write(&self, block: &mut [u8; $bytes]) {
                *block = [0; $bytes];
                $(if let Some(to) = block.get_mut($at..$at + <$type as Field>::BYTES) {
                    self.$field.put(to);
                })*
            }
        }
    };
}

/// Why an order became smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReduceReason {
    /// It traded.
    Execution = 0,
    /// Its owner took a part of it back.
    Cancel = 1,
}

impl Field for ReduceReason {
    const BYTES: usize = 1;
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        match u8::get(bytes)? {
            0 => Some(Self::Execution),
            1 => Some(Self::Cancel),
            _ => None,
        }
    }
    #[inline]
    fn put(&self, bytes: &mut [u8]) {
        (*self as u8).put(bytes);
    }
}

block! {
    /// Template 1: an order joined the tail of its level's queue.
    OrderAdd, 32 bytes {
        /// The venue's identity of the order.
        0 => order_id: OrderId,
        /// Its price.
        8 => price: Price,
        /// Its open quantity.
        16 => lots: Lots,
        /// What it is an order for.
        24 => instrument: InstrumentId,
        /// Its side.
        28 => side: Side,
    }
}

block! {
    /// Template 2: an order became smaller and kept its place in the queue.
    OrderReduce, 32 bytes {
        /// The order.
        0 => order_id: OrderId,
        /// By how much.
        8 => by: Lots,
        /// What is left of it, above zero.
        16 => remaining: Lots,
        /// What it is an order for.
        24 => instrument: InstrumentId,
        /// Its side.
        28 => side: Side,
        /// Why.
        29 => reason: ReduceReason,
    }
}

block! {
    /// Template 3: an order left the book, filled or cancelled.
    OrderDelete, 16 bytes {
        /// The order.
        0 => order_id: OrderId,
        /// What it was an order for.
        8 => instrument: InstrumentId,
        /// Its side.
        12 => side: Side,
    }
}

block! {
    /// Template 4: the new state of a price level.
    LevelUpdate, 28 bytes {
        /// The level's price.
        0 => price: Price,
        /// The total quantity at that price; zero when the level is gone.
        8 => lots: Lots,
        /// How many orders make it up.
        16 => order_count: u32,
        /// The instrument.
        20 => instrument: InstrumentId,
        /// The side of the book.
        24 => side: Side,
    }
}

block! {
    /// Template 5: two orders traded.
    Trade, 40 bytes {
        /// The venue's number for the trade.
        0 => trade_id: u64,
        /// At which price.
        8 => price: Price,
        /// How much.
        16 => lots: Lots,
        /// The resting order; 0 when it is not disclosed.
        24 => maker_order_id: OrderId,
        /// The instrument.
        32 => instrument: InstrumentId,
        /// The side of the order that took the liquidity.
        36 => aggressor_side: Side,
    }
}

block! {
    /// Template 6: a snapshot of one instrument's book begins. Its packet has index 0.
    SnapshotBegin, 28 bytes {
        /// The last packet of the incremental channel that the snapshot contains.
        0 => last_sequence: SequenceNumber,
        /// Names the snapshot in its parts.
        8 => snapshot_id: u32,
        /// The instrument.
        12 => instrument: InstrumentId,
        /// How many levels its parts list, both sides together.
        16 => level_count: u32,
        /// How many orders its parts list.
        20 => order_count: u32,
        /// How many packets it has, from the one with `SnapshotBegin` to the one with
        /// [`SnapshotEnd`].
        24 => packet_count: u32,
    }
}

block! {
    /// Template 9: the last packet of a snapshot.
    SnapshotEnd, 12 bytes {
        /// The snapshot.
        0 => snapshot_id: u32,
        /// This packet's index in it.
        4 => packet_index: u32,
        /// The instrument.
        8 => instrument: InstrumentId,
    }
}

block! {
    /// The root block of templates 7 and 8: which part of which snapshot this is.
    SnapshotPart, 12 bytes {
        /// The snapshot.
        0 => snapshot_id: u32,
        /// This packet's index in it.
        4 => packet_index: u32,
        /// The instrument.
        8 => instrument: InstrumentId,
    }
}

block! {
    /// A price level in template 7.
    SnapshotLevel, 24 bytes {
        /// The level's price.
        0 => price: Price,
        /// The total quantity.
        8 => lots: Lots,
        /// How many orders make it up.
        16 => order_count: u32,
        /// The side of the book.
        20 => side: Side,
    }
}

block! {
    /// An order in template 8. Within a level the entries stand in priority order.
    SnapshotOrder, 28 bytes {
        /// The venue's identity of the order.
        0 => order_id: OrderId,
        /// Its price.
        8 => price: Price,
        /// Its open quantity.
        16 => lots: Lots,
        /// Its side.
        24 => side: Side,
    }
}

block! {
    /// Template 10: what an instrument number stands for.
    InstrumentDefinition, 40 bytes {
        /// The price step.
        0 => tick: Price,
        /// The quantity step's digits.
        8 => lot_mantissa: i64,
        /// The instrument's number.
        16 => instrument: InstrumentId,
        /// The quantity step's decimal places.
        20 => lot_decimals: u8,
        /// Its name.
        21 => symbol: Symbol,
    }
}
