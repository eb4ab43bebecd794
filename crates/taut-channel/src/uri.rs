//! Channel URIs: which channel, and how.
//!
//! | form | channel |
//! |---|---|
//! | `ipc:NAME` | shared memory; `aeron:ipc?stream-id=N` is an alias |
//! | `inproc:NAME` | a ring within the process |
//! | `aeron:udp?endpoint=H:P\|stream-id=N\|...` | reliable UDP on Aeron's wire |
//! | `tcp://H:P`, `ipc://PATH` | ZMTP over TCP and Unix sockets |
//! | `lease:udp?endpoint=H:P` | typed UDP with leases; the publisher's address |
//!
//! A parameter that a channel does not know is an error, with the nearest name that it does know;
//! so is one whose value is out of range. Nothing is ignored.
//!
//! A ZMTP publication is a PUB (or PUSH) socket and takes SUB and XSUB peers; a subscription is a
//! SUB (or PULL) socket and takes PUB and XPUB peers. There is no URI for an XPUB or XSUB of our
//! own: what they are for, a proxy, is [`Relay`](crate::Relay); `taut_zmtp` has both socket types.

mod aeron;
mod endpoint;
mod error;
mod lease;
mod memory;
mod parameters;
mod value;
mod zmtp;

use std::fmt;
use std::str::FromStr;

pub use aeron::{AeronUri, Congestion, ControlMode, FlowControl, FlowKind, SessionId};
pub use endpoint::Endpoint;
pub use error::UriError;
pub use lease::LeaseUri;
pub use memory::{InprocUri, IpcUri};
pub use zmtp::{OnFull, Pattern, ZmtpAddress, ZmtpEnd, ZmtpUri};

/// A channel, as its URI describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelUri {
    /// Reliable UDP on Aeron's wire.
    Aeron(AeronUri),
    /// A ring within the process.
    Inproc(InprocUri),
    /// Shared memory.
    Ipc(IpcUri),
    /// Typed UDP with leases.
    Lease(LeaseUri),
    /// ZMTP over TCP or a Unix socket.
    Zmtp(ZmtpUri),
}

/// The environment variable that names the channel where no argument does.
pub const CHANNEL_VARIABLE: &str = "TAUT_CHANNEL";

/// The forms that there are, for messages.
const FORMS: &str = "ipc:NAME, inproc:NAME, aeron:udp?endpoint=HOST:PORT|stream-id=N, \
                     tcp://HOST:PORT, ipc://PATH or lease:udp?endpoint=HOST:PORT";

impl ChannelUri {
    /// The channel of an argument, or else of [`CHANNEL_VARIABLE`].
    ///
    /// # Errors
    /// When neither names a channel, or the one that does is wrong.
    pub fn from_argument_or_environment(argument: Option<&str>) -> Result<Self, UriError> {
        let named = argument.map(str::to_owned).or_else(|| std::env::var(CHANNEL_VARIABLE).ok());
        named.ok_or(UriError::Missing { forms: FORMS })?.parse()
    }

    /// The scheme, for messages: `aeron`, `inproc`, `ipc`, `lease`, `zmtp`.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        match self {
            Self::Aeron(_) => "aeron",
            Self::Inproc(_) => "inproc",
            Self::Ipc(_) => "ipc",
            Self::Lease(_) => "lease",
            Self::Zmtp(_) => "zmtp",
        }
    }
}

impl FromStr for ChannelUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        if let Some(rest) = text.strip_prefix("tcp://") {
            return ZmtpUri::tcp(rest).map(Self::Zmtp);
        }
        if let Some(rest) = text.strip_prefix("ipc://") {
            return ZmtpUri::unix(rest).map(Self::Zmtp);
        }
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        match scheme {
            "aeron-spy" => {
                let remedy = "a publication gives its spies: Publication::spy";
                Err(UriError::Unsupported { name: "aeron-spy:", remedy })
            }
            "aeron" => match rest.split('?').next() {
                Some("ipc") => IpcUri::alias(rest).map(Self::Ipc),
                _ => AeronUri::parse(rest).map(Self::Aeron),
            },
            "inproc" => InprocUri::parse(rest).map(Self::Inproc),
            "ipc" => IpcUri::parse(rest).map(Self::Ipc),
            "lease" => LeaseUri::parse(rest).map(Self::Lease),
            _ => {
                let known = ["aeron", "inproc", "ipc", "lease", "tcp"];
                let nearest = parameters::nearest(scheme, &known);
                Err(UriError::Scheme { found: scheme.to_owned(), nearest, forms: FORMS })
            }
        }
    }
}

impl fmt::Display for ChannelUri {
    /// What the URI names, without its parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aeron(uri) => uri.fmt(f),
            Self::Inproc(uri) => write!(f, "inproc:{}", uri.name),
            Self::Ipc(uri) => write!(f, "ipc:{}", uri.name),
            Self::Lease(uri) => write!(f, "lease:udp?endpoint={}", uri.endpoint),
            Self::Zmtp(uri) => uri.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
