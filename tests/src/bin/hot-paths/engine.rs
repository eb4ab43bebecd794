//! A seeded order flow through the engine.
//!
//! Every second command is an order, one of eight of these sweeps the other side; between them the
//! order from two thousand commands before is cancelled: the book neither grows nor empties.

use taut_book::Fnv1a;
use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use crate::{Outcome, count};

const MID: i64 = 20_000;
const DEPTH: u64 = 40;
/// How many commands an order may wait: an odd number, so that it is an order's.
const LIFE: u64 = 2_001;

fn command(number: u64, random: u64) -> Command {
    let (kind, side) = (random >> 60, if random & 1 == 0 { Side::Buy } else { Side::Sell });
    if number % 2 == 1 {
        return Command::Cancel { order_id: OrderId(number.saturating_sub(LIFE)) };
    }
    let away = 2 * (1 + (random >> 20) % DEPTH).cast_signed();
    let away = if kind < 2 { -away } else { away };
    let price = if side == Side::Buy { MID - away } else { MID + away };
    let lots = Lots(1 + ((random >> 40) % 50).cast_signed());
    let order = NewOrder::limit(OrderId(number), 0, side, HalfTicks(price), lots);
    let force = if kind < 2 { TimeInForce::ImmediateOrCancel } else { TimeInForce::GoodTillCancel };
    Command::New(order.force(force))
}

pub fn run(words: &[&str]) -> Outcome {
    let count = count(words.first())?;
    let mut engine = Engine::new(EngineConfig { order_capacity: 65_536, level_capacity: 4_096 });
    let (mut random, mut trades, mut hash) = (0x9e37_79b9_7f4a_7c15_u64, 0_u64, Fnv1a::new());
    for number in 0..count {
        // Marsaglia's xorshift: any flow will do, if it is the same each time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        engine.execute(command(number, random), &mut |event| {
            if let Event::Trade { lots, .. } = event {
                trades += 1;
                hash.write_i64(lots.0);
            }
        });
    }
    let left = engine.book().order_count();
    println!("{count} commands, {trades} trades, {left} orders left, hash {:016x}", hash.finish());
    Ok(())
}
