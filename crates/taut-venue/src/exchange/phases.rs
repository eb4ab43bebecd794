//! An exchange's phases: set by hand, by the schedule, and by prices that go too far.

use taut_engine::{Command, Event, Phase};
use taut_fix::Now;
use taut_io::Kernel;
use taut_types::{Lots, Nanos, Price};

use super::{Exchange, new_engine};
use crate::clients::ClientIo;
use crate::error::VenueError;
use crate::journal::Input;
use crate::phases::DAY;

impl Exchange {
    /// When the next phase is due, in UTC; what nothing reaches where none is.
    pub(crate) const fn phases_due(&self) -> Nanos {
        self.phases_due
    }

    /// An instrument comes to a phase: whether that is new. `scheduled` is the time of the
    /// schedule's entry that this carries out; zero where it is none.
    pub(crate) fn set_phase(
        &mut self,
        now: Now,
        place: usize,
        (phase, scheduled): (Phase, Nanos),
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<bool, VenueError> {
        let listing = self.listings.at_mut(place);
        let is_new = listing.phase != phase;
        let is_scheduled = scheduled > Nanos::ZERO;
        if is_scheduled {
            listing.scheduled = scheduled;
        }
        if is_new {
            self.execute(now, place, &Command::SetPhase(phase), clients);
        }
        // Also where nothing changes: an entry that was carried out is not carried out again.
        if is_new || is_scheduled {
            let now = self.stamp(now);
            self.finish(now, || Input::Phase { place, phase, scheduled }, clients)?;
        }
        Ok(is_new)
    }

    /// Carries out what is due: phases of the schedule, in their order, and the ends of
    /// interruptions. Whether there was any. One that was missed, because nobody ran the venue,
    /// is carried out when it runs again, up to a day late.
    #[inline]
    pub(crate) fn run_phases(
        &mut self,
        now: Now,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<bool, VenueError> {
        if now.utc < self.phases_due { Ok(false) } else { self.run_due_phases(now, clients) }
    }

    #[inline(never)]
    fn run_due_phases(
        &mut self,
        now: Now,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<bool, VenueError> {
        let mut any = false;
        for place in 0..self.listings.all().len() {
            while let Some(due) = self.due(place, now.utc) {
                any = true;
                self.begin(now, clients);
                self.set_phase(now, place, due, clients)?;
            }
        }
        self.settle(now, clients)?;
        let places = 0..self.listings.all().len();
        let next = places.filter_map(|place| self.next_due(place)).min();
        self.phases_due = next.unwrap_or(Nanos(i64::MAX));
        Ok(any)
    }

    /// What is due for an instrument, and the entry of the schedule that it is of.
    fn due(&self, place: usize, utc: Nanos) -> Option<(Phase, Nanos)> {
        let listing = &self.listings.all()[place];
        if listing.resumes_at.is_some_and(|at| at <= utc) {
            return Some((Phase::Continuous, Nanos::ZERO));
        }
        let entry = match listing.scheduled {
            // The first day begins with what it has come to.
            Nanos::ZERO => self.schedule.last(place, utc),
            done => self.schedule.next(place, done.max(Nanos(utc.0 - DAY))),
        };
        entry.filter(|(at, _)| *at <= utc).map(|(at, phase)| (phase, at))
    }

    fn next_due(&self, place: usize) -> Option<Nanos> {
        let listing = &self.listings.all()[place];
        let next = self.schedule.next(place, listing.scheduled).map(|(at, _)| at);
        [listing.resumes_at, next].into_iter().flatten().min()
    }

    /// An instrument has come to a phase.
    #[cold]
    pub(super) fn note_phase(&mut self, place: usize, phase: Phase, utc: Nanos) {
        let listing = self.listings.at_mut(place);
        listing.phase = phase;
        listing.resumes_at = match phase {
            Phase::VolatilityAuction => listing.bands.interruption.map(|span| utc + span),
            _ => None,
        };
        self.phases_due = listing.resumes_at.map_or(self.phases_due, |at| at.min(self.phases_due));
    }

    /// The first command of an instrument: its engine comes, in the phase that it is in. A phase
    /// alone needs none; then its event is told, and no engine is there.
    #[cold]
    pub(super) fn open_engine(&mut self, place: usize, command: &Command) {
        if let Command::SetPhase(phase) = *command {
            return self.events.push(Event::Phase { phase });
        }
        let listing = &self.listings.all()[place];
        let mut engine = new_engine(self.sizes, listing);
        engine.execute(*command, &mut |event| self.events.push(event));
        self.engines[place] = Some(engine);
    }

    /// What an auction that ended now would come to: price, lots, and what would be left of buys
    /// (of sells where it is below zero). Nothing where orders are not collected.
    pub(crate) fn indicative(&self, place: usize) -> Option<(Price, Lots, i64)> {
        let engine = self.engines.get(place)?.as_ref().filter(|it| it.phase().is_call())?;
        let (price, lots, surplus) = engine.indicative();
        let price = self.listings.all()[place].instrument.price(price).ok()?;
        (lots > Lots::ZERO).then_some((price, lots, surplus))
    }
}
