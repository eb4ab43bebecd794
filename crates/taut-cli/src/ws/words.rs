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
