//! A venue that follows another one, and takes its place when it ends.

use taut_fix::{FieldIndex, Now};
use taut_io::{Endpoint, EpollKernel, Kernel};
use taut_journal::FolderLock;
use taut_sys::{DatagramOptions, StreamOptions};
use taut_types::FeeRates;

use super::journaled::FIELDS_MAX;
use super::{FeedOutput, Venue};
use crate::config::VenueConfig;
use crate::error::{During, NotTaken, VenueError};
use crate::journal::{JournalFollower, JournalKeeper, Recovered, Replication, Told};
use crate::pacing::Flow;

/// A venue that executes the inputs of another one out of its journal, a moment later: books,
/// orders, sessions and the feed's numbers are the same behind each input. Nothing of it leaves the
/// process.
///
/// Which of two is the venue, the kernel decides: whoever has the lock of the journal's folder
/// ([`FolderLock`]). A venue that is paused keeps it; one that ends, in whatever way, loses it.
#[derive(Debug)]
pub struct Standby<K: Kernel = EpollKernel> {
    venue: Venue<K>,
    follower: JournalFollower,
    recovered: Recovered,
    told: Vec<Told>,
    index: FieldIndex,
}

/// What a standby's turn found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// So many inputs were executed; there may be more.
    Inputs(u64),
    /// It is where the venue is.
    Level,
}

impl Standby {
    /// A standby that has what the venue had come to when its journal began, and executes no input
    /// yet. The configuration is that of the venue, with the journal's stream
    /// ([`JournalFollower::stream_id`]) and [`VenueConfig::reset_on_logon`] off; of the feed's
    /// sockets the one for requests is not used.
    ///
    /// # Errors
    /// As [`Venue::new`] and [`Venue::with_journal`].
    pub fn new(
        config: &VenueConfig,
        feed: FeedOutput,
        flow: Flow,
        follower: JournalFollower,
    ) -> Result<Self, VenueError> {
        let kernel = EpollKernel::new(Venue::<EpollKernel>::sources_max(config));
        Self::on_kernel(kernel.during("the venue's loop")?, config, feed, flow, follower)
    }
}

impl<K: Kernel> Standby<K> {
    /// As [`Standby::new`], on any kernel.
    ///
    /// # Errors
    /// As [`Standby::new`].
    pub fn on_kernel(
        kernel: K,
        config: &VenueConfig,
        feed: FeedOutput,
        flow: Flow,
        follower: JournalFollower,
    ) -> Result<Self, VenueError> {
        if config.reset_on_logon {
            let (setting, remedy) = ("reset_on_logon", "false: a journal keeps the sessions");
            return Err(VenueError::Config { setting, remedy });
        }
        if follower.stream_id() != Some(config.stream_id) {
            let (setting, remedy) = ("stream_id", "the journal's: JournalFollower::stream_id");
            return Err(VenueError::Config { setting, remedy });
        }
        let feed = FeedOutput { retransmission: None, ..feed };
        let mut venue = Venue::closed(kernel, config, feed, flow)?;
        let why = NotTaken::Malformed;
        venue.take_image(follower.image().ok_or(VenueError::NotTaken { frame: 1, why })?)?;
        venue.exchange.publisher.lines.is_muted = true;
        let recovered = Recovered { starts: follower.starts(), ..Recovered::default() };
        let (told, index) = (Vec::new(), FieldIndex::with_capacity(FIELDS_MAX));
        Ok(Self { venue, follower, recovered, told, index })
    }

    /// As [`Venue::set_fees`]: its reports are those of the venue.
    pub fn set_fees(&mut self, fees: &[FeeRates]) {
        self.venue.set_fees(fees);
    }

    /// Once this one is the venue, answers wait until a copy on another machine has their inputs,
    /// where that is what the settings of its journal say.
    pub fn replicate_to(&mut self, replication: &Replication) {
        self.follower.replicate_to(replication);
    }

    /// What it follows is a copy, whose venue is on another machine: when this one takes its place,
    /// that venue may be started again, and never comes to the number of this one's start.
    pub const fn promoted(&mut self) {
        self.follower.promoted();
    }

    /// Executes the inputs that the venue has written down since, up to so many. Cost without one:
    /// two system calls.
    ///
    /// # Errors
    /// The journal cannot be read, or holds what means nothing to this version.
    pub fn follow(&mut self, now: Now, inputs_max: u64) -> Result<Followed, VenueError> {
        let Self { venue, follower, recovered, told, index } = self;
        for count in 0..inputs_max {
            let frame = follower.inputs().next_frame().map_err(VenueError::Journal)?;
            let Some(frame) = frame else {
                return Ok(if count == 0 { Followed::Level } else { Followed::Inputs(count) });
            };
            venue.once_more_of(frame, now, (&mut *told, &mut *index), recovered)?;
        }
        Ok(Followed::Inputs(inputs_max))
    }

    /// How many inputs it has executed.
    #[must_use]
    pub const fn inputs(&self) -> u64 {
        self.recovered.inputs
    }

    /// Whether the venue was started again since: its journal is another one, and a standby of that
    /// is made anew. Reads the folder.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn is_left_behind(&self) -> Result<bool, VenueError> {
        self.follower.is_left_behind().map_err(VenueError::Journal)
    }

    /// The venue has ended and this one has its lock: executes what it has written down to its last
    /// input, and takes its place. Orders, queues, positions and sessions go on, and so do the
    /// feed's numbers; clients have to connect again, and those that did not come back yet count
    /// as gone. What the flow had in the books is cancelled, and the flow begins anew.
    ///
    /// # Errors
    /// [`VenueError::Journal`] where the journal is damaged before its end, or cannot be begun;
    /// [`VenueError::Config`] where the venue was started again since.
    pub fn take_over(
        mut self,
        lock: FolderLock,
        orders: Endpoint<StreamOptions>,
        retransmission: Option<Endpoint<DatagramOptions>>,
        now: Now,
    ) -> Result<(Venue<K>, JournalKeeper, Recovered), VenueError> {
        while self.follow(now, u64::MAX)? != Followed::Level {}
        if self.is_left_behind()? {
            let (setting, remedy) = ("follower", "one of the journal's newest start");
            return Err(VenueError::Config { setting, remedy });
        }
        let Self { mut venue, mut follower, mut recovered, .. } = self;
        follower.inputs().finish().map_err(VenueError::Journal)?;
        venue.listen(orders, retransmission)?;
        let begin = |at, stream_id, image: &_| follower.begin(lock, at, stream_id, image);
        let keeper = venue.go_on(now, &mut recovered, begin)?;
        Ok((venue, keeper, recovered))
    }

    /// All that the exchange has come to.
    #[cfg(test)]
    pub(crate) fn put_exchange(&self, put: &mut crate::journal::Put) {
        self.venue.put_exchange(put);
    }
}
