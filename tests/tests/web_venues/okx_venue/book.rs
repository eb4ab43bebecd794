//! The book, and what those who follow it are told: a snapshot, then what has changed in a tenth of
//! a second, chained by numbers that jump, with the checksum of the 25 best levels.

use std::collections::{BTreeMap, BTreeSet};

use taut_fix::Now;
use taut_types::{HalfTicks, Nanos, Side};

use super::Listing;

/// What changes in this time is told at once.
const FOLDED: Nanos = Nanos::from_millis(100);
/// A book in which nothing happens says so.
const ALIVE: Nanos = Nanos::from_secs(60);
/// Levels of a side that count in the checksum.
const DEPTH: usize = 25;

pub struct Book {
    listing: Listing,
    has_checksums: bool,
    /// Lots by price in half ticks.
    bids: BTreeMap<i64, i64>,
    asks: BTreeMap<i64, i64>,
    /// The number of its last change.
    sequence: u64,
}

/// Somebody who follows it.
pub struct Follower {
    /// The last number that it was told.
    last: u64,
    /// What has changed since: whether it is a bid, and its price.
    dirty: BTreeSet<(bool, i64)>,
    due: Nanos,
}

impl Follower {
    pub const fn due(&self) -> Nanos {
        self.due
    }

    /// These levels have changed.
    pub fn note(&mut self, now: Now, changed: &[(Side, HalfTicks)]) {
        if self.dirty.is_empty() {
            self.due = self.due.min(now.mono + FOLDED);
        }
        self.dirty.extend(changed.iter().map(|(side, price)| (*side == Side::Buy, price.0)));
    }
}

impl Book {
    pub fn new(listing: Listing, has_checksums: bool) -> Self {
        let (bids, asks) = (BTreeMap::new(), BTreeMap::new());
        Self { listing, has_checksums, bids, asks, sequence: 1 }
    }

    pub fn set(&mut self, side: Side, price: HalfTicks, lots: i64) {
        let levels = if side == Side::Buy { &mut self.bids } else { &mut self.asks };
        if lots == 0 {
            levels.remove(&price.0);
        } else {
            levels.insert(price.0, lots);
        }
    }

    /// It has changed: its numbers jump.
    pub const fn count(&mut self, jump: u64) {
        self.sequence += 1 + jump;
    }

    /// What a new follower is told.
    pub fn snapshot(&self, now: Now) -> (Follower, String) {
        let levels = |levels: Vec<(&i64, &i64)>| {
            levels.iter().map(|(price, lots)| self.level(**price, **lots)).collect::<Vec<_>>()
        };
        let bids = levels(self.bids.iter().rev().collect());
        let asks = levels(self.asks.iter().collect());
        let follower =
            Follower { last: self.sequence, dirty: BTreeSet::new(), due: now.mono + ALIVE };
        (follower, self.frame("snapshot", (&bids, &asks), -1, now))
    }

    /// What a follower is told now, if anything is due.
    pub fn update(&self, follower: &mut Follower, now: Now) -> Option<String> {
        if now.mono < follower.due {
            return None;
        }
        let dirty = std::mem::take(&mut follower.dirty);
        let of = |wanted: bool| {
            let some = dirty.iter().filter(|(is_bid, _)| *is_bid == wanted);
            let levels = if wanted { &self.bids } else { &self.asks };
            some.map(|(_, price)| self.level(*price, levels.get(price).copied().unwrap_or(0)))
                .collect::<Vec<_>>()
        };
        let previous = follower.last as i64;
        (follower.last, follower.due) = (self.sequence, now.mono + ALIVE);
        Some(self.frame("update", (&of(true), &of(false)), previous, now))
    }

    fn level(&self, price: i64, lots: i64) -> String {
        let orders = i64::from(lots > 0);
        let (price, size) = (self.listing.price(HalfTicks(price)), self.listing.size(lots));
        format!(r#"["{price}","{size}","0","{orders}"]"#)
    }

    fn frame(
        &self,
        action: &str,
        (bids, asks): (&[String], &[String]),
        previous: i64,
        now: Now,
    ) -> String {
        let (bids, asks, name) = (bids.join(","), asks.join(","), self.listing.name);
        let checksum = if self.has_checksums { self.checksum() } else { 0 };
        let (sequence, ms) = (self.sequence, now.utc.0 / 1_000_000);
        format!(
            r#"{{"arg":{{"channel":"books","instId":"{name}"}},"action":"{action}","data":[{{
                "asks":[{asks}],"bids":[{bids}],"ts":"{ms}","checksum":{checksum},
                "seqId":{sequence},"prevSeqId":{previous}}}]}}"#
        )
    }

    /// CRC-32 over `bid:size:ask:size:...`, bit by bit.
    fn checksum(&self) -> i32 {
        let text = |(price, lots): (&i64, &i64)| {
            format!("{}:{}", self.listing.price(HalfTicks(*price)), self.listing.size(*lots))
        };
        let mut bids = self.bids.iter().rev().take(DEPTH).map(text);
        let mut asks = self.asks.iter().take(DEPTH).map(text);
        let mut parts = Vec::new();
        for _ in 0..DEPTH {
            parts.extend([bids.next(), asks.next()].into_iter().flatten());
        }
        let mut crc = u32::MAX;
        for byte in parts.join(":").bytes() {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
            }
        }
        (!crc).cast_signed()
    }
}
