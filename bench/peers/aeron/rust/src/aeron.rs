//! Aeron's C media driver and client, embedded. The driver's settings are Aeron's environment
//! variables (`AERON_THREADING_MODE`, ...).

use std::ffi::CString;
use std::io::Read;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rusteron_client::{Aeron, AeronExclusivePublication, AeronSubscription, Handler, Handlers};
use rusteron_media_driver::testing::EmbeddedDriver;
use taut_sys::monotonic;

use crate::pingpong::WARM;
use crate::spread::Spread;

const PATIENCE: Duration = Duration::from_secs(10);
const FRAGMENTS: usize = 64;

fn length(sequence: u64) -> usize {
    8 + (sequence % 97) as usize + if sequence % 50 == 0 { 4000 } else { 0 }
}

fn message(sequence: u64) -> Vec<u8> {
    let mut message = sequence.to_le_bytes().to_vec();
    message.extend((8..length(sequence)).map(|at| (sequence as usize + at) as u8));
    message
}

fn publication(aeron: &Aeron, channel: &str, stream: i32) -> AeronExclusivePublication {
    let channel = CString::new(channel).expect("a channel");
    let publication = aeron.async_add_exclusive_publication(&channel, stream);
    let publication = publication.expect("publication").poll_blocking(PATIENCE);
    let publication = publication.expect("publication");
    while !publication.is_connected() {
        thread::yield_now();
    }
    publication
}

fn subscription(aeron: &Aeron, channel: &str, stream: i32) -> AeronSubscription {
    let channel = CString::new(channel).expect("a channel");
    let subscription =
        aeron.async_add_subscription(&channel, stream, Handlers::NONE, Handlers::NONE);
    subscription.expect("subscription").poll_blocking(PATIENCE).expect("subscription")
}

/// Until whoever started it closes its input.
fn stay() {
    let _ = std::io::stdin().read(&mut [0; 1]);
}

/// A driver that says where its files are: who kills this process removes them.
fn driver() -> EmbeddedDriver {
    let driver = EmbeddedDriver::launch().expect("driver");
    println!("directory {}", driver.dir());
    driver
}

pub fn send(channel: &str, stream: i32, count: u64) {
    let driver = driver();
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let publication = publication(&aeron, channel, stream);
    println!("joined");
    for sequence in 0..count {
        let message = message(sequence);
        while publication.offer(&message).is_err() {
            thread::yield_now();
        }
    }
    println!("sent {count}");
    stay();
}

pub fn receive(channel: &str, stream: i32, count: u64) {
    let driver = driver();
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let subscription = subscription(&aeron, channel, stream);
    let (tell, told) = mpsc::channel();
    let mut next = None;
    let delegate = move |bytes: &[u8], _: rusteron_client::AeronHeader| {
        let sequence = u64::from_le_bytes(*bytes.first_chunk().expect("a sequence"));
        let is_right = next.is_none_or(|next| next == sequence) && bytes == message(sequence);
        if !is_right {
            println!("wrong: message {sequence} of {} bytes after {next:?}", bytes.len());
            std::process::exit(1);
        }
        next = Some(sequence + 1);
        let _ = tell.send(sequence + 1);
    };
    let (assembler, _delegate) = Handler::with_fragment_assembler(delegate).expect("assembler");
    let (mut last, mut has_joined) = (0, false);
    while last < count {
        if !has_joined && subscription.image_count().is_ok_and(|count| count > 0) {
            has_joined = true;
            println!("joined");
        }
        if subscription.poll(Some(&assembler), FRAGMENTS).expect("poll") == 0 {
            thread::yield_now();
        }
        last = told.try_iter().last().unwrap_or(last);
    }
    println!("received {last}");
    stay();
}

pub fn throughput(channel: &str, stream: i32, count: u64, size: usize) {
    let driver = EmbeddedDriver::launch().expect("driver");
    let directory = driver.dir().to_owned();
    let to = channel.to_owned();
    let sending = thread::spawn(move || {
        let aeron = Aeron::connect_dir(&directory).expect("client");
        let publication = publication(&aeron, &to, stream);
        let mut message = vec![1; size];
        let begun = monotonic();
        for sequence in 0..count {
            message[..8].copy_from_slice(&sequence.to_le_bytes());
            while publication.offer(&message).is_err() {
                thread::yield_now();
            }
        }
        stay_connected(&publication);
        begun
    });
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let subscription = subscription(&aeron, channel, stream);
    let mut next = 0u64;
    while next < count {
        let polled = subscription.poll_fn(
            |bytes, _| {
                assert_eq!(bytes.first_chunk(), Some(&next.to_le_bytes()), "in order");
                next += 1;
            },
            FRAGMENTS,
        );
        if polled.expect("poll") == 0 {
            thread::yield_now();
        }
    }
    let ended = monotonic();
    drop(subscription);
    let begun = sending.join().expect("sender");
    let rate = count as f64 / ((ended - begun).0 as f64 / 1e9);
    println!("{{\"peer\":\"aeron\",\"received\":{next},\"msgs_per_s\":{rate:.0}}}");
}

fn stay_connected(publication: &AeronExclusivePublication) {
    while publication.is_connected() {
        // PACE: the client tells of a change only when it is asked.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Round trips over two channels: this thread asks, another one answers.
pub fn ping(there: &str, back: &str, stream: i32, count: u64, size: usize) {
    let driver = EmbeddedDriver::launch().expect("driver");
    let directory = driver.dir().to_owned();
    let (asks, answers) = (there.to_owned(), back.to_owned());
    let rounds = count + WARM;
    let answering = thread::spawn(move || {
        let aeron = Aeron::connect_dir(&directory).expect("client");
        let subscription = subscription(&aeron, &asks, stream);
        let publication = publication(&aeron, &answers, stream);
        let mut answered = 0;
        while answered < rounds {
            let polled = subscription.poll_fn(
                |bytes, _| {
                    while publication.offer(bytes).is_err() {}
                    answered += 1;
                },
                FRAGMENTS,
            );
            if polled.expect("poll") == 0 {
                thread::yield_now();
            }
        }
        stay_connected(&publication);
    });
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let subscription = subscription(&aeron, back, stream);
    let publication = publication(&aeron, there, stream);
    let (mut spread, message) = (Spread::new(count), vec![1; size]);
    for round in 0..rounds {
        let begun = monotonic();
        while publication.offer(&message).is_err() {}
        let mut came = 0;
        while came == 0 {
            came = subscription.poll_fn(|_, _| {}, FRAGMENTS).expect("poll");
            if came == 0 {
                thread::yield_now();
            }
        }
        if round >= WARM {
            spread.record((monotonic() - begun).0);
        }
    }
    drop(subscription);
    answering.join().expect("the answering end");
    spread.print("aeron");
}

/// Messages at a rate, each with the time it was sent: how long they take one way.
pub fn pace(channel: &str, stream: i32, count: u64, size: usize, rate: u64) {
    let driver = EmbeddedDriver::launch().expect("driver");
    let directory = driver.dir().to_owned();
    let to = channel.to_owned();
    let sending = thread::spawn(move || {
        let aeron = Aeron::connect_dir(&directory).expect("client");
        let publication = publication(&aeron, &to, stream);
        let (mut message, begun) = (vec![1; size], monotonic());
        for sequence in 0..count {
            let due = begun.0 + (sequence * 1_000_000_000 / rate) as i64;
            while monotonic().0 < due {
                thread::yield_now();
            }
            message[..8].copy_from_slice(&monotonic().0.to_le_bytes());
            while publication.offer(&message).is_err() {
                thread::yield_now();
            }
        }
        stay_connected(&publication);
    });
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let subscription = subscription(&aeron, channel, stream);
    let (mut spread, mut got) = (Spread::new(count), 0);
    while got < count {
        let polled = subscription.poll_fn(
            |bytes, _| {
                let sent = i64::from_le_bytes(*bytes.first_chunk().expect("a time"));
                spread.record(monotonic().0 - sent);
                got += 1;
            },
            FRAGMENTS,
        );
        if polled.expect("poll") == 0 {
            thread::yield_now();
        }
    }
    drop(subscription);
    sending.join().expect("sender");
    spread.print("aeron");
}
