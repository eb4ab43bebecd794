//! Files that are packed with Zstandard (RFC 8878), read as they come.
//!
//! A file is a sequence of frames (section 3.1); skippable ones (section 3.1.2) hold nothing of it.
//! A frame's checksum, where it has one, is held against what was unpacked.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// How each frame begins, and how skippable ones do in the low four bits of the first byte.
const FRAME: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const SKIPPABLE: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
const SKIPPABLE_MASK: u8 = 0xF0;

/// The bytes of a file: unpacked where it is packed, else as they are. A read comes back short at
/// the end alone: the decoder of DBN counts on it.
///
/// # Errors
/// Those of the file.
pub fn unpacked<R: BufRead>(mut file: R) -> io::Result<Unpacked<R>> {
    let begin = file.fill_buf()?;
    let is_skippable = begin.len() >= SKIPPABLE.len()
        && begin[0] & SKIPPABLE_MASK == SKIPPABLE[0]
        && begin[1..].starts_with(&SKIPPABLE[1..]);
    Ok(match begin.starts_with(&FRAME) || is_skippable {
        true => Unpacked::Packed(Box::new(Frames::new(file))),
        false => Unpacked::Plain(file),
    })
}

/// A file that [`unpacked`] reads.
pub enum Unpacked<R> {
    Packed(Box<Frames<R>>),
    Plain(R),
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < to.len() {
            let rest = &mut to[filled..];
            let read = match self {
                Self::Packed(frames) => frames.read(rest)?,
                Self::Plain(file) => file.read(rest)?,
            };
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(filled)
    }
}

/// The frames of a file, one after the other.
pub struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins with the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut skipped = self.source.by_ref().take(length);
                    if io::copy(&mut skipped, &mut io::sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(wrong(error)),
            }
        }
        Ok(false)
    }

    /// At the end of a frame.
    fn check(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(told), Some(own)) if told != own => {
                let text = format!("a frame's checksum is {own:#010x}, and it says {told:#010x}");
                Err(Error::new(ErrorKind::InvalidData, text))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(wrong)?;
            }
            let read = self.decoder.read(to)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.in_frame = false;
            }
        }
    }
}

/// What is no Zstandard. A file that ends too early is no other case here.
fn wrong(error: FrameDecoderError) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
