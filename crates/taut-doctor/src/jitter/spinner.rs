//! The thread that spins.

use taut_sys::{Clock, SysError, Usage, pin_to_cpu, thread_usage};
use taut_types::Nanos;

use super::gaps::{CAUSE_MIN, Cause, Counting, GAP_MIN, Gap, Gaps};

/// So many looks at the clock, some 50 microseconds, are between two looks whether it is over.
const LOOKS: u32 = 1 << 11;

/// What a thread saw.
pub struct Seen {
    pub gaps: Gaps,
    pub switches: (u64, u64),
    pub page_faults: u64,
}

/// Spins on a CPU for a span, or until it is over.
pub fn spin(
    cpu: usize,
    clock: Clock,
    span: Nanos,
    is_over: &impl Fn() -> bool,
) -> Result<Seen, SysError> {
    pin_to_cpu(cpu)?;
    let mut counting = Counting::new();
    let first = thread_usage();
    let mut usage = first;
    let start = clock.now();
    let end = start + span;
    let mut last = start;
    loop {
        for _ in 0..LOOKS {
            let now = clock.now();
            let length = now - last;
            if length < GAP_MIN {
                last = now;
                continue;
            }
            let cause = if length < CAUSE_MIN { Cause::Short } else { cause(&mut usage) };
            // What does not belong to the run is not counted: the gap reaches to its end.
            let length = Nanos(length.0.min((end - last).0));
            if length >= GAP_MIN {
                let cause = if length < CAUSE_MIN { Cause::Short } else { cause };
                counting.note(Gap { at: last - start, length, cause });
            }
            // To count and to ask took time that is nobody's gap.
            last = clock.now();
        }
        if last >= end || is_over() {
            break;
        }
    }
    let after = thread_usage();
    Ok(Seen {
        gaps: counting.finish(),
        switches: (
            after.voluntary_switches - first.voluntary_switches,
            after.involuntary_switches - first.involuntary_switches,
        ),
        page_faults: after.page_faults - first.page_faults,
    })
}

/// What the kernel has counted since it was asked last.
fn cause(usage: &mut Usage) -> Cause {
    let now = thread_usage();
    let before = std::mem::replace(usage, now);
    let switches = |usage: &Usage| usage.voluntary_switches + usage.involuntary_switches;
    match () {
        () if switches(&now) > switches(&before) => Cause::Descheduled,
        () if now.page_faults > before.page_faults => Cause::PageFault,
        () => Cause::Unknown,
    }
}
