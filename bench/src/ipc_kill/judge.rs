//! Starts the victims, kills them, and looks at what they left.

use taut_ipc::{Channel, IpcError};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{fork, monotonic, pin_to_cpu, wait_for_child};
use taut_types::Nanos;

use crate::ipc_kill::ends::{Reader, Writer};
use crate::ipc_kill::killer::Killer;
use crate::ipc_kill::plan::{
    ATTACHED_NS, CALL, COMMITTED, FIRST_NS, LIFE_NS_MAX, LOST, MESSAGES, Ring, TORN, VICTIM_CPU,
    VICTIM_WORDS, WEDGED, WORKING,
};
use crate::ipc_kill::victim;
use taut_report::Failure;
use taut_report::Latency;

/// What the kills did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub kills: u64,
    pub killed_mid_write: u64,
    pub killed_mid_read: u64,
    pub messages: u64,
    pub torn: u64,
    pub lost: u64,
    pub wedged: u64,
}

pub struct Judge<'c> {
    channel: &'c Channel,
    name: &'c str,
    notes: &'c [AtomicU64],
    killer: Killer<'c>,
    random: fastrand::Rng,
    pub outcome: Outcome,
    pub heal: Latency,
}

/// How long a wait may take, counted while this process runs: one that was stopped itself has not
/// seen anybody wedged.
struct WaitBudget {
    last: Nanos,
    left: Nanos,
}

impl WaitBudget {
    const STEP_MAX: Nanos = Nanos::from_millis(10);

    fn start() -> Self {
        Self { last: monotonic(), left: WEDGED }
    }

    fn lasts(&mut self) -> bool {
        let now = monotonic();
        self.left = self.left - now.since(self.last).min(Self::STEP_MAX);
        self.last = now;
        self.left > Nanos(0)
    }
}

fn failed(error: IpcError) -> Failure {
    Failure::Run(error.to_string())
}

impl<'c> Judge<'c> {
    pub fn new(
        channel: &'c Channel,
        name: &'c str,
        notes: &'c [AtomicU64],
        seed: u64,
    ) -> Result<Self, Failure> {
        let (outcome, heal, killer) = (Outcome::default(), Latency::new(), Killer::start(notes)?);
        Ok(Self {
            channel,
            name,
            notes,
            killer,
            random: fastrand::Rng::with_seed(seed),
            outcome,
            heal,
        })
    }

    fn life(&mut self) -> Nanos {
        Nanos(self.random.u64(..LIFE_NS_MAX).cast_signed())
    }

    fn note(&self, at: usize) -> u64 {
        self.notes[at].load(Ordering::Acquire)
    }

    fn start(&self, victim: impl FnOnce()) -> Result<u32, Failure> {
        self.notes[..VICTIM_WORDS].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let child = || {
            let _ = pin_to_cpu(VICTIM_CPU);
            victim();
            1
        };
        fork(child).map_err(|error| Failure::run("victim", error))
    }

    /// Has the victim killed after so long, and keeps its ring busy until it is dead. Returns
    /// whether it died at work.
    fn kill(
        &mut self,
        victim: u32,
        after: Nanos,
        mut meanwhile: impl FnMut(),
    ) -> Result<bool, Failure> {
        self.killer.order(victim, after)?;
        let mut budget = WaitBudget::start();
        while !self.killer.is_done() {
            meanwhile();
            if !budget.lasts() {
                return Err(Failure::Run("the killer does not kill".to_owned()));
            }
        }
        wait_for_child(victim).map_err(|error| Failure::run("kill", error))?;
        self.outcome.kills += 1;
        Ok(self.note(CALL) == WORKING)
    }

    /// Kills one that did not even begin.
    fn kill_wedged(&mut self, victim: u32) -> Result<(), Failure> {
        self.outcome.wedged += 1;
        self.kill(victim, Nanos(0), || {}).map(drop)
    }

    /// Kills a writer whose reader is this process.
    pub fn kill_writer(&mut self, ring: Ring) -> Result<(), Failure> {
        let mut reader = Reader::open(self.channel, ring).map_err(failed)?;
        let (name, notes) = (self.name, self.notes);
        let victim = self.start(|| victim::write(name, notes, ring))?;
        let mut budget = WaitBudget::start();
        while self.note(FIRST_NS) == 0 && budget.lasts() {
            reader.drain();
            // The victim may have to share a CPU with us before it can begin.
            taut_sys::yield_cpu();
        }
        if self.note(FIRST_NS) == 0 {
            return self.kill_wedged(victim);
        }
        let life = self.life();
        let at_work = self.kill(victim, life, || reader.drain())?;
        self.outcome.killed_mid_write += u64::from(at_work);
        // What was committed when the victim died must come, past the claim of one before it.
        let (mut budget, committed) = (WaitBudget::start(), self.note(COMMITTED));
        reader.drain();
        while reader.position() < committed && budget.lasts() {
            reader.drain();
        }
        self.heal.record(self.note(FIRST_NS).saturating_sub(self.note(ATTACHED_NS)));
        self.outcome.messages += reader.messages;
        self.outcome.torn += reader.torn;
        self.outcome.lost += reader.lost + committed.saturating_sub(reader.position());
        Ok(())
    }

    /// Kills a reader whose writer is this process.
    pub fn kill_reader(&mut self, ring: Ring) -> Result<(), Failure> {
        let mut writer = Writer::open(self.channel, ring).map_err(failed)?;
        let (name, notes) = (self.name, self.notes);
        let victim = self.start(|| victim::read(name, notes, ring))?;
        let mut budget = WaitBudget::start();
        // Its first message, so that it is killed while it reads.
        while self.note(MESSAGES) == 0 && budget.lasts() {
            if !writer.send() {
                taut_sys::yield_cpu();
            }
        }
        if self.note(MESSAGES) == 0 {
            return self.kill_wedged(victim);
        }
        let life = self.life();
        let at_work = self.kill(victim, life, || {
            writer.send();
        })?;
        self.outcome.killed_mid_read += u64::from(at_work);
        self.outcome.messages += self.note(MESSAGES);
        self.outcome.torn += self.note(TORN);
        self.outcome.lost += self.note(LOST);
        match ring {
            Ring::Requests => self.succeed_reader(&writer),
            _ => self.leave_reader(&mut writer),
        }
    }

    /// The dead reader holds nobody back: two rings full get through.
    fn leave_reader(&mut self, writer: &mut Writer<'_>) -> Result<(), Failure> {
        let (mut budget, mut sent) = (WaitBudget::start(), 0);
        while sent < 1_024 && budget.lasts() {
            sent += u64::from(writer.send());
        }
        self.outcome.wedged += u64::from(sent < 1_024);
        Ok(())
    }

    /// Requests wait for the next reader, which gets all that the dead one had not taken.
    fn succeed_reader(&mut self, writer: &Writer<'_>) -> Result<(), Failure> {
        let mut reader = Reader::open(self.channel, Ring::Requests).map_err(failed)?;
        reader.succeed(self.note(MESSAGES));
        reader.drain();
        self.outcome.messages += reader.messages;
        self.outcome.torn += reader.torn;
        if reader.messages > 0 {
            self.outcome.lost += writer.committed().saturating_sub(reader.position());
        }
        Ok(())
    }
}
