//! Where a socket is: an internet address and port, or a name in the file system.

use std::fmt;
use std::net::SocketAddr;

use crate::error::SysError;

/// The longest name of a Unix socket.
pub const UNIX_NAME_BYTES_MAX: usize = 107;

/// The address of a socket. `Copy`, so that it needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6, with the port.
    Inet(SocketAddr),
    /// A Unix socket.
    Unix(UnixName),
}

/// The path of a Unix socket; one that starts with `@` lives in the abstract name space, beside the
/// file system. Empty for an unnamed socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnixName {
    bytes: [u8; UNIX_NAME_BYTES_MAX],
    length: u8,
}

impl UnixName {
    /// # Errors
    /// `ENAMETOOLONG` beyond [`UNIX_NAME_BYTES_MAX`] bytes.
    pub fn new(path: &str) -> Result<Self, SysError> {
        let mut bytes = [0; UNIX_NAME_BYTES_MAX];
        let length = u8::try_from(path.len()).ok();
        match (bytes.get_mut(..path.len()), length) {
            (Some(place), Some(length)) => {
                place.copy_from_slice(path.as_bytes());
                Ok(Self { bytes, length })
            }
            _ => Err(SysError::from_errno("unix socket name", libc::ENAMETOOLONG)),
        }
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }
}

impl Address {
    /// A Unix socket's address; see [`UnixName`].
    ///
    /// # Errors
    /// `ENAMETOOLONG` beyond [`UNIX_NAME_BYTES_MAX`] bytes.
    pub fn unix(path: &str) -> Result<Self, SysError> {
        UnixName::new(path).map(Self::Unix)
    }

    /// The internet address, if it is one.
    #[must_use]
    pub const fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// The port; 0 for a Unix socket.
    #[must_use]
    pub const fn port(&self) -> u16 {
        match self {
            Self::Inet(address) => address.port(),
            Self::Unix(_) => 0,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Inet(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(name) => String::from_utf8_lossy(name.as_bytes()).fmt(f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for UnixName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(self.as_bytes()).fmt(f)
    }
}
