//! The clients' places: who is connected, and that nobody is twice.

mod image;
mod sequenced;

use taut_engine::Event;
use taut_fix::{CompId, ExecutionReport, FieldIndex, Now};
use taut_io::{Completion, Handle, Io, Kernel};
use taut_net::Wire;
use taut_types::Nanos;

use crate::connection::{Connection, Request, Terms};
use crate::error::VenueError;
use crate::identity::{ClientId, SessionId};
use crate::journal::{Input, Sequencer};
use crate::observer::Observer;
use crate::orders::SESSIONS_MAX;
use crate::parked::{PARKED_MAX, Parked};
use crate::version::{Answer, FixVersion};

/// What became of a logon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOn {
    /// The client is in.
    First(ClientId),
    /// It was in, and has reset its sequence numbers.
    Again,
    /// Its CompID is logged on from elsewhere, or the venue knows too many others.
    Refused,
}

/// CompIDs that a venue remembers.
const NAMES_MAX: usize = PARKED_MAX;

/// Slots of connections: a stranger that gave way to another has its slot until that is told, which
/// is behind the other's arrival. Two listeners may have as many connections each.
const SLOTS: usize = 2 * 2 * SESSIONS_MAX;

/// Fields of a message.
const FIELDS_MAX: usize = 128;

/// A client that was here.
#[derive(Debug)]
struct Name {
    comp_id: CompId,
    /// Where it is connected.
    slot: Option<usize>,
    /// It was connected when the venue before this one ended, and has not come back.
    was_here: bool,
    /// Its session may use the outgoing numbers below this one: the journal says so.
    reserved: u64,
}

#[derive(Debug)]
struct Slot {
    serial: u64,
    connection: Connection,
}

/// Up to [`SESSIONS_MAX`] connections, and those of which it is still to be told that they left.
#[derive(Debug)]
pub struct Clients {
    terms: Terms,
    /// One message is in work at a time.
    index: FieldIndex,
    slots: Box<[Option<Slot>]>,
    /// Behind these slots all are free: a turn looks no further.
    used: usize,
    /// By the clients' ids.
    names: Vec<Name>,
    parked: Parked,
    /// Writes down what is answered, where there is a journal.
    sequencer: Option<Box<Sequencer>>,
    next_serial: u64,
    /// Whether some connection may have output that was not flushed.
    has_output: bool,
    pub logged_on: u64,
    pub refused: u64,
    pub reports: u64,
}

impl Clients {
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            slots: std::iter::repeat_with(|| None).take(SLOTS).collect(),
            used: 0,
            names: Vec::new(),
            parked: Parked::new(),
            sequencer: None,
            next_serial: 1,
            has_output: false,
            logged_on: 0,
            refused: 0,
            reports: 0,
        }
    }

    /// Gives a new connection a place; whether there was one.
    pub fn accept(&mut self, stream: Handle, tls: Option<Wire>, now: Now) -> bool {
        let free = self.slots.iter().position(Option::is_none);
        let Some((place, slot)) = free.and_then(|at| Some((at, self.slots.get_mut(at)?))) else {
            self.refused += 1;
            return false;
        };
        let connection = Connection::new(stream, tls, self.terms.clone(), now);
        *slot = Some(Slot { serial: self.next_serial, connection });
        self.used = self.used.max(place + 1);
        self.next_serial += 1;
        true
    }

    /// A stream is closed: whether it was a stranger's, whose place is free at once.
    pub fn stranger_left(&mut self, stream: Handle) -> bool {
        let is_it =
            |slot: &mut Slot| slot.connection.stream() == stream && slot.connection.is_stranger();
        let has_left = self.slots.iter_mut().any(|slot| slot.take_if(is_it).is_some());
        self.forget_free();
        has_left
    }

    /// Takes a completion of a connection over TLS; false when it is another source's.
    pub fn decrypt(&mut self, io: &mut Io<impl Kernel>, completion: &Completion<'_>) -> bool {
        let stream = match *completion {
            Completion::Received { stream, .. }
            | Completion::Ended { stream }
            | Completion::Written { stream, .. } => stream,
            Completion::Failed { source, .. } | Completion::Closed { source, .. } => source,
            _ => return false,
        };
        let is_it = |it: &Connection| it.stream() == stream && it.is_over_tls();
        let Some(slot) = self.taken_mut().find(|slot| is_it(&slot.connection)) else {
            return false;
        };
        if !slot.connection.decrypt(io, completion) {
            // The turn would receive on, and nobody takes requests out before its end.
            io.stop();
        }
        self.has_output = true;
        if matches!(completion, Completion::Closed { .. }) {
            self.stranger_left(stream);
        }
        true
    }

    /// How many slots are to be looked at.
    pub const fn used(&self) -> usize {
        self.used
    }

    fn forget_free(&mut self) {
        while self.used > 0 && self.slots.get(self.used - 1).is_none_or(Option::is_none) {
            self.used -= 1;
        }
    }

    fn taken(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().take(self.used).flatten()
    }

    fn taken_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut().take(self.used).flatten()
    }

    /// The connection on a stream.
    pub fn on(&mut self, stream: Handle) -> Option<&mut Connection> {
        self.has_output = true;
        let mut connections = self.taken_mut().map(|slot| &mut slot.connection);
        connections.find(|connection| connection.stream() == stream)
    }

    /// The connection in a place, with its identity.
    pub fn at(&mut self, slot: usize) -> Option<(SessionId, &mut Connection)> {
        let occupied = self.slots.get_mut(slot)?.as_mut()?;
        self.has_output = true;
        Some((SessionId { slot, serial: occupied.serial }, &mut occupied.connection))
    }

    /// What a client wants next.
    pub fn next_request(&mut self, now: Now, session: SessionId) -> Option<Request> {
        let Self { slots, index, has_output, parked, sequencer, .. } = self;
        let slot = slots.get_mut(session.slot)?.as_mut()?;
        *has_output = true;
        slot.connection.next_request(now, index, parked, sequencer.as_deref_mut())
    }

    /// Which client a connection was let in as.
    #[inline]
    pub fn client(&self, session: SessionId) -> Option<ClientId> {
        self.names.iter().position(|name| name.slot == Some(session.slot)).map(ClientId)
    }

    /// The client that has this CompID, if it was here.
    pub fn known_as(&self, comp_id: CompId) -> Option<ClientId> {
        self.names.iter().position(|name| name.comp_id == comp_id).map(ClientId)
    }

    /// The version of FIX in which a client speaks that is connected.
    pub fn version(&self, session: SessionId) -> FixVersion {
        let slot = self.slots.get(session.slot).and_then(Option::as_ref);
        slot.map_or(FixVersion::Fix44, |slot| slot.connection.version())
    }

    /// The CompIDs of all clients that were here, by their ids, and whether each is connected.
    pub fn comp_ids(&self) -> impl Iterator<Item = (CompId, bool)> {
        self.names.iter().map(|name| (name.comp_id, name.slot.is_some()))
    }

    /// Lets a client in, unless its CompID is logged on already.
    pub fn log_on(&mut self, session: SessionId, comp_id: CompId) -> LogOn {
        let known = self.names.iter().position(|name| name.comp_id == comp_id);
        if let Some(at) = known
            && let Some(taken) = self.names[at].slot
        {
            if taken == session.slot {
                return LogOn::Again;
            }
            self.refused += 1;
            return LogOn::Refused;
        }
        if known.is_none() && self.names.len() == NAMES_MAX {
            self.refused += 1;
            return LogOn::Refused;
        }
        let Some(connection) = self.connection(session) else { return LogOn::Refused };
        connection.let_in(comp_id);
        self.logged_on += 1;
        let at = known.unwrap_or_else(|| {
            self.names.push(Name { comp_id, slot: None, was_here: false, reserved: 0 });
            self.names.len() - 1
        });
        (self.names[at].slot, self.names[at].was_here) = (Some(session.slot), false);
        LogOn::First(ClientId(at))
    }

    /// Gives every output to the loop.
    #[inline]
    pub fn flush(&mut self, io: &mut Io<impl Kernel>) {
        if std::mem::take(&mut self.has_output) {
            self.flush_each(io);
        }
    }

    fn flush_each(&mut self, io: &mut Io<impl Kernel>) {
        debug_assert!(
            self.sequencer.as_ref().is_none_or(|sequencer| sequencer.may_tell()),
            "an answer leaves before its input is where it is waited for"
        );
        for slot in self.taken_mut() {
            slot.connection.flush(io);
        }
    }

    /// Closes a connection; which client that was.
    pub fn close(
        &mut self,
        now: Now,
        session: SessionId,
        io: &mut Io<impl Kernel>,
    ) -> Option<ClientId> {
        let place = self.slots.get_mut(session.slot)?;
        let mut slot = place.take_if(|slot| slot.serial == session.serial)?;
        slot.connection.close(io);
        self.refused += u64::from(slot.connection.is_turned_away());
        slot.connection.park(now, &mut self.parked);
        self.forget_free();
        let client = self.client(session);
        if let Some(ClientId(at)) = client {
            self.names[at].slot = None;
        }
        client
    }

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.taken().count()
    }

    /// When a session's clock asks for something.
    pub fn due(&self) -> Option<Nanos> {
        self.taken().filter_map(|slot| slot.connection.timeout()).min()
    }

    fn connection(&mut self, session: SessionId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(session.slot)?.as_mut()?;
        self.has_output = true;
        (slot.serial == session.serial).then_some(&mut slot.connection)
    }
}

/// The clients, the loop that their reports leave by, and who looks on.
pub struct ClientIo<'a, K: Kernel> {
    pub clients: &'a mut Clients,
    pub io: &'a mut Io<K>,
    pub observer: &'a mut dyn Observer<K>,
}

impl<K: Kernel> ClientIo<'_, K> {
    /// Tells a client what happened to its order.
    pub fn report(&mut self, now: Now, client: ClientId, report: &ExecutionReport<'_>) {
        if let Some(name) = self.clients.names.get(client.0) {
            self.observer.on_report(name.comp_id, report);
        }
        self.send(now, client, report);
    }

    /// Tells who looks on what a command led to.
    pub fn tell_events(&mut self, now: Now, place: usize, events: &[Event]) {
        self.observer.on_events(now, place, events);
    }

    /// Writes an input down with the numbers of its reports, where there is a journal: before
    /// anything of it leaves.
    #[inline]
    pub fn write_down(&mut self, now: Now, input: &Input) -> Result<(), VenueError> {
        match &self.clients.sequencer {
            None => Ok(()),
            Some(_) => self.clients.write_down(now, input),
        }
    }

    /// Sends a report or a refused request with the next flush. One for a client that is away is
    /// kept, if it has a session to come back to.
    pub fn send(&mut self, now: Now, client: ClientId, message: &impl Answer) {
        self.clients.note_told(client);
        let Clients { names, slots, parked, reports, has_output, .. } = &mut *self.clients;
        let Some(name) = names.get(client.0) else { return };
        let slot = name.slot.and_then(|slot| slots.get_mut(slot)?.as_mut());
        let is_taken = match slot {
            Some(slot) => {
                *has_output = true;
                slot.connection.send(now, message, self.io)
            }
            None => parked.keep(now, name.comp_id, message),
        };
        *reports += u64::from(is_taken);
    }

    /// Answers a question that is about no order, with the next flush. Nothing is kept for a client
    /// that is away: whoever comes back asks anew.
    pub fn answer(&mut self, now: Now, client: ClientId, message: &impl Answer) {
        self.clients.note_told(client);
        let Clients { names, slots, has_output, .. } = &mut *self.clients;
        let slot = names.get(client.0).and_then(|name| name.slot);
        if let Some(slot) = slot.and_then(|slot| slots.get_mut(slot)?.as_mut()) {
            *has_output = true;
            slot.connection.send(now, message, self.io);
        }
    }

    /// A client has logged on: its connection gives way to nobody.
    pub fn prove(&mut self, session: SessionId) {
        if let Some((_, connection)) = self.clients.at(session.slot) {
            // A stream that broke meanwhile says so itself.
            let _ = self.io.prove(connection.stream());
        }
    }

    /// As [`Clients::flush`].
    pub fn flush(&mut self) {
        self.clients.flush(self.io);
    }

    /// As [`Clients::close`].
    pub fn close(&mut self, now: Now, session: SessionId) -> Option<ClientId> {
        self.clients.close(now, session, self.io)
    }
}
