//! How a WebSocket ended, for people: what, and what to do about it.

use taut_ws::{Closed, HandshakeFault};

/// In words. `Ok` when it ended as it should.
pub fn end(closed: &Closed<'_>) -> Result<String, String> {
    match closed {
        Closed::Agreed(frame) => {
            let code = frame.code.map_or_else(|| String::from("no code"), |code| code.to_string());
            let words = format!("closed with {code} {:?}", frame.reason);
            let is_good = frame.code.is_none_or(|code| matches!(code.number(), 1000 | 1001));
            if is_good { Ok(words) } else { Err(format!("the peer {words}")) }
        }
        Closed::Violation(violation) => {
            Err(format!("the peer broke the protocol: {}", violation.as_str()))
        }
        Closed::Handshake(fault @ HandshakeFault::NotHttp) => {
            let remedy = "is it a WebSocket server, and is the scheme (ws or wss) the right one?";
            Err(format!("the opening handshake failed: {}; {remedy}", fault.as_str()))
        }
        Closed::Handshake(fault) => {
            Err(format!("the opening handshake failed: {}", fault.as_str()))
        }
        Closed::Refused(refused) => {
            let body = String::from_utf8_lossy(refused.body);
            let body = body.trim();
            let to = refused.location.map_or_else(String::new, |to| format!(", see {to}"));
            let status = refused.status;
            Err(format!("the server refuses: {status} {}{to}: {body}", refused.reason))
        }
        Closed::RefusedByUs { status } => Err(format!("the client was refused with {status}")),
        Closed::HandshakeTimeout => Err(String::from("no answer to the opening handshake in time")),
        Closed::CloseTimeout => Err(String::from("the peer did not answer our close frame")),
        Closed::Silence => Err(String::from("the peer was silent, and did not answer pings")),
        Closed::Cut => Err(String::from("the stream ended without a close frame (1006)")),
        other => Err(format!("ended: {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use taut_ws::{CloseCode, CloseFrame, Closed, HandshakeFault, Refused, Violation};

    use super::end;

    /// `taut ws connect` adds a flag of its own where one helps; `taut ws echo` has none of them.
    #[test]
    fn no_end_is_told_with_the_flag_of_one_of_the_two() {
        let refused = Refused {
            status: 401,
            reason: "No",
            body: b"who?",
            location: Some("/in"),
            retry_after: Some(30),
        };
        for closed in [
            Closed::Agreed(CloseFrame { code: Some(CloseCode::TOO_BIG), reason: "too much" }),
            Closed::Violation(Violation::MessageBytes),
            Closed::Violation(Violation::FragmentCount),
            Closed::Handshake(HandshakeFault::NotHttp),
            Closed::Handshake(HandshakeFault::HeadBytes),
            Closed::Refused(refused),
            Closed::RefusedByUs { status: 426 },
            Closed::HandshakeTimeout,
            Closed::CloseTimeout,
            Closed::Silence,
            Closed::Cut,
        ] {
            let told = end(&closed).expect_err("no good end");
            assert!(!told.contains("--"), "{closed:?}: {told}");
        }
    }
}
