//! After construction nothing allocates.

use taut_types::{Lots, OrderId, Side};

use super::{Sink, buy, fok, ioc, market, sell};
use crate::{Command, Engine, EngineConfig, Event};

#[test]
fn no_command_allocates() {
    let mut engine = Engine::new(EngineConfig { order_capacity: 200, level_capacity: 20 });
    let mut event_count = 0u64;
    let info = allocation_counter::measure(|| {
        let mut count = |_: Event| event_count += 1;
        let mut sink = Sink(&mut count);
        for n in 0..20_000u64 {
            let (near, far) =
                (i64::try_from(n % 30).unwrap_or(0), i64::try_from(n % 7).unwrap_or(0));
            engine.execute(Command::New(buy(4 * n, 100 - near, 3)), &mut sink);
            engine.execute(Command::New(sell(4 * n + 1, 101 + near, 3)), &mut sink);
            let taker = match n % 4 {
                0 => ioc(buy(4 * n + 2, 101 + far, 9)),
                1 => fok(sell(4 * n + 2, 100 - far, 6)),
                2 => market(Side::Buy, 4 * n + 2, 200),
                _ => sell(4 * n + 2, 100 - far, 4),
            };
            engine.execute(Command::New(taker), &mut sink);
            let old = 4 * n.saturating_sub(30);
            engine.execute(Command::Reduce { order_id: OrderId(old), by: Lots(1) }, &mut sink);
            engine.execute(Command::Cancel { order_id: OrderId(old) }, &mut sink);
            engine.execute(Command::Cancel { order_id: OrderId(old + 1) }, &mut sink);
        }
    });
    assert!(engine.trade_count() > 10_000, "{} trades, {event_count} events", engine.trade_count());
    assert_eq!(info.count_total, 0);
}

#[test]
fn no_command_with_terms_allocates() {
    let mut random = super::random::Commands::with_seed(5);
    let commands: std::vec::Vec<Command> = (0..20_000).map(|_| random.command()).collect();
    let config = EngineConfig { order_capacity: 200, level_capacity: 20 };
    for seed in 0..16 {
        let rules = super::random::Commands::with_seed(seed).rules();
        let mut engine = Engine::with_rules(config, rules);
        let info = allocation_counter::measure(|| {
            for &command in &commands {
                engine.execute(command, &mut Sink(&mut |_| {}));
            }
            engine.snapshot(|_| {});
        });
        assert_eq!(info.count_total, 0, "{rules:?}");
    }
}
