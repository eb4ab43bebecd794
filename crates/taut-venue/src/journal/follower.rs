//! A venue's journal, read behind the venue that writes it.

use std::path::{Path, PathBuf};

use taut_journal::{FolderLock, Follower, JournalError};
use taut_sys::SysError;
use taut_types::Nanos;

use super::bytes::{Put, Take};
use super::input::{IMAGE, IMAGE_END};
use super::recovery::{
    At, Image, JournalSettings, MadeAhead, epoch_folder, epochs, standby_folder, start_behind,
};
use super::replication::Replication;
use super::sequencer::{JournalKeeper, Sequencer};

/// The journal of a venue that runs, for its standby. Nothing of it is locked or written: the
/// standby's own journal is made ahead in a folder of its own beside it.
#[derive(Debug)]
pub struct JournalFollower {
    folder: PathBuf,
    /// The start whose journal is followed.
    epoch: u32,
    /// What the venue had come to when it began.
    image: Image,
    /// Behind the image.
    inputs: Follower,
    next: MadeAhead,
    /// Where answers wait for a copy on another machine, once this one is the venue.
    replication: Option<Replication>,
    /// It is the copy of a journal on another machine.
    is_promoted: bool,
}

impl JournalFollower {
    /// Follows the journal in this folder from its newest start on; nothing while there is none, or
    /// while its image is not whole. Cost: some 100 ms, and the image.
    ///
    /// # Errors
    /// A file cannot be read or made.
    pub fn open(folder: &Path, settings: JournalSettings) -> Result<Option<Self>, JournalError> {
        if !folder.is_dir() {
            return Ok(None);
        }
        let mut starts = epochs(folder)?;
        starts.sort_unstable();
        for epoch in starts.into_iter().rev() {
            let Some(mut inputs) = Follower::open(&epoch_folder(folder, epoch))? else { continue };
            let Some(image) = read_image(&mut inputs)?.map(Image) else { continue };
            let ahead = standby_folder(folder);
            // Of an earlier follower of this process.
            let _ = std::fs::remove_dir_all(&ahead);
            let next = MadeAhead::make(&ahead, settings)?;
            let folder = folder.to_owned();
            let (replication, is_promoted) = (None, false);
            return Ok(Some(Self { folder, epoch, image, inputs, next, replication, is_promoted }));
        }
        Ok(None)
    }

    /// Once this one is the venue, answers wait until a copy on another machine has their inputs,
    /// where that is what the settings say.
    pub(crate) fn replicate_to(&mut self, replication: &Replication) {
        self.replication = Some(replication.clone());
    }

    /// The venue runs, or ran, on another machine.
    pub(crate) const fn promoted(&mut self) {
        self.is_promoted = true;
    }

    /// The stream of the feed that the venue has.
    #[must_use]
    pub fn stream_id(&self) -> Option<u32> {
        self.image.stream_id()
    }

    /// What the venue had come to, behind the stream.
    pub(crate) fn image(&self) -> Option<Take<'_>> {
        self.image.behind_stream()
    }

    /// How many starts there were.
    pub(crate) const fn starts(&self) -> u32 {
        self.epoch
    }

    /// What the venue was given since.
    pub(crate) const fn inputs(&mut self) -> &mut Follower {
        &mut self.inputs
    }

    /// Whether the venue was started again: its journal is another one since.
    pub(crate) fn is_left_behind(&self) -> Result<bool, JournalError> {
        let newer = epochs(&self.folder)?.into_iter().filter(|epoch| *epoch > self.epoch);
        for epoch in newer {
            let inputs = Follower::open(&epoch_folder(&self.folder, epoch))?;
            let Some(mut inputs) = inputs else { continue };
            if read_image(&mut inputs)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The venue is gone and this one has its lock: begins the journal of the next start, with an
    /// image of what the venue has come to.
    pub(crate) fn begin(
        self,
        lock: FolderLock,
        now: Nanos,
        stream_id: u32,
        image: &Put,
    ) -> Result<(Sequencer, JournalKeeper), JournalError> {
        let Self { folder, mut next, .. } = self;
        let epoch = start_behind(self.epoch, self.is_promoted);
        let own = epoch_folder(&folder, epoch);
        // What a start that was killed at once has left.
        let _ = std::fs::remove_dir_all(&own);
        let renamed = std::fs::rename(standby_folder(&folder), &own);
        renamed.map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            JournalError::Folder(SysError::from_errno("rename the standby's folder", errno))
        })?;
        next.moved_to(&own);
        let replication = self.replication;
        next.begin(At { folder: &folder, epoch, lock, replication }, now, stream_id, image)
    }
}

/// The image at the start of a journal; nothing where it is not whole yet.
fn read_image(inputs: &mut Follower) -> Result<Option<Vec<u8>>, JournalError> {
    let mut image = Vec::new();
    while let Some(frame) = inputs.next_frame()? {
        match frame.kind {
            IMAGE => image.extend_from_slice(frame.bytes),
            IMAGE_END if frame.bytes == (image.len() as u64).to_le_bytes() => {
                return Ok(Some(image));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}
