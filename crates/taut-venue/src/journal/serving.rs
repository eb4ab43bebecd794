//! The venue's side of a connection with a copy of its journal.

use std::fmt;
use std::path::PathBuf;

use taut_journal::JournalError;
use taut_types::Nanos;

use super::replication::Replication;
use super::ship::{ACK_BYTES, GREETING_BYTES, Shipment, Whereabouts};

/// How long a copy may take to say what it needs.
const GREETING: Nanos = Nanos::from_secs(2);
/// How often a copy is told that the venue lives.
const ALIVE: Nanos = Nanos::from_millis(20);
/// Bytes of entries that are sent at once.
const SEND_BYTES: usize = 64 << 10;

/// Whom a venue serves, and for what.
#[derive(Clone, Debug)]
pub struct ServingTerms {
    /// The folder of the journal.
    pub folder: PathBuf,
    /// Who waits for what copies acknowledge: [`VenueJournal::replicate_to`] or
    /// [`Standby::replicate_to`], without which nobody is served.
    ///
    /// [`VenueJournal::replicate_to`]: crate::VenueJournal::replicate_to
    /// [`Standby::replicate_to`]: crate::Standby::replicate_to
    pub replication: Replication,
    /// Answers wait for a copy.
    pub is_replicated: bool,
    /// Whoever connects is the venue's own standby: one in a later start has become the venue.
    pub is_own_standby: bool,
}

/// One connection with a copy: its bytes and the time go in, bytes for it come out. It has no
/// socket and no thread.
#[derive(Debug)]
pub struct Serving {
    terms: ServingTerms,
    /// Until when the copy must have said what it needs.
    greets_until: Nanos,
    shipment: Option<Shipment>,
    came: Vec<u8>,
    out: Vec<u8>,
    alive_at: Nanos,
    /// The last entry that this copy has acknowledged.
    has: u64,
}

/// Why a connection with a copy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServingEnd {
    /// Nobody said in time what a copy of this version says, or this start's journal has not begun.
    NoCopy,
    /// It is in a later start: it has become the venue.
    Overtaken {
        /// Its start.
        theirs: u32,
        /// The own one.
        own: u32,
    },
    /// The own journal cannot be read.
    Journal(JournalError),
}

impl fmt::Display for ServingEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCopy => f.write_str("it did not say what it needs"),
            Self::Overtaken { theirs, own } => write!(
                f,
                "it is in start {theirs} and this venue in start {own}: it has become the venue"
            ),
            Self::Journal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServingEnd {}

impl Serving {
    /// Somebody has connected.
    #[must_use]
    pub fn new(terms: ServingTerms, now: Nanos) -> Self {
        let (came, out) = (Vec::new(), Vec::new());
        let (greets_until, alive_at) = (now + GREETING, Nanos::ZERO);
        Self { terms, greets_until, shipment: None, came, out, alive_at, has: 0 }
    }

    /// Whose entries it gets, and from which on; nothing before it has said what it needs.
    #[must_use]
    pub fn from(&self) -> Option<Whereabouts> {
        self.shipment.as_ref().map(Shipment::from)
    }

    /// Takes what the copy sends: what it needs, and what it has.
    ///
    /// # Errors
    /// Why the connection is to be closed.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(), ServingEnd> {
        self.came.extend_from_slice(bytes);
        if self.shipment.is_none() {
            let Some(greeting) = self.came.first_chunk::<GREETING_BYTES>() else { return Ok(()) };
            let asked = Whereabouts::read(greeting).ok_or(ServingEnd::NoCopy)?;
            self.came.drain(..GREETING_BYTES);
            self.begin(asked)?;
        }
        let (whole, _) = self.came.as_chunks::<ACK_BYTES>();
        if let Some(last) = whole.last().map(|last| u64::from_le_bytes(*last)) {
            self.has = last;
            self.terms.replication.acknowledge(last);
            let bytes = whole.len() * ACK_BYTES;
            self.came.drain(..bytes);
        }
        Ok(())
    }

    fn begin(&mut self, asked: Whereabouts) -> Result<(), ServingEnd> {
        let shipment = Shipment::open(&self.terms.folder, asked).map_err(ServingEnd::Journal)?;
        let shipment = shipment.ok_or(ServingEnd::NoCopy)?;
        let from = shipment.from();
        // The journal of the start before is no longer written, and the numbers of its entries mean
        // others in the next one.
        if self.terms.replication.start() != Some(from.epoch) {
            return Err(ServingEnd::NoCopy);
        }
        // Of anybody that is no word to end by: only the own standby takes this one's place.
        if asked.epoch > from.epoch && self.terms.is_own_standby {
            self.terms.replication.overtake();
            return Err(ServingEnd::Overtaken { theirs: asked.epoch, own: from.epoch });
        }
        self.out.extend_from_slice(&from.to_bytes());
        self.shipment = Some(shipment);
        Ok(())
    }

    /// What is to be sent now: [`sent`](Self::sent) says how much of it was. Cost without new
    /// entries: two system calls.
    ///
    /// # Errors
    /// Why the connection is to be closed.
    pub fn poll_transmit(&mut self, now: Nanos) -> Result<&[u8], ServingEnd> {
        let Some(shipment) = &mut self.shipment else {
            return if now < self.greets_until { Ok(&[]) } else { Err(ServingEnd::NoCopy) };
        };
        // A copy that reads nothing does not have more and more kept for it.
        if now - self.alive_at >= ALIVE && self.out.len() < SEND_BYTES {
            self.alive_at = now;
            let ServingTerms { replication, is_replicated, .. } = &self.terms;
            // This copy has all that any has, and nothing more is acknowledged without it.
            let is_waited_for = *is_replicated
                && !replication.is_alone()
                && self.has > 0
                && self.has >= replication.copied();
            Shipment::alive(&mut self.out, is_waited_for);
        }
        shipment.fill(&mut self.out, SEND_BYTES).map_err(ServingEnd::Journal)?;
        Ok(&self.out)
    }

    /// So many of these bytes were taken by the socket.
    pub fn sent(&mut self, bytes: usize) {
        self.out.drain(..bytes.min(self.out.len()));
    }
}
