//! Reads an order flow written by `bookgen` and runs it through an engine.

use taut_book::Fnv1a;
use taut_engine::{Command, Engine, Event, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

/// An order flow: messages that fill the book, and the messages proper.
pub struct Workload {
    /// Both, one after the other.
    pub messages: Vec<Message>,
    /// How many belong to the first.
    pub prefill: usize,
}

/// A decoded message: what this flow needs of a command, in a third of the memory.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    id: u64,
    price: i64,
    lots: u32,
    side: Side,
    /// Nothing for a cancel.
    force: Option<TimeInForce>,
}

impl Workload {
    /// Reads `"BMX1", u32 prefill, u32 count`, then records of 24 bytes, all little-endian:
    /// `u8 type (0 add, 1 cancel, 2 immediate or cancel), u8 side, u16 0, u32 lots, u64 id,
    /// u64 price in ticks`.
    pub fn parse(file: &[u8]) -> Option<Self> {
        let body = file.strip_prefix(b"BMX1")?;
        let prefill = u32::from_le_bytes(*body.first_chunk()?) as usize;
        let records = body.get(8..)?.chunks_exact(24);
        Some(Self { messages: records.map(Message::parse).collect::<Option<_>>()?, prefill })
    }
}

impl Message {
    fn parse(record: &[u8]) -> Option<Self> {
        let ticks = u64::from_le_bytes(*record.get(16..)?.first_chunk()?);
        Some(Self {
            id: u64::from_le_bytes(*record.get(8..)?.first_chunk()?),
            price: i64::try_from(ticks).ok()?.checked_mul(2)?,
            lots: u32::from_le_bytes(*record.get(4..)?.first_chunk()?),
            side: Side::from_index(*record.get(1)?)?,
            force: match record.first()? {
                0 => Some(TimeInForce::GoodTillCancel),
                1 => None,
                2 => Some(TimeInForce::ImmediateOrCancel),
                _ => return None,
            },
        })
    }

    /// The command that it stands for.
    #[inline(always)]
    pub fn command(&self) -> Command {
        let order_id = OrderId(self.id);
        let Some(force) = self.force else { return Command::Cancel { order_id } };
        let (price, lots) = (HalfTicks(self.price), Lots(self.lots.into()));
        Command::New(NewOrder::limit(order_id, 0, self.side, price, lots).force(force))
    }
}

/// What a run came to: the number of trades and the hash over maker, taker, price in ticks, lots.
pub fn run(engine: &mut Engine, messages: &[Message]) -> (u64, u64) {
    let mut trade_count = 0;
    let mut hash = Fnv1a::new();
    let mut sink = |event: Event| {
        if let Event::Trade { maker, taker, price, lots, .. } = event {
            trade_count += 1;
            hash.write_u64(maker.0);
            hash.write_u64(taker.0);
            hash.write_i64(price.0 / 2);
            hash.write_i64(lots.0);
        }
    };
    for message in messages {
        engine.execute(message.command(), &mut sink);
    }
    (trade_count, hash.finish())
}
