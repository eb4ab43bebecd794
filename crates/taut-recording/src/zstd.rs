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
/// the end alone: the decoder of DBN counts on it, and takes a file that ends early for a whole
/// one, which is therefore an error of another kind here.
///
/// # Errors
/// Those of the file.
pub fn unpacked<R: BufRead>(mut file: R) -> io::Result<Unpacked<R>> {
    let begin = file.fill_buf()?;
    let is_skippable = begin.len() >= SKIPPABLE.len()
        && begin[0] & SKIPPABLE_MASK == SKIPPABLE[0]
        && begin[1..].starts_with(&SKIPPABLE[1..]);
    let source = match begin.starts_with(&FRAME) || is_skippable {
        true => Source::Packed(Box::new(Frames::new(file))),
        false => Source::Plain(file),
    };
    Ok(Unpacked { source, failure: None })
}

/// A file that [`unpacked`] reads.
pub struct Unpacked<R> {
    source: Source<R>,
    /// What came behind the bytes of the last read.
    failure: Option<Error>,
}

enum Source<R> {
    Packed(Box<Frames<R>>),
    Plain(R),
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < to.len() && self.failure.is_none() {
            let rest = &mut to[filled..];
            let read = match &mut self.source {
                Source::Packed(frames) => frames.read(rest),
                Source::Plain(file) => file.read(rest),
            };
            match read {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(error),
            }
        }
        match self.failure.take_if(|_| filled == 0) {
            Some(error) => Err(error),
            None => Ok(filled),
        }
    }
}

/// The frames of a file, one after the other.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    /// Bytes that came out of the frame.
    unpacked_bytes: u64,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), in_frame: false, unpacked_bytes: 0 }
    }

    /// Some bytes; none at the end of the file.
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
                self.unpacked_bytes = 0;
            }
            if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(invalid)?;
            }
            let read = self.decoder.read(to)?;
            if read > 0 {
                self.unpacked_bytes += read as u64;
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.in_frame = false;
            }
        }
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
                        return Err(invalid("the file ends within a skippable frame"));
                    }
                }
                Err(error) => return Err(invalid(error)),
            }
        }
        Ok(false)
    }

    /// At the end of a frame. A size of 0 stands for none, too.
    fn check(&self) -> io::Result<()> {
        let told = self.decoder.content_size();
        if told != 0 && told != self.unpacked_bytes {
            let own = self.unpacked_bytes;
            return Err(invalid(format!("a frame has {own} bytes, and it says {told}")));
        }
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(told), Some(own)) if told != own => {
                Err(invalid(format!("a frame's checksum is {own:#010x}, and it says {told:#010x}")))
            }
            _ => Ok(()),
        }
    }
}

/// What is no Zstandard. A file that ends within a frame is no other case.
fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests;
