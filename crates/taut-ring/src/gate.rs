//! How far a writer may go, and what keeps a reader from being overtaken.
//!
//! The writer announces in `reserve`, an eighth of the capacity at a time, how far it may write:
//! whatever lies more than the capacity below may be gone. A reader that has copied a message
//! confirms it against `reserve`, a line that changes rarely. A writer that waits for its readers
//! moreover stays within the capacity of the slowest registered one.

use taut_sync::atomic::{AtomicU64, Ordering, fence};

use crate::control::{ACTIVE, Control, EVICTED, FREE, PAIR_WORDS, PARTS, count};
use crate::error::RingError;

/// What a writer does when a registered reader is a whole capacity behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It does not look: readers may be overtaken, and learn what they lost.
    Overwrite,
    /// It is told that there is no room, and tries again. Nothing is lost.
    Block,
    /// As [`Policy::Block`], but it does not try again: the newest message is lost, and counted.
    DropNewest,
    /// It evicts the slowest readers and goes on.
    Evict,
}

/// There is no room: a reader is a whole capacity behind. The message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What a writer says of itself: it waits for registered readers, for good or until it evicts them.
const WAITS: u64 = 1;
const MAY_EVICT: u64 = 2;

/// The writer's view of how far it may go.
#[derive(Debug)]
pub(crate) struct Gate<'m> {
    control: Control<'m>,
    policy: Policy,
    capacity: u64,
    reserve: u64,
    allowed: u64,
    /// What this writer has announced itself counts; what its predecessor announced does not.
    announced: bool,
}

impl<'m> Gate<'m> {
    /// The gate of a writer that goes on at `head`.
    pub(crate) fn new(control: Control<'m>, policy: Policy, capacity: u64, head: u64) -> Self {
        // Relaxed: a new writer is alone. What its predecessor announced stays announced.
        let reserve = control.reserve().load(Ordering::Relaxed);
        let reserve = if ahead(reserve, head) > capacity { head } else { reserve };
        let gated = match policy {
            Policy::Overwrite => 0,
            Policy::Block | Policy::DropNewest => WAITS,
            Policy::Evict => MAY_EVICT,
        };
        // Relaxed: ordered by the release of the first advance, which always reserves anew.
        control.gated().store(gated, Ordering::Relaxed);
        Self { control, policy, capacity, reserve, allowed: head, announced: false }
    }

    /// Whether `need` units fit at `head`.
    #[inline]
    pub(crate) fn admit(&mut self, head: u64, need: u64) -> Result<(), Full> {
        if ahead(self.allowed, head) >= need {
            return Ok(());
        }
        self.advance(head, need)
    }

    /// Reserves more, and looks where the readers are.
    #[cold]
    #[inline(never)]
    fn advance(&mut self, head: u64, need: u64) -> Result<(), Full> {
        if need > self.capacity {
            return Err(Full);
        }
        if ahead(self.reserve, head) < need || !self.announced {
            let part = (self.capacity / PARTS).max(1);
            let further = need.max(part).max(ahead(self.reserve, head));
            self.reserve = head.wrapping_add(further);
            self.announced = true;
            // Release: who sees the reserve sees by `gated` whether it is held against it.
            self.control.reserve().store(self.reserve, Ordering::Release);
            // SeqCst fence, twice needed. As a release: no message below becomes visible before
            // the reserve above, or a reader would confirm what it saw torn. As the half of a
            // Dekker pair with `ReaderPlace::take`: either we see the new reader below, or it sees
            // this reserve and begins where we cannot overtake it.
            fence(Ordering::SeqCst);
        }
        if self.policy == Policy::Overwrite {
            self.allowed = self.reserve;
            return Ok(());
        }
        let mut room = self.room(head);
        if room < need && self.policy == Policy::Evict {
            self.evict(head, need);
            room = self.room(head);
        }
        if room < need {
            if self.policy == Policy::DropNewest {
                count(self.control.dropped(), 1);
            }
            return Err(Full);
        }
        self.allowed = head.wrapping_add(room.min(ahead(self.reserve, head)));
        Ok(())
    }

    /// What is free beyond `head` by the slowest reader.
    fn room(&self, head: u64) -> u64 {
        let cursors = self.control.places().filter_map(|(cursor, state)| {
            // Acquire: pairs with the release in `ReaderPlace::drop`: its loads are over.
            let active = state.load(Ordering::Acquire) == ACTIVE;
            // Acquire: pairs with the release in `ReaderPlace::report`: its loads below are over.
            active.then(|| cursor.load(Ordering::Acquire))
        });
        cursors.map(|at| self.capacity.saturating_sub(ahead(head, at))).min().unwrap_or(u64::MAX)
    }

    fn evict(&self, head: u64, need: u64) {
        for (cursor, state) in self.control.places() {
            // Relaxed: whom we evict by mistake has just reported, which costs it its place but
            // nothing else.
            let behind = ahead(head, cursor.load(Ordering::Relaxed));
            let slow = self.capacity.saturating_sub(behind) < need;
            if slow
                && state
                    .compare_exchange(ACTIVE, EVICTED, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                count(self.control.evicted(), 1);
            }
        }
        // Release fence: no message below becomes visible before the evictions above, or an evicted
        // reader would believe that it still holds what we overwrite.
        fence(Ordering::Release);
    }
}

/// How far `position` is beyond `behind`; 0 when it is not (positions that a peer made up wrap to
/// something enormous, which reads as "far behind", and holds the peer back rather than us).
#[inline]
pub(crate) const fn ahead(position: u64, behind: u64) -> u64 {
    position.wrapping_sub(behind)
}

/// A registered reader's place: the writer waits for it.
#[derive(Debug)]
pub(crate) struct ReaderPlace<'m> {
    cursor: &'m AtomicU64,
    state: &'m AtomicU64,
}

impl<'m> ReaderPlace<'m> {
    /// Takes the place of this number, which must be nobody's, and begins at the position
    /// that `begin` chooses; `begin` is asked again while the writer overtakes the choice.
    pub(crate) fn take(
        control: &Control<'m>,
        place: usize,
        capacity: u64,
        begin: impl Fn() -> u64,
    ) -> Result<(Self, u64), RingError> {
        let words: &[AtomicU64; PAIR_WORDS] = control.reader_place(place)?;
        let place = Self { cursor: &words[0], state: &words[1] };
        words[2].store(0, Ordering::Relaxed);
        // A writer in full flow overtakes a choice now and then, and never so often.
        for _ in 0..CHOICES_MAX {
            let at = begin();
            place.cursor.store(at, Ordering::Relaxed);
            place.state.store(ACTIVE, Ordering::Relaxed);
            // SeqCst fence: the other half of the Dekker pair in `Gate::advance`. Relaxed above: a
            // writer that sees the place taken but not yet its cursor stays, until its next such
            // fence, within the reserve that we look at below.
            fence(Ordering::SeqCst);
            let reserve = control.reserve().load(Ordering::Relaxed);
            if ahead(reserve, at) <= capacity {
                return Ok((place, at));
            }
            taut_sync::spin_loop();
        }
        Err(RingError::Unsteady)
    }

    /// Everything below is read.
    #[inline]
    pub(crate) fn report(&self, position: u64) {
        // Release: our loads are over before the writer sees the room.
        self.cursor.store(position, Ordering::Release);
    }

    /// Whether the writer still waits for this reader.
    pub(crate) fn is_held(&self) -> bool {
        // Relaxed: the reader's acquire fence stands before.
        self.state.load(Ordering::Relaxed) == ACTIVE
    }
}

impl Drop for ReaderPlace<'_> {
    fn drop(&mut self) {
        // Release: our loads are over before the writer sees the place free.
        self.state.store(FREE, Ordering::Release);
    }
}

/// A reader's view of what it may still believe.
#[derive(Debug)]
pub(crate) struct ReaderGate<'m> {
    control: Control<'m>,
    place: Option<ReaderPlace<'m>>,
    lost: Option<&'m AtomicU64>,
    capacity: u64,
    epoch: u64,
    reported: u64,
    /// Where it last found nothing, and how often it pauses when it does again.
    caught_up: u64,
    pauses: u64,
    part: u64,
}

/// How often a reader chooses where to begin.
const CHOICES_MAX: u32 = 10_000;
/// The longest pause of a reader that has caught up, in processor pauses.
const PAUSES_MAX: u64 = 64;

/// What a reader learned when it confirmed what it had copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It stands.
    Sound,
    /// The writer overtook the reader.
    Lapped,
    /// It stands, but it is the first of a new writer.
    NewEpoch(u64),
}

impl<'m> ReaderGate<'m> {
    /// An unregistered reader: it writes nothing and may be overtaken.
    pub(crate) fn passive(control: Control<'m>, capacity: u64, at: u64) -> Self {
        let epoch = control.epoch().load(Ordering::Relaxed);
        let part = (capacity / PARTS).max(1);
        Self {
            control,
            place: None,
            lost: None,
            capacity,
            epoch,
            reported: at,
            caught_up: at,
            pauses: 1,
            part,
        }
    }

    /// A registered reader.
    pub(crate) fn registered(
        control: Control<'m>,
        place: usize,
        capacity: u64,
        begin: impl Fn() -> u64,
    ) -> Result<(Self, u64), RingError> {
        let (reader, at) = ReaderPlace::take(&control, place, capacity, begin)?;
        let lost = control.reader_place(place)?.get(2);
        Ok((Self { place: Some(reader), lost, ..Self::passive(control, capacity, at) }, at))
    }

    /// Confirms what was copied from `position`.
    #[inline]
    pub(crate) fn confirm(&mut self, position: u64) -> Verdict {
        // Acquire fence: the loads of the message stay above the look at the reserve, and pair with
        // the writer's fence below its reserve: a torn message means that the reserve is seen.
        fence(Ordering::Acquire);
        if self.is_lapped(position) {
            return Verdict::Lapped;
        }
        let epoch = self.control.epoch().load(Ordering::Relaxed);
        if epoch == self.epoch {
            return Verdict::Sound;
        }
        self.epoch = epoch;
        Verdict::NewEpoch(epoch)
    }

    /// Whether the writer may have overwritten `position`.
    #[inline]
    pub(crate) fn is_lapped(&self, position: u64) -> bool {
        let reserve = self.control.reserve().load(Ordering::Relaxed);
        let behind = ahead(reserve, position);
        behind > self.capacity && !self.is_held()
    }

    /// Everything below `position` is read: reports it to the writer, a part at a time.
    #[inline]
    pub(crate) fn passed(&mut self, position: u64) {
        if ahead(position, self.reported) >= self.part {
            self.report(position);
        }
    }

    /// Reports what is read so far.
    #[inline]
    pub(crate) fn report(&mut self, position: u64) {
        if position != self.reported {
            self.reported = position;
            if let Some(place) = &self.place {
                place.report(position);
            }
        }
    }

    /// The reader has read everything: it reports that, and pauses for a moment, because a writer
    /// in full flow would else lose each line to us while it writes it, and have to fetch it back.
    /// The pause is some tens of nanoseconds, less than a message takes from core to core; it
    /// doubles while there is something behind every pause, up to a few microseconds, and begins
    /// anew as soon as there is nothing.
    #[inline]
    pub(crate) fn caught_up(&mut self, position: u64) {
        if position == self.caught_up {
            self.pauses = 1;
            return;
        }
        self.caught_up = position;
        self.report(position);
        (0..self.pauses).for_each(|_| taut_sync::spin_loop());
        // A small ring would be full, or its reader overtaken, meanwhile.
        let pauses_max = (self.part / 2).clamp(1, PAUSES_MAX);
        self.pauses = (2 * self.pauses).min(pauses_max);
    }

    /// Notes a loss where others can see it.
    pub(crate) fn note_lost(&self, by: u64) {
        if let Some(word) = self.lost {
            count(word, by);
        }
    }

    /// Whether the writer waits for this reader: it registered, and was not evicted.
    #[cold]
    pub(crate) fn is_held(&self) -> bool {
        // Acquire fence: pairs with the release of the reserve that was just seen.
        fence(Ordering::Acquire);
        let gated = self.control.gated().load(Ordering::Relaxed) != 0;
        gated && self.place.as_ref().is_some_and(ReaderPlace::is_held)
    }

    /// Whether loom is to check that the writer waits for this reader, for good. Without the fence
    /// of [`ReaderGate::is_held`], which would order what the check is about.
    #[inline]
    pub(crate) fn is_asserted(&self) -> bool {
        let relaxed = |word: &AtomicU64| word.load(Ordering::Relaxed);
        cfg!(loom)
            && relaxed(self.control.gated()) == WAITS
            && self.place.as_ref().is_some_and(|place| relaxed(place.state) == ACTIVE)
    }

    /// The epoch of the last message.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }
}
