//! Peers that mean no good. Each acts until it is told to stop; what the listener does to them is
//! its business, so that no failure of theirs counts.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use taut_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taut_sys::{Address, Socket, StreamOptions};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

use crate::{bytes, pace, tls};

/// Acts as one of several; they are numbered.
pub type Run = fn(to: SocketAddr, number: u64, stop: &AtomicBool);

/// Connections that one of them keeps.
const KEPT: usize = 600;
const PAUSE: Nanos = Nanos::from_millis(1);

/// So often does one of them come at the most: this host would run out of ports.
const COMES_EVERY: Nanos = Nanos::from_micros(200);

/// One of so many comes from another address than the good peer.
const FROM_ELSEWHERE: u64 = 4;
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Connections that strangers have tried, and that they have made.
static TRIED: AtomicU64 = AtomicU64::new(0);
static COME: AtomicU64 = AtomicU64::new(0);

/// How many connections strangers have made.
pub fn come() -> u64 {
    COME.load(Ordering::Relaxed)
}

/// A connection that waits for nothing longer than it must.
fn connect(to: SocketAddr) -> Option<TcpStream> {
    pace(COMES_EVERY);
    let number = TRIED.fetch_add(1, Ordering::Relaxed);
    let stream = if number.is_multiple_of(FROM_ELSEWHERE) {
        connect_from(ELSEWHERE, to)?
    } else {
        TcpStream::connect_timeout(&to, Duration::from_secs(1)).ok()?
    };
    COME.fetch_add(1, Ordering::Relaxed);
    stream.set_write_timeout(Some(Duration::from_millis(200))).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(200))).ok()?;
    Some(stream)
}

fn connect_from(host: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let local = Some(SocketAddr::from((host, 0)));
    let options = StreamOptions { local, ..StreamOptions::default() };
    let (socket, _) = Socket::connect(&Address::Inet(to), &options).ok()?;
    let stream = TcpStream::from(socket.as_fd().try_clone_to_owned().ok()?);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

fn goes_on(stop: &AtomicBool) -> bool {
    !stop.load(Ordering::Relaxed)
}

/// Keeps the newest connections that `open` makes, and makes them as fast as it can.
fn keep(stop: &AtomicBool, most: usize, mut open: impl FnMut() -> Option<TcpStream>) {
    let mut kept = VecDeque::new();
    while goes_on(stop) {
        kept.extend(open());
        if kept.len() > most {
            kept.pop_front();
        }
    }
}

/// Says nothing, and comes again and again.
pub fn silent(to: SocketAddr, _: u64, stop: &AtomicBool) {
    keep(stop, KEPT, || connect(to));
}

/// Leaves as soon as it is there.
pub fn storm(to: SocketAddr, _: u64, stop: &AtomicBool) {
    while goes_on(stop) {
        drop(connect(to));
    }
}

/// Says anything.
pub fn garbage(to: SocketAddr, number: u64, stop: &AtomicBool) {
    let mut random = Random::with_seed(number);
    let starts: [&[u8]; 4] =
        [b"", &bytes::zmtp_hello(b"SUB"), bytes::WEBSOCKET_REQUEST, b"8=FIX.4.4\x019=60000\x01"];
    keep(stop, 100, || {
        let mut stream = connect(to)?;
        let start = random.pick(&starts);
        let more: Vec<u8> = (0..random.below(3_000)).map(|_| random.below(256) as u8).collect();
        stream.write_all(start).ok()?;
        stream.write_all(&more).ok()?;
        (random.below(2) == 0).then_some(stream)
    });
}

/// Begins well over ZMTP, a byte at a time, and never comes to the end.
pub fn trickle_zmtp(to: SocketAddr, _: u64, stop: &AtomicBool) {
    trickle(to, &bytes::zmtp_hello(b"SUB"), stop);
}

/// The same over a WebSocket.
pub fn trickle_websocket(to: SocketAddr, _: u64, stop: &AtomicBool) {
    trickle(to, bytes::WEBSOCKET_REQUEST, stop);
}

/// The same over HTTP.
pub fn trickle_http(to: SocketAddr, _: u64, stop: &AtomicBool) {
    trickle(to, bytes::HTTP_REQUEST, stop);
}

/// The same over FIX.
pub fn trickle_fix(to: SocketAddr, _: u64, stop: &AtomicBool) {
    trickle(to, &bytes::fix_logon("GOOD", ""), stop);
}

/// Begins TLS, a byte at a time, and never comes to the end.
pub fn trickle_tls(to: SocketAddr, _: u64, stop: &AtomicBool) {
    trickle(to, &tls::client_hello(), stop);
}

/// Has the listener answer the beginning of TLS, which costs it a signature, and stops there.
pub fn half_handshakes(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let hello = tls::client_hello();
    keep(stop, KEPT, || {
        let mut stream = connect(to)?;
        stream.write_all(&hello).ok()?;
        (stream.read(&mut [0; 4_096]).ok()? > 0).then_some(stream)
    });
}

/// Sends the first byte of a hello, and the rest two hundred connections later, as a handshake that
/// goes on.
pub fn split_hellos(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let (hello, mut begun) = (tls::client_hello(), VecDeque::new());
    keep(stop, 200, || {
        let mut stream = connect(to)?;
        stream.write_all(hello.get(..1)?).ok()?;
        begun.push_back(stream);
        if begun.len() <= 200 {
            return None;
        }
        let mut oldest = begun.pop_front()?;
        oldest.write_all(hello.get(1..)?).ok()?;
        Some(oldest)
    });
}

/// Begins TLS well and goes on with anything: records of any type, and most of one of 16 KiB.
pub fn broken_records(to: SocketAddr, number: u64, stop: &AtomicBool) {
    let (mut random, hello) = (Random::with_seed(number), tls::client_hello());
    keep(stop, 200, || {
        let mut stream = connect(to)?;
        stream.write_all(&hello).ok()?;
        if random.below(2) == 0 {
            stream.write_all(b"\x16\x03\x03\x40\x00").ok()?;
            stream.write_all(&[7; 16_000]).ok()?;
            return Some(stream);
        }
        let length = random.below(2_000);
        let kind = 20 + random.below(5) as u8;
        let mut record = vec![kind, 3, 3, (length >> 8) as u8, length as u8];
        record.extend((0..length).map(|_| random.below(256) as u8));
        stream.write_all(&record).ok()?;
        Some(stream)
    });
}

/// Finishes TLS, and says nothing in it.
pub fn silent_tls(to: SocketAddr, _: u64, stop: &AtomicBool) {
    keep(stop, KEPT, || {
        let (mut stream, mut client) = (connect(to)?, tls::client());
        while client.is_handshaking() {
            client.complete_io(&mut stream).ok()?;
        }
        Some(stream)
    });
}

fn trickle(to: SocketAddr, start: &[u8], stop: &AtomicBool) {
    let mut open: Vec<(TcpStream, usize)> = Vec::new();
    while goes_on(stop) {
        if open.len() < KEPT / 2 {
            open.extend(connect(to).map(|stream| (stream, 0)));
        }
        open.retain_mut(|(stream, at)| {
            *at += 1;
            *at < start.len() && stream.write_all(&start[*at - 1..*at]).is_ok()
        });
        pace(PAUSE);
    }
}

/// Subscribes to everything and reads nothing.
pub fn deaf_subscribers(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let mut deaf = Vec::new();
    while goes_on(stop) {
        if deaf.len() < 200
            && let Some(mut stream) = connect(to)
        {
            let hello = bytes::zmtp_hello(b"SUB");
            let _ = stream.write_all(&[hello, bytes::zmtp_subscribe(b"")].concat());
            deaf.push(stream);
        }
        // It answers no PING either, so that it is given up, and comes again.
        deaf.retain(|stream: &TcpStream| stream.peek(&mut [0]).map_or(true, |count| count > 0));
        pace(PAUSE);
    }
}

/// Subscribes to more than anybody can want.
pub fn many_subscriptions(to: SocketAddr, number: u64, stop: &AtomicBool) {
    let mut random = Random::with_seed(number);
    while goes_on(stop) {
        let Some(mut stream) = connect(to) else { continue };
        if stream.write_all(&bytes::zmtp_hello(b"SUB")).is_err() {
            continue;
        }
        for _ in 0..50_000 {
            let prefix: Vec<u8> = (0..200).map(|_| random.below(256) as u8).collect();
            if !goes_on(stop) || stream.write_all(&bytes::zmtp_subscribe(&prefix)).is_err() {
                break;
            }
        }
    }
}

/// Sends a message that never ends, in large parts or in empty ones.
pub fn endless_messages(to: SocketAddr, number: u64, stop: &AtomicBool) {
    let large = [&b"\x03\0\0\0\0\0\x01\0\0"[..], &[7; 1 << 16]].concat();
    let part = if number.is_multiple_of(2) { large } else { b"\x01\0".repeat(1 << 10) };
    while goes_on(stop) {
        let Some(mut stream) = connect(to) else { continue };
        let _ = stream.write_all(&bytes::zmtp_hello(b"PUB"));
        while goes_on(stop) && stream.write_all(&part).is_ok() {}
    }
}

/// Sends most of a message of 16 MiB in small parts, and no end of it, on many connections.
pub fn unfinished_messages(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let part = [&b"\x03\0\0\0\0\0\x01\0\0"[..], &[7; 1 << 16]].concat();
    keep(stop, 150, || {
        let mut stream = connect(to)?;
        stream.write_all(&bytes::zmtp_hello(b"PUB")).ok()?;
        for _ in 0..200 {
            if !goes_on(stop) {
                break;
            }
            stream.write_all(&part).ok()?;
        }
        Some(stream)
    });
}

fn websocket(to: SocketAddr) -> Option<TcpStream> {
    let mut stream = connect(to)?;
    stream.write_all(bytes::WEBSOCKET_REQUEST).ok()?;
    let mut answer = [0; 512];
    (stream.read(&mut answer).ok()? > 0).then_some(stream)
}

/// Announces a message of 16 MB, and sends some of it. Together they have less than the share of
/// their source: what has finished its handshake keeps its slot, and its neighbours out of it.
pub fn great_promises(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let promise = [bytes::websocket_header(16_000_000), vec![0; 1_000]].concat();
    keep(stop, 200, || {
        let mut stream = websocket(to)?;
        stream.write_all(&promise).ok()?;
        Some(stream)
    });
}

/// Sends messages of 8 MB to be echoed, and reads none.
pub fn deaf_echoes(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let message = [bytes::websocket_header(8_000_000), vec![7; 8_000_000]].concat();
    keep(stop, 60, || {
        let mut stream = websocket(to)?;
        stream.write_all(&message).ok()?;
        Some(stream)
    });
}

/// Logs on at a venue that lets any member in: at another's, in nonsense, and as somebody whose
/// messages are none.
pub fn wrong_names(to: SocketAddr, number: u64, stop: &AtomicBool) {
    let guest = format!("GUEST{number}");
    let elsewhere = bytes::fix_logon(&guest, "").into_iter();
    let elsewhere: Vec<u8> = elsewhere.map(|byte| if byte == b'H' { b'G' } else { byte }).collect();
    let logons = [
        elsewhere,
        bytes::fix("A", 1, &guest, "98=7\x01"),
        bytes::fix("0", 1, &guest, ""),
        [bytes::fix_logon(&guest, ""), bytes::fix("D", 2, &guest, "11=1\x0155=NONE\x01")].concat(),
    ];
    say_in_turns(to, &logons, stop);
}

/// Logs on as nobody, as somebody with a wrong password, and as somebody in nonsense.
pub fn wrong_logons(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let logons = [
        bytes::fix_logon("NOBODY", ""),
        bytes::fix_logon("LOCKED", "553=me\x01554=wrong\x01"),
        bytes::fix("A", 1, "LOCKED", "98=7\x01"),
        bytes::fix("0", 1, "GOOD", ""),
    ];
    say_in_turns(to, &logons, stop);
}

/// Asks once over HTTP, has the answer, and stays.
pub fn idle_http(to: SocketAddr, _: u64, stop: &AtomicBool) {
    keep(stop, KEPT, || {
        let mut stream = connect(to)?;
        stream.write_all(bytes::HTTP_REQUEST).ok()?;
        (stream.read(&mut [0; 4_096]).ok()? > 0).then_some(stream)
    });
}

/// Asks over HTTP without a pause, and reads no answer.
pub fn deaf_http(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let requests = bytes::HTTP_REQUEST.repeat(1_000);
    keep(stop, 40, || {
        let mut stream = connect(to)?;
        while goes_on(stop) && stream.write_all(&requests).is_ok() {}
        Some(stream)
    });
}

/// Logs on at a venue's own FIX as nobody, with a wrong password, at another's, and in nonsense.
pub fn wrong_keys(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let logons = [
        bytes::web_fix_logon("GUEST", "nobody", "hush"),
        bytes::web_fix_logon("GUEST", "two", "wrong"),
        bytes::fix_logon("GUEST", ""),
        bytes::fix_to("DERIBITSERVER", "0", 1, "GUEST", ""),
    ];
    say_in_turns(to, &logons, stop);
}

/// Opens a WebSocket, and asks for the book without a pause.
pub fn greedy_followers(to: SocketAddr, _: u64, stop: &AtomicBool) {
    let question = bytes::websocket_text(bytes::BOOK_QUESTION);
    while goes_on(stop) {
        let Some(mut stream) = connect(to) else { continue };
        if stream.write_all(bytes::BOOK_REQUEST).is_err() {
            continue;
        }
        for _ in 0..100 {
            if stream.write_all(&question).is_err() {
                break;
            }
        }
    }
}

fn say_in_turns(to: SocketAddr, logons: &[Vec<u8>], stop: &AtomicBool) {
    let mut next = logons.iter().cycle();
    while goes_on(stop) {
        let (Some(mut stream), Some(logon)) = (connect(to), next.next()) else { continue };
        let _ = stream.write_all(logon);
        let _ = stream.read(&mut [0; 256]);
    }
}
