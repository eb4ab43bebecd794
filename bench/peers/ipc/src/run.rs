//! What all peers share: the plan, two pinned sides, the checks and the figures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Throughput,
    RoundTrip,
}

pub struct Plan {
    pub mode: Mode,
    pub seconds: f64,
    pub size: usize,
    pub batch: usize,
    pub capacity: usize,
    pub cpus: [usize; 2],
}

/// A sending end. A message is its number, all over.
pub trait Out {
    /// Sends, and waits for room.
    fn send(&mut self, number: u64);

    /// Sends this many, as one where the peer can.
    fn send_batch(&mut self, first: u64, count: usize) {
        (first..first + count as u64).for_each(|number| self.send(number));
    }
}

/// A receiving end.
pub trait In {
    /// Takes what is there and returns how many; each message's number, or nothing when a part of
    /// it says something else.
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize;
}

/// Writes a message: every byte, and none twice, so that no peer waits for stores of ours that it
/// loads in other pieces.
#[inline]
pub fn fill(message: &mut [u8], number: u64) {
    let (words, rest) = message.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = number.to_ne_bytes());
    let (fours, rest) = rest.as_chunks_mut::<4>();
    fours.iter_mut().for_each(|four| *four = (number as u32).to_ne_bytes());
    let (twos, ones) = rest.as_chunks_mut::<2>();
    twos.iter_mut().for_each(|two| *two = (number as u16).to_ne_bytes());
    ones.iter_mut().for_each(|one| *one = number as u8);
}

/// The number of a message, if all of it says the same.
#[inline]
pub fn number(message: &[u8]) -> Option<u64> {
    let (words, rest) = message.as_chunks::<8>();
    let number = u64::from_ne_bytes(*words.first()?);
    let mut same = words.iter().fold(true, |same, word| same & (*word == number.to_ne_bytes()));
    let (fours, rest) = rest.as_chunks::<4>();
    let (twos, ones) = rest.as_chunks::<2>();
    fours.iter().for_each(|four| same &= *four == (number as u32).to_ne_bytes());
    twos.iter().for_each(|two| same &= *two == (number as u16).to_ne_bytes());
    ones.iter().for_each(|one| same &= *one == number as u8);
    same.then_some(number)
}

/// A message of 56 bytes: its number in every word.
pub type Words = [u64; 7];

/// The number of such a message, if all of it says the same. Word by word: two arrays would be
/// stored as words and compared as vectors, which wait for the stores.
#[inline]
pub fn whole(words: &Words) -> Option<u64> {
    words.iter().fold(true, |same, word| same & (*word == words[0])).then_some(words[0])
}

pub struct Outcome {
    pub per_s: f64,
    pub rtt_ns: Vec<u64>,
    pub wrong: u64,
}

impl Outcome {
    pub fn json(&self, name: &str, plan: &Plan) -> String {
        let at = |quantile: f64| {
            let last = self.rtt_ns.len().saturating_sub(1) as f64;
            self.rtt_ns.get((last * quantile) as usize).copied().unwrap_or(0)
        };
        format!(
            "{{\"peer\":\"{name}\",\"size\":{},\"batch\":{},\"capacity\":{},\"msgs_per_s\":{:.0},\
             \"wrong\":{},\"rtt_ns\":{{\"p50\":{},\"p99\":{},\"p999\":{}}}}}",
            plan.size,
            plan.batch,
            plan.capacity,
            self.per_s,
            self.wrong,
            at(0.5),
            at(0.99),
            at(0.999)
        )
    }
}

/// What the two sides tell each other, in memory that a fork shares.
#[derive(Default)]
pub struct Shared {
    /// The reader is ready.
    pub ready: AtomicU64,
    /// One more than the last number; nothing comes after it.
    end: AtomicU64,
    /// The reader has it.
    done: AtomicU64,
    wrong: AtomicU64,
}

impl Shared {
    pub fn new() -> &'static Self {
        // SAFETY: an anonymous mapping of a page, larger than the type, zeroed, never unmapped.
        unsafe {
            let (protection, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            let page = libc::mmap(std::ptr::null_mut(), 4096, protection, kind, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            &*page.cast::<Self>()
        }
    }
}

pub fn pin(cpu: usize) {
    // SAFETY: a zeroed set of CPUs of this thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Runs the reader in a process of its own.
pub fn in_process(reader: impl FnOnce()) -> impl FnOnce() {
    // SAFETY: there is one thread so far.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        reader();
        // SAFETY: ends the child without the parent's destructors.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: waits for our child.
    move || unsafe {
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
}

/// Follows the numbers and sends them back where there is a way; ends when the writer says so.
pub fn read(shared: &Shared, cpu: usize, mut input: impl In, mut back: Option<impl Out>) {
    pin(cpu);
    let (mut expected, mut wrong) = (0, 0);
    shared.ready.store(1, Ordering::Release);
    loop {
        let taken = input.take(&mut |number| {
            wrong += u64::from(number != Some(expected));
            expected += 1;
            if let Some(back) = &mut back {
                back.send(expected - 1);
            }
        });
        if taken == 0 && expected == shared.end.load(Ordering::Acquire) && expected > 0 {
            shared.wrong.store(wrong, Ordering::Relaxed);
            shared.done.store(1, Ordering::Release);
            return;
        }
    }
}

/// Writes for as long as the plan says, and reports.
pub fn write(
    shared: &Shared,
    plan: &Plan,
    mut out: impl Out,
    mut back: Option<impl In>,
) -> Outcome {
    pin(plan.cpus[0]);
    while shared.ready.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    let begun = Instant::now();
    let end = begun + Duration::from_secs_f64(plan.seconds);
    let (mut next, mut rtt_ns) = (0_u64, Vec::with_capacity(1 << 24));
    while Instant::now() < end {
        match &mut back {
            None if plan.batch == 1 => (0..1024).for_each(|n| out.send(next + n)),
            None => {
                for first in (0..1024).step_by(plan.batch) {
                    out.send_batch(next + first as u64, plan.batch);
                }
            }
            Some(back) => {
                let before = Instant::now();
                out.send(next);
                while back.take(&mut |number| assert_eq!(number, Some(next))) == 0 {}
                rtt_ns.push(before.elapsed().as_nanos() as u64);
            }
        }
        next += match (&back, plan.batch) {
            (Some(_), _) => 1,
            (None, 1) => 1024,
            (None, batch) => (1024_usize.div_ceil(batch) * batch) as u64,
        };
    }
    shared.end.store(next, Ordering::Release);
    while shared.done.load(Ordering::Acquire) == 0 {
        std::hint::spin_loop();
    }
    let per_s = next as f64 / begun.elapsed().as_secs_f64();
    rtt_ns.sort_unstable();
    Outcome { per_s, rtt_ns, wrong: shared.wrong.load(Ordering::Relaxed) }
}
