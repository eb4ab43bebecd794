//! HTTP for whoever scrapes: one request on a connection.

use taut_io::{Admission, Completion, EpollKernel, Handle, Io};
use taut_sys::stop_requests;
use taut_types::Nanos;

/// A request that is longer is none.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// What of a reply is given to the loop at a time: a stream may have twice as much waiting.
const PART_BYTES: usize = 32 << 10;
/// Who scrapes, and some who look.
const CONNECTIONS_MAX: usize = 32;
/// How long a request may take, and how long its reply.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// The sources of its loop: connections, the listener, and the place for who comes next.
pub const SOURCES_MAX: usize = CONNECTIONS_MAX + 2;

/// Whom it lets in.
pub const fn admission() -> Admission {
    Admission::new(CONNECTIONS_MAX, PATIENCE)
}

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const PAGE: &str = "<!doctype html><title>taut</title><a href=\"/metrics\">metrics</a>\n";

/// A connection: what it has said, then what it is told.
#[derive(Debug, Default)]
struct Peer {
    request: Vec<u8>,
    reply: Vec<u8>,
    /// What of the reply the loop has.
    given: usize,
}

/// Answers requests; `metrics` says what is told.
#[derive(Debug)]
pub struct Server<M> {
    /// By the place of their streams.
    peers: Vec<Peer>,
    metrics: M,
}

impl<M: FnMut() -> String> Server<M> {
    /// One that nobody has asked yet.
    pub fn new(metrics: M) -> Self {
        Self { peers: (0..SOURCES_MAX).map(|_| Peer::default()).collect(), metrics }
    }

    /// Does what a completion asks for, and stops the loop at a signal.
    pub fn handle(&mut self, io: &mut Io<EpollKernel>, completion: &Completion<'_>) {
        let is_served = match *completion {
            Completion::Accepted { stream, .. } => {
                if let Some(peer) = self.peers.get_mut(stream.index()) {
                    *peer = Peer::default();
                }
                io.receive(stream).map_err(|_| stream)
            }
            Completion::Received { stream, bytes } => self.hear(io, stream, bytes).ok_or(stream),
            Completion::Written { stream, .. } => self.tell(io, stream).ok_or(stream),
            Completion::Timer { .. } if stop_requests() > 0 => {
                io.stop();
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(stream) = is_served {
            // A stale handle is closed already.
            let _ = io.close(stream);
        }
    }

    /// Takes what a peer says; nothing when it is to be closed.
    fn hear(&mut self, io: &mut Io<EpollKernel>, stream: Handle, bytes: &[u8]) -> Option<()> {
        let Self { peers, metrics } = self;
        let Peer { request, reply: told, .. } = peers.get_mut(stream.index())?;
        if !told.is_empty() {
            // It was answered: what else it says is not heard.
            return Some(());
        }
        request.extend_from_slice(bytes);
        if request.len() > REQUEST_BYTES_MAX {
            return None;
        }
        if !request.windows(4).any(|end| end == b"\r\n\r\n") {
            return Some(());
        }
        *told = reply(request, metrics);
        io.prove(stream).ok()?;
        self.tell(io, stream)
    }

    /// Gives the loop the next part of a reply, and ends the connection behind the last one.
    fn tell(&mut self, io: &mut Io<EpollKernel>, stream: Handle) -> Option<()> {
        let Peer { reply, given, .. } = self.peers.get_mut(stream.index())?;
        let deadline = io.now() + PATIENCE;
        let part = reply.get(*given..)?;
        if part.is_empty() {
            return io.close_gracefully(stream, deadline).ok();
        }
        let part = part.get(..PART_BYTES).unwrap_or(part);
        *given += part.len();
        io.write(stream, part, Some(0)).ok()?;
        io.set_write_deadline(stream, Some(deadline)).ok()
    }
}

/// The reply to a request.
fn reply(request: &[u8], metrics: &mut impl FnMut() -> String) -> Vec<u8> {
    let mut words = request.split(|byte| *byte == b' ' || *byte == b'\r');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", TEXT, metrics()),
        (b"GET" | b"HEAD", b"/") => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", TEXT, "GET /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", TEXT, "GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let mut reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}\
         Connection: close\r\n\r\n"
    );
    if method != b"HEAD" {
        reply += &body;
    }
    reply.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: &str) -> String {
        let reply = reply(request.as_bytes(), &mut || "taut_up 1\n".to_owned());
        String::from_utf8(reply).expect("text")
    }

    #[test]
    fn metrics_are_told_to_who_asks_for_them_and_to_nobody_else() {
        let told = said("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(told.starts_with("HTTP/1.1 200 OK\r\n") && told.ends_with("\r\n\r\ntaut_up 1\n"));
        assert!(
            told.contains("Content-Type: text/plain; version=0.0.4") && told.contains(": 10\r")
        );
        let head = said("HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 10\r\n") && head.ends_with("\r\n\r\n"));
        assert!(said("GET / HTTP/1.1\r\n\r\n").contains("href=\"/metrics\""));
        assert!(said("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        let refused = said("POST /metrics HTTP/1.1\r\n\r\n");
        assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("Allow: GET, HEAD"));
        assert!(said("nonsense").starts_with("HTTP/1.1 405 "));
    }
}
