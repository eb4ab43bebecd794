//! The referee's own requests, at their times, and what comes back.

use std::collections::BTreeMap;

use taut_backtest::{
    Answer, Backtest, BacktestError, Exchange, Order, Recording, Response, Status, Stop, Stopped,
    Trader,
};
use taut_types::{Nanos, Side, TimeInForce};

use crate::Check;
use crate::case::{Case, time};

/// Sends what the referee's strategy sent.
pub struct Replay;

impl Check for Replay {
    fn check<X: Exchange>(&self, case: &Case, recording: &Recording, exchange: X) {
        let mut backtest = Backtest::new(recording, exchange).expect("a run");
        let mut log = Log::default();
        let (mut commands, mut equity) = (case.commands.iter(), case.equity.iter());
        let (mut command, mut sample) = (commands.next(), equity.next());
        loop {
            let next = [command, sample].into_iter().flatten().map(|line| time(line)).min();
            let stopped = backtest.run_until(next.unwrap_or(Nanos::MAX), Stop::Time);
            while let Some(response) = backtest.poll_response() {
                log.hear(case, &response);
            }
            log.end_instant();
            if let Err(BacktestError::FilledTwice(id)) = stopped {
                // The referee ends with its error 14 there, and so do we.
                assert_eq!(case.summary["end_code"], 14, "{}: {id}", case.name);
                assert!(next.is_none(), "{}: requests after error 14", case.name);
                // It is not told of the instant in which it ends.
                log.lines.retain(|line| time(line) < backtest.now());
                let trader = backtest.trader();
                case.check_end(trader.book(), trader.account());
                return log.check(case);
            }
            let Some(now) = next else {
                assert_eq!(stopped, Ok(Stopped::End), "{}", case.name);
                assert_eq!(case.summary["end_code"], 1, "{}", case.name);
                break;
            };
            let mut trader = backtest.trader();
            while let Some(line) = sample.filter(|line| time(line) == now) {
                case.check_equity(line, trader.book(), trader.account());
                sample = equity.next();
            }
            while let Some(line) = command.filter(|line| time(line) == now) {
                let sent = send(case, &mut trader, line);
                sent.unwrap_or_else(|error| panic!("{} {line}: {error}", case.name));
                command = commands.next();
            }
        }
        log.check(case);
        let trader = backtest.trader();
        case.check_end(trader.book(), trader.account());
    }
}

/// Sends the request of a line.
pub fn send(case: &Case, trader: &mut Trader<'_>, line: &str) -> Result<(), BacktestError> {
    let fields: Vec<_> = line.split(',').collect();
    let id = fields[2].parse().expect("an id");
    let (tick, lots) = (fields[4].parse().expect("a tick"), case.lots(fields[5]));
    let side = if fields[3] == "B" { Side::Buy } else { Side::Sell };
    match fields[1] {
        "cancel" => trader.cancel(id),
        "modify" => trader.modify(id, tick, lots),
        _ => {
            let mut order = match fields[7] {
                "market" => Order::market(id, side, lots),
                _ => Order::limit(id, side, tick, lots),
            };
            // The referee's market orders have a price that nobody looks at.
            order.tick = tick;
            trader.send(match fields[6] {
                "GTX" => order.post_only(),
                "FOK" => order.lasting(TimeInForce::FillOrKill),
                "IOC" => order.lasting(TimeInForce::ImmediateOrCancel),
                _ => order,
            })
        }
    }
}

/// What was told, in the referee's words: of several responses about an order at one instant the
/// last one, by id; nothing of what was refused.
#[derive(Default)]
pub struct Log {
    lines: Vec<String>,
    at: Nanos,
    instant: BTreeMap<u64, String>,
}

impl Log {
    pub fn hear(&mut self, case: &Case, response: &Response) {
        if response.at != self.at {
            self.end_instant();
            self.at = response.at;
        }
        if response.answer == Answer::Refused {
            return;
        }
        let order = &response.order;
        let status = match order.status {
            Status::Pending => "none",
            Status::Resting => "new",
            Status::PartlyFilled => "partial",
            Status::Filled => "filled",
            Status::Canceled => "canceled",
            Status::Expired => "expired",
        };
        let line = format!(
            "{},{},{},{status},none,{},{},{},{},{},{}",
            response.at.0,
            order.exchange_at.0,
            order.id,
            if order.side == Side::Buy { "B" } else { "S" },
            order.tick,
            case.quantity(order.leaves),
            case.quantity(order.last_lots),
            order.last_tick,
            u8::from(order.maker),
        );
        self.instant.insert(order.id, line);
    }

    /// Who decides acts: what comes at the same instant after it is told by itself.
    pub fn end_instant(&mut self) {
        self.lines.extend(std::mem::take(&mut self.instant).into_values());
    }

    /// Holds all of it against the referee's.
    pub fn check(mut self, case: &Case) {
        self.end_instant();
        let pairs = self.lines.iter().zip(&case.responses);
        for (row, (ours, theirs)) in pairs.enumerate() {
            assert_eq!(ours, theirs, "{}, row {row}", case.name);
        }
        let more = self.lines.get(case.responses.len()..).unwrap_or_default();
        assert_eq!(self.lines.len(), case.responses.len(), "{}: {more:?}", case.name);
        println!("{}: {} responses are equal", case.name, self.lines.len());
    }
}
