//! What can be wrong between a client and its proxy.

use core::fmt;

/// Why there is no tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// The proxy says no, with this status.
    Refused(u16),
    /// What answers does not speak HTTP/1.
    NotHttp,
    /// Its answer is longer than 8 KiB.
    AnswerBytes,
    /// It ended the stream instead of answering.
    Ended,
    /// Bytes came behind its answer before we had said anything to the server.
    SpokeFirst,
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(407) => f.write_str(
                "the proxy answers 407 Proxy Authentication Required: give it a user and a \
                 password that it knows",
            ),
            Self::Refused(status @ (403 | 405)) => write!(
                f,
                "the proxy answers {status}: it opens no tunnel to this host and port; ask who \
                 runs it to allow them"
            ),
            Self::Refused(status @ (502..=504)) => {
                write!(f, "the proxy answers {status}: it cannot reach the server")
            }
            Self::Refused(status) => write!(f, "the proxy answers {status} to CONNECT"),
            Self::NotHttp => f.write_str("the proxy does not answer in HTTP/1; is it one?"),
            Self::AnswerBytes => f.write_str("the proxy's answer is longer than 8 KiB"),
            Self::Ended => f.write_str("the proxy ended the connection instead of answering"),
            Self::SpokeFirst => f.write_str("bytes came behind the proxy's answer unasked"),
        }
    }
}
