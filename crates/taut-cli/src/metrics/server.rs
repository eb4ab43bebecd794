//! HTTP for whoever scrapes: one request on a connection.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A request that is longer, or slower, is none.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(2);
/// Reads in which a request must have come: whoever sends it byte by byte is not waited for.
const READS_MAX: usize = 64;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const PAGE: &str = "<!doctype html><title>taut</title><a href=\"/metrics\">metrics</a>\n";

/// Answers those who have connected; `metrics` says what is told.
pub fn answer_all(listener: &TcpListener, mut metrics: impl FnMut() -> String) -> io::Result<()> {
    loop {
        match listener.accept() {
            // Whoever goes meanwhile is no failure of ours.
            Ok((stream, _)) => drop(answer(stream, &mut metrics)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a connection ended before it was taken.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

fn answer(mut stream: TcpStream, metrics: &mut impl FnMut() -> String) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut reads = 0;
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1_024];
        let read = stream.read(&mut part)?;
        reads += 1;
        if read == 0 || reads > READS_MAX || request.len() + read > REQUEST_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&part[..read]);
    }
    let reply = reply(&request, metrics);
    stream.write_all(&reply)
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
