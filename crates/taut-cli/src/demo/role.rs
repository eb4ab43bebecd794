//! The processes of a demo, by name.

use clap::ValueEnum;

/// A process of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The exchange.
    Venue,
    /// Feed, book, risk, orders; in fused mode the strategy too.
    Gateway,
    /// The strategy, in split mode.
    Strategy,
}

impl Role {
    /// Its name, here and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Venue => "venue",
            Self::Gateway => "gateway",
            Self::Strategy => "strategy",
        }
    }
}
