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
    /// Asks one of its peers, in turn, and waits for the answer.
    Req,
    /// Answers whoever asks, one at a time.
    Rep,
    /// Sends to its peers in turn and receives from all, in any order.
    Dealer,
    /// Receives from all and knows from whom; sends to whom it names.
    Router,
    /// Has one peer, both ways.
    Pair,
}

impl SocketType {
    /// Every type.
    pub const ALL: [Self; 11] = [
        Self::Pub,
        Self::Xpub,
        Self::Sub,
        Self::Xsub,
        Self::Push,
        Self::Pull,
        Self::Req,
        Self::Rep,
        Self::Dealer,
        Self::Router,
        Self::Pair,
    ];

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
            Self::Req => b"REQ",
            Self::Rep => b"REP",
            Self::Dealer => b"DEALER",
            Self::Router => b"ROUTER",
            Self::Pair => b"PAIR",
        }
    }

    /// The type of this name, which is compared as it stands.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|socket_type| socket_type.name() == name)
    }

    /// Whether the two may be connected (RFC 28 to 31).
    #[must_use]
    pub const fn goes_with(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Pub | Self::Xpub, Self::Sub | Self::Xsub)
                | (Self::Sub | Self::Xsub, Self::Pub | Self::Xpub)
                | (Self::Push, Self::Pull)
                | (Self::Pull, Self::Push)
                | (Self::Req, Self::Rep | Self::Router)
                | (Self::Rep, Self::Req | Self::Dealer)
                | (Self::Dealer, Self::Rep | Self::Dealer | Self::Router)
                | (Self::Router, Self::Req | Self::Dealer | Self::Router)
                | (Self::Pair, Self::Pair)
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
        !matches!(self, Self::Pub | Self::Xpub | Self::Push)
    }

    /// Whether it subscribes, or pulls: what a [`Subscriber`](crate::Subscriber) is.
    #[must_use]
    pub const fn only_receives(self) -> bool {
        matches!(self, Self::Sub | Self::Xsub | Self::Pull)
    }

    /// Whether it says in the handshake who it is, for a ROUTER to know it by (RFC 37).
    #[must_use]
    pub const fn has_routing_id(self) -> bool {
        matches!(self, Self::Req | Self::Dealer | Self::Router)
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
        assert_eq!(legal, 21);
        assert_eq!(SocketType::from_name(b"STREAM"), None);
    }
}
