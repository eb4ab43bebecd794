//! A reading process: follows the phases, checks every message.

use serde_json::{Value, json};
use taut_ipc::{Channel, ChannelOptions};
use taut_ring::broadcast::Polled;
use taut_sync::atomic::Ordering;
use taut_sys::Access;
use taut_types::Nanos;

use crate::floor::{StreamReader, pong};
use crate::ipc::content::Content;
use crate::ipc::plan::{Mode, Phase, Shared, reaches};
use crate::ipc::rings::{In, Out};
use crate::load;
use taut_report::Failure;
use taut_report::Latency;

/// Nothing takes longer than the run.
const PATIENCE: Nanos = Nanos::from_secs(90_000);
/// Empty polls after which a reader looks whether the phase is over.
const EMPTY_POLLS: u32 = 256;

struct Reader<'a, 'c> {
    shared: &'a Shared<'a>,
    number: usize,
    ring: In<'c>,
    back: Option<Out<'c>>,
    stream: StreamReader<'a>,
    turn: u64,
    /// The number of the next message.
    expected: u64,
    lost: u64,
    torn: u64,
    latency: Latency,
    intended: Latency,
}

/// Follows all phases; returns the report.
pub fn run(shared: &Shared<'_>, number: usize) -> Result<Value, Failure> {
    let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
    let cpu = load::cpu_ticks();
    let channel =
        Channel::open(shared.name, Access::Write, &ChannelOptions::default()).map_err(failed)?;
    let echoes = shared.arguments.mode == Mode::Rtt && number == 0;
    let back = echoes.then(|| Out::open(&channel, "back", shared.arguments));
    let mut reader = Reader {
        shared,
        number,
        ring: In::open(&channel, "out", shared.arguments).map_err(failed)?,
        back: back.transpose().map_err(failed)?,
        stream: StreamReader::new(shared.floor),
        turn: 0,
        expected: 0,
        lost: 0,
        torn: 0,
        latency: Latency::new(),
        intended: Latency::new(),
    };
    shared.finished(number).store(1, Ordering::Release);
    for phase in 1..=shared.phases {
        if !reaches(shared.word(0), phase, PATIENCE) {
            return Err(Failure::Run("the writer is gone".to_owned()));
        }
        reader.phase(phase);
        shared.finished(number).store(phase + 1, Ordering::Release);
    }
    Ok(json!({
        "lost": reader.lost, "torn": reader.torn,
        "latency_ns": reader.latency.spread(), "intended_ns": reader.intended.spread(),
        "cpu_ticks": load::cpu_ticks() - cpu, "rss_bytes": load::rss_bytes(),
    }))
}

impl Reader<'_, '_> {
    fn phase(&mut self, phase: u64) {
        let is_over = || self.shared.word(1).load(Ordering::Acquire) >= phase;
        match Phase::of(phase) {
            Phase::Ring => self.ring(phase),
            // The floor is between two processes.
            _ if self.number > 0 => {
                reaches(self.shared.word(1), phase, PATIENCE);
            }
            Phase::FloorRtt => {
                while pong(self.shared.floor, self.turn + 1, is_over) {
                    self.turn += 1;
                }
            }
            Phase::FloorStream => self.floor_stream(phase),
        }
    }

    fn floor_stream(&mut self, phase: u64) {
        let mut empty = 0_u32;
        loop {
            match self.stream.take() {
                Some(whole) => self.torn += u64::from(!whole),
                None => {
                    empty = empty.wrapping_add(1);
                    let look = empty.is_multiple_of(EMPTY_POLLS);
                    if look && self.is_through(phase, self.stream.position()) {
                        return;
                    }
                }
            }
        }
    }

    fn ring(&mut self, phase: u64) {
        let (mut empty, mut content) = (0_u32, Content::default());
        loop {
            match self.ring.poll(&mut content) {
                Polled::Message(whole) => self.take(whole, content),
                // What was lost shows in the number of the next message, also for the log, whose
                // losses are counted in bytes.
                Polled::Lapped(_) | Polled::NewWriter(_) => {}
                Polled::Empty => {
                    empty = empty.wrapping_add(1);
                    let look = empty.is_multiple_of(EMPTY_POLLS);
                    if look && self.is_through(phase, self.expected) {
                        return;
                    }
                }
            }
        }
    }

    #[inline]
    fn take(&mut self, whole: bool, content: Content) {
        if !whole {
            self.torn += 1;
            self.expected += 1;
            return;
        }
        self.lost += content.number.wrapping_sub(self.expected);
        self.expected = content.number.wrapping_add(1);
        if let Some(back) = &mut self.back {
            back.send(content);
        } else if content.sent_ns > 0 {
            let now = self.shared.clock.now().0.unsigned_abs();
            self.latency.record(now.saturating_sub(content.sent_ns));
            self.intended.record(now.saturating_sub(content.intended_ns));
        }
    }

    /// Whether the phase is over and everything of it was taken.
    fn is_through(&self, phase: u64, position: u64) -> bool {
        self.shared.word(1).load(Ordering::Acquire) >= phase
            && position >= self.shared.word(2).load(Ordering::Relaxed)
    }
}
