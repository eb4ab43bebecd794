//! Sessions of clients that are away: what they miss is kept for them.

use taut_fix::{CompId, Link, MemoryStore, Now};

use crate::version::{Answer, InVersion, version_of};

/// The longest message that is sent; the longest report has about 500 bytes.
pub const MESSAGE_BYTES: usize = 1_024;
/// Sessions that are kept; then the one that was left longest ago is given up.
pub const PARKED_MAX: usize = 128;

/// Sessions by their clients' CompIDs, the oldest first.
#[derive(Debug)]
pub struct Parked {
    links: Vec<(CompId, Link<MemoryStore>)>,
    scratch: Box<[u8]>,
}

impl Parked {
    pub fn new() -> Self {
        Self { links: Vec::new(), scratch: vec![0; MESSAGE_BYTES].into_boxed_slice() }
    }

    /// Keeps a session whose connection is gone.
    pub fn put(&mut self, client: CompId, link: Link<MemoryStore>) {
        // Only the newest counts.
        self.links.retain(|(other, _)| *other != client);
        if self.links.len() == PARKED_MAX {
            self.links.remove(0);
        }
        self.links.push((client, link));
    }

    /// The session of a client that is away.
    pub fn link(&mut self, client: CompId) -> Option<&mut Link<MemoryStore>> {
        self.links.iter_mut().find(|(other, _)| *other == client).map(|(_, link)| link)
    }

    /// A client is back, for a session that is so.
    pub fn take_if(
        &mut self,
        client: CompId,
        is_wanted: impl Fn(&Link<MemoryStore>) -> bool,
    ) -> Option<Link<MemoryStore>> {
        let is_it = |(other, link): &(CompId, _)| *other == client && is_wanted(link);
        let at = self.links.iter().position(is_it)?;
        Some(self.links.remove(at).1)
    }

    /// Keeps a message for a client that is away; whether it has a session.
    pub fn keep(&mut self, now: Now, client: CompId, answer: &impl Answer) -> bool {
        let Self { links, scratch } = self;
        let link = links.iter_mut().find(|(other, _)| *other == client);
        let Some((_, link)) = link else { return false };
        let message = &InVersion::new(version_of(link), answer);
        link.session_mut().keep_message(now, message, scratch).is_ok()
    }
}
