//! What happens to a channel besides messages.

use std::collections::VecDeque;
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

/// Events that wait to be asked for. When nobody asks, the oldest go: they take no memory beyond
/// what they were given.
#[derive(Debug)]
pub(crate) struct Events {
    waiting: VecDeque<Event>,
    count_max: usize,
}

impl Events {
    pub(crate) fn at_most(count_max: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(count_max), count_max }
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if self.waiting.len() == self.count_max {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }

    pub(crate) fn next(&mut self) -> Option<Event> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_nobody_asks_the_oldest_go_and_the_newest_stay() {
        let mut events = Events::at_most(3);
        let event = |session| Event::Connected { session, peer: None };
        (0..10).for_each(|session| events.tell(event(session)));
        let left = [events.next(), events.next(), events.next(), events.next()];
        assert_eq!(left, [Some(event(7)), Some(event(8)), Some(event(9)), None]);
    }
}
