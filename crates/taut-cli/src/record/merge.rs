//! `taut record merge`: the entries of several recordings as one sequence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use taut_fix::{Precision, StampCache};
use taut_journal::{
    ATTENTION, COMMAND, Frame, GAP, HOUSEKEEPING, RECOVERED, RUN, Reader, STATE, TURN,
};
use taut_runner::Recording;
use taut_types::Nanos;

use crate::again::open;
use crate::exit::Failure;
use crate::terminal::{print, print_json};

/// A recording that is read.
struct Read {
    name: String,
    folder: PathBuf,
    recording: Recording,
    reader: Reader,
}

/// An entry, as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    utc_ns: i64,
    recording: &'a str,
    entry: u64,
    kind: &'static str,
    bytes: usize,
}

/// What an entry is.
fn kind(frame: &Frame<'_>) -> &'static str {
    match frame.kind {
        RUN => "run",
        RECOVERED => "recovered",
        TURN => "turn",
        HOUSEKEEPING => "housekeeping",
        COMMAND => "command",
        ATTENTION => "attention",
        STATE => "state",
        GAP => "gap",
        _ if frame.is_about_orders() => "order",
        _ => "unknown",
    }
}

/// Prints every entry of these recordings by its time, UTC.
pub fn merge(folders: &[PathBuf], is_json: bool) -> Result<(), Failure> {
    let mut all = Vec::with_capacity(folders.len());
    for folder in folders {
        let recording = open(folder)?;
        let name = format!("{}:{}", folder.display(), recording.name());
        let reader = Reader::open(folder).map_err(|error| failed(folder, &error))?;
        all.push(Read { name, folder: folder.clone(), recording, reader });
    }
    let mut stamps = StampCache::new(Precision::Nanos);
    let mut heap = BinaryHeap::new();
    for place in 0..all.len() {
        push(&mut heap, &mut all, place)?;
    }
    while let Some(Reverse((utc, place, entry, kind, bytes))) = heap.pop() {
        let recording = all.get(place).map_or("", |read| read.name.as_str());
        if is_json {
            print_json(&Line { utc_ns: utc.0, recording, entry, kind, bytes })?;
        } else {
            let stamp = stamps.text(utc);
            print(format!("{} {recording} {entry} {kind} {bytes}", stamp.as_str()))?;
        }
        push(&mut heap, &mut all, place)?;
    }
    Ok(())
}

type Next = Reverse<(Nanos, usize, u64, &'static str, usize)>;

/// The next entry of a recording waits for its turn.
fn push(heap: &mut BinaryHeap<Next>, all: &mut [Read], place: usize) -> Result<(), Failure> {
    let Some(Read { recording, reader, folder, .. }) = all.get_mut(place) else { return Ok(()) };
    let frame = reader.next_frame().map_err(|error| failed(folder, &error))?;
    if let Some(frame) = frame {
        let utc = match frame.is_about_orders() {
            true => frame.time,
            false => recording.utc_at(frame.time),
        };
        heap.push(Reverse((utc, place, frame.sequence, kind(&frame), frame.bytes.len())));
    }
    Ok(())
}

fn failed(folder: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::run(&folder.display().to_string(), error)
}
