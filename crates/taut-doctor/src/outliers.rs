//! Why orders took long.
//!
//! A gateway's flight recorder has every order with all its stamps. Beside it somebody who does not
//! trade looks every few milliseconds at the threads on the path of an order ([`ThreadWatch`]): how
//! long each waited for its CPU, how often the CPU was taken from it, which pages it missed, how
//! often its control group was stopped; and, less often, at what came to its CPU: interrupts, and
//! time that the hypervisor took. The threads themselves do nothing for it.
//!
//! A [`Keeper`] takes both. It keeps the worst orders whole, each with what the looks around it
//! show ([`Evidence`]), and in the end says of each which stage held it and why ([`Cause`]).
//! Nothing in it reads a clock or a file: the same orders and looks give the same causes.
//!
//! **What it cannot see.** A look tells what happened since the last one. What fell into the same
//! few milliseconds as an order need not have hit that order; so a cause is named only where it is
//! long enough for the half of what the stage took beyond its usual time, and the numbers are told
//! with it.

mod cause;
mod evidence;
mod keeper;
mod look;
mod others;
mod outlier;
mod watch;
mod worst;

pub use cause::Cause;
pub use evidence::Evidence;
pub use keeper::{Keeper, Keeping, MINUTES_MAX};
pub use look::{Look, MachineLook, MachineTotals, THREADS_MAX, ThreadTotals, Throttled};
pub use others::{Other, others};
pub use outlier::{
    CauseCount, LookPoint, Outlier, OutlierTrace, Outliers, TracedOrder, TracedThread,
};
pub use watch::{ThreadWatch, WatchedThread};

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc;
    use std::thread;

    use taut_lat::{FlightRecord, STAGE_COUNT, Stage, StageClock};
    use taut_sync::atomic::{AtomicBool, Ordering};
    use taut_sys::{available_cpus, monotonic, pin_to_cpu, process_id, thread_id};
    use taut_testkit::{DEADLINE, until};
    use taut_types::{ClientOrderId, InstrumentId, Nanos};

    use super::*;

    /// Ends the threads that spin, also when an assertion fails.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_order_of_a_thread_that_shares_its_cpu_is_descheduled() {
        let cpu = *available_cpus().expect("CPUs").first().expect("a CPU");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _over = Over(&is_over);
            let (numbers, numbered) = mpsc::channel();
            for _ in 0..2 {
                let (numbers, is_over) = (numbers.clone(), &is_over);
                scope.spawn(move || {
                    pin_to_cpu(cpu).expect("a CPU that is ours");
                    numbers.send(thread_id()).expect("it listens");
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let thread = numbered.recv().expect("a thread");
            numbered.recv().expect("another one");
            let (name, process) = ("gateway".to_owned(), process_id());
            let mut watch =
                ThreadWatch::open(Path::new("/"), &[WatchedThread { name, process, thread }]);
            let keeping = Keeping { above: Nanos::ZERO, worst_max: 1 };
            let mut keeper = Keeper::new(keeping, vec!["gateway".to_owned()], true);
            let first = watch.look(monotonic());
            keeper.look(&first);
            let waited = |look: &Look| look.threads[0].waited.since(first.threads[0].waited);
            let mut last = first;
            until("a wait for the CPU", DEADLINE, || {
                last = watch.look(monotonic());
                waited(&last) > Nanos::from_millis(1)
            });
            // An order that took as long as the thread waited.
            let took = waited(&last).min(last.at.since(first.at));
            let mut stamps = StageClock::new(first.at);
            stamps.mark(Stage::Risk, first.at + took);
            let (order, instrument) = (ClientOrderId(1), InstrumentId(0));
            keeper.order(&FlightRecord { order, instrument, stamps });
            keeper.look(&last);
            let (told, _) = keeper.told(None, &[0; STAGE_COUNT], |_| String::new());
            let order = told.worst.first().expect("the order");
            let is_it = matches!(order.cause, Cause::Descheduled | Cause::Throttled);
            assert!(is_it && order.held_by == "risk", "{order:?}");
        });
    }
}
