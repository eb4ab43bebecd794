//! The blocks of snapshots and definitions: one table each, field: type. Where a field lies is the
//! generated codec's business.

use taut_types::{InstrumentId, Price, SequenceNumber, Symbol};

use crate::native::codec;
use crate::native::value::Value;

/// Declares a block: the struct, and how it comes out of a decoder and goes into an encoder.
macro_rules! block {
    (
        $(#[$doc:meta])*
        $name:ident: $decoder:ident, $encoder:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// The values, or nothing when a field has one that its type does not name.
            #[inline]
            pub(crate) fn of(from: &codec::$decoder<'_>) -> Option<Self> {
                Some(Self { $($field: Value::of(from.$field())?,)* })
            }

            /// Sets every field.
            #[inline]
            pub(crate) fn fill(&self, to: &mut codec::$encoder<'_>) {
                $(to.$field(Value::raw(self.$field));)*
            }
        }
    };
}

block! {
    /// Template 6: a snapshot of one instrument's book begins. Its packet has index 0.
    SnapshotBegin: SnapshotBeginDecoder, SnapshotBeginEncoder {
        /// The last packet of the incremental channel that the snapshot contains.
        last_sequence: SequenceNumber,
        /// Names the snapshot in its parts.
        snapshot_id: u32,
        /// The instrument.
        instrument: InstrumentId,
        /// How many levels its parts list, both sides together.
        level_count: u32,
        /// How many orders its parts list.
        order_count: u32,
        /// How many packets it has, from the one with `SnapshotBegin` to the one with
        /// [`SnapshotEnd`].
        packet_count: u32,
    }
}

block! {
    /// Template 9: the last packet of a snapshot.
    SnapshotEnd: SnapshotEndDecoder, SnapshotEndEncoder {
        /// The snapshot.
        snapshot_id: u32,
        /// This packet's index in it.
        packet_index: u32,
        /// The instrument.
        instrument: InstrumentId,
    }
}

/// The root block of templates 7 and 8: which part of which snapshot this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    /// The snapshot.
    pub snapshot_id: u32,
    /// This packet's index in it.
    pub packet_index: u32,
    /// The instrument.
    pub instrument: InstrumentId,
}

/// Template 10: what an instrument number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstrumentDefinition {
    /// The price step.
    pub tick: Price,
    /// The quantity step's digits.
    pub lot_mantissa: i64,
    /// The instrument's number.
    pub instrument: InstrumentId,
    /// The quantity step's decimal places.
    pub lot_decimals: u8,
    /// Its name.
    pub symbol: Symbol,
}

impl InstrumentDefinition {
    /// As the other blocks' `of`; a name that is none is nothing, too.
    pub(crate) fn of(from: &codec::InstrumentDefinitionDecoder<'_>) -> Option<Self> {
        Some(Self {
            tick: Value::of(from.tick())?,
            lot_mantissa: from.lot_mantissa(),
            instrument: Value::of(from.instrument())?,
            lot_decimals: from.lot_decimals(),
            // At least one zero ends it.
            symbol: Symbol::new(from.symbol_text()?.as_bytes())?,
        })
    }

    /// Sets every field.
    pub(crate) fn fill(&self, to: &mut codec::InstrumentDefinitionEncoder<'_>) {
        to.tick(self.tick.raw()).lot_mantissa(self.lot_mantissa).instrument(self.instrument.raw());
        to.lot_decimals(self.lot_decimals);
        // A symbol is shorter than its field.
        let _ = to.symbol_text(self.symbol.as_bytes());
    }
}
