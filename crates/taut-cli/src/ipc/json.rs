//! A channel in JSON, for programs that watch.

use serde_json::{Value, json};
use taut_ipc::{Channel, IpcError, ReaderStatus, StreamKind, StreamStatus, Writer};

use crate::exit::Failure;
use crate::ipc::show::{age_s, failed};

/// A channel in a list.
pub fn listed(name: &str, opened: &Result<Channel, IpcError>, used: bool) -> Value {
    let channel = match opened {
        Ok(channel) => channel,
        Err(error) => return json!({ "name": name, "error": error.to_string() }),
    };
    let mut value = described(channel);
    value["name"] = json!(name);
    value["in_use"] = json!(used);
    value["streams"] = channel.streams().map(|stream| stream.name).collect();
    value
}

/// A channel with all that its streams say of themselves.
pub fn stat(channel: &Channel) -> Result<Value, Failure> {
    let mut value = described(channel);
    value["streams"] = channel.status().map_err(failed)?.iter().map(stream).collect();
    Ok(value)
}

fn described(channel: &Channel) -> Value {
    let owner = channel.owner().ok();
    json!({
        "name": channel.name(), "bytes": channel.bytes(), "age_s": age_s(channel),
        "owner": owner.map(|(user, _)| user), "mode": owner.map(|(_, mode)| format!("{mode:04o}")),
    })
}

fn stream(status: &StreamStatus<'_>) -> Value {
    let (kind, capacity) = match status.stream.kind {
        StreamKind::Ticks { slot_count } => ("ticks", slot_count),
        StreamKind::Log { capacity_bytes } => ("log", capacity_bytes),
        StreamKind::Requests { slot_count } => ("requests", slot_count),
        StreamKind::Cell { word_count } => ("cell", word_count),
    };
    let (state, process) = match status.writer {
        Writer::None => ("none", None),
        Writer::Starting { process } => ("starting", Some(process)),
        Writer::Alive { process } => ("alive", Some(process)),
        Writer::Stalled { process } => ("stalled", Some(process)),
        Writer::Gone { process } => ("gone", Some(process)),
    };
    let counters = status.counters;
    json!({
        "name": status.stream.name, "kind": kind, "capacity": capacity,
        "layout": format!("{:016x}", status.stream.layout),
        "writer": { "state": state, "process": process },
        "epoch": counters.epoch, "base": counters.base, "position": counters.head,
        "key": counters.key, "dropped": counters.dropped, "evicted": counters.evicted,
        "readers": status.readers.iter().map(reader).collect::<Value>(),
    })
}

fn reader(reader: &ReaderStatus) -> Value {
    json!({
        "reader": reader.place, "process": reader.process, "position": reader.position,
        "lag": reader.lag, "lost": reader.lost, "evicted": reader.evicted,
    })
}
