//! The loop as the doorkeeper of its listeners: see [`Admission`].

use core::net::IpAddr;

use taut_types::Nanos;

use crate::admission::{Admission, AdmissionCounters, AdmissionTable, Place};
use crate::error::IoError;
use crate::handle::Handle;
use crate::io::{Io, Purpose};
use crate::kernel::Kernel;
use crate::source::{Kind, Step};

/// Strangers of one listener that end in one turn because their time is up: each costs a look at
/// every slot.
const LATE_PER_TURN: usize = 8;

impl<K: Kernel> Io<K> {
    /// A stream that a listener accepted has finished its handshake, or logged on: from now on it
    /// gives way to nobody, and the listener's deadline is lifted. A visit that waits already is
    /// made among strangers once more. For any other stream this does nothing. Constant time.
    ///
    /// # Errors
    /// A stale handle.
    pub fn prove(&mut self, stream: Handle) -> Result<(), IoError> {
        let source = self.sources.get(stream)?;
        source.is_stranger = false;
        if let Some(place) = source.place
            && let Some(table) = self.sources.admissions(place.listener)
        {
            table.prove(place.slot);
        }
        Ok(())
    }

    /// A stream that a listener accepted waits for nothing, between two requests of a protocol
    /// without sessions. From now on it gives way to a newcomer as strangers do, and is closed
    /// (`TimedOut`) after `span`, unless it is [proved](Io::prove) again. For any other stream this
    /// does nothing. Cost: a look at every slot of the listener.
    ///
    /// # Errors
    /// A stale handle.
    pub fn rest(&mut self, stream: Handle, span: Nanos) -> Result<(), IoError> {
        let deadline = Nanos(self.now.0.saturating_add(span.0));
        let Some(place) = self.sources.get(stream)?.place else { return Ok(()) };
        if let Some(table) = self.sources.admissions(place.listener) {
            table.rest(place.slot, deadline);
        }
        if !self.watch_strangers(place.listener) {
            // Without a timer nobody would end it.
            self.dismiss(stream, IoError::TimedOut);
        }
        Ok(())
    }

    /// What came from a stranger so far does not begin its handshake: half of a hello, whose answer
    /// will cost a signature. It is served behind those whose handshake goes on. For any other
    /// stream this does nothing.
    ///
    /// # Errors
    /// A stale handle.
    pub fn has_not_begun(&mut self, stream: Handle) -> Result<(), IoError> {
        self.sources.get(stream)?.step = Step::NotBegun;
        Ok(())
    }

    /// Something came from a stranger.
    pub(crate) fn hear(&mut self, stream: Handle) {
        let Ok(source) = self.sources.get(stream) else { return };
        source.step = Step::Heard;
        if let Some(place) = source.place
            && let Some(table) = self.sources.admissions(place.listener)
        {
            table.hear(place.slot);
        }
    }

    /// What a listener has counted so far.
    ///
    /// # Errors
    /// A stale handle.
    pub fn admission_counters(&self, listener: Handle) -> Result<AdmissionCounters, IoError> {
        self.sources.admission_counters(listener)
    }

    /// A listener begins.
    pub(crate) fn guard(&mut self, listener: Handle, limits: &Admission) -> Result<(), IoError> {
        let table = AdmissionTable::new(limits, self.config.sources_max);
        self.sources.get(listener)?.admissions = Some(table.into());
        Ok(())
    }

    /// Lets a new stream in, and says who gives way to it, which has no slot any more; `None` when
    /// it cannot stay.
    pub(crate) fn admit(
        &mut self,
        listener: Handle,
        stream: Handle,
        from: Option<IpAddr>,
    ) -> Option<[Option<Handle>; 2]> {
        let (now, is_full) = (self.now, self.sources.vacant().is_none());
        let table = self.sources.admissions(listener)?;
        let admitted = table.admit(now, from, stream)?;
        let is_stranger = table.has_strangers();
        // The loop's last place is for who comes next: nobody can wait for it.
        let own = if is_full { table.make_room(Some(admitted.slot)) } else { None };
        let room = if is_full && own.is_none() { self.sources.make_room(listener) } else { own };
        if let Ok(source) = self.sources.get(stream) {
            source.place = Some(Place { listener, slot: admitted.slot });
            source.is_stranger = is_stranger;
        }
        for victim in [admitted.instead_of, room].into_iter().flatten() {
            self.dismiss(victim, IoError::Evicted);
        }
        if !self.watch_strangers(listener) {
            // Without a timer nobody would end it.
            self.sources.admissions(listener)?.refuse(admitted.slot);
            self.sources.get(stream).ok()?.place = None;
            return None;
        }
        Some([admitted.instead_of, room])
    }

    /// Ends strangers of a listener whose time is up: a few, and the rest in the next turn.
    pub(crate) fn end_late_strangers(&mut self, listener: Handle) {
        let now = self.now;
        for _ in 0..LATE_PER_TURN {
            let late = self.sources.admissions(listener).and_then(|it| it.pop_late(now));
            let Some(late) = late else { break };
            self.dismiss(late, IoError::TimedOut);
        }
        if let Ok(source) = self.sources.get(listener) {
            source.life_deadline = None;
        }
        self.watch_strangers(listener);
    }

    /// One timer for each listener, not later than its next stranger's deadline; whether there is
    /// one, or none is needed.
    fn watch_strangers(&mut self, listener: Handle) -> bool {
        let timer = self.sources.get(listener).ok().and_then(|it| it.life_deadline.take());
        let Some(table) = self.sources.admissions(listener) else { return true };
        let Some(next) = table.next_deadline() else {
            timer.map(|timer| self.timers.cancel(timer));
            return true;
        };
        let armed = if timer.is_some() && table.looks_at <= next {
            timer
        } else {
            // What is due already has its turn after everybody else's.
            table.looks_at = next.max(self.now + Nanos(1));
            timer.map(|timer| self.timers.cancel(timer));
            self.timers.arm(table.looks_at, None, Purpose::Handshakes(listener))
        };
        if let Ok(source) = self.sources.get(listener) {
            source.life_deadline = armed;
        }
        armed.is_some()
    }

    fn dismiss(&mut self, stream: Handle, why: IoError) {
        if let Ok(source) = self.sources.get(stream) {
            debug_assert_eq!(source.kind, Kind::Stream);
            source.place = None;
        }
        let _ = self.close_because(stream, Some(why));
    }
}
