//! What each type of socket does, as tables (RFC 28: REQ, REP, DEALER, ROUTER; RFC 30: PUSH, PULL;
//! RFC 31: PAIR).
//!
//! | socket | a message goes to | where that has no room | messages come from | with it |
//! |---|---|---|---|---|
//! | REQ | one peer in turn | try again | the peer that was asked | an empty part before it |
//! | REP | who asked | dropped, counted | all in turn | the asker's envelope |
//! | DEALER | one peer in turn | try again | all in turn | nothing |
//! | ROUTER | the peer that its first part names | dropped, or try again | all in turn | who sent |
//! | PUSH | one peer in turn | try again | - | nothing |
//! | PULL | - | - | all in turn | nothing |
//! | PAIR | the one peer | try again | the one peer | nothing |

use crate::socket_type::SocketType;

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// To nobody.
    Nowhere,
    /// To the next peer that has room.
    InTurn,
    /// To the peer that the first part names.
    ByRoutingId,
    /// To the peer that asked.
    ToAsker,
}

/// From whom messages are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// From nobody.
    Nobody,
    /// From the next peer that has one.
    InTurn,
    /// From the peer that was asked.
    FromAsked,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    /// It has one peer.
    pub has_one_peer: bool,
    /// Whose turn it is before anything has happened.
    pub first: Turn,
}

/// The row of a socket type; `None` for those that publish or subscribe.
pub const fn rules(socket_type: SocketType) -> Option<Rules> {
    use SocketType as T;
    let (outgoing, incoming) = match socket_type {
        T::Req => (Outgoing::InTurn, Incoming::FromAsked),
        T::Rep => (Outgoing::ToAsker, Incoming::InTurn),
        T::Dealer | T::Pair => (Outgoing::InTurn, Incoming::InTurn),
        T::Router => (Outgoing::ByRoutingId, Incoming::InTurn),
        T::Push => (Outgoing::InTurn, Incoming::Nobody),
        T::Pull => (Outgoing::Nowhere, Incoming::InTurn),
        T::Pub | T::Xpub | T::Sub | T::Xsub => return None,
    };
    let first = match socket_type {
        T::Req => Turn::Send,
        T::Rep => Turn::Receive,
        _ => Turn::Any,
    };
    Some(Rules { outgoing, incoming, has_one_peer: matches!(socket_type, T::Pair), first })
}

/// What a socket may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Whatever it does at all.
    Any,
    Send,
    Receive,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Send,
    Receive,
}

/// Whose turn it is afterwards; `None` when it is not the act's. A REQ that is relaxed may ask anew
/// before it was answered.
pub const fn step(turn: Turn, act: Act, is_relaxed: bool) -> Option<Turn> {
    match (turn, act) {
        (Turn::Any, _) => Some(Turn::Any),
        (Turn::Send, Act::Send) => Some(Turn::Receive),
        (Turn::Receive, Act::Receive) => Some(Turn::Send),
        (Turn::Receive, Act::Send) if is_relaxed => Some(Turn::Receive),
        (Turn::Send, Act::Receive) | (Turn::Receive, Act::Send) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_and_act_is_as_written_down() {
        use Act::{Receive, Send};
        let cases = [
            (Turn::Any, Send, Some(Turn::Any), Some(Turn::Any)),
            (Turn::Any, Receive, Some(Turn::Any), Some(Turn::Any)),
            (Turn::Send, Send, Some(Turn::Receive), Some(Turn::Receive)),
            (Turn::Send, Receive, None, None),
            (Turn::Receive, Send, None, Some(Turn::Receive)),
            (Turn::Receive, Receive, Some(Turn::Send), Some(Turn::Send)),
        ];
        for (turn, act, strict, relaxed) in cases {
            assert_eq!(step(turn, act, false), strict, "{turn:?} {act:?}");
            assert_eq!(step(turn, act, true), relaxed, "{turn:?} {act:?}");
        }
    }

    #[test]
    fn what_exchanges_messages_has_a_row_and_its_peers_have_the_other_half() {
        for one in SocketType::ALL {
            let publishes = one.publishes() || matches!(one, SocketType::Sub | SocketType::Xsub);
            assert_eq!(rules(one).is_none(), publishes, "{one:?}");
            for other in SocketType::ALL.into_iter().filter(|other| one.goes_with(*other)) {
                let (Some(one), Some(other)) = (rules(one), rules(other)) else { continue };
                let sends = one.outgoing != Outgoing::Nowhere;
                assert_eq!(sends, other.incoming != Incoming::Nobody);
            }
        }
    }
}
