//! The slow and obvious twins: what a subscriber must report of what is delivered to it, and who
//! must have a lease.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use taut_types::Nanos;

use crate::{Header, Kind, SubscriberEvent, SubscriberTally};

/// One epoch of a publisher, as far as it was delivered.
#[derive(Debug)]
struct Epoch {
    session: u64,
    first: u64,
    next: u64,
    seen: BTreeSet<u64>,
}

/// What a subscriber must hand over, report and count.
#[derive(Debug, Default)]
pub(super) struct Account {
    drops_late: bool,
    tally: SubscriberTally,
    epoch: Option<Epoch>,
}

/// What becomes of a delivered datagram.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// A message is handed over; whether it is marked as late.
    pub(super) handed: Option<bool>,
    /// The gap that is reported: its first number and its length.
    pub(super) gap: Option<(u64, u64)>,
}

const NOTHING: Outcome = Outcome { handed: None, gap: None };

impl Account {
    pub(super) fn new(drops_late: bool) -> Self {
        Self { drops_late, ..Self::default() }
    }

    /// Messages received, missing, late and duplicated.
    pub(super) fn counts(&self) -> [u64; 4] {
        let tally = self.tally;
        [tally.received, tally.missing, tally.late, tally.duplicated]
    }

    /// The epochs that began and ended with these events, in their order.
    pub(super) fn follow(&mut self, events: &[SubscriberEvent], seed: u64) {
        for event in events {
            match *event {
                SubscriberEvent::Begun { session, sequence } => {
                    assert!(self.epoch.is_none(), "seed {seed}: two images");
                    let seen = BTreeSet::new();
                    self.epoch = Some(Epoch { session, first: sequence, next: sequence, seen });
                }
                SubscriberEvent::Ended { session, sequence }
                | SubscriberEvent::Lost { session, sequence }
                | SubscriberEvent::Replaced { session, sequence } => {
                    let epoch = self.epoch.take().expect("an image");
                    assert_eq!((epoch.session, epoch.next), (session, sequence), "seed {seed}");
                }
                SubscriberEvent::Gap { .. } | SubscriberEvent::Refused => {}
            }
        }
    }

    /// What must be reported of a datagram that proves its origin; the image that it begins, if
    /// any, has begun.
    pub(super) fn deliver(&mut self, header: &Header) -> Outcome {
        let Some(epoch) = self.epoch.as_mut().filter(|epoch| epoch.session == header.session)
        else {
            return NOTHING;
        };
        let sequence = header.sequence;
        match header.kind {
            Kind::Heartbeat | Kind::End => {
                let gap = (sequence > epoch.next).then(|| (epoch.next, sequence - epoch.next));
                epoch.next = epoch.next.max(sequence);
                self.tally.missing += gap.map_or(0, |(_, count)| count);
                Outcome { handed: None, gap }
            }
            Kind::Message if sequence < epoch.first || epoch.seen.contains(&sequence) => {
                self.tally.duplicated += 1;
                NOTHING
            }
            Kind::Message if sequence < epoch.next => {
                epoch.seen.insert(sequence);
                self.tally.late += 1;
                if self.drops_late {
                    return NOTHING;
                }
                self.tally.missing -= 1;
                self.tally.received += 1;
                Outcome { handed: Some(true), gap: None }
            }
            Kind::Message => {
                let gap = (sequence > epoch.next).then(|| (epoch.next, sequence - epoch.next));
                epoch.seen.insert(sequence);
                epoch.next = sequence + 1;
                self.tally.missing += gap.map_or(0, |(_, count)| count);
                self.tally.received += 1;
                Outcome { handed: Some(false), gap }
            }
            _ => NOTHING,
        }
    }
}

/// Who has a lease until when, and who may have one.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    until: BTreeMap<SocketAddr, Nanos>,
    challenged: BTreeSet<SocketAddr>,
}

impl Ledger {
    /// A challenge arrived at this address.
    pub(super) fn challenge(&mut self, at: SocketAddr) {
        self.challenged.insert(at);
    }

    /// A lease was given or renewed.
    pub(super) fn grant(&mut self, to: SocketAddr, until: Nanos, seed: u64) {
        assert!(self.challenged.contains(&to), "seed {seed}: {to} never saw a cookie");
        self.until.insert(to, until);
    }

    /// A subscriber left.
    pub(super) fn leave(&mut self, from: SocketAddr) {
        self.until.remove(&from);
    }

    /// Who has a lease at this time, sorted.
    pub(super) fn holders(&mut self, now: Nanos) -> Vec<SocketAddr> {
        self.until.retain(|_, until| *until > now);
        self.until.keys().copied().collect()
    }
}
