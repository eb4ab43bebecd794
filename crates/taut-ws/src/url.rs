//! `ws://` and `wss://` (RFC 6455, 3).

use alloc::string::String;

use crate::error::WsError;

/// The parts of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WsUrl<'a> {
    is_secure: bool,
    authority: &'a str,
    host: &'a str,
    port: u16,
    path: &'a str,
}

impl<'a> WsUrl<'a> {
    /// Reads `ws://host[:port][/path][?query]`, or `wss://`; an IPv6 address stands in brackets.
    ///
    /// # Errors
    /// Where it is no such URL: another scheme, no host, a user name, a fragment (which 3 forbids),
    /// spaces or control characters, a port that is none.
    pub fn parse(text: &'a str) -> Result<Self, WsError> {
        let malformed = |offset| Err(WsError::Malformed { offset });
        let (is_secure, scheme_bytes) = match text {
            text if starts(text, "wss://") => (true, 6),
            text if starts(text, "ws://") => (false, 5),
            _ => return malformed(0),
        };
        let bad = |byte: u8| byte <= b' ' || byte == 0x7f || byte >= 0x80 || byte == b'#';
        if let Some(offset) = text.bytes().position(bad) {
            return malformed(offset);
        }
        let rest = text.get(scheme_bytes..).unwrap_or("");
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let bracket = authority.starts_with('[').then(|| authority.find(']')).flatten();
        let colon = match bracket {
            Some(at) => at + 1,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at_checked(colon).unwrap_or((authority, ""));
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => Some(if is_secure { 443 } else { 80 }),
            None => None,
            Some(digits) if !digits.bytes().all(|byte| byte.is_ascii_digit()) => None,
            Some(digits) => digits.parse().ok().filter(|port| *port > 0),
        };
        if host.is_empty() || host.contains(['@', '[', ']']) {
            return malformed(scheme_bytes);
        }
        let Some(port) = port else { return malformed(scheme_bytes + colon) };
        Ok(Self { is_secure, authority, host, port, path })
    }

    /// Where a `Location` leads from here (RFC 9110, 10.2.2; RFC 3986, 5.2): a URL, its own or with
    /// what it leaves out taken from this one; `http` and `https` stand for `ws` and `wss`. A
    /// fragment is left behind. `None` when it has another scheme.
    #[must_use]
    pub fn join(&self, location: &str) -> Option<String> {
        let location = location.split('#').next().unwrap_or("");
        let scheme = if self.is_secure { "wss" } else { "ws" };
        let colon = location.find(':');
        let has_scheme =
            colon.is_some_and(|at| !location.get(..at).unwrap_or("").contains(['/', '?']));
        if has_scheme {
            let (scheme, rest) = location.split_once(':')?;
            let scheme = match scheme {
                scheme if scheme.eq_ignore_ascii_case("http") => "ws",
                scheme if scheme.eq_ignore_ascii_case("https") => "wss",
                scheme if scheme.eq_ignore_ascii_case("ws") => "ws",
                scheme if scheme.eq_ignore_ascii_case("wss") => "wss",
                _ => return None,
            };
            return Some([scheme, ":", rest].concat());
        }
        if location.starts_with("//") {
            return Some([scheme, ":", location].concat());
        }
        let path = self.path();
        let (path, _) = path.split_once('?').unwrap_or((&path, ""));
        let kept = match location {
            "" => return Some([scheme, "://", self.authority, &self.path()].concat()),
            location if location.starts_with('/') => "",
            location if location.starts_with('?') => path,
            _ => path
                .rsplit_once('/')
                .map_or(path, |(folder, _)| path.get(..=folder.len()).unwrap_or(path)),
        };
        Some([scheme, "://", self.authority, kept, location].concat())
    }

    /// `wss`.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// What the `Host` header says: the port only when it was written.
    #[must_use]
    pub const fn authority(&self) -> &'a str {
        self.authority
    }

    /// A name or an address, without brackets.
    #[must_use]
    pub const fn host(&self) -> &'a str {
        self.host
    }

    /// 80 or 443 unless it was written.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Path and query, `/` at the least.
    #[must_use]
    pub fn path(&self) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        [slash, self.path].concat()
    }
}

fn starts(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(bool, &str, u16, String), WsError> {
        WsUrl::parse(text).map(|url| (url.is_secure(), url.host(), url.port(), url.path()))
    }

    #[test]
    fn every_form_of_section_3_is_read() {
        let cases = [
            ("ws://a", (false, "a", 80, "/")),
            ("wss://stream.example:9443/ws/btc?x=1", (true, "stream.example", 9443, "/ws/btc?x=1")),
            ("WSS://a/", (true, "a", 443, "/")),
            ("ws://[::1]:8080?q", (false, "::1", 8080, "/?q")),
            ("ws://[::1]", (false, "::1", 80, "/")),
            ("ws://127.0.0.1:1/a:b@c", (false, "127.0.0.1", 1, "/a:b@c")),
        ];
        for (text, (is_secure, host, port, path)) in cases {
            assert_eq!(parts(text), Ok((is_secure, host, port, String::from(path))), "{text}");
        }
        assert_eq!(WsUrl::parse("ws://[::1]:8080?q").unwrap().authority(), "[::1]:8080");
    }

    #[test]
    fn a_location_is_followed_from_where_it_was_said() {
        let cases = [
            ("ws://a:8080/x/y?q", "wss://b/z", Some("wss://b/z")),
            ("ws://a:8080/x/y?q", "https://b:1/z?p#part", Some("wss://b:1/z?p")),
            ("wss://a/x/y?q", "HTTP://b/", Some("ws://b/")),
            ("wss://a/x/y?q", "//b/z", Some("wss://b/z")),
            ("ws://a:8080/x/y?q", "/z?p", Some("ws://a:8080/z?p")),
            ("ws://a:8080/x/y?q", "z", Some("ws://a:8080/x/z")),
            ("ws://a:8080", "z:1/é", None),
            ("ws://a:8080", "./z:1", Some("ws://a:8080/./z:1")),
            ("ws://a/x/y?q", "?p", Some("ws://a/x/y?p")),
            ("ws://a/x/y?q", "", Some("ws://a/x/y?q")),
            ("ws://a/x", "mailto:x@b", None),
            ("ws://a/x", "file:///etc/passwd", None),
        ];
        for (from, location, expected) in cases {
            let made = WsUrl::parse(from).unwrap().join(location);
            assert_eq!(made.as_deref(), expected, "{from} {location}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_the_place() {
        let cases = [
            ("http://a", 0),
            ("ws:/a", 0),
            ("ws://", 5),
            ("ws://:80", 5),
            ("wss://a:", 7),
            ("ws://a:0", 6),
            ("ws://a:65536", 6),
            ("ws://a:+1x", 6),
            ("ws://user@a", 5),
            ("ws://a#part", 6),
            ("ws://a /", 6),
            ("ws://[::1", 5),
            ("ws://[::1]x", 10),
        ];
        for (text, offset) in cases {
            assert_eq!(parts(text), Err(WsError::Malformed { offset }), "{text}");
        }
    }
}
