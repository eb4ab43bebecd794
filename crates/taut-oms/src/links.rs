//! Lists through a table: who comes before and after whom.

use alloc::boxed::Box;

const NONE: u32 = u32::MAX;

/// Where a place stands in the lists: in one at most.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// A list through the places of a table, in the order in which they were put in. Every operation
/// is a few writes.
#[derive(Debug)]
pub struct List {
    links: Box<[Link]>,
    first: u32,
    last: u32,
    len: usize,
}

impl List {
    /// An empty list for a table with so many places.
    pub fn with_capacity(capacity: usize) -> Self {
        let links = core::iter::repeat_n(Link { before: NONE, after: NONE }, capacity).collect();
        Self { links, first: NONE, last: NONE, len: 0 }
    }

    /// How many are in it.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The first of them.
    pub const fn first(&self) -> Option<usize> {
        if self.first == NONE { None } else { Some(self.first as usize) }
    }

    /// The one after this one.
    pub const fn after(&self, place: usize) -> Option<usize> {
        let after = self.links[place].after;
        if after == NONE { None } else { Some(after as usize) }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        core::iter::successors(self.first(), |place| self.after(*place))
    }

    /// Whether this one is in it.
    pub const fn contains(&self, place: usize) -> bool {
        self.links[place].before != NONE || self.first == place as u32
    }

    /// Puts one at the end; one that is in it stays where it is.
    pub fn push(&mut self, place: usize) {
        if self.contains(place) {
            return;
        }
        let (link, before) = (place as u32, self.last);
        self.links[place] = Link { before, after: NONE };
        match before {
            NONE => self.first = link,
            before => self.links[before as usize].after = link,
        }
        self.last = link;
        self.len += 1;
    }

    /// Takes one out, if it is in.
    pub fn remove(&mut self, place: usize) {
        if !self.contains(place) {
            return;
        }
        let Link { before, after } = self.links[place];
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].before = before,
        }
        self.links[place] = Link { before: NONE, after: NONE };
        self.len -= 1;
    }
}
