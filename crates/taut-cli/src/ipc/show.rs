//! A channel in text.

use std::fmt::Write;

use taut_ipc::{Channel, IpcError, Join, StreamKind, StreamStatus, Writer};
use taut_ring::broadcast::{Polled, Start};
use taut_sys::{sleep, stop_requests, utc};
use taut_types::Nanos;

use crate::exit::{Failure, catch_stop_signals};
use crate::terminal::{is_abandoned, print, tell};

/// How often a tail looks for news.
const LOOK: Nanos = Nanos::from_millis(1);
/// The longest message that is printed whole.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

pub fn failed(error: IpcError) -> Failure {
    Failure::Run(error.to_string())
}

/// Seconds since a channel was created.
pub fn age_s(channel: &Channel) -> u64 {
    utc().0.unsigned_abs().saturating_sub(channel.created_ns()) / 1_000_000_000
}

/// The user that a channel belongs to, and the permission bits of its file.
fn owner(channel: &Channel) -> String {
    channel.owner().map_or_else(
        |error| error.to_string(),
        |(user, mode)| format!("user {user} mode {mode:04o}"),
    )
}

/// A channel in a list.
pub fn listed(name: &str, opened: &Result<Channel, IpcError>, used: bool) -> String {
    let channel = match opened {
        Ok(channel) => channel,
        Err(error) => return format!("{name}  {error}"),
    };
    let streams: Vec<&str> = channel.streams().map(|stream| stream.name).collect();
    let (bytes, owner, age_s) = (channel.bytes(), owner(channel), age_s(channel));
    let state = if used { "in use" } else { "unused" };
    format!("{name}  {bytes} bytes  {owner}  {age_s} s  {state}  {}", streams.join(","))
}

/// All streams of a channel.
pub fn stat(channel: &Channel) -> Result<(), Failure> {
    let (bytes, owner, age_s) = (channel.bytes(), owner(channel), age_s(channel));
    print(format_args!("{}  {bytes} bytes  {owner}  {age_s} s", channel.name()))?;
    for status in channel.status().map_err(failed)? {
        print(stream_line(&status))?;
        for reader in &status.readers {
            let process = reader.process.map_or("dead".to_owned(), |process| process.to_string());
            let evicted = if reader.evicted { "  evicted" } else { "" };
            print(format_args!(
                "    reader {}  process {process}  position {}  lag {}  lost {}{evicted}",
                reader.place, reader.position, reader.lag, reader.lost
            ))?;
        }
    }
    Ok(())
}

fn stream_line(status: &StreamStatus<'_>) -> String {
    let stream = &status.stream;
    let kind = match stream.kind {
        StreamKind::Ticks { slot_count } => format!("ticks, {slot_count} slots"),
        StreamKind::Log { capacity_bytes } => format!("log, {capacity_bytes} bytes"),
        StreamKind::Requests { slot_count } => format!("requests, {slot_count} slots"),
        StreamKind::Cell { word_count } => format!("cell, {word_count} words"),
    };
    let writer = match status.writer {
        Writer::None => "no writer yet".to_owned(),
        Writer::Starting { process } => format!("writer {process} starts"),
        Writer::Alive { process } => format!("writer {process}"),
        Writer::Stalled { process } => format!("writer {process} STALLED"),
        Writer::Gone { process } => format!("writer {process} gone"),
    };
    let counters = status.counters;
    let mut text = format!(
        "  {}  {kind}  layout {:016x}  {writer}  epoch {}  position {}  dropped {}  evicted {}",
        stream.name,
        stream.layout,
        counters.epoch,
        counters.head,
        counters.dropped,
        counters.evicted
    );
    if let Some(key) = counters.key {
        let _ = write!(text, "  key {key}");
    }
    text
}

/// The messages of a stream: those it holds, or those to come.
pub fn messages(channel: &Channel, stream: Option<&str>, follow: bool) -> Result<(), Failure> {
    let first = channel.streams().next();
    let found = match stream {
        Some(name) => channel.streams().find(|stream| stream.name == name),
        None => first,
    };
    let Some(stream) = found else {
        let names: Vec<_> = channel.streams().map(|stream| stream.name).collect();
        let wanted = stream.unwrap_or_default();
        let (channel, names) = (channel.name(), names.join(", "));
        let text = format!("channel '{channel}' has no stream '{wanted}'; it has {names}");
        return Err(Failure::Run(text));
    };
    if follow {
        catch_stop_signals()?;
    }
    if follow && !has_readers(channel, stream.name)? {
        tell(format_args!(
            "stream '{}' has no subscriber: a publication of ipc:{} sends nothing until it has \
             one, and a tail, which only looks on, is none",
            stream.name,
            channel.name()
        ));
    }
    let start = if follow { Start::Latest } else { Start::Oldest };
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    match stream.kind {
        StreamKind::Ticks { .. } => {
            let mut reader =
                channel.subscribe_ticks(stream.name, 0, start, Join::Passive).map_err(failed)?;
            let next = || match reader.poll() {
                Polled::Message(payload) => {
                    let words = payload.map(|word| format!("{word:016x}"));
                    Polled::Message(format!("{}  {}", reader.position() - 1, words.join(" ")))
                }
                other => without_message(other),
            };
            print_all(next, follow)
        }
        StreamKind::Log { .. } => {
            let mut reader =
                channel.subscribe_log(stream.name, 0, start, Join::Passive).map_err(failed)?;
            let next = || {
                let position = reader.position();
                match reader.poll(&mut buffer) {
                    Polled::Message(bytes) => {
                        let shown = buffer.get(..bytes).unwrap_or(&buffer);
                        let text = shown.escape_ascii();
                        Polled::Message(format!("{position}  {bytes}  {text}"))
                    }
                    other => without_message(other),
                }
            };
            print_all(next, follow)
        }
        StreamKind::Requests { .. } | StreamKind::Cell { .. } => {
            let name = stream.name;
            Err(Failure::Run(format!(
                "stream '{name}': only ticks and logs have followers; see stat"
            )))
        }
    }
}

/// Whether somebody reads the stream, for whom its publication sends.
fn has_readers(channel: &Channel, stream: &str) -> Result<bool, Failure> {
    let status = channel.status().map_err(failed)?;
    let found = status.iter().find(|status| status.stream.name == stream);
    Ok(found.is_some_and(|status| status.readers.iter().any(|reader| reader.process.is_some())))
}

fn without_message<A, B>(polled: Polled<A>) -> Polled<B> {
    match polled {
        Polled::Empty | Polled::Message(_) => Polled::Empty,
        Polled::Lapped(lost) => Polled::Lapped(lost),
        Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
    }
}

fn print_all(mut next: impl FnMut() -> Polled<String>, follow: bool) -> Result<(), Failure> {
    while stop_requests() == 0 && !(follow && is_abandoned()) {
        match next() {
            Polled::Message(text) => print(text)?,
            Polled::Lapped(lost) => print(format_args!("-- lost {lost}"))?,
            Polled::NewWriter(epoch) => print(format_args!("-- writer, epoch {epoch}"))?,
            // PACE: who only looks on is woken by nobody.
            Polled::Empty if follow => sleep(LOOK),
            Polled::Empty => break,
        }
    }
    Ok(())
}
