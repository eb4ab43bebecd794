//! An HTTP proxy on a client's way: it is asked for a tunnel to the server (`CONNECT`, RFC 9110,
//! 9.3.6), and what follows is the server's own.

use core::fmt;

use base64ct::{Base64, Encoding};
use zeroize::Zeroizing;

use crate::error::NetError;
use crate::proxy_fault::ProxyFault;
use crate::target::Target;

/// The longest answer to a request for a tunnel.
const ANSWER_BYTES_MAX: usize = 8 << 10;
const END: &[u8] = b"\r\n\r\n";

/// Where the proxy is, and who we are to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    target: Target,
    authorization: Option<Zeroizing<String>>,
}

impl Proxy {
    /// Reads `http://HOST[:PORT]`; the port is 80 where none is written. User and password are not
    /// part of it: they would show wherever the URL does ([`Proxy::with_user`]).
    ///
    /// # Errors
    /// [`NetError::MalformedProxy`]: another scheme, no host, a user, a path.
    pub fn parse(url: &str) -> Result<Self, NetError> {
        let start = url.get(..7).filter(|start| start.eq_ignore_ascii_case("http://"));
        let rest = start.and_then(|start| url.get(start.len()..));
        let authority = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let authority = authority.filter(|authority| !authority.contains(['/', '@', '?', '#']));
        let authority = authority.ok_or(NetError::MalformedProxy)?;
        let has_port = match authority.strip_prefix('[') {
            Some(rest) => rest.contains("]:"),
            None => authority.contains(':'),
        };
        let named = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        let target = Target::parse(&named).map_err(|_| NetError::MalformedProxy)?;
        match target {
            Target::Address(taut_sys::Address::Unix(_)) => Err(NetError::MalformedProxy),
            target => Ok(Self { target, authorization: None }),
        }
    }

    /// Who we are to it (Basic, RFC 7617): in the clear on the way to the proxy.
    ///
    /// # Errors
    /// [`NetError::MalformedProxy`]: a colon in the user's name, control characters.
    pub fn with_user(mut self, user: &str, password: &str) -> Result<Self, NetError> {
        let is_text = |text: &str| !text.chars().any(char::is_control);
        if user.contains(':') || !is_text(user) || !is_text(password) {
            return Err(NetError::MalformedProxy);
        }
        let pair = Zeroizing::new([user, ":", password].concat());
        let mut place = Zeroizing::new(vec![0; Base64::encoded_len(pair.as_bytes())]);
        let text = Base64::encode(pair.as_bytes(), &mut place);
        let text = text.map_err(|_| NetError::MalformedProxy)?;
        self.authorization = Some(Zeroizing::new(text.to_owned()));
        Ok(self)
    }

    /// What its requests say of who we are: the password can be read out of it.
    #[must_use]
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_ref().map(|text| text.as_str())
    }

    /// Where to connect to.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// A tunnel to this host and port, to be asked for on a stream that is connected to the proxy.
    #[must_use]
    pub fn tunnel(&self, host: &str, port: u16) -> Tunnel {
        let authority =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = Zeroizing::new(String::with_capacity(512));
        let mut put = |parts: &[&str]| parts.iter().for_each(|part| request.push_str(part));
        put(&["CONNECT ", &authority, " HTTP/1.1\r\nHost: ", &authority, "\r\n"]);
        if let Some(authorization) = &self.authorization {
            put(&["Proxy-Authorization: Basic ", authorization, "\r\n"]);
        }
        put(&["\r\n"]);
        Tunnel { request, answer: Vec::new() }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.target)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the password.
        f.debug_struct("Proxy").field("target", &self.target).finish_non_exhaustive()
    }
}

/// A request for a tunnel, and its answer as far as it has come.
pub struct Tunnel {
    request: Zeroizing<String>,
    answer: Vec<u8>,
}

impl Tunnel {
    /// What the proxy is to be sent.
    #[must_use]
    pub fn request(&self) -> &[u8] {
        self.request.as_bytes()
    }

    /// Takes what came from the proxy: whether the tunnel stands.
    ///
    /// # Errors
    /// It does not, and will not.
    pub fn take(&mut self, bytes: &[u8]) -> Result<bool, ProxyFault> {
        let from = self.answer.len().saturating_sub(END.len() - 1);
        let room = ANSWER_BYTES_MAX.saturating_sub(self.answer.len());
        self.answer.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        let answer = self.answer.as_slice();
        let is_http = |(found, expected): (&u8, &u8)| found == expected;
        if !answer.iter().zip(b"HTTP/1.").all(is_http) {
            return Err(ProxyFault::NotHttp);
        }
        let unseen = answer.get(from..).unwrap_or(&[]);
        let Some(end) = unseen.windows(END.len()).position(|window| window == END) else {
            let is_full = answer.len() >= ANSWER_BYTES_MAX;
            return if is_full { Err(ProxyFault::AnswerBytes) } else { Ok(false) };
        };
        // `HTTP/1.1 200 words`: the digits stand in the tenth place.
        let status = answer.get(8..12).and_then(|digits| digits.strip_prefix(b" "));
        let status = status.and_then(|digits| core::str::from_utf8(digits).ok()?.parse().ok());
        match status.ok_or(ProxyFault::NotHttp)? {
            200..=299 if from + end + END.len() < answer.len() => Err(ProxyFault::SpokeFirst),
            200..=299 => Ok(true),
            status => Err(ProxyFault::Refused(status)),
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tunnel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_http_a_host_and_a_port() {
        let cases = [
            ("http://proxy.test:3128", Some("http://proxy.test:3128")),
            ("HTTP://proxy.test/", Some("http://proxy.test:80")),
            ("http://[::1]", Some("http://[::1]:80")),
            ("http://[::1]:8080/", Some("http://[::1]:8080")),
            ("http://10.0.0.1:3128", Some("http://10.0.0.1:3128")),
            ("https://proxy.test:3128", None),
            ("socks5://proxy.test:1080", None),
            ("proxy.test:3128", None),
            ("http://", None),
            ("http://user:secret@proxy.test", None),
            ("http://proxy.test/path", None),
            ("http://proxy.test:65536", None),
            ("http://unix:/run/x", None),
            ("http:é//x", None),
        ];
        for (text, expected) in cases {
            let made = Proxy::parse(text).map(|proxy| proxy.to_string());
            let expected = expected.map(str::to_owned).ok_or(NetError::MalformedProxy);
            assert_eq!(made, expected, "{text}");
        }
    }

    #[test]
    fn the_request_names_the_server_and_who_we_are_and_nothing_prints_it() {
        let proxy = Proxy::parse("http://proxy.test:3128").unwrap();
        let asked = |proxy: &Proxy, host| {
            String::from_utf8(proxy.tunnel(host, 443).request().to_vec()).unwrap()
        };
        assert_eq!(asked(&proxy, "::1"), "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
        // The example of RFC 7617, 2.
        let known = proxy.with_user("Aladdin", "open sesame").unwrap();
        let line = "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n";
        assert!(asked(&known, "venue.test").ends_with(line));
        assert!(line.contains(known.authorization().expect("who we are")));
        let printed = format!("{known:?} {known} {:?}", known.tunnel("venue.test", 443));
        assert!(!printed.contains("QWxh") && !printed.contains("sesame"), "{printed}");
        for (user, password) in [("a:b", ""), ("a\r\n", ""), ("a", "b\n")] {
            let proxy = Proxy::parse("http://proxy.test").unwrap();
            assert!(proxy.with_user(user, password).is_err());
        }
    }

    #[test]
    fn an_answer_in_any_pieces_opens_the_tunnel_or_says_why_not() {
        let long = [&b"HTTP/1.1 200 OK\r\n"[..], &[b'a'; ANSWER_BYTES_MAX]].concat();
        let cases: [(&[u8], Result<bool, ProxyFault>); 9] = [
            (b"HTTP/1.1 200 Connection established\r\n\r\n", Ok(true)),
            (b"HTTP/1.0 204\r\nVia: x\r\n\r\n", Ok(true)),
            (
                b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n",
                Err(ProxyFault::Refused(407)),
            ),
            (b"HTTP/1.1 101 x\r\n\r\n", Err(ProxyFault::Refused(101))),
            (b"HTTP/1.1 200 OK\r\n\r\nsurprise", Err(ProxyFault::SpokeFirst)),
            (b"SSH-2.0-x\r\n", Err(ProxyFault::NotHttp)),
            (b"HTTP/1.1 2x0 OK\r\n\r\n", Err(ProxyFault::NotHttp)),
            (b"HTTP/1.1 200 OK\r\n", Ok(false)),
            (&long, Err(ProxyFault::AnswerBytes)),
        ];
        for (answer, expected) in cases {
            for piece in [1, 7, answer.len()] {
                let mut tunnel = Proxy::parse("http://proxy.test").unwrap().tunnel("a", 1);
                let mut made = Ok(false);
                for piece in answer.chunks(piece) {
                    // What comes behind the answer is not the tunnel's any more.
                    if made == Ok(false) {
                        made = tunnel.take(piece);
                    }
                }
                let is_whole = piece == answer.len() || expected != Err(ProxyFault::SpokeFirst);
                let expected = if is_whole { expected } else { made };
                assert_eq!(made, expected, "{}", answer.escape_ascii());
            }
        }
        assert!(ProxyFault::Refused(407).to_string().contains("user and a password"));
    }
}
