//! `taut venue --standby`: a venue that follows another one of the same file by its journal.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use taut_fix::Now;
use taut_journal::JournalError;
use taut_log::Entry;
use taut_log::messages::{VenueCopied, VenueStandsBy, VenueTookOver};
use taut_sys::{catch_stop_signals, monotonic, stop_requests, utc};
use taut_types::Nanos;
use taut_venue::{FolderLock, Followed, JournalCopy, JournalFollower, Standby, VenueJournal};

use crate::error::RunnerError;
use crate::service::manager::Manager;
use crate::service::telling::entry;
use crate::service::venue::{Opened, Parts, VenueFile, serve};
use crate::service::venue_control::VenueControl;
use crate::service::venue_copy::{self, Copied};
use crate::service::venue_journal::{KeeperThread, VenueJournalKeys};

/// How far behind the venue a standby is at the most while nothing goes wrong.
const LOOK: Duration = Duration::from_millis(1);
/// Inputs that are executed before it looks whether it should end.
const INPUTS: u64 = 1_000;
/// How often it looks whether the venue was started again, or was started at all.
const FOLDER: Nanos = Nanos::from_millis(200);
/// A process that was killed lets its addresses go one after the other.
const ADDRESSES: Nanos = Nanos::from_secs(1);

/// Where the lock of the journal's folder comes from.
enum Lock {
    /// From the kernel, once the venue ends.
    End(Receiver<Result<FolderLock, JournalError>>),
    /// From the thread that copies, once an operator promotes this standby.
    Promotion(Receiver<Copied>),
}

impl Lock {
    /// The lock, if it comes within this span.
    fn within(
        &self,
        span: Duration,
        keys: &VenueJournalKeys,
        heard: &impl Fn(&Entry),
    ) -> Result<Option<FolderLock>, RunnerError> {
        let gone = || keys.failed("the thread that waits for its lock is gone");
        match self {
            Self::End(lock) => match lock.recv_timeout(span) {
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(gone()),
                Ok(lock) => lock.map(Some).map_err(|error| keys.failed(error)),
            },
            Self::Promotion(told) => match told.recv_timeout(span) {
                Err(RecvTimeoutError::Timeout) | Ok(Copied::Begun) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(gone()),
                Ok(Copied::Told(words)) => {
                    heard(&entry(&VenueCopied {}, words));
                    Ok(None)
                }
                Ok(Copied::Promoted(lock)) => Ok(Some(lock)),
                Ok(Copied::Failed(words)) => Err(RunnerError::Run(words)),
            },
        }
    }
}

/// Follows the venue of this file, which runs in another process, by its journal, and takes its
/// place when it ends, in whatever way: until a stop signal comes. `heard` is told when it is level
/// with the venue, when it takes over, and what a venue tells then. Where no venue runs it is the
/// venue at once.
///
/// # Errors
/// As [`serve_venue`](super::serve_venue); [`RunnerError::Settings`] where the file has no journal.
pub fn stand_by_venue(file: &VenueFile, heard: impl Fn(&Entry)) -> Result<(), RunnerError> {
    file.check()?;
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let Some(opened) = stand_by(file, &heard)? else { return Ok(()) };
    let bind = || file.name.as_deref().map(VenueControl::bind).transpose();
    let control = Arc::new(Mutex::new(when_free(bind)?));
    serve(file, opened, control, &heard)
}

/// The venue that this one has become; nothing where a stop signal came before.
fn stand_by(file: &VenueFile, heard: &impl Fn(&Entry)) -> Result<Option<Opened>, RunnerError> {
    let Some(keys) = &file.journal else {
        let text = "[journal]: missing; a standby follows its venue by the journal";
        return Err(RunnerError::Settings(text.to_owned()));
    };
    let lock = match keys.from {
        None => wait_for_lock(keys.folder.clone()),
        Some(from) => match copied(from, file, keys, heard)? {
            Some(lock) => lock,
            None => return Ok(None),
        },
    };
    let mut manager = Manager::from_environment();
    while stop_requests() == 0 {
        let follower = JournalFollower::open(&keys.folder, keys.settings());
        let Some(follower) = follower.map_err(|error| keys.failed(error))? else {
            // A venue that has not begun yet, or none at all.
            match lock.within(Duration::from_nanos(FOLDER.0.unsigned_abs()), keys, heard)? {
                None => continue,
                Some(lock) => return cold(file, keys, lock, heard).map(Some),
            }
        };
        let standby = Following::open(file, keys, follower)?;
        match standby.follow(&lock, &mut manager, heard)? {
            Ended::ByTheVenue(standby, lock) => {
                return standby.take_over(lock, heard).map(Some);
            }
            Ended::LeftBehind(Some(lock)) => return cold(file, keys, lock, heard).map(Some),
            Ended::LeftBehind(None) | Ended::Stopped => {}
        }
    }
    Ok(None)
}

/// Has an address that another process had until just now: tries again while it is in use.
pub fn when_free<T>(mut bind: impl FnMut() -> Result<T, RunnerError>) -> Result<T, RunnerError> {
    let until = monotonic() + ADDRESSES;
    loop {
        match bind() {
            // PACE: that an address is free is told to nobody.
            Err(_) if monotonic() < until => thread::sleep(Duration::from_micros(200)),
            bound => return bound,
        }
    }
}

/// Has the journal of a venue on another machine copied here. The lock comes when an operator
/// promotes this standby; nothing where a stop signal came before there was anything to copy.
fn copied(
    from: SocketAddrV4,
    file: &VenueFile,
    keys: &VenueJournalKeys,
    heard: &impl Fn(&Entry),
) -> Result<Option<Lock>, RunnerError> {
    let control = file.name.as_deref().map(VenueControl::bind).transpose()?;
    let copy = JournalCopy::open(&keys.folder, keys.settings());
    let copy = copy.map_err(|error| keys.failed(error))?;
    let told = venue_copy::start((from, keys.serve), copy, control, keys.promote_after());
    while stop_requests() == 0 {
        match told.recv_timeout(Duration::from_millis(20)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Copied::Begun) => return Ok(Some(Lock::Promotion(told))),
            Ok(Copied::Told(words)) => heard(&entry(&VenueCopied {}, words)),
            Ok(Copied::Promoted(_)) => {}
            Ok(Copied::Failed(words)) => return Err(RunnerError::Run(words)),
            Err(error) => return Err(keys.failed(error)),
        }
    }
    Ok(None)
}

/// A thread that sleeps until the venue ends. It ends with the process.
fn wait_for_lock(folder: PathBuf) -> Lock {
    let (to, lock) = channel();
    thread::spawn(move || to.send(FolderLock::wait(&folder)));
    Lock::End(lock)
}

/// No venue runs, or none whose inputs are known here: begins as a venue does.
fn cold(
    file: &VenueFile,
    keys: &VenueJournalKeys,
    lock: FolderLock,
    heard: &impl Fn(&Entry),
) -> Result<Opened, RunnerError> {
    let journal = VenueJournal::open_locked(&keys.folder, keys.settings(), lock);
    let mut journal = journal.map_err(|error| keys.failed(error))?;
    let ship = keys.ship()?;
    if keys.from.is_some() {
        journal = journal.promoted();
    }
    file.open_with(Some((keys, journal)), ship, heard)
}

/// A standby that follows the venue of a file.
struct Following<'f> {
    file: &'f VenueFile,
    keys: &'f VenueJournalKeys,
    standby: Standby,
}

/// Why a standby follows no more.
enum Ended<'f> {
    /// The venue has ended: this one has the lock.
    ByTheVenue(Box<Following<'f>>, FolderLock),
    /// The venue was started again meanwhile; and it may have ended again.
    LeftBehind(Option<FolderLock>),
    /// A stop signal came.
    Stopped,
}

impl<'f> Following<'f> {
    fn open(
        file: &'f VenueFile,
        keys: &'f VenueJournalKeys,
        follower: JournalFollower,
    ) -> Result<Self, RunnerError> {
        let Parts { config, flow, fees } = Parts::of(file, follower.stream_id().unwrap_or(0))?;
        let standby = Standby::new(&config, file.feed()?, flow, follower);
        let mut standby = standby.map_err(|error| keys.failed(error))?;
        standby.set_fees(&fees);
        Ok(Self { file, keys, standby })
    }

    /// Executes what the venue has written down, until there is a reason to end.
    fn follow(
        mut self,
        lock: &Lock,
        manager: &mut Manager,
        heard: &impl Fn(&Entry),
    ) -> Result<Ended<'f>, RunnerError> {
        let (keys, mut is_level, mut turns, mut folder_due) = (self.keys, false, 0, monotonic());
        while stop_requests() == 0 {
            let now = Now { mono: monotonic(), utc: utc() };
            turns += 1;
            manager.look(now.mono, turns);
            let followed = self.standby.follow(now, INPUTS).map_err(|error| keys.failed(error))?;
            if followed != Followed::Level {
                continue;
            }
            if !std::mem::replace(&mut is_level, true) {
                let (folder, inputs) = (keys.folder.display(), self.standby.inputs());
                let words = format!("standby: level with the venue of {folder}, {inputs} inputs");
                heard(&entry(&VenueStandsBy {}, words));
                manager.ready();
            }
            if let Some(lock) = lock.within(LOOK, keys, heard)? {
                let is_left = self.standby.is_left_behind();
                return Ok(if is_left.map_err(|error| keys.failed(error))? {
                    Ended::LeftBehind(Some(lock))
                } else {
                    Ended::ByTheVenue(Box::new(self), lock)
                });
            }
            if now.mono >= folder_due {
                folder_due = now.mono + FOLDER;
                if self.standby.is_left_behind().map_err(|error| keys.failed(error))? {
                    return Ok(Ended::LeftBehind(None));
                }
            }
        }
        Ok(Ended::Stopped)
    }

    fn take_over(self, lock: FolderLock, heard: &impl Fn(&Entry)) -> Result<Opened, RunnerError> {
        let Self { file, keys, mut standby } = self;
        let begun = monotonic();
        let ship = keys.ship()?;
        if let Some(ship) = &ship {
            ship.replication.go_on_alone();
            standby.replicate_to(&ship.replication);
        }
        if keys.from.is_some() {
            standby.promoted();
        }
        let (orders, listens_at) = when_free(|| file.listen())?;
        let requests = when_free(|| file.requests())?.map(Into::into);
        let now = Now { mono: monotonic(), utc: utc() };
        let taken = standby.take_over(lock, orders.into(), requests, now);
        let (mut venue, keeper, recovered) = taken.map_err(|error| keys.failed(error))?;
        when_free(|| file.listen_tls(&mut venue))?;
        let took = (monotonic() - begun).0 / 1_000;
        let told = keys.told(&recovered);
        let words = format!("standby: took over {took} us after the venue had ended; {told}");
        heard(&entry(&VenueTookOver {}, words));
        Ok(Opened { venue, listens_at, keeper: Some(KeeperThread::start(keeper)), ship })
    }
}
