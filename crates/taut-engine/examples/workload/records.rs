//! Reads an order flow written by `bookgen` and runs it through an engine.

use taut_book::Fnv1a;
use taut_engine::{Command, Engine, Event, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, OrderType, Side, TimeInForce};

/// An order flow: commands that fill the book, and the commands proper.
pub struct Workload {
    /// Both, one after the other.
    pub commands: Vec<Command>,
    /// How many belong to the first.
    pub prefill: usize,
}

impl Workload {
    /// Reads `"BMX1", u32 prefill, u32 count`, then records of 24 bytes, all little-endian:
    /// `u8 type (0 add, 1 cancel, 2 immediate or cancel), u8 side, u16 0, u32 lots, u64 id,
    /// u64 price in ticks`.
    pub fn parse(file: &[u8]) -> Option<Self> {
        let body = file.strip_prefix(b"BMX1")?;
        let prefill = u32::from_le_bytes(*body.first_chunk()?) as usize;
        let records = body.get(8..)?.chunks_exact(24);
        Some(Self { commands: records.map(command).collect::<Option<_>>()?, prefill })
    }
}

fn command(record: &[u8]) -> Option<Command> {
    let order_id = OrderId(u64::from_le_bytes(*record.get(8..)?.first_chunk()?));
    let time_in_force = match record.first()? {
        0 => TimeInForce::GoodTillCancel,
        1 => return Some(Command::Cancel { order_id }),
        2 => TimeInForce::ImmediateOrCancel,
        _ => return None,
    };
    let lots = u32::from_le_bytes(*record.get(4..)?.first_chunk()?);
    let ticks = u64::from_le_bytes(*record.get(16..)?.first_chunk()?);
    Some(Command::New(NewOrder {
        order_id,
        owner: 0,
        side: Side::from_index(*record.get(1)?)?,
        order_type: OrderType::Limit,
        time_in_force,
        price: HalfTicks(i64::try_from(ticks).ok()?.checked_mul(2)?),
        lots: Lots(lots.into()),
    }))
}

/// What a run came to: the number of trades and the hash over maker, taker, price in ticks, lots.
pub fn run(engine: &mut Engine, commands: &[Command]) -> (u64, u64) {
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
    for &command in commands {
        engine.execute(command, &mut sink);
    }
    (trade_count, hash.finish())
}
