//! What gateway and simulated exchange say to each other: messages of one size, in memory.

use taut_types::{ClientOrderId, InstrumentId, Nanos, OrderType, RequestId, Side, TimeInForce};

/// The size of a message.
pub const MESSAGE_BYTES: usize = 72;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Say {
    /// To the exchange: the session is to begin. Back: it has begun.
    LogOn = 0,
    /// To the exchange: the session is to end. Back: it has ended.
    LogOut = 1,
    /// To the exchange: a new order.
    New = 2,
    /// To the exchange: another price and quantity.
    Modify = 3,
    /// To the exchange: the end of an order.
    Cancel = 4,
    /// The order was taken.
    Accepted = 5,
    /// It has the terms of a modification.
    Replaced = 6,
    /// It traded.
    Traded = 7,
    /// It is cancelled on request.
    Cancelled = 8,
    /// It is over by its own terms.
    Expired = 9,
    /// It is refused.
    Rejected = 10,
    /// It is refused because it would have traded at once.
    WouldTrade = 11,
    /// A modification is refused.
    ModifyRefused = 12,
    /// A cancel is refused.
    CancelRefused = 13,
}

impl Say {
    const ALL: [Self; 14] = [
        Self::LogOn,
        Self::LogOut,
        Self::New,
        Self::Modify,
        Self::Cancel,
        Self::Accepted,
        Self::Replaced,
        Self::Traded,
        Self::Cancelled,
        Self::Expired,
        Self::Rejected,
        Self::WouldTrade,
        Self::ModifyRefused,
        Self::CancelRefused,
    ];
}

/// A message. Prices are ticks, quantities lots; what a kind of message does not say is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub say: Say,
    pub request: RequestId,
    pub instrument: InstrumentId,
    pub side: Side,
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    pub post_only: bool,
    /// Of a trade: whether the order rested.
    pub is_maker: bool,
    /// The limit, or the price of a trade.
    pub tick: i64,
    /// How much: of a request with all that has traded, of a trade its own.
    pub lots: i64,
    /// How much has traded in all.
    pub total: i64,
    /// When it happened at the exchange.
    pub exchange_at: Nanos,
    /// Counts the trades, from 1.
    pub execution: u64,
}

impl Message {
    /// One of the session.
    pub const fn of_session(say: Say) -> Self {
        Self {
            say,
            request: RequestId { order: ClientOrderId(0), version: 0 },
            instrument: InstrumentId(0),
            side: Side::Buy,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancel,
            post_only: false,
            is_maker: false,
            tick: 0,
            lots: 0,
            total: 0,
            exchange_at: Nanos::ZERO,
            execution: 0,
        }
    }

    pub fn to_bytes(self) -> [u8; MESSAGE_BYTES] {
        let flags = u8::from(self.post_only) | u8::from(self.is_maker) << 1;
        let version = u64::from(self.request.version) << 48;
        let small = [
            self.say as u8,
            self.side.index() as u8,
            self.order_type as u8,
            self.time_in_force as u8,
            flags,
        ];
        let head = (0..).zip(small).fold(version, |head, (place, byte)| {
            let shift: u32 = 8 * place;
            head | u64::from(byte) << shift
        });
        let words = [
            head,
            self.request.order.0,
            u64::from(self.instrument.0),
            self.tick.cast_unsigned(),
            self.lots.cast_unsigned(),
            self.total.cast_unsigned(),
            self.exchange_at.0.cast_unsigned(),
            self.execution,
            0,
        ];
        let mut bytes = [0; MESSAGE_BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// The message in these bytes; none where they are none.
    pub fn of_bytes(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let mut words = [0; MESSAGE_BYTES / 8];
        for (word, from) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*from);
        }
        let [head, order, instrument, tick, lots, total, exchange_at, execution, _] = words;
        let [say, side, order_type, time_in_force, flags, _, low, high] = head.to_le_bytes();
        let request =
            RequestId { order: ClientOrderId(order), version: u16::from_le_bytes([low, high]) };
        Some(Self {
            say: *Say::ALL.get(usize::from(say))?,
            request,
            instrument: InstrumentId(u32::try_from(instrument).ok()?),
            side: *Side::BOTH.get(usize::from(side))?,
            order_type: OrderType::from_index(order_type)?,
            time_in_force: TimeInForce::from_index(time_in_force)?,
            post_only: flags & 1 != 0,
            is_maker: flags & 2 != 0,
            tick: tick.cast_signed(),
            lots: lots.cast_signed(),
            total: total.cast_signed(),
            exchange_at: Nanos(exchange_at.cast_signed()),
            execution,
        })
    }

    /// Takes the first message of some bytes; none where there is no whole one.
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Self::of_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_it_was() {
        for (at, say) in (0u8..).zip(Say::ALL) {
            assert_eq!(say as u8, at);
            let message = Message {
                request: RequestId { order: ClientOrderId(u64::MAX), version: 0xabcd },
                instrument: InstrumentId(7),
                side: Side::Sell,
                order_type: OrderType::Market,
                time_in_force: TimeInForce::Day,
                post_only: at % 2 == 0,
                is_maker: at % 3 == 0,
                tick: -5,
                lots: i64::MAX,
                total: 3,
                exchange_at: Nanos(-9),
                execution: u64::MAX,
                ..Message::of_session(say)
            };
            let bytes = message.to_bytes();
            assert_eq!(Message::take(&mut &bytes[..]), Some(message));
            assert_eq!(Message::take(&mut &bytes[1..]), None);
        }
        assert_eq!(Message::of_bytes(&[14; MESSAGE_BYTES]), None);
    }
}
