//! Subscriptions by prefix: which peers want a topic. One node a byte, in an arena; nothing
//! recurses, and nodes and subscriptions are bounded.

use alloc::vec::Vec;

use crate::error::Limit;

const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;
/// From so many children on, a node finds them by a table of 256 places.
const TABLE_CHILDREN: u16 = 5;

/// A set of (prefix, peer) with a count each.
#[derive(Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    tables: Vec<[u32; 256]>,
    entries: Vec<Entry>,
    /// The first subscription of each peer.
    peers: Vec<u32>,
    free_nodes: Vec<u32>,
    free_tables: Vec<u32>,
    free_entries: Vec<u32>,
    limits: TrieLimits,
}

/// How large a trie may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrieLimits {
    /// Bytes of one prefix.
    pub prefix_bytes_max: usize,
    /// Pairs of a prefix and a peer.
    pub subscriptions_max: usize,
    /// Nodes: a byte of a prefix that no other prefix shares costs one, of 24 bytes.
    pub nodes_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    first_child: u32,
    next_sibling: u32,
    table: u32,
    entries: u32,
    child_count: u16,
    byte: u8,
}

/// One peer's subscription to one prefix, in the list of its node and in that of its peer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    peer: u32,
    node: u32,
    count: u32,
    next_at_node: u32,
    next_of_peer: u32,
    previous_of_peer: u32,
}

impl Trie {
    /// An empty trie.
    #[must_use]
    pub fn new(limits: TrieLimits) -> Self {
        Self {
            nodes: alloc::vec![Node::new(NONE, 0)],
            tables: Vec::new(),
            entries: Vec::new(),
            peers: Vec::new(),
            free_nodes: Vec::new(),
            free_tables: Vec::new(),
            free_entries: Vec::new(),
            limits,
        }
    }

    /// How many pairs of a prefix and a peer there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free_entries.len()
    }

    /// Nodes in use.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len() - self.free_nodes.len()
    }

    /// Calls `found` for each subscription that is a prefix of the topic: more than once for a peer
    /// that has several. Cost: a step a byte of the longest prefix that matches.
    #[inline]
    pub fn for_each_match(&self, topic: &[u8], mut found: impl FnMut(u32)) {
        let mut bytes = topic.iter();
        let mut at = ROOT;
        while let Some(node) = self.nodes.get(at as usize) {
            let mut entry_at = node.entries;
            while let Some(entry) = self.entries.get(entry_at as usize) {
                found(entry.peer);
                entry_at = entry.next_at_node;
            }
            if node.child_count == 0 {
                return;
            }
            let Some(byte) = bytes.next() else { return };
            at = self.child(node, *byte);
        }
    }

    /// Whether anybody wants the topic.
    #[must_use]
    pub fn matches(&self, topic: &[u8]) -> bool {
        let mut any = false;
        self.for_each_match(topic, |_| any = true);
        any
    }

    /// Adds a subscription: `true` when the peer did not have this one.
    ///
    /// # Errors
    /// A limit, and nothing has changed.
    pub fn subscribe(&mut self, peer: u32, prefix: &[u8]) -> Result<bool, Limit> {
        if prefix.len() > self.limits.prefix_bytes_max {
            return Err(Limit::PrefixBytes);
        }
        let (known, depth) = self.descend(prefix);
        let rest = prefix.get(depth..).unwrap_or(&[]);
        if rest.is_empty()
            && let Some(at) = self.entry_at(known, peer)
            && let Some(entry) = self.entries.get_mut(at as usize)
        {
            entry.count = entry.count.saturating_add(1);
            return Ok(false);
        }
        let nodes = self.node_count() + rest.len();
        if self.len() >= self.limits.subscriptions_max || nodes > self.limits.nodes_max {
            return Err(Limit::SubscriptionCount);
        }
        let node = rest.iter().fold(known, |parent, byte| self.add_child(parent, *byte));
        self.add_entry(node, peer);
        Ok(true)
    }

    /// Takes a subscription back: `true` when the peer does not have it any more. One that it
    /// never had changes nothing.
    pub fn cancel(&mut self, peer: u32, prefix: &[u8]) -> bool {
        let (node, depth) = self.descend(prefix);
        if depth < prefix.len() {
            return false;
        }
        let Some(at) = self.entry_at(node, peer) else { return false };
        let Some(entry) = self.entries.get_mut(at as usize) else { return false };
        entry.count -= 1;
        if entry.count > 0 {
            return false;
        }
        self.remove_entry(at);
        true
    }

    /// Takes all of a peer's subscriptions back.
    pub fn remove_peer(&mut self, peer: u32) {
        while let Some(at) = self.peers.get(peer as usize).copied().filter(|at| *at != NONE) {
            self.remove_entry(at);
        }
    }

    #[inline]
    fn child(&self, node: &Node, byte: u8) -> u32 {
        if let Some(table) = self.tables.get(node.table as usize) {
            return table.get(usize::from(byte)).copied().unwrap_or(NONE);
        }
        let mut at = node.first_child;
        while let Some(child) = self.nodes.get(at as usize) {
            if child.byte == byte {
                return at;
            }
            at = child.next_sibling;
        }
        NONE
    }

    /// The node of the longest known part of the prefix, and that part's length.
    fn descend(&self, prefix: &[u8]) -> (u32, usize) {
        let mut at = ROOT;
        for (depth, byte) in prefix.iter().enumerate() {
            let next = self.nodes.get(at as usize).map_or(NONE, |node| self.child(node, *byte));
            if next == NONE {
                return (at, depth);
            }
            at = next;
        }
        (at, prefix.len())
    }

    fn entry_at(&self, node: u32, peer: u32) -> Option<u32> {
        let mut at = self.nodes.get(node as usize)?.entries;
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.peer == peer {
                return Some(at);
            }
            at = entry.next_at_node;
        }
        None
    }

    fn add_child(&mut self, parent: u32, byte: u8) -> u32 {
        let node = Node::new(parent, byte);
        let at = place(&mut self.nodes, &mut self.free_nodes, node);
        let Some(parent_node) = self.nodes.get_mut(parent as usize) else { return at };
        let first = core::mem::replace(&mut parent_node.first_child, at);
        parent_node.child_count += 1;
        let (table, count) = (parent_node.table, parent_node.child_count);
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.next_sibling = first;
        }
        if table != NONE {
            self.set_in_table(table, byte, at);
        } else if count >= TABLE_CHILDREN {
            self.add_table(parent);
        }
        at
    }

    fn add_table(&mut self, parent: u32) {
        let table = place(&mut self.tables, &mut self.free_tables, [NONE; 256]);
        let Some(node) = self.nodes.get_mut(parent as usize) else { return };
        node.table = table;
        let mut at = node.first_child;
        while let Some(child) = self.nodes.get(at as usize).copied() {
            self.set_in_table(table, child.byte, at);
            at = child.next_sibling;
        }
    }

    fn set_in_table(&mut self, table: u32, byte: u8, child: u32) {
        let table = self.tables.get_mut(table as usize);
        if let Some(place) = table.and_then(|table| table.get_mut(usize::from(byte))) {
            *place = child;
        }
    }

    fn add_entry(&mut self, node: u32, peer: u32) {
        let needed = peer as usize + 1;
        if self.peers.len() < needed {
            self.peers.resize(needed, NONE);
        }
        let next_at_node = self.nodes.get(node as usize).map_or(NONE, |node| node.entries);
        let next_of_peer = self.peers.get(peer as usize).copied().unwrap_or(NONE);
        let previous_of_peer = NONE;
        let entry = Entry { peer, node, count: 1, next_at_node, next_of_peer, previous_of_peer };
        let at = place(&mut self.entries, &mut self.free_entries, entry);
        if let Some(next) = self.entries.get_mut(next_of_peer as usize) {
            next.previous_of_peer = at;
        }
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.entries = at;
        }
        if let Some(first) = self.peers.get_mut(peer as usize) {
            *first = at;
        }
    }

    fn remove_entry(&mut self, at: u32) {
        let Some(entry) = self.entries.get(at as usize).copied() else { return };
        match self.entries.get_mut(entry.previous_of_peer as usize) {
            Some(previous) => previous.next_of_peer = entry.next_of_peer,
            None => {
                if let Some(first) = self.peers.get_mut(entry.peer as usize) {
                    *first = entry.next_of_peer;
                }
            }
        }
        if let Some(next) = self.entries.get_mut(entry.next_of_peer as usize) {
            next.previous_of_peer = entry.previous_of_peer;
        }
        self.unlink_at_node(entry.node, at, entry.next_at_node);
        self.free_entries.push(at);
        self.prune(entry.node);
    }

    fn unlink_at_node(&mut self, node: u32, at: u32, next: u32) {
        let Some(node) = self.nodes.get_mut(node as usize) else { return };
        if node.entries == at {
            node.entries = next;
            return;
        }
        let mut before = node.entries;
        while let Some(entry) = self.entries.get_mut(before as usize) {
            if entry.next_at_node == at {
                entry.next_at_node = next;
                return;
            }
            before = entry.next_at_node;
        }
    }

    /// Removes nodes that hold nothing, from this one towards the root.
    fn prune(&mut self, mut at: u32) {
        while at != ROOT
            && let Some(node) = self.nodes.get(at as usize).copied()
            && node.entries == NONE
            && node.child_count == 0
        {
            self.unlink_child(node, at);
            if node.table != NONE {
                self.free_table(node.table);
            }
            self.free_nodes.push(at);
            at = node.parent;
        }
    }

    fn unlink_child(&mut self, node: Node, at: u32) {
        let Some(parent) = self.nodes.get_mut(node.parent as usize) else { return };
        parent.child_count -= 1;
        let (table, mut before) = (parent.table, parent.first_child);
        if before == at {
            parent.first_child = node.next_sibling;
        } else {
            while let Some(sibling) = self.nodes.get_mut(before as usize) {
                if sibling.next_sibling == at {
                    sibling.next_sibling = node.next_sibling;
                    break;
                }
                before = sibling.next_sibling;
            }
        }
        if table != NONE {
            self.set_in_table(table, node.byte, NONE);
        }
    }

    fn free_table(&mut self, table: u32) {
        if let Some(table) = self.tables.get_mut(table as usize) {
            table.fill(NONE);
        }
        self.free_tables.push(table);
    }
}

impl Node {
    const fn new(parent: u32, byte: u8) -> Self {
        let (first_child, next_sibling, table, entries) = (NONE, NONE, NONE, NONE);
        Self { parent, first_child, next_sibling, table, entries, child_count: 0, byte }
    }
}

/// Puts a value into a free place, or behind the others, and returns where.
fn place<T>(all: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    if let Some(at) = free.pop()
        && let Some(place) = all.get_mut(at as usize)
    {
        // A table that is used again is empty already, so that the new one may go.
        *place = value;
        return at;
    }
    all.push(value);
    all.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use taut_testkit::{Draw, Random};

    const LIMITS: TrieLimits =
        TrieLimits { prefix_bytes_max: 32, subscriptions_max: 2_000, nodes_max: 20_000 };

    fn matches(trie: &Trie, topic: &[u8]) -> BTreeSet<u32> {
        let mut peers = BTreeSet::new();
        trie.for_each_match(topic, |peer| {
            peers.insert(peer);
        });
        peers
    }

    #[test]
    fn an_empty_prefix_matches_all_and_a_prefix_what_starts_with_it() {
        let mut trie = Trie::new(LIMITS);
        assert_eq!(trie.subscribe(0, b""), Ok(true));
        assert_eq!(trie.subscribe(1, b"BTC"), Ok(true));
        assert_eq!(trie.subscribe(1, b"BTC"), Ok(false));
        assert_eq!(matches(&trie, b"BTC-USD"), [0, 1].into());
        assert_eq!(matches(&trie, b"BT"), [0].into());
        assert!(!trie.cancel(1, b"BTC"), "subscribed twice");
        assert!(!trie.cancel(1, b"BT"), "never subscribed");
        assert!(trie.cancel(1, b"BTC"));
        assert_eq!(matches(&trie, b"BTC-USD"), [0].into());
        trie.remove_peer(0);
        assert!(!trie.matches(b"") && trie.len() == 0);
    }

    #[test]
    fn limits_hold_and_change_nothing() {
        let mut trie =
            Trie::new(TrieLimits { prefix_bytes_max: 4, subscriptions_max: 2, nodes_max: 6 });
        assert_eq!(trie.subscribe(0, b"12345"), Err(Limit::PrefixBytes));
        assert_eq!(trie.subscribe(0, b"1234"), Ok(true));
        assert_eq!(trie.subscribe(0, b"9876"), Err(Limit::SubscriptionCount), "nodes");
        assert_eq!(trie.subscribe(0, b"1"), Ok(true));
        assert_eq!(trie.subscribe(0, b"12"), Err(Limit::SubscriptionCount));
        assert_eq!(trie.subscribe(0, b"1"), Ok(false), "a further count costs nothing");
        assert_eq!(trie.len(), 2);
    }

    /// The slow, obvious twin: a map of counts.
    #[test]
    fn random_operations_give_what_a_map_gives() {
        let mut random = Random::with_seed(0x5EED);
        let mut random = |below: u64| random.below(below);
        let mut trie = Trie::new(LIMITS);
        let mut twin: BTreeMap<(std::vec::Vec<u8>, u32), u32> = BTreeMap::new();
        for step in 0..100_000 {
            let length = random(5);
            let letters = if random(10) == 0 { 12 } else { 3 };
            let prefix: std::vec::Vec<u8> = (0..length).map(|_| random(letters) as u8).collect();
            let peer = random(20) as u32;
            let key = (prefix.clone(), peer);
            match random(100) {
                0 => {
                    trie.remove_peer(peer);
                    twin.retain(|(_, other), _| *other != peer);
                }
                1..=50 => {
                    let count = twin.entry(key).or_insert(0);
                    *count += 1;
                    assert_eq!(trie.subscribe(peer, &prefix), Ok(*count == 1), "step {step}");
                }
                51..=90 => {
                    let count = twin.get_mut(&key);
                    let last = count.is_some_and(|count| {
                        *count -= 1;
                        *count == 0
                    });
                    if last {
                        twin.remove(&key);
                    }
                    assert_eq!(trie.cancel(peer, &prefix), last, "step {step}");
                }
                _ => {
                    let wanted = twin.keys().filter(|(other, _)| prefix.starts_with(other));
                    let expected: BTreeSet<u32> = wanted.map(|(_, peer)| *peer).collect();
                    assert_eq!(matches(&trie, &prefix), expected, "step {step}");
                }
            }
            assert_eq!(trie.len(), twin.len());
        }
        (0..20).for_each(|peer| trie.remove_peer(peer));
        assert_eq!(trie.nodes.len() - trie.free_nodes.len(), 1, "only the root is left");
        assert_eq!(
            trie.tables.len() - trie.free_tables.len(),
            usize::from(trie.nodes[0].table != NONE)
        );
    }
}
