//! Administrative messages that wait to be sent: what they say, not their bytes.

use taut_types::Nanos;

use crate::codec::text::{ShortText, TestReqId};
use crate::error::RejectReason;
use crate::messages::admin::BusinessRejectReason;
use crate::messages::header::Header;

/// How many messages can wait.
pub const QUEUE_LEN: usize = 16;

/// One administrative message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// Logon (A).
    Logon {
        /// HeartBtInt (108).
        heartbeat_interval: Nanos,
        /// ResetSeqNumFlag (141).
        reset: bool,
    },
    /// Heartbeat (0), with the id of the TestRequest that it answers.
    Heartbeat(Option<TestReqId>),
    /// TestRequest (1).
    TestRequest,
    /// ResendRequest (2) from this number to the newest.
    ResendRequest(u64),
    /// Reject (3).
    Reject(RejectNote),
    /// BusinessMessageReject (j).
    BusinessReject {
        /// RefSeqNum (45).
        ref_sequence: u64,
        /// RefMsgType (372).
        ref_msg_type: ShortText,
        /// BusinessRejectReason (380).
        reason: BusinessRejectReason,
    },
    /// SequenceReset-GapFill (4).
    GapFill {
        /// The first number that it stands for.
        first: u64,
        /// NewSeqNo (36): the first that it does not stand for; without it, our next one when it
        /// is sent.
        next: Option<u64>,
    },
    /// Logout (5).
    Logout(LogoutText),
}

/// What a Reject (3) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectNote {
    /// RefSeqNum (45).
    pub ref_sequence: u64,
    /// RefTagID (371).
    pub ref_tag: Option<u32>,
    /// RefMsgType (372), when it is short enough to repeat.
    pub ref_msg_type: Option<ShortText>,
    /// SessionRejectReason (373).
    pub reason: RejectReason,
}

impl RejectNote {
    /// A note on the message with this header.
    pub fn new(header: &Header<'_>, ref_tag: Option<u32>, reason: RejectReason) -> Self {
        Self {
            ref_sequence: header.sequence,
            ref_tag,
            ref_msg_type: ShortText::new(header.msg_type_code),
            reason,
        }
    }
}

/// Text (58) of a Logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutText {
    /// None.
    Empty,
    /// Fixed words.
    Words(&'static str),
    /// Names both numbers.
    SequenceTooLow {
        /// The number that was next.
        expected: u64,
        /// The number that came.
        received: u64,
    },
}

/// First in, first out, over a fixed array.
#[derive(Clone, Copy, Debug)]
pub struct AdminQueue {
    slots: [Option<Admin>; QUEUE_LEN],
    first: usize,
    len: usize,
}

impl AdminQueue {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { slots: [None; QUEUE_LEN], first: 0, len: 0 }
    }

    /// How many more fit.
    pub const fn free(&self) -> usize {
        QUEUE_LEN - self.len
    }

    /// Adds one; `false`, and nothing changes, when it is full.
    pub fn push(&mut self, admin: Admin) -> bool {
        let at = (self.first + self.len) % QUEUE_LEN;
        match self.slots.get_mut(at) {
            Some(slot) if self.len < QUEUE_LEN => {
                *slot = Some(admin);
                self.len += 1;
                true
            }
            _ => false,
        }
    }

    /// The oldest one.
    pub fn front(&self) -> Option<&Admin> {
        self.slots.get(self.first)?.as_ref()
    }

    /// Removes the oldest one.
    pub fn pop(&mut self) {
        if let Some(slot) = self.slots.get_mut(self.first).filter(|slot| slot.is_some()) {
            *slot = None;
            self.first = (self.first + 1) % QUEUE_LEN;
            self.len -= 1;
        }
    }

    /// Removes all of them.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::{Admin, AdminQueue, QUEUE_LEN};

    #[test]
    fn keeps_the_order_around_the_end_and_refuses_when_full() {
        let mut queue = AdminQueue::new();
        let mut next = 0u64;
        for round in 0..40u64 {
            while queue.push(Admin::ResendRequest(next)) {
                next += 1;
            }
            assert_eq!(queue.free(), 0);
            for _ in 0..(round as usize % QUEUE_LEN) + 1 {
                let oldest = next - (QUEUE_LEN - queue.free()) as u64;
                assert_eq!(queue.front(), Some(&Admin::ResendRequest(oldest)));
                queue.pop();
            }
        }
        queue.clear();
        assert_eq!((queue.front(), queue.free()), (None, QUEUE_LEN));
        queue.pop();
        assert_eq!(queue.free(), QUEUE_LEN);
    }
}
