//! What a flow does next.

use std::ops::Range;

use taut_engine::Command;
use taut_types::{Lots, Price, Side};

/// One step of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowStep {
    /// For the engine.
    Command(Command),
    /// A trade that no order of the book took part in.
    Print {
        /// At which price.
        price: Price,
        /// How much.
        lots: Lots,
        /// The taker's side.
        aggressor: Side,
    },
    /// The book has what this recorded frame says.
    Frame(Range<usize>),
    /// Nothing for the book.
    Nothing,
}

impl From<Option<Command>> for FlowStep {
    fn from(command: Option<Command>) -> Self {
        command.map_or(Self::Nothing, Self::Command)
    }
}
