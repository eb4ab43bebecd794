//! Control frames: SETUP, status messages, NAKs, round trips, errors.

use super::bytes::{i32_at, i64_at, put, put_header, u8_at};
use super::flags::control_flags::ERROR_GROUP_TAG;

const NAK: u16 = 2;
const STATUS: u16 = 3;
const ERROR: u16 = 4;
const SETUP: u16 = 5;
const ROUND_TRIP: u16 = 6;

const ERROR_HEADER_BYTES: usize = 40;
const ERROR_TEXT_BYTES_MAX: usize = 1023;

/// The bytes of a control frame without text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlFrame {
    bytes: [u8; 44],
    length: u8,
}

impl ControlFrame {
    fn new(length: u8, flags: u8, code: u16) -> Self {
        let mut bytes = [0; 44];
        put_header(&mut bytes, usize::from(length), flags, code);
        Self { bytes, length }
    }

    fn with<const N: usize>(mut self, at: usize, field: [u8; N]) -> Self {
        put(&mut self.bytes, at, field);
        self
    }

    /// The frame as it goes out.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// Copies it to the front of a buffer; 0 when it does not fit.
    pub fn write(&self, out: &mut [u8]) -> usize {
        match out.get_mut(..usize::from(self.length)) {
            Some(place) => {
                place.copy_from_slice(self.as_bytes());
                place.len()
            }
            None => 0,
        }
    }
}

/// A sender's parameters and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// See [`control_flags`](super::control_flags).
    pub flags: u8,
    /// Where in the active term the sender is.
    pub term_offset: i32,
    /// Which publication.
    pub session_id: i32,
    /// Which stream.
    pub stream_id: i32,
    /// The first term.
    pub initial_term_id: i32,
    /// The term that is being sent.
    pub active_term_id: i32,
    /// The length of a term.
    pub term_length: i32,
    /// The longest datagram.
    pub mtu: i32,
    /// The sender's multicast hops.
    pub ttl: i32,
}

impl Setup {
    /// Reads one; nothing when there are fewer than 40 bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            flags: u8_at(bytes, 5)?,
            term_offset: i32_at(bytes, 8)?,
            session_id: i32_at(bytes, 12)?,
            stream_id: i32_at(bytes, 16)?,
            initial_term_id: i32_at(bytes, 20)?,
            active_term_id: i32_at(bytes, 24)?,
            term_length: i32_at(bytes, 28)?,
            mtu: i32_at(bytes, 32)?,
            ttl: i32_at(bytes, 36)?,
        })
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> ControlFrame {
        ControlFrame::new(40, self.flags, SETUP)
            .with(8, self.term_offset.to_le_bytes())
            .with(12, self.session_id.to_le_bytes())
            .with(16, self.stream_id.to_le_bytes())
            .with(20, self.initial_term_id.to_le_bytes())
            .with(24, self.active_term_id.to_le_bytes())
            .with(28, self.term_length.to_le_bytes())
            .with(32, self.mtu.to_le_bytes())
            .with(36, self.ttl.to_le_bytes())
    }
}

/// A receiver's position and window (SM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// See [`control_flags`](super::control_flags).
    pub flags: u8,
    /// Which publication; 0 with SEND_SETUP to a control address: every one there.
    pub session_id: i32,
    /// Which stream.
    pub stream_id: i32,
    /// The term up to which the application has consumed.
    pub term_id: i32,
    /// The offset in it.
    pub term_offset: i32,
    /// How much more may be sent.
    pub window: i32,
    /// Which receiver.
    pub receiver_id: i64,
    /// The group that it belongs to.
    pub group_tag: Option<i64>,
}

impl Status {
    /// Reads one; nothing when there are fewer than 36 bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let has_tag = i32_at(bytes, 0)? >= 44;
        Some(Self {
            flags: u8_at(bytes, 5)?,
            session_id: i32_at(bytes, 8)?,
            stream_id: i32_at(bytes, 12)?,
            term_id: i32_at(bytes, 16)?,
            term_offset: i32_at(bytes, 20)?,
            window: i32_at(bytes, 24)?,
            receiver_id: i64_at(bytes, 28)?,
            group_tag: if has_tag { i64_at(bytes, 36) } else { None },
        })
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> ControlFrame {
        let length = if self.group_tag.is_some() { 44 } else { 36 };
        ControlFrame::new(length, self.flags, STATUS)
            .with(8, self.session_id.to_le_bytes())
            .with(12, self.stream_id.to_le_bytes())
            .with(16, self.term_id.to_le_bytes())
            .with(20, self.term_offset.to_le_bytes())
            .with(24, self.window.to_le_bytes())
            .with(28, self.receiver_id.to_le_bytes())
            .with(36, self.group_tag.unwrap_or(0).to_le_bytes())
    }
}

/// A gap that a receiver wants repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nak {
    /// Which publication.
    pub session_id: i32,
    /// Which stream.
    pub stream_id: i32,
    /// The gap's term.
    pub term_id: i32,
    /// Where it starts.
    pub term_offset: i32,
    /// Its bytes.
    pub length: i32,
}

impl Nak {
    /// Reads one; nothing when there are fewer than 28 bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            session_id: i32_at(bytes, 8)?,
            stream_id: i32_at(bytes, 12)?,
            term_id: i32_at(bytes, 16)?,
            term_offset: i32_at(bytes, 20)?,
            length: i32_at(bytes, 24)?,
        })
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> ControlFrame {
        ControlFrame::new(28, 0, NAK)
            .with(8, self.session_id.to_le_bytes())
            .with(12, self.stream_id.to_le_bytes())
            .with(16, self.term_id.to_le_bytes())
            .with(20, self.term_offset.to_le_bytes())
            .with(24, self.length.to_le_bytes())
    }
}

/// A round-trip measurement (RTTM), or its echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTripFrame {
    /// See [`control_flags`](super::control_flags).
    pub flags: u8,
    /// Which publication.
    pub session_id: i32,
    /// Which stream.
    pub stream_id: i32,
    /// What the echo has to repeat.
    pub echo: i64,
    /// How long the echoing side held it, in nanoseconds.
    pub reception_delta: i64,
    /// Which receiver.
    pub receiver_id: i64,
}

impl RoundTripFrame {
    /// Reads one; nothing when there are fewer than 40 bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            flags: u8_at(bytes, 5)?,
            session_id: i32_at(bytes, 8)?,
            stream_id: i32_at(bytes, 12)?,
            echo: i64_at(bytes, 16)?,
            reception_delta: i64_at(bytes, 24)?,
            receiver_id: i64_at(bytes, 32)?,
        })
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> ControlFrame {
        ControlFrame::new(40, self.flags, ROUND_TRIP)
            .with(8, self.session_id.to_le_bytes())
            .with(12, self.stream_id.to_le_bytes())
            .with(16, self.echo.to_le_bytes())
            .with(24, self.reception_delta.to_le_bytes())
            .with(32, self.receiver_id.to_le_bytes())
    }
}

/// A receiver refuses the stream and says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorFrame<'a> {
    /// Which publication.
    pub session_id: i32,
    /// Which stream.
    pub stream_id: i32,
    /// Which receiver.
    pub receiver_id: i64,
    /// The group that it belongs to.
    pub group_tag: Option<i64>,
    /// The reason, as a number of the application's.
    pub code: i32,
    /// The reason in words: UTF-8, at most 1,023 bytes.
    pub text: &'a [u8],
}

/// The bytes of the longest error frame.
#[must_use]
pub const fn error_frame_bytes_max() -> usize {
    ERROR_HEADER_BYTES + ERROR_TEXT_BYTES_MAX
}

impl<'a> ErrorFrame<'a> {
    /// Reads one; nothing when the text is longer than the datagram.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let length = usize::try_from(i32_at(bytes, 36)?).ok()?;
        let has_tag = u8_at(bytes, 5)? & ERROR_GROUP_TAG != 0;
        Some(Self {
            session_id: i32_at(bytes, 8)?,
            stream_id: i32_at(bytes, 12)?,
            receiver_id: i64_at(bytes, 16)?,
            group_tag: if has_tag { i64_at(bytes, 24) } else { None },
            code: i32_at(bytes, 32)?,
            text: bytes.get(ERROR_HEADER_BYTES..)?.get(..length.min(ERROR_TEXT_BYTES_MAX))?,
        })
    }

    /// Writes the frame and returns its length, 0 when it does not fit. Longer text is cut.
    pub fn write(&self, out: &mut [u8]) -> usize {
        let text = self.text.get(..ERROR_TEXT_BYTES_MAX).unwrap_or(self.text);
        let length = ERROR_HEADER_BYTES + text.len();
        let Some((header, place)) =
            out.get_mut(..length).and_then(|out| out.split_at_mut_checked(ERROR_HEADER_BYTES))
        else {
            return 0;
        };
        let flags = if self.group_tag.is_some() { ERROR_GROUP_TAG } else { 0 };
        put_header(header, length, flags, ERROR);
        put(header, 8, self.session_id.to_le_bytes());
        put(header, 12, self.stream_id.to_le_bytes());
        put(header, 16, self.receiver_id.to_le_bytes());
        put(header, 24, self.group_tag.unwrap_or(0).to_le_bytes());
        put(header, 32, self.code.to_le_bytes());
        put(header, 36, (text.len() as i32).to_le_bytes());
        place.copy_from_slice(text);
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_frames_read_back_as_they_were_written_and_their_lengths_are_the_standards() {
        let setup = Setup {
            flags: 0x40,
            term_offset: 64,
            session_id: -3,
            stream_id: 1001,
            initial_term_id: 5,
            active_term_id: 7,
            term_length: 65_536,
            mtu: 1408,
            ttl: 8,
        };
        assert_eq!(Setup::read(setup.frame().as_bytes()), Some(setup));
        assert_eq!(setup.frame().as_bytes().len(), 40);
        for (group_tag, length) in [(None, 36), (Some(-9), 44)] {
            let status = Status {
                flags: 0x80,
                session_id: 1,
                stream_id: 2,
                term_id: 3,
                term_offset: 96,
                window: 131_072,
                receiver_id: i64::MIN,
                group_tag,
            };
            assert_eq!(Status::read(status.frame().as_bytes()), Some(status));
            assert_eq!(status.frame().as_bytes().len(), length);
        }
        let nak = Nak { session_id: 1, stream_id: 2, term_id: 3, term_offset: 4, length: 5 };
        assert_eq!(Nak::read(nak.frame().as_bytes()), Some(nak));
        assert_eq!(nak.frame().as_bytes().len(), 28);
        let round_trip = RoundTripFrame {
            flags: 0x80,
            session_id: 1,
            stream_id: 2,
            echo: -5,
            reception_delta: 6,
            receiver_id: 7,
        };
        assert_eq!(RoundTripFrame::read(round_trip.frame().as_bytes()), Some(round_trip));
        assert_eq!(round_trip.frame().as_bytes().len(), 40);
    }

    #[test]
    fn an_error_frame_never_reads_beyond_its_datagram() {
        let error = ErrorFrame {
            session_id: 1,
            stream_id: 2,
            receiver_id: 3,
            group_tag: Some(4),
            code: 11,
            text: b"too slow",
        };
        let mut bytes = [0; 64];
        assert_eq!(error.write(&mut bytes), 48);
        assert_eq!(ErrorFrame::read(&bytes[..48]), Some(error));
        assert_eq!(ErrorFrame::read(&bytes[..47]), None);
        assert_eq!(error.write(&mut bytes[..47]), 0);
        bytes[36..40].copy_from_slice(&(-1i32).to_le_bytes());
        assert_eq!(ErrorFrame::read(&bytes), None);
    }
}
