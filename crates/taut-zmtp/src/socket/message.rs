//! A message that was received.

use crate::link_id::LinkId;

/// A message, in parts. It borrows from the socket until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMessage<'a> {
    pub(crate) from: LinkId,
    pub(crate) routing_id: Option<&'a [u8]>,
    pub(crate) bytes: &'a [u8],
    pub(crate) lengths: &'a [usize],
}

impl<'a> SocketMessage<'a> {
    /// The connection that it came by.
    #[must_use]
    pub const fn from(&self) -> LinkId {
        self.from
    }

    /// Who sent it, as its ROUTER names it to answer; nothing on other sockets.
    #[must_use]
    pub const fn routing_id(&self) -> Option<&'a [u8]> {
        self.routing_id
    }

    /// How many parts it has, without a routing id.
    #[must_use]
    pub const fn part_count(&self) -> usize {
        self.lengths.len()
    }

    /// Its parts, without a routing id.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.bytes;
        self.lengths.iter().map_while(move |length| {
            let (part, after) = rest.split_at_checked(*length)?;
            rest = after;
            Some(part)
        })
    }

    /// Its bytes, one part behind the other.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
