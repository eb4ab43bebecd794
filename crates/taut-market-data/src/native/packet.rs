//! The header of a datagram.

use taut_types::{Nanos, SequenceNumber};

use crate::native::codec;
pub use crate::native::codec::PacketFlags;

/// The longest datagram: it fits an Ethernet frame with room for tunnels.
pub const PACKET_BYTES_MAX: usize = 1_400;
/// The header's length.
pub const PACKET_HEADER_BYTES: usize = codec::PacketHeader::BYTES;
/// How many levels one packet of a snapshot can list.
pub const LEVELS_PER_PACKET_MAX: usize = 56;
/// How many orders one packet of a snapshot can list.
pub const ORDERS_PER_PACKET_MAX: usize = 48;

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
        flags: PacketFlags::EMPTY,
        stream_id: 0,
    };

    #[inline]
    pub(crate) fn read(bytes: &[u8; PACKET_HEADER_BYTES]) -> Self {
        let codec::PacketHeader { sequence, sending_time, message_count, flags, stream_id } =
            codec::PacketHeader::read(bytes);
        let (sequence, sending_time) = (SequenceNumber(sequence), Nanos(sending_time));
        Self { sequence, sending_time, message_count, flags, stream_id }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> [u8; PACKET_HEADER_BYTES] {
        let Self { sequence, sending_time, message_count, flags, stream_id } = *self;
        let (sequence, sending_time) = (sequence.0, sending_time.0);
        codec::PacketHeader { sequence, sending_time, message_count, flags, stream_id }.bytes()
    }
}
