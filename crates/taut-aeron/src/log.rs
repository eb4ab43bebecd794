//! The sender's log: one term's room, in which messages become frames.
//!
//! The log is a ring of exactly one term, so that a frame, which never spans terms, never spans the
//! ring's end either. The sender keeps at most 3/8 of a term unsent and may repair 5/8 of a term
//! behind what it has sent, which together is the ring.

use alloc::boxed::Box;
use alloc::vec;

use crate::frame::data_flags::{BEGIN, END, UNFRAGMENTED};
use crate::frame::{DATA_HEADER_BYTES, DataHeader};
use crate::terms::{FRAME_ALIGNMENT, Terms, aligned};

const HEADER: i64 = DATA_HEADER_BYTES as i64;

/// How much a frame takes in the log and on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub log_bytes: i64,
    pub wire_bytes: usize,
    pub is_padding: bool,
}

/// The frames of a stream from a term before its tail on.
#[derive(Debug)]
pub struct TermLog {
    bytes: Box<[u8]>,
    terms: Terms,
    session_id: i32,
    stream_id: i32,
    payload_bytes_max: usize,
    tail: i64,
}

impl TermLog {
    pub fn new(terms: Terms, session_id: i32, stream_id: i32, mtu: usize, start: i64) -> Self {
        Self {
            bytes: vec![0; terms.length() as usize].into_boxed_slice(),
            terms,
            session_id,
            stream_id,
            payload_bytes_max: mtu.saturating_sub(DATA_HEADER_BYTES),
            tail: start,
        }
    }

    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Where the next frame starts.
    #[inline]
    pub const fn tail(&self) -> i64 {
        self.tail
    }

    /// The longest payload of one frame.
    #[inline]
    pub const fn payload_bytes_max(&self) -> usize {
        self.payload_bytes_max
    }

    /// The place for a message of one frame, header written, when it ends at or before `limit` and
    /// inside the term. The tail has not moved: see [`Self::commit`].
    #[inline]
    pub fn claim(&mut self, length: usize, reserved_value: i64, limit: i64) -> Option<&mut [u8]> {
        let frame_length = length as i64 + HEADER;
        let log_bytes = aligned(frame_length);
        let fits = self.tail + log_bytes <= limit && log_bytes <= self.terms.remaining(self.tail);
        if length > self.payload_bytes_max || !fits {
            return None;
        }
        let header = self.header(self.tail, frame_length, UNFRAGMENTED, reserved_value);
        self.frame_mut(self.tail, log_bytes, &header)?.get_mut(..length)
    }

    /// The place that was claimed last.
    pub fn claimed(&mut self, length: usize) -> &mut [u8] {
        let at = self.terms.offset(self.tail) as usize + DATA_HEADER_BYTES;
        self.bytes.get_mut(at..at + length).unwrap_or(&mut [])
    }

    /// The claimed message becomes part of the stream; returns the new tail.
    #[inline]
    pub fn commit(&mut self, length: usize) -> i64 {
        self.tail += aligned(length as i64 + HEADER);
        self.tail
    }

    /// The log bytes that a message takes, of one fragment or of several.
    pub const fn message_log_bytes(&self, length: usize) -> i64 {
        let (full, rest) = (length / self.payload_bytes_max, length % self.payload_bytes_max);
        let last = if rest > 0 || full == 0 { aligned(rest as i64 + HEADER) } else { 0 };
        full as i64 * aligned(self.payload_bytes_max as i64 + HEADER) + last
    }

    /// Fills the term up with padding.
    pub fn pad(&mut self) {
        let rest = self.terms.remaining(self.tail);
        let header = self.header(self.tail, rest, UNFRAGMENTED, 0);
        let header = DataHeader { is_padding: true, ..header };
        let _ = self.frame_mut(self.tail, HEADER, &header);
        self.tail += rest;
    }

    /// Appends a message given in parts, as fragments where it is longer than one frame takes. The
    /// caller has made sure that it fits into the term.
    pub fn append_fragments(&mut self, parts: &[&[u8]], length: usize, reserved_value: i64) {
        let mut source = parts.iter().copied();
        let mut part: &[u8] = &[];
        let mut done = 0;
        while done < length || length == 0 {
            let payload = (length - done).min(self.payload_bytes_max);
            let first = if done == 0 { BEGIN } else { 0 };
            let last = if done + payload == length { END } else { 0 };
            let frame_length = payload as i64 + HEADER;
            let header = self.header(self.tail, frame_length, first | last, reserved_value);
            let Some(place) = self.frame_mut(self.tail, aligned(frame_length), &header) else {
                return;
            };
            let mut place = place.get_mut(..payload).unwrap_or(&mut []);
            while !place.is_empty() {
                if part.is_empty() {
                    let Some(next) = source.next() else { break };
                    part = next;
                    continue;
                }
                let count = part.len().min(place.len());
                let (Some((now, later)), Some((to, rest))) =
                    (part.split_at_checked(count), place.split_at_mut_checked(count))
                else {
                    return;
                };
                to.copy_from_slice(now);
                (part, place) = (later, rest);
            }
            self.tail += aligned(frame_length);
            done += payload;
            if length == 0 {
                return;
            }
        }
    }

    /// The header of the frame at a position, when one of this stream starts there.
    #[inline]
    pub fn frame_at(&self, position: i64) -> Option<DataHeader> {
        let at = self.terms.offset(position);
        let header = DataHeader::read(self.bytes.get(at as usize..)?)?;
        let is_frame = header.term_offset == at
            && header.session_id == self.session_id
            && header.stream_id == self.stream_id
            && header.term_id == self.terms.term_id(position)
            && i64::from(header.frame_length) >= HEADER
            && header.log_bytes() <= self.terms.remaining(position);
        is_frame.then_some(header)
    }

    /// The extent of the frame at a position where one is known to start.
    #[inline]
    pub fn span_at(&self, position: i64) -> Option<Span> {
        let at = self.terms.offset(position) as usize;
        let header = self.bytes.get(at..)?.first_chunk::<8>()?;
        let header = u64::from_le_bytes(*header);
        let (length, is_padding) = (i64::from(header as u32), header >> 48 == 0);
        if length < HEADER || length > self.terms.length() {
            return None;
        }
        let log_bytes = aligned(length);
        let wire_bytes = if is_padding { DATA_HEADER_BYTES } else { log_bytes as usize };
        Some(Span { log_bytes, wire_bytes, is_padding })
    }

    /// Some bytes of the log, inside one term.
    #[inline]
    pub fn bytes(&self, position: i64, length: usize) -> &[u8] {
        let at = self.terms.offset(position) as usize;
        self.bytes.get(at..at + length).unwrap_or(&[])
    }

    #[inline]
    pub const fn header(
        &self,
        position: i64,
        frame_length: i64,
        flags: u8,
        reserved_value: i64,
    ) -> DataHeader {
        DataHeader {
            frame_length: frame_length as i32,
            flags,
            is_padding: false,
            term_offset: self.terms.offset(position),
            session_id: self.session_id,
            stream_id: self.stream_id,
            term_id: self.terms.term_id(position),
            reserved_value,
        }
    }

    /// Writes a header, clears the padding, and returns the place behind the header.
    #[inline]
    fn frame_mut(&mut self, at: i64, log_bytes: i64, header: &DataHeader) -> Option<&mut [u8]> {
        const ALIGNMENT: usize = FRAME_ALIGNMENT as usize;
        let at = self.terms.offset(at) as usize;
        let frame = self.bytes.get_mut(at..at + log_bytes as usize)?;
        // What lay here before must not travel as padding; the header may overwrite it again.
        *frame.last_chunk_mut::<ALIGNMENT>()? = [0; ALIGNMENT];
        let (place, payload) = frame.split_first_chunk_mut::<DATA_HEADER_BYTES>()?;
        *place = header.bytes();
        Some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn log() -> TermLog {
        TermLog::new(Terms::new(0, 65_536).unwrap(), 9, 1, 1408, 0)
    }

    #[test]
    fn padding_bytes_of_a_frame_never_show_what_lay_there_before() {
        let mut log = log();
        log.claim(90, 0, i64::MAX).unwrap().fill(0xee);
        log.claim(70, 0, i64::MAX).unwrap().fill(7);
        log.commit(70);
        assert_eq!(log.bytes(0, 128)[102..], [0; 26]);
        assert_eq!(log.bytes(0, 128)[32..102], [7; 70]);
    }

    #[test]
    fn a_long_message_becomes_fragments_with_a_begin_and_an_end() {
        let mut log = log();
        let message: Vec<u8> = (0..3000u32).map(|n| n as u8).collect();
        let (head, tail) = message.split_at(1);
        log.append_fragments(&[head, &[], tail], message.len(), 5);
        assert_eq!(log.tail(), log.message_log_bytes(message.len()));
        let (mut at, mut flags, mut bytes) = (0, Vec::new(), Vec::<u8>::new());
        while at < log.tail() {
            let header = log.frame_at(at).expect("a frame");
            flags.push(header.flags);
            bytes.extend(&log.bytes(at, header.frame_length as usize)[32..]);
            at += header.log_bytes();
        }
        assert_eq!(flags, [BEGIN, 0, END]);
        assert_eq!(bytes, message);
    }

    #[test]
    fn a_frame_stands_only_where_one_was_written() {
        let mut log = log();
        log.claim(100, 0, i64::MAX).unwrap().fill(1);
        log.commit(100);
        assert!(log.frame_at(0).is_some());
        assert_eq!(log.frame_at(32), None);
        log.pad();
        assert_eq!((log.tail(), log.frame_at(160).map(|pad| pad.is_padding)), (65_536, Some(true)));
        assert_eq!(log.frame_at(65_536), None, "the ring holds the term before there");
    }
}
