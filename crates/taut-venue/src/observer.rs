//! Where others may look in: what a venue does not need.

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::{CompId, ExecutionReport, Now};
use taut_io::{Completion, Io, Kernel};
use taut_types::Nanos;

use crate::error::VenueError;

/// The ids of a front end's orders start here; those of FIX clients and of the flow are below.
pub const FIRST_DOOR_ORDER: u64 = 3 << 62;
/// The owners of a front end's orders start here; FIX clients and the flow have those below.
pub const FIRST_DOOR_OWNER: u32 = 1 << 16;

/// Sees what happens on a venue's loop beside the venue, and may have sources of its own there:
/// [`VenueConfig::observer_sources`](crate::VenueConfig::observer_sources) at the most. Every
/// method does nothing unless it is written.
///
/// One that also trades is a front end beside FIX: the venue asks it for its commands and tells it
/// the events of everybody's. Its orders have ids from [`FIRST_DOOR_ORDER`] and owners from
/// [`FIRST_DOOR_OWNER`] on.
pub trait Observer<K: Kernel> {
    /// The venue stands, its loop has not run yet: sources may be opened.
    ///
    /// # Errors
    /// What ends the venue.
    fn on_start(&mut self, _io: &mut Io<K>) -> Result<(), VenueError> {
        Ok(())
    }

    /// The book of the instrument in this place of the configuration, before the first command.
    fn on_book(&mut self, _place: usize, _book: &OrderBook) {}

    /// A command was executed in this place, whoever gave it, and this is what happened. Called
    /// behind the reports to FIX clients and before the packets of the feed. A trade whose orders
    /// have the id 0 is one of a recording: no order here took part in it, and it comes alone.
    fn on_events(&mut self, _now: Now, _place: usize, _events: &[Event]) {}

    /// The next command, and its place. Asked until there is none, at every poll; the events of one
    /// come before the next is asked for.
    fn next_command(&mut self, _now: Now) -> Option<(usize, Command)> {
        None
    }

    /// The end of a poll: what waits can be sent, what is due be done. Whether there was anything.
    fn on_turn(&mut self, _io: &mut Io<K>, _now: Now) -> bool {
        false
    }

    /// The monotonic time at which the next poll is due though nothing arrives.
    fn due(&self) -> Option<Nanos> {
        None
    }

    /// Something happened to a source that is not the venue's own.
    fn on_completion(&mut self, _io: &mut Io<K>, _completion: &Completion<'_>) {}

    /// Something happened to an order of this client, whether or not it is there to be told.
    fn on_report(&mut self, _client: CompId, _report: &ExecutionReport<'_>) {}
}

impl<K: Kernel> Observer<K> for () {}

/// Two of them: each sees everything, the first one first.
impl<K: Kernel, A: Observer<K>, B: Observer<K>> Observer<K> for (A, B) {
    fn on_start(&mut self, io: &mut Io<K>) -> Result<(), VenueError> {
        self.0.on_start(io)?;
        self.1.on_start(io)
    }

    fn on_book(&mut self, place: usize, book: &OrderBook) {
        self.0.on_book(place, book);
        self.1.on_book(place, book);
    }

    fn on_events(&mut self, now: Now, place: usize, events: &[Event]) {
        self.0.on_events(now, place, events);
        self.1.on_events(now, place, events);
    }

    fn next_command(&mut self, now: Now) -> Option<(usize, Command)> {
        self.0.next_command(now).or_else(|| self.1.next_command(now))
    }

    fn on_turn(&mut self, io: &mut Io<K>, now: Now) -> bool {
        let worked = self.0.on_turn(io, now);
        self.1.on_turn(io, now) | worked
    }

    fn due(&self) -> Option<Nanos> {
        [self.0.due(), self.1.due()].into_iter().flatten().min()
    }

    fn on_completion(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        self.0.on_completion(io, completion);
        self.1.on_completion(io, completion);
    }

    fn on_report(&mut self, client: CompId, report: &ExecutionReport<'_>) {
        self.0.on_report(client, report);
        self.1.on_report(client, report);
    }
}
