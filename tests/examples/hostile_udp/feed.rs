//! The market data of a venue simulator: a gateway that follows it while strangers send to its
//! line, and somebody who asks for packets again while strangers ask, too.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use taut_market_data::feed::RetransmitRequest;
use taut_market_data::native::{PACKET_BYTES_MAX, PacketReader};
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{monotonic, wait_readable};
use taut_testkit::{Draw, Process, Random, own_address};
use taut_types::{Nanos, SequenceNumber};

use crate::{Outcome, Terms};

/// Strangers: 127.0.1.1 to 127.0.20.1, who together send so much and then rest.
const HOSTS: u8 = 20;
const BURST: usize = 10;
const REST: Nanos = Nanos::from_millis(2);
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(100);
/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(1);
const SERVED_WITHIN: Nanos = Nanos::from_millis(100);
const MEMORY_KIB_MAX: u64 = 16 << 10;
const DEADLINE: Nanos = Nanos::from_secs(60);

/// A venue that publishes, a gateway's settings, and an ear on line B.
struct Scene {
    venue: Process,
    line_b: UdpSocket,
    incremental: SocketAddr,
    retransmission: SocketAddr,
    folder: tempfile::TempDir,
}

impl Scene {
    fn open(taut: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let line_b = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|it| it.to_string())?;
        let heard_at = line_b.local_addr().map_err(|error| error.to_string())?;
        let _ = line_b.set_read_timeout(Some(PATIENCE));
        let [orders, incremental, snapshot, retransmission] = [(); 4].map(|()| own_address());
        let instruments = "[[instruments]]\nsymbol = \"TAUT\"\ntick = \"0.01\"\nlot_decimals = 0\n";
        let lines = format!(
            "orders = \"{orders}\"\nincremental = \"{incremental}\"\nsnapshot = \"{snapshot}\"\n\
             retransmission = \"{retransmission}\"\n"
        );
        let venue = format!(
            "comp_id = \"VENUE\"\n{lines}incremental_b = \"{heard_at}\"\n{instruments}[flow]\n\
             commands_per_second = 500\nlevels = 20\n"
        );
        let gateway = format!(
            "name = \"own\"\ncontrol = \"control\"\nwait = \"block\"\n[venue]\n{lines}\
             target_comp_id = \"VENUE\"\n{instruments}[[strategies]]\nname = \"one\"\nnumber = 1\n"
        );
        for (name, text) in [("venue.toml", venue), ("gateway.toml", gateway)] {
            fs::write(folder.path().join(name), text).map_err(|error| error.to_string())?;
        }
        let file = folder.path().join("venue.toml");
        let mut venue = Process::start(Command::new(taut).args(["venue", "--config"]).arg(file));
        venue.stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
        Ok(Self { venue, line_b, incremental, retransmission, folder })
    }

    /// The newest packet of line B: its bytes, its stream and its number.
    fn newest(&self) -> Result<(Vec<u8>, u32, SequenceNumber), String> {
        let (mut packet, mut bytes) = ([0; 2048], None);
        loop {
            // One is waited for, and those that have come meanwhile are passed over.
            let _ = self.line_b.set_nonblocking(bytes.is_some());
            match self.line_b.recv(&mut packet) {
                Ok(count) => bytes = Some(packet[..count].to_vec()),
                Err(_) => break,
            }
        }
        let _ = self.line_b.set_nonblocking(false);
        let bytes = bytes.ok_or("line B brings nothing")?;
        let header = PacketReader::new(&bytes).map_err(|error| format!("{error:?}"))?.header();
        Ok((bytes, header.stream_id, header.sequence))
    }
}

/// Sends what `forge` makes from twenty hosts, until it is told to stop; how many datagrams, their
/// bytes, and those that came back.
fn flood(
    to: SocketAddr,
    stop: &AtomicBool,
    mut forge: impl FnMut(&mut Random) -> Vec<u8>,
) -> (u64, u64, u64) {
    let open = |host| UdpSocket::bind((Ipv4Addr::new(127, 0, host, 1), 0)).expect("a socket");
    let sockets: Vec<_> = (1..=HOSTS).map(open).collect();
    sockets.iter().for_each(|socket| socket.set_nonblocking(true).expect("a flag"));
    let (mut random, mut room) = (Random::with_seed(17), [0; 2048]);
    let (mut count, mut sent, mut heard) = (0, 0, 0);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            let bytes = forge(&mut random);
            let socket = &sockets[random.usize(..sockets.len())];
            if socket.send_to(&bytes, to).is_ok() {
                (count, sent) = (count + 1, sent + bytes.len() as u64);
            }
        }
        for socket in &sockets {
            while let Ok(bytes) = socket.recv(&mut room) {
                heard += bytes as u64;
            }
        }
        // PACE: a flood that fills the sockets' buffers is the line's matter, not the listener's.
        let _ = wait_readable(&[], Some(REST));
    }
    (count, sent, heard)
}

/// Memory and CPU time of a process, in KiB and in steps of 10 ms.
fn usage(process: &Process) -> (u64, Nanos) {
    let read = |name| fs::read_to_string(format!("/proc/{}/{name}", process.id()));
    let (status, stat) = (read("status").unwrap_or_default(), read("stat").unwrap_or_default());
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    let behind = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = behind.split_whitespace().skip(11).take(2);
    let ticks: i64 = ticks.filter_map(|it| it.parse::<i64>().ok()).sum();
    (memory, Nanos::from_millis(10 * ticks))
}

/// Packets of a stream that nobody sends, real ones that are cut off, and chance.
fn forged_packet(random: &mut Random, real: &[u8]) -> Vec<u8> {
    let mut bytes = real.to_vec();
    match random.below(3) {
        0 => bytes.truncate(random.usize(..bytes.len())),
        1 => bytes = (0..random.below(1_400)).map(|_| random.u8(..)).collect(),
        _ => {
            // The stream is the last of the header.
            let at = HEADER_BYTES - 4;
            bytes[at..HEADER_BYTES].copy_from_slice(&random.u32(..).to_le_bytes());
        }
    }
    bytes
}

/// Of a packet.
const HEADER_BYTES: usize = taut_market_data::native::PACKET_HEADER_BYTES;

/// A gateway follows the books while strangers send to its line A.
pub fn follow(taut: &str, terms: Terms) -> Outcome {
    let scene = Scene::open(taut)?;
    let file = scene.folder.path().join("gateway.toml");
    let control = scene.folder.path().join("control");
    let mut gateway = Process::start(Command::new(taut).args(["gateway", "--config"]).arg(file));
    gateway.stderr_line("a gateway that can be found", |line| {
        line.contains("meet it at").then_some(())
    });
    // Whether its book is sound, what it applied, and what it has lost.
    let look = || -> Result<(bool, u64, u64), String> {
        let mut command = Command::new(taut);
        let said = command.args(["gateway", "status", "--gateway"]).arg(&control).output();
        let text = String::from_utf8(said.map_err(|error| error.to_string())?.stdout);
        let text = text.map_err(|error| error.to_string())?;
        let line = |name: &str| {
            text.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default()
        };
        let count = |name: &str| {
            let counted = line("counted").split(", ").find_map(|it| it.trim().strip_prefix(name));
            counted.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        Ok((line("books sound").trim().starts_with("yes"), count("ticks "), count("lost ")))
    };
    let begun = monotonic();
    while !look()?.0 {
        if monotonic() - begun > DEADLINE {
            return Err("the gateway does not follow while nobody disturbs it".to_owned());
        }
    }
    let (_, mut ticks, lost_before) = look()?;
    let ((memory, cpu), stop) = (usage(&gateway), AtomicBool::new(false));
    let (real, ..) = scene.newest()?;
    let (looks, failure, strangers, lost) = thread::scope(|scope| {
        let flooding =
            scope.spawn(|| flood(scene.incremental, &stop, |it| forged_packet(it, &real)));
        let end = monotonic() + Nanos::from_secs(i64::from(terms.seconds));
        let (mut looks, mut failure, mut lost) = (0, None, lost_before);
        while monotonic() < end || looks < 3 {
            // PACE: between two looks there is something to apply.
            let _ = wait_readable(&[], Some(BETWEEN_LOOKS));
            match look() {
                Ok((true, now, lost_now)) if now > ticks => (ticks, lost) = (now, lost_now),
                Ok(other) => failure = Some(format!("look {looks}: {other:?} after {ticks}")),
                Err(error) => failure = Some(error),
            }
            looks += 1;
        }
        stop.store(true, Ordering::Relaxed);
        (looks, failure, flooding.join().expect("no panic"), lost)
    });
    let (memory_after, cpu_after) = usage(&gateway);
    let grown = memory_after.saturating_sub(memory);
    let each = (cpu_after - cpu).0 / 1_000 / strangers.0.max(1) as i64;
    let measured = format!(
        "{} forged packets; sound and further at each of {looks} looks, {} packets lost; {grown} \
         KiB; {each} us of CPU each, with the stream's",
        strangers.0,
        lost - lost_before
    );
    if let Some(failure) = failure {
        return Err(format!("it does not keep following: {failure}; {measured}"));
    }
    match grown > MEMORY_KIB_MAX || lost > lost_before {
        true => Err(measured),
        false => Ok(measured),
    }
}

/// Somebody who asks for a packet again is served while strangers ask for as much as can be.
pub fn ask_again(taut: &str, terms: Terms) -> Outcome {
    let scene = Scene::open(taut)?;
    let (_, stream_id, _) = scene.newest()?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let _ = socket.set_read_timeout(Some(PATIENCE));
    let ask = |first| -> Result<(), String> {
        let mut request = [0; PACKET_BYTES_MAX];
        RetransmitRequest { stream_id, first, count: 1 }.write(&mut request);
        socket.send_to(&request, scene.retransmission).map_err(|error| error.to_string())?;
        let mut answer = [0; 2048];
        loop {
            let count = socket.recv(&mut answer).map_err(|error| error.to_string())?;
            let packet = PacketReader::new(&answer[..count]);
            if packet.is_ok_and(|packet| packet.header().sequence == first) {
                return Ok(());
            }
        }
    };
    let forge = |random: &mut Random| {
        let count = if random.bool() { u16::MAX } else { 1 };
        let first = match random.below(3) {
            0 => random.below(1_000),
            1 => random.u64(..),
            _ => u64::MAX,
        };
        let mut bytes = vec![0; random.pick(&[24, 24, 300])];
        RetransmitRequest { stream_id, first: SequenceNumber(first), count }.write(&mut bytes);
        if random.below(8) == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        bytes
    };
    let ((memory, _), stop) = (usage(&scene.venue), AtomicBool::new(false));
    let (mut times, mut retries, mut unserved) = (Vec::new(), 0, None);
    let (count, sent, heard) = thread::scope(|scope| {
        let flooding = scope.spawn(|| flood(scene.retransmission, &stop, forge));
        let end = monotonic() + Nanos::from_secs(i64::from(terms.seconds));
        while monotonic() < end && unserved.is_none() {
            match scene.newest() {
                Ok((_, _, sequence)) => {
                    let begun = monotonic();
                    if ask(sequence).is_err() {
                        retries += 1;
                        unserved = ask(sequence).err();
                    }
                    times.push(monotonic() - begun);
                }
                Err(error) => unserved = Some(error),
            }
        }
        stop.store(true, Ordering::Relaxed);
        flooding.join().expect("no panic")
    });
    times.sort_unstable();
    let usual = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    let grown = usage(&scene.venue).0.saturating_sub(memory);
    let measured = format!(
        "{count} requests of strangers, {heard} bytes for their {sent}; {} of somebody else, \
         {retries} asked twice, 99% served within {} us; {grown} KiB",
        times.len(),
        usual.0 / 1_000
    );
    if let Some(why) = unserved {
        return Err(format!("not served: {why}; {measured}"));
    }
    let is_late = terms.times_count && usual > SERVED_WITHIN;
    match heard > sent || retries > (times.len() / 20).max(1) || grown > MEMORY_KIB_MAX || is_late {
        true => Err(measured),
        false => Ok(measured),
    }
}
