//! The receiver's window: a ring of frames between what the application has consumed and what has
//! arrived.

use alloc::boxed::Box;
use alloc::vec;

use crate::frame::{DATA_HEADER_BYTES, DataHeader};

/// A ring of bytes by position. A frame that would cross the ring's end is written on into spare
/// room behind it, so that every frame is one slice.
#[derive(Debug)]
pub struct Window {
    bytes: Box<[u8]>,
    capacity: i64,
}

impl Window {
    /// Room for `bytes` (rounded up to a power of two), and for one frame of `mtu` behind them.
    pub fn new(bytes: i64, mtu: usize) -> Self {
        let capacity = (bytes.max(1) as u64).next_power_of_two() as i64;
        Self { bytes: vec![0; capacity as usize + mtu].into_boxed_slice(), capacity }
    }

    pub const fn capacity(&self) -> i64 {
        self.capacity
    }

    /// Writes a run of frames that was checked. Cost: one copy; a run that crosses the ring's end
    /// is written frame by frame.
    #[inline]
    pub fn write(&mut self, position: i64, frames: &[u8]) {
        let at = self.index(position);
        if at + frames.len() <= self.capacity as usize {
            if let Some(place) = self.bytes.get_mut(at..at + frames.len()) {
                place.copy_from_slice(frames);
            }
        } else {
            self.write_frames(position, frames);
        }
    }

    #[cold]
    fn write_frames(&mut self, mut position: i64, mut frames: &[u8]) {
        while let Some(header) = DataHeader::read(frames) {
            let Some((frame, rest)) = frames.split_at_checked(header.wire_bytes()) else { return };
            let at = self.index(position);
            if let Some(place) = self.bytes.get_mut(at..at + frame.len()) {
                place.copy_from_slice(frame);
            }
            position += header.log_bytes();
            frames = rest;
        }
    }

    /// The frame at a position that was written.
    #[inline]
    pub fn frame(&self, position: i64) -> Option<(DataHeader, &[u8])> {
        let bytes = self.bytes.get(self.index(position)..)?;
        let header = DataHeader::read(bytes)?;
        if header.is_padding {
            return Some((header, &[]));
        }
        let payload = bytes.get(DATA_HEADER_BYTES..header.frame_length as usize)?;
        Some((header, payload))
    }

    #[inline]
    const fn index(&self, position: i64) -> usize {
        (position & (self.capacity - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn frame(payload: u8, bytes: i32) -> Vec<u8> {
        let header = DataHeader {
            frame_length: bytes + 32,
            flags: 0,
            is_padding: false,
            term_offset: 0,
            session_id: 0,
            stream_id: 0,
            term_id: 0,
            reserved_value: 0,
        };
        let mut frame = header.bytes().to_vec();
        frame.resize(header.wire_bytes(), payload);
        frame
    }

    #[test]
    fn a_frame_is_one_slice_wherever_the_ring_ends() {
        let mut window = Window::new(1000, 256);
        assert_eq!(window.capacity(), 1024);
        for start in (0..4096).step_by(32) {
            let frames = [frame(1, 100), frame(2, 70), frame(3, 10)].concat();
            window.write(start, &frames);
            assert_eq!(window.frame(start).unwrap().1, [1; 100]);
            assert_eq!(window.frame(start + 160).unwrap().1, [2; 70]);
            assert_eq!(window.frame(start + 288).unwrap().1, [3; 10]);
        }
    }
}
