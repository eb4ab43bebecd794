//! Values of a message, each a word in a record.

use core::net::{Ipv4Addr, SocketAddrV4};

use taut_types::InstrumentId;

/// What a word of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// An instrument, by its number.
    Instrument,
    /// An IPv4 address with its port.
    Address,
}

/// What can be a value of a message.
pub trait Field: Copy {
    /// What its word is.
    const KIND: Kind;

    /// It as a word.
    fn to_word(self) -> u64;
}

impl Field for u64 {
    const KIND: Kind = Kind::Number;

    fn to_word(self) -> u64 {
        self
    }
}

impl Field for u32 {
    const KIND: Kind = Kind::Number;

    fn to_word(self) -> u64 {
        self.into()
    }
}

impl Field for InstrumentId {
    const KIND: Kind = Kind::Instrument;

    fn to_word(self) -> u64 {
        self.0.into()
    }
}

impl Field for SocketAddrV4 {
    const KIND: Kind = Kind::Address;

    fn to_word(self) -> u64 {
        u64::from(self.ip().to_bits()) << 16 | u64::from(self.port())
    }
}

/// The address of a word.
pub(crate) fn address(word: u64) -> SocketAddrV4 {
    let [_, _, ip @ .., port_high, port_low] = word.to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::from(ip), u16::from_be_bytes([port_high, port_low]))
}
