//! What a recorded flow consists of.

use taut_engine::Command;
use taut_types::{Lots, Nanos, Price, Side};

/// What happens at a moment of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// A command for the engine.
    Command(Command),
    /// A trade that leaves the visible book as it is: of a hidden order, or in an auction.
    Print {
        /// Its price, possibly between two ticks.
        price: Price,
        /// Its size.
        lots: Lots,
        /// The side that took the liquidity.
        aggressor_side: Side,
    },
    /// Trading was halted or resumed.
    Halt,
}

/// An event, when it happens and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// The time since the first row.
    pub at: Nanos,
    /// The row's line in the file, from 1. One row can have several events.
    pub line: usize,
    /// What happens.
    pub event: FlowEvent,
}

/// What a file holds, and what had to be inferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LobsterSummary {
    /// Rows in the file.
    pub rows: usize,
    /// Rows of type 1.
    pub adds: usize,
    /// Rows of type 2.
    pub reduces: usize,
    /// Rows of type 3.
    pub cancels: usize,
    /// Rows of type 4.
    pub executions: usize,
    /// Rows of types 5 and 6.
    pub prints: usize,
    /// Rows of type 7.
    pub halts: usize,
    /// Orders that rested before the first row.
    pub initial_orders: usize,
    /// Orders that are never added and entered later.
    pub late_orders: usize,
    /// Times that an order was moved behind one that was executed before it.
    pub requeued: usize,
    /// Orders that left without a row.
    pub vanished: usize,
    /// The first row's time after midnight.
    pub starts_at: Nanos,
    /// From the first row to the last.
    pub span: Nanos,
}
