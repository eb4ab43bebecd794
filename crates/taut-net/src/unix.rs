//! Unix sockets that listen at a path: the file is taken over from a process that died, and taken
//! away at the end. Connecting needs no driver ([`Target`](crate::Target) reads `unix:/path`).

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use taut_io::{Admission, Handle, Io, IoError, Kernel};
use taut_sys::{Address, Socket, StreamOptions};

use crate::error::NetError;

/// A listener at a path. Its file goes when it is dropped; the handle is closed through the loop.
#[derive(Debug)]
pub struct UnixListener {
    handle: Handle,
    path: Option<PathBuf>,
}

impl UnixListener {
    /// Listens at a path, or at `@name` beside the file system. A socket file that nobody listens
    /// at (`ECONNREFUSED`) is what a dead process left, and is replaced; anything else that is
    /// there stays.
    ///
    /// # Errors
    /// `EADDRINUSE` when somebody listens there; what the loop and the system say.
    pub fn listen<K: Kernel>(
        io: &mut Io<K>,
        path: &str,
        admission: &Admission,
    ) -> Result<Self, NetError> {
        let at = Address::unix(path)?;
        let file = (!path.starts_with('@')).then(|| PathBuf::from(path));
        let options = StreamOptions::default();
        let handle = match (io.listen(&at, &options, admission), &file) {
            (Err(IoError::System(error)), Some(file))
                if error.is_address_in_use() && is_left_behind(&at, file) =>
            {
                // If it is gone meanwhile, somebody else is at it too: listening says.
                let _ = std::fs::remove_file(file);
                io.listen(&at, &options, admission)?
            }
            (listening, _) => listening?,
        };
        Ok(Self { handle, path: file })
    }

    /// Its source.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for UnixListener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_left_behind(at: &Address, file: &PathBuf) -> bool {
    let is_socket = std::fs::symlink_metadata(file).is_ok_and(|file| file.file_type().is_socket());
    let asked = Socket::connect(at, &StreamOptions::default());
    is_socket && asked.is_err_and(|error| error.is_peer_gone())
}
