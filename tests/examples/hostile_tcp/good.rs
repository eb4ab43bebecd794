//! Peers that mean it: each comes, is served, and leaves.

use std::fmt;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustls::StreamOwned;
use taut_sys::monotonic;
use taut_types::Nanos;

use crate::{bytes, tls};

/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(10);
/// It comes once more when it is turned away: a newcomer gives way while it is a stranger.
const TRIES_MAX: u32 = 2;
/// One visit in so many may need that, and one in any case.
const VISITS_PER_RETRY: usize = 20;
/// What a WebSocket's client has echoed: more than a header, and than one read.
const ECHO_BYTES: usize = 64 << 10;

/// A connection that is served.
pub trait Peer {
    /// Asks something, and has the answer.
    fn ask(&mut self) -> Result<()>;
    /// Ends in good order.
    fn leave(self: Box<Self>) -> Result<()>;
}

/// Connects; the name tells one session from another where the protocol has names.
pub type Good = fn(to: SocketAddr, name: &str) -> Result<Box<dyn Peer>>;

/// A subscriber over ZMTP.
pub const SUBSCRIBER: Good = |to, _| Ok(Box::new(Zmtp::connect(open(to)?, b"SUB")?));
/// A publisher over ZMTP.
pub const PUBLISHER: Good = |to, _| Ok(Box::new(Zmtp::connect(open(to)?, b"PUB")?));
/// A WebSocket's client.
pub const WEBSOCKET: Good = |to, _| Ok(Box::new(WebSocket::connect(open(to)?)?));
/// The same over TLS.
pub const WEBSOCKET_TLS: Good = |to, _| Ok(Box::new(WebSocket::connect(open_tls(to)?)?));
/// An initiator over FIX.
pub const FIX: Good = |to, name| Ok(Box::new(Fix::connect(open(to)?, name)?));
/// The same over TLS.
pub const FIX_TLS: Good = |to, name| Ok(Box::new(Fix::connect(open_tls(to)?, name)?));

/// A client of a venue's web interface.
pub const HTTP: Good = |to, _| Ok(Box::new(Http { stream: open(to)?, unread: Vec::new() }));
/// A member of it over FIX: the one that stays has a key of its own.
pub const WEB_FIX: Good = |to, name| {
    let key = if name == "STEADY" { ["two", "secret-of-two"] } else { ["one", "secret-of-one"] };
    let logon = bytes::web_fix_logon(name, key[0], key[1]);
    Ok(Box::new(Fix::connect_with(open(to)?, name, "DERIBITSERVER", &logon)?))
};
/// Who asks a recorded venue for its book.
pub const FOLLOWER: Good =
    |to, _| Ok(Box::new(Follower(WebSocket::connect_with(open(to)?, bytes::BOOK_REQUEST)?)));

/// What a good peer met with.
#[derive(Default)]
pub struct Visits {
    pub count: usize,
    pub longest: Nanos,
    times: Vec<Nanos>,
    /// How long the connection that stays waits for each answer.
    pub asked: Vec<Nanos>,
    /// Tries beyond the first ones.
    retries: usize,
    unserved: Option<String>,
    pub cut_off: Option<String>,
}

impl Visits {
    /// The connection that stays.
    pub fn first(&mut self, good: Good, to: SocketAddr) -> Option<Box<dyn Peer>> {
        self.served(good, to, "STEADY")
    }

    /// Comes, asks, and leaves.
    pub fn visit(&mut self, good: Good, to: SocketAddr) {
        let start = monotonic();
        let served = self.served(good, to, "GOOD");
        let took = monotonic() - start;
        self.count += 1;
        self.longest = self.longest.max(took);
        self.times.push(took);
        if let Some(peer) = served {
            // It was served: how it leaves is of no interest.
            let _ = peer.leave();
        }
    }

    fn served(&mut self, good: Good, to: SocketAddr, name: &str) -> Option<Box<dyn Peer>> {
        let mut why = None;
        for number in 0..TRIES_MAX {
            self.retries += usize::from(number > 0);
            let asked = good(to, name).and_then(|mut peer| peer.ask().map(|()| peer));
            match asked {
                Ok(peer) => return Some(peer),
                Err(error) => why = Some(error.to_string()),
            }
        }
        self.unserved = why;
        None
    }

    /// The longest time but for one in a hundred.
    pub fn longest_but_one_in_a_hundred(&self) -> Nanos {
        in_order(&self.times, 99)
    }

    /// How long the connection that stays waits for half of its answers.
    pub fn median_answer(&self) -> Nanos {
        in_order(&self.asked, 50)
    }

    /// What is wrong with it.
    pub fn failure(&self, at: &str) -> Option<String> {
        let unserved = self.unserved.as_ref().map(|why| format!("{at}: not served: {why}"));
        let is_turned_away = self.retries > (self.count / VISITS_PER_RETRY).max(1);
        let turned_away =
            || format!("{at}: turned away {} times in {} visits", self.retries, self.count);
        unserved
            .or_else(|| self.cut_off.as_ref().map(|why| format!("{at}: cut off: {why}")))
            .or_else(|| is_turned_away.then(turned_away))
    }
}

impl fmt::Display for Visits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, longest, retries, .. } = self;
        let usual = in_words(self.longest_but_one_in_a_hundred());
        let (longest, answer) = (in_words(*longest), in_words(self.median_answer()));
        write!(f, "served {count} times, 99% within {usual}, all within {longest}, ")?;
        write!(f, "{retries} tries more; answered within {answer} at p50")
    }
}

/// The time within which so many of a hundred were.
fn in_order(times: &[Nanos], percent: usize) -> Nanos {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() * percent / 100).or(times.last()).copied().unwrap_or_default()
}

/// In milliseconds.
pub fn in_words(time: Nanos) -> String {
    format!("{:.1} ms", time.0 as f64 / 1e6)
}

/// Bytes both ways.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// A connection without TLS.
fn open(to: SocketAddr) -> Result<Box<dyn Stream>> {
    Ok(Box::new(connect(to)?))
}

/// One with TLS, whose handshake is over.
fn open_tls(to: SocketAddr) -> Result<Box<dyn Stream>> {
    let mut stream = connect(to)?;
    let mut client = tls::client();
    while client.is_handshaking() {
        client.complete_io(&mut stream)?;
    }
    Ok(Box::new(StreamOwned::new(client, stream)))
}

fn connect(to: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn read<const N: usize>(stream: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

struct Zmtp {
    stream: Box<dyn Stream>,
    asked: u64,
}

impl Zmtp {
    fn connect(mut stream: Box<dyn Stream>, socket_type: &[u8; 3]) -> Result<Self> {
        stream.write_all(&bytes::zmtp_hello(socket_type))?;
        read::<64>(&mut stream)?;
        let mut peer = Self { stream, asked: 0 };
        while !peer.frame()?.starts_with(b"\x05READY") {}
        if socket_type == b"SUB" {
            peer.stream.write_all(&bytes::zmtp_subscribe(b""))?;
        }
        Ok(peer)
    }

    /// The next frame's content.
    fn frame(&mut self) -> Result<Vec<u8>> {
        let [flags, first] = read(&mut self.stream)?;
        let length = if flags & 2 == 0 {
            u64::from(first)
        } else {
            let rest: [u8; 7] = read(&mut self.stream)?;
            rest.iter().fold(u64::from(first), |all, byte| all << 8 | u64::from(*byte))
        };
        let mut content = vec![0; length as usize];
        self.stream.read_exact(&mut content)?;
        Ok(content)
    }
}

impl Peer for Zmtp {
    fn ask(&mut self) -> Result<()> {
        self.asked += 1;
        self.stream.write_all(&bytes::zmtp_ping(self.asked))?;
        let answer = [b"\x04PONG", &self.asked.to_be_bytes()[..]].concat();
        while self.frame()? != answer {}
        Ok(())
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct WebSocket {
    stream: Box<dyn Stream>,
}

impl WebSocket {
    fn connect(stream: Box<dyn Stream>) -> Result<Self> {
        Self::connect_with(stream, bytes::WEBSOCKET_REQUEST)
    }

    fn connect_with(mut stream: Box<dyn Stream>, request: &[u8]) -> Result<Self> {
        stream.write_all(request)?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend_from_slice(&read::<1>(&mut stream)?);
        }
        if !head.starts_with(b"HTTP/1.1 101") {
            return Err(wrong("the request was refused"));
        }
        Ok(Self { stream })
    }

    /// The next frame: its first byte and its content.
    fn frame(&mut self, bytes_max: u64) -> Result<(u8, Vec<u8>)> {
        let [first, short] = read(&mut self.stream)?;
        let length = match short {
            127 => u64::from_be_bytes(read(&mut self.stream)?),
            126 => u64::from(u16::from_be_bytes(read(&mut self.stream)?)),
            short => u64::from(short),
        };
        if length > bytes_max {
            return Err(wrong("a longer frame than the answer"));
        }
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((first, payload))
    }
}

impl Peer for WebSocket {
    fn ask(&mut self) -> Result<()> {
        let mut frame = bytes::websocket_header(ECHO_BYTES as u64);
        frame.resize(frame.len() + ECHO_BYTES, b'e');
        self.stream.write_all(&frame)?;
        loop {
            match self.frame(ECHO_BYTES as u64)? {
                (0x82, payload) if payload == [b'e'; ECHO_BYTES] => return Ok(()),
                // Its keep-alive ping.
                (0x89, _) => {}
                _ => return Err(wrong("another frame than the echo")),
            }
        }
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Follower(WebSocket);

impl Peer for Follower {
    fn ask(&mut self) -> Result<()> {
        self.0.stream.write_all(&bytes::websocket_text(bytes::BOOK_QUESTION))?;
        loop {
            match self.0.frame(1 << 20)? {
                (0x81, payload) if payload.starts_with(b"{\"id\":1,\"status\":200") => {
                    return Ok(());
                }
                (0x89, _) => {}
                _ => return Err(wrong("another frame than the book")),
            }
        }
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Http {
    stream: Box<dyn Stream>,
    unread: Vec<u8>,
}

impl Peer for Http {
    fn ask(&mut self) -> Result<()> {
        self.stream.write_all(bytes::HTTP_REQUEST)?;
        until(&mut self.stream, &mut self.unread, "usDiff")
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Reads to this text.
fn until(stream: &mut impl Read, unread: &mut Vec<u8>, text: &str) -> Result<()> {
    let mut buffer = [0; 4_096];
    while !unread.windows(text.len()).any(|part| part == text.as_bytes()) {
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => unread.extend_from_slice(&buffer[..count]),
        }
    }
    unread.clear();
    Ok(())
}

struct Fix {
    stream: Box<dyn Stream>,
    name: String,
    target: &'static str,
    next: u64,
    unread: Vec<u8>,
}

impl Fix {
    fn connect(stream: Box<dyn Stream>, name: &str) -> Result<Self> {
        Self::connect_with(stream, name, "HOST", &bytes::fix_logon(name, ""))
    }

    fn connect_with(
        stream: Box<dyn Stream>,
        name: &str,
        target: &'static str,
        logon: &[u8],
    ) -> Result<Self> {
        let name = name.to_owned();
        let mut peer = Self { stream, name, target, next: 2, unread: Vec::new() };
        peer.stream.write_all(logon)?;
        peer.until("\x0135=A\x01")?;
        Ok(peer)
    }

    /// Reads to a message with this text.
    fn until(&mut self, text: &str) -> Result<()> {
        until(&mut self.stream, &mut self.unread, text)
    }

    fn say(&mut self, msg_type: &str, more: &str) -> Result<()> {
        self.next += 1;
        let message = bytes::fix_to(self.target, msg_type, self.next - 1, &self.name, more);
        self.stream.write_all(&message)
    }
}

impl Peer for Fix {
    fn ask(&mut self) -> Result<()> {
        let id = format!("112=T{}\x01", self.next);
        self.say("1", &id)?;
        self.until(&format!("\x01{id}"))
    }

    fn leave(mut self: Box<Self>) -> Result<()> {
        self.say("5", "")?;
        self.until("\x0135=5\x01")
    }
}
