//! The kinds of sockets, and which may talk to which.

/// A socket type that is implemented here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// Publishes to all that subscribed.
    Pub,
    /// As PUB; its user sees the subscriptions.
    Xpub,
    /// Receives what it subscribed to.
    Sub,
    /// As SUB; it may send messages upstream.
    Xsub,
    /// Hands each message to one of its peers, in turn.
    Push,
    /// Receives from all its peers.
    Pull,
}

impl SocketType {
    /// Every type.
    pub const ALL: [Self; 6] =
        [Self::Pub, Self::Xpub, Self::Sub, Self::Xsub, Self::Push, Self::Pull];

    /// The value of the Socket-Type property.
    #[must_use]
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::Pub => b"PUB",
            Self::Xpub => b"XPUB",
            Self::Sub => b"SUB",
            Self::Xsub => b"XSUB",
            Self::Push => b"PUSH",
            Self::Pull => b"PULL",
        }
    }

    /// The type of this name, which is compared as it stands.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|socket_type| socket_type.name() == name)
    }

    /// Whether the two may be connected (RFC 28 and 29).
    #[must_use]
    pub const fn goes_with(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Pub | Self::Xpub, Self::Sub | Self::Xsub)
                | (Self::Sub | Self::Xsub, Self::Pub | Self::Xpub)
                | (Self::Push, Self::Pull)
                | (Self::Pull, Self::Push)
        )
    }

    /// Whether its messages go to those that subscribed.
    #[must_use]
    pub const fn publishes(self) -> bool {
        matches!(self, Self::Pub | Self::Xpub)
    }

    /// Whether messages come to it in the ordinary course.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::Sub | Self::Xsub | Self::Pull)
    }
}

#[cfg(test)]
mod tests {
    use super::SocketType;

    #[test]
    fn legal_pairs_are_symmetric_and_as_the_rfcs_say() {
        let mut legal = 0;
        for one in SocketType::ALL {
            assert_eq!(SocketType::from_name(one.name()), Some(one));
            for other in SocketType::ALL {
                assert_eq!(one.goes_with(other), other.goes_with(one));
                legal += usize::from(one.goes_with(other));
            }
        }
        assert_eq!(legal, 10);
        assert_eq!(SocketType::from_name(b"REQ"), None);
    }
}
