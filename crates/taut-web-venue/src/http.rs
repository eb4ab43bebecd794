//! HTTP/1.1 requests out of bytes, and answers into bytes (RFC 9112).

use crate::front::HttpRequest;

/// Headers of a request at the most.
const HEADERS_MAX: usize = 64;
/// The longest head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The longest body.
const BODY_BYTES_MAX: usize = 64 << 10;

/// What stands at the front of what a client sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not whole yet.
    Partial,
    /// A request, and how long it is.
    Request(HttpRequest, usize),
    /// A client asks for a WebSocket; its bytes are the handshake's.
    Upgrade(HttpRequest),
    /// Nothing that can be answered but with this status.
    Bad(u16),
}

/// Looks at what a client sent.
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let head_bytes = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_BYTES_MAX => return Parsed::Bad(431),
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Bad(400),
    };
    let (path, query) =
        head.path.unwrap_or("/").split_once('?').unwrap_or((head.path.unwrap_or("/"), ""));
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let mut request = HttpRequest {
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: head
            .headers
            .iter()
            .map(|it| (it.name.to_ascii_lowercase(), text(it.value)))
            .collect(),
        ..HttpRequest::default()
    };
    let host = request.header("host").unwrap_or_default();
    request.host = host.split(':').next().unwrap_or_default().to_owned();
    request.authorization = request.header("authorization").unwrap_or_default().to_owned();
    if request.header("upgrade").is_some_and(|it| it.eq_ignore_ascii_case("websocket")) {
        return Parsed::Upgrade(request);
    }
    if request.header("transfer-encoding").is_some() {
        return Parsed::Bad(411);
    }
    let length = match request.header("content-length").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= BODY_BYTES_MAX => length,
        Some(Ok(_)) => return Parsed::Bad(413),
        Some(Err(_)) => return Parsed::Bad(400),
    };
    let Some(body) = bytes.get(head_bytes..head_bytes + length) else { return Parsed::Partial };
    request.body = body.to_vec();
    Parsed::Request(request, head_bytes + length)
}

/// An answer with a body of JSON; the connection stays.
pub fn answer(status: u16, headers: &[(&str, String)], body: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        409 => "Conflict",
        418 => "I'm a teapot",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Other",
    };
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {headers}Connection: keep-alive\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Undoes percent-encoding and `+` for a space.
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let escaped = || {
            let digits = bytes.get(at + 1..at + 3).filter(|_| byte == b'%')?;
            u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
        };
        match escaped() {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The pairs of a query or of a form body.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (decode(key), decode(value))
    };
    text.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_at_its_last_byte_only() {
        let text = b"POST /api/v2?a=1 HTTP/1.1\r\nHost: x:80\r\nContent-Length: 4\r\n\r\nbodyGET";
        for length in 0..text.len() - 3 {
            assert_eq!(parse(&text[..length]), Parsed::Partial, "{length} bytes");
        }
        let Parsed::Request(request, length) = parse(text) else { panic!("no request") };
        assert_eq!((request.body.as_slice(), length), (&b"body"[..], text.len() - 3));
        assert_eq!((request.host.as_str(), request.target().as_str()), ("x", "/api/v2?a=1"));
    }

    #[test]
    fn what_cannot_be_a_request_is_refused() {
        assert_eq!(parse(b"\x16\x03\x01"), Parsed::Bad(400));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nContent-Length: 999999\r\n\r\n"), Parsed::Bad(413));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), Parsed::Bad(400));
        assert_eq!(
            parse(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Parsed::Bad(411)
        );
        assert_eq!(parse(&[b'a'; HEAD_BYTES_MAX + 1]), Parsed::Bad(431));
    }

    #[test]
    fn queries_are_decoded() {
        let expected = [("a", "1 2"), ("b", "é&"), ("c", ""), ("d", "%zz")];
        let found = pairs("a=1+2&b=%C3%A9%26&c&d=%zz");
        assert!(found.iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(expected), "{found:?}");
    }
}
