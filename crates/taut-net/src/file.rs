//! Plain files on the loop: read a chunk in each turn, so that whatever else is due comes between.
//!
//! # What a file read costs
//! A plain file is always "ready": epoll refuses it, and a read is done by the loop's own thread.
//! From the page cache a chunk of 64 KiB costs one system call and the copy, ten to twenty
//! microseconds. What is not in the cache stops the whole loop until the disk has answered: about a
//! tenth of a millisecond for a flash disk, ten milliseconds for a turning one, for ever for a
//! network file system whose server is gone. So: read what a session needs before it starts;
//! read beside running sessions only what was read or written lately, in chunks that the slowest
//! tolerable turn allows; leave everything else to a thread of its own that posts.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;

use taut_io::{Completion, Io, Kernel, Payload};
use taut_sys::SysError;

use crate::error::NetError;
use crate::resolve::MARK;

/// A file that is being read, chunk by chunk.
#[derive(Debug)]
pub struct FileReader {
    file: File,
    chunk: Box<[u8]>,
    /// How often it has posted: a post of an earlier one is not taken for the newest.
    turn: u64,
}

/// What a completion brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRead<'r> {
    /// The completion is not of this file.
    NotMine,
    /// The next bytes.
    Bytes(&'r [u8]),
    /// The file is at its end.
    Ended,
    /// Reading failed.
    Failed(NetError),
}

impl FileReader {
    /// Opens a file to be read in chunks of at most `chunk_bytes`, and asks for the first one.
    ///
    /// # Errors
    /// What opening says; no room to post.
    pub fn open<K: Kernel>(
        io: &mut Io<K>,
        path: &Path,
        chunk_bytes: usize,
    ) -> Result<Self, NetError> {
        let file = File::open(path).map_err(|error| fault("open file", &error))?;
        let chunk = vec![0; chunk_bytes.max(1)].into_boxed_slice();
        let mut reader = Self { file, chunk, turn: 0 };
        reader.ask(io)?;
        Ok(reader)
    }

    /// Reads the next chunk if the completion says that it is its turn, and asks for another.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
    ) -> FileRead<'_> {
        match completion {
            Completion::Posted { payload } if *payload == self.post() => {}
            _ => return FileRead::NotMine,
        }
        match self.file.read(&mut self.chunk) {
            Ok(0) => FileRead::Ended,
            Ok(bytes) => match self.ask(io) {
                Ok(()) => FileRead::Bytes(&self.chunk[..bytes]),
                Err(error) => FileRead::Failed(error),
            },
            Err(error) => FileRead::Failed(fault("read file", &error)),
        }
    }

    fn ask<K: Kernel>(&mut self, io: &mut Io<K>) -> Result<(), NetError> {
        self.turn += 1;
        Ok(io.post(&self.post())?)
    }

    fn post(&self) -> Payload {
        [self.turn, self.file.as_raw_fd().unsigned_abs().into(), 1, 0, 0, 0, MARK]
    }
}

fn fault(operation: &'static str, error: &std::io::Error) -> NetError {
    SysError::from_errno(operation, error.raw_os_error().unwrap_or(0)).into()
}
