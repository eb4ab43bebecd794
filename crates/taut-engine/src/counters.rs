//! Counting what an engine does, for whoever wants it: a sink in front of another.

use crate::event::{CancelReason, Event, EventSink, RejectReason};

/// How often each event and each reason occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By [`event_kind`].
    pub events: [u64; EVENT_KINDS],
    /// Refused commands by [`RejectReason`].
    pub rejects: [u64; RejectReason::COUNT],
    /// Cancelled orders by [`CancelReason`].
    pub cancels: [u64; CancelReason::COUNT],
    /// What was traded, in lots; it saturates.
    pub lots_traded: u64,
}

/// How many kinds of event there are.
pub const EVENT_KINDS: usize = 18;

/// The names of the kinds of event, in the order of [`Counters::events`].
pub const EVENT_NAMES: [&str; EVENT_KINDS] = [
    "accepted",
    "rejected",
    "trade",
    "rested",
    "held",
    "triggered",
    "refreshed",
    "repriced",
    "cancelled",
    "reduced",
    "replaced",
    "cancel_rejected",
    "replace_rejected",
    "prevented",
    "mass_cancelled",
    "clock",
    "phase_or_indicative",
    "level",
];

/// The number of an event's kind.
#[must_use]
pub const fn event_kind(event: &Event) -> usize {
    match event {
        Event::Accepted { .. } => 0,
        Event::Rejected { .. } => 1,
        Event::Trade { .. } => 2,
        Event::Rested { .. } => 3,
        Event::Held { .. } => 4,
        Event::Triggered { .. } => 5,
        Event::Refreshed { .. } => 6,
        Event::Repriced { .. } => 7,
        Event::Cancelled { .. } => 8,
        Event::Reduced { .. } => 9,
        Event::Replaced { .. } => 10,
        Event::CancelRejected { .. } => 11,
        Event::ReplaceRejected { .. } => 12,
        Event::Prevented { .. } => 13,
        Event::MassCancelled { .. } => 14,
        Event::Clock { .. } => 15,
        Event::Phase { .. } | Event::Indicative { .. } => 16,
        Event::Level { .. } => 17,
    }
}

impl Counters {
    /// Counts one event.
    pub fn count(&mut self, event: &Event) {
        self.events[event_kind(event)] += 1;
        match *event {
            Event::Rejected { reason, .. }
            | Event::CancelRejected { reason, .. }
            | Event::ReplaceRejected { reason, .. } => self.rejects[reason as usize] += 1,
            Event::Cancelled { reason, .. } => self.cancels[reason as usize] += 1,
            Event::Trade { lots, .. } => {
                self.lots_traded = self.lots_traded.saturating_add(lots.0.unsigned_abs());
            }
            _ => {}
        }
    }

    /// A sink that counts and passes on.
    pub fn in_front_of<'a, S: EventSink>(&'a mut self, sink: &'a mut S) -> Counted<'a, S> {
        Counted { counters: self, sink }
    }
}

/// A sink that counts what it passes on.
#[derive(Debug)]
pub struct Counted<'a, S> {
    counters: &'a mut Counters,
    sink: &'a mut S,
}

impl<S: EventSink> EventSink for Counted<'_, S> {
    fn on_event(&mut self, event: Event) {
        self.counters.count(&event);
        self.sink.on_event(event);
    }
}
