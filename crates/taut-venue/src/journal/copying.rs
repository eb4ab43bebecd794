//! A standby's side of its connections with the venue whose journal it copies.

use std::fmt;

use taut_journal::{FolderLock, JournalError};
use taut_types::Nanos;

use super::ship::{GREETING_BYTES, JournalCopy, ShipError, Whereabouts};

/// How long the venue may take to accept, and to say what comes.
const GREETING: Nanos = Nanos::from_secs(2);

/// The copy, over all connections: bytes and the time go in, bytes for the venue come out. It has
/// no socket and no thread.
#[derive(Debug)]
pub struct Copying {
    copy: JournalCopy,
    /// After which silence of the venue this one takes its place.
    promote_after: Option<Nanos>,
    /// When the venue was heard last.
    heard_at: Nanos,
    stage: Stage,
    came: Vec<u8>,
    out: Vec<u8>,
    /// The last entry that the venue was told of on this connection.
    acknowledged: u64,
    /// A start of the venue was copied, as far as that came.
    has_begun: bool,
    is_promoted: bool,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// There is no connection.
    Away,
    /// The venue is to say what comes.
    Greeting { until: Nanos },
    /// Entries come.
    Entries,
}

/// Why a connection with the venue ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyingEnd {
    /// The venue does not answer in time.
    Late,
    /// It speaks another protocol, or another version of it.
    Foreign,
    /// What it sends cannot be taken. Of [`ShipError::Entry`] another connection can make good.
    Ship(ShipError),
}

impl fmt::Display for CopyingEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("it does not answer"),
            Self::Foreign => f.write_str("it speaks another protocol, or another version of it"),
            Self::Ship(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CopyingEnd {}

impl CopyingEnd {
    /// Whether there is no use in another connection.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        matches!(self, Self::Ship(ShipError::Journal(_) | ShipError::Ahead { .. }))
    }
}

impl Copying {
    /// A copy that is not connected. With a span it takes the venue's place by itself when it has
    /// heard nothing for so long, once the venue acknowledges nothing without it.
    #[must_use]
    pub const fn new(copy: JournalCopy, promote_after: Option<Nanos>, now: Nanos) -> Self {
        Self {
            copy,
            promote_after,
            heard_at: now,
            stage: Stage::Away,
            came: Vec::new(),
            out: Vec::new(),
            acknowledged: 0,
            has_begun: false,
            is_promoted: false,
        }
    }

    /// A connection is made.
    pub fn connect(&mut self, now: Nanos) {
        self.came.clear();
        self.out.clear();
        self.acknowledged = 0;
        self.out.extend_from_slice(&self.copy.needs().to_bytes());
        self.stage = Stage::Greeting { until: now + GREETING };
    }

    /// The connection is gone.
    pub const fn disconnect(&mut self) {
        self.stage = Stage::Away;
    }

    /// Whether entries come over this connection.
    #[must_use]
    pub const fn is_copying(&self) -> bool {
        matches!(self.stage, Stage::Entries)
    }

    /// Takes what the venue sends, writes entries down, and says so to the venue at the next
    /// transmission; which start is copied from now on, where that was told. A copy that is
    /// promoted takes nothing any more.
    ///
    /// # Errors
    /// Why the connection is to be closed.
    pub fn handle_bytes(
        &mut self,
        now: Nanos,
        bytes: &[u8],
    ) -> Result<Option<Whereabouts>, CopyingEnd> {
        if self.is_promoted || matches!(self.stage, Stage::Away) {
            return Ok(None);
        }
        self.came.extend_from_slice(bytes);
        let mut begun = None;
        if let Stage::Greeting { .. } = self.stage {
            let Some(greeting) = self.came.first_chunk::<GREETING_BYTES>() else { return Ok(None) };
            let from = Whereabouts::read(greeting).ok_or(CopyingEnd::Foreign)?;
            self.copy.begin(from).map_err(CopyingEnd::Ship)?;
            self.came.drain(..GREETING_BYTES);
            (self.stage, self.has_begun, begun) = (Stage::Entries, true, Some(from));
        }
        self.heard_at = now;
        let taken = self.copy.take(&self.came).map_err(CopyingEnd::Ship)?;
        self.came.drain(..taken);
        Ok(begun)
    }

    /// What is to be sent now: [`sent`](Self::sent) says how much of it was.
    pub fn poll_transmit(&mut self) -> &[u8] {
        let last = self.copy.last();
        if self.out.is_empty() && self.is_copying() && last > self.acknowledged {
            self.out.extend_from_slice(&last.to_le_bytes());
            self.acknowledged = last;
        }
        &self.out
    }

    /// So many of these bytes were taken by the socket.
    pub fn sent(&mut self, bytes: usize) {
        self.out.drain(..bytes.min(self.out.len()));
    }

    /// What is due by itself, every few milliseconds: segments are made ahead, and a venue that is
    /// silent for too long has a successor.
    ///
    /// # Errors
    /// [`CopyingEnd::Late`]; the disk is full or broken.
    pub fn handle_timeout(&mut self, now: Nanos) -> Result<(), CopyingEnd> {
        self.copy.turn().map_err(|error: JournalError| CopyingEnd::Ship(error.into()))?;
        // All that the venue has acknowledged is here, and it acknowledges nothing without this
        // copy, which takes nothing more.
        let is_silent = self.promote_after.is_some_and(|after| self.silence(now) >= after);
        self.is_promoted |= self.is_waited_for() && is_silent;
        match self.stage {
            Stage::Greeting { until } if now >= until => Err(CopyingEnd::Late),
            _ => Ok(()),
        }
    }

    /// For how long nothing has come from the venue.
    #[must_use]
    pub fn silence(&self, now: Nanos) -> Nanos {
        now - self.heard_at
    }

    /// An operator makes this one the venue; whether there is one to go on with. The venue before
    /// must be gone, or be unable to acknowledge anything.
    pub const fn promote(&mut self) -> bool {
        self.is_promoted |= self.has_begun;
        self.has_begun
    }

    /// Whether it is to take the venue's place: [`end`](Self::end).
    #[must_use]
    pub const fn is_promoted(&self) -> bool {
        self.is_promoted
    }

    /// Whether no answer leaves the venue without this copy: all that it has acknowledged is here.
    #[must_use]
    pub const fn is_waited_for(&self) -> bool {
        self.copy.is_waited_for()
    }

    /// Nothing more is taken: whoever has the lock may be the venue.
    #[must_use]
    pub fn end(self) -> FolderLock {
        self.copy.end()
    }
}
