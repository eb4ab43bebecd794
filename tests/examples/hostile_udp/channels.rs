//! A channel in a flood: a good peer is served, a newcomer gets in, strangers hear no more than
//! they send, and memory stays bounded.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{monotonic, thread_usage, wait_readable};
use taut_testkit::own_address;
use taut_types::Nanos;

use crate::flood::{Counted, Flood, Kind};
use crate::frames::{self, Forge, STREAM};
use crate::{Outcome, Terms};

/// A message is sent so often.
const EVERY: Nanos = Nanos::from_millis(1);
/// What the listeners may take in a flood, beyond what they had: their images' windows and messages
/// are some of it.
const MEMORY_BYTES_MAX: u64 = 48 << 20;
/// A peer that is there is served within this, and one that comes is let in.
const SERVED_WITHIN: Nanos = Nanos::from_millis(100);
const LET_IN_WITHIN: Nanos = Nanos::from_secs(3);
/// What both ends may take of a CPU for a datagram of a stranger, with their own stream, in a build
/// that is not optimised.
const CPU_MAX: Nanos = Nanos::from_micros(100);
/// What the good peer sends before it has proved where it is, is in the same budget: on a machine
/// that is busy it asks a few times more.
const GOOD_PEER_BYTES: u64 = 256;
/// Questions of a flood that show an answer which is four bytes longer than its question, beyond
/// what the good peer may send: a SETUP is that much longer than the status that asks for one.
const QUESTIONS: u64 = GOOD_PEER_BYTES / 4 * 3;
const DEADLINE: Nanos = Nanos::from_secs(30);

/// Where both ends are, who is attacked, and with what.
struct Scene {
    published: String,
    subscribed: String,
    target: SocketAddr,
    forge: Forge,
    /// What is answered, each kind by itself.
    questions: &'static [Forge],
    /// What one that counts nothing answers.
    careless: fn(&[u8]) -> Vec<u8>,
    /// Who comes in the middle of it: another subscription, or another publication.
    newcomer_publishes: bool,
}

pub fn publication(terms: Terms) -> Outcome {
    let target = own_address();
    let control = format!("control={target}|control-mode=dynamic|stream-id={STREAM}");
    let published = format!("aeron:udp?{control}");
    let subscribed = format!("aeron:udp?endpoint=127.0.0.1:0|{control}");
    let forge = frames::to_publication;
    let (questions, careless) =
        (frames::TO_PUBLICATION, frames::careless_publication as fn(&[u8]) -> Vec<u8>);
    run(
        terms,
        &Scene {
            published,
            subscribed,
            target,
            forge,
            questions,
            careless,
            newcomer_publishes: false,
        },
    )
}

pub fn subscription(terms: Terms) -> Outcome {
    let target = own_address();
    let both = format!("aeron:udp?endpoint={target}|stream-id={STREAM}");
    let (published, subscribed, forge) = (both.clone(), both, frames::to_subscription as Forge);
    let (questions, careless) =
        (frames::TO_SUBSCRIPTION, frames::careless_subscription as fn(&[u8]) -> Vec<u8>);
    run(
        terms,
        &Scene {
            published,
            subscribed,
            target,
            forge,
            questions,
            careless,
            newcomer_publishes: true,
        },
    )
}

pub fn lease(terms: Terms) -> Outcome {
    let target = own_address();
    let both = format!("lease:udp?endpoint={target}");
    let (published, subscribed, forge) = (both.clone(), both, frames::to_lease_publisher as Forge);
    let (questions, careless) =
        (frames::TO_LEASE_PUBLISHER, frames::careless_lease as fn(&[u8]) -> Vec<u8>);
    run(
        terms,
        &Scene {
            published,
            subscribed,
            target,
            forge,
            questions,
            careless,
            newcomer_publishes: false,
        },
    )
}

fn opened<T>(text: &str, open: impl FnOnce(&ChannelUri) -> Result<T, String>) -> Result<T, String> {
    let uri: ChannelUri = text.parse().map_err(|error| format!("{text}: {error}"))?;
    open(&uri)
}

fn publish(text: &str) -> Result<Publication, String> {
    let opening = Opening { now: monotonic(), ..Opening::default() };
    opened(text, |uri| Publication::open(uri, &opening).map_err(|error| error.to_string()))
}

fn subscribe(text: &str) -> Result<Subscription, String> {
    let opening = Opening { now: monotonic(), ..Opening::default() };
    opened(text, |uri| Subscription::open(uri, &opening).map_err(|error| error.to_string()))
}

/// A publication at work on a thread of its own: a message with its time, again and again.
struct Publisher {
    stop: Arc<AtomicBool>,
    /// Its CPU time counts from now on.
    counts: Arc<AtomicBool>,
    /// The CPU time that it took since then.
    thread: JoinHandle<Nanos>,
}

impl Publisher {
    fn begin(mut publication: Publication) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let counts = Arc::new(AtomicBool::new(false));
        let (asked, counting) = (Arc::clone(&stop), Arc::clone(&counts));
        let thread = std::thread::spawn(move || {
            let (mut next, mut before) = (monotonic(), None);
            while !asked.load(Ordering::Relaxed) {
                let now = monotonic();
                if before.is_none() && counting.load(Ordering::Relaxed) {
                    before = Some(thread_usage().cpu);
                }
                if now >= next {
                    let _ = publication.offer(now, &now.0.to_le_bytes());
                    next = now + EVERY;
                }
                if publication.work(now) == 0 {
                    publication.block(next - now);
                }
                while publication.poll_event().is_some() {}
            }
            thread_usage().cpu - before.unwrap_or_default()
        });
        Self { stop, counts, thread }
    }

    fn end(self) -> Result<Nanos, String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "a publication panicked".to_owned())
    }
}

/// What a subscription heard in a while.
#[derive(Debug, Default)]
struct Heard {
    latencies: Vec<i64>,
    gap_max: Nanos,
    last: Option<Nanos>,
}

impl Heard {
    fn note(&mut self, now: Nanos, message: &[u8]) {
        let sent = message.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        self.latencies.push(now.0 - sent);
        let gap = self.last.map_or(Nanos::ZERO, |last| now - last);
        self.gap_max = self.gap_max.max(gap);
        self.last = Some(now);
    }

    fn median(&mut self) -> Nanos {
        self.latencies.sort_unstable();
        Nanos(self.latencies.get(self.latencies.len() / 2).copied().unwrap_or(0))
    }
}

/// Polls for a while.
fn listen(subscription: &mut Subscription, heard: &mut Heard, span: Nanos) {
    // What came while nobody looked is no gap of the listener's.
    heard.last = None;
    let until = monotonic() + span;
    while monotonic() < until {
        let count = subscription.poll(monotonic(), 64, |message| {
            heard.note(monotonic(), message.payload);
        });
        while subscription.poll_event().is_some() {}
        if count == 0 {
            subscription.block(EVERY);
        }
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<Nanos, String> {
    let begun = monotonic();
    while !holds() {
        if monotonic() - begun > DEADLINE {
            return Err(format!("{what}: not within {DEADLINE:?}"));
        }
    }
    Ok(monotonic() - begun)
}

/// Lets somebody in who comes in the middle of the flood; returns how long that took.
fn let_in(scene: &Scene, subscription: &mut Subscription) -> Result<Nanos, String> {
    if scene.newcomer_publishes {
        let mut newcomer = publish(&scene.published)?;
        return until("another publication is let in", || {
            newcomer.work(monotonic());
            subscription.poll(monotonic(), 64, |_| {});
            newcomer.is_connected()
        });
    }
    let mut newcomer = subscribe(&scene.subscribed)?;
    let mut is_served = false;
    until("another subscription is served", || {
        subscription.poll(monotonic(), 64, |_| {});
        newcomer.poll(monotonic(), 64, |_| is_served = true);
        is_served
    })
}

fn run(terms: Terms, scene: &Scene) -> Outcome {
    let span = Nanos::from_secs(i64::from(terms.seconds));
    let mut subscription = subscribe(&scene.subscribed)?;
    let publisher = Publisher::begin(publish(&scene.published)?);
    let (mut quiet, mut flooded) = (Heard::default(), Heard::default());
    until("the first message comes", || {
        subscription.poll(monotonic(), 64, |message| quiet.note(monotonic(), message.payload));
        !quiet.latencies.is_empty()
    })?;
    listen(&mut subscription, &mut quiet, Nanos(span.0 / 4));
    let asked =
        amplifies_nothing(scene, || listen(&mut subscription, &mut flooded, Nanos(span.0 / 8)))?;
    publisher.counts.store(true, Ordering::Relaxed);
    let (memory, cpu) = (resident_bytes(), thread_usage().cpu);
    let flood = Flood::begin(scene.target, scene.forge, Kind::Anything)?;
    listen(&mut subscription, &mut flooded, Nanos(span.0 / 2));
    let grown = resident_bytes().saturating_sub(memory);
    let let_in = let_in(scene, &mut subscription)?;
    let own_cpu = thread_usage().cpu - cpu;
    let tally = flood.end()?;
    let (datagrams, sent, heard) = (tally.datagrams, tally.sent_bytes, tally.heard_bytes);
    let cpu = own_cpu + publisher.end()?;
    let each = Nanos(cpu.0 / i64::try_from(datagrams.max(1)).unwrap_or(1));
    let (before, during) = (quiet.median(), flooded.median());
    let gap = flooded.gap_max;
    let measured = format!(
        "{} bytes for the {} of {} questions; {datagrams} datagrams of strangers, {heard} \
         bytes for their {sent}; {grown} bytes of memory; {} ns of CPU each, with the stream's; \
         served within {} us, median {} us ({} us quiet); a newcomer in {} us",
        asked.heard_bytes,
        asked.sent_bytes,
        asked.datagrams,
        each.0,
        gap.0 / 1000,
        during.0 / 1000,
        before.0 / 1000,
        let_in.0 / 1000,
    );
    let fails = |what: &str| Err(format!("{what}: {measured}"));
    if datagrams == 0 || flooded.latencies.is_empty() {
        return fails("nothing happened");
    }
    if heard > sent {
        return fails("strangers hear more than they send");
    }
    if grown > MEMORY_BYTES_MAX {
        return fails("too much memory");
    }
    if terms.times_count && (gap > SERVED_WITHIN || during.0 > 2 * before.0) {
        return fails("the good peer waits");
    }
    if terms.times_count && (let_in > LET_IN_WITHIN || each > CPU_MAX) {
        return fails("a newcomer waits, or strangers cost too much");
    }
    Ok(measured)
}

/// Floods a listener with questions, of one kind after the other, while somebody is served, and
/// says whether strangers hear no more than they ask. First one that counts nothing is asked, so
/// that it is known that this would be seen.
fn amplifies_nothing(scene: &Scene, mut serve: impl FnMut()) -> Result<Counted, String> {
    let mut all = Counted::default();
    for question in scene.questions {
        let careless = Careless::begin(scene.careless)?;
        let flood = Flood::begin(careless.address, *question, Kind::Questions)?;
        until("a listener that counts nothing is asked and answers", || {
            // PACE: a look each millisecond.
            let _ = wait_readable(&[], Some(Nanos::from_millis(1)));
            flood.counted().answers >= QUESTIONS
        })?;
        let tally = flood.end()?;
        careless.end()?;
        if !is_amplified(&tally) {
            return Err(format!("a listener that counts nothing passes: {tally:?}"));
        }
        let flood = Flood::begin(scene.target, *question, Kind::Questions)?;
        until("strangers have asked enough questions", || {
            serve();
            flood.counted().datagrams >= QUESTIONS
        })?;
        let tally = flood.end()?;
        if is_amplified(&tally) {
            return Err(format!("strangers hear more than they ask: {tally:?}"));
        }
        all.add(&tally);
    }
    if all.answers == 0 { Err(format!("no question is answered: {all:?}")) } else { Ok(all) }
}

const fn is_amplified(tally: &Counted) -> bool {
    tally.heard_bytes > tally.sent_bytes + GOOD_PEER_BYTES
}

/// A listener that answers every question at once, as its protocol would have it, and counts
/// nothing.
struct Careless {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Careless {
    fn begin(answer: fn(&[u8]) -> Vec<u8>) -> Result<Self, String> {
        let open = || -> std::io::Result<(UdpSocket, SocketAddr)> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.set_read_timeout(Some(std::time::Duration::from_millis(20)))?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        };
        let (socket, address) = open().map_err(|error| format!("a socket: {error}"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut question = [0; 2048];
            while !asked.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut question) {
                    let question = question.get(..length).unwrap_or_default();
                    let _ = socket.send_to(&answer(question), from);
                }
            }
        });
        Ok(Self { address, stop, thread })
    }

    fn end(self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the careless listener panicked".to_owned())
    }
}

/// The memory that this process has, as the kernel counts it.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
