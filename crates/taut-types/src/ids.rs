//! Identities and sequence numbers.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);
    };
}

id! {
    /// The venue's identity of an order.
    OrderId(u64)
}
id! {
    /// The client's identity of an order: who it is for, and a number; see [`ClientOrderId::of`].
    ClientOrderId(u64)
}
id! {
    /// A user of a gateway, by the number that its settings give.
    UserId(u8)
}
id! {
    /// A strategy of a user, by the number that the gateway's settings give.
    StrategyId(u8)
}
id! {
    /// An account at a venue, by the number that the gateway's settings give.
    AccountId(u8)
}
id! {
    /// An instrument: a small number that its venue or the gateway gave it.
    InstrumentId(u32)
}
id! {
    /// A position in a sequenced stream; the first is 1, and 0 is "before the first".
    SequenceNumber(u64)
}

impl InstrumentId {
    /// All instruments of the channel that something came on.
    pub const ALL: Self = Self(u32::MAX);
    /// An instrument that nobody has given a number.
    pub const UNKNOWN: Self = Self(u32::MAX - 1);
}

/// The bits of an order's number.
const NUMBER_BITS: u32 = 48;

impl ClientOrderId {
    /// The largest number of an order: a strategy that sends a million a second gets there in nine
    /// years.
    pub const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;

    /// An order of a strategy: 8 bits for the user, 8 for the strategy, 48 for the number; bits
    /// above those are left out.
    #[must_use]
    pub const fn of(user: UserId, strategy: StrategyId, number: u64) -> Self {
        let owner = (user.0 as u64) << 8 | strategy.0 as u64;
        Self(owner << NUMBER_BITS | number & Self::NUMBER_MAX)
    }

    /// Whose order it is.
    #[must_use]
    pub const fn user(self) -> UserId {
        UserId((self.0 >> (NUMBER_BITS + 8)) as u8)
    }

    /// Which strategy of the user sent it.
    #[must_use]
    pub const fn strategy(self) -> StrategyId {
        StrategyId((self.0 >> NUMBER_BITS) as u8)
    }

    /// The strategy's number of it.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 & Self::NUMBER_MAX
    }
}

impl SequenceNumber {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
