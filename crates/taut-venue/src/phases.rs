//! Phases of the trading day: when the next one of an instrument is due.
//!
//! The engine says what a phase means ([`Phase`]). That one begins is an input like any other: it
//! is written down with its time and with the entry of the schedule that it carries out, and
//! executed once more; it is not decided once more.

use taut_engine::Phase;
use taut_types::{InstrumentId, Nanos};

use crate::listing::Listings;

pub(crate) const DAY: i64 = 24 * 3_600 * 1_000_000_000;

/// When instruments come to a phase, every day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledPhase {
    /// Which; all where it is absent.
    pub instruments: Option<Vec<InstrumentId>>,
    /// The time of the day, since midnight in UTC; less than a day.
    pub at: Nanos,
    /// The phase.
    pub phase: Phase,
}

/// The phases of a day.
#[derive(Debug)]
pub struct Schedule {
    /// By their times.
    entries: Box<[Entry]>,
}

#[derive(Debug)]
struct Entry {
    at: i64,
    phase: Phase,
    /// All where it is absent.
    places: Option<Box<[usize]>>,
}

impl Schedule {
    pub fn new(phases: &[ScheduledPhase], listings: &Listings) -> Self {
        let entry = |scheduled: &ScheduledPhase| {
            let places = scheduled.instruments.as_ref();
            let places =
                places.map(|ids| ids.iter().filter_map(|id| listings.place_of(*id)).collect());
            Entry { at: scheduled.at.0, phase: scheduled.phase, places }
        };
        let mut entries: Box<[Entry]> = phases.iter().map(entry).collect();
        // Of two of one time, the one that comes later in the configuration comes later.
        entries.sort_by_key(|entry| entry.at);
        Self { entries }
    }

    /// The entries of an instrument, each with its phase.
    fn of(&self, place: usize) -> impl DoubleEndedIterator<Item = (i64, Phase)> {
        let is_of = move |entry: &&Entry| match &entry.places {
            None => true,
            Some(places) => places.contains(&place),
        };
        self.entries.iter().filter(is_of).map(|entry| (entry.at, entry.phase))
    }

    /// What is due next for an instrument behind this moment, and when. Of several at one moment
    /// the last.
    pub fn next(&self, place: usize, after: Nanos) -> Option<(Nanos, Phase)> {
        let (midnight, time) = split(after);
        let today = self.of(place).find(|(at, _)| *at > time).map(|(at, _)| midnight + at);
        let tomorrow = || self.of(place).next().map(|(at, _)| midnight + DAY + at);
        let at = today.or_else(tomorrow)?;
        let phase = self.of(place).rfind(|(time, _)| *time == at.rem_euclid(DAY))?.1;
        Some((Nanos(at), phase))
    }

    /// What an instrument has come to at this moment, and when.
    pub fn last(&self, place: usize, at: Nanos) -> Option<(Nanos, Phase)> {
        let (midnight, time) = split(at);
        let today = self.of(place).rfind(|(at, _)| *at <= time);
        let today = today.map(|(at, phase)| (Nanos(midnight + at), phase));
        let yesterday =
            || self.of(place).next_back().map(|(at, phase)| (midnight - DAY + at, phase));
        today.or_else(|| yesterday().map(|(at, phase)| (Nanos(at), phase)))
    }
}

/// The midnight before, and the time since.
const fn split(utc: Nanos) -> (i64, i64) {
    let time = utc.0.rem_euclid(DAY);
    (utc.0 - time, time)
}

#[cfg(test)]
mod tests {
    use taut_types::{Instrument, Price, Qty, Symbol};

    use super::*;

    fn listings() -> Listings {
        let named = |number: u32| {
            let symbol = Symbol::new(format!("S{number}").as_bytes()).expect("a symbol");
            Instrument::new(InstrumentId(number), symbol, Price(10_000_000), Qty::whole(1))
        };
        Listings::new(&[named(5).expect("valid"), named(6).expect("valid")])
    }

    #[test]
    fn what_is_due_next_and_what_was_due_last_go_round_midnight() {
        let hour = |hour: i64| Nanos(hour * 3_600 * 1_000_000_000);
        let entry = |at: i64, phase, instruments: Option<u32>| ScheduledPhase {
            at: hour(at),
            phase,
            instruments: instruments.map(|id| vec![InstrumentId(id)]),
        };
        let schedule = Schedule::new(
            &[
                entry(17, Phase::Closed, None),
                entry(9, Phase::Continuous, None),
                entry(8, Phase::PreOpen, Some(6)),
            ],
            &listings(),
        );
        let day = Nanos(20_000 * DAY);
        let at = |of: i64| day + hour(of);
        assert_eq!(schedule.next(0, at(7)), Some((at(9), Phase::Continuous)));
        assert_eq!(schedule.next(1, at(7)), Some((at(8), Phase::PreOpen)));
        assert_eq!(schedule.next(1, at(8)), Some((at(9), Phase::Continuous)));
        assert_eq!(schedule.next(0, at(17)), Some((at(24 + 9), Phase::Continuous)));
        assert_eq!(schedule.last(0, at(8)), Some((at(17 - 24), Phase::Closed)));
        assert_eq!(schedule.last(1, at(8)), Some((at(8), Phase::PreOpen)));
        assert_eq!(schedule.last(0, at(23)), Some((at(17), Phase::Closed)));
        assert_eq!(Schedule::new(&[], &listings()).next(0, at(1)), None);
    }
}
