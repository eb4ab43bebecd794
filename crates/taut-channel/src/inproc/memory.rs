//! Memory of the process's logs: taken once, used again, never given back.
//!
//! A ring end borrows its memory, and an object that lives on its own cannot carry both in safe
//! code; so the memory lives as long as the process. A name has one memory, however often it is
//! opened; what spies leave is used by the next spy.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use taut_ring::log::{self, Layout};
use taut_sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use taut_sys::{futex_wait, futex_wake_all};
use taut_types::Nanos;

use crate::error::ChannelError;

/// Subscriptions that may register.
pub(super) const SUBSCRIBERS_MAX: usize = 32;
/// The capacity where none is asked for.
pub(super) const CAPACITY_BYTES: usize = 1 << 20;

/// The memory of one log, and who uses it.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) layout: Layout,
    pub(super) words: Box<[AtomicU64]>,
    /// Bit 63 is the writer's, the others are the readers'.
    users: AtomicU64,
    sleepers: AtomicU32,
    bell: AtomicU32,
}

/// The writer's bit.
pub(super) const WRITER: u32 = 63;

static NAMED: Mutex<BTreeMap<String, &'static Memory>> = Mutex::new(BTreeMap::new());
static SPIED: Mutex<Vec<&'static Memory>> = Mutex::new(Vec::new());

impl Memory {
    fn new(capacity_bytes: usize) -> &'static Self {
        let layout = Layout { capacity_bytes, reader_count: SUBSCRIBERS_MAX };
        let count = log::words_for(capacity_bytes, SUBSCRIBERS_MAX);
        let words = (0..count).map(|_| AtomicU64::new(0)).collect();
        Box::leak(Box::new(Self {
            layout,
            words,
            users: AtomicU64::new(0),
            sleepers: AtomicU32::new(0),
            bell: AtomicU32::new(0),
        }))
    }

    /// The memory of a name.
    pub(super) fn named(
        name: &str,
        capacity_bytes: Option<usize>,
    ) -> Result<&'static Self, ChannelError> {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&memory) = named.get(name) {
            let found = memory.layout.capacity_bytes;
            return match capacity_bytes {
                Some(wanted) if wanted != found => {
                    Err(ChannelError::OtherCapacity { wanted, found })
                }
                _ => Ok(memory),
            };
        }
        let memory = Self::new(capacity_bytes.unwrap_or(CAPACITY_BYTES));
        named.insert(name.to_owned(), memory);
        Ok(memory)
    }

    /// Memory for a new spied log, with the writer's bit taken.
    pub(super) fn spied(capacity_bytes: usize) -> &'static Self {
        let mut spied = SPIED.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |memory: &&&'static Self| {
            memory.layout.capacity_bytes == capacity_bytes
                && memory.users.load(Ordering::Acquire) == 0
        };
        let memory = spied.iter().find(fits).copied().unwrap_or_else(|| {
            let memory = Self::new(capacity_bytes);
            spied.push(memory);
            memory
        });
        memory.take(WRITER);
        memory
    }

    /// Takes a user's bit; whether it was free.
    pub(super) fn take(&self, bit: u32) -> bool {
        // Acquire: what the last user did with the memory is done.
        self.users.fetch_or(1 << bit, Ordering::Acquire) >> bit & 1 == 0
    }

    /// Takes the first free reader's bit.
    pub(super) fn take_seat(&self) -> Option<u32> {
        (0..SUBSCRIBERS_MAX as u32).find(|slot| self.take(*slot))
    }

    /// How many readers' bits are taken.
    pub(super) fn reader_count(&self) -> usize {
        (self.users.load(Ordering::Acquire) & !(1 << WRITER)).count_ones() as usize
    }

    /// Gives a user's bit back, and wakes who waits for that.
    pub(super) fn give_back(&self, bit: u32) {
        // Release: pairs with the acquire of the next user.
        self.users.fetch_and(!(1 << bit), Ordering::Release);
        self.ring();
    }

    /// Whether a publication has it.
    pub(super) fn has_writer(&self) -> bool {
        self.users.load(Ordering::Acquire) >> WRITER == 1
    }

    /// Wakes the sleepers, if there are any.
    #[inline]
    pub(super) fn ring(&self) {
        // The message before the look at the sleepers, as theirs before the look at the message.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.bell.fetch_add(1, Ordering::Release);
            futex_wake_all(&self.bell);
        }
    }

    /// Sleeps until the bell rings, at most for `span`, unless there is something to do after all.
    pub(super) fn sleep(&self, span: Nanos, is_idle: impl FnOnce() -> bool) {
        let before = self.bell.load(Ordering::Acquire);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if is_idle() {
            futex_wait(&self.bell, before, span);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}
