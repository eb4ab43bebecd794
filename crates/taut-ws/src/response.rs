//! The server's half of the opening handshake (RFC 6455, 4.1 and 4.2.2).

use crate::accept::ACCEPT_BYTES;
use crate::deflate::extension::judge;
use crate::deflate::settings::DeflateParameters;
use crate::error::HandshakeFault;
use crate::head::Head;

/// A server's answer that it accepts. The rules of 4.1 hold for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    head: Head<'a>,
    deflate: Option<DeflateParameters>,
}

impl<'a> Response<'a> {
    /// The subprotocol that the server chose.
    #[must_use]
    pub fn protocol(&self) -> Option<&'a str> {
        self.head.once("Sec-WebSocket-Protocol")
    }

    /// The compression that was agreed on.
    #[must_use]
    pub const fn deflate(&self) -> Option<DeflateParameters> {
        self.deflate
    }

    /// The value of a header that is there once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.head.once(name)
    }

    /// All headers, as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.head.headers()
    }
}

/// A server's answer that it does not accept: what a user wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Its words.
    pub reason: &'a str,
    /// The first bytes of the answer's body: a venue says there what it misses.
    pub body: &'a [u8],
    /// Where it sends us, with a status of 3xx. It is not followed.
    pub location: Option<&'a str>,
    /// In how many seconds it may be asked again (`Retry-After`; one that is a date is left out).
    pub retry_after: Option<u32>,
}

/// What a server answered.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    Accepted(Response<'a>),
    /// With what the body has, as far as the head says.
    Refused {
        refused: Refused<'a>,
        body_bytes: Option<usize>,
    },
}

impl<'a> Answer<'a> {
    /// `offers` says whether a subprotocol was offered, `deflate` which compressions were.
    pub fn parse(
        bytes: &'a [u8],
        accept: &[u8; ACCEPT_BYTES],
        offers: impl Fn(&str) -> bool,
        deflate: &[DeflateParameters],
    ) -> Result<Self, HandshakeFault> {
        let head = Head::parse(bytes)?;
        let line = head.start_line().strip_prefix("HTTP/1.1 ").ok_or(HandshakeFault::NotHttp)?;
        let (status, reason) = line.split_once(' ').unwrap_or((line, ""));
        if status.len() != 3 || !status.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(HandshakeFault::Head);
        }
        let status: u16 = status.parse().map_err(|_| HandshakeFault::Head)?;
        if status != 101 {
            let body_bytes = head.once("Content-Length").and_then(|length| length.parse().ok());
            let location = head.once("Location");
            let retry_after = head.once("Retry-After").and_then(|seconds| seconds.parse().ok());
            let refused = Refused { status, reason, body: &[], location, retry_after };
            return Ok(Self::Refused { refused, body_bytes });
        }
        // `Upgrade` is the one word (4.1, item 2), `Connection` a list that has it (item 3).
        let upgrade = head.once("Upgrade").unwrap_or("");
        if !upgrade.eq_ignore_ascii_case("websocket") {
            return Err(HandshakeFault::Upgrade);
        }
        if !head.has_item("Connection", "Upgrade") {
            return Err(HandshakeFault::Connection);
        }
        if head.once("Sec-WebSocket-Accept").map(str::as_bytes) != Some(accept) {
            return Err(HandshakeFault::Accept);
        }
        let deflate = judge(&head, deflate)?;
        let mut protocols = head.all("Sec-WebSocket-Protocol");
        if protocols.next().is_some_and(|chosen| !offers(chosen)) || protocols.next().is_some() {
            return Err(HandshakeFault::Subprotocol);
        }
        Ok(Self::Accepted(Response { head, deflate }))
    }
}

/// The words of the statuses that a handshake is refused with.
pub const fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Refused",
    }
}
