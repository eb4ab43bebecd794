//! Numbers in bytes.

use crate::primitive::{ByteOrder, Primitive};
use crate::schema::Slot;

/// An integer of any type.
pub(super) fn integer(order: ByteOrder, primitive: Primitive, bytes: &[u8]) -> i128 {
    let push = |value: i128, byte: &u8| value << 8 | i128::from(*byte);
    let value = match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, push),
        ByteOrder::Big => bytes.iter().fold(0, push),
    };
    match primitive.range() {
        Some((min, max)) if value > max => value - (max - min + 1),
        _ => value,
    }
}

/// The integer of a header.
pub(super) fn slot(order: ByteOrder, slot: Slot, header: &[u8]) -> Option<i128> {
    let bytes = header.get(slot.offset..slot.offset + slot.primitive.bytes())?;
    Some(integer(order, slot.primitive, bytes))
}
