//! matchcore 0.4.0: the engine numbers orders by the sequence number of their command, and wants
//! every number exactly once; so ids are translated while decoding, and back for the trade hash.

use std::collections::HashMap;

use matchcore::{
    CancelCmd, Command, CommandKind, CommandMeta, CommandOutcome, CommandReport, LimitOrder,
    NewOrder, OrderBook, OrderFlags, OrderId, OrderKind, Price, Quantity, QuantityPolicy,
    SequenceNumber, Side, SubmitCmd, TimeInForce, Timestamp,
};

use crate::Peer;
use crate::flow::{Kind, Operation, Trades};

pub struct Matchcore {
    book: OrderBook,
    commands: Vec<Command>,
    /// The sequence number of the first command that was decoded last.
    base: u64,
    next_sequence: u64,
    /// Sequence number of the order by the flow's id.
    sequence_of: HashMap<u64, u64>,
    /// The flow's id by sequence number.
    id_of: Vec<u64>,
}

impl Matchcore {
    pub fn new() -> Self {
        Self {
            book: OrderBook::new("X"),
            commands: Vec::new(),
            base: 0,
            next_sequence: 0,
            sequence_of: HashMap::new(),
            id_of: Vec::new(),
        }
    }

    fn kind(&mut self, operation: &Operation) -> CommandKind {
        let time_in_force = match operation.kind {
            Kind::Cancel => {
                let known = self.sequence_of.get(&operation.id).copied();
                let order_id = OrderId(known.unwrap_or(u64::MAX));
                let order_kind = OrderKind::Limit;
                return CommandKind::Cancel(CancelCmd { order_id, order_kind });
            }
            Kind::Add => TimeInForce::Gtc,
            Kind::ImmediateOrCancel => TimeInForce::Ioc,
        };
        self.sequence_of.insert(operation.id, self.next_sequence);
        let side = if operation.is_sell { Side::Sell } else { Side::Buy };
        let quantity = Quantity(operation.quantity.into());
        let order = NewOrder::Limit(LimitOrder::new(
            Price(operation.price),
            QuantityPolicy::Standard { quantity },
            OrderFlags::new(side, false, time_in_force),
        ));
        CommandKind::Submit(SubmitCmd { order })
    }
}

impl Peer for Matchcore {
    fn decode(&mut self, operations: &[Operation]) {
        self.base = self.next_sequence;
        self.commands.clear();
        for operation in operations {
            let kind = self.kind(operation);
            let sequence_number = SequenceNumber(self.next_sequence);
            let timestamp = Timestamp(self.next_sequence);
            self.commands.push(Command { meta: CommandMeta { sequence_number, timestamp }, kind });
            self.id_of.push(operation.id);
            self.next_sequence += 1;
        }
    }

    fn execute(&mut self, trades: &mut impl Trades) {
        for (sequence, command) in (self.base..).zip(&self.commands) {
            let outcome = self.book.execute(command);
            let CommandOutcome::Applied(CommandReport::Submit(effects)) = outcome else { continue };
            let Some(matched) = effects.target_order().match_result() else { continue };
            for trade in matched.trades() {
                let maker = self.id_of[trade.maker_order_id().0 as usize];
                let taker = self.id_of[sequence as usize];
                trades.trade(maker, taker, trade.price().0, trade.quantity().0);
            }
        }
    }
}
