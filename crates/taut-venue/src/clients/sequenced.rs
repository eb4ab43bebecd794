//! Clients of a venue that has a journal: the numbers of their sessions are in it.

use taut_fix::{CompId, Link, MemoryStore, Now, Store};

use super::{Clients, Name};
use crate::error::VenueError;
use crate::identity::ClientId;
use crate::journal::{Input, Sequencer, Told};
use crate::version::{FixVersion, version_of};

/// So many numbers a session has ahead of it at least, and so many it gets: heartbeats and their
/// like are not written down.
const HEADROOM: u64 = 64;
const RESERVED: u64 = 320;

impl Clients {
    /// From here on inputs are written down.
    pub fn sequence_with(&mut self, sequencer: Sequencer) {
        self.sequencer = Some(Box::new(sequencer));
        self.terms.holds = true;
    }

    /// Whether inputs are written down.
    pub const fn is_sequenced(&self) -> bool {
        self.sequencer.is_some()
    }

    /// Whether answers wait for the disk.
    pub fn waits(&self) -> bool {
        self.sequencer.as_ref().is_some_and(|sequencer| sequencer.waits())
    }

    /// How many entries the journal has.
    #[cfg(test)]
    pub fn journaled(&self) -> u64 {
        self.sequencer.as_ref().map_or(0, |sequencer| sequencer.appended())
    }

    /// Makes what was written down safe, where answers wait for the disk.
    pub fn commit(&mut self) -> Result<(), VenueError> {
        self.sequencer.as_mut().map_or(Ok(()), |sequencer| sequencer.commit())
    }

    /// The session of a client that is connected, or is away.
    fn link_of(&mut self, client: ClientId) -> Option<&mut Link<MemoryStore>> {
        let name = self.names.get(client.0)?;
        match name.slot {
            Some(slot) => self.slots.get_mut(slot)?.as_mut()?.connection.link_mut(),
            None => self.parked.link(name.comp_id),
        }
    }

    /// A report for this client comes now: the first one's number of an input is written down.
    #[inline]
    pub fn note_told(&mut self, client: ClientId) {
        if self.sequencer.is_some() {
            self.note_number(client);
        }
    }

    fn note_number(&mut self, client: ClientId) {
        let next = self.link_of(client).map(|link| link.session().store().next_outgoing());
        if let (Some(next), Some(sequencer)) = (next, &mut self.sequencer) {
            sequencer.tells(client, next);
        }
    }

    /// Writes an input down.
    pub fn write_down(&mut self, now: Now, input: &Input) -> Result<(), VenueError> {
        self.sequencer.as_mut().map_or(Ok(()), |sequencer| sequencer.append(now, input))
    }

    /// MsgSeqNum (34) of the message that is in work.
    pub fn message_sequence(&self) -> u64 {
        self.sequencer.as_ref().map_or(0, |sequencer| sequencer.sequence)
    }

    /// Before a flush: no session sends under a number that the journal does not allow.
    pub fn reserve(&mut self, now: Now) -> Result<(), VenueError> {
        if self.sequencer.is_none() {
            return Ok(());
        }
        let Self { names, slots, sequencer, .. } = self;
        for (at, name) in names.iter_mut().enumerate() {
            let slot = name.slot.and_then(|slot| slots.get_mut(slot)?.as_mut());
            let Some(link) = slot.and_then(|slot| slot.connection.link_mut()) else { continue };
            let next = link.session().store().next_outgoing();
            if next + HEADROOM <= name.reserved {
                continue;
            }
            name.reserved = next + RESERVED;
            let (client, outgoing) = (ClientId(at), name.reserved);
            if let Some(sequencer) = sequencer {
                sequencer.append(now, &Input::Numbers { client, outgoing, incoming: 0 })?;
            }
        }
        Ok(())
    }

    /// A client's numbers have begun again: the reservation was of those before.
    pub fn numbers_begin(&mut self, client: ClientId) {
        if let Some(name) = self.names.get_mut(client.0) {
            name.reserved = 0;
        }
    }

    /// Writes down where the numbers of all sessions stand.
    pub fn write_numbers(&mut self, now: Now) -> Result<(), VenueError> {
        for client in (0..self.names.len()).map(ClientId) {
            self.write_numbers_of(now, client)?;
        }
        Ok(())
    }

    /// Writes down where the numbers of a session stand.
    pub fn write_numbers_of(&mut self, now: Now, client: ClientId) -> Result<(), VenueError> {
        let Some(link) = self.link_of(client) else { return Ok(()) };
        let store = link.session().store();
        let (outgoing, incoming) = (store.next_outgoing(), store.next_incoming());
        self.write_down(now, &Input::Numbers { client, outgoing, incoming })
    }

    /// A logon of a journal: the client is known, has a session, and was connected.
    pub fn replay_log_on(
        &mut self,
        comp_id: CompId,
        is_new: bool,
        version: FixVersion,
    ) -> ClientId {
        let known = self.names.iter().position(|name| name.comp_id == comp_id);
        let at = known.unwrap_or_else(|| {
            self.names.push(Name { comp_id, slot: None, was_here: true, reserved: 0 });
            self.names.len() - 1
        });
        self.names[at].was_here = true;
        let is_it = self.parked.link(comp_id).is_some_and(|link| version_of(link) == version);
        if !is_it {
            self.parked.put(comp_id, self.terms.link_with(comp_id, version));
        }
        if is_new {
            self.names[at].reserved = 0;
            if let Some(link) = self.parked.link(comp_id) {
                // Its Logon and the answer had the number 1. A store in memory refuses nothing.
                let store = link.session_mut().store_mut();
                let _ = store.reset();
                let _ = store.set_next_outgoing(2);
                let _ = store.set_next_incoming(2);
            }
        }
        ClientId(at)
    }

    /// A leave of a journal.
    pub fn replay_leave(&mut self, client: ClientId) {
        if let Some(name) = self.names.get_mut(client.0) {
            name.was_here = false;
        }
    }

    /// A message of a journal had this number.
    pub fn replay_message(&mut self, client: ClientId, sequence: u64) {
        if let Some(link) = self.link_of(client) {
            let _ = link.session_mut().store_mut().set_next_incoming(sequence + 1);
        }
    }

    /// The reports of the next input have these numbers.
    pub fn replay_told(&mut self, told: &[Told]) {
        for (client, number) in told {
            if let Some(link) = self.link_of(*client) {
                let _ = link.session_mut().store_mut().set_next_outgoing(*number);
            }
        }
    }

    /// Numbers of a session of a journal.
    pub fn replay_numbers(&mut self, client: ClientId, outgoing: u64, incoming: u64) {
        if incoming > 0
            && let Some(link) = self.link_of(client)
        {
            let store = link.session_mut().store_mut();
            let _ = store.set_next_outgoing(outgoing);
            let _ = store.set_next_incoming(incoming);
        }
        if let Some(name) = self.names.get_mut(client.0) {
            name.reserved = if incoming > 0 { 0 } else { outgoing };
        }
    }

    /// The venue was killed: numbers that may have been used are skipped.
    pub fn skip_reserved(&mut self) {
        for client in (0..self.names.len()).map(ClientId) {
            let reserved = self.names[client.0].reserved;
            if let Some(link) = self.link_of(client) {
                let store = link.session_mut().store_mut();
                let next = store.next_outgoing().max(reserved);
                let _ = store.set_next_outgoing(next);
            }
        }
    }

    /// Who was connected when the venue before this one ended.
    pub fn who_was_here(&self) -> Vec<ClientId> {
        let was_here = |client: &ClientId| self.names[client.0].was_here;
        (0..self.names.len()).map(ClientId).filter(was_here).collect()
    }

    /// How many clients are known.
    pub const fn known(&self) -> usize {
        self.names.len()
    }
}
