//! `[journal]` of a venue's file: what it remembers from one start to the next.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taut_log::Entry;
use taut_log::messages::{VenueCopied, VenueJournalTrouble};
use taut_types::Nanos;
use taut_venue::{
    Acknowledge, JournalKeeper, JournalSettings, Recovered, Replication, VenueJournal,
};

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::segments::segment_mistakes;
use crate::service::telling::entry;
use crate::service::venue_control::{SharedControl, goes_on_waiting};
use crate::service::venue_ship::ShipThread;

/// From one turn of the keeper to the next.
const TURN: Duration = Duration::from_millis(2);

/// A venue's journal, in plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VenueJournalKeys {
    /// Its folder, as seen from the file that names it. One venue, one journal.
    pub folder: PathBuf,
    /// When an answer leaves.
    #[serde(default)]
    pub acknowledge: VenueAcknowledge,
    /// Where a standby on another machine copies the journal from, while this one is the venue.
    pub serve: Option<SocketAddrV4>,
    /// The venue on another machine whose journal a standby copies.
    pub from: Option<SocketAddrV4>,
    /// After so many milliseconds without a sign of life of the venue a standby takes its place by
    /// itself. Only where that venue cannot acknowledge anything without it.
    pub promote_after_ms: Option<u32>,
    /// The size of a segment in MiB: two are in memory.
    #[serde(default = "segment_mb")]
    pub segment_mb: u32,
}

/// When an answer leaves a venue that has a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VenueAcknowledge {
    /// When its input is in the journal, which survives `kill -9`, and a power cut milliseconds
    /// later.
    #[default]
    Memory,
    /// When its input is on the disk.
    Disk,
    /// When a standby on another machine has its input.
    Replicated,
}

const fn segment_mb() -> u32 {
    64
}

impl VenueJournalKeys {
    /// Every value that cannot be.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = segment_mistakes("journal", &self.folder, self.segment_mb);
        if self.acknowledge == VenueAcknowledge::Replicated && self.serve.is_none() {
            let remedy = "together with journal.serve, where a standby copies the journal from";
            mistakes.push(Mistake::new("journal.acknowledge", "replicated", remedy));
        }
        if let Some(ms) = self.promote_after_ms {
            let key = "journal.promote_after_ms";
            if self.acknowledge != VenueAcknowledge::Replicated || self.from.is_none() {
                let remedy = "together with from and acknowledge = \"replicated\": otherwise two \
                              venues could acknowledge";
                mistakes.push(Mistake::new(key, ms, remedy));
            } else if !(100..=600_000).contains(&ms) {
                mistakes.push(Mistake::new(key, ms, "from 100 to 600000"));
            }
        }
        mistakes
    }

    pub(super) fn start_path_at(&mut self, folder: &Path) {
        self.folder = folder.join(&self.folder);
    }

    pub(super) fn open(&self) -> Result<VenueJournal, RunnerError> {
        VenueJournal::open(&self.folder, self.settings()).map_err(|error| self.failed(error))
    }

    pub(super) fn settings(&self) -> JournalSettings {
        let acknowledge = match self.acknowledge {
            VenueAcknowledge::Memory => Acknowledge::Memory,
            VenueAcknowledge::Disk => Acknowledge::Disk,
            VenueAcknowledge::Replicated => Acknowledge::Replicated,
        };
        let segment_bytes = (self.segment_mb as usize) << 20;
        JournalSettings { segment_bytes, acknowledge }
    }

    /// After which silence of the venue its standby takes its place by itself.
    pub(super) fn promote_after(&self) -> Option<Nanos> {
        self.promote_after_ms.map(|ms| Nanos::from_millis(ms.into()))
    }

    /// Whether answers wait for a standby on another machine.
    pub(super) fn is_replicated(&self) -> bool {
        self.acknowledge == VenueAcknowledge::Replicated
    }

    /// Who serves the journal to a standby on another machine, where the file says so.
    pub(super) fn ship(&self) -> Result<Option<Ship>, RunnerError> {
        self.serve.map(|at| Ship::start(at, self)).transpose()
    }

    /// An error of this journal.
    pub(super) fn failed(&self, error: impl std::fmt::Display) -> RunnerError {
        RunnerError::run(format_args!("journal {}", self.folder.display()), error)
    }

    /// What was recovered, in words.
    pub(super) fn told(&self, recovered: &Recovered) -> String {
        let Recovered { starts, inputs, open_orders, clients, was_stopped } = *recovered;
        let folder = self.folder.display();
        if starts == 0 {
            return format!("journal {folder}: begun");
        }
        let end = if was_stopped { "stopped in order" } else { "did not stop in order" };
        format!(
            "journal {folder}: the venue before this one {end}; {inputs} inputs were executed once \
             more, {open_orders} orders of {clients} clients were open"
        )
    }
}

/// The journal is served to a standby on another machine.
#[derive(Debug)]
pub struct Ship {
    pub replication: Replication,
    thread: ShipThread,
}

impl Ship {
    fn start(at: SocketAddrV4, keys: &VenueJournalKeys) -> Result<Self, RunnerError> {
        let replication =
            Replication::new().map_err(|error| RunnerError::run("journal: serve", error))?;
        let shared = (replication.clone(), keys.is_replicated());
        let thread = ShipThread::start(at, keys.from, &keys.folder, shared)?;
        Ok(Self { replication, thread })
    }

    /// While an answer waits for a standby, a program that asks at this socket is told so, and a
    /// stop signal ends the venue.
    pub(super) fn look_while_waiting(&self, control: &SharedControl) {
        let control = Arc::clone(control);
        self.replication.while_waiting(move |waiting| goes_on_waiting(&control, waiting.span));
    }

    /// Tells how copies fare.
    ///
    /// # Errors
    /// A copy has become the venue.
    pub(super) fn tell(&self, heard: &impl Fn(&Entry)) -> Result<(), RunnerError> {
        for words in self.thread.told() {
            heard(&entry(&VenueCopied {}, words));
        }
        if self.replication.is_overtaken() {
            let text = "the journal: its standby has become the venue: this one ends; start it \
                        with --standby, to follow that one";
            return Err(RunnerError::Run(text.to_owned()));
        }
        Ok(())
    }
}

/// The thread that makes the journal's segments. It ends with this.
#[derive(Debug)]
pub struct KeeperThread {
    over: Option<Sender<()>>,
    /// What it has to say.
    told: Receiver<String>,
    thread: Option<JoinHandle<()>>,
}

impl KeeperThread {
    pub fn start(keeper: JournalKeeper) -> Self {
        let ((over, is_over), (tell, told)) = (channel(), channel());
        let thread = thread::spawn(move || keep(keeper, &is_over, &tell));
        Self { over: Some(over), told, thread: Some(thread) }
    }

    /// Tells what went wrong since the last call.
    pub(super) fn tell(&self, heard: &impl Fn(&Entry)) {
        for words in self.told.try_iter() {
            heard(&entry(&VenueJournalTrouble {}, words));
        }
    }
}

impl Drop for KeeperThread {
    fn drop(&mut self) {
        self.over = None;
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Makes segments until `over` has lost its other end.
fn keep(mut keeper: JournalKeeper, over: &Receiver<()>, tell: &Sender<String>) {
    let mut was_well = true;
    loop {
        let is_over = over.recv_timeout(TURN) != Err(RecvTimeoutError::Timeout);
        let turned = keeper.turn();
        if let Err(error) = &turned
            && was_well
        {
            // Nobody listens any more at the end.
            let _ = tell.send(format!("the venue's journal: {error}"));
        }
        was_well = turned.is_ok();
        if is_over {
            return;
        }
    }
}
