//! `taut bench ipc-kill`: SIGKILL at random times under full load.
//!
//! This process judges. A victim that writes is a copy of it that takes over the stream and writes
//! as fast as it can; after each message it notes the position in memory of its own, so that the
//! judge, a registered reader, knows what was committed and must arrive. A victim that reads
//! registers with a stream that the judge writes; after its death the judge must get on.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;
use taut_ipc::{Channel, ChannelOptions, Join, Region, Segment, Stream, StreamKind};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{
    Access, ProcessSignal, fork, monotonic, pin_to_cpu, process_id, signal_process, utc,
    wait_for_child,
};
use taut_types::Nanos;

use crate::bench::spread::Spread;
use crate::exit::Failure;
use crate::terminal::print;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Victim {
    Writer,
    Reader,
    Both,
}

/// How many kills, and of whom.
#[derive(Args, Debug)]
pub struct Arguments {
    /// How many processes are killed.
    #[arg(long, default_value_t = 10_000)]
    kills: u64,
    /// Who is killed; `both` takes turns.
    #[arg(long, value_enum, default_value_t = Victim::Both)]
    victim: Victim,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

const TICKS: Stream<'static> = Stream {
    name: "ticks",
    kind: StreamKind::Ticks { slot_count: 256 },
    reader_count: 4,
    layout: 0,
};
const LOG: Stream<'static> = Stream {
    name: "log",
    kind: StreamKind::Log { capacity_bytes: LOG_BYTES },
    reader_count: 4,
    layout: 0,
};
/// What the victim notes: 0 the last committed position, 1 whether it is in a call, 2 when it began
/// to attach, 3 when its first message was committed, 4 messages, 5 torn, 6 lost.
const NOTES: Region = Region { id: 1, version: 1, words: 16 };
/// A victim lives at most this long under load.
const LIFE_NS_MAX: u64 = 200_000;
/// A victim that brings nothing for so long is wedged.
const WEDGED: Nanos = Nanos::from_secs(2);
const MESSAGE_BYTES: usize = 70;
/// With its header, rounded up to words.
const RECORD_BYTES: u64 = 80;
const LOG_BYTES: usize = 32 * 1024;

#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    killed_mid_write: u64,
    messages: u64,
    torn: u64,
    lost: u64,
    wedged: u64,
}

/// Kills, and reports.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = format!("bench-kill-{}", process_id());
    let killed = kill(arguments, name.clone());
    // Who was killed last could not take the channel along.
    let _ = taut_ipc::prune(&name, &ChannelOptions::default());
    killed
}

fn kill(arguments: &Arguments, name: String) -> Result<(), Failure> {
    let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
    let options = ChannelOptions::default();
    let channel = Channel::open_or_create(&name, &[TICKS, LOG], &options).map_err(failed)?;
    let notes = Segment::create("taut-kill", &[NOTES]).map_err(failed)?;
    let notes = notes.region(NOTES).map_err(failed)?;
    // The judge and the victim each on a CPU of their own, where there are two.
    let _ = pin_to_cpu(0);
    let seed = utc().0.unsigned_abs();
    let mut judge = Judge {
        channel: &channel,
        name: &name,
        notes,
        random: seed | 1,
        tally: Tally::default(),
        heal: Spread::new(),
    };
    for number in 0..arguments.kills {
        let writer = match arguments.victim {
            Victim::Writer => true,
            Victim::Reader => false,
            Victim::Both => number % 2 == 0,
        };
        // Two kills of each kind for ticks, two for the log.
        let ticks = number / 2 % 2 == 0;
        if writer { judge.kill_writer(ticks)? } else { judge.kill_reader(ticks)? }
    }
    judge.report(arguments, seed)
}

struct Judge<'c> {
    channel: &'c Channel,
    name: &'c str,
    notes: &'c [AtomicU64],
    random: u64,
    tally: Tally,
    heal: Spread,
}

impl Judge<'_> {
    fn life(&mut self) -> Nanos {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Nanos((self.random % LIFE_NS_MAX).cast_signed())
    }

    fn note(&self, at: usize) -> u64 {
        self.notes[at].load(Ordering::Acquire)
    }

    fn start(&self, victim: impl FnOnce()) -> Result<u32, Failure> {
        self.notes.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let child = || {
            let _ = pin_to_cpu(1);
            victim();
            1
        };
        fork(child).map_err(|error| Failure::run("victim", error))
    }

    fn kill(&mut self, victim: u32) -> Result<(), Failure> {
        let failed = |error| Failure::run("kill", error);
        signal_process(victim, ProcessSignal::Kill).map_err(failed)?;
        wait_for_child(victim).map_err(failed)?;
        self.tally.kills += 1;
        Ok(())
    }

    fn kill_writer(&mut self, ticks: bool) -> Result<(), Failure> {
        let channel = self.channel;
        let mut reader = Reader::open(channel, ticks).map_err(|e| Failure::Run(e.to_string()))?;
        let (name, notes) = (self.name, self.notes);
        let victim = self.start(|| write(name, notes, ticks))?;
        let begun = monotonic();
        while self.note(3) == 0 && monotonic().since(begun) < WEDGED {
            reader.drain();
            // The victim may have to share a CPU with us before it can begin.
            taut_sys::yield_cpu();
        }
        if self.note(3) == 0 {
            self.tally.wedged += 1;
            return self.kill(victim);
        }
        let end = monotonic() + self.life();
        while monotonic() < end {
            reader.drain();
        }
        self.kill(victim)?;
        reader.drain();
        self.heal.record(self.note(3).saturating_sub(self.note(2)));
        self.tally.killed_mid_write += u64::from(self.note(1) != 0);
        self.tally.messages += reader.messages;
        self.tally.torn += reader.torn;
        // What was committed when the victim died must have come.
        self.tally.lost += reader.lost + self.note(0).saturating_sub(reader.position());
        Ok(())
    }

    fn kill_reader(&mut self, ticks: bool) -> Result<(), Failure> {
        let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
        let mut writer = Writer::open(self.channel, ticks).map_err(failed)?;
        let (name, notes) = (self.name, self.notes);
        let victim = self.start(|| read(name, notes, ticks))?;
        let begun = monotonic();
        // Its first message, so that it is killed while it reads.
        while self.note(4) == 0 && monotonic().since(begun) < WEDGED {
            if !writer.send() {
                taut_sys::yield_cpu();
            }
        }
        if self.note(4) == 0 {
            self.tally.wedged += 1;
            return self.kill(victim);
        }
        let end = monotonic() + self.life();
        while monotonic() < end {
            writer.send();
        }
        self.kill(victim)?;
        self.tally.killed_mid_write += u64::from(self.note(1) != 0);
        self.tally.messages += self.note(4);
        self.tally.torn += self.note(5);
        self.tally.lost += self.note(6);
        // The dead reader holds nobody back: two rings full get through.
        let (died, mut sent) = (monotonic(), 0);
        while sent < 1_024 && monotonic().since(died) < WEDGED {
            sent += u64::from(writer.send());
        }
        self.tally.wedged += u64::from(sent < 1_024);
        Ok(())
    }

    fn report(self, arguments: &Arguments, seed: u64) -> Result<(), Failure> {
        let tally = self.tally;
        let unprintable = |error| Failure::run("standard output", error);
        if arguments.json {
            let report = json!({
                "kills": tally.kills, "killed_mid_write": tally.killed_mid_write,
                "messages": tally.messages, "torn": tally.torn, "lost": tally.lost,
                "wedged": tally.wedged, "heal_ns": self.heal.json(), "seed": seed,
            });
            print(report).map_err(unprintable)?;
        } else {
            print(format_args!(
                "{} kills, {} in the middle of a call; {} messages: torn {}, lost {}, wedged {}; \
                 heal ns {}",
                tally.kills,
                tally.killed_mid_write,
                tally.messages,
                tally.torn,
                tally.lost,
                tally.wedged,
                self.heal.json()
            ))
            .map_err(unprintable)?;
        }
        if tally.torn + tally.lost + tally.wedged == 0 {
            return Ok(());
        }
        Err(Failure::Run(format!("ipc-kill: not safe under kill; seed {seed}")))
    }
}

/// A message that says where it stands: its position in every word.
fn message(position: u64) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [0; MESSAGE_BYTES];
    let (words, rest) = bytes.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = position.to_ne_bytes());
    rest.copy_from_slice(&position.to_ne_bytes()[..rest.len()]);
    bytes
}

enum Writer<'c> {
    Ticks(taut_ipc::TickPublication<'c>),
    Log(taut_ipc::LogPublication<'c>),
}

impl<'c> Writer<'c> {
    fn open(channel: &'c Channel, ticks: bool) -> Result<Self, taut_ipc::IpcError> {
        Ok(if ticks {
            Self::Ticks(channel.publish_ticks("ticks", 0, Policy::Block)?)
        } else {
            Self::Log(channel.publish_log("log", 0, Policy::Block)?)
        })
    }

    fn position(&self) -> u64 {
        match self {
            Self::Ticks(publication) => publication.position(),
            Self::Log(publication) => publication.position(),
        }
    }

    /// Sends the next message; whether there was room.
    fn send(&mut self) -> bool {
        let position = self.position();
        match self {
            // Every fourth time a batch, so that victims also die in one.
            Self::Ticks(publication) if position.is_multiple_of(4) => {
                let batch: [_; 4] = std::array::from_fn(|n| [position + n as u64; 7]);
                publication.publish_batch(&batch).is_ok()
            }
            Self::Ticks(publication) => publication.publish(&[position; 7]).is_ok(),
            Self::Log(publication) => publication.append(&message(position)).is_ok(),
        }
    }
}

enum Ring<'c> {
    Ticks(taut_ipc::TickSubscription<'c>),
    Log(taut_ipc::LogSubscription<'c>),
}

struct Reader<'c> {
    ring: Ring<'c>,
    messages: u64,
    torn: u64,
    lost: u64,
}

impl<'c> Reader<'c> {
    fn open(channel: &'c Channel, ticks: bool) -> Result<Self, taut_ipc::IpcError> {
        let (start, join) = (Start::Latest, Join::Registered);
        let ring = if ticks {
            Ring::Ticks(channel.subscribe_ticks("ticks", 0, start, join)?)
        } else {
            Ring::Log(channel.subscribe_log("log", 0, start, join)?)
        };
        Ok(Self { ring, messages: 0, torn: 0, lost: 0 })
    }

    fn position(&self) -> u64 {
        match &self.ring {
            Ring::Ticks(reader) => reader.position(),
            Ring::Log(reader) => reader.position(),
        }
    }

    /// Takes everything there is, a ring full at most.
    fn drain(&mut self) {
        for _ in 0..512 {
            if !self.take() {
                return;
            }
        }
    }

    fn take(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let (polled, whole) = match &mut self.ring {
            Ring::Ticks(reader) => {
                let at = reader.position();
                let polled = reader.poll();
                (polled.clone_kind(), polled == Polled::Message([at; 7]))
            }
            Ring::Log(reader) => {
                let at = reader.position();
                let polled = reader.poll(&mut bytes);
                let sound = is_sound(&bytes, at, reader.position());
                (polled.clone_kind(), polled == Polled::Message(MESSAGE_BYTES) && sound)
            }
        };
        match polled {
            Kind::Empty => return false,
            Kind::NewWriter => {}
            Kind::Lapped(lost) => self.lost += lost,
            Kind::Message => {
                self.messages += 1;
                self.torn += u64::from(!whole);
            }
        }
        true
    }
}

/// Whether a message says where it stands: where its writer was before it, which is where the
/// reader was before it, or begins, unless padding lies between.
fn is_sound(bytes: &[u8], before: u64, after: u64) -> bool {
    let says = bytes.first_chunk().map_or(0, |first| u64::from_ne_bytes(*first));
    let begins = after.wrapping_sub(RECORD_BYTES);
    let padded =
        begins.is_multiple_of(LOG_BYTES as u64) && begins.wrapping_sub(says) <= RECORD_BYTES;
    bytes[..MESSAGE_BYTES] == message(says) && (says == before || says == begins || padded)
}

#[derive(Clone, Copy)]
enum Kind {
    Empty,
    Message,
    Lapped(u64),
    NewWriter,
}

trait CloneKind {
    fn clone_kind(&self) -> Kind;
}

impl<T> CloneKind for Polled<T> {
    fn clone_kind(&self) -> Kind {
        match self {
            Self::Empty => Kind::Empty,
            Self::Message(_) => Kind::Message,
            Self::Lapped(lost) => Kind::Lapped(*lost),
            Self::NewWriter(_) => Kind::NewWriter,
        }
    }
}

/// The victim that writes.
fn write(name: &str, notes: &[AtomicU64], ticks: bool) {
    let begun = monotonic();
    notes[2].store(begun.0.unsigned_abs(), Ordering::Relaxed);
    let Ok(channel) = Channel::open(name, Access::Write, &options()) else { return };
    let Ok(mut writer) = Writer::open(&channel, ticks) else { return };
    while !writer.send() {}
    notes[0].store(writer.position(), Ordering::Relaxed);
    notes[3].store(monotonic().0.unsigned_abs(), Ordering::Release);
    loop {
        notes[1].store(1, Ordering::Release);
        let sent = writer.send();
        if sent {
            notes[0].store(writer.position(), Ordering::Release);
        }
        notes[1].store(0, Ordering::Release);
    }
}

/// The victim that reads.
fn read(name: &str, notes: &[AtomicU64], ticks: bool) {
    let Ok(channel) = Channel::open(name, Access::Write, &options()) else { return };
    let Ok(mut reader) = Reader::open(&channel, ticks) else { return };
    loop {
        notes[1].store(1, Ordering::Release);
        reader.take();
        notes[5].store(reader.torn, Ordering::Release);
        notes[6].store(reader.lost, Ordering::Release);
        notes[4].store(reader.messages, Ordering::Release);
        notes[1].store(0, Ordering::Release);
    }
}

fn options() -> ChannelOptions {
    ChannelOptions { directory: Path::new("/dev/shm").to_owned(), ..ChannelOptions::default() }
}
