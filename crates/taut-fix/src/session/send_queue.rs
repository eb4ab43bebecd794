//! Messages of the session layer that wait to be sent: what they say, not their bytes.

use crate::codec::text::{ShortText, TestReqId};
use crate::error::RejectReason;
use crate::messages::reject::BusinessRejectReason;
use crate::session::route::Route;

/// How many can wait.
pub const QUEUE_MAX: usize = 16;
/// The longest TestReqID (112) that is repeated.
pub const TEST_REQ_ID_MAX: usize = 512;

/// One message, or one resend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedMessage {
    /// Logon (A).
    Logon {
        /// ResetSeqNumFlag (141).
        reset: bool,
    },
    /// Heartbeat (0), with the id of the TestRequest that it answers.
    Heartbeat(Option<TestReqId>),
    /// Heartbeat (0), with the long id of the TestRequest that it answers: [`SendQueue::long_id`].
    LongHeartbeat,
    /// TestRequest (1).
    TestRequest,
    /// ResendRequest (2).
    ResendRequest {
        /// BeginSeqNo (7).
        begin: u64,
        /// EndSeqNo (16).
        end: u64,
    },
    /// Reject (3).
    Reject(Refusal),
    /// BusinessMessageReject (j), before FIX 4.2 a Reject (3).
    BusinessReject {
        /// RefSeqNum (45).
        ref_sequence: u64,
        /// RefMsgType (372).
        ref_msg_type: ShortText,
        /// BusinessRejectReason (380).
        reason: BusinessRejectReason,
    },
    /// Messages that are sent again, gaps filled.
    Resend {
        /// The first that is not sent yet.
        next: u64,
        /// The last.
        last: u64,
    },
    /// Logout (5).
    Logout(LogoutText),
}

/// What a Reject (3) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// RefSeqNum (45).
    pub ref_sequence: u64,
    /// RefTagID (371).
    pub ref_tag: Option<i32>,
    /// RefMsgType (372), when it is short enough to repeat.
    pub ref_msg_type: Option<ShortText>,
    /// SessionRejectReason (373).
    pub reason: RejectReason,
    /// Where it goes.
    pub route: Route,
}

/// Text (58) of a Logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutText {
    /// None.
    Empty,
    /// A fixed text.
    Fixed(&'static str),
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
pub struct SendQueue {
    slots: [Option<QueuedMessage>; QUEUE_MAX],
    first: usize,
    len: usize,
    /// The one long id that can wait.
    long_id: [u8; TEST_REQ_ID_MAX],
    long_id_len: usize,
}

impl SendQueue {
    /// None.
    pub const fn new() -> Self {
        let long_id = [0; TEST_REQ_ID_MAX];
        Self { slots: [None; QUEUE_MAX], first: 0, len: 0, long_id, long_id_len: 0 }
    }

    /// Whether none waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more fit: none while a long id waits, so that the next one has its place.
    pub const fn free(&self) -> usize {
        if self.long_id_len > 0 { 0 } else { QUEUE_MAX - self.len }
    }

    /// Adds the answer to a TestRequest with this id; `false`, and nothing changes, when the id is
    /// empty or too long to be repeated.
    pub fn push_answer(&mut self, id: &[u8]) -> bool {
        if let Some(id) = TestReqId::new(id) {
            return self.push(QueuedMessage::Heartbeat(Some(id)));
        }
        match self.long_id.get_mut(..id.len()) {
            Some(room) if !id.is_empty() && self.long_id_len == 0 => {
                room.copy_from_slice(id);
                self.long_id_len = id.len();
                self.push(QueuedMessage::LongHeartbeat)
            }
            _ => false,
        }
    }

    /// The id of a [`QueuedMessage::LongHeartbeat`].
    pub fn long_id(&self) -> &[u8] {
        self.long_id.get(..self.long_id_len).unwrap_or_default()
    }

    /// Adds one; `false`, and nothing changes, when it is full.
    pub fn push(&mut self, queued: QueuedMessage) -> bool {
        let at = (self.first + self.len) % QUEUE_MAX;
        match self.slots.get_mut(at) {
            Some(slot) if self.len < QUEUE_MAX => {
                *slot = Some(queued);
                self.len += 1;
                true
            }
            _ => false,
        }
    }

    /// The oldest.
    pub fn front(&self) -> Option<&QueuedMessage> {
        if self.len == 0 {
            return None;
        }
        self.slots.get(self.first)?.as_ref()
    }

    /// Puts another in the place of the oldest.
    pub fn replace_front(&mut self, queued: QueuedMessage) {
        if let Some(slot) = self.slots.get_mut(self.first) {
            *slot = Some(queued);
        }
    }

    /// Drops the oldest.
    pub fn pop(&mut self) {
        if self.len > 0 {
            if self.front() == Some(&QueuedMessage::LongHeartbeat) {
                self.long_id_len = 0;
            }
            self.first = (self.first + 1) % QUEUE_MAX;
            self.len -= 1;
        }
    }

    /// Drops all.
    pub const fn clear(&mut self) {
        (self.len, self.long_id_len) = (0, 0);
    }
}
