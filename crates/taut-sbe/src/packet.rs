//! The header of a datagram.

use taut_types::{Nanos, SequenceNumber};

use crate::block::{SnapshotLevel, SnapshotOrder, SnapshotPart};
use crate::field::Field;
use crate::frame::FRAME_BYTES;
use crate::group::DIMENSION_BYTES;

/// The longest datagram: it fits an Ethernet frame with room for tunnels.
pub const PACKET_BYTES_MAX: usize = 1_400;
/// The header's length.
pub const PACKET_HEADER_BYTES: usize = 24;

const ENTRY_ROOM: usize =
    PACKET_BYTES_MAX - PACKET_HEADER_BYTES - FRAME_BYTES - SnapshotPart::BYTES - DIMENSION_BYTES;
/// How many levels one packet of a snapshot can list.
pub const LEVELS_PER_PACKET_MAX: usize = ENTRY_ROOM / SnapshotLevel::BYTES;
/// How many orders one packet of a snapshot can list.
pub const ORDERS_PER_PACKET_MAX: usize = ENTRY_ROOM / SnapshotOrder::BYTES;

/// What a packet is, as a set of bits. Unknown bits are kept and mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFlags(pub u16);

impl PacketFlags {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// The last packet of its transaction: the book may be acted upon.
    pub const LAST: Self = Self(1);
    /// A heartbeat: it has no messages and consumes no sequence number; its sequence is the last
    /// one sent.
    pub const HEARTBEAT: Self = Self(1 << 1);
    /// A packet of the snapshot channel, which counts its packets on its own.
    pub const SNAPSHOT: Self = Self(1 << 2);

    /// These bits and the others'.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether all bits of `others` are set.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// The header of a datagram: 24 bytes, little endian, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketHeader {
    /// The packet's number in its channel, from 1.
    pub sequence: SequenceNumber,
    /// When the sender handed it to the kernel, UTC.
    pub sending_time: Nanos,
    /// How many messages follow. The writer counts them itself.
    pub message_count: u16,
    /// What it is.
    pub flags: PacketFlags,
    /// Names this run of the venue: a random number tells an old incarnation's packets apart.
    pub stream_id: u32,
}

impl PacketHeader {
    /// The header of nothing yet: all zero, which is the default too.
    pub const EMPTY: Self = Self {
        sequence: SequenceNumber(0),
        sending_time: Nanos::ZERO,
        message_count: 0,
        flags: PacketFlags::NONE,
        stream_id: 0,
    };

    #[inline]
    pub(crate) fn read(bytes: &[u8; PACKET_HEADER_BYTES]) -> Self {
        Self {
            sequence: field(bytes, 0),
            sending_time: field(bytes, 8),
            message_count: field(bytes, 16),
            flags: PacketFlags(field(bytes, 18)),
            stream_id: field(bytes, 20),
        }
    }

    #[inline]
    pub(crate) fn write(&self, bytes: &mut [u8; PACKET_HEADER_BYTES]) {
        put(bytes, 0, &self.sequence);
        put(bytes, 8, &self.sending_time);
        put(bytes, 16, &self.message_count);
        put(bytes, 18, &self.flags.0);
        put(bytes, 20, &self.stream_id);
    }
}

/// Every bit pattern is a value of the header's types: the default is never taken.
#[inline]
fn field<T: Field + Default>(bytes: &[u8; PACKET_HEADER_BYTES], at: usize) -> T {
    bytes.get(at..).and_then(T::get).unwrap_or_default()
}

#[inline]
fn put<T: Field>(bytes: &mut [u8; PACKET_HEADER_BYTES], at: usize, value: &T) {
    if let Some(to) = bytes.get_mut(at..) {
        value.put(to);
    }
}
