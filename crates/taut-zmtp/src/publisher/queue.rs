//! What waits for one peer: ranges of the frame log, and older messages in memory of its own once
//! the log had to move on.

use alloc::collections::VecDeque;

use crate::connection::outgoing::Outgoing;
use crate::frame::message_bytes;
use crate::publisher::log::FrameLog;

/// A queue of messages.
#[derive(Debug, Default)]
pub struct Queue {
    /// Copies, older than all ranges.
    own: Outgoing,
    own_messages: usize,
    ranges: VecDeque<Range>,
    messages: usize,
    bytes: usize,
    /// Bytes of the first message that are still to be sent after its start was; 0 between two.
    partial: usize,
}

/// Whole messages in a row, except that the first may be cut by what was sent.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    messages: usize,
}

impl Queue {
    /// Takes room for some ranges.
    pub fn reserve(&mut self, ranges: usize) {
        self.ranges.reserve_exact(ranges);
    }

    /// Messages that wait, with the one that is being sent.
    #[inline]
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Bytes that wait.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of a message whose start was sent.
    #[inline]
    pub fn partial(&self) -> usize {
        self.partial
    }

    /// The oldest position of the log that it needs.
    #[inline]
    pub fn oldest(&self) -> Option<u64> {
        self.ranges.front().map(|range| range.start)
    }

    /// Adds one message of the log. At the start of the ring a new run begins, since a run does not
    /// go around its end.
    #[inline]
    pub fn push(&mut self, log: &FrameLog, start: u64, end: u64) {
        self.messages += 1;
        self.bytes += (end - start) as usize;
        match self.ranges.back_mut() {
            Some(last) if last.end == start && !log.is_start(start) => {
                last.end = end;
                last.messages += 1;
            }
            _ => self.ranges.push_back(Range { start, end, messages: 1 }),
        }
    }

    /// Adds a copy of one message.
    pub fn push_copy(&mut self, log: &FrameLog, frames: &[u8]) {
        self.leave_log(log);
        self.own.end().extend_from_slice(frames);
        self.own_messages += 1;
        self.messages += 1;
        self.bytes += frames.len();
    }

    /// Copies all that lies in the log, so that the log may move on.
    pub fn leave_log(&mut self, log: &FrameLog) {
        for range in self.ranges.drain(..) {
            self.own.end().extend_from_slice(log.slice(range.start, range.end));
            self.own_messages += range.messages;
        }
    }

    /// The first run of bytes.
    #[inline]
    pub fn front<'a>(&'a self, log: &'a FrameLog) -> &'a [u8] {
        let own = self.own.pending();
        match self.ranges.front() {
            Some(range) if own.is_empty() => log.slice(range.start, range.end),
            _ => own,
        }
    }

    /// Copies as many whole runs as fit into `out`, and returns how many bytes that were.
    pub fn gather(&self, log: &FrameLog, out: &mut [u8]) -> usize {
        let ranges = self.ranges.iter().map(|range| log.slice(range.start, range.end));
        let mut filled = 0;
        for run in core::iter::once(self.own.pending()).chain(ranges) {
            let Some(place) = out.get_mut(filled..filled + run.len()) else { break };
            place.copy_from_slice(run);
            filled += run.len();
        }
        filled
    }

    /// Whether there is more than one run of bytes.
    #[inline]
    pub fn is_scattered(&self) -> bool {
        self.ranges.len() + usize::from(!self.own.pending().is_empty()) > 1
    }

    /// The first `bytes` were sent. Returns how many messages were sent whole by that.
    #[inline]
    pub fn consume(&mut self, log: &FrameLog, mut bytes: usize) -> usize {
        let before = self.messages;
        while bytes > 0 {
            let run = self.front(log).len();
            if run == 0 {
                break;
            }
            if bytes >= run {
                self.drop_run(run);
                bytes -= run;
                continue;
            }
            if self.partial > 0 {
                let take = bytes.min(self.partial);
                self.partial -= take;
                self.shrink(take, usize::from(self.partial == 0));
                bytes -= take;
                continue;
            }
            let message = message_bytes(self.front(log));
            if bytes < message {
                self.partial = message - bytes;
                self.shrink(bytes, 0);
                break;
            }
            self.shrink(message, 1);
            bytes -= message;
        }
        before - self.messages
    }

    /// Drops the oldest message of which nothing was sent; `false` when there is none.
    pub fn drop_oldest(&mut self, log: &FrameLog) -> bool {
        if self.messages <= usize::from(self.partial > 0) {
            return false;
        }
        let run = self.front(log);
        let rest = run.get(self.partial..).unwrap_or(&[]);
        if rest.is_empty() {
            // The message that is being sent is a run of its own: the next run's first one goes.
            return self.drop_behind_first_run(log);
        }
        let message = message_bytes(rest);
        if self.own.pending().is_empty() {
            self.cut_first_range(message);
        } else {
            self.own.remove(self.partial, message);
            self.own_messages -= 1;
        }
        self.messages -= 1;
        self.bytes -= message;
        true
    }

    fn drop_behind_first_run(&mut self, log: &FrameLog) -> bool {
        let index = usize::from(self.own.pending().is_empty());
        let Some(range) = self.ranges.get_mut(index) else { return false };
        let message = message_bytes(log.slice(range.start, range.end));
        range.start += message as u64;
        range.messages -= 1;
        if range.start == range.end {
            self.ranges.remove(index);
        }
        self.messages -= 1;
        self.bytes -= message;
        true
    }

    /// Takes a message out of the first range, behind what is being sent.
    fn cut_first_range(&mut self, message: usize) {
        let Some(range) = self.ranges.pop_front() else { return };
        let cut = range.start + self.partial as u64;
        let rest = Range {
            start: cut + message as u64,
            end: range.end,
            messages: range.messages - 1 - usize::from(self.partial > 0),
        };
        if rest.start < rest.end {
            self.ranges.push_front(rest);
        }
        if self.partial > 0 {
            self.ranges.push_front(Range { start: range.start, end: cut, messages: 1 });
        }
    }

    /// The whole first run was sent.
    #[inline]
    fn drop_run(&mut self, run: usize) {
        self.bytes -= run;
        self.partial = 0;
        if self.own.pending().is_empty() {
            let messages = self.ranges.pop_front().map_or(0, |range| range.messages);
            self.messages -= messages;
        } else {
            self.own.consume(run);
            self.messages -= self.own_messages;
            self.own_messages = 0;
        }
    }

    /// A part of the first run was sent, in which so many messages ended.
    #[inline]
    fn shrink(&mut self, bytes: usize, messages: usize) {
        self.bytes -= bytes;
        self.messages -= messages;
        if self.own.pending().is_empty() {
            if let Some(range) = self.ranges.front_mut() {
                range.start += bytes as u64;
                range.messages -= messages;
            }
        } else {
            self.own.consume(bytes);
            self.own_messages -= messages;
        }
    }
}
