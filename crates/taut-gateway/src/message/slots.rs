//! Messages in the slots of a ring: words, bytes and kinds.

use taut_ring::Payload;
use taut_types::Symbol;

/// One or two slots of a ring: the second has what the first has no room for, and goes before it.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    slots: [Payload; 2],
    count: usize,
}

impl Slots {
    pub const fn one(slot: Payload) -> Self {
        Self { slots: [slot, [0; 7]], count: 1 }
    }

    pub const fn two(before: Payload, slot: Payload) -> Self {
        Self { slots: [before, slot], count: 2 }
    }

    #[inline]
    pub fn as_slice(&self) -> &[Payload] {
        self.slots.get(..self.count).unwrap_or(&[])
    }
}

/// Kinds of slots: requests, order updates, and what goes before one of them. Those of events stay
/// below [`FIRST_KIND`].
pub mod kind {
    pub const CREATE: u8 = 32;
    pub const MODIFY: u8 = 33;
    pub const CANCEL: u8 = 34;
    pub const CANCEL_ALL: u8 = 35;
    pub const TELL_BOOKS: u8 = 36;
    pub const UPDATE: u8 = 40;
    pub const OPEN_ORDER: u8 = 41;
    pub const INSTRUMENT: u8 = 42;
    pub const POSITION: u8 = 43;
    pub const STATE: u8 = 44;
    pub const POSITION_BEFORE_TRADE: u8 = 45;
    pub const BALANCE: u8 = 46;
    pub const TICK_STEPS: u8 = 47;
    pub const AT: u8 = 254;
    pub const BEFORE: u8 = 255;
}

/// The kinds of [`taut_market_data::Event::to_words`] are below this.
pub const FIRST_KIND: u8 = 32;

/// The kind of a slot.
pub const fn kind_of(payload: &Payload) -> u8 {
    byte(payload[0], 0)
}

pub const fn word(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

pub const fn low(word: u64) -> u32 {
    word as u32
}

pub const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

pub const fn byte(word: u64, index: u32) -> u8 {
    (word >> (8 * index)) as u8
}

/// Four bytes and a number of 32 bits.
pub const fn head(bytes: [u8; 4], high: u32) -> u64 {
    word(u32::from_le_bytes(bytes), high)
}

/// The length of a name, and its bytes as words.
pub fn symbol_words(symbol: &Symbol) -> (u8, [u64; 2]) {
    let mut name = [0; 16];
    for (place, byte) in name.iter_mut().zip(symbol.as_bytes()) {
        *place = *byte;
    }
    let name = u128::from_le_bytes(name);
    (symbol.as_bytes().len() as u8, [name as u64, (name >> 64) as u64])
}

/// The name out of them, if it is one.
pub fn symbol_of(length: u8, [low, high]: [u64; 2]) -> Option<Symbol> {
    let name = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
    Symbol::new(name.get(..usize::from(length))?)
}
