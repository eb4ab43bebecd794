//! Requests for packets that both lines have lost: how they look, and when they are made.

use taut_types::{Nanos, SequenceNumber};

/// Asks a retransmission server for packets of the incremental channel.
///
/// On the wire: 24 bytes, little endian, and then zeros. A server answers with no more bytes than
/// the request has, so a request is as long as what it hopes for: then nobody can use the server to
/// send more than he sends himself.
///
/// | offset | field |
/// |---|---|
/// | 0 | magic `TRRQ` |
/// | 4 | version 1, u16 |
/// | 6 | how many packets, u16 |
/// | 8 | stream, u32 |
/// | 12 | zero, u32 |
/// | 16 | the first packet's sequence, u64 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitRequest {
    /// The stream.
    pub stream_id: u32,
    /// The first packet.
    pub first: SequenceNumber,
    /// How many.
    pub count: u16,
}

const MAGIC: [u8; 4] = *b"TRRQ";
const VERSION: u16 = 1;

impl RetransmitRequest {
    /// The length without the zeros behind it.
    pub const BYTES: usize = 24;

    /// Reads a request; nothing when it is none, or asks for nothing.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let bytes = datagram.first_chunk::<{ Self::BYTES }>()?;
        let [m0, m1, m2, m3, v0, v1, c0, c1, s0, s1, s2, s3, _, _, _, _, first @ ..] = *bytes;
        let request = Self {
            stream_id: u32::from_le_bytes([s0, s1, s2, s3]),
            first: SequenceNumber(u64::from_le_bytes(first)),
            count: u16::from_le_bytes([c0, c1]),
        };
        let is_known = [m0, m1, m2, m3] == MAGIC && u16::from_le_bytes([v0, v1]) == VERSION;
        (is_known && request.count > 0 && request.first.0 > 0).then_some(request)
    }

    /// Writes the request, and zeros behind it to the end of `out`; false when `out` is too short.
    pub fn write(&self, out: &mut [u8]) -> bool {
        out.fill(0);
        let Some(bytes) = out.first_chunk_mut::<{ Self::BYTES }>() else { return false };
        let mut fields = [0; Self::BYTES];
        let parts: [&[u8]; 6] = [
            &MAGIC,
            &VERSION.to_le_bytes(),
            &self.count.to_le_bytes(),
            &self.stream_id.to_le_bytes(),
            &[0; 4],
            &self.first.0.to_le_bytes(),
        ];
        for (to, from) in fields.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
        *bytes = fields;
        true
    }
}

/// When to ask, and for what: again after a while that doubles, and not for ever.
#[derive(Debug, Default)]
pub(crate) struct RequestPlan {
    /// What was asked for last, how often, and when to ask again.
    asked: Option<(SequenceNumber, u32, Nanos)>,
    due: Option<RetransmitRequest>,
    requests: u64,
}

impl RequestPlan {
    /// Asks for these packets if it is time; progress begins anew.
    pub(crate) fn ask(
        &mut self,
        now: Nanos,
        wanted: RetransmitRequest,
        interval: Nanos,
        attempts_max: u32,
    ) {
        let attempts = match self.asked {
            Some((first, attempts, again)) if first == wanted.first => {
                if now < again || attempts >= attempts_max {
                    return;
                }
                attempts
            }
            _ => 0,
        };
        let wait = interval.0.saturating_mul(1_i64 << attempts.min(20));
        self.asked = Some((wanted.first, attempts + 1, now + Nanos(wait)));
        self.due = Some(wanted);
        self.requests += 1;
    }

    /// When to ask again; at once when nothing has been asked for.
    pub(crate) fn next(&self, attempts_max: u32) -> Option<Nanos> {
        match self.asked {
            None => Some(Nanos::ZERO),
            Some((_, attempts, again)) => (attempts < attempts_max).then_some(again),
        }
    }

    /// Whether the packets from this one on were asked for as often as may be, in vain.
    pub(crate) fn is_exhausted(
        &self,
        now: Nanos,
        first: SequenceNumber,
        attempts_max: u32,
    ) -> bool {
        self.asked.is_some_and(|(asked, attempts, again)| {
            asked == first && attempts >= attempts_max && now >= again
        })
    }

    pub(crate) const fn take(&mut self) -> Option<RetransmitRequest> {
        self.due.take()
    }

    pub(crate) const fn clear(&mut self) {
        self.asked = None;
        self.due = None;
    }

    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }
}
