//! The folder of a journal: what the start before has left, and where this one writes.

use std::path::{Path, PathBuf};

use taut_journal::{
    Damage, Durability, FolderLock, Housekeeper, Journal, JournalError, Reader, Settings, What,
    Writer, segment_name, sync_folder, writing_process,
};
use taut_sys::{SysError, process_id};
use taut_types::Nanos;

use super::bytes::{Put, Take};
use super::input::{IMAGE, IMAGE_END};
use super::replication::Replication;
use super::sequencer::{JournalKeeper, Sequencer};

/// A part of an image: a small part of a segment.
const PART_BYTES: usize = 16 << 10;
/// How folders of standbys begin.
const STANDBY: &str = "standby-";

/// How a venue's journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalSettings {
    /// The size of a segment's file: a multiple of 4,096 from 64 KiB to 1 GiB. Two are in memory.
    pub segment_bytes: usize,
    /// When an answer leaves.
    pub acknowledge: Acknowledge,
}

/// When an answer leaves: behind its input is in the journal, in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acknowledge {
    /// At once: the input survives `kill -9`, and a power cut some milliseconds later.
    #[default]
    Memory,
    /// When the input is on the disk. All answers of a turn wait together.
    Disk,
    /// When a copy of the journal on another machine has the input
    /// ([`VenueJournal::replicate_to`]). All answers of a turn wait together.
    Replicated,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, acknowledge: Acknowledge::Memory }
    }
}

/// What a venue took up from its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// How many starts there were before.
    pub starts: u32,
    /// Inputs that were executed once more.
    pub inputs: u64,
    /// Orders that are open, of clients.
    pub open_orders: usize,
    /// Clients that are known.
    pub clients: usize,
    /// The venue before this one stopped in order.
    pub was_stopped: bool,
}

/// A venue's journal, before the venue takes it up.
#[derive(Debug)]
pub struct VenueJournal {
    folder: PathBuf,
    settings: JournalSettings,
    /// The start whose journal is taken up; 0 where there is none.
    epoch: u32,
    /// What the venue had come to when it began.
    image: Image,
    /// Behind the image.
    inputs: Option<Reader>,
    /// Where answers wait for a copy on another machine.
    replication: Option<Replication>,
    /// It was the copy of another venue's.
    is_promoted: bool,
    lock: FolderLock,
}

impl VenueJournal {
    /// Opens the journal in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// Another process has it; a file cannot be read, or has damage that no power cut makes, with
    /// its place.
    pub fn open(folder: &Path, settings: JournalSettings) -> Result<Self, JournalError> {
        Self::open_locked(folder, settings, FolderLock::take(folder)?)
    }

    /// The same by whoever has the folder's lock.
    ///
    /// # Errors
    /// As [`VenueJournal::open`].
    pub fn open_locked(
        folder: &Path,
        settings: JournalSettings,
        lock: FolderLock,
    ) -> Result<Self, JournalError> {
        let mut epochs = epochs(folder)?;
        epochs.sort_unstable();
        let folder = folder.to_owned();
        let mut journal = Self {
            folder,
            settings,
            epoch: 0,
            image: Image::default(),
            inputs: None,
            replication: None,
            is_promoted: false,
            lock,
        };
        // A start that was killed before its image was whole has done nothing.
        for epoch in epochs.into_iter().rev() {
            let epoch_folder = epoch_folder(&journal.folder, epoch);
            let mut reader = match Reader::open(&epoch_folder) {
                Err(_) if is_unwritten(&epoch_folder) => continue,
                opened => opened?,
            };
            if let Some(image) = read_image(&mut reader)?.map(Image) {
                (journal.epoch, journal.image, journal.inputs) = (epoch, image, Some(reader));
                break;
            }
        }
        Ok(journal)
    }

    /// Answers wait until a copy on another machine has their inputs, where that is what the
    /// settings say.
    #[must_use]
    pub fn replicate_to(mut self, replication: &Replication) -> Self {
        self.replication = Some(replication.clone());
        self
    }

    /// It was the copy of the journal of a venue on another machine, whose place this one takes:
    /// that venue may be started again, and never comes to the number of this start.
    #[must_use]
    pub const fn promoted(mut self) -> Self {
        self.is_promoted = true;
        self
    }

    /// The stream of the feed that the venue goes on with: a follower sees no gap.
    #[must_use]
    pub fn stream_id(&self) -> Option<u32> {
        self.image.stream_id()
    }

    /// What the venue had come to, behind the stream; nothing where this is the first start.
    pub(crate) fn image(&self) -> Option<Take<'_>> {
        self.image.behind_stream()
    }

    /// What it was given since.
    pub(crate) const fn inputs(&mut self) -> Option<&mut Reader> {
        self.inputs.as_mut()
    }

    /// How many starts there were before.
    pub(crate) const fn starts(&self) -> u32 {
        self.epoch
    }

    /// Begins this start's journal with an image of what the venue has come to.
    pub(crate) fn begin(
        mut self,
        now: Nanos,
        stream_id: u32,
        image: &Put,
    ) -> Result<(Sequencer, JournalKeeper), JournalError> {
        self.inputs = None;
        let epoch = start_behind(self.epoch, self.is_promoted);
        let folder = epoch_folder(&self.folder, epoch);
        // What a start that was killed at once has left.
        let _ = std::fs::remove_dir_all(&folder);
        let made = MadeAhead::make(&folder, self.settings)?;
        let Self { folder: all, replication, lock, .. } = self;
        let at = At { folder: &all, epoch, lock, replication };
        let (sequencer, mut keeper) = made.begin(at, now, stream_id, image)?;
        // The first turn reads the image, the second one has it on the disk: the journal before
        // this one may not be there as a whole.
        keeper.turn()?;
        keeper.turn()?;
        Ok((sequencer, keeper))
    }
}

/// What a venue had come to when a journal of it began, behind the stream of its feed; empty where
/// nothing was before.
#[derive(Debug, Default)]
pub(super) struct Image(pub Vec<u8>);

impl Image {
    pub fn stream_id(&self) -> Option<u32> {
        Take(&self.0).u32()
    }

    pub fn behind_stream(&self) -> Option<Take<'_>> {
        let mut take = Take(&self.0);
        take.u32()?;
        Some(take)
    }
}

/// Where a start's journal is.
pub(super) struct At<'f> {
    /// The folder of all.
    pub folder: &'f Path,
    pub epoch: u32,
    pub lock: FolderLock,
    /// Where answers wait for a copy on another machine.
    pub replication: Option<Replication>,
}

/// A start's journal with nothing in it: its segments take some 100 ms.
#[derive(Debug)]
pub(super) struct MadeAhead {
    writer: Writer,
    keeper: Housekeeper,
    durability: Durability,
    /// Answers are to wait for a copy.
    is_replicated: bool,
}

impl MadeAhead {
    pub fn make(folder: &Path, settings: JournalSettings) -> Result<Self, JournalError> {
        let durability = match settings.acknowledge {
            Acknowledge::Memory | Acknowledge::Replicated => Durability::Async,
            Acknowledge::Disk => Durability::Sync,
        };
        let is_replicated = settings.acknowledge == Acknowledge::Replicated;
        let segment_bytes = settings.segment_bytes;
        // A power cut is the end of the journal, whatever of the last inputs it leaves.
        let marks = true;
        let settings = Settings { segment_bytes, durability, marks, ..Settings::of_recording() };
        let Journal { writer, mut housekeeper, .. } = Journal::begin(folder, settings, None)?;
        housekeeper.turn()?;
        Ok(Self { writer, keeper: housekeeper, durability, is_replicated })
    }

    /// The number of the next entry.
    pub const fn next_sequence(&self) -> u64 {
        self.writer.next_sequence()
    }

    /// Appends an entry, whose number is returned; where the segment is full, in the next one.
    pub fn append(&mut self, kind: u16, time: Nanos, bytes: &[u8]) -> Result<u64, JournalError> {
        match self.writer.record(kind, time, bytes) {
            Err(JournalError::Full { .. }) => {
                self.keeper.turn()?;
                self.writer.record(kind, time, bytes)
            }
            appended => appended,
        }
    }

    /// Where answers wait for the disk: what was appended is on it.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        self.writer.commit()
    }

    /// Makes segments ahead.
    pub fn turn(&mut self) -> Result<(), JournalError> {
        self.keeper.turn().map(drop)
    }

    /// Its folder has another name from now on.
    pub fn moved_to(&mut self, folder: &Path) {
        self.keeper.moved_to(folder);
    }

    /// Begins it with an image of what the venue has come to.
    pub fn begin(
        mut self,
        At { folder, epoch, lock, replication }: At<'_>,
        now: Nanos,
        stream_id: u32,
        image: &Put,
    ) -> Result<(Sequencer, JournalKeeper), JournalError> {
        if self.is_replicated && replication.is_none() {
            let what = "acknowledge: Replicated needs VenueJournal::replicate_to";
            return Err(JournalError::Settings(what));
        }
        self.append(IMAGE, now, &stream_id.to_le_bytes())?;
        for part in image.0.chunks(PART_BYTES) {
            self.append(IMAGE, now, part)?;
        }
        let length = (size_of::<u32>() + image.0.len()) as u64;
        let image_end = self.append(IMAGE_END, now, &length.to_le_bytes())?;
        self.commit()?;
        let Self { writer, keeper, durability, is_replicated } = self;
        if let Some(replication) = &replication {
            replication.begins(epoch);
        }
        let replication = replication.filter(|_| is_replicated);
        // The start before stays, for who wants to look; those before it are not needed.
        let mut starts = epochs(folder)?;
        let before = starts.iter().copied().filter(|it| *it < epoch).max();
        starts.retain(|it| *it != epoch && Some(*it) != before);
        let old = starts
            .into_iter()
            .map(|epoch| epoch_folder(folder, epoch))
            .chain(deserted(folder))
            .collect();
        if durability == Durability::Sync {
            // A standby's folder has another name since.
            sync_folder(folder).map_err(JournalError::Folder)?;
        }
        // Where answers do not wait for the disk, neither does the image.
        let safe_behind = (durability == Durability::Async).then_some(image_end);
        let named_in = Some(folder.to_owned());
        let keeper = JournalKeeper { keeper, named_in, old, safe_behind, lock };
        Ok((Sequencer::new(writer, durability, replication), keeper))
    }
}

/// The number of the start behind this one. One that takes the place of a venue on another machine
/// begins the next thousand: that venue, should it be started again without its copy, comes to no
/// number that its successor has, and the two are told apart.
pub(super) const fn start_behind(epoch: u32, is_promoted: bool) -> u32 {
    const STEP: u32 = 1_000;
    if is_promoted { (epoch / STEP + 1) * STEP } else { epoch + 1 }
}

/// Where the standby of this process makes its journal ahead.
pub(super) fn standby_folder(folder: &Path) -> PathBuf {
    folder.join(format!("{STANDBY}{}", process_id()))
}

/// What standbys that are gone have made ahead.
fn deserted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of_standbys = entries.filter(|it| it.file_name().to_str().is_some_and(is_of_a_standby));
    let folders = of_standbys.map(|entry| entry.path());
    folders.filter(|folder| writing_process(folder).is_none()).collect()
}

fn is_of_a_standby(name: &str) -> bool {
    name.starts_with(STANDBY)
}

pub(super) fn epoch_folder(folder: &Path, epoch: u32) -> PathBuf {
    folder.join(format!("epoch-{epoch:08}"))
}

/// The starts that have a folder.
pub(super) fn epochs(folder: &Path) -> Result<Vec<u32>, JournalError> {
    let failed = |error: &std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(0);
        JournalError::Folder(SysError::from_errno("read the folder", errno))
    };
    let entries = std::fs::read_dir(folder).map_err(|error| failed(&error))?;
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name();
        name.to_str()?.strip_prefix("epoch-")?.parse::<u32>().ok()
    };
    Ok(entries.filter_map(number).collect())
}

/// Whether a start ended before it had a segment, or a power cut has left nothing of that.
fn is_unwritten(epoch: &Path) -> bool {
    match std::fs::read(epoch.join(segment_name(1))) {
        Ok(bytes) => bytes.iter().all(|byte| *byte == 0),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// The image at the start of a journal; nothing where it is not whole: then nothing is behind it.
fn read_image(reader: &mut Reader) -> Result<Option<Vec<u8>>, JournalError> {
    let mut image = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        match frame.kind {
            IMAGE => image.extend_from_slice(frame.bytes),
            IMAGE_END if frame.bytes == (image.len() as u64).to_le_bytes() => {
                return Ok(Some(image));
            }
            _ => {
                let (segment, offset) = frame.at;
                return Err(Damage { segment, offset, what: What::Record }.into());
            }
        }
    }
    Ok(None)
}
