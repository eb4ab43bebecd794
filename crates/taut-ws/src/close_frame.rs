//! Close frames (RFC 6455, 5.5.1).

use crate::close::CloseCode;
use crate::error::Violation;

/// What a close frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseFrame<'a> {
    /// Nothing, when the frame is empty.
    pub code: Option<CloseCode>,
    /// In the peer's words.
    pub reason: &'a str,
}

impl<'a> CloseFrame<'a> {
    /// Reads a close frame's payload.
    ///
    /// # Errors
    /// Half a code, a code that must not be sent, a reason that is not UTF-8.
    pub(crate) fn parse(payload: &'a [u8]) -> Result<Self, Violation> {
        let (code, reason) = match payload {
            [] => return Ok(Self::default()),
            [_] => return Err(Violation::CloseBytes),
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        };
        let code = CloseCode::new(code).ok_or(Violation::CloseCode)?;
        let reason = core::str::from_utf8(reason).map_err(|_| Violation::Utf8)?;
        Ok(Self { code: Some(code), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_frame_is_empty_or_has_a_code_and_a_text() {
        assert_eq!(CloseFrame::parse(b""), Ok(CloseFrame::default()));
        assert_eq!(CloseFrame::parse(b"\x03"), Err(Violation::CloseBytes));
        let frame = CloseFrame::parse(b"\x03\xe9\xc3\xa9").unwrap();
        assert_eq!((frame.code, frame.reason), (Some(CloseCode::GOING_AWAY), "é"));
        assert_eq!(CloseFrame::parse(b"\x03\xe8\xc3"), Err(Violation::Utf8));
        assert_eq!(CloseFrame::parse(b"\x03\xec"), Err(Violation::CloseCode));
    }
}
