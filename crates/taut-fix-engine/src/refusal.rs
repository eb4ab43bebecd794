//! Why a connection came to no session: for the operator. The peer hears no more of it than its
//! standard says, which for a Logon of unknown names is nothing.

use std::fmt;
use std::net::SocketAddr;

use taut_fix::{BeginString, CompId, DisconnectReason};
use taut_net::NetError;
use taut_sys::visible;

/// A connection to an acceptor that ended before its session was up.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// Who it was.
    pub peer: Option<SocketAddr>,
    /// Whom its Logon names, once one came.
    pub logon: Option<LogonNames>,
    /// Why.
    pub why: RefusalCause,
}

/// What a Logon says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogonNames {
    /// BeginString (8).
    pub begin: BeginString,
    /// SenderCompID (49): the peer.
    pub sender: CompId,
    /// TargetCompID (56): us.
    pub target: CompId,
}

/// Why a connection came to no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The stream broke, or TLS was refused.
    Net(NetError),
    /// What came first was no Logon.
    NoLogon,
    /// Logons with this CompID from this address failed too often within a minute.
    TooManyFailures,
    /// There is no session of these CompIDs in this version.
    UnknownSession,
    /// The session has a connection already.
    InUse,
    /// The session is closed by its hours.
    Closed,
    /// No further session is made for peers that fit a `"*"`: `dynamic_sessions_max`.
    NoRoom,
    /// The store or the log of a session for a new peer cannot be opened.
    Store,
    /// The credentials are wrong, or there are none.
    Credentials,
    /// The session's own rules.
    Session(DisconnectReason),
}

impl fmt::Display for RefusalCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Net(error) => return error.fmt(f),
            Self::NoLogon => "what came first was no Logon",
            Self::TooManyFailures => "too many Logons of this CompID failed within a minute",
            Self::UnknownSession => {
                "there is no session of this begin_string with these CompIDs (our sender_comp_id \
                 is the peer's TargetCompID)"
            }
            Self::InUse => "the session has a connection already",
            Self::Closed => "the session is closed by its schedule",
            Self::NoRoom => "there are dynamic_sessions_max sessions for \"*\" already",
            Self::Store => "the session's store or log cannot be opened",
            Self::Credentials => "the credentials are wrong",
            Self::Session(reason) => reason.as_str(),
        })
    }
}

/// `127.0.0.1:4711: FIX.4.4 GUEST -> HOST: the credentials are wrong`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(peer) = self.peer {
            write!(f, "{peer}: ")?;
        }
        if let Some(LogonNames { begin, sender, target }) = &self.logon {
            write!(f, "{} {} -> {}: ", begin.as_str(), sender.as_str(), target.as_str())?;
        }
        self.why.fmt(f)
    }
}

/// How much of a peer's Text (58) is shown, in bytes.
const TEXT_BYTES_MAX: usize = 200;

/// A peer's Text (58) for a person to read: one line that commands no terminal, with an end.
pub fn shown_text(text: &[u8]) -> String {
    let (text, rest) = text.split_at_checked(TEXT_BYTES_MAX).unwrap_or((text, b""));
    let dots = if rest.is_empty() { "" } else { " ..." };
    format!("{}{dots}", visible(&String::from_utf8_lossy(text)).replace(['\n', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::{TEXT_BYTES_MAX, shown_text};

    #[test]
    fn a_peers_text_commands_no_terminal_and_has_an_end() {
        let text = "gr\u{fc}n \u{1b}]0;\u{7}\r\n\u{9b}2J\u{7f}\u{202e}\u{2066}end";
        assert_eq!(
            shown_text(text.as_bytes()),
            "gr\u{fc}n \\u001b]0;\\u0007\\u000d \\u009b2J\\u007f\\u202e\\u2066end"
        );
        assert_eq!(shown_text(b"\xff\x1b"), "\u{fffd}\\u001b");
        let whole = "x".repeat(TEXT_BYTES_MAX);
        assert_eq!(shown_text(whole.as_bytes()), whole);
        assert_eq!(shown_text(&b"x".repeat(1_000_000)), format!("{whole} ..."));
    }
}
