//! Who a client is, and over which connection.

/// A connection: its place, and a number that no other connection of the place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    pub slot: usize,
    pub serial: u64,
}

/// A client, by its CompID: the same over all its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientId(pub usize);

impl ClientId {
    /// Whose orders have this owner; nothing where that is the flow.
    pub fn of_owner(owner: u32) -> Option<Self> {
        owner.checked_sub(1).map(|client| Self(client as usize))
    }

    /// Whose the engine says its orders are; 0 is the flow.
    pub fn owner(self) -> u32 {
        u32::try_from(self.0 + 1).unwrap_or(u32::MAX)
    }
}
