//! The processes that are killed.

use taut_ipc::{Channel, ChannelOptions};
use taut_sync::atomic::{AtomicU64, Ordering};
use taut_sys::{Access, monotonic};

use crate::ipc_kill::ends::{Reader, Writer};
use crate::ipc_kill::plan::{
    ATTACHED_NS, CALL, COMMITTED, FIRST_NS, IDLE, LOST, MESSAGES, Ring, TORN, WAITING, WORKING,
};

/// Writes until it is killed.
pub fn write(name: &str, notes: &[AtomicU64], ring: Ring) {
    let note = |at: usize, value: u64| notes[at].store(value, Ordering::Release);
    note(ATTACHED_NS, monotonic().0.unsigned_abs());
    let options = ChannelOptions::default();
    let Ok(channel) = Channel::open(name, Access::Write, &options) else { return };
    let Ok(mut writer) = Writer::open(&channel, ring) else { return };
    while !writer.send() {}
    note(COMMITTED, writer.committed());
    note(FIRST_NS, monotonic().0.unsigned_abs());
    let mut next = WORKING;
    loop {
        note(CALL, next);
        let sent = writer.send();
        note(CALL, IDLE);
        if sent {
            note(COMMITTED, writer.committed());
        }
        next = if sent { WORKING } else { WAITING };
    }
}

/// Reads until it is killed.
pub fn read(name: &str, notes: &[AtomicU64], ring: Ring) {
    let note = |at: usize, value: u64| notes[at].store(value, Ordering::Release);
    let options = ChannelOptions::default();
    let Ok(channel) = Channel::open(name, Access::Write, &options) else { return };
    let Ok(mut reader) = Reader::open(&channel, ring) else { return };
    let mut next = WORKING;
    loop {
        note(CALL, next);
        let took = reader.take();
        note(CALL, IDLE);
        note(TORN, reader.torn);
        note(LOST, reader.lost);
        note(MESSAGES, reader.messages);
        next = if took { WORKING } else { WAITING };
    }
}
