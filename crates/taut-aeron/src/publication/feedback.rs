//! What receivers say, checked: positions instead of terms and offsets.

use crate::frame::{Nak, Status};
use crate::terms::{FRAME_ALIGNMENT, Terms};

/// The position and the window of a status message; nothing when they are not possible ones.
pub fn status_position(terms: &Terms, status: &Status) -> Option<(i64, i64)> {
    let window = i64::from(status.window);
    if !is_frame_offset(terms, status.term_offset) || !(0..=terms.length() / 2).contains(&window) {
        return None;
    }
    Some((terms.position(status.term_id, status.term_offset)?, window))
}

/// The range that a NAK asks for; nothing when it is not one of a term.
pub fn nak_range(terms: &Terms, nak: &Nak) -> Option<(i64, i64)> {
    let end = i64::from(nak.term_offset) + i64::from(nak.length);
    let is_inside = nak.length >= 0 && end <= terms.length();
    if !is_frame_offset(terms, nak.term_offset) || !is_inside {
        return None;
    }
    let start = terms.position(nak.term_id, nak.term_offset)?;
    Some((start, start + i64::from(nak.length)))
}

fn is_frame_offset(terms: &Terms, offset: i32) -> bool {
    i64::from(offset) < terms.length() && offset >= 0 && offset % FRAME_ALIGNMENT == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_windows_and_lengths_outside_a_term_are_refused() {
        let terms = Terms::new(0, 65_536).unwrap();
        let nak = |term_offset, length| {
            let (session_id, stream_id, term_id) = (1, 2, 1);
            nak_range(&terms, &Nak { session_id, stream_id, term_id, term_offset, length })
        };
        assert_eq!(nak(32, 64), Some((65_568, 65_632)));
        for (offset, length) in [(-32, 64), (65_536, 0), (33, 64), (0, -1), (32, 65_536)] {
            assert_eq!(nak(offset, length), None, "{offset} {length}");
        }
        let status = |term_offset, window| {
            let status = Status {
                flags: 0,
                session_id: 1,
                stream_id: 2,
                term_id: 0,
                term_offset,
                window,
                receiver_id: 3,
                group_tag: None,
            };
            status_position(&terms, &status)
        };
        assert_eq!(status(64, 32_768), Some((64, 32_768)));
        for (offset, window) in [(-32, 0), (65_536, 0), (8, 0), (0, -1), (0, 32_769)] {
            assert_eq!(status(offset, window), None, "{offset} {window}");
        }
    }
}
