//! Who may look, and who may act: tokens, sessions, and from which pages.

use std::collections::VecDeque;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};
use taut_sys::random_bytes;

use super::http::Request;
use crate::exit::Failure;

/// A shorter token could be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// Browsers that are logged on at a time; one more ends the oldest session.
const SESSIONS_MAX: usize = 64;

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Look.
    Read,
    /// Throw the kill switch, too.
    Control,
}

/// What is kept of a secret: enough to know it again. Two are compared in a time that says nothing
/// of them.
#[derive(Clone, Copy, Debug)]
struct Secret([u8; 32]);

impl Secret {
    fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    fn is(&self, other: &Self) -> bool {
        let differs = self.0.iter().zip(&other.0).fold(0, |all, (one, two)| all | (one ^ two));
        std::hint::black_box(differs) == 0
    }
}

/// Who is let in.
#[derive(Debug)]
pub struct Access {
    /// Nothing where whoever reaches the address may look.
    tokens: Option<Vec<(Secret, Role)>>,
    /// Names under which it is reached, beside addresses and `localhost`.
    hosts: Vec<String>,
    /// Oldest first.
    sessions: VecDeque<(Secret, Role)>,
    cookie: String,
    is_tls: bool,
}

impl Access {
    /// Whoever reaches it may look, until it is given tokens.
    pub fn new(hosts: &[String], is_tls: bool) -> Self {
        let hosts = hosts.iter().map(|it| it.to_ascii_lowercase()).collect();
        let (sessions, cookie) = (VecDeque::new(), "taut-desk".to_owned());
        Self { tokens: None, hosts, sessions, cookie, is_tls }
    }

    /// Browsers keep the cookies of all ports of a host together.
    pub fn name_cookie(&mut self, port: u16) {
        self.cookie = format!("taut-desk-{port}");
    }

    /// Lets in whoever has a token of this file, and nobody else.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or it is none.
    pub fn read_tokens(&mut self, path: &Path) -> Result<(), Failure> {
        let mode = fs::metadata(path).map_err(|error| Failure::unreadable(path, error))?.mode();
        if mode & 0o077 != 0 {
            let wrong = format!("others may read it (mode {:o}); chmod 600", mode & 0o777);
            return Err(Failure::in_file(path, wrong));
        }
        let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(path, error))?;
        self.tokens = Some(tokens(&text).map_err(|wrong| Failure::in_file(path, wrong))?);
        Ok(())
    }

    /// Whether a token is asked for at all.
    pub const fn asks(&self) -> bool {
        self.tokens.is_some()
    }

    /// What who sent this may do: by a session's cookie or by a token as `Authorization: Bearer`.
    pub fn role(&self, request: &Request) -> Option<Role> {
        let Some(tokens) = &self.tokens else { return Some(Role::Read) };
        let bearer = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        if let Some(token) = bearer {
            return known(tokens, token);
        }
        let cookies = request.header("cookie")?.split(';');
        let mut pairs = cookies.filter_map(|it| it.trim().split_once('='));
        let (_, session) = pairs.find(|(name, _)| *name == self.cookie)?;
        known(&self.sessions, session)
    }

    /// Begins a session for who has a token: the cookie that a browser is to keep.
    pub fn log_on(&mut self, token: &str) -> Option<(Role, String)> {
        let role = known(self.tokens.as_ref()?, token)?;
        let mut random = [0; 32];
        random_bytes(&mut random).ok()?;
        let session = random.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back((Secret::of(&session), role));
        let secure = if self.is_tls { "; Secure" } else { "" };
        let cookie =
            format!("{}={session}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie);
        Some((role, cookie))
    }

    /// Whether this is a name of ours. A stranger's name that leads here (DNS rebinding) is not; an
    /// address cannot be one.
    pub fn is_our_host(&self, request: &Request) -> bool {
        let Some(host) = request.header("host") else { return false };
        let name = name_of(host).to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok() || name == "localhost" || self.hosts.contains(&name)
    }

    /// Whether no page of somebody else's had a browser send this.
    pub fn is_same_origin(request: &Request) -> bool {
        let is_named = request.headers.iter().any(|(name, _)| name == "origin");
        let Some(origin) = request.header("origin") else { return !is_named };
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some_and(|it| Some(it) == request.header("host"))
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => {
            // The last part of a bare IPv6 address is no port.
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

/// The role of who says this. All are looked at, so that no time says which one it was.
fn known<'k>(of: impl IntoIterator<Item = &'k (Secret, Role)>, said: &str) -> Option<Role> {
    let said = Secret::of(said);
    let roles = of.into_iter().filter(|(secret, _)| secret.is(&said)).map(|(_, role)| *role);
    roles.fold(None, |best, role| best.max(Some(role)))
}

/// Lines of a role and a token. What is wrong is not repeated: it may be a token.
fn tokens(text: &str) -> Result<Vec<(Secret, Role)>, String> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (role, token) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (role, token) = match (role, token.trim()) {
            ("read", token) => (Role::Read, token),
            ("control", token) => (Role::Control, token),
            _ => return Err(format!("line {at}: must be `read TOKEN` or `control TOKEN`")),
        };
        let is_plain = token.bytes().all(|it| it.is_ascii_graphic());
        if token.len() < TOKEN_BYTES_MIN || !is_plain {
            return Err(format!(
                "line {at}: a token is {TOKEN_BYTES_MIN} or more printable characters without a \
                 space; `openssl rand -hex 16` makes one"
            ));
        }
        all.push((Secret::of(token), role));
    }
    if all.is_empty() {
        return Err("no token in it: a line is `read TOKEN` or `control TOKEN`".to_owned());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Request { headers: headers.collect(), ..Request::default() }
    }

    const READ: &str = "read-0123456789ab";
    const CONTROL: &str = "control-012345678";

    fn access() -> Access {
        let text = format!("# tokens\nread {READ}\n\ncontrol   {CONTROL}\n");
        let mut access = Access::new(&["Desk.Example".to_owned()], true);
        access.tokens = Some(tokens(&text).expect("tokens"));
        access.name_cookie(1);
        access
    }

    #[test]
    fn a_token_has_its_role_and_nobody_else_has_any() {
        let mut access = access();
        let role = |value: &str| access.role(&request(&[("authorization", value)]));
        assert_eq!(role(&format!("Bearer {READ}")), Some(Role::Read));
        assert_eq!(role(&format!("Bearer {CONTROL}")), Some(Role::Control));
        for wrong in ["", "Bearer ", "Bearer read-0123456789aB", READ, "Basic x"] {
            assert_eq!(role(wrong), None, "{wrong}");
        }
        assert_eq!(access.role(&request(&[])), None);
        assert_eq!(access.log_on("guess"), None);
        let (role, cookie) = access.log_on(CONTROL).expect("a session");
        assert_eq!(role, Role::Control);
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        let pair = cookie.split(';').next().expect("a pair");
        let by = |cookies: &str| access.role(&request(&[("cookie", cookies)]));
        assert_eq!(by(&format!("a=b; {pair}")), Some(Role::Control));
        assert_eq!(by(&pair.replace("taut-desk-1", "taut-desk-2")), None, "another port's");
        assert_eq!(by("taut-desk-1="), None);
        let first = pair.to_owned();
        for _ in 0..SESSIONS_MAX {
            access.log_on(READ).expect("a session");
        }
        assert_eq!(access.role(&request(&[("cookie", &first)])), None, "the oldest has ended");
        assert_eq!(access.sessions.len(), SESSIONS_MAX);
        let open = Access::new(&[], false);
        assert_eq!(open.role(&request(&[])), Some(Role::Read), "nobody controls without a token");
    }

    #[test]
    fn a_strangers_name_and_a_strangers_page_are_seen() {
        let access = access();
        for (host, is_ours) in [
            ("127.0.0.1:9465", true),
            ("[::1]:9465", true),
            ("[::1]", true),
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("desk.example:9465", true),
            ("evil.example:9465", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
            (":9465", false),
        ] {
            assert_eq!(access.is_our_host(&request(&[("host", host)])), is_ours, "{host}");
        }
        assert!(!access.is_our_host(&request(&[])));
        let from = |origin: &str| {
            Access::is_same_origin(&request(&[("host", "localhost:9465"), ("origin", origin)]))
        };
        assert!(from("http://localhost:9465") && from("https://localhost:9465"));
        for strange in ["http://localhost:1", "http://evil.example", "null", "", "localhost:9465"] {
            assert!(!from(strange), "{strange}");
        }
        assert!(Access::is_same_origin(&request(&[("host", "a")])), "no browser");
        let twice = [("host", "a"), ("origin", "http://a"), ("origin", "http://a")];
        assert!(!Access::is_same_origin(&request(&twice)));
    }

    #[test]
    fn a_file_of_tokens_is_named_by_its_line_and_its_secrets_are_not_told() {
        for (text, words) in [
            ("", "no token"),
            ("# read 0123456789abcdef", "no token"),
            ("read short", "line 1"),
            ("\nread", "line 2"),
            ("admin 0123456789abcdef", "line 1"),
            ("read 0123456789 abcdef", "line 1"),
        ] {
            let wrong = tokens(text).expect_err(text);
            assert!(wrong.contains(words) && !wrong.contains("0123456789"), "{text}: {wrong}");
        }
    }
}
