//! The channels in shared memory: who writes, who reads, and how far behind.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use taut_ipc::{Channel, ChannelOptions, StreamStatus, Writer, channels};
use taut_sys::{Access, MemoryOptions, monotonic};
use taut_types::Nanos;

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChannelSeen {
    /// Its name, without `ipc:`.
    pub name: String,
    /// Why it cannot be looked at.
    pub error: Option<String>,
    /// Its streams.
    pub streams: Vec<ChannelStream>,
}

/// A stream of a channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChannelStream {
    /// Its name.
    pub name: String,
    /// How its writer is: `none`, `starting`, `alive`, `stalled` or `gone`.
    pub writer: String,
    /// The writer's process.
    pub process: Option<u32>,
    /// Messages, or bytes of a log, that were written.
    pub position: u64,
    /// How many a second.
    pub per_second: f64,
    /// What the publication dropped because a reader was too slow.
    pub dropped: u64,
    /// Those who read it and are registered.
    pub readers: Vec<ChannelReader>,
}

/// A reader of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChannelReader {
    /// Its process; nothing when it is dead.
    pub process: Option<u32>,
    /// How far it is behind.
    pub lag: u64,
    /// What it lost.
    pub lost: u64,
    /// Whether it was sent away.
    pub is_evicted: bool,
}

/// Looks at channels, and knows where they were.
#[derive(Debug, Default)]
pub struct Channels {
    /// By channel and stream.
    before: HashMap<(String, String), (Nanos, u64)>,
}

impl Channels {
    /// All channels in the usual folder, by name. Their memory is mapped to be read, and let go.
    pub fn look(&mut self) -> Vec<ChannelSeen> {
        let options = ChannelOptions { memory: MemoryOptions::default(), ..<_>::default() };
        let folder: &PathBuf = &options.directory;
        let mut names = channels(folder).unwrap_or_default();
        names.sort();
        let now = monotonic();
        let mut positions = HashMap::new();
        let mut look = |name: String| {
            let opened = Channel::open(&name, Access::Read, &options);
            let mut seen = ChannelSeen { name, ..ChannelSeen::default() };
            match opened.as_ref().map_err(|error| *error).and_then(Channel::status) {
                Ok(streams) => {
                    for status in &streams {
                        let mut stream = stream(status);
                        let key = (seen.name.clone(), stream.name.clone());
                        if let Some((at, before)) = self.before.get(&key) {
                            let seconds = now.since(*at).0 as f64 / 1e9;
                            let grown = stream.position.saturating_sub(*before) as f64;
                            stream.per_second = if seconds > 0.0 { grown / seconds } else { 0.0 };
                        }
                        positions.insert(key, (now, stream.position));
                        seen.streams.push(stream);
                    }
                }
                Err(error) => seen.error = Some(error.to_string()),
            }
            seen
        };
        let seen = names.into_iter().map(&mut look).collect();
        self.before = positions;
        seen
    }
}

fn stream(status: &StreamStatus<'_>) -> ChannelStream {
    let (writer, process) = match status.writer {
        Writer::None => ("none", None),
        Writer::Starting { process } => ("starting", Some(process)),
        Writer::Alive { process } => ("alive", Some(process)),
        Writer::Stalled { process } => ("stalled", Some(process)),
        Writer::Gone { process } => ("gone", Some(process)),
    };
    let readers = status.readers.iter().map(|reader| ChannelReader {
        process: reader.process,
        lag: reader.lag,
        lost: reader.lost,
        is_evicted: reader.evicted,
    });
    ChannelStream {
        name: status.stream.name.to_owned(),
        writer: writer.to_owned(),
        process,
        position: status.counters.head,
        per_second: 0.0,
        dropped: status.counters.dropped,
        readers: readers.collect(),
    }
}
