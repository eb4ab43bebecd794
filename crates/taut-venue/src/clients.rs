//! The clients' places: who is connected, and that nobody is twice.

use taut_fix::{CompId, ExecutionReport, Now, OrderCancelReject};
use taut_sys::{TcpListener, TcpStream};
use taut_types::Nanos;

use crate::connection::{Connection, Terms};
use crate::error::{During, VenueError};
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

#[derive(Debug)]
struct Slot {
    serial: u64,
    connection: Connection,
}

/// Up to [`SESSIONS_MAX`] connections.
#[derive(Debug)]
pub struct Clients {
    listener: TcpListener,
    terms: Terms,
    slots: [Option<Slot>; SESSIONS_MAX],
    next_serial: u64,
    pub logged_on: u64,
    pub refused: u64,
    pub reports: u64,
}

impl Clients {
    pub const fn new(listener: TcpListener, terms: Terms) -> Self {
        Self {
            listener,
            terms,
            slots: [const { None }; SESSIONS_MAX],
            next_serial: 1,
            logged_on: 0,
            refused: 0,
            reports: 0,
        }
    }

    pub const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Takes the connections that wait; one beyond the last place is closed at once.
    pub fn accept(&mut self, now: Now) -> Result<bool, VenueError> {
        let mut worked = false;
        while let Some(stream) = accept(&self.listener, "order entry listener")? {
            worked = true;
            let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_none()) else {
                self.refused += 1;
                continue;
            };
            let connection = Connection::new(stream, self.terms.clone(), now);
            *slot = Some(Slot { serial: self.next_serial, connection });
            self.next_serial += 1;
        }
        Ok(worked)
    }

    /// The connection in a place, with its identity.
    pub fn at(&mut self, slot: usize) -> Option<(SessionId, &mut Connection)> {
        let occupied = self.slots.get_mut(slot)?.as_mut()?;
        Some((SessionId { slot, serial: occupied.serial }, &mut occupied.connection))
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

    /// Adds a report to a client's output, if the client is still there.
    pub fn report(&mut self, now: Now, session: SessionId, report: &ExecutionReport<'_>) {
        if let Some(connection) = self.connection(session) {
            self.reports += u64::from(connection.report(now, report));
        }
    }

    /// Adds a refused cancel to a client's output.
    pub fn cancel_reject(&mut self, now: Now, session: SessionId, reject: &OrderCancelReject<'_>) {
        if let Some(connection) = self.connection(session) {
            self.reports += u64::from(connection.cancel_reject(now, reject));
        }
    }

    /// Offers every output to the kernel.
    pub fn flush(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            if slot.connection.has_output() {
                slot.connection.flush();
            }
        }
    }

    /// Closes a connection.
    pub fn close(&mut self, session: SessionId) {
        if let Some(place) = self.slots.get_mut(session.slot)
            && place.as_ref().is_some_and(|slot| slot.serial == session.serial)
        {
            *place = None;
        }
    }

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// When a session's clock asks for something, or a full socket may be tried again.
    pub fn due(&self, now: Nanos, retry: Nanos) -> Option<Nanos> {
        let connections = || self.slots.iter().flatten().map(|slot| &slot.connection);
        let timeout = connections().filter_map(Connection::timeout).min();
        let is_blocked = connections().any(Connection::has_output);
        [timeout, is_blocked.then(|| now + retry)].into_iter().flatten().min()
    }

    /// The connections' descriptors.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().flatten().map(|slot| &slot.connection)
    }

    fn connection(&mut self, session: SessionId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(session.slot)?.as_mut()?;
        (slot.serial == session.serial).then_some(&mut slot.connection)
    }
}

/// Takes a waiting connection; one that its peer has given up already does not count.
pub fn accept(listener: &TcpListener, name: &'static str) -> Result<Option<TcpStream>, VenueError> {
    match listener.accept() {
        Err(error) if is_aborted(error) => Ok(None),
        outcome => outcome.during(name),
    }
}

fn is_aborted(error: taut_sys::SysError) -> bool {
    error.is_peer_gone()
        || std::io::Error::from(error).kind() == std::io::ErrorKind::ConnectionAborted
}
