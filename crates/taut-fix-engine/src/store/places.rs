//! Where the messages stand in the file.

/// Numbers further ahead than this start anew: what lies between would only cost memory.
const AHEAD_MAX: u64 = 1 << 20;

/// A record's place, and the length of its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub position: u64,
    pub message_bytes: usize,
}

/// The places of messages by their numbers, from one number on.
#[derive(Debug)]
pub struct Places {
    first: u64,
    /// `None` where a number has no message.
    places: Vec<Option<Place>>,
}

impl Places {
    pub fn new() -> Self {
        Self { first: 1, places: Vec::with_capacity(4096) }
    }

    /// Remembers where a message stands. Numbers that go back, or far ahead, start anew.
    pub fn note(&mut self, sequence: u64, place: Place) {
        let after = self.first + self.places.len() as u64;
        if sequence < self.first || sequence > after.saturating_add(AHEAD_MAX) {
            self.places.clear();
            self.first = sequence;
        }
        let index = usize::try_from(sequence - self.first).unwrap_or(usize::MAX);
        // A number that is used again ends what stood behind it.
        self.places.resize(index, None);
        self.places.push(Some(place));
    }

    pub fn get(&self, sequence: u64) -> Option<Place> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        self.places.get(index).copied().flatten()
    }

    /// The messages from this number on, in order.
    pub fn from(&self, lowest: u64) -> impl Iterator<Item = (u64, Place)> {
        let skipped = usize::try_from(lowest.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let numbered = (self.first..).zip(&self.places).skip(skipped);
        numbered.filter_map(|(sequence, place)| Some((sequence, (*place)?)))
    }
}
