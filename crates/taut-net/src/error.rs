//! What can go wrong, and whose fault it is.

use core::fmt;

use taut_io::IoError;
use taut_sys::SysError;

use crate::certificate::CertificateFault;
use crate::proxy_fault::ProxyFault;

/// Why a driver did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetError {
    /// The loop or the system refused, a deadline passed, or it was cancelled.
    Io(IoError),
    /// The text is not `host:port`, `[v6]:port` or `unix:/path`.
    MalformedTarget,
    /// The name has no address that could be used.
    UnknownName,
    /// The kernel granted less buffer than was asked for.
    LessBuffer {
        /// Bytes asked for.
        asked: usize,
        /// Bytes granted.
        granted: usize,
    },
    /// The peer announced a frame that is longer than agreed, or impossible.
    FrameTooLong {
        /// Bytes announced, header included.
        announced: usize,
        /// Bytes agreed.
        limit: usize,
    },
    /// The peer's certificate is not what it should be.
    Certificate(CertificateFault),
    /// The peer refuses our certificate.
    CertificateRefused,
    /// Client and server have no application protocol in common (ALPN).
    NoCommonProtocol,
    /// The peer broke the TLS protocol, or said that we did.
    TlsViolation,
    /// The text is not `http://host[:port]`, or the user or password of a proxy is none.
    MalformedProxy,
    /// The proxy opens no tunnel.
    Proxy(ProxyFault),
    /// The server sends us elsewhere, and that is not followed.
    Redirect(RedirectFault),
    /// The TLS configuration does not hold together: no valid root, a key that does not fit.
    TlsConfig,
}

/// Why a server's redirection is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectFault {
    /// There were as many as are followed.
    TooMany {
        /// So many.
        limit: u8,
    },
    /// It leads from `wss` to `ws`.
    Downgrade,
    /// It names no place that a WebSocket can be at.
    Location,
    /// It leads to `wss`, and no roots are trusted.
    NoRoots,
}

impl fmt::Display for RedirectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { limit: 0 } => {
                f.write_str("the server redirects, and no redirections are followed here")
            }
            Self::TooMany { limit } => {
                write!(f, "the server redirects more than {limit} times; is it a circle?")
            }
            Self::Downgrade => f.write_str(
                "the server redirects from wss:// to ws://, which is not followed: what is said \
                 would be readable on the way",
            ),
            Self::Location => f.write_str("the server redirects to what is no WebSocket's URL"),
            Self::NoRoots => {
                f.write_str("the server redirects to wss://, and no roots are trusted; name some")
            }
        }
    }
}

impl From<IoError> for NetError {
    fn from(error: IoError) -> Self {
        Self::Io(error)
    }
}

impl From<SysError> for NetError {
    fn from(error: SysError) -> Self {
        Self::Io(error.into())
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::MalformedTarget => f.write_str("not a target: host:port, [v6]:port, unix:/path"),
            Self::UnknownName => f.write_str("the name has no usable address"),
            Self::LessBuffer { asked, granted } => write!(
                f,
                "the kernel granted a buffer of {granted} of {asked} bytes; raise \
                 net.core.rmem_max or net.core.wmem_max"
            ),
            Self::FrameTooLong { announced, limit } => {
                write!(f, "the peer announced a frame of {announced} bytes; the limit is {limit}")
            }
            Self::Certificate(fault) => write!(f, "the peer's certificate is refused: {fault}"),
            Self::CertificateRefused => f.write_str("the peer refuses our certificate"),
            Self::NoCommonProtocol => f.write_str("no application protocol in common (ALPN)"),
            Self::TlsViolation => f.write_str("the TLS protocol was broken"),
            Self::MalformedProxy => f.write_str(
                "not a proxy: http://HOST[:PORT], without a path; user and password stand beside \
                 it, without control characters, and no colon in the user's name",
            ),
            Self::Proxy(fault) => fault.fmt(f),
            Self::Redirect(fault) => fault.fmt(f),
            Self::TlsConfig => f.write_str("the TLS roots, certificate or key are unusable"),
        }
    }
}

impl std::error::Error for NetError {}
