//! The stages of an order's path.

use core::fmt;

/// How many stages there are.
pub const STAGE_COUNT: usize = Stage::ALL.len();

/// What an order's tick-to-trade time is spent on, in the order in which it happens.
///
/// The path runs from the return of the receive call to the return of the send call. Where a mode
/// has no such stage (there is nothing to publish when the strategy runs in the gateway's own
/// thread) its interval is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// The packet becomes market data messages.
    Decode,
    /// The messages change the book.
    Book,
    /// What changed is written to where the strategy reads it.
    Publish,
    /// The way to the strategy: from published to received.
    ToStrategy,
    /// The strategy decides and writes its request.
    Strategy,
    /// The way back: from requested to received by the gateway.
    ToGateway,
    /// The pre-trade checks, and the order's own record.
    Risk,
    /// The order becomes bytes of the venue's protocol.
    Encode,
    /// The send call.
    Send,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 9] = [
        Self::Decode,
        Self::Book,
        Self::Publish,
        Self::ToStrategy,
        Self::Strategy,
        Self::ToGateway,
        Self::Risk,
        Self::Encode,
        Self::Send,
    ];

    /// The name in reports, JSON keys and histogram tags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Book => "book",
            Self::Publish => "publish",
            Self::ToStrategy => "to_strategy",
            Self::Strategy => "strategy",
            Self::ToGateway => "to_gateway",
            Self::Risk => "risk",
            Self::Encode => "encode",
            Self::Send => "send",
        }
    }

    /// The position in [`Stage::ALL`], from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_indexed_in_their_order() {
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage.index(), index);
        }
        assert_eq!(Stage::ALL.last(), Some(&Stage::Send));
    }

    #[test]
    fn names_are_what_reports_call_the_stages() {
        let names = "decode book publish to_strategy strategy to_gateway risk encode send";
        assert!(Stage::ALL.map(Stage::name).into_iter().eq(names.split(' ')));
    }
}
