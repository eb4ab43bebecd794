//! What a failed system call says.

use std::fmt;
use std::io;

/// A failed system call: which one, and its error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysError {
    operation: &'static str,
    errno: i32,
}

impl SysError {
    pub(crate) fn new(operation: &'static str, errno: rustix::io::Errno) -> Self {
        Self { operation, errno: errno.raw_os_error() }
    }

    /// The error of the last libc call of this thread.
    pub(crate) fn last(operation: &'static str) -> Self {
        Self { operation, errno: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// An operation that failed with this error number.
    #[must_use]
    pub const fn from_errno(operation: &'static str, errno: i32) -> Self {
        Self { operation, errno }
    }

    /// An operation that did not end in time (`ETIMEDOUT`).
    #[must_use]
    pub const fn timed_out(operation: &'static str) -> Self {
        Self { operation, errno: libc::ETIMEDOUT }
    }

    /// The operation that failed, such as `bind`.
    #[must_use]
    pub const fn operation(self) -> &'static str {
        self.operation
    }

    /// The error number of `errno(3)`.
    #[must_use]
    pub const fn errno(self) -> i32 {
        self.errno
    }

    /// The port or address is taken (`EADDRINUSE`).
    #[must_use]
    pub const fn is_address_in_use(self) -> bool {
        self.errno == libc::EADDRINUSE
    }

    /// There is no room left (`ENOSPC`, `EDQUOT`, `ENOMEM`; `EFBIG` for more than there can be).
    #[must_use]
    pub const fn is_no_room(self) -> bool {
        matches!(self.errno, libc::ENOSPC | libc::EDQUOT | libc::ENOMEM | libc::EFBIG)
    }

    /// A datagram is longer than the path carries in one piece, or than there can be (`EMSGSIZE`).
    #[must_use]
    pub const fn is_too_long(self) -> bool {
        self.errno == libc::EMSGSIZE
    }

    /// An error of the one connection that `accept(2)` was about to give, or of its network: it is
    /// gone, and the next one may be taken. Not `EPERM` and `EOPNOTSUPP`, which a listener may say
    /// for ever.
    #[must_use]
    pub const fn is_of_a_connection(self) -> bool {
        matches!(
            self.errno,
            libc::ECONNABORTED
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
                | libc::ENONET
        )
    }

    /// The peer is gone: it closed, reset or never listened. Normal for UDP (`ECONNREFUSED`).
    #[must_use]
    pub const fn is_peer_gone(self) -> bool {
        matches!(self.errno, libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE | libc::ENOTCONN)
    }
}

impl fmt::Display for SysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for SysError {}

impl From<SysError> for io::Error {
    fn from(error: SysError) -> Self {
        Self::new(Self::from_raw_os_error(error.errno).kind(), error)
    }
}

/// Names the operation of a failed rustix call, and turns "would block" into `None`.
pub(crate) trait SysResult<T> {
    fn during(self, operation: &'static str) -> Result<T, SysError>;
    fn unless_blocked(self, operation: &'static str) -> Result<Option<T>, SysError>;
}

impl<T> SysResult<T> for rustix::io::Result<T> {
    #[inline]
    fn during(self, operation: &'static str) -> Result<T, SysError> {
        self.map_err(|errno| SysError::new(operation, errno))
    }

    #[inline]
    fn unless_blocked(self, operation: &'static str) -> Result<Option<T>, SysError> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(errno) => Err(SysError::new(operation, errno)),
        }
    }
}
