//! What happens to a channel besides messages.

use std::net::SocketAddr;

/// Something that happened. Positions and lengths are in the channel's own measure: messages of a
/// lease, bytes elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A publication has one more subscriber.
    Connected {
        /// The subscriber, among those of this publication.
        session: u64,
        /// Where it is, on a network.
        peer: Option<SocketAddr>,
    },
    /// A publication lost a subscriber.
    Disconnected {
        /// The subscriber.
        session: u64,
        /// Why.
        reason: EndReason,
    },
    /// A subscription found a publication: an image begins.
    ImageAvailable {
        /// The publication's session.
        session: u64,
        /// Where the image begins.
        position: u64,
        /// Where it comes from, on a network.
        peer: Option<SocketAddr>,
    },
    /// An image ended.
    ImageUnavailable {
        /// The publication's session.
        session: u64,
        /// Where it ended.
        position: u64,
        /// Why.
        reason: EndReason,
    },
    /// A part of the stream is lost for good.
    Gap {
        /// The publication's session.
        session: u64,
        /// Where it begins.
        position: u64,
        /// How long it is.
        length: u64,
    },
    /// A peer was refused: a wrong key, a wrong version, no room for one more.
    Refused {
        /// Where it is, on a network.
        peer: Option<SocketAddr>,
    },
}

/// Why a connection or an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// In good order: the stream's end was announced, or the subscriber left.
    Closed,
    /// Nothing was heard of it in time, or its process is gone.
    Lost,
    /// Another one took its place: a restart.
    Replaced,
    /// It was too slow, by the policy.
    Evicted,
}
