//! HTTP/1.1 as far as the desk speaks it: one request on a connection (RFC 9112).

/// The longest head, and the longest body: a token.
const HEAD_BYTES_MAX: usize = 16 << 10;
const BODY_BYTES_MAX: usize = 1 << 10;
const HEADERS_MAX: usize = 64;

/// What the page may load: nothing of anybody else, no script that stands in a page, no frame but
/// its own.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                           img-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; \
                           form-action 'none'; frame-ancestors 'none'";
/// A run's report is one file with its style in it, and runs nothing.
pub const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What stands at the front of what a client sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not whole yet.
    Partial,
    Request(Request),
    /// A client asks for a WebSocket; its bytes are the handshake's.
    Upgrade(Request),
    /// Nothing that can be answered but with this status.
    Bad(u16),
}

impl Request {
    /// A header that is there once: what stands there twice is believed neither time.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(it, _)| it == name);
        let (_, value) = all.next()?;
        all.next().is_none().then_some(value)
    }
}

/// Looks at what a client sent.
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let head_bytes = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => return Parsed::Partial,
        Ok(_) => return Parsed::Bad(431),
        Err(_) => return Parsed::Bad(400),
    };
    let target = head.path.unwrap_or("/");
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let mut request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: target.split('?').next().unwrap_or_default().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|it| (it.name.to_ascii_lowercase(), text(it.value)))
            .collect(),
        body: Vec::new(),
    };
    if request.header("upgrade").is_some_and(|it| it.eq_ignore_ascii_case("websocket")) {
        return Parsed::Upgrade(request);
    }
    if request.headers.iter().any(|(name, _)| name == "transfer-encoding") {
        return Parsed::Bad(411);
    }
    let lengths = request.headers.iter().filter(|(name, _)| name == "content-length").count();
    let length = match request.header("content-length").map(str::parse::<usize>) {
        None if lengths == 0 => 0,
        Some(Ok(length)) if length <= BODY_BYTES_MAX => length,
        Some(Ok(_)) => return Parsed::Bad(413),
        None | Some(Err(_)) => return Parsed::Bad(400),
    };
    let Some(body) = bytes.get(head_bytes..head_bytes + length) else { return Parsed::Partial };
    request.body = body.to_vec();
    Parsed::Request(request)
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// What it may do in a browser.
    pub policy: &'static str,
    /// The cookie that it sets.
    pub cookie: Option<String>,
}

pub const TEXT: &str = "text/plain; charset=utf-8";
pub const HTML: &str = "text/html; charset=utf-8";
pub const JSON: &str = "application/json";

impl Answer {
    pub fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, body: body.into(), policy: PAGE_POLICY, cookie: None }
    }

    /// A refusal in words.
    pub fn refusal(status: u16, words: &str) -> Self {
        Self::new(status, TEXT, format!("{words}\n"))
    }

    /// As bytes, behind which the connection ends; only the head for who asked for no more.
    pub fn bytes(&self, with_body: bool) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            411 => "Length Required",
            413 => "Content Too Large",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Other",
        };
        let Self { status, kind, policy, .. } = self;
        let cookie = self.cookie.as_ref().map(|it| format!("Set-Cookie: {it}\r\n"));
        let mut bytes = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\n\
             {}Connection: close\r\n\r\n",
            self.body.len(),
            cookie.as_deref().unwrap_or_default(),
        )
        .into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// Undoes the percent-encoding of a path's part.
pub fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, others @ ..] = rest {
        rest = others;
        match (first, others) {
            (b'%', [high, low, others @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = others;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_at_its_last_byte_only() {
        let text = b"POST /login?a=1 HTTP/1.1\r\nHost: x:80\r\nContent-Length: 4\r\n\r\nbodyGET";
        for length in 0..text.len() - 3 {
            assert_eq!(parse(&text[..length]), Parsed::Partial, "{length} bytes");
        }
        let Parsed::Request(request) = parse(text) else { panic!("no request") };
        assert_eq!((request.body.as_slice(), request.path.as_str()), (&b"body"[..], "/login"));
        assert_eq!(request.header("host"), Some("x:80"));
    }

    #[test]
    fn what_cannot_be_a_request_is_refused() {
        for (bytes, status) in [
            (&b"\x16\x03\x01"[..], 400),
            (b"GET / HTTP/1.1\r\nContent-Length: 999999\r\n\r\n", 413),
            (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            (&[b'a'; HEAD_BYTES_MAX + 1], 431),
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(parse(bytes), Parsed::Bad(status), "{shown}");
        }
        let twice = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        let Parsed::Request(request) = parse(twice) else { panic!("no request") };
        assert_eq!(request.header("host"), None);
    }

    #[test]
    fn an_answer_says_its_length_and_what_a_page_may_do() {
        let answer = Answer { cookie: Some("a=b".to_owned()), ..Answer::new(200, JSON, "{}") };
        let text = String::from_utf8(answer.bytes(true)).expect("text");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n{}"), "{text}");
        assert!(text.contains("Content-Length: 2\r\n") && text.contains("Set-Cookie: a=b\r\n"));
        assert!(text.contains("script-src 'self';") && !text.contains("unsafe-inline"), "{text}");
        let report = Answer { policy: REPORT_POLICY, ..Answer::new(200, HTML, "<p>") };
        let report = String::from_utf8(report.bytes(false)).expect("text");
        assert!(report.contains("sandbox\r\n") && !report.contains("script-src"), "{report}");
        assert!(report.contains("Content-Type: text/html; charset=utf-8\r\n"), "{report}");
        assert!(report.ends_with("\r\n\r\n"));
    }
}
