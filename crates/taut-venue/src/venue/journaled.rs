//! A venue that takes up its journal, and writes it from there on.

use taut_engine::{Command, MassCancel};
use taut_fix::{FieldIndex, Now};
use taut_io::Kernel;
use taut_journal::{Frame, JournalError};
use taut_types::Nanos;

use super::{Venue, answer};
use crate::clients::ClientIo;
use crate::connection::Request;
use crate::error::{NotTaken, VenueError};
use crate::exchange::FLOW;
use crate::identity::ClientId;
use crate::journal::{Input, JournalKeeper, Put, Recovered, Sequencer, Take, Told, VenueJournal};

/// Fields of a message.
pub(super) const FIELDS_MAX: usize = 128;

impl<K: Kernel> Venue<K> {
    /// The same venue with a journal. It is what it was when the journal ended: books, orders,
    /// positions, sessions and the feed have the same numbers, and what was acknowledged is there.
    /// Clients that were connected then are gone: those are the first inputs of the new journal. In
    /// the first polls the flow's orders are cancelled and its book is made anew; the feed says so.
    /// From here on every input is written down before a report or a packet of it leaves.
    ///
    /// The configuration must have the journal's stream ([`VenueJournal::stream_id`]), and sessions
    /// that last ([`VenueConfig::reset_on_logon`](crate::VenueConfig::reset_on_logon) off). The
    /// keeper is for another thread.
    ///
    /// # Errors
    /// [`VenueError::Config`] for these two; [`VenueError::NotTaken`] when what the journal holds
    /// is no venue of this configuration; [`VenueError::Journal`].
    pub fn with_journal(
        mut self,
        mut journal: VenueJournal,
        now: Now,
    ) -> Result<(Self, JournalKeeper, Recovered), VenueError> {
        if self.reset_on_logon {
            let (setting, remedy) = ("reset_on_logon", "false: a journal keeps the sessions");
            return Err(VenueError::Config { setting, remedy });
        }
        if journal.stream_id().is_some_and(|stream_id| stream_id != self.stream_id) {
            let (setting, remedy) = ("stream_id", "the journal's: VenueJournal::stream_id");
            return Err(VenueError::Config { setting, remedy });
        }
        let mut recovered = Recovered { starts: journal.starts(), ..Recovered::default() };
        if let Some(image) = journal.image() {
            self.take_image(image)?;
            self.replay(&mut journal, now, &mut recovered)?;
        }
        let begin = |at, stream_id, image: &Put| journal.begin(at, stream_id, image);
        let keeper = self.go_on(now, &mut recovered, begin)?;
        Ok((self, keeper, recovered))
    }

    /// What the venue before this one had come to when its journal began.
    pub(super) fn take_image(&mut self, mut image: Take<'_>) -> Result<(), VenueError> {
        let why = |why| VenueError::NotTaken { frame: 1, why };
        self.exchange.take_image(&mut image).map_err(why)?;
        let clients = self.connections.clients.take_image(&mut image);
        clients.filter(|()| image.0.is_empty()).ok_or_else(|| why(NotTaken::Malformed))?;
        self.welcome_all();
        Ok(())
    }

    /// Begins a journal with what it has come to, and is the venue from then on.
    pub(super) fn go_on(
        &mut self,
        now: Now,
        recovered: &mut Recovered,
        begin: impl FnOnce(Nanos, u32, &Put) -> Result<(Sequencer, JournalKeeper), JournalError>,
    ) -> Result<JournalKeeper, VenueError> {
        if recovered.starts > 0 && !recovered.was_stopped {
            self.connections.clients.skip_reserved();
        }
        self.exchange.publisher.lines.is_muted = false;
        self.exchange.go_by_configured();
        self.welcome_all();
        recovered.open_orders = self.exchange.orders.open_count();
        recovered.clients = self.connections.clients.known();
        let mut image = Put::default();
        self.put_image(&mut image);
        let begun = begin(now.mono, self.stream_id, &image);
        let (sequencer, keeper) = begun.map_err(VenueError::Journal)?;
        self.connections.clients.sequence_with(sequencer);
        if recovered.starts > 0 {
            self.begin_again(now)?;
        }
        Ok(keeper)
    }

    /// Clients that were here are known to the members.
    fn welcome_all(&mut self) {
        for (at, (comp_id, _)) in self.connections.clients.comp_ids().enumerate() {
            self.exchange.members.welcome(ClientId(at), comp_id);
        }
    }

    /// All that the exchange has come to.
    #[cfg(test)]
    pub(crate) fn put_exchange(&self, put: &mut Put) {
        self.exchange.put_image(put);
    }

    /// How many entries its journal has.
    #[cfg(test)]
    pub(crate) fn journaled(&self) -> u64 {
        self.connections.clients.journaled()
    }

    /// All that it has come to.
    pub(crate) fn put_image(&mut self, put: &mut Put) {
        self.exchange.put_image(put);
        self.connections.clients.put_image(put);
    }

    /// Executes the inputs of a journal.
    fn replay(
        &mut self,
        journal: &mut VenueJournal,
        now: Now,
        recovered: &mut Recovered,
    ) -> Result<(), VenueError> {
        self.exchange.publisher.lines.is_muted = true;
        let (mut told, mut index) = (Vec::new(), FieldIndex::with_capacity(FIELDS_MAX));
        while let Some(reader) = journal.inputs()
            && let Some(frame) = reader.next_frame().map_err(VenueError::Journal)?
        {
            self.once_more_of(frame, now, (&mut told, &mut index), recovered)?;
        }
        Ok(())
    }

    /// Executes the input of a frame.
    pub(super) fn once_more_of(
        &mut self,
        frame: Frame<'_>,
        now: Now,
        (told, index): (&mut Vec<Told>, &mut FieldIndex),
        recovered: &mut Recovered,
    ) -> Result<(), VenueError> {
        let malformed = VenueError::NotTaken { frame: frame.sequence, why: NotTaken::Malformed };
        let read = Input::decode(frame.kind, frame.bytes, told);
        let (input, utc, message) = read.ok_or(malformed)?;
        recovered.was_stopped = input == Input::Stopped;
        recovered.inputs += 1;
        let at = Now { mono: now.mono, utc };
        self.once_more(at, &input, told, message, index)?.ok_or(malformed)
    }

    /// Executes an input of a journal; nothing where it makes no sense.
    fn once_more(
        &mut self,
        at: Now,
        input: &Input,
        told: &[Told],
        message: &[u8],
        index: &mut FieldIndex,
    ) -> Result<Option<()>, VenueError> {
        let listed = self.exchange.listings().len();
        let is_listed = |place: usize| place < listed;
        self.connections.clients.replay_told(told);
        let (clients, io, observer) =
            (&mut self.connections.clients, self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients, io, observer };
        self.exchange.begin_at(at);
        match *input {
            Input::LogOn { comp_id, is_new, version } => {
                let client = out.clients.replay_log_on(comp_id, is_new, version);
                self.exchange.members.welcome(client, comp_id);
                if is_new {
                    self.exchange.begin_session(client);
                }
            }
            Input::Message { client, sequence } => {
                let Some(request) = Request::read(message, index) else { return Ok(None) };
                if client.0 >= out.clients.known() {
                    return Ok(None);
                }
                out.clients.replay_message(client, sequence);
                answer(&mut self.exchange, at, client, &request, &mut out);
            }
            Input::Leave { client } => {
                out.clients.replay_leave(client);
                if self.cancel_on_disconnect {
                    self.exchange.cancel_all(at, client, &mut out);
                }
            }
            Input::Command { place, command } if is_listed(place) => {
                self.exchange.execute(at, place, &command, &mut out);
            }
            Input::Print { place, price, lots, aggressor } if is_listed(place) => {
                self.exchange.print(at, place, (price, lots, aggressor), &mut out)?;
            }
            Input::Phase { place, phase, scheduled } if is_listed(place) => {
                self.exchange.set_phase(at, place, (phase, scheduled), &mut out)?;
            }
            Input::Numbers { client, outgoing, incoming } => {
                out.clients.replay_numbers(client, outgoing, incoming);
            }
            Input::Kill { member, is_killed } => {
                self.exchange.set_killed(at, member, is_killed, &mut out)?;
            }
            Input::Bust { exec_id } => {
                self.exchange.bust(at, exec_id, &mut out)?;
            }
            Input::Stopped => {}
            _ => return Ok(None),
        }
        self.exchange.finish(at, || *input, &mut out)?;
        Ok(Some(()))
    }

    /// Behind a restart nobody is connected, and the flow begins anew: between requests of clients,
    /// which can come before all of its orders are in the books.
    fn begin_again(&mut self, now: Now) -> Result<(), VenueError> {
        let (clients, io, observer) =
            (&mut self.connections.clients, self.events.io(), &mut self.observer);
        let mut out = ClientIo { clients, io, observer };
        for client in out.clients.who_was_here() {
            out.clients.replay_leave(client);
            self.exchange.begin(now, &out);
            if self.cancel_on_disconnect {
                self.exchange.cancel_all(now, client, &mut out);
            }
            self.exchange.finish(now, || Input::Leave { client }, &mut out)?;
        }
        // What was due while nobody ran the venue comes before the flow's first orders.
        self.exchange.run_phases(now, &mut out)?;
        let owner = Some(FLOW);
        let gone = Command::MassCancel(MassCancel { owner, ..MassCancel::default() });
        let with_books = (0..self.exchange.listings().len())
            .filter(|place| self.exchange.book(*place).is_some())
            .map(|place| (place, gone));
        let initial = self.exchange.player.initial_orders();
        let initial = initial.map(|(place, order)| (place, Command::New(*order)));
        self.flow_begins = with_books.chain(initial).collect();
        self.exchange.settle(now, &mut out)
    }
}

impl<K: Kernel, O: crate::Observer<K>> Venue<K, O> {
    /// The venue stops in order: nothing is executed any more. Where it has a journal, the numbers
    /// of all sessions are written down, so that the next start skips none.
    ///
    /// # Errors
    /// [`VenueError::Journal`].
    pub fn stop(&mut self, now: Now) -> Result<(), VenueError> {
        let clients = &mut self.connections.clients;
        if clients.is_sequenced() {
            clients.write_numbers(now)?;
            clients.write_down(now, &Input::Stopped)?;
        }
        Ok(())
    }
}
