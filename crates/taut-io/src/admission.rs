//! Whom a listener lets in, and for how long: slots by source address and in all.
//!
//! A connection is a stranger until its owner [proves](crate::Io::prove) it: its handshake or its
//! Logon is over. A stranger has a deadline that no byte of it moves, and gives way when a slot is
//! wanted: a stranger of the source that has most of them. Who has proved itself is never evicted;
//! where all slots, or all of a source's, are taken by such, the newcomer is refused.
//!
//! A source's strangers are told apart by how far they have come: silent, heard once, twice, three
//! times or more, and [at rest](crate::Io::rest) between two requests, for the first time or again.
//! Of the steps the one with most strangers loses the one who has been there longest. So a flood
//! that stops at some step of a handshake evicts itself, and those that go on beside it, from the
//! same address, are spared.
//!
//! The table is pure: it knows no socket and reads no clock. Its memory is taken when the listener
//! is opened. A decision costs a look at every slot, and is made once per connection.

use alloc::boxed::Box;
use core::cmp::Reverse;
use core::fmt;
use core::net::IpAddr;
use core::ops::Add;

use taut_types::{Host, Nanos};

use crate::handle::Handle;

/// What a listener's connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Connections at a time, strangers included; at most what the loop has sources.
    pub connections_max: usize,
    /// Of one source: an IPv4 address, or an IPv6 network of 64 bits. A Unix socket's peers have
    /// none.
    pub per_source_max: usize,
    /// From being accepted to being proved. `None` for a protocol without a handshake, whose
    /// connections are as good as they will ever be when they are accepted.
    pub handshake_timeout: Option<Nanos>,
}

impl Admission {
    /// Any number of connections, which are proved when they are accepted: for tests, and where
    /// whoever can reach the listener is trusted.
    pub const OPEN: Self =
        Self { connections_max: usize::MAX, per_source_max: usize::MAX, handshake_timeout: None };

    /// So many connections, of which one source has half, and so long for each handshake.
    #[must_use]
    pub const fn new(connections_max: usize, handshake_timeout: Nanos) -> Self {
        let per_source_max = connections_max.div_ceil(2);
        Self { connections_max, per_source_max, handshake_timeout: Some(handshake_timeout) }
    }
}

/// What a listener counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionCounters {
    /// Connections that were let in.
    pub admitted: u64,
    /// Of those, that have proved themselves.
    pub proved: u64,
    /// Closed as they came: all slots, or all of their source's, were taken by proved ones.
    pub refused: u64,
    /// Strangers that gave way to a newcomer.
    pub evicted: u64,
    /// Strangers that were not proved in time, and connections that were at rest for too long.
    pub late: u64,
}

impl AdmissionCounters {
    /// Who was refused, gave way or was late.
    #[must_use]
    pub const fn turned_away(&self) -> u64 {
        self.refused + self.evicted + self.late
    }
}

/// Of several listeners together.
impl Add for AdmissionCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            admitted: self.admitted + other.admitted,
            proved: self.proved + other.proved,
            refused: self.refused + other.refused,
            evicted: self.evicted + other.evicted,
            late: self.late + other.late,
        }
    }
}

/// Who was turned away, for an operator to read.
impl fmt::Display for AdmissionCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused, evicted, late, .. } = self;
        write!(f, "{refused} beyond the slots, {evicted} gave way, {late} were late")
    }
}

/// Where a connection comes from; nowhere when it came by a Unix socket.
type Source = Option<Host>;

/// Steps of strangers: from silent to heard three times, at rest, and at rest again.
const STEPS: usize = 6;
/// So often heard, and more often.
const HEARD_MAX: u8 = 3;
const AT_REST: u8 = 4;
const AT_REST_AGAIN: u8 = 5;

/// A source with connections; free without any.
#[derive(Clone, Copy, Debug)]
struct Origin {
    source: Source,
    connections: u32,
    /// At each step.
    strangers: [u32; STEPS],
}

impl Origin {
    /// Strangers at a step.
    fn at(&mut self, step: u8) -> &mut u32 {
        &mut self.strangers[usize::from(step)]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Free,
    /// At a step.
    Stranger(u8),
    Proved,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    standing: Standing,
    stream: Handle,
    /// Its place among the origins.
    origin: usize,
    /// Of the step that it took last.
    serial: u64,
    deadline: Nanos,
    /// It has proved itself, if only for a time.
    was_proved: bool,
    has_rested: bool,
}

impl Slot {
    /// The step at which a stranger is.
    const fn step(&self) -> Option<u8> {
        if let Standing::Stranger(step) = self.standing { Some(step) } else { None }
    }
}

/// The slot of a stream that a listener let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub listener: Handle,
    pub slot: usize,
}

/// A newcomer was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    pub slot: usize,
    /// The stranger that gave way to it, and has no slot any more.
    pub instead_of: Option<Handle>,
}

/// The slots of one listener.
#[derive(Debug)]
pub(crate) struct AdmissionTable {
    limits: Admission,
    slots: Box<[Slot]>,
    origins: Box<[Origin]>,
    taken: usize,
    /// Steps that strangers have taken.
    serials: u64,
    counters: AdmissionCounters,
    /// When the loop looks for those who are late.
    pub looks_at: Nanos,
}

impl AdmissionTable {
    /// Of a loop with so many sources.
    pub fn new(limits: &Admission, sources_max: usize) -> Self {
        let count = limits.connections_max.min(sources_max);
        let nobody = Handle { index: u32::MAX, generation: 0 };
        let slot = Slot {
            standing: Standing::Free,
            stream: nobody,
            origin: 0,
            serial: 0,
            deadline: Nanos::MAX,
            was_proved: false,
            has_rested: false,
        };
        let origin = Origin { source: None, connections: 0, strangers: [0; STEPS] };
        Self {
            limits: *limits,
            slots: alloc::vec![slot; count].into(),
            origins: alloc::vec![origin; count].into(),
            taken: 0,
            serials: 0,
            counters: AdmissionCounters::default(),
            looks_at: Nanos::MAX,
        }
    }

    /// Lets a connection in, in place of a stranger if there is no other slot; `None` refuses it.
    pub fn admit(&mut self, now: Nanos, from: Option<IpAddr>, stream: Handle) -> Option<Admitted> {
        let source = from.map(Host::of);
        let known = self.origins.iter().position(|it| it.connections > 0 && it.source == source);
        let has_its_share = known.is_some_and(|at| {
            source.is_some() && self.origins[at].connections as usize >= self.limits.per_source_max
        });
        let mut instead_of = None;
        if has_its_share || self.taken == self.slots.len() {
            let only = if has_its_share { known } else { None };
            let Some(at) = self.who_gives_way(only, None) else {
                self.counters.refused += 1;
                return None;
            };
            instead_of = Some(self.evict(at));
        }
        let slot = self.slots.iter().position(|slot| slot.standing == Standing::Free)?;
        let known = known.filter(|at| self.origins[*at].connections > 0);
        let origin = known.or_else(|| self.origins.iter().position(|it| it.connections == 0))?;
        let timeout = self.limits.handshake_timeout;
        let is_stranger = timeout.is_some();
        let entry = &mut self.origins[origin];
        entry.source = source;
        entry.connections += 1;
        *entry.at(0) += u32::from(is_stranger);
        self.serials += 1;
        self.slots[slot] = Slot {
            standing: if is_stranger { Standing::Stranger(0) } else { Standing::Proved },
            stream,
            origin,
            serial: self.serials,
            deadline: timeout.map_or(Nanos::MAX, |span| Nanos(now.0.saturating_add(span.0))),
            was_proved: !is_stranger,
            has_rested: false,
        };
        self.taken += 1;
        self.counters.admitted += 1;
        self.counters.proved += u64::from(!is_stranger);
        Some(Admitted { slot, instead_of })
    }

    /// The loop has no place left: the stranger that gives way to whoever comes next, if there is
    /// one besides `newcomer`.
    pub fn make_room(&mut self, newcomer: Option<usize>) -> Option<Handle> {
        let at = self.who_gives_way(None, newcomer)?;
        Some(self.evict(at))
    }

    /// Something came from a connection: a stranger takes a step, up to the last.
    pub fn hear(&mut self, slot: usize) {
        if let Some(&Slot { standing: Standing::Stranger(step @ ..HEARD_MAX), .. }) =
            self.slots.get(slot)
        {
            self.move_to(slot, Standing::Stranger(step + 1));
        }
    }

    /// A connection has proved itself.
    pub fn prove(&mut self, slot: usize) {
        if let Some(&Slot { standing: Standing::Stranger(_), .. }) = self.slots.get(slot) {
            self.move_to(slot, Standing::Proved);
            let was_proved = core::mem::replace(&mut self.slots[slot].was_proved, true);
            self.counters.proved += u64::from(!was_proved);
        }
    }

    /// A connection waits for nothing: until it is proved again it gives way like a stranger, and
    /// is late at `deadline`.
    pub fn rest(&mut self, slot: usize, deadline: Nanos) {
        if self.slots.get(slot).is_some_and(|slot| slot.standing != Standing::Free) {
            let again = core::mem::replace(&mut self.slots[slot].has_rested, true);
            let step = if again { AT_REST_AGAIN } else { AT_REST };
            self.move_to(slot, Standing::Stranger(step));
            self.slots[slot].deadline = deadline;
        }
    }

    /// A connection is gone.
    pub fn release(&mut self, slot: usize) {
        if self.slots.get(slot).is_some_and(|slot| slot.standing != Standing::Free) {
            self.move_to(slot, Standing::Free);
            self.origins[self.slots[slot].origin].connections -= 1;
            self.taken -= 1;
        }
    }

    /// A connection that was let in cannot stay.
    pub fn refuse(&mut self, slot: usize) {
        self.release(slot);
        self.counters.refused += 1;
    }

    /// Takes the slot of a stranger whose time is up.
    pub fn pop_late(&mut self, now: Nanos) -> Option<Handle> {
        let is_late = |slot: &Slot| slot.step().is_some() && now >= slot.deadline;
        let at = self.slots.iter().position(is_late)?;
        self.counters.late += 1;
        let stream = self.slots[at].stream;
        self.release(at);
        Some(stream)
    }

    /// When the next stranger's time is up.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let strangers = self.slots.iter().filter(|slot| slot.step().is_some());
        strangers.map(|slot| slot.deadline).min()
    }

    /// Whether who comes is a stranger at first.
    pub const fn has_strangers(&self) -> bool {
        self.limits.handshake_timeout.is_some()
    }

    pub const fn counters(&self) -> AdmissionCounters {
        self.counters
    }

    /// Of this origin, or of the one that has most strangers: who has been longest at the step at
    /// which most of them are.
    fn who_gives_way(&self, only: Option<usize>, except: Option<usize>) -> Option<usize> {
        let strangers = self.slots.iter().enumerate().filter_map(|(at, slot)| {
            let origin = &self.origins[slot.origin];
            let beside_it = origin.strangers[usize::from(slot.step()?)];
            let may = Some(at) != except && only.is_none_or(|only| slot.origin == only);
            let all: u32 = origin.strangers.iter().sum();
            may.then_some((Reverse(all), Reverse(beside_it), slot.serial, at))
        });
        strangers.min().map(|(.., at)| at)
    }

    /// Gives a connection another standing, from now on.
    fn move_to(&mut self, slot: usize, standing: Standing) {
        self.serials += 1;
        let slot = &mut self.slots[slot];
        let origin = &mut self.origins[slot.origin];
        if let Standing::Stranger(step) = slot.standing {
            *origin.at(step) -= 1;
        }
        (slot.standing, slot.serial) = (standing, self.serials);
        if let Standing::Stranger(step) = standing {
            *origin.at(step) += 1;
        }
    }

    fn evict(&mut self, slot: usize) -> Handle {
        self.counters.evicted += 1;
        let stream = self.slots[slot].stream;
        self.release(slot);
        stream
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use proptest::prelude::*;
    use std::vec::Vec;

    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn host(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn stream(index: u32) -> Handle {
        Handle { index, generation: 0 }
    }

    fn table(connections_max: usize, per_source_max: usize) -> AdmissionTable {
        let limits = Admission { connections_max, per_source_max, handshake_timeout: Some(SECOND) };
        AdmissionTable::new(&limits, 1024)
    }

    fn admit(table: &mut AdmissionTable, from: u32, number: u32) -> Option<Admitted> {
        table.admit(Nanos::ZERO, host(from), stream(number))
    }

    #[test]
    fn a_flood_from_one_source_evicts_its_own_strangers_and_nobody_elses() {
        let mut table = table(8, 8);
        assert_eq!(admit(&mut table, 1, 0), Some(Admitted { slot: 0, instead_of: None }));
        for number in 1..1_000 {
            let evicted = admit(&mut table, 2, number).expect("room").instead_of;
            // Seven slots are left to the flood, and its oldest goes first.
            assert_eq!(evicted, number.checked_sub(7).filter(|it| *it > 0).map(stream));
        }
        assert_eq!(table.counters().evicted, 999 - 7);
        table.prove(0);
        assert_eq!(table.counters().proved, 1);
    }

    #[test]
    fn who_goes_on_is_spared_while_a_flood_from_its_own_address_stops_at_any_step() {
        for flood_stops_at in 0..4 {
            let mut table = table(64, 32);
            let mut number = 0;
            let mut flood = |table: &mut AdmissionTable, count| {
                for _ in 0..count {
                    number += 1;
                    let slot = admit(table, 1, number).expect("room").slot;
                    (0..flood_stops_at).for_each(|_| table.hear(slot));
                }
            };
            flood(&mut table, 100);
            let good = admit(&mut table, 1, 0).expect("room").slot;
            // Between two of its steps come as many as there are slots for its source, nearly.
            for _ in 0..4 {
                flood(&mut table, 30);
                table.hear(good);
            }
            table.prove(good);
            assert_eq!(table.slots[good].stream, stream(0), "stops at {flood_stops_at}");
            assert_eq!(table.counters().proved, 1, "stops at {flood_stops_at}");
        }
    }

    #[test]
    fn the_silent_do_not_evict_those_who_speak_however_many_they_are() {
        let mut table = table(64, 32);
        let good = admit(&mut table, 1, 0).expect("room").slot;
        table.hear(good);
        for number in 1..10_000 {
            let victim = admit(&mut table, 1, number).expect("room").instead_of;
            assert_ne!(victim, Some(stream(0)));
        }
    }

    #[test]
    fn who_comes_back_to_ask_is_spared_by_those_who_ask_once_and_stay() {
        let mut table = table(64, 32);
        let good = admit(&mut table, 1, 0).expect("room").slot;
        for _ in 0..2 {
            table.prove(good);
            table.rest(good, SECOND);
        }
        for number in 1..1_000 {
            let admitted = admit(&mut table, 1, number).expect("room");
            assert_ne!(admitted.instead_of, Some(stream(0)));
            table.prove(admitted.slot);
            table.rest(admitted.slot, SECOND);
        }
    }

    #[test]
    fn a_connection_at_rest_gives_way_to_a_newcomer_and_has_a_deadline_until_it_is_proved_again() {
        let mut table = table(4, 4);
        for number in 0..4 {
            let slot = admit(&mut table, 1, number).expect("room").slot;
            table.prove(slot);
            table.rest(slot, SECOND + Nanos(number.into()));
        }
        // It asked once more, so that another has rested longest.
        table.prove(0);
        table.rest(0, SECOND + SECOND);
        let newcomer = admit(&mut table, 1, 4).expect("the longest at rest gives way");
        assert_eq!(newcomer.instead_of, Some(stream(1)));
        table.prove(newcomer.slot);
        assert_eq!(table.pop_late(SECOND + Nanos(2)), Some(stream(2)));
        table.prove(3);
        assert_eq!(table.next_deadline(), Some(SECOND + SECOND));
        assert_eq!(table.pop_late(SECOND + SECOND), Some(stream(0)));
        let counters = table.counters();
        assert_eq!((counters.proved, counters.evicted, counters.late), (5, 1, 2));
    }

    #[test]
    fn who_has_proved_itself_stays_and_a_full_table_refuses() {
        let mut table = table(2, 2);
        for number in 0..2 {
            let admitted = admit(&mut table, number, number).expect("room");
            table.prove(admitted.slot);
        }
        assert_eq!(admit(&mut table, 9, 2), None);
        table.release(0);
        assert_eq!(admit(&mut table, 9, 3), Some(Admitted { slot: 0, instead_of: None }));
        assert_eq!(table.counters().refused, 1);
    }

    #[test]
    fn a_source_has_its_share_and_the_rest_is_for_others() {
        let mut table = table(8, 2);
        for number in 0..2 {
            let admitted = admit(&mut table, 1, number).expect("room");
            table.prove(admitted.slot);
        }
        assert_eq!(admit(&mut table, 1, 2), None);
        assert!(admit(&mut table, 2, 3).is_some());
        // Within its share a source's newcomer takes the place of its own stranger.
        assert!(admit(&mut table, 2, 4).is_some());
        let newcomer = admit(&mut table, 2, 5).expect("its own stranger gives way");
        assert_eq!(newcomer.instead_of, Some(stream(3)));
    }

    #[test]
    fn a_network_of_addresses_is_one_source_and_a_mapped_address_is_its_own() {
        let of = |text: &str| Some(Host::of(text.parse().expect("an address")));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }

    #[test]
    fn a_stranger_is_late_at_its_deadline_and_a_proved_one_never() {
        let mut table = table(4, 4);
        let first = admit(&mut table, 1, 0).expect("room");
        admit(&mut table, 1, 1).expect("room");
        table.prove(first.slot);
        assert_eq!(table.next_deadline(), Some(SECOND));
        assert_eq!(table.pop_late(SECOND - Nanos(1)), None);
        assert_eq!(table.pop_late(SECOND), Some(stream(1)));
        assert_eq!((table.pop_late(SECOND), table.next_deadline()), (None, None));
        assert_eq!(table.counters().late, 1);
    }

    #[test]
    fn peers_of_a_unix_socket_share_all_slots() {
        let mut table = table(4, 1);
        for number in 0..4 {
            let admitted = table.admit(Nanos::ZERO, None, stream(number)).expect("room");
            assert_eq!(admitted.instead_of, None);
        }
    }

    proptest! {
        #[test]
        fn slots_and_shares_are_never_exceeded_and_every_slot_is_given_back(
            steps in proptest::collection::vec((0u8..6, 0u32..5, 0usize..8), 0..400),
        ) {
            let mut table = table(6, 4);
            let mut open: Vec<(usize, Handle, u32, bool)> = Vec::new();
            for (number, (kind, from, at)) in steps.into_iter().enumerate() {
                let at = at % open.len().max(1);
                match kind {
                    0 | 1 => {
                        let newcomer = stream(number as u32);
                        let proved = open.iter().filter(|it| it.3).count();
                        let own = open.iter().filter(|it| it.2 == from && it.3).count();
                        let admitted = table.admit(Nanos::ZERO, host(from), newcomer);
                        // Only who has proved itself can shut others out.
                        prop_assert_eq!(admitted.is_none(), proved == 6 || own == 4);
                        let Some(Admitted { slot, instead_of }) = admitted else { continue };
                        if let Some(victim) = instead_of {
                            let gone = open.iter().position(|it| it.1 == victim).unwrap();
                            prop_assert!(!open.remove(gone).3);
                        }
                        prop_assert!(open.iter().all(|it| it.0 != slot));
                        open.push((slot, newcomer, from, false));
                    }
                    2 if !open.is_empty() => {
                        open[at].3 = true;
                        table.prove(open[at].0);
                    }
                    3 if !open.is_empty() => table.release(open.remove(at).0),
                    4 if !open.is_empty() => table.hear(open[at].0),
                    5 if !open.is_empty() => {
                        open[at].3 = false;
                        table.rest(open[at].0, SECOND);
                    }
                    _ => {}
                }
                prop_assert!(open.len() <= 6 && table.taken == open.len());
                let strangers = table.origins.iter().map(|it| it.strangers.iter().sum::<u32>());
                let expected = open.iter().filter(|it| !it.3).count();
                prop_assert_eq!(strangers.sum::<u32>() as usize, expected);
                for from in 0..5 {
                    prop_assert!(open.iter().filter(|it| it.2 == from).count() <= 4);
                }
            }
        }
    }
}
