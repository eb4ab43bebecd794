//! The frames: what every datagram starts with, and the header of data.
//!
//! Source: Aeron's wiki, "Transport Protocol Specification". Everything is little-endian.

mod bytes;
mod control;
mod data;
mod flags;
mod resolution;

pub use control::{
    ControlFrame, ErrorFrame, Nak, RoundTripFrame, Setup, Status, error_frame_bytes_max,
};
pub use data::{DATA_HEADER_BYTES, DataHeader, Frames, check_frames, write_heartbeat};
pub use flags::{control_flags, data_flags};
pub use resolution::{Resolution, Resolutions, write_resolutions};

use crate::error::Error;
use bytes::{i32_at, u8_at, u16_at};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Padding up to the end of a term: on the wire its header alone.
    Pad,
    /// Data, or a heartbeat when its length is 0.
    Data,
    /// A gap that a receiver wants repaired.
    Nak,
    /// A receiver's position and window.
    Status,
    /// A receiver that refuses the stream.
    Error,
    /// A sender's parameters.
    Setup,
    /// A round-trip measurement.
    RoundTrip,
    /// Name resolution between drivers: nothing that a stream needs.
    Resolution,
    /// A response channel's set-up: nothing that a stream needs.
    ResponseSetup,
    /// Another type (encryption, extensions).
    Other(u16),
}

const KINDS: [FrameKind; 8] = [
    FrameKind::Pad,
    FrameKind::Data,
    FrameKind::Nak,
    FrameKind::Status,
    FrameKind::Error,
    FrameKind::Setup,
    FrameKind::RoundTrip,
    FrameKind::Resolution,
];

/// The kind of a datagram's first frame, when the datagram as a whole is a valid one: version 0, a
/// length that fits, and data in multiples of 32 bytes.
///
/// # Errors
/// [`Error::Malformed`] with the offset of the field that is wrong.
#[inline]
pub fn frame_kind(datagram: &[u8]) -> Result<FrameKind, Error> {
    let at = |offset| Error::Malformed { offset };
    let (Some(length), Some(version), Some(code)) =
        (i32_at(datagram, 0), u8_at(datagram, 4), u16_at(datagram, 6))
    else {
        return Err(at(datagram.len()));
    };
    let kind = match code {
        0x0b => FrameKind::ResponseSetup,
        code => KINDS.get(usize::from(code)).copied().unwrap_or(FrameKind::Other(code)),
    };
    let Ok(length) = usize::try_from(length) else { return Err(at(0)) };
    if version != 0 {
        return Err(at(4));
    }
    if matches!(kind, FrameKind::Data | FrameKind::Pad) {
        if datagram.len() < DATA_HEADER_BYTES || !datagram.len().is_multiple_of(DATA_HEADER_BYTES) {
            return Err(at(datagram.len()));
        }
    } else if length > datagram.len() {
        return Err(at(0));
    }
    Ok(kind)
}

/// The session and the stream that a valid datagram's first frame names. Name resolution names
/// none.
#[must_use]
pub fn stream_of(kind: FrameKind, datagram: &[u8]) -> Option<(i32, i32)> {
    let at = match kind {
        FrameKind::Data | FrameKind::Pad | FrameKind::Setup => 12,
        FrameKind::Nak | FrameKind::Status | FrameKind::Error | FrameKind::RoundTrip => 8,
        FrameKind::ResponseSetup => 8,
        FrameKind::Resolution | FrameKind::Other(_) => return None,
    };
    Some((i32_at(datagram, at)?, i32_at(datagram, at + 4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_must_be_whole_of_version_0_and_not_longer_than_its_datagram() {
        let mut datagram = [0u8; 36];
        datagram[0] = 36;
        datagram[6] = 3;
        assert_eq!(frame_kind(&datagram), Ok(FrameKind::Status));
        datagram[0] = 37;
        assert_eq!(frame_kind(&datagram), Err(Error::Malformed { offset: 0 }));
        datagram[0] = 36;
        datagram[4] = 1;
        assert_eq!(frame_kind(&datagram), Err(Error::Malformed { offset: 4 }));
        assert_eq!(frame_kind(&[0; 7]), Err(Error::Malformed { offset: 7 }));
        assert_eq!(frame_kind(&[]), Err(Error::Malformed { offset: 0 }));
    }

    #[test]
    fn data_comes_in_multiples_of_32_bytes() {
        for (bytes, expected) in [(32, true), (64, true), (33, false), (31, false), (16, false)] {
            let mut datagram = [0u8; 64];
            datagram[6] = 1;
            assert_eq!(frame_kind(&datagram[..bytes]).is_ok(), expected, "{bytes}");
        }
    }
}
