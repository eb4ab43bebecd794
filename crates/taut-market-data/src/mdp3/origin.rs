//! What the events of a message have in common.

use taut_types::{InstrumentId, Nanos};

use crate::event::{Context, EventKind, InstrumentKey, Origin, SequenceRange};

/// Sizes are contracts.
pub const LOT_DECIMALS: u8 = 0;
/// The bit of the event flags that says that the event is complete.
const END_OF_EVENT: u8 = 1 << 7;

/// Times after the year 2262 are none.
pub(super) fn nanos(time: u64) -> Nanos {
    Nanos(i64::try_from(time).unwrap_or(i64::MAX))
}

/// A message about one channel: its entries name their instruments, which CME numbers from 1.
pub(super) fn entry_origin(
    time: u64,
    receive_time: Nanos,
    entry: Option<(i32, u32)>,
) -> Origin<'static> {
    let id = entry.map(|(security_id, _)| security_id.cast_unsigned());
    let key = id.map_or(InstrumentKey::Channel, InstrumentKey::Id);
    let sequence = SequenceRange::one(entry.map_or(0, |(_, number)| number.into()));
    Origin {
        context: Context { instrument: key, sequence, lot_decimals: LOT_DECIMALS },
        instrument: id.map_or(InstrumentId::ALL, InstrumentId),
        exchange_time: nanos(time),
        receive_time,
    }
}

/// The end of a message.
pub(super) const fn end(event_flags: u8) -> EventKind {
    EventKind::End { is_final: event_flags & END_OF_EVENT != 0 }
}
