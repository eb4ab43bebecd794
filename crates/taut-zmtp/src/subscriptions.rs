//! What a subscriber wants: told to each publisher again after every connection.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::Limit;
use crate::trie::{Trie, TrieLimits};

/// Prefixes, each with a count.
#[derive(Debug)]
pub struct Subscriptions {
    counts: BTreeMap<Vec<u8>, u32>,
    trie: Trie,
}

/// Our own wishes are bounded only against mistakes.
const LIMITS: TrieLimits =
    TrieLimits { prefix_bytes_max: 4_000, subscriptions_max: 1 << 20, nodes_max: 1 << 24 };

impl Subscriptions {
    /// None.
    pub fn new() -> Self {
        Self { counts: BTreeMap::new(), trie: Trie::new(LIMITS) }
    }

    /// Adds one: `true` when publishers must be told.
    ///
    /// # Errors
    /// The prefix is too long, or there are too many.
    pub fn subscribe(&mut self, prefix: &[u8]) -> Result<bool, Limit> {
        let is_new = self.trie.subscribe(0, prefix)?;
        match self.counts.get_mut(prefix) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(prefix.to_vec(), 1);
            }
        }
        Ok(is_new)
    }

    /// Takes one back: `true` when publishers must be told.
    pub fn cancel(&mut self, prefix: &[u8]) -> bool {
        let is_last = self.trie.cancel(0, prefix);
        match self.counts.get_mut(prefix) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.counts.remove(prefix);
            }
        }
        is_last
    }

    /// All prefixes, each once, in order.
    pub fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.counts.keys().map(Vec::as_slice)
    }

    /// Whether a message with this topic is wanted.
    pub fn matches(&self, topic: &[u8]) -> bool {
        self.trie.matches(topic)
    }

    /// Whether everything is.
    pub fn want_everything(&self) -> bool {
        self.trie.matches(&[])
    }
}
