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
    /// The client's identity of an order or of a request (FIX `ClOrdID`).
    ClientOrderId(u64)
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

impl SequenceNumber {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
