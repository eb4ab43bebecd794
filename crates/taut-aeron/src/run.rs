//! Runs: consecutive datagrams of one length, so that one system call can send them all.

use crate::destinations::Target;
use crate::frame::DATA_HEADER_BYTES;
use crate::log::TermLog;

/// Datagrams that lie one behind the other in the log. All have `segment_bytes`, the last one maybe
/// fewer: what the kernel's segmentation offload takes in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where it starts.
    pub position: i64,
    /// The position behind it.
    pub end: i64,
    /// Its bytes on the wire.
    pub bytes: usize,
    /// The length of each datagram.
    pub segment_bytes: usize,
    /// Where it goes.
    pub to: Target,
    /// It was sent before.
    pub is_repair: bool,
}

impl Run {
    /// How many datagrams it is.
    #[must_use]
    pub const fn datagrams(&self) -> usize {
        self.bytes.div_ceil(if self.segment_bytes == 0 { 1 } else { self.segment_bytes })
    }
}

/// How long a run may be.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    pub mtu: usize,
    pub segments_max: usize,
    pub bytes_max: usize,
}

/// One datagram's bytes and the position behind it.
#[derive(Clone, Copy)]
struct Datagram {
    bytes: usize,
    end: i64,
    /// Padding ended it: what follows lies elsewhere in the log.
    is_last: bool,
}

/// The longest run from `from` to at most `limit`. Nothing when not even one frame fits. Cost: one
/// load and a few comparisons per frame.
#[inline]
pub fn scan(log: &TermLog, from: i64, limit: i64, limits: &RunLimits) -> Option<Run> {
    let first = datagram(log, from, limit, limits.mtu)?;
    let mut run = Run {
        position: from,
        end: first.end,
        bytes: first.bytes,
        segment_bytes: first.bytes,
        to: Target::All,
        is_repair: false,
    };
    let (mut is_last, mut count) = (first.is_last, 1);
    while !is_last && count < limits.segments_max {
        let Some(next) = datagram(log, run.end, limit, limits.mtu) else { break };
        let is_too_long = run.bytes + next.bytes > limits.bytes_max;
        if next.bytes > run.segment_bytes || is_too_long {
            break;
        }
        run.bytes += next.bytes;
        run.end = next.end;
        is_last = next.is_last || next.bytes < run.segment_bytes;
        count += 1;
    }
    Some(run)
}

#[inline]
fn datagram(log: &TermLog, from: i64, limit: i64, mtu: usize) -> Option<Datagram> {
    // Frames of one datagram, and of one run, are of one term: the log's ring ends there.
    let mut room = log.terms().remaining(from).min(limit - from);
    let (mut end, mut bytes) = (from, 0);
    while room >= DATA_HEADER_BYTES as i64 {
        let Some(frame) = log.span_at(end) else { break };
        let is_too_long = bytes + frame.wire_bytes > mtu || frame.wire_bytes as i64 > room;
        if is_too_long {
            break;
        }
        bytes += frame.wire_bytes;
        end += frame.log_bytes;
        room -= frame.log_bytes;
        if frame.is_padding {
            return Some(Datagram { bytes, end, is_last: true });
        }
    }
    let is_last = log.terms().offset(end) == 0;
    (bytes > 0).then_some(Datagram { bytes, end, is_last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Terms;

    const LIMITS: RunLimits = RunLimits { mtu: 1408, segments_max: 64, bytes_max: 65_000 };

    fn log(messages: &[usize]) -> TermLog {
        let mut log = TermLog::new(Terms::new(0, 65_536).unwrap(), 9, 1, 1408, 0);
        for length in messages {
            log.claim(*length, 0, i64::MAX).unwrap().fill(1);
            log.commit(*length);
        }
        log
    }

    #[test]
    fn messages_of_one_size_become_one_run_of_full_datagrams_and_a_rest() {
        let log = log(&[70; 100]);
        let run = scan(&log, 0, i64::MAX, &LIMITS).unwrap();
        assert_eq!((run.segment_bytes, run.bytes, run.end), (1408, 12_800, 12_800));
        assert_eq!(run.datagrams(), 10);
        assert_eq!(scan(&log, 12_800, 12_800, &LIMITS), None);
    }

    #[test]
    fn a_run_never_passes_the_limit_and_ends_where_a_datagram_is_longer() {
        let log = log(&[1000, 1000, 1200, 70]);
        let run = scan(&log, 0, i64::MAX, &LIMITS).unwrap();
        assert_eq!((run.bytes, run.datagrams()), (2 * 1056, 2));
        assert_eq!(scan(&log, 0, 1055, &LIMITS), None);
        assert_eq!(scan(&log, 0, 2111, &LIMITS).unwrap().bytes, 1056);
    }

    #[test]
    fn padding_travels_as_its_header_and_ends_the_run_with_the_term() {
        let mut log = log(&[1000; 2]);
        log.pad();
        let first = scan(&log, 0, i64::MAX, &LIMITS).unwrap();
        let run = scan(&log, first.end, i64::MAX, &LIMITS).unwrap();
        log.claim(10, 0, i64::MAX).unwrap().fill(2);
        log.commit(10);
        assert_eq!((first.bytes, run.bytes, run.end), (1056, 1056 + 32, 65_536));
        let next = scan(&log, run.end, log.tail(), &LIMITS).unwrap();
        assert_eq!((next.bytes, next.end), (64, 65_600));
    }
}
