//! What the thread that trades had of its CPU: the kernel says it of any thread, and the thread
//! does nothing for it.

use std::path::Path;

use taut_doctor::outliers::{Look, MachineLook, ThreadWatch, WatchedThread};
use taut_sys::monotonic;

use super::model::{ThreadSeen, Warning};

/// A thread that spins has its CPU all the time. A tick of the clock and what the kernel has to do
/// take a thousandth of it; from a hundredth on it shows in the tail of the stages.
const LOST_MIN: f64 = 0.01;
/// Page faults in a second: a path that is warm has none.
const FAULTS_MIN: f64 = 20.0;

/// What the kernel has counted of it since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTotals {
    /// Of the thread, and of its control groups.
    pub look: Look,
    /// Of its CPU.
    pub machine: MachineLook,
}

/// Who looks at one thread.
#[derive(Debug)]
pub struct Watch {
    watch: ThreadWatch,
    last: Option<ThreadTotals>,
}

impl Watch {
    /// Of this thread of this process.
    pub fn open(process: u32, thread: u32) -> Self {
        let thread = WatchedThread { name: "gateway".to_owned(), process, thread };
        Self { watch: ThreadWatch::open(Path::new("/"), &[thread]), last: None }
    }

    /// Looks: what there is since it began, and since the look before, where there was one.
    pub fn look(&mut self) -> (ThreadTotals, Option<ThreadSeen>) {
        let now = monotonic();
        let look = self.watch.look(now);
        let totals = ThreadTotals { look, machine: self.watch.look_at_machine(now) };
        let seen = self.last.and_then(|last| between(&last, &totals));
        self.last = Some(totals);
        (totals, seen)
    }
}

fn between(before: &ThreadTotals, after: &ThreadTotals) -> Option<ThreadSeen> {
    let span = after.look.at.since(before.look.at).0;
    let ([was, ..], [is, ..]) = (before.look.threads, after.look.threads);
    if span <= 0 || is.turns == 0 {
        return None;
    }
    let part = |ns: i64| (ns.max(0) as f64 / span as f64).min(1.0);
    let rate = |count: u64| count as f64 * 1e9 / span as f64;
    let ([was_cpu, ..], [is_cpu, ..]) = (before.machine.cpus, after.machine.cpus);
    // Of two CPUs there is no difference.
    let stolen = if was.cpu == is.cpu { is_cpu.stolen.since(was_cpu.stolen).0 } else { 0 };
    let faults = |it: taut_doctor::outliers::ThreadTotals| it.minor_faults + it.major_faults;
    Some(ThreadSeen {
        cpu: is.cpu,
        ran: part(is.ran.since(was.ran).0),
        waited: part(is.waited.since(was.waited).0),
        throttled: part(after.look.throttled.time.since(before.look.throttled.time).0),
        stolen: part(stolen),
        switches_per_second: rate(is.involuntary.saturating_sub(was.involuntary)),
        faults_per_second: rate(faults(is).saturating_sub(faults(was))),
    })
}

/// What is wrong with it. A group that was stopped is not said to be a task in the way, too.
pub fn warnings(of: &ThreadSeen) -> Vec<Warning> {
    let ThreadSeen { cpu, waited, throttled, stolen, faults_per_second, .. } = *of;
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    let mut found = Vec::new();
    let mut say = |code: &str, text: String| {
        found.push(Warning { code: code.to_owned(), text });
    };
    if throttled >= LOST_MIN {
        let part = percent(throttled);
        say(
            "throttled",
            format!(
                "its control group had used up its quota and was stopped for {part} of the time; \
                 raise cpu.max"
            ),
        );
    } else if waited >= LOST_MIN {
        let part = percent(waited);
        say(
            "cpu-taken",
            format!(
                "another task had CPU {cpu} for {part} of the time, while the gateway's thread \
                 waited for it; give the thread a CPU of its own (`taut doctor` names who runs \
                 there)"
            ),
        );
    }
    if stolen >= LOST_MIN {
        let part = percent(stolen);
        say("cpu-stolen", format!("the hypervisor had CPU {cpu} for {part} of the time"));
    }
    if faults_per_second >= FAULTS_MIN {
        say("page-faults", format!("{faults_per_second:.0} page faults a second"));
    }
    found
}

#[cfg(test)]
mod tests {
    use taut_types::Nanos;

    use super::*;

    fn totals(at: i64, waited: i64, throttled: i64, faults: u64) -> ThreadTotals {
        let mut totals = ThreadTotals::default();
        totals.look.at = Nanos(at);
        let thread = &mut totals.look.threads[0];
        (thread.turns, thread.cpu, thread.minor_faults) = (1, 1, faults);
        (thread.ran, thread.waited) = (Nanos(at - waited), Nanos(waited));
        totals.look.throttled.time = Nanos(throttled);
        totals
    }

    fn codes(before: &ThreadTotals, after: &ThreadTotals) -> Vec<String> {
        let seen = between(before, after).expect("a second");
        warnings(&seen).into_iter().map(|it| it.code).collect()
    }

    #[test]
    fn who_had_the_cpu_is_said() {
        let begun = totals(0, 0, 0, 0);
        let second = 1_000_000_000;
        assert_eq!(codes(&begun, &totals(second, 1_000_000, 0, 3)), [""; 0]);
        assert_eq!(codes(&begun, &totals(second, second / 2, 0, 0)), ["cpu-taken"]);
        assert_eq!(codes(&begun, &totals(second, second / 2, second / 2, 0)), ["throttled"]);
        assert_eq!(codes(&begun, &totals(second, 0, 0, 500)), ["page-faults"]);
        let mut stolen = totals(second, 0, 0, 0);
        stolen.machine.cpus[0].stolen = Nanos(20_000_000);
        let mut before = begun;
        before.look.threads[0].cpu = 1;
        assert_eq!(codes(&before, &stolen), ["cpu-stolen"]);
        // Of a thread that is not there nothing is said.
        assert_eq!(between(&ThreadTotals::default(), &ThreadTotals::default()), None);
    }

    #[test]
    fn half_a_second_of_waiting_is_a_half() {
        let seen = between(&totals(0, 0, 0, 0), &totals(1_000, 500, 0, 0)).expect("a span");
        assert_eq!((seen.ran, seen.waited, seen.throttled, seen.cpu), (0.5, 0.5, 0.0, 1));
    }
}
