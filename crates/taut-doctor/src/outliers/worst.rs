//! The worst orders of some time, with what the looks around each of them show.

use std::collections::VecDeque;

use taut_lat::{FlightRecord, Stage};
use taut_types::Nanos;

use super::evidence::Evidence;
use super::look::{Look, MachineLook};

/// An order that is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) record: FlightRecord,
    /// How many orders left between its request and its turn, and how long they took of that time.
    pub(super) queued: u32,
    pub(super) queued_ns: u64,
    /// Of the gateway's thread and of the strategy's, once there was a look behind it.
    evidence: Option<[Evidence; 2]>,
    has_machine: bool,
}

impl Kept {
    /// An order, and those that left before it, the last one at the end.
    pub(super) fn new(record: &FlightRecord, before: &VecDeque<FlightRecord>) -> Self {
        let asked = record.end(Stage::Strategy);
        let between = before.iter().rev().take_while(|other| other.sent() > asked);
        let taken = |other: &FlightRecord| {
            let began = other.end(Stage::ToGateway).max(asked);
            other.sent().since(began).0.max(0).unsigned_abs()
        };
        let (queued, queued_ns) =
            between.fold((0, 0), |(count, ns), other| (count + 1, ns + taken(other)));
        Self { record: *record, queued, queued_ns, evidence: None, has_machine: false }
    }

    /// From its packet to the end of its send call.
    pub(super) fn total_ns(&self) -> u64 {
        self.record.stamps.offsets.total()
    }

    pub(super) fn evidence(&self) -> Option<[&Evidence; 2]> {
        self.evidence.as_ref().map(<[Evidence; 2]>::each_ref)
    }

    /// Takes what the looks around it show, once the last one is behind it.
    pub(super) fn take_looks(
        &mut self,
        looks: &VecDeque<Look>,
        names: &[String],
        strategy: Option<usize>,
    ) {
        let is_seen = looks.back().is_some_and(|last| self.record.sent() <= last.at);
        if self.evidence.is_some() || !is_seen {
            return;
        }
        let around = around(looks, &self.record, |look| look.at);
        let of = |place| match (around, place) {
            (Some((before, after)), Some(place)) => Evidence::between(before, after, place, names),
            _ => Evidence::default(),
        };
        self.evidence = Some([of(Some(0)), of(strategy)]);
    }

    /// Adds what the looks at the machine around it show. `first` is the first of all.
    pub(super) fn take_machine(
        &mut self,
        first: &MachineLook,
        looks: &VecDeque<MachineLook>,
        strategy: Option<usize>,
    ) {
        let is_seen = looks.back().is_some_and(|last| self.record.sent() <= last.at);
        let Some([gateway, other]) = &mut self.evidence else { return };
        if self.has_machine || !is_seen {
            return;
        }
        self.has_machine = true;
        let Some(pair) = around(looks, &self.record, |look| look.at) else { return };
        gateway.add_machine(first, pair, 0);
        if let Some(place) = strategy {
            other.add_machine(first, pair, place);
        }
    }
}

/// The worst orders, the longest first. Adding one moves those that took less.
#[derive(Clone, Debug)]
pub(super) struct Worst {
    kept: Vec<Kept>,
    max: usize,
}

impl Worst {
    /// So many at most.
    pub(super) fn new(max: usize) -> Self {
        Self { kept: Vec::with_capacity(max + 1), max }
    }

    /// Whether an order that took so long belongs to them.
    pub(super) fn has_room(&self, total_ns: u64) -> bool {
        let shortest = self.kept.last().map_or(0, Kept::total_ns);
        self.kept.len() < self.max || shortest < total_ns
    }

    /// Adds an order; the shortest leaves when there are too many.
    pub(super) fn add(&mut self, kept: Kept) {
        let total = kept.total_ns();
        let place = self.kept.partition_point(|other| other.total_ns() >= total);
        self.kept.insert(place, kept);
        self.kept.truncate(self.max);
    }

    pub(super) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    pub(super) fn kept_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.kept.iter_mut()
    }
}

/// The last look before an order's packet was received, and the first one after it had left;
/// nothing where there are not both.
fn around<'a, T>(
    looks: &'a VecDeque<T>,
    record: &FlightRecord,
    at: impl Fn(&T) -> Nanos,
) -> Option<(&'a T, &'a T)> {
    let behind = looks.partition_point(|look| at(look) <= record.stamps.origin);
    let after = looks.partition_point(|look| at(look) < record.sent());
    Some((looks.get(behind.checked_sub(1)?)?, looks.get(after)?))
}
