//! The loop's table of sources, and the queues of those that have something to do.

use alloc::boxed::Box;

use taut_sys::{Address, StreamOptions, SysError};

use crate::admission::{AdmissionCounters, AdmissionTable, Place};
use crate::error::{IoError, Misuse};
use crate::handle::{Handle, TimerId};
use crate::outgoing::Outgoing;

/// Classes of priority; 0 is served first.
pub const PRIORITIES: usize = 4;
/// The queues behind those of the priorities, of strangers whose handshake goes on, of those that
/// have sent a part of its beginning, and of those that have sent nothing.
const HEARD_STRANGERS: usize = PRIORITIES;
const SLOW_STRANGERS: usize = PRIORITIES + 1;
const SILENT_STRANGERS: usize = PRIORITIES + 2;
/// Listeners that strangers come to: nobody is let in before those who are there had their turn.
pub const ARRIVALS: usize = PRIORITIES + 3;
/// Queues that have a share of each turn, in this order.
pub const QUEUES: usize = PRIORITIES + 4;
/// Behind them: the next turn.
const POSTPONED: usize = QUEUES;

/// Completions of a turn that a queue may have of the `most` of a class. Who has proved itself
/// waits for strangers, each of whom may cost a signature.
pub const fn share(queue: usize, most: usize) -> usize {
    let strangers = match queue {
        HEARD_STRANGERS => 64,
        SLOW_STRANGERS => 4,
        SILENT_STRANGERS | ARRIVALS => 16,
        _ => most,
    };
    if strangers < most { strangers } else { most }
}

pub(crate) const NONE: u32 = u32::MAX;
/// A stale handle, as a call on a hot path says it: `EBADF`.
pub(crate) const STALE: SysError = SysError::from_errno("source", 9);

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Free,
    Listener,
    Connecting,
    Stream,
    Datagram,
}

/// How far a stranger has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing has come from it.
    Silent,
    /// What came does not begin its handshake, as its owner says.
    NotBegun,
    Heard,
}

/// How far the sending half has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Open,
    /// Shut down once all is sent.
    Ending,
    ShutDown,
}

/// A source's place in the table.
#[derive(Debug)]
pub(crate) struct Source {
    pub generation: u32,
    pub kind: Kind,
    pub priority: u8,
    queued: bool,
    next: u32,
    pub readable: bool,
    pub writable: bool,
    /// The kernel took less than everything: it will say when it takes more.
    pub blocked: bool,
    pub receiving: bool,
    /// Its owner reads it, and is told when there is something.
    pub watched: bool,
    pub ended: bool,
    /// The kernel says that the peer sends no more; what it has sent may still wait to be read.
    pub peer_ended: bool,
    /// It may give way: what comes from it is a step.
    pub is_stranger: bool,
    /// How far it has come while it was a stranger.
    pub step: Step,
    /// Close when everything is sent and the peer has ended too.
    pub graceful: bool,
    pub sending: Sending,
    /// A receive (or accept) that must complete as failed.
    pub receive_fault: Option<IoError>,
    /// Writes that must complete as failed.
    pub write_fault: Option<IoError>,
    /// It must close; a graceful end has no reason.
    pub closing: Option<Option<IoError>>,
    pub receive_deadline: Option<TimerId>,
    pub write_deadline: Option<TimerId>,
    /// For connecting, for the graceful end, and for the handshakes of a listener's streams.
    pub life_deadline: Option<TimerId>,
    pub out: Outgoing,
    /// For what a listener accepts.
    pub options: StreamOptions,
    pub peer: Option<Address>,
    /// A listener's.
    pub admissions: Option<Box<AdmissionTable>>,
    /// Of a stream that a listener let in.
    pub place: Option<Place>,
}

impl Source {
    fn new(next: u32) -> Self {
        Self {
            generation: 0,
            kind: Kind::Free,
            priority: 0,
            queued: false,
            next,
            readable: false,
            writable: false,
            blocked: false,
            receiving: false,
            watched: false,
            ended: false,
            peer_ended: false,
            is_stranger: false,
            step: Step::Silent,
            graceful: false,
            sending: Sending::Open,
            receive_fault: None,
            write_fault: None,
            closing: None,
            receive_deadline: None,
            write_deadline: None,
            life_deadline: None,
            out: Outgoing::default(),
            options: StreamOptions::default(),
            peer: None,
            admissions: None,
            place: None,
        }
    }

    fn reset(&mut self, kind: Kind, priority: u8) {
        let out = core::mem::take(&mut self.out);
        let (generation, queued, next) = (self.generation, self.queued, self.next);
        *self = Self { generation, queued, next, kind, priority, out, ..Self::new(NONE) };
    }

    /// The queue in which it waits for a visit.
    #[inline]
    fn queue(&self) -> usize {
        if self.closing.is_some() {
            // It gives a place back.
            return self.priority as usize;
        }
        match (self.is_stranger, self.step) {
            (false, _) if self.admissions.as_ref().is_some_and(|it| it.has_strangers()) => ARRIVALS,
            (false, _) => self.priority as usize,
            (true, Step::Heard) => HEARD_STRANGERS,
            (true, Step::NotBegun) => SLOW_STRANGERS,
            (true, Step::Silent) => SILENT_STRANGERS,
        }
    }

    /// Whether a visit would find something to do.
    pub fn has_work(&self) -> bool {
        self.closing.is_some()
            || self.receive_fault.is_some()
            || self.write_fault.is_some()
            || self.out.has_sent()
            || (self.writable && (self.kind == Kind::Connecting || self.blocked))
            || (self.readable && (self.receiving || self.watched || self.kind == Kind::Listener))
    }
}

/// A queue of places.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// All sources of a loop.
#[derive(Debug)]
pub(crate) struct Sources {
    table: Box<[Source]>,
    free: u32,
    open: usize,
    /// Those that have a share of each turn, and the one of the next turn.
    queues: [Queue; QUEUES + 1],
}

impl Sources {
    pub fn new(sources_max: usize) -> Self {
        let count = u32::try_from(sources_max).unwrap_or(NONE - 1).min(NONE - 1);
        let next = |index| if index + 1 < count { index + 1 } else { NONE };
        Self {
            table: (0..count).map(|index| Source::new(next(index))).collect(),
            free: if count == 0 { NONE } else { 0 },
            open: 0,
            queues: [Queue { first: NONE, last: NONE }; QUEUES + 1],
        }
    }

    /// Open sources.
    pub const fn open(&self) -> usize {
        self.open
    }

    /// The place that `insert` takes next.
    pub fn vacant(&self) -> Option<u32> {
        (self.free != NONE).then_some(self.free)
    }

    /// Opens the vacant place.
    pub fn insert(&mut self, kind: Kind, priority: u8) -> Handle {
        let index = self.free;
        let source = &mut self.table[index as usize];
        self.free = source.next;
        source.next = NONE;
        source.queued = false;
        source.reset(kind, priority.min(PRIORITIES as u8 - 1));
        self.open += 1;
        Handle { index, generation: source.generation }
    }

    /// Closes a place; its handles become stale. It is in no queue.
    pub fn remove(&mut self, index: u32) {
        if let Some(place) = self.table[index as usize].place.take()
            && let Some(table) = self.admissions(place.listener)
        {
            table.release(place.slot);
        }
        let source = &mut self.table[index as usize];
        source.reset(Kind::Free, 0);
        source.out.give_back();
        source.generation = source.generation.wrapping_add(1);
        source.next = self.free;
        self.free = index;
        self.open -= 1;
    }

    /// As `remove`, for a place that may be queued: its queue forgets it.
    pub fn remove_queued(&mut self, index: u32) {
        if self.table[index as usize].queued {
            for queue in 0..=QUEUES {
                self.unqueue(index, queue);
            }
        }
        self.remove(index);
    }

    /// The slots of a listener that is open.
    pub fn admissions(&mut self, listener: Handle) -> Option<&mut AdmissionTable> {
        self.get(listener).ok()?.admissions.as_deref_mut()
    }

    /// What a listener counted.
    pub fn admission_counters(&self, listener: Handle) -> Result<AdmissionCounters, IoError> {
        self.check(listener).map_err(|_| IoError::Misuse(Misuse::StaleHandle))?;
        let source = self.table.get(listener.index as usize);
        let table = source.and_then(|source| source.admissions.as_deref());
        Ok(table.map_or(AdmissionCounters::default(), AdmissionTable::counters))
    }

    /// The loop has no place left: a stranger of another listener that gives way.
    pub fn make_room(&mut self, but: Handle) -> Option<Handle> {
        let others = self.table.iter_mut().enumerate().filter(|(at, _)| *at != but.index as usize);
        let mut tables = others.filter_map(|(_, source)| source.admissions.as_deref_mut());
        tables.find_map(|table| table.make_room(None))
    }

    /// There is room again: listeners look once more.
    pub fn wake_listeners(&mut self) {
        for index in 0..self.table.len() as u32 {
            if self.table[index as usize].kind == Kind::Listener {
                self.table[index as usize].readable = true;
                self.queue(index);
            }
        }
    }

    fn unqueue(&mut self, index: u32, queue: usize) {
        let (mut previous, mut at) = (NONE, self.queues[queue].first);
        while at != NONE {
            let next = self.table[at as usize].next;
            if at == index {
                match self.table.get_mut(previous as usize) {
                    Some(before) => before.next = next,
                    None => self.queues[queue].first = next,
                }
                if next == NONE {
                    self.queues[queue].last = previous;
                }
                return;
            }
            (previous, at) = (at, next);
        }
    }

    /// The source of a handle.
    #[inline]
    pub fn get(&mut self, handle: Handle) -> Result<&mut Source, IoError> {
        match self.table.get_mut(handle.index as usize) {
            Some(source) if source.generation == handle.generation && source.kind != Kind::Free => {
                Ok(source)
            }
            _ => Err(IoError::Misuse(Misuse::StaleHandle)),
        }
    }

    /// Whether a handle is not stale, for calls that need no more of its source: the kernel knows
    /// nothing at a place that was never opened.
    #[inline(always)]
    pub fn check(&self, handle: Handle) -> Result<(), SysError> {
        match self.table.get(handle.index as usize) {
            Some(source) if source.generation == handle.generation => Ok(()),
            _ => Err(STALE),
        }
    }

    /// The source at a place, open or not.
    #[inline]
    pub fn at(&mut self, index: u32) -> Option<&mut Source> {
        self.table.get_mut(index as usize)
    }

    /// The handle of a place.
    #[inline]
    pub fn handle(&self, index: u32) -> Handle {
        let generation = self.table.get(index as usize).map_or(0, |source| source.generation);
        Handle { index, generation }
    }

    /// Queues a place for a visit, once, behind the others of its priority; a stranger behind those
    /// that have come as far.
    #[inline]
    pub fn queue(&mut self, index: u32) {
        let queue = self.table.get(index as usize).map_or(0, Source::queue);
        self.queue_in(index, queue);
    }

    /// As `queue`, for the next turn.
    pub fn postpone(&mut self, index: u32) {
        self.queue_in(index, POSTPONED);
    }

    /// A turn ends: what was postponed has its place among the others of its priority.
    pub fn resume_postponed(&mut self) {
        while let Some(index) = self.pop(POSTPONED) {
            self.queue(index);
        }
    }

    #[inline]
    fn queue_in(&mut self, index: u32, queue: usize) {
        let Some(source) = self.table.get_mut(index as usize) else { return };
        if source.queued || source.kind == Kind::Free {
            return;
        }
        source.queued = true;
        source.next = NONE;
        let queue = &mut self.queues[queue];
        let last = core::mem::replace(&mut queue.last, index);
        match self.table.get_mut(last as usize) {
            Some(before) => before.next = index,
            None => queue.first = index,
        }
    }

    /// Whether nobody is let in yet: somebody who is there has not had a turn.
    pub const fn arrivals_wait(&self) -> bool {
        self.queues[SILENT_STRANGERS].first != NONE
    }

    /// Takes the first place of a queue.
    #[inline]
    pub fn pop(&mut self, queue: usize) -> Option<u32> {
        let queue = &mut self.queues[queue];
        let index = queue.first;
        let source = self.table.get_mut(index as usize)?;
        source.queued = false;
        queue.first = core::mem::replace(&mut source.next, NONE);
        if queue.first == NONE {
            queue.last = NONE;
        }
        Some(index)
    }

    /// Whether any place waits for a visit that would find something to do. Those whose owner has
    /// read everything meanwhile leave the queue.
    #[inline]
    pub fn any_with_work(&mut self) -> bool {
        (0..QUEUES).any(|queue| {
            while let Some(first) = self.table.get(self.queues[queue].first as usize) {
                if first.has_work() {
                    return true;
                }
                self.pop(queue);
            }
            false
        })
    }
}
