//! The clients' places: who is connected, and that nobody is twice.

use taut_fix::{CompId, FieldIndex, Now, TypedMessage};
use taut_io::{Handle, Io, Kernel};
use taut_types::Nanos;

use crate::connection::{Connection, Request, Terms};
use crate::orders::{SESSIONS_MAX, SessionId};

/// What became of a logon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOn {
    /// The client is in.
    First,
    /// It was in, and has reset its sequence numbers.
    Again,
    /// Its CompID is logged on from elsewhere.
    Refused,
}

/// Fields of a message.
const FIELDS_MAX: usize = 128;

#[derive(Debug)]
struct Slot {
    serial: u64,
    connection: Connection,
}

/// Up to [`SESSIONS_MAX`] connections.
#[derive(Debug)]
pub struct Clients {
    terms: Terms,
    /// One message is in work at a time.
    index: FieldIndex,
    slots: [Option<Slot>; SESSIONS_MAX],
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
            slots: [const { None }; SESSIONS_MAX],
            next_serial: 1,
            has_output: false,
            logged_on: 0,
            refused: 0,
            reports: 0,
        }
    }

    /// Gives a new connection a place; whether there was one.
    pub fn accept(&mut self, stream: Handle, now: Now) -> bool {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_none()) else {
            self.refused += 1;
            return false;
        };
        let connection = Connection::new(stream, self.terms.clone(), now);
        *slot = Some(Slot { serial: self.next_serial, connection });
        self.next_serial += 1;
        true
    }

    /// The connection on a stream.
    pub fn on(&mut self, stream: Handle) -> Option<&mut Connection> {
        self.has_output = true;
        let mut connections = self.slots.iter_mut().flatten().map(|slot| &mut slot.connection);
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
        let Self { slots, index, has_output, .. } = self;
        let slot = slots.get_mut(session.slot)?.as_mut()?;
        *has_output = true;
        slot.connection.next_request(now, index)
    }

    /// Lets a client in, unless its CompID is logged on already.
    pub fn log_on(&mut self, session: SessionId, comp_id: CompId) -> LogOn {
        let is_taken = self.slots.iter().flatten().any(|other| {
            other.serial != session.serial && other.connection.comp_id() == Some(comp_id)
        });
        if is_taken {
            self.refused += 1;
            return LogOn::Refused;
        }
        match self.connection(session) {
            Some(connection) if connection.comp_id().is_none() => {
                connection.let_in(comp_id);
                self.logged_on += 1;
                LogOn::First
            }
            _ => LogOn::Again,
        }
    }

    /// Gives every output to the loop.
    #[inline]
    pub fn flush(&mut self, io: &mut Io<impl Kernel>) {
        if std::mem::take(&mut self.has_output) {
            self.flush_each(io);
        }
    }

    fn flush_each(&mut self, io: &mut Io<impl Kernel>) {
        for slot in self.slots.iter_mut().flatten() {
            slot.connection.flush(io);
        }
    }

    /// Closes a connection.
    pub fn close(&mut self, session: SessionId, io: &mut Io<impl Kernel>) {
        if let Some(place) = self.slots.get_mut(session.slot)
            && let Some(slot) = place.take_if(|slot| slot.serial == session.serial)
        {
            // A stream that broke is closed already.
            let _ = io.close(slot.connection.stream());
        }
    }

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// When a session's clock asks for something.
    pub fn due(&self) -> Option<Nanos> {
        self.slots.iter().flatten().filter_map(|slot| slot.connection.timeout()).min()
    }

    fn connection(&mut self, session: SessionId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(session.slot)?.as_mut()?;
        self.has_output = true;
        (slot.serial == session.serial).then_some(&mut slot.connection)
    }
}

/// The clients, and the loop that their reports leave by.
#[derive(Debug)]
pub struct ClientIo<'a, K: Kernel> {
    pub clients: &'a mut Clients,
    pub io: &'a mut Io<K>,
}

impl<K: Kernel> ClientIo<'_, K> {
    /// Sends a report or a refused cancel with the next flush, if the client is still there.
    pub fn send(&mut self, now: Now, session: SessionId, message: &impl TypedMessage) {
        if let Some(connection) = self.clients.connection(session) {
            self.clients.reports += u64::from(connection.send(now, message, self.io));
        }
    }

    /// As [`Clients::flush`].
    pub fn flush(&mut self) {
        self.clients.flush(self.io);
    }

    /// As [`Clients::close`].
    pub fn close(&mut self, session: SessionId) {
        self.clients.close(session, self.io);
    }
}
