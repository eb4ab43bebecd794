//! What an application reads, and what it answers.

/// A whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its bytes: in the window itself, or in the assembly buffer when it came in fragments.
    pub bytes: &'a [u8],
    /// Which publication sent it.
    pub session_id: i32,
    /// The stream's position behind it.
    pub position: i64,
    /// Eight bytes of the publisher's.
    pub reserved_value: i64,
}

/// What to do after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Go on.
    Continue,
    /// Go on, and let the sender know soon that everything up to here is consumed.
    Commit,
    /// Stop here; this message is consumed.
    Break,
    /// Stop here; this message comes again.
    Abort,
}

/// Why an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageEnd {
    /// The stream has ended, and everything was read.
    EndOfStream,
    /// Nothing was heard for the liveness time.
    Silent,
    /// The publisher took it back.
    Revoked,
    /// The publisher started anew under the same session.
    Restarted,
    /// What is missing can no longer be repaired: the publisher is too far ahead.
    LeftBehind,
    /// The application left.
    Left,
    /// The application refused it.
    Refused,
}

/// What an application learns from a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionEvent {
    /// A publication was joined.
    ImageAvailable {
        /// Which.
        session_id: i32,
        /// Where it sends from.
        source: core::net::SocketAddr,
        /// The position from which on everything arrives.
        join_position: i64,
    },
    /// It is over.
    ImageUnavailable {
        /// Which.
        session_id: i32,
        /// The position up to which everything was read.
        position: i64,
        /// Why.
        end: ImageEnd,
    },
    /// A gap was passed (`reliable=false`).
    Skipped {
        /// Which.
        session_id: i32,
        /// Where it starts.
        position: i64,
        /// Its bytes of the log.
        bytes: i64,
    },
}
