//! The market data of a venue simulator: a gateway that follows it while strangers send to its
//! line, and somebody who asks for packets again while strangers ask, too.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use taut_market_data::feed::RetransmitRequest;
use taut_market_data::native::{PACKET_BYTES_MAX, PACKET_HEADER_BYTES, PacketReader};
use taut_runner::service::{ControlClient, ControlReply, ControlRequest};
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

/// Packets of a stream that nobody sends, real ones that are cut off, and chance. None of them has
/// the venue's stream and a number that it has not sent yet: whatever becomes of them, they are no
/// reason for a gap.
fn forged_packet(random: &mut Random, real: &[u8]) -> Vec<u8> {
    let mut bytes = real.to_vec();
    match random.below(3) {
        0 => bytes.truncate(random.usize(..bytes.len())),
        1 => bytes = (0..random.below(1_400)).map(|_| random.u8(..)).collect(),
        _ => {
            // The stream is the last of the header.
            let at = PACKET_HEADER_BYTES - 4;
            bytes[at..PACKET_HEADER_BYTES].copy_from_slice(&random.u32(..).to_le_bytes());
        }
    }
    bytes
}

/// What a gateway says of the feed that it follows.
#[derive(Clone, Copy, Debug)]
struct Look {
    is_sound: bool,
    ticks: u64,
    /// Gaps that opened, and packets that a snapshot covered once the books were sound.
    missed: (u64, u64),
    malformed: u64,
}

impl Look {
    fn at(operator: &mut ControlClient) -> Result<Self, String> {
        let reply = operator.ask(&ControlRequest::Status).map_err(|error| error.to_string())?;
        let ControlReply::Status(status) = reply else { return Err("no status".to_owned()) };
        let count = |name: &str| {
            let found = status.counters.iter().find(|(counter, _)| counter == name);
            found.map(|(_, count)| *count).ok_or_else(|| format!("no counter is called {name}"))
        };
        let recovered = count("recovered")? - count("recovered_at_start")?;
        Ok(Self {
            is_sound: status.books_sound,
            ticks: count("ticks")?,
            missed: (count("gaps")?, recovered),
            malformed: count("malformed")?,
        })
    }

    /// Whether it is sound, has applied more than it had before, and has missed nothing meanwhile.
    const fn goes_on_from(&self, before: &Self) -> bool {
        let is_further = self.is_sound && self.ticks > before.ticks;
        is_further && self.missed.0 == before.missed.0 && self.missed.1 == before.missed.1
    }
}

/// A gateway of this scene that has begun to follow, and how it says so.
fn start_gateway(taut: &str, scene: &Scene) -> Result<(Process, ControlClient, Look), String> {
    let file = scene.folder.path().join("gateway.toml");
    let mut gateway = Process::start(Command::new(taut).args(["gateway", "--config"]).arg(file));
    gateway.stderr_line("a gateway that can be found", |line| {
        line.contains("meet it at").then_some(())
    });
    let control = scene.folder.path().join("control");
    let mut operator = ControlClient::connect(control.to_str().ok_or("a path that is no text")?)
        .map_err(|error| error.to_string())?;
    let begun = monotonic();
    loop {
        let look = Look::at(&mut operator)?;
        if look.is_sound {
            return Ok((gateway, operator, look));
        }
        if monotonic() - begun > DEADLINE {
            return Err("the gateway does not follow while nobody disturbs it".to_owned());
        }
    }
}

/// A gateway follows the books while strangers send to its line A. At each look it is sound and
/// further than before, and no gap has opened. That the strangers reach it shows in what it counts
/// as malformed: of what they send, that is whatever is shorter than a header, and nothing else.
pub fn follow(taut: &str, terms: Terms) -> Outcome {
    let scene = Scene::open(taut)?;
    let (gateway, mut operator, first) = start_gateway(taut, &scene)?;
    let (memory, cpu, stop) = (gateway.memory_kib(), gateway.cpu_time(), AtomicBool::new(false));
    let (real, ..) = scene.newest()?;
    let (looks, failure, count, short) = thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let mut short = 0;
            let (count, ..) = flood(scene.incremental, &stop, |random| {
                let bytes = forged_packet(random, &real);
                short += u64::from(bytes.len() < PACKET_HEADER_BYTES);
                bytes
            });
            (count, short)
        });
        let end = monotonic() + Nanos::from_secs(i64::from(terms.seconds));
        let (mut looks, mut failure, mut before) = (0, None, first);
        while failure.is_none() && (monotonic() < end || looks < 3) {
            // PACE: between two looks there is something to apply.
            let _ = wait_readable(&[], Some(BETWEEN_LOOKS));
            match Look::at(&mut operator) {
                Ok(look) if look.goes_on_from(&before) => before = look,
                Ok(look) => failure = Some(format!("look {looks}: {look:?} after {before:?}")),
                Err(error) => failure = Some(error),
            }
            looks += 1;
        }
        stop.store(true, Ordering::Relaxed);
        let (count, short) = flooding.join().expect("no panic");
        (looks, failure, count, short)
    });
    let grown = gateway.memory_kib().saturating_sub(memory);
    let each = (gateway.cpu_time() - cpu).0 / 1_000 / count.max(1) as i64;
    let malformed = Look::at(&mut operator)?.malformed - first.malformed;
    let measured = format!(
        "{count} forged packets, {malformed} counted as malformed of {short} without a header; \
         sound, further and without a gap at each of {looks} looks; {grown} KiB; {each} us of CPU \
         each, with the stream's"
    );
    if let Some(failure) = failure {
        return Err(format!("it does not keep following: {failure}; {measured}"));
    }
    // The kernel may drop some on a busy machine, and the last ones may not have been read yet.
    let have_come = (short / 2 + 1..=short).contains(&malformed);
    match have_come && grown <= MEMORY_KIB_MAX {
        true => Ok(measured),
        false => Err(measured),
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
    let (memory, stop) = (scene.venue.memory_kib(), AtomicBool::new(false));
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
    let grown = scene.venue.memory_kib().saturating_sub(memory);
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
