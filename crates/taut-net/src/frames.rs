//! Cuts a stream of bytes into frames: each is handed out as one slice, however it arrived.
//!
//! A frame that lies whole in what arrived is handed out from there, without a copy; only the rest
//! of a frame that was cut by the network is kept, in a mirrored buffer, where a frame is one slice
//! wherever it starts.

use taut_sys::{MirroredBuffer, SysError};

use crate::error::NetError;

/// Says how long frames are.
pub trait Framing {
    /// The length of the frame that starts here, header included: `None` when more bytes are needed
    /// to know. Zero is malformed.
    fn frame_bytes(&self, start: &[u8]) -> Option<usize>;
}

/// A length of two or four bytes in front of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthPrefix {
    /// Two or four bytes.
    pub wide: bool,
    /// The most significant byte comes first.
    pub big_endian: bool,
    /// The length counts its own bytes too.
    pub includes_itself: bool,
}

impl Framing for LengthPrefix {
    fn frame_bytes(&self, start: &[u8]) -> Option<usize> {
        let (length, header) = if self.wide {
            let bytes = *start.first_chunk::<4>()?;
            let length =
                if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            (length as usize, 4)
        } else {
            let bytes = *start.first_chunk::<2>()?;
            let length =
                if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
            (usize::from(length), 2)
        };
        // A length that includes itself cannot be shorter than itself: no frame has length zero.
        match self.includes_itself {
            true if length < header => Some(0),
            true => Some(length),
            false => Some(length.saturating_add(header)),
        }
    }
}

/// The frames of one stream.
#[derive(Debug)]
pub struct Frames<F> {
    framing: F,
    partial: MirroredBuffer,
    frame_bytes_max: usize,
}

impl<F: Framing> Frames<F> {
    /// Frames of at most `frame_bytes_max`, header included. All memory is taken here.
    ///
    /// # Errors
    /// No memory.
    pub fn new(framing: F, frame_bytes_max: usize) -> Result<Self, SysError> {
        let partial = MirroredBuffer::new(frame_bytes_max.max(1))?;
        Ok(Self { framing, partial, frame_bytes_max })
    }

    /// Bytes of a frame that has not arrived whole.
    #[must_use]
    pub const fn partial_bytes(&self) -> usize {
        self.partial.len()
    }

    /// Takes what arrived, and hands out each frame that is whole now, in order. No copy of frames
    /// that arrived in one piece; no allocation.
    ///
    /// # Errors
    /// [`NetError::FrameTooLong`], and then the stream is of no use any more.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), NetError> {
        let mut bytes = bytes;
        while !self.partial.is_empty() && !bytes.is_empty() {
            // What is missing of the frame, and while even its length is missing, byte by byte.
            let have = self.partial.len();
            let whole = self.whole(self.partial.committed())?.unwrap_or(have + 1);
            let (head, rest) = bytes.split_at(whole.saturating_sub(have).min(bytes.len()));
            self.keep(head);
            bytes = rest;
            if self.whole(self.partial.committed())? == Some(self.partial.len()) {
                each(self.partial.committed());
                self.partial.consume(self.partial.len());
            }
        }
        while let Some(length) = self.whole(bytes)? {
            let Some((frame, rest)) = bytes.split_at_checked(length) else { break };
            each(frame);
            bytes = rest;
        }
        self.keep(bytes);
        Ok(())
    }

    /// The length of the frame that starts here, if it is known and within the limit.
    fn whole(&self, start: &[u8]) -> Result<Option<usize>, NetError> {
        let length = self.framing.frame_bytes(start);
        let is_possible = |length: usize| length > 0 && length <= self.frame_bytes_max;
        match length {
            Some(length) if !is_possible(length) => {
                Err(NetError::FrameTooLong { announced: length, limit: self.frame_bytes_max })
            }
            None if start.len() >= self.frame_bytes_max => {
                Err(NetError::FrameTooLong { announced: start.len(), limit: self.frame_bytes_max })
            }
            length => Ok(length),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(place) = self.partial.claim().get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            self.partial.commit(bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: LengthPrefix =
        LengthPrefix { wide: false, big_endian: true, includes_itself: false };

    fn frame(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
    }

    #[test]
    fn every_pair_of_cuts_of_a_stream_gives_the_same_frames() {
        let wanted: Vec<Vec<u8>> =
            [&b"a"[..], b"", b"longer than the others", b"xyz"].map(frame).to_vec();
        let stream = wanted.concat();
        let mut frames = Frames::new(PREFIX, 64).expect("frames");
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let mut got = Vec::new();
                for part in [&stream[..first], &stream[first..second], &stream[second..]] {
                    frames.push(part, |frame| got.push(frame.to_vec())).expect("push");
                }
                assert_eq!(got, wanted, "cut at {first} and {second}");
                assert_eq!(frames.partial_bytes(), 0);
            }
        }
    }

    #[test]
    fn frames_that_arrive_byte_by_byte_wrap_around_the_buffer_and_stay_whole() {
        let mut frames = Frames::new(PREFIX, 1000).expect("frames");
        for round in 0..200usize {
            let text = vec![round as u8; 3 + round * 37 % 900];
            let mut got = Vec::new();
            for byte in frame(&text) {
                frames.push(&[byte], |frame| got.push(frame[2..].to_vec())).expect("push");
            }
            assert_eq!(got, [text]);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_or_impossible_is_an_error_and_no_panic() {
        let mut frames = Frames::new(PREFIX, 10).expect("frames");
        frames.push(&frame(b"12345678"), |_| {}).expect("ten bytes fit");
        let error = frames.push(&frame(b"123456789"), |_| panic!("a frame"));
        assert_eq!(error, Err(NetError::FrameTooLong { announced: 11, limit: 10 }));
        let framing = LengthPrefix { wide: true, big_endian: false, includes_itself: true };
        let mut frames = Frames::new(framing, 100).expect("frames");
        let error = frames.push(&[3, 0, 0, 0], |_| panic!("a frame"));
        assert_eq!(error, Err(NetError::FrameTooLong { announced: 0, limit: 100 }));
        let mut frames = Frames::new(framing, 100).expect("frames");
        assert!(frames.push(&[0xff; 4], |_| {}).is_err());
    }

    #[test]
    fn nothing_allocates() {
        let mut frames = Frames::new(PREFIX, 256).expect("frames");
        let stream = [frame(&[1; 100]), frame(&[2; 100])].concat();
        let mut count = 0;
        let allocations = allocation_counter::measure(|| {
            for cut in 0..stream.len() {
                frames.push(&stream[..cut], |_| count += 1).expect("push");
                frames.push(&stream[cut..], |_| count += 1).expect("push");
            }
        });
        assert_eq!((allocations.count_total, count), (0, 2 * stream.len()));
    }
}
