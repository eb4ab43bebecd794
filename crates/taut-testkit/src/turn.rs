//! Tests of one program that take turns.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;

/// How many turns are taken.
static TAKEN: Mutex<usize> = Mutex::new(0);
/// A turn was given back.
static FREED: Condvar = Condvar::new();

thread_local! {
    /// How many turns this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// A test's turn to run programs that spin: no more tests have one at once than there are CPUs,
/// however many threads run tests. Spinning programs of more tests would starve each other until a
/// deadline passes.
///
/// A thread that holds a turn takes another one without waiting, so that a test of two programs
/// waits for no other test in the middle.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Turn {
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl Turn {
    /// Waits for a turn. The tests that hold one have deadlines, so that this wait ends, too.
    pub fn take() -> Self {
        if HELD.get() == 0 {
            let turns = available_parallelism().map_or(1, usize::from);
            // A count is right even where a test failed while it held the lock.
            let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            let mut taken = FREED
                .wait_while(taken, |taken| *taken >= turns)
                .unwrap_or_else(PoisonError::into_inner);
            *taken += 1;
        }
        HELD.set(HELD.get() + 1);
        Self { _thread: PhantomData }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
        if HELD.get() == 0 {
            *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            FREED.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_tests_have_a_turn_at_once_than_there_are_cpus() {
        let turns = available_parallelism().map_or(1, usize::from);
        // How many have one now, and at most.
        let have = Mutex::new((0, 0));
        let change = |by: isize| {
            let mut have = have.lock().expect("no test fails here");
            have.0 += by;
            have.1 = have.1.max(have.0);
        };
        std::thread::scope(|scope| {
            for _ in 0..4 * turns {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _turn = Turn::take();
                        let _second_of_the_same_test = Turn::take();
                        change(1);
                        std::thread::yield_now();
                        change(-1);
                    }
                });
            }
        });
        let (_, most) = have.into_inner().expect("no test failed");
        assert!((1..=turns.cast_signed()).contains(&most));
    }
}
