//! The floor of the machine at this minute: what two processes can do with bare cache lines and no
//! library at all. Every figure of a ring is given beside it, because virtual CPUs move.

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sync::spin_loop;

/// Words of a cache line, and of the two that the prefetcher pulls together.
const LINE: usize = 8;
const PAIR: usize = 16;

/// Where the stream's reader says how far it is, behind the two lines of the ping-pong, and where
/// the stream's lines begin.
const GATE: usize = 2 * PAIR;
const LINES: usize = 3 * PAIR;

/// Words for a ping-pong and a stream of this many lines.
pub const fn words_for(lines: usize) -> usize {
    LINES + lines * LINE
}

/// Sends `turn` over and waits until it comes back: one line each way.
#[inline]
pub fn ping(memory: &[AtomicU64], turn: u64) {
    memory[0].store(turn, Ordering::Release);
    while memory[PAIR].load(Ordering::Acquire) != turn {
        spin_loop_once();
    }
}

/// Sends back what comes, until `turn` has come or `stop` says so.
#[inline]
pub fn pong(memory: &[AtomicU64], turn: u64, stop: impl Fn() -> bool) -> bool {
    let mut rounds = 0_u32;
    while memory[0].load(Ordering::Acquire) != turn {
        spin_loop_once();
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(1 << 16) && stop() {
            return false;
        }
    }
    memory[PAIR].store(turn, Ordering::Release);
    true
}

/// The awaited line is polled without a pause: a pause costs more than the transfer.
#[inline]
fn spin_loop_once() {
    std::hint::black_box(());
}

/// The writing side of a bare stream of lines, gated on its reader.
#[derive(Debug)]
pub struct StreamWriter<'m> {
    memory: &'m [AtomicU64],
    lines: &'m [[AtomicU64; LINE]],
    position: u64,
    seen: u64,
}

impl<'m> StreamWriter<'m> {
    pub fn new(memory: &'m [AtomicU64]) -> Self {
        Self { memory, lines: memory[LINES..].as_chunks().0, position: 0, seen: 0 }
    }

    /// Writes one line, when the reader has made room.
    #[inline]
    pub fn send(&mut self) {
        let capacity = self.lines.len() as u64;
        while self.position - self.seen >= capacity {
            self.seen = self.memory[GATE].load(Ordering::Acquire);
            if self.position - self.seen >= capacity {
                spin_loop();
            }
        }
        let [sequence, words @ ..] = &self.lines[self.position as usize & (self.lines.len() - 1)];
        words.iter().for_each(|word| word.store(self.position, Ordering::Relaxed));
        self.position += 1;
        sequence.store(self.position, Ordering::Release);
    }

    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// The reading side: reads all 56 bytes of each line.
#[derive(Debug)]
pub struct StreamReader<'m> {
    memory: &'m [AtomicU64],
    lines: &'m [[AtomicU64; LINE]],
    position: u64,
}

impl<'m> StreamReader<'m> {
    pub fn new(memory: &'m [AtomicU64]) -> Self {
        Self { memory, lines: memory[LINES..].as_chunks().0, position: 0 }
    }

    /// Takes one line, if it is there; whether it was what it should be.
    #[inline]
    pub fn take(&mut self) -> Option<bool> {
        let [sequence, words @ ..] = &self.lines[self.position as usize & (self.lines.len() - 1)];
        if sequence.load(Ordering::Acquire) != self.position + 1 {
            return None;
        }
        let values: [u64; LINE - 1] = std::array::from_fn(|at| words[at].load(Ordering::Relaxed));
        let whole = values == [self.position; LINE - 1];
        self.position += 1;
        if self.position.is_multiple_of(self.lines.len() as u64 / 8) {
            self.memory[GATE].store(self.position, Ordering::Release);
        }
        Some(whole)
    }

    pub const fn position(&self) -> u64 {
        self.position
    }
}
